//! A model behind an address: it gets texts by `POST`, a batch at a time, and answers in JSON. It
//! may be late, wrong or gone. If it refuses a text, the texts of that batch are sent one by one,
//! so that one text can't block the others.

use std::time::{Duration, Instant};

use crate::common::external_services::{Client, Failure, client, is_worth_a_call, kind_of};
use dataperf_aws::Pauses;
use dataperf_collections::text::{Answer, Input, Task};
use futures_util::future::join_all;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::OnceCell;

use super::NotAnswered;
use super::answers::{MAX_ANSWER_BYTES, checked, request};
use super::breaker::Breaker;

/// The statuses by which a service refuses a request. A service also uses them for requests that it
/// does not understand, which the organizer has to fix. A request with a plain text distinguishes
/// the two.
const REFUSALS: [StatusCode; 3] = [
    StatusCode::BAD_REQUEST,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::UNPROCESSABLE_ENTITY,
];
/// The organizer's checks for a service without answers.
const CHECK: &str = "check its address and its key";
/// Number of concurrent batches.
const AT_ONCE: usize = 4;
/// How often a batch is tried again.
const RETRIES: u32 = 2;
const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(200),
    longest: Duration::from_secs(5),
};

/// A service, its key, and how its last calls went.
pub struct Service {
    url: String,
    key: Option<String>,
    timeout: Duration,
    batch: usize,
    http: Client,
    breaker: Breaker,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    answers: Vec<&'a RawValue>,
}

impl Service {
    /// The service at `url`, which is sent `key` and at most `batch` texts in a call of at most `timeout`.
    ///
    /// # Errors
    /// When this machine has no certificates to trust.
    pub fn new(
        url: String,
        key: Option<String>,
        timeout: Duration,
        batch: usize,
    ) -> Result<Self, std::io::Error> {
        Ok(Self {
            url,
            key,
            timeout,
            batch: batch.max(1),
            http: client()?,
            breaker: Breaker::default(),
        })
    }

    /// Its answers, one outcome for each text, all of them by `deadline`.
    pub async fn ask(
        &self,
        task: Task,
        inputs: &[Input],
        deadline: Instant,
    ) -> Vec<Result<Answer, NotAnswered>> {
        let batches: Vec<&[Input]> = inputs.chunks(self.batch).collect();
        let mut outcomes = Vec::with_capacity(inputs.len());
        let plain = OnceCell::new();
        for batches in batches.chunks(AT_ONCE) {
            let request = batches
                .iter()
                .map(|batch| self.each(task, batch, deadline, &plain));
            outcomes.extend(join_all(request).await.into_iter().flatten());
        }
        outcomes
    }

    /// Sends one batch, and if it is refused, each of its texts alone. `plain` caches the answer to
    /// a plain text, so that it is sent once.
    async fn each(
        &self,
        task: Task,
        inputs: &[Input],
        deadline: Instant,
        plain: &OnceCell<Result<(), NotAnswered>>,
    ) -> Vec<Result<Answer, NotAnswered>> {
        let mut tries = 0;
        let answer = self.batch(task, inputs, deadline, &mut tries).await;
        if !matches!(answer, Err(NotAnswered::Refused(_))) {
            return super::spread(answer, inputs.len());
        }
        let has_context = inputs.iter().any(|input| input.context.is_some());
        let request = || self.answers_a_plain_text(task, has_context, deadline);
        let answers = plain.get_or_init(request).await;
        if let Err(not) = answers {
            return vec![Err(not.clone()); inputs.len()];
        }
        if inputs.len() == 1 {
            return super::spread(answer, 1);
        }
        let mut outcomes = Vec::with_capacity(inputs.len());
        for input in inputs {
            let mut tries = tries; // those of the batch were tries of each of its texts
            let alone = std::slice::from_ref(input);
            let answer = self.batch(task, alone, deadline, &mut tries).await;
            outcomes.extend(super::spread(answer, 1));
        }
        if !outcomes
            .iter()
            .any(|answer| matches!(answer, Err(NotAnswered::Refused(_))))
        {
            tracing::warn!(
                n = inputs.len(),
                "a service refuses several texts in one request, but takes each alone: lower its `batch`"
            );
        }
        outcomes
    }

