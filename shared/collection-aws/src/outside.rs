//! External services that a function calls, such as target models and makers of images: the client, what a failed call means, and how long to wait
//! before the next.

use std::time::Duration;

use bytes::Bytes;
use dataperf::failure::FaultKind;
use dataperf::workflow::WorkflowError;
use dataperf_aws::Pauses;
use http::{HeaderMap, StatusCode, header};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// How long a connection to a service may take to open.
const CONNECT: Duration = Duration::from_secs(5);

/// The client for services, over HTTP or HTTPS.
pub type Client = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A client that trusts the certificates of this machine.
///
/// # Errors
/// When this machine has no certificates to trust.
pub fn client() -> Result<Client, std::io::Error> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout(Some(CONNECT)); // what can't be reached is told from what does not answer
    let connector = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::ring::default_provider())?;
    let connector = connector.https_or_http().enable_http1().wrap_connector(http);
    Ok(legacy::Client::builder(TokioExecutor::new()).build(connector))
}

/// Why a service has not answered. None of the words is the service's own: they might contain its key, or a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnswered {
    /// It failed this time; another call may succeed.
    #[error("{0}")]
    Transient(String),
    /// It was not called this time, and may be the next time.
    #[error("{0}")]
    NotAsked(String),
    /// It refuses what it was asked about, and answers when it is asked about something else.
    #[error("{0}")]
    Refused(String),
    /// It will not answer before the organizer mends something.
    #[error("{0}")]
    Organizer(String),
}

impl NotAnswered {
    /// The same kind with other words.
    #[must_use]
    pub fn map(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Transient(what) => Self::Transient(words(what)),
            Self::NotAsked(what) => Self::NotAsked(words(what)),
            Self::Refused(what) => Self::Refused(words(what)),
            Self::Organizer(what) => Self::Organizer(words(what)),
        }
    }
}

impl From<NotAnswered> for WorkflowError {
    fn from(not: NotAnswered) -> Self {
        let fault = match not {
            NotAnswered::Transient(_) | NotAnswered::NotAsked(_) => FaultKind::Provider,
            NotAnswered::Refused(_) | NotAnswered::Organizer(_) => FaultKind::Organizer,
        };
        Self::judge(fault, not.to_string())
    }
}

/// One failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Why it failed.
    pub error: NotAnswered,
    /// When the service asks to be called again.
    pub after: Option<Duration>,
}

impl Failure {
    /// A failure that may pass.
    pub fn transient(what: impl Into<String>) -> Self {
        NotAnswered::Transient(what.into()).into()
    }

    /// A failure that the organizer has to mend.
    pub fn organizer(what: impl Into<String>) -> Self {
        NotAnswered::Organizer(what.into()).into()
    }

    /// What an answer other than 200 means; `check` says what the organizer is to check where trying again does not help.
    pub fn of_status(status: StatusCode, headers: &HeaderMap, check: &str) -> Self {
        let seconds = headers
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok());
        let after = seconds
            .and_then(|seconds| seconds.trim().parse().ok())
            .map(Duration::from_secs);
        let passes = status.is_server_error()
            || [
                StatusCode::REQUEST_TIMEOUT,
                StatusCode::CONFLICT,
                StatusCode::TOO_EARLY,
                StatusCode::TOO_MANY_REQUESTS,
            ]
            .contains(&status);
        let what = format!("answered with {}", status.as_u16());
        if passes {
            let error = NotAnswered::Transient(what);
            return Self { error, after };
        }
        Self::organizer(format!("{what}: {check}"))
    }

    /// How long to wait where the `n_tries`-th try, from 1, ended so: beyond what the service asks for, so that those whom it has asked the same
    /// don't all come back at once.
    pub fn pause(&self, pauses: Pauses, n_tries: u32) -> Duration {
        let asked = self.after.unwrap_or_default();
        asked.saturating_add(pauses.after(n_tries))
    }
}

/// The least time for which a call is made again.
const SHORTEST_CALL: Duration = Duration::from_secs(1);

/// Whether there is time for another call after a pause: of a call that has next to no time nothing would be known but that it was made.
pub fn is_worth_a_call(left: Duration, pause: Duration) -> bool {
    left > pause.saturating_add(SHORTEST_CALL)
}

impl From<NotAnswered> for Failure {
    fn from(error: NotAnswered) -> Self {
        Self { error, after: None }
    }
}

/// What kind of error a call ended with, without the service's words.
pub fn kind_of(error: &legacy::Error) -> &'static str {
    if error.is_connect() {
        "no connection"
    } else {
        "the connection broke off"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_has_a_bound_and_heeds_the_service() {
        let pauses = Pauses {
            first: Duration::from_millis(250),
            longest: Duration::from_secs(20),
        };
        let mut failure = Failure::transient("is busy");
        for n_tries in 1..40 {
            let pause = failure.pause(pauses, n_tries);
            assert!(pause <= pauses.longest, "{n_tries} {pause:?}");
        }
        let asked = Duration::from_secs(70);
        failure.after = Some(asked);
        let waits: Vec<Duration> = (0..40).map(|_| failure.pause(pauses, 1)).collect();
        assert!(
            waits
                .iter()
                .all(|wait| (asked..=asked + pauses.first).contains(wait)),
            "{waits:?}"
        );
        assert!(waits.iter().any(|wait| *wait > asked), "not all at once");
    }

    #[test]
    fn a_call_has_a_second_at_least() {
        let [second, minute] = [Duration::from_secs(1), Duration::from_mins(1)];
        assert!(is_worth_a_call(minute, second));
        assert!(!is_worth_a_call(minute, minute) && !is_worth_a_call(minute, Duration::from_secs(59)));
        assert!(!is_worth_a_call(minute, Duration::MAX));
    }

    #[test]
    fn what_passes_is_told_by_its_status() {
        for status in [408, 409, 425, 429, 500, 502, 503, 504, 400, 401, 403, 404, 302] {
            let code = StatusCode::from_u16(status).expect("a status");
            let failure = Failure::of_status(code, &HeaderMap::new(), "check its key");
            let passes = [408, 409, 425, 429].contains(&status) || status >= 500;
            let is_transient = matches!(failure.error, NotAnswered::Transient(_));
            assert_eq!(is_transient, passes, "{status}: {failure:?}");
        }
        let headers = [(header::RETRY_AFTER, "7".parse().expect("a value"))];
        let headers: HeaderMap = headers.into_iter().collect();
        let busy = Failure::of_status(StatusCode::TOO_MANY_REQUESTS, &headers, "");
        assert_eq!(busy.after, Some(Duration::from_secs(7)));
    }
}
