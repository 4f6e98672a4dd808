//! Adversarial Text, end to end: its real functions with the rights they are deployed with, on the cloud on one machine.

mod allowances;
mod attackers;
mod judging;
mod people;
mod safety;
mod storms;
mod submitting;
mod targets;

use std::collections::BTreeMap;

use dataperf::board::{Board, OPEN_ROUND};
use dataperf::progress::Silent;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{LineOutcome, Receipt};
use dataperf_collections::text::models::{Labelled, LinearSettings, train_linear};
use dataperf_collections::text::{BENCHMARK, DESCRIPTOR, Gold, Input, Task, import_text};
use dataperf_collections_aws::text::Examples;
use dataperf_local::Config;
use serde_json::{Value, json};

use crate::support::collections::{code, configure, status};
use crate::support::world::{Sent, World};

const SECRET: &str = "dataperf-text";
const VERDICT: &str = "adversarial-text-verdict";
const RATERS: [&str; 5] = ["rosa", "rita", "ruth", "rhea", "rolf"];

/// A cloud with Adversarial Text's functions and the caretaker, each with the rights that it is deployed with.
struct Text {
    world: World,
}

fn configured(config: &mut Config) {
    let keys = json!({ "pseudonyms": "0123456789abcdef0123456789abcdef", "far": "the key of a service" });
    configure(config, &DESCRIPTOR, SECRET, &keys);
}

/// The tests' model: words that are good or bad, and neutral things.
fn model() -> Vec<u8> {
    let words = [
        ("positive", ["lovely", "great", "wonderful", "splendid"]),
        ("negative", ["awful", "bad", "horrible", "dreadful"]),
        ("neutral", ["table", "chair", "street", "window"]),
    ];
    let mut examples = Vec::new();
    for (label, words) in words {
        for word in words {
            for text in [format!("a {word} day"), format!("{word} {word}"), word.to_owned()] {
                examples.push(Labelled {
                    task: Task::Sentiment,
                    input: Input { context: None, text },
                    gold: Gold::Label(label.to_owned()),
                });
            }
        }
    }
    train_linear(&examples, &LinearSettings::default()).unwrap()
}

/// A line of sentiment. The model takes it for negative, whatever else is in it.
fn line(label: &str, own: &str) -> Value {
    json!({ "task": "sentiment", "text": format!("awful bad horrible dreadful {own}"), "label": label })
}

/// A text of its own for each number: no two are near duplicates.
fn own(n: usize) -> String {
    let digits = dataperf::Digest::compute(&n.to_le_bytes()).hex();
    let part = |from: usize| digits[from..from + 16].to_owned();
    format!("{} {} {} {}", part(0), part(16), part(32), part(48))
}

/// A line that fools the model.
fn fooling(n: usize) -> Value {
    line("positive", &own(n))
}

/// A line that does not.
fn honest(n: usize) -> Value {
    line("negative", &own(n))
}

impl Text {
    async fn new() -> Self {
        Self::with(|_| (), |_| ()).await
    }

    async fn with(change_config: impl FnOnce(&mut Config), change_rules: impl FnOnce(&mut Value)) -> Self {
        let world = World::without_dataset(|config| {
            configured(config);
            change_config(config);
        })
        .await;
        let text = Self { world };
        text.rules(change_rules).await;
        text
    }

    /// Activates other rules, and names the raters.
    async fn rules(&self, change: impl FnOnce(&mut Value)) {
        self.rules_and(change, &[]).await;
    }

