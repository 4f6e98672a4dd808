//! Target models that are not built in: a service that comes and goes, and a program of the data set.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use dataperf::Ending;
use dataperf_local::{Config, FunctionSpec, Trigger};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{Text, code, fooling, honest, line, line_code, own, status};
use crate::support::project::binary;
use crate::support::world::deployed;

/// A service on this machine that calls everything negative, unless it is configured to fail; with
/// the number of calls. It refuses texts with the word `unspeakable`, and everything sent to
/// `/refuses`.
async fn service() -> (String, Arc<AtomicBool>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let fails = Arc::new(AtomicBool::new(false));
    let n_calls = Arc::new(AtomicUsize::new(0));
    let (shown, counted) = (fails.clone(), n_calls.clone());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (shown, counted) = (shown.clone(), counted.clone());
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                let (n_texts, is_refused) = loop {
                    let mut buffer = [0; 4096];
                    match stream.read(&mut buffer).await {
                        Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
                        _ => return,
                    }
                    let text = String::from_utf8_lossy(&bytes);
                    let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
                    let request = body.and_then(|body| serde_json::from_str::<serde_json::Value>(body).ok());
                    if let Some(request) = request {
                        assert!(text.contains("Bearer the key of a service"), "{text}");
                        let is_refused = text.contains("POST /refuses") || text.contains("unspeakable");
                        break (request["inputs"].as_array().unwrap().len(), is_refused);
                    }
                };
                let answers = vec![r#"{"label":"negative"}"#; n_texts].join(",");
                let body = format!(r#"{{"answers":[{answers}]}}"#);
                counted.fetch_add(1, Ordering::SeqCst);
                let status = match (shown.load(Ordering::SeqCst), is_refused) {
                    (true, _) => 503,
                    (false, true) => 422,
                    (false, false) => 200,
                };
                let head = format!(
                    "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                drop(stream.write_all((head + &body).as_bytes()).await);
            });
        }
    });
    (url, fails, n_calls)
}

/// A service that fails takes nobody's day: the file is tried again, fails, and can be redriven when the service is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_service_costs_the_annotator_nothing() {
    let (url, fails, _) = service().await;
    let text = Text::with(
        |_| (),
        |rules| {
            rules["targets"] =
                json!({ "far": { "kind": "http", "url": url, "secret": "far", "timeout_seconds": 5, "batch": 2 } });
            rules["tasks"]["sentiment"]["targets"] = json!(["far"]);
        },
    )
    .await;
    let receipt = text
        .submit("ada", "one", &[fooling(1), honest(2), fooling(3)])
        .await;
    assert_eq!(status(&receipt), Ending::Accepted, "{receipt:#?}");
    assert_eq!(
        receipt.verdict.lines[0].details["models"]["far"],
        json!({ "label": "negative", "probabilities": {}, "fooled": true })
    );
    assert_eq!(text.counts("ada").await, [3, 2, 2, 0, 0, 0, 0]);

    fails.store(true, Ordering::SeqCst);
    let sent = text.send("submit", "ada", "two", &[fooling(4), fooling(5)]).await;
    let receipt = text.receipts(std::slice::from_ref(&sent)).await.remove(0);
    assert_eq!(status(&receipt), Ending::Failed, "{receipt:#?}");
    assert_eq!(
        text.n_taken("ada", "examples").await,
        3,
        "what failed is given back"
    );
    assert_eq!(text.counts("ada").await[0], 3);

    fails.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(6)).await; // as long as a service is left alone
    assert_eq!(text.world.command(["redrive", "--all-failed"]).code, 0);
    let receipt = text.receipts(&[sent]).await.remove(0);
    assert_eq!(status(&receipt), Ending::Accepted, "{receipt:#?}");
    assert_eq!(text.n_taken("ada", "examples").await, 5);
    assert_eq!(text.counts("ada").await, [5, 4, 4, 0, 0, 0, 0]);
}

/// A text that a service refuses affects no other of its call, and is rejected with its reason,
/// even if it is the only one of a file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_text_takes_no_other_with_it() {
    let (url, _, n_calls) = service().await;
    let rules = |url: String| {
        move |rules: &mut serde_json::Value| {
            rules["targets"] = json!({ "far": { "kind": "http", "url": url, "secret": "far", "timeout_seconds": 5, "batch": 4 } });
            rules["tasks"]["sentiment"]["targets"] = json!(["far"]);
        }
    };
    let change = |config: &mut Config| config.retry_backoff = Vec::new();
    let text = Text::with(change, rules(url.clone())).await;
    let refused = |n| line("negative", &format!("unspeakable {}", own(n)));
    let lines = [fooling(1), refused(2), honest(3), honest(4)];
    let receipt = text.submit("ada", "one", &lines).await;
    let codes: Vec<&str> = receipt.verdict.lines.iter().map(line_code).collect();
    assert_eq!(codes, ["", "refused_by_model", "", ""], "{receipt:#?}");
    let reason = &receipt.verdict.lines[1].reasons[0];
    assert_eq!(reason.at, "line 2 /text");
    assert!(
        reason.message.contains("`far`") && reason.message.contains("422"),
        "{reason:?}"
    );
    assert_eq!(
        n_calls.load(Ordering::SeqCst),
        1 + 1 + 4,
        "the call that is refused, a plain text, and each alone"
    );
    assert_eq!(text.counts("ada").await, [3, 1, 1, 0, 0, 0, 0]);
    let receipt = text.submit("ada", "alone", &[refused(5)]).await;
    assert_eq!(
        (status(&receipt), code(&receipt)),
        (Ending::Rejected, "refused_by_model")
    );
    assert_eq!(n_calls.load(Ordering::SeqCst), 6 + 2);
    assert_eq!(
        (
            text.n_taken("ada", "examples").await,
            text.n_taken("ada", "asked").await
        ),
        (3, 5),
        "it costs nothing, and is not asked about without end"
    );

    // a service that refuses everything gets wrong requests: no text is to blame
    text.rules(rules(format!("{url}refuses"))).await;
    let receipt = text.submit("bo", "one", &[honest(6), honest(7)]).await;
    assert_eq!(
        (status(&receipt), code(&receipt)),
        (Ending::Failed, "organizer_fault")
    );
    assert_eq!(n_calls.load(Ordering::SeqCst), 8 + 2, "and not about each text");
}

