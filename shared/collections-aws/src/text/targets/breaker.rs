//! A circuit breaker: a service that has failed several times in a row is left alone for a while, and then tried with one call.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of failures in a row after which no call is made.
const MOST_FAILURES: u32 = 5;
/// How long no call is made after them.
const REST: Duration = Duration::from_secs(5);

/// The state of a service's last calls.
#[derive(Debug, Default)]
pub struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    n_failures: u32,
    /// The time until which no call is made.
    until: Option<Instant>,
}

impl Breaker {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call may be made at `now`. After the rest one call is allowed, and no other until
    /// it has ended or another rest is over.
    pub fn lets_through(&self, now: Instant) -> bool {
        let mut state = self.locked();
        match state.until {
            None => true,
            Some(until) if until > now => false,
            Some(_) => {
                state.until = Some(now + REST);
                true
            }
        }
    }

    /// A call has ended at `now`.
    pub fn ended(&self, is_good: bool, now: Instant) {
        let mut state = self.locked();
        if is_good {
            *state = State::default();
            return;
        }
        state.n_failures += 1;
        if state.n_failures >= MOST_FAILURES {
            state.until = Some(now + REST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_repeated_failures_the_breaker_tries_one_call() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        for _ in 0..MOST_FAILURES - 1 {
            breaker.ended(false, start);
        }
        breaker.ended(true, start);
        for n in 0..MOST_FAILURES {
            assert!(breaker.lets_through(start), "{n}");
            breaker.ended(false, start);
        }
        assert!(!breaker.lets_through(start + REST / 2));
        let later = start + REST;
        assert!(breaker.lets_through(later) && !breaker.lets_through(later));
        breaker.ended(false, later);
        assert!(!breaker.lets_through(later + REST / 2));
        assert!(breaker.lets_through(later + REST));
        breaker.ended(true, later + REST);
        assert!(breaker.lets_through(later + REST) && breaker.lets_through(later + REST));
    }
}
