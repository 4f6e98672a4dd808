//! The artifact: `{"answers": {"0": {"label": "neutral"}, "1": {"start": 12, "text": "red"}}, "measured": {"fuel": 1, "memory_bytes": 1}}`.

use dataperf::benchmark::closed::Measured;
use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons, Rejection, pointer, quote};

/// The key of a program's answers.
const ANSWERS: &str = "answers";
/// The key of the cost of a program's run.
pub(super) const MEASURED: &str = "measured";

/// One answer as the artifact has it.
#[derive(Debug)]
pub(super) struct NamedAnswer {
    /// The place of the answer in the artifact.
    pub(super) at: String,
    /// The id of the input.
    pub(super) id: String,
    pub(super) answer: Json,
}

/// A parsed artifact, with the mistakes in its form, to which the rules add theirs.
#[derive(Debug)]
pub struct Artifact {
    /// The answers, in the artifact's order.
    pub(super) answers: Vec<NamedAnswer>,
    /// The cost of the run; `None` if it is missing, which has been noted.
    pub(super) measured: Option<Measured>,
    pub(super) reasons: Reasons,
}

impl Artifact {
    /// Reads the artifact's form.
    ///
    /// # Errors
    /// A [`Rejection`] when it is no JSON; a wrong form is reported together with broken rules.
    pub fn parse(artifact: &[u8]) -> Result<Self, Rejection> {
        let artifact = Json::parse(artifact)?;
        let is_object = matches!(artifact, Json::Object(_));
        let mut reasons = Reasons::default();
        let (mut answers, mut measured, mut has_answers, mut has_measured) = (Vec::new(), None, false, false);
        for (key, value) in artifact.into_members("", &mut reasons) {
            match key.as_str() {
                ANSWERS => {
                    has_answers = true;
                    let members = value.into_members("/answers", &mut reasons).into_iter();
                    answers.extend(members.map(|(id, answer)| NamedAnswer {
                        at: pointer("/answers", &id),
                        id,
                        answer,
                    }));
                }
                MEASURED => {
                    has_measured = true;
                    measured = taken(&value, &mut reasons);
                }
                _ => {
                    let message = format!(
                        "{} is not a key here: the keys are `answers` and `measured`",
                        quote(&key)
                    );
                    reasons.add(Reason::new("unknown_key", pointer("", &key), message));
                }
            }
        }
        if is_object && !has_answers {
            let message = "`answers` is missing: add an object with an answer for the id of each input";
            reasons.add(Reason::new("wrong_form", "", message));
        }
        if is_object && !has_measured {
            reasons.add(not_measured());
        }
        Ok(Self {
            answers,
            measured,
            reasons,
        })
    }
}

fn taken(value: &Json, reasons: &mut Reasons) -> Option<Measured> {
    let read = serde_json::from_slice(&value.to_bytes());
    let note = |_: serde_json::Error| {
        let message = "expected `fuel` and `memory_bytes`, whole numbers, 0 or more";
        reasons.add(Reason::new("wrong_form", "/measured", message));
    };
    read.map_err(note).ok()
}

/// The rejection of an artifact without measurements, which are part of the score.
pub(super) fn not_measured() -> Reason {
    let message = "`measured` is missing: fuel and memory are part of the score. Run a WebAssembly module with `dataperf \
        closed run`, which adds `measured`";
    Reason::new("not_measured", "", message)
}
