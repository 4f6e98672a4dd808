//! The function that makes images: a request's prompts are filtered, counted against the day's sets, and handed to the
//! providers; what they give is stored under names that don't say whose it is.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{
    BEGUN_A_DAY, Case, Common, Judged, LineFunction, RESERVE, Secrets, Taken, Taking, counted,
    external_services::NotAnswered, is_rater, no_more, serve_lines,
};
use bytes::Bytes;
use dataperf::challenge::Terms;
use dataperf::evaluation::failure_judge::FaultKind;
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::ports::bucket::Bucket;
use dataperf::{Digest, LineOutcome, Reason, SubmissionId, Timestamp};
use dataperf_aws::{now, variable};
use dataperf_collections::common::Disqualified;
use dataperf_collections::nibbler::images::inspect;
use dataperf_collections::nibbler::{
    Configuration, Generation, GenerationRequest, ImageId, Line, Provider, SetId,
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::nibbler::pairs::Pairs;
use crate::nibbler::provider::{Given, Services};
use crate::nibbler::sets::{self, Image, MadeSet, Making, Origin, image_key};
use crate::nibbler::{IMAGE_IDS, refusals};

/// The time between two looks at a set that another worker is making.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

struct Generate {
    common: Common<Pairs>,
    secret: String,
    secrets: Mutex<Option<Arc<Secrets>>>,
    services: Services,
}

/// Runs the function until the host ends it.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run_generate() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::log_as_json();
    let generate = Generate {
        common: Common::from_environment()?,
        secret: variable("DATAPERF_SECRET")?,
        secrets: Mutex::new(None),
        services: Services::new()?,
    };
    serve_lines(generate).await
}

/// The request in a line.
struct ImageRequest<'a> {
    case: &'a Case<'a, Pairs>,
    prompt: &'a str,
    set: SetId,
}

/// One provider's result.
struct Batch<'a> {
    provider: &'a Provider,
    pngs: Vec<Vec<u8>>,
    n_blocked: usize,
}

/// The result for a prompt.
enum Outcome {
    Set { set: MadeSet, is_stored: bool },
    Rejected(Reason),
}

impl LineFunction for Generate {
    type Collection = Pairs;
    type Line = GenerationRequest;
    const KIND: &'static str = "generate";

    fn common(&self) -> &Common<Pairs> {
        &self.common
    }

    fn held_against(configuration: &Configuration) -> &Configuration {
        configuration
    }

    fn refused(&self, disqualified: &Disqualified, name: &str) -> Option<Reason> {
        no_more(disqualified.has_submitter(name), name, "requests and pairs")
    }

    /// Refuses requests after the close: images cost money, and no pair with them would be scored.
    fn refused_at(&self, terms: &Terms, at: Timestamp) -> Option<Reason> {
        let closed = terms.closes.filter(|closes| *closes <= at)?;
        let message = format!(
            "the round closed at {closed} and makes no more images. Until the next round opens you can \
                still submit pairs of this round's images, but they count for no round"
        );
        Some(Reason::new("round_closed", "", message))
    }