    /// Asks about a text that no service has a reason to refuse.
    async fn answers_a_plain_text(
        &self,
        task: Task,
        has_context: bool,
        deadline: Instant,
    ) -> Result<(), NotAnswered> {
        let text = if task.has_spans() {
            "Which colour is the barn?"
        } else {
            "The barn has a colour."
        };
        let input = Input {
            context: has_context.then(|| "The barn is red.".into()),
            text: text.into(),
        };
        match self.batch(task, &[input], deadline, &mut 0).await {
            Ok(_) => Ok(()),
            Err(NotAnswered::Refused(message)) => Err(NotAnswered::Organizer(format!(
                "{message}, and so it does about a plain text: {CHECK}"
            ))),
            Err(not) => Err(not),
        }
    }

    /// One batch, repeated while that may help. `tries` counts the calls, including those of a
    /// larger batch before it.
    async fn batch(
        &self,
        task: Task,
        inputs: &[Input],
        deadline: Instant,
        tries: &mut u32,
    ) -> Result<Vec<Answer>, NotAnswered> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(no_call(*tries, "got no request: there was no time left"));
            }
            if !self.breaker.lets_through(Instant::now()) {
                let message = "got no request: it has failed too often";
                return Err(no_call(*tries, message));
            }
            let patience = self.timeout.min(left);
            let called = tokio::time::timeout(patience, self.call(task, inputs)).await;
            let called = called.unwrap_or_else(|_| {
                let message = format!("gave no answer in {:.1} s", patience.as_secs_f64());
                Err(Failure::transient(message))
            });
            let refuses = |failure: &Failure| matches!(failure.error, NotAnswered::Refused(_));
            // a service that refuses a text works
            let is_good = called.as_ref().map_or_else(refuses, |_| true);
            self.breaker.ended(is_good, Instant::now());
            let failure = match called {
                Ok(answers) => return Ok(answers),
                Err(failure) => failure,
            };
            *tries += 1;
            let pause = failure.pause(PAUSES, *tries);
            let left = deadline.saturating_duration_since(Instant::now());
            let may_pass = matches!(failure.error, NotAnswered::Transient(_));
            if !may_pass || *tries > RETRIES || !is_worth_a_call(left, pause) {
                return Err(tried(failure.error, *tries));
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn call(&self, task: Task, inputs: &[Input]) -> Result<Vec<Answer>, Failure> {
        let mut wanted = Request::post(&self.url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json");
        if let Some(key) = &self.key {
            wanted = wanted.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let wanted = wanted.body(Full::from(request(task, inputs).to_string()));
        let wanted = wanted
            .map_err(|_| Failure::organizer("has an address or a key that can't be put into a request"))?;
        let answer = self.http.request(wanted).await;
        let answer =
            answer.map_err(|error| Failure::transient(format!("can't be reached: {}", kind_of(&error))))?;
        let (parts, body) = answer.into_parts();
        if REFUSALS.contains(&parts.status) {
            let message = format!("answered with {}", parts.status.as_u16());
            return Err(NotAnswered::Refused(message).into());
        }
        if parts.status != StatusCode::OK {
            return Err(Failure::of_status(parts.status, &parts.headers, CHECK));
        }
        let most = (inputs.len() + 1) * MAX_ANSWER_BYTES;
        let body = Limited::new(body, most).collect().await;
        let body = body
            .map_err(|_| Failure::transient(format!("broke off, or answered with more than {most} bytes")))?;
        let body = body.to_bytes();
        let body_one: Body<'_> =
            serde_json::from_slice(&body).map_err(|_| Failure::transient("answered with something else"))?;
        let answers = body_one.answers.iter().map(|answer| answer.get().as_bytes());
        checked(answers, task, inputs).map_err(|why| Failure::transient(format!("answered wrongly: {why}")))
    }
}

/// Why no call is made after `tries` of them.
fn no_call(tries: u32, message: &str) -> NotAnswered {
    if tries == 0 {
        NotAnswered::NotAsked(message.into())
    } else {
        NotAnswered::Transient(message.into())
    }
}

/// Adds to an error that may pass how often the call was tried.
fn tried(error: NotAnswered, tries: u32) -> NotAnswered {
    match error {
        NotAnswered::Transient(message) => NotAnswered::Transient(format!("{message} (tried {tries} times)")),
        NotAnswered::NotAsked(_) | NotAnswered::Refused(_) | NotAnswered::Organizer(_) => error,
    }
}
