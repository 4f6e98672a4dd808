//! The one retry policy of the adapters: a bounded number of tries, and full jitter between them.

use std::time::Duration;

use dataperf::ports::PortError;

/// How often an operation is tried before its error is returned.
const TRIES: u32 = 12;
/// The pauses between the tries of a request to AWS.
const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(20),
    longest: Duration::from_secs(2),
};

/// The bounds of pauses with full jitter: callers that met once wait for different times.
#[derive(Debug, Clone, Copy)]
pub struct Pauses {
    /// The longest pause after the first try; this limit doubles with every try.
    pub first: Duration,
    /// The longest pause after any try.
    pub longest: Duration,
}

impl Pauses {
    /// A pause after this try, from 1: any up to the longest.
    pub fn after(self, n_tries: u32) -> Duration {
        self.longest_after(n_tries).mul_f64(fastrand::f64())
    }

    fn longest_after(self, n_tries: u32) -> Duration {
        let doubled = self.first * 2_u32.saturating_pow(n_tries.saturating_sub(1));
        doubled.min(self.longest)
    }
}

/// The tries of one operation, which its caller makes in a loop until one returns an error.
#[derive(Debug)]
pub struct Retry {
    subject: String,
    n_tries: u32,
    pauses: Pauses,
}

impl Retry {
    /// The tries of the operation that `subject` names in errors.
    pub fn new(subject: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            n_tries: 0,
            pauses: PAUSES,
        }
    }

    /// Waits after somebody else has changed what was read.
    ///
    /// # Errors
    /// [`PortError::Transient`] when the tries are used up.
    pub async fn changed(&mut self) -> Result<(), PortError> {
        let error = PortError::Transient {
            subject: self.subject.clone(),
            source: format!("others changed the same items {TRIES} times in a row").into(),
        };
        self.busy(error).await
    }

    /// Waits after a service was busy.
    ///
    /// # Errors
    /// `error`, when the tries are used up.
    pub async fn busy(&mut self, error: PortError) -> Result<(), PortError> {
        self.n_tries += 1;
        if self.n_tries >= TRIES {
            return Err(error);
        }
        tokio::time::sleep(self.pauses.after(self.n_tries)).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cancelled, Step};

    fn without_pauses() -> Retry {
        Retry {
            pauses: Pauses {
                first: Duration::ZERO,
                ..PAUSES
            },
            ..Retry::new("a row")
        }
    }

    fn busy() -> PortError {
        PortError::Transient {
            subject: "writing".into(),
            source: "throttled".into(),
        }
    }

    #[tokio::test]
    async fn every_reason_to_try_again_has_a_bound() {
        let mut retry = without_pauses();
        for _ in 1..TRIES {
            retry.changed().await.expect("another try");
        }
        let error = retry.changed().await.expect_err("the last try");
        assert!(
            error.is_transient() && error.to_string().starts_with("a row"),
            "{error}"
        );

        let mut retry = without_pauses();
        for n in 1..TRIES {
            let cancelled = if n % 2 == 0 {
                Cancelled::Conflict(busy())
            } else {
                Cancelled::Condition(Step::Revision)
            };
            retry.cancelled(cancelled).await.expect("another try");
        }
        let error = retry.busy(busy()).await.expect_err("the last try");
        assert!(error.to_string().starts_with("writing"), "{error}");
    }

    #[tokio::test]
    async fn permanent_errors_return_without_a_retry() {
        let refused = PortError::Refused {
            subject: "writing".into(),
            source: "no permission".into(),
        };
        let error = Retry::new("a row").cancelled(Cancelled::Other(refused)).await;
        assert!(!error.expect_err("refused").is_transient());
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let longest = (1..TRIES).map(|n_tries| PAUSES.longest_after(n_tries).as_millis());
        let expected = [20, 40, 80, 160, 320, 640, 1280, 2000, 2000, 2000, 2000];
        assert_eq!(longest.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn callers_wait_for_different_times_within_the_bounds() {
        for n_tries in 1..40 {
            let pauses = [(); 20].map(|()| PAUSES.after(n_tries));
            let longest = PAUSES.longest_after(n_tries);
            assert!(
                pauses.iter().all(|pause| *pause <= longest),
                "{n_tries} {pauses:?}"
            );
            assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{n_tries}");
        }
    }
}
