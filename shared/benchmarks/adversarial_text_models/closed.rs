//! The input of a submitted program: the inputs, and the labels of each task.

use dataperf::benchmark::closed::{ClosedTask, DataFile, Measured, Seed};
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::dataset::{DatasetError, Files};
use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons, Rejection};
use dataperf_collections::text::Task;
use serde_json::{Map, json};

use super::artifact::{MEASURED, not_measured};
use super::{AdversarialTextModels, INPUTS_FILE, Parameters};
use crate::closed::document;

/// The name of the file of inputs in `/data`.
const INPUTS: &str = "inputs.jsonl";

/// Programs that answer inputs.
pub struct ClosedBoards;

impl dataperf::benchmark::closed::ClosedBoards for ClosedBoards {
    const ONLY: bool = true;

    async fn task(files: &Files<'_>, leaderboard: &str, _seed: Seed) -> Result<ClosedTask, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let labels = Task::ALL.map(|task| (task.as_str().to_owned(), json!(task.labels())));
        let labels: Map<_, _> = labels.into_iter().collect();
        let question =
            json!({ "n_inputs": parameters.n_inputs, "labels": labels, "rates": parameters.rates });
        let inputs = DataFile {
            name: INPUTS.to_owned(),
            bytes: files.whole(INPUTS_FILE).await?.to_vec(),
        };
        Ok(ClosedTask {
            files: vec![document::<AdversarialTextModels>(leaderboard, question), inputs],
            // the data set's ids are numbers already, in an order that depends on the texts alone
            translate: Box::new(|artifact, reasons| {
                refuse_measured(&artifact, reasons);
                artifact
            }),
        })
    }

    fn rules(manifest: &Manifest) -> Result<serde_json::Value, FrozenError> {
        let Parameters { rates, .. } = manifest.parameters()?;
        Ok(json!({ "rates": rates }))
    }

    fn with_measured(artifact: Vec<u8>, took: Option<Measured>) -> Result<Vec<u8>, Rejection> {
        let Measured { fuel, memory_bytes } = took.ok_or_else(not_measured)?;
        let mut artifact = Json::parse(&artifact)?;
        // an artifact that is no object is returned unchanged, for the ordinary rules to refuse
        if let Json::Object(members) = &mut artifact {
            let number = |name: &str, n: u64| (name.to_owned(), Json::Number(n.into()));
            let measured = vec![number("fuel", fuel), number("memory_bytes", memory_bytes)];
            members.push((MEASURED.to_owned(), Json::Object(measured)));
        }
        Ok(artifact.to_bytes())
    }
}

/// Refuses an artifact in which a program reports its own measurements: they are made outside of it.
fn refuse_measured(artifact: &Json, reasons: &mut Reasons) {
    let Json::Object(members) = artifact else { return };
    if members.iter().any(|(key, _)| key == MEASURED) {
        let message = "the platform measures fuel and memory itself: leave `measured` out";
        reasons.add(Reason::new("unknown_key", "/measured", message));
    }
}
