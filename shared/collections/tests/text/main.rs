//! Everything about the core that takes several of its parts.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

mod collected;
mod configuration;
mod import;
mod lines;
mod robustness;

use dataperf_collections::text::{Configuration, Context, Contexts, Rules, SecretKey, Task};

/// All four tasks, with one model each.
const DOCUMENT: &str = r#"{
    "tasks": {
        "nli": {"targets": ["one", "two", "three"]},
        "qa": {"targets": ["span"]},
        "sentiment": {"targets": ["one"], "deny": []},
        "hate-speech": {"targets": ["one"]}
    },
    "targets": {
        "one": {"kind": "linear", "file": "models/one.json"},
        "two": {"kind": "http", "url": "https://models.example", "secret": "TWO"},
        "three": {"kind": "program", "file": "models/three.wasm"},
        "span": {"kind": "linear", "file": "models/span.json"}
    },
    "deny": ["dogs*"]
}"#;

fn configuration() -> Configuration {
    Configuration::parse(DOCUMENT.as_bytes()).unwrap()
}

fn context(id: &str, task: Task, text: &str) -> Context {
    Context {
        id: id.into(),
        task,
        text: text.into(),
    }
}

fn rules() -> Rules {
    let contexts = [
        context("barn", Task::Nli, "A horse stands in the red barn."),
        context(
            "road",
            Task::Qa,
            "Der Ärger begann 1821. The old road leads to the green mill.",
        ),
    ];
    Rules {
        configuration: configuration(),
        contexts: Contexts::from_iter(contexts),
    }
}

fn key() -> SecretKey {
    SecretKey::new(&[7; 32]).unwrap()
}