    async fn judge(
        &self,
        case: &Case<'_, Pairs>,
        lines: Vec<Line<GenerationRequest>>,
    ) -> Result<Judged, WorkflowError> {
        if is_rater::<Pairs>(case.table, &case.submission.submitter).await? {
            return Ok(Judged::Rejected(refusals::rater(&case.submission.submitter)));
        }
        let mut outcomes = Vec::with_capacity(lines.len());
        let (mut n_new, mut has_a_set, mut fault) = (0, false, None);
        let patience = Duration::from_secs(case.rules.configuration.generation.set_seconds);
        for line in lines {
            // failures take time, too, and a file without a new set does not go on in another run
            let is_late = fault.is_some() && n_new == 0 && case.time_left() < patience + RESERVE;
            let outcome = match line.outcome {
                Err(rejection) => LineOutcome::rejected(line.number, &rejection),
                Ok(_) if is_late => LineOutcome::rejected(line.number, &not_made(line.number).into()),
                Ok(request) => match self.one(case, line.number, &request.prompt, &mut n_new).await {
                    Ok(Outcome::Rejected(reason)) => LineOutcome::rejected(line.number, &reason.into()),
                    Ok(Outcome::Set { set, is_stored }) => {
                        has_a_set = true;
                        LineOutcome::accepted(line.number, details(&request.prompt, &set, is_stored))
                    }
                    Err(error @ WorkflowError::Judge { .. }) => {
                        tracing::error!(line = line.number, %error, "a set can't be made, the file's others can");
                        fault = fault.or(Some(error));
                        LineOutcome::rejected(line.number, &not_made(line.number).into())
                    }
                    Err(error) => return Err(error),
                },
            };
            outcomes.push(outcome);
        }
        // a file without any set is tried again as a whole
        if let Some(fault) = fault.filter(|_| !has_a_set) {
            return Err(fault);
        }
        let submission = case.submission;
        let taken = sets::allowance(case.table)
            .n_taken(&submission.submitter, submission.received_at)
            .await?;
        let limit = case.rules.configuration.generation.sets_a_day;
        let notes = counted("sets", taken, limit.into(), submission.received_at);
        Ok(Judged::Lines(outcomes, notes))
    }
}

impl Generate {
    /// One prompt's set: the stored one, or a new one that counts.
    async fn one(
        &self,
        case: &Case<'_, Pairs>,
        line: usize,
        prompt: &str,
        n_new: &mut usize,
    ) -> Result<Outcome, WorkflowError> {
        let submission = case.submission;
        let request = ImageRequest {
            case,
            prompt,
            set: SetId::derive(&case.round, &submission.submitter, prompt),
        };
        let generation = &case.rules.configuration.generation;
        let patience = Duration::from_secs(generation.set_seconds);
        loop {
            case.has_time(patience, *n_new)?;
            let taking = Taking {
                submitter: &submission.submitter,
                submission: &submission.id,
                at: submission.received_at,
                thing: request.set.as_str(),
                limit: generation.sets_a_day.into(),
                worker: &case.context.request_id,
                until: later(patience + RESERVE),
            };
            let allowance = sets::allowance(case.table);
            let (taken_by, begun_on) = match allowance.take(&taking, now()).await? {
                Taken::Make { taken_by, begun_on } => (taken_by, begun_on),
                Taken::Made(item) => {
                    let set = sets::made(&item)?;
                    return Ok(outcome(line, set, true));
                }
                Taken::Busy { .. } => {
                    tokio::time::sleep(LOOK_AGAIN).await;
                    continue;
                }
                Taken::UsedUp { n_taken } => {
                    let at = submission.received_at;
                    return Ok(Outcome::Rejected(used_up(line, taking.limit, n_taken, at)));
                }
                Taken::BegunTooOften => {
                    // gives back what an earlier run has taken for it, if one has
                    let set = request.set.as_str();
                    allowance.give_one_back(&submission.id, set, None).await?;
                    return Ok(Outcome::Rejected(begun_too_often(line, taking.limit, now())));
                }
            };
            let may_cost = Cell::new(false);
            match self.make(&request, &taken_by, (patience, &may_cost)).await {
                Ok(Some(set)) => {
                    *n_new += 1;
                    return Ok(outcome(line, set, false));
                }
                Ok(None) => {} // it was given back meanwhile: start again
                Err(fault) => {
                    // The platform has failed, so the set does not count. If returning it fails
                    // too, whoever ends the submission returns it.
                    let free_on = (!may_cost.get()).then_some(begun_on.as_str());
                    allowance
                        .give_one_back(&taken_by, request.set.as_str(), free_on)
                        .await?;
                    return Err(fault);
                }
            }
        }
    }

