//! A model behind an address: it is sent texts by `POST`, a batch at a time, and answers in JSON. It may be late, wrong, or gone.

use std::time::{Duration, Instant};

use dataperf_collection_aws::outside::{Client, Failure, Pauses, client, kind_of};
use dataperf_text::{Answer, Input, Task};
use futures_util::future::join_all;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::NotAnswered;
use super::answers::{MAX_ANSWER_BYTES, checked, request};
use super::breaker::Breaker;

/// Number of batches that are asked for at the same time.
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
        for batches in batches.chunks(AT_ONCE) {
            let asked = batches.iter().map(|batch| self.batch(task, batch, deadline));
            for (said, batch) in join_all(asked).await.into_iter().zip(batches) {
                outcomes.extend(super::spread(said, batch.len()));
            }
        }
        outcomes
    }

    /// One batch, tried again while that may help.
    async fn batch(
        &self,
        task: Task,
        inputs: &[Input],
        deadline: Instant,
    ) -> Result<Vec<Answer>, NotAnswered> {
        let mut tries = 0;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(no_call(tries, "was not asked: there was no time left"));
            }
            if !self.breaker.lets_through(Instant::now()) {
                let what = "was not asked: it has failed too often just now";
                return Err(no_call(tries, what));
            }
            let patience = self.timeout.min(left);
            let called = tokio::time::timeout(patience, self.call(task, inputs)).await;
            let called = called.unwrap_or_else(|_| {
                let what = format!("gave no answer in {:.1} s", patience.as_secs_f64());
                Err(Failure::transient(what))
            });
            self.breaker.ended(called.is_ok(), Instant::now());
            let failure = match called {
                Ok(answers) => return Ok(answers),
                Err(failure) => failure,
            };
            tries += 1;
            let pause = PAUSES.after(tries, failure.after);
            let left = deadline.saturating_duration_since(Instant::now());
            if matches!(failure.error, NotAnswered::Organizer(_)) || tries > RETRIES || pause >= left {
                return Err(tried(failure.error, tries));
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn call(&self, task: Task, inputs: &[Input]) -> Result<Vec<Answer>, Failure> {
        let mut asked = Request::post(&self.url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json");
        if let Some(key) = &self.key {
            asked = asked.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let asked = asked.body(Full::from(request(task, inputs).to_string()));
        let asked = asked
            .map_err(|_| Failure::organizer("has an address or a key that can't be put into a request"))?;
        let answer = self.http.request(asked).await;
        let answer =
            answer.map_err(|error| Failure::transient(format!("can't be reached: {}", kind_of(&error))))?;
        let (parts, body) = answer.into_parts();
        if parts.status != StatusCode::OK {
            return Err(Failure::of_status(
                parts.status,
                &parts.headers,
                "check its address and its key",
            ));
        }
        let most = (inputs.len() + 1) * MAX_ANSWER_BYTES;
        let body = Limited::new(body, most).collect().await;
        let body = body
            .map_err(|_| Failure::transient(format!("broke off, or answered with more than {most} bytes")))?;
        let body = body.to_bytes();
        let said: Body<'_> =
            serde_json::from_slice(&body).map_err(|_| Failure::transient("answered with something else"))?;
        let answers = said.answers.iter().map(|answer| answer.get().as_bytes());
        checked(answers, task, inputs).map_err(|why| Failure::transient(format!("answered wrongly: {why}")))
    }
}

/// Why no call is made after `tries` of them.
fn no_call(tries: u32, what: &str) -> NotAnswered {
    if tries == 0 {
        NotAnswered::NotAsked(what.into())
    } else {
        NotAnswered::Transient(what.into())
    }
}

/// Adds to an error that may pass how often the call was tried.
fn tried(error: NotAnswered, tries: u32) -> NotAnswered {
    match error {
        NotAnswered::Transient(what) => NotAnswered::Transient(format!("{what} (tried {tries} times)")),
        NotAnswered::NotAsked(_) | NotAnswered::Organizer(_) => error,
    }
}
