//! A lease on work that costs money: one worker does it at a time, and another takes over from one that has stopped.

use dataperf::Timestamp;

/// A worker's exclusive right to make something, until the lease expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The worker: the id of an invocation; a retry has the same id.
    pub worker: String,
    /// Lease expiry.
    pub until: Timestamp,
}

impl Lease {
    /// The time until which `worker` has to wait; `None` if the lease is its own, or has expired.
    pub fn keeps_off(&self, worker: &str, now: Timestamp) -> Option<Timestamp> {
        (self.worker != worker && self.until > now).then_some(self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_waits_until_it_is_over() {
        let at = Timestamp::from_unix_millis;
        let lease = Lease {
            worker: "one".into(),
            until: at(10),
        };
        assert_eq!(lease.keeps_off("one", at(5)), None);
        assert_eq!(lease.keeps_off("other", at(5)), Some(at(10)));
        assert_eq!(lease.keeps_off("other", at(10)), None);
    }
}