    /// Requests a set, stores it, and records it; `None` when it was given back meanwhile. Sets `may_cost` when the set may have to be paid for.
    async fn make(
        &self,
        request: &ImageRequest<'_>,
        taken_by: &SubmissionId,
        (patience, may_cost): (Duration, &Cell<bool>),
    ) -> Result<Option<MadeSet>, WorkflowError> {
        let generation = &request.case.rules.configuration.generation;
        let secrets = self.secrets(generation).await?;
        let key = secrets.key(IMAGE_IDS)?;
        let mut with_keys = Vec::new();
        let mut faults = Vec::new();
        for provider in &generation.providers {
            match secrets.member(&provider.secret) {
                Ok(key) => with_keys.push((provider, key)),
                Err(error) => faults.push(NotAnswered::Organizer(format!(
                    "the provider `{}` can't be asked: {error}",
                    provider.name
                ))),
            }
        }
        // no service is called, and paid, when the set can't have enough images
        let most: usize = with_keys.iter().map(|(provider, _)| provider.images).sum();
        if most < generation.min_images {
            return Err(too_few(0, generation.min_images, &faults));
        }
        let deadline = Instant::now() + patience;
        let wanted = with_keys.into_iter().map(|(provider, key)| {
            let look = move |given| seen(provider, given, generation);
            let until = (deadline, may_cost);
            self.services
                .ask((provider, key), request.prompt, generation, until, look)
        });
        let mut batches = Vec::new();
        for wanted in join_all(wanted).await {
            match wanted {
                Ok(batch) => batches.push(batch),
                Err(fault) => faults.push(fault),
            }
        }
        let n_given: usize = batches
            .iter()
            .map(|batch| batch.pngs.len() + batch.n_blocked)
            .sum();
        if n_given < generation.min_images {
            self.forget_secrets(&faults).await;
            return Err(too_few(n_given, generation.min_images, &faults));
        }
        for fault in &faults {
            tracing::warn!(set = %request.set, error = %fault, "a provider gave nothing, the others suffice");
        }
        self.store(request, taken_by, &key, batches).await
    }

    async fn store(
        &self,
        request: &ImageRequest<'_>,
        taken_by: &SubmissionId,
        key: &dataperf_collections::nibbler::SecretKey,
        batches: Vec<Batch<'_>>,
    ) -> Result<Option<MadeSet>, WorkflowError> {
        let submitter = &request.case.submission.submitter;
        let results = self.common.resources.results().await;
        let (mut images, mut origins, mut n_blocked) = (Vec::new(), Vec::new(), 0);
        for batch in batches {
            n_blocked += batch.n_blocked;
            for (idx, png) in batch.pngs.into_iter().enumerate() {
                let id = ImageId::derive(key, &request.set, &batch.provider.name, idx);
                let key = image_key(submitter, &id);
                images.push(Image {
                    id: id.clone(),
                    key: key.clone(),
                    digest: Digest::compute(&png),
                });
                origins.push(Origin {
                    image: id,
                    provider: batch.provider.name.clone(),
                    model: batch.provider.model.clone(),
                });
                // Whoever made the set before and did not come to record it has left others here, which nobody knows of.
                results.put(&key, Bytes::from(png)).await?;
            }
        }
        images.sort_by(|a, b| a.id.cmp(&b.id));
        let set = MadeSet { images, n_blocked };
        let making = Making {
            id: &request.set,
            round: &request.case.round,
            submitter,
            prompt: request.prompt,
            taken_by,
            made_at: now(),
        };
        let is_recorded = sets::record(request.case.table, &making, &set, &origins).await?;
        Ok(is_recorded.then_some(set))
    }

    /// The keys: read with the first request, and kept as long as they are all there.
    async fn secrets(&self, generation: &Generation) -> Result<Arc<Secrets>, WorkflowError> {
        let mut kept = self.secrets.lock().await;
        let needed = || {
            let of_providers = generation
                .providers
                .iter()
                .map(|provider| provider.secret.as_str());
            of_providers.chain([IMAGE_IDS])
        };
        if let Some(secrets) = kept.as_ref().filter(|secrets| secrets.has_all(needed())) {
            return Ok(secrets.clone());
        }
        let read = Secrets::read(self.common.resources.clients().await, None, &self.secret).await;
        match (read, kept.as_ref()) {
            (Ok(read), _) => Ok(kept.insert(Arc::new(read)).clone()),
            // the keys that were read before may still be good
            (Err(error), Some(secrets)) => {
                tracing::warn!(%error, "the keys can't be read again");
                Ok(secrets.clone())
            }
            (Err(error), None) => Err(error),
        }
    }