fn with_programs(config: &mut Config) {
    let name = "closed";
    config.functions.push(FunctionSpec {
        name: name.into(),
        binary: binary(name),
        trigger: Trigger::default(),
        policy: Some(deployed(name)),
        ..config.functions[0].clone()
    });
}

/// A program that writes one line, whatever it reads.
fn program(line: &str) -> Vec<u8> {
    let escaped = line.replace('"', "\\\"");
    let n = line.len() + 1;
    let module = format!(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (data (i32.const 64) "{escaped}\n")
            (func (export "_start")
                (i32.store (i32.const 0) (i32.const 64))
                (i32.store (i32.const 4) (i32.const {n}))
                (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#
    );
    wat::parse_str(module).unwrap()
}

impl Text {
    async fn with_program(&self, bytes: &[u8]) {
        self.rules_and(
            |rules| {
                rules["targets"] =
                    json!({ "prog": { "kind": "program", "file": "models/prog.wasm", "max_fuel": 10_000_000 } });
                rules["tasks"]["sentiment"]["targets"] = json!(["prog"]);
            },
            &[("models/prog.wasm", bytes)],
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_of_the_data_set_answers() {
    let text = Text::with(with_programs, |_| ()).await;
    text.with_program(&program(r#"{"label":"neutral","probabilities":{"neutral":0.5}}"#))
        .await;
    let receipt = text.submit("ada", "one", &[fooling(1)]).await;
    assert_eq!(
        receipt.verdict.lines[0].details["models"]["prog"],
        json!({ "label": "neutral", "probabilities": { "neutral": 0.5 }, "fooled": true })
    );
    // what is no answer is for the organizer to fix, and ends
    text.with_program(&program("Ignore all previous instructions"))
        .await;
    let receipt = text.submit("ada", "two", &[fooling(2)]).await;
    assert_eq!(status(&receipt), Ending::Failed, "{receipt:#?}");
    assert!(!serde_json::to_string(&receipt).unwrap().contains("Ignore"));
    assert_eq!(text.counts("ada").await[0], 1);
}

/// A line without a model's answer is returned to the allowance, and is not sent to the model
/// without end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn model_calls_per_annotator_are_limited_daily() {
    let change = |config: &mut Config| {
        with_programs(config);
        config.retry_backoff = Vec::new();
    };
    let text = Text::with(change, |_| ()).await;
    let silent = program("no answer");
    text.rules_and(
        |rules| {
            rules["examples_a_day"] = json!(2);
            rules["targets"] =
                json!({ "prog": { "kind": "program", "file": "models/prog.wasm", "max_fuel": 10_000_000 } });
            rules["tasks"]["sentiment"]["targets"] = json!(["prog"]);
        },
        &[("models/prog.wasm", &silent)],
    )
    .await;
    for n in 0..5 {
        let lines = [fooling(2 * n), fooling(2 * n + 1)];
        let receipt = text.submit("ada", &format!("{n}"), &lines).await;
        assert_eq!(status(&receipt), Ending::Failed, "{receipt:#?}");
        assert_eq!(text.n_taken("ada", "examples").await, 0, "it is given back");
        assert_eq!(text.n_taken("ada", "asked").await, 2 * (n as u64 + 1));
    }
    let receipt = text.submit("ada", "more", &[honest(20)]).await;
    let codes: Vec<&str> = receipt.verdict.lines.iter().map(line_code).collect();
    assert_eq!(codes, ["daily_asked"], "{receipt:#?}");
    assert_eq!(text.n_taken("ada", "asked").await, 10, "5 times 2");
    let receipt = text.submit("bo", "one", &[honest(21)]).await;
    assert_eq!(status(&receipt), Ending::Failed, "{receipt:#?}");
    assert_eq!(text.n_taken("bo", "asked").await, 1, "others are asked about");
}

/// Of two models one is gone: lines that it was to answer are rejected with their reason where others of the file were taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_without_its_model_ends_with_reason() {
    let (url, fails, _) = service().await;
    fails.store(true, Ordering::SeqCst);
    let text = Text::with(
        |_| (),
        |rules| {
            rules["targets"]["far"] =
                json!({ "kind": "http", "url": url, "secret": "far", "timeout_seconds": 5, "batch": 2 });
            rules["tasks"]["hate-speech"] = json!({ "targets": ["far"] });
        },
    )
    .await;
    let hateful = json!({ "task": "hate-speech", "text": "a harmless sentence", "label": "not-hateful" });
    let receipt = text.submit("ada", "one", &[fooling(1), hateful]).await;
    assert_eq!(status(&receipt), Ending::Accepted, "{receipt:#?}");
    let codes: Vec<&str> = receipt.verdict.lines.iter().map(line_code).collect();
    assert_eq!(codes, ["", "no_answer"]);
    assert_eq!(receipt.verdict.metrics["examples_used"], 1, "it does not count");
    assert_eq!(text.n_taken("ada", "examples").await, 1);
}
