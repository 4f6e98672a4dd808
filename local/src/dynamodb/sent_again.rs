//! A transaction that is sent again with the same token is not done again, as in `DynamoDB`.
//!
//! The engine could do that as well, but looks at the tokens of the last ten minutes in each transaction: after a hundred thousand of
//! them, a transaction takes milliseconds.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dynoxide::DynoxideError;
use serde_json::{Map, Value};

/// How long a transaction is known by its token, as in `DynamoDB`.
const WINDOW: Duration = Duration::from_mins(10);
const TOKEN: &str = "ClientRequestToken";
/// The longest token, in bytes.
const MAX_BYTES: usize = 36;

/// The answers to the transactions of the last ten minutes, by their tokens.
#[derive(Debug, Default)]
pub(crate) struct SentAgain {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// For each token, a hash of the transaction and its answer.
    answers: HashMap<String, (u64, String)>,
    /// The tokens in the order of their times.
    order: VecDeque<(Instant, String)>,
}

impl SentAgain {
    /// Does a transaction, or gives the answer of the transaction that was done under the same token. Transactions with tokens wait for each other,
    /// so that two with the same token are not both done. A transaction that fails is not remembered.
    pub(crate) fn or_do(
        &self,
        body: &[u8],
        work: impl FnOnce(&[u8]) -> dynoxide::Result<String>,
    ) -> dynoxide::Result<String> {
        self.or_do_at(body, Instant::now(), work)
    }

    fn or_do_at(
        &self,
        body: &[u8],
        now: Instant,
        work: impl FnOnce(&[u8]) -> dynoxide::Result<String>,
    ) -> dynoxide::Result<String> {
        let Some((token, hash, bare)) = parts(body) else {
            return work(body);
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.forget(now);
        match known.answers.get(&token) {
            Some((before, _)) if *before != hash => {
                let message = "An error occurred (IdempotentParameterMismatchException)";
                Err(DynoxideError::IdempotentParameterMismatchException(
                    message.into(),
                ))
            }
            Some((_, answer)) => Ok(answer.clone()),
            None => {
                let answer = work(&bare)?;
                known.answers.insert(token.clone(), (hash, answer.clone()));
                known.order.push_back((now, token));
                Ok(answer)
            }
        }
    }
}

impl Known {
    fn forget(&mut self, now: Instant) {
        while let Some((at, _)) = self.order.front()
            && now.duration_since(*at) >= WINDOW
            && let Some((_, token)) = self.order.pop_front()
        {
            self.answers.remove(&token);
        }
    }
}

/// A request's token, a hash of the rest, and the rest. `None` for requests that the engine handles alone: those without a usable token, and those
/// that ask for capacities, which differ when the request is sent again.
fn parts(body: &[u8]) -> Option<(String, u64, Vec<u8>)> {
    let mut request: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let asks_for_more = ["ReturnConsumedCapacity", "ReturnItemCollectionMetrics"]
        .iter()
        .any(|name| request.get(*name).is_some_and(|value| value != "NONE"));
    let token = request.remove(TOKEN)?.as_str()?.to_owned();
    if asks_for_more || !(1..=MAX_BYTES).contains(&token.len()) {
        return None;
    }
    let bare = serde_json::to_vec(&request).ok()?;
    let mut hasher = DefaultHasher::new();
    bare.hash(&mut hasher);
    Some((token, hasher.finish(), bare))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(token: &str, item: u32) -> Vec<u8> {
        json!({ "ClientRequestToken": token, "TransactItems": [item] })
            .to_string()
            .into_bytes()
    }

    /// Counts what is done, and answers with the count.
    fn counted(n: &mut u32) -> impl FnOnce(&[u8]) -> dynoxide::Result<String> {
        *n += 1;
        let answer = n.to_string();
        move |body| {
            assert!(!String::from_utf8_lossy(body).contains(TOKEN));
            Ok(answer)
        }
    }

    #[test]
    fn repeated_requests_get_the_first_answer_ten_minutes() {
        let sent = SentAgain::default();
        let begin = Instant::now();
        let mut n = 0;
        let mut at = |seconds: u64, token: &str, item: u32| {
            let now = begin + Duration::from_secs(seconds);
            sent.or_do_at(&request(token, item), now, counted(&mut n))
        };
        assert_eq!(at(0, "a", 1).ok().as_deref(), Some("1"));
        assert_eq!(at(1, "b", 1).ok().as_deref(), Some("2"));
        assert_eq!(at(599, "a", 1).ok().as_deref(), Some("1"));
        let other = at(599, "a", 2);
        assert!(matches!(
            other,
            Err(DynoxideError::IdempotentParameterMismatchException(_))
        ));
        assert_eq!(at(600, "a", 2).ok().as_deref(), Some("5"), "forgotten by then");
        assert_eq!(at(600, "b", 1).ok().as_deref(), Some("2"), "not this one");
        assert_eq!(sent.known.lock().expect("no panic").answers.len(), 2);
    }

    #[test]
    fn failed_requests_run_again_when_repeated() {
        let sent = SentAgain::default();
        let failed = || Err(DynoxideError::ValidationException("no".into()));
        assert!(sent.or_do(&request("a", 1), |_| failed()).is_err());
        assert_eq!(
            sent.or_do(&request("a", 1), |_| Ok("done".into()))
                .ok()
                .as_deref(),
            Some("done")
        );
        let long = "x".repeat(MAX_BYTES + 1);
        for body in [
            json!({ "TransactItems": [] }),
            json!({ "TransactItems": [], TOKEN: long }),
            json!({ "TransactItems": [], TOKEN: "t", "ReturnConsumedCapacity": "TOTAL" }),
        ] {
            let body = body.to_string().into_bytes();
            let mut given = Vec::new();
            let done = sent.or_do(&body, |body| {
                given = body.to_vec();
                Ok(String::new())
            });
            assert!(done.is_ok());
            assert_eq!(given, body, "as it came");
        }
    }
}