    /// A key that was refused may have been replaced: the next try reads it again.
    async fn forget_secrets(&self, faults: &[NotAnswered]) {
        if faults
            .iter()
            .any(|fault| matches!(fault, NotAnswered::Organizer(_)))
        {
            *self.secrets.lock().await = None;
        }
    }
}

/// Looks at what a provider gave. An answer without any image counts as no answer.
fn seen<'a>(provider: &'a Provider, given: Given, limits: &Generation) -> Result<Batch<'a>, NotAnswered> {
    let mut batch = Batch {
        provider,
        pngs: Vec::new(),
        n_blocked: 0,
    };
    match given {
        Given::Refused => batch.n_blocked = provider.images,
        Given::Images(images, n_blocked) => {
            batch.n_blocked += n_blocked;
            for bytes in images {
                match inspect(&bytes, limits) {
                    Ok(image) if image.is_blocked() => batch.n_blocked += 1,
                    Ok(image) => batch.pngs.push(image.png),
                    Err(error) => {
                        tracing::warn!(provider = provider.name, %error, "an image can't be read");
                    }
                }
            }
        }
    }
    if batch.pngs.is_empty() && batch.n_blocked == 0 {
        return Err(NotAnswered::Transient("gave no image that can be read".into()));
    }
    Ok(batch)
}

fn outcome(line: usize, set: MadeSet, is_stored: bool) -> Outcome {
    if set.images.is_empty() {
        let message = format!(
            "the image services blocked all {} images, because their own filters found the prompt or the images unsafe. \
             Try another prompt",
            set.n_blocked
        );
        return Outcome::Rejected(Reason::new(
            "blocked_by_provider",
            format!("line {line}"),
            message,
        ));
    }
    Outcome::Set { set, is_stored }
}

fn details(prompt: &str, set: &MadeSet, is_stored: bool) -> BTreeMap<String, Value> {
    BTreeMap::from([
        ("prompt".into(), json!(prompt)),
        ("images".into(), json!(set.images)),
        ("n_blocked".into(), json!(set.n_blocked)),
        ("stored_before".into(), json!(is_stored)),
    ])
}

fn used_up(line: usize, limit: u64, n_taken: u64, at: Timestamp) -> Reason {
    let message = format!(
        "you got {n_taken} sets of images on {}, and the limit is {limit} a day. Repeated \
            prompts and sets that fail cost nothing. Ask again from {}",
        at.day(),
        at.next_day()
    );
    Reason::over("daily_sets", format!("line {line}"), limit, n_taken, message)
}

fn begun_too_often(line: usize, limit: u64, at: Timestamp) -> Reason {
    let most = limit.saturating_mul(BEGUN_A_DAY);
    let message = format!(
        "you began {most} sets on {}, the limit for a day. Failed sets count too, because they may cost \
            money. Ask again from {}",
        at.day(),
        at.next_day()
    );
    Reason::over("daily_failures", format!("line {line}"), most, most, message)
}

fn not_made(line: usize) -> Reason {
    let message = "the image services returned too few images. This is not your fault, and the set does not count. Ask \
        for this prompt again later";
    Reason::new("not_made", format!("line {line}"), message)
}

/// One fault for all providers: the organizer's only if none may work the next time.
fn too_few(n_given: usize, least: usize, faults: &[NotAnswered]) -> WorkflowError {
    let faults_one: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let message = format!(
        "the services made {n_given} images, a set needs {least}; {}",
        faults_one.join("; ")
    );
    let is_organizers = !faults.is_empty()
        && faults
            .iter()
            .all(|fault| matches!(fault, NotAnswered::Organizer(_)));
    let fault = if is_organizers {
        FaultKind::Organizer
    } else {
        FaultKind::Provider
    };
    WorkflowError::judge(fault, message)
}

fn later(after: Duration) -> Timestamp {
    let millis = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_unix_millis(now().unix_millis().saturating_add(millis))
}