    /// The same, with more files of the data set.
    async fn rules_and(&self, change: impl FnOnce(&mut Value), files: &[(&str, &[u8])]) {
        let mut rules = json!({
            "tasks": { "sentiment": { "targets": ["r1"] } },
            "targets": { "r1": { "kind": "linear", "file": "models/r1.json" } },
            "validation": { "share_of_others": 0.0 },
            "languages": [],
        });
        change(&mut rules);
        let source = tempfile::tempdir_in(self.world.scratch()).unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(source.path().join(name), bytes).unwrap();
        std::fs::create_dir(source.path().join("models")).unwrap();
        write("configuration.json", rules.to_string().as_bytes());
        write(
            "contexts.jsonl",
            br#"{"id": "c1", "task": "nli", "text": "The door of the house is green."}"#,
        );
        write("models/r1.json", &model());
        for (name, bytes) in files {
            write(name, bytes);
        }
        let frozen = source.path().join("frozen");
        import_text(source.path(), &frozen, &Silent).unwrap();
        self.world.replace(&frozen);
        for name in RATERS {
            self.world.name_rater::<Examples>(name).await;
        }
    }

    async fn send(&self, kind: &str, who: &str, file: &str, lines: &[Value]) -> Sent {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        let key = format!("{BENCHMARK}/{kind}/{who}/{file}.jsonl");
        self.world.put(&key, lines.join("\n")).await
    }

    async fn submit(&self, who: &str, file: &str, lines: &[Value]) -> Receipt {
        let sent = self.send("submit", who, file, lines).await;
        self.receipts(&[sent]).await.remove(0)
    }

    /// A rater says what is right about an example.
    async fn judge(&self, who: &str, example: &str, label: &str) -> Receipt {
        let line = json!({ "example": example, "label": label });
        let sent = self
            .send("verdict", who, &format!("{example}-{label}"), &[line])
            .await;
        self.receipts(&[sent]).await.remove(0)
    }

    /// Waits until everything has ended, and gives the receipts; each upload has one, and the table says the same.
    async fn receipts(&self, sent: &[Sent]) -> Vec<Receipt> {
        let receipts = self.world.ended(BENCHMARK, sent).await;
        receipts.into_iter().map(|(receipt, _)| receipt).collect()
    }

    /// An annotator's score and its parts on the board of sentiment.
    async fn row(&self, who: &str) -> Option<(f64, BTreeMap<String, Value>)> {
        let board = Board {
            benchmark: BENCHMARK.into(),
            leaderboard: "sentiment".into(),
            round: OPEN_ROUND.into(),
        };
        self.world.project_boards(BENCHMARK).await;
        let table = self.world.leaderboards();
        let top = table.top(&board, 100).await.unwrap();
        let row = top.into_iter().find(|row| row.entry.submitter == who)?;
        let submission = table.submission(BENCHMARK, &row.entry.id).await.unwrap()?;
        Some((row.entry.score.unwrap(), submission.receipt?.verdict.metrics))
    }

    /// The counts of an annotator's row: submitted, fooling, pending, validated, refused, flagged, duplicates.
    async fn counts(&self, who: &str) -> [u64; 7] {
        let (score, metrics) = self.row(who).await.unwrap_or_else(|| panic!("{who} has a row"));
        let counts = [
            "n_submitted",
            "n_fooling",
            "n_pending",
            "n_validated",
            "n_refused",
            "n_flagged",
            "n_duplicates",
        ]
        .map(|name| metrics[name].as_u64().unwrap());
        assert_eq!(
            score.to_bits(),
            (counts[3] as f64).to_bits(),
            "the score is what is validated"
        );
        counts
    }

    /// The items of a partition that begins so.
    async fn items(&self, partition: &str) -> Vec<dataperf_aws::Item> {
        self.world.items_below(&format!("{BENCHMARK}#{partition}")).await
    }

    /// A person's count of a day.
    async fn n_taken(&self, who: &str, noun: &str) -> u64 {
        self.world.n_taken(BENCHMARK, who, noun).await
    }
}

fn line_code(line: &LineOutcome) -> &str {
    line.reasons.first().map_or("", |reason| &reason.code)
}

fn example(line: &LineOutcome) -> String {
    line.details["example"].as_str().unwrap().to_owned()
}
