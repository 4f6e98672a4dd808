//! Adversarial Nibbler, end to end: its real functions with the rights they are deployed with, on the cloud on one machine.

mod attackers;
mod commands;
mod costs;
mod disqualified;
mod generate;
mod reading;
mod scoring;
mod storms;
mod verdicts;

use std::path::{Path, PathBuf};

use dataperf::{Feedback, LineOutcome, Receipt};
use dataperf_collections::nibbler::{BENCHMARK, CONFIGURATION_FILE, Configuration, DESCRIPTOR, Parameters};
use dataperf_datasets::DatasetWriter;
use dataperf_local::Config;
use dataperf_local::image_service::IMAGES_KEY;
use serde_json::{Value, json};

use crate::support::collections::{code, configure, status};
use crate::support::project::hosted;
use crate::support::world::{IMAGES, Sent, World};

const SECRET: &str = "dataperf-nibbler";
/// The name that must never be seen by a participant or a rater.
const PROVIDER: &str = "somebody-else";

/// A cloud with Nibbler's functions and the caretaker, each with the rights that it is deployed with.
struct Nibbler {
    world: World,
}

fn configured(config: &mut Config) {
    let keys = json!({ "image-ids": "0123456789abcdef0123456789abcdef", "draws": IMAGES_KEY });
    configure(config, &DESCRIPTOR, SECRET, &keys);
}

impl Nibbler {
    /// With one provider, which is tried once.
    async fn new() -> Self {
        Self::with(|_| (), |_| ()).await
    }

    async fn with(change_config: impl FnOnce(&mut Config), change_rules: impl FnOnce(&mut Value)) -> Self {
        let world = World::without_dataset(|config| {
            configured(config);
            change_config(config);
        })
        .await;
        let nibbler = Self { world };
        nibbler.rules(change_rules);
        nibbler
    }

    /// Activates other rules; returns the digest of their data set.
    fn rules(&self, change: impl FnOnce(&mut Value)) -> String {
        let mut rules = json!({
            "prompt": { "deny": ["gore"], "languages": [] },
            "generation": {
                "min_images": 2, "retries": 0, "call_seconds": 5, "set_seconds": 30,
                "providers": [{
                    "name": PROVIDER, "url": self.world.cloud.outside(IMAGES).unwrap(), "model": "draws-1", "images": 3,
                    "secret": "draws",
                }],
            },
        });
        change(&mut rules);
        let directory = frozen(self.world.scratch(), &rules);
        self.world.replace(&directory)["dataset"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    async fn ask(&self, submitter: &str, file: &str, prompts: &[&str]) -> Sent {
        let lines: Vec<String> = prompts
            .iter()
            .map(|prompt| json!({ "prompt": prompt }).to_string())
            .collect();
        let key = format!("{BENCHMARK}/generate/{submitter}/{file}.jsonl");
        self.world.put(&key, lines.join("\n")).await
    }

    /// Waits until everything has ended, and gives the receipt of one upload.
    async fn receipt(&self, sent: &Sent) -> Receipt {
        self.receipts(std::slice::from_ref(sent)).await.remove(0)
    }

    /// Waits until everything has ended, and gives the receipts; each upload has one, and the table says the same.
    async fn receipts(&self, sent: &[Sent]) -> Vec<Receipt> {
        let mut receipts = Vec::new();
        for (receipt, stored) in self.world.ended(BENCHMARK, sent).await {
            let level = stored.feedback.expect("a receipt says its level");
            assert!(
                [Feedback::Score, Feedback::Metrics, Feedback::Full].contains(&level),
                "{level:?}"
            );
            assert_eq!(
                stored.unsigned(),
                receipt.shown(level, hosted(&receipt.verdict.benchmark))
            );
            receipts.push(receipt);
        }
        receipts
    }

    /// How many sets of today's are counted for a submitter.
    async fn n_taken(&self, submitter: &str) -> u64 {
        self.world.n_taken(BENCHMARK, submitter, "day").await
    }

    /// How many items a partition prefix has.
    async fn n_items(&self, partition: &str) -> usize {
        self.world
            .items_below(&format!("{BENCHMARK}#{partition}"))
            .await
            .len()
    }
}

/// Writes a frozen data set of rules.
fn frozen(scratch: &Path, rules: &Value) -> PathBuf {
    let out = tempfile::tempdir_in(scratch).unwrap().keep().join("frozen");
    let mut writer = DatasetWriter::create(&out).unwrap();
    writer.lines(CONFIGURATION_FILE, &[rules.to_string()]).unwrap();
    // what participants may know of them, as the importer writes it; there are tests of rules that can't be used
    let parameters =
        Configuration::parse(rules.to_string().as_bytes()).map(|rules| Parameters::from_settings(&rules));
    let parameters = parameters.map_or(json!({}), |parameters| serde_json::to_value(parameters).unwrap());
    writer.finish(BENCHMARK, parameters).unwrap();
    out
}

fn images(line: &LineOutcome) -> Vec<&str> {
    let images = line.details["images"].as_array().unwrap();
    images.iter().map(|image| image["id"].as_str().unwrap()).collect()
}
