//! The function that takes pairs: each has to be of an image that was made for its submitter and prompt.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::{
    Case, Collection as _, Common, Filed, Judged, LineFunction, Notes, duplicate, file, filed, index,
    is_rater, no_more, read, serve_lines,
};
use dataperf::board::{Stage, parse_round};
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::{LineOutcome, Reason, Rejection, quote};
use dataperf_collections::common::Disqualified;
use dataperf_collections::nibbler::{Configuration, Duplicate, Line, PairId, Submission};
use serde_json::{Value, json};

use crate::nibbler::embedder::{Embedder, LoadModel};
use crate::nibbler::pairs::{Pair, PairMore, Pairs, pair_image_key};
use crate::nibbler::{refusals, sets};

/// The largest stored image, in bytes: an image may have grown when it was re-encoded.
const MAX_IMAGE_BYTES: u64 = 256 << 20;

struct Submit {
    common: Common<Pairs>,
    embedder: Embedder,
}

/// Runs the function until the host ends it. `load` makes the sentence transformer, where the data set has one.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run_submit(load: LoadModel) -> Result<(), lambda_runtime::Error> {
    dataperf_aws::log_as_json();
    let common = Common::from_environment()?;
    serve_lines(Submit {
        common,
        embedder: Embedder::new(load),
    })
    .await
}

impl LineFunction for Submit {
    type Collection = Pairs;
    type Line = Submission;
    const KIND: &'static str = "submit";

    fn common(&self) -> &Common<Pairs> {
        &self.common
    }

    fn held_against(configuration: &Configuration) -> &Configuration {
        configuration
    }

    fn refused(&self, disqualified: &Disqualified, name: &str) -> Option<Reason> {
        no_more(disqualified.has_submitter(name), name, "requests and pairs")
    }

    async fn judge(
        &self,
        case: &Case<'_, Pairs>,
        lines: Vec<Line<Submission>>,
    ) -> Result<Judged, WorkflowError> {
        let name = &case.submission.submitter;
        if is_rater::<Pairs>(case.table, name).await? {
            return Ok(Judged::Rejected(refusals::rater(name)));
        }
        let mut outcomes = Vec::with_capacity(lines.len());
        let mut n_new = 0;
        for line in lines {
            case.has_time(Duration::ZERO, n_new)?;
            let filed = match line.outcome {
                Err(rejection) => Err(rejection),
                Ok(pair_one) => self.one(case, line.number, pair_one, &mut n_new).await?,
            };
            outcomes.push(match filed {
                Err(rejection) => LineOutcome::rejected(line.number, &rejection),
                Ok(pair) => LineOutcome::accepted(line.number, details(&pair)),
            });
        }
        let embedding = case.rules.configuration.embedding.as_str();
        Ok(Judged::Lines(
            outcomes,
            Notes::from([("embedding".into(), json!(embedding))]),
        ))
    }
}

impl Submit {
    async fn one(
        &self,
        case: &Case<'_, Pairs>,
        line: usize,
        pair: Submission,
        n_new: &mut usize,
    ) -> Result<Result<Pair, Rejection>, WorkflowError> {
        let (table, submission) = (case.table, case.submission);
        let at = |member: &str| format!("line {line} /{member}");
        let known = sets::known(table, &pair.image).await?;
        // Another submitter's image is treated as missing: nobody learns which ids there are.
        let Some(known) = known.filter(|known| known.submitter == submission.submitter) else {
            let message = format!(
                "{} is not one of your images: use an id from the receipts of your requests",
                quote(pair.image.as_str())
            );
            return Ok(Err(Reason::new("unknown_image", at("image"), message).into()));
        };
        if !is_of_round(&known.round, &case.round) {
            let reason = refusals::other_round(at("image"), &known.round, &case.round);
            return Ok(Err(reason.into()));
        }
        if known.prompt != pair.prompt {
            let message = format!(
                "the image belongs to another of your prompts, {}: write that prompt, or choose another image",
                quote(&known.prompt)
            );
            return Ok(Err(Reason::new("other_prompt", at("prompt"), message).into()));
        }
        let embedding = self.embedder.embed(&case.rules, &pair.prompt).await?;
        let mut pair = Pair {
            id: PairId::derive(&pair.image),
            submitter: submission.submitter.clone(),
            submission: submission.id.clone(),
            line: line as u64,
            received_at: submission.received_at,
            round: case.round.clone(),
            dataset: case.rules.dataset,
            content: pair,
            duplicate: Duplicate::default(),
            n_raters: case.rules.configuration.validation.raters as u64,
            more: PairMore {
                embedding,
                origin: (known.provider, known.model),
            },
            decision: None,
        };
        let filed = if let Some(there) = read::<Pairs>(table, &pair.id).await? {
            filed(there, &pair)
        } else {
            // before the pair is among those that others can repeat
            if !self.show_raters(&known.key, &pair.id).await? {
                let message = format!(
                    "the platform has lost the image {}. This is not your fault. Submit another image of \
                        the set, and tell your organizer",
                    quote(pair.content.image.as_str())
                );
                return Ok(Err(Reason::new("lost_image", at("image"), message).into()));
            }
            let configuration = &case.rules.configuration;
            let scoring = Pairs::version(table, &pair.round, configuration).await?;
            index(table, &pair, scoring).await?;
            // a preliminary result: of pairs uploaded at once the earlier one may arrive later, so
            // deciding repeats this check
            pair.duplicate = duplicate(table, &pair, configuration.near_duplicate_from, scoring).await?;
            *n_new += 1;
            file(table, &pair).await?
        };
        Ok(match filed {
            Filed::Here(pair) => Ok(*pair),
            Filed::Before(there) => {
                let message = format!(
                    "you already submitted this image as the pair {}, on line {} of the upload {}: choose \
                        another image",
                    quote(there.id.as_str()),
                    there.line,
                    quote(there.submission.as_str()),
                );
                Err(Reason::new("already_submitted", at("image"), message).into())
            }
        })
    }

    /// Copies an image to a place that raters may read; `false` if it does not exist.
    async fn show_raters(&self, key: &str, pair: &PairId) -> Result<bool, WorkflowError> {
        let results = self.common.resources.results().await;
        let Got::Object(image) = results.get(key, None, MAX_IMAGE_BYTES).await? else {
            tracing::error!(
                key,
                "the table knows this image, and it is not in the results bucket"
            );
            return Ok(false);
        };
        results.put(&pair_image_key(pair), image.bytes).await?;
        Ok(true)
    }
}

/// Whether an image of a set that was requested in the round `made_in` may be submitted in `round`:
/// in the same one, and after its close as long as no other round has opened.
fn is_of_round(made_in: &str, round: &str) -> bool {
    round == made_in || parse_round(round) == (made_in, Stage::Post)
}

fn details(pair: &Pair) -> BTreeMap<String, Value> {
    BTreeMap::from([
        ("pair".to_owned(), json!(pair.id)),
        ("image".to_owned(), json!(pair.content.image)),
    ])
    .into_iter()
    .chain(pair.duplicate_detail())
    .collect()
}
