//! Storms: faults drawn at random from a seed, a request or an event at a time.
//!
//! The fate of the `n`-th request, event or process depends only on the seed and `n`, not on time,
//! so every run meets the same number of faults of each kind.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::faults::exposure::{EventFate, Service, Shortage};
use crate::lock::locked;

/// For each fault, how many of a thousand requests, events or processes meet it; all 0 injects nothing.
#[derive(Clone, Debug, Default)]
pub struct Storm {
    /// The seed of the draws.
    pub seed: u64,
    /// Requests before which the function that makes them is killed.
    pub kills_before: u32,
    /// Requests after whose effect the function is killed.
    pub kills_after: u32,
    /// Requests to S3 that are answered 503 `SlowDown`.
    pub s3_unavailable: u32,
    /// Requests to S3 that are refused because the clocks of both sides differ too much.
    pub s3_skewed: u32,
    /// Bodies from S3 that come late.
    pub s3_slow: u32,
    /// Bodies from S3 that end in the middle.
    pub s3_cut: u32,
    /// Requests to `DynamoDB` that are throttled.
    pub table_throttled: u32,
    /// Requests to `DynamoDB` that are answered 500 without an effect.
    pub table_errors: u32,
    /// Requests to `DynamoDB` that have their effect and are answered 500.
    pub table_lost_answers: u32,
    /// Requests at Lambda's address, where KMS and Secrets Manager are too, that are answered 500 without an effect.
    pub lambda_errors: u32,
    /// Events of new objects that are never delivered.
    pub events_dropped: u32,
    /// Events that are delivered twice.
    pub events_duplicated: u32,
    /// Events that are held back, so that later ones come first.
    pub events_delayed: u32,
    /// The longest that an event is held back.
    pub longest_delay: Duration,
    /// Events that carry a wrong time.
    pub events_skewed: u32,
    /// The furthest that the time is wrong, to either side.
    pub largest_skew: Duration,
    /// Processes of functions that are short of memory.
    pub memory_short: u32,
    /// Bytes of memory that such a process has.
    pub short_memory_bytes: u64,
    /// Processes of functions that can write nothing to a file, as on a full disk.
    pub disk_full: u32,
}

/// A storm's effect on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Injection {
    KillBefore,
    KillAfter,
    /// 503 from S3, throttling from the table.
    Refuse,
    /// The clocks differ too much.
    Skew,
    /// 500 without an effect.
    Fail,
    /// 500 with the effect.
    LoseAnswer,
    Slow,
    Cut,
}

/// A running storm, with counters.
#[derive(Debug, Default)]
pub(crate) struct Storms {
    storm: Mutex<Option<Storm>>,
    n_draws: AtomicU64,
    injected: Mutex<BTreeMap<&'static str, usize>>,
    /// When the last delivery so far is due.
    last_due: Mutex<Option<Instant>>,
}

impl Storms {
    pub(crate) fn set(&self, storm: Option<Storm>) {
        *locked(&self.storm) = storm;
    }

    /// How many faults of each kind there were.
    pub(crate) fn injected(&self) -> BTreeMap<&'static str, usize> {
        locked(&self.injected).clone()
    }

    fn count(&self, kind: &'static str) {
        *locked(&self.injected).entry(kind).or_default() += 1;
    }

    /// The fate of a function's next request.
    pub(crate) fn injection(&self, service: Service) -> Option<Injection> {
        let storm = locked(&self.storm).clone()?;
        let mut left = self.draw(&storm) % 1000;
        let s3 = |rate: u32| if service == Service::S3 { rate } else { 0 };
        let table = |rate: u32| if service == Service::Table { rate } else { 0 };
        let lambda = |rate: u32| if service == Service::Lambda { rate } else { 0 };
        let injections = [
            (
                storm.kills_before,
                Injection::KillBefore,
                "function killed before a request",
            ),
            (
                storm.kills_after,
                Injection::KillAfter,
                "function killed after a request",
            ),
            (s3(storm.s3_unavailable), Injection::Refuse, "S3 503"),
            (s3(storm.s3_skewed), Injection::Skew, "S3 403 for clock skew"),
            (s3(storm.s3_slow), Injection::Slow, "S3 slow"),
            (s3(storm.s3_cut), Injection::Cut, "S3 body cut off"),
            (
                table(storm.table_throttled),
                Injection::Refuse,
                "DynamoDB throttled",
            ),
            (table(storm.table_errors), Injection::Fail, "DynamoDB 500"),
            (
                table(storm.table_lost_answers),
                Injection::LoseAnswer,
                "DynamoDB 500 after the effect",
            ),
            (lambda(storm.lambda_errors), Injection::Fail, "Lambda or KMS 500"),
        ];
        for (rate, injection, kind) in injections {
            if left < u64::from(rate) {
                self.count(kind);
                return Some(injection);
            }
            left -= u64::from(rate);
        }
        None
    }

    /// The fate of the next event.
    pub(crate) fn fate(&self) -> Option<EventFate> {
        let storm = locked(&self.storm).clone()?;
        let happens = |rate: u32, kind: &'static str| {
            let does = self.draw(&storm) % 1000 < u64::from(rate);
            if does {
                self.count(kind);
            }
            does
        };
        let n = if happens(storm.events_dropped, "event dropped") {
            0
        } else {
            1 + usize::from(happens(storm.events_duplicated, "event duplicated"))
        };
        let is_skewed = happens(storm.events_skewed, "event with a wrong time");
        let delay = || {
            let is_late = self.draw(&storm) % 1000 < u64::from(storm.events_delayed);
            if is_late && n > 0 {
                self.count("event delayed");
                storm.longest_delay.mul_f64(self.share(&storm))
            } else {
                Duration::ZERO
            }
        };
        let deliveries: Vec<Duration> = (0..n).map(|_| delay()).collect();
        for &delay in &deliveries {
            self.note_order(delay);
        }
        let skew_ms = if is_skewed {
            let largest = storm.largest_skew.as_millis() as f64;
            (largest * (2.0 * self.share(&storm) - 1.0)) as i64
        } else {
            0
        };
        Some(EventFate { deliveries, skew_ms })
    }

    /// Counts a delivery that is due before one of an earlier event. Other than the draws, this depends on time.
    fn note_order(&self, delay: Duration) {
        let due = Instant::now() + delay;
        let mut last = locked(&self.last_due);
        if last.is_some_and(|last| due < last) {
            self.count("event overtook an earlier one");
        }
        *last = (*last).max(Some(due));
    }

    /// The resource that the next process of a function lacks.
    pub(crate) fn shortage(&self) -> Option<Shortage> {
        let storm = locked(&self.storm).clone()?;
        let drawn = self.draw(&storm) % 1000;
        let (memory, disk) = (u64::from(storm.memory_short), u64::from(storm.disk_full));
        let shortage = if drawn < memory {
            self.count("process out of memory");
            Shortage {
                memory_bytes: Some(storm.short_memory_bytes),
                file_bytes: None,
            }
        } else if drawn < memory + disk {
            self.count("process with a full disk");
            Shortage {
                memory_bytes: None,
                file_bytes: Some(0),
            }
        } else {
            return None;
        };
        Some(shortage)
    }

    /// A number in [0, 1).
    fn share(&self, storm: &Storm) -> f64 {
        (self.draw(storm) % 1_000_000) as f64 / 1e6
    }

    /// The next number of the storm's sequence: `SplitMix64` of its place.
    fn draw(&self, storm: &Storm) -> u64 {
        let n = self.n_draws.fetch_add(1, Ordering::Relaxed);
        let mut z = storm.seed.wrapping_add(n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injections(seed: u64) -> Vec<Option<Injection>> {
        let storms = Storms::default();
        storms.set(Some(Storm {
            seed,
            kills_before: 100,
            table_throttled: 100,
            ..Storm::default()
        }));
        (0..1000).map(|_| storms.injection(Service::Table)).collect()
    }

    #[test]
    fn a_seed_gives_the_same_storm_each_time() {
        assert_eq!(injections(1), injections(1));
        assert_ne!(injections(1), injections(2));
        let n_kills = injections(1)
            .iter()
            .filter(|injection| **injection == Some(Injection::KillBefore))
            .count();
        assert!((50..200).contains(&n_kills), "about a tenth: {n_kills}");
        assert!(!injections(1).contains(&Some(Injection::Cut)));
    }

    #[test]
    fn each_storm_shortage_limits_memory_or_disk() {
        let storms = Storms::default();
        storms.set(Some(Storm {
            memory_short: 250,
            short_memory_bytes: 7,
            disk_full: 250,
            ..Storm::default()
        }));
        let drawn: Vec<Shortage> = (0..1000).filter_map(|_| storms.shortage()).collect();
        let injected = storms.injected();
        assert_eq!(injected.values().sum::<usize>(), drawn.len());
        assert!(injected.values().all(|n| (200..300).contains(n)), "{injected:?}");
        assert!(
            drawn
                .iter()
                .all(|short| short.memory_bytes.is_some() != short.file_bytes.is_some()),
            "{drawn:?}"
        );
    }

    #[test]
    fn events_that_overtake_are_counted() {
        let storms = Storms::default();
        for (delay, n_overtaken) in [(0, 0), (60, 0), (0, 1), (120, 1), (60, 2)] {
            storms.note_order(Duration::from_mins(delay));
            let injected = storms.injected();
            assert_eq!(injected.values().sum::<usize>(), n_overtaken, "{delay}");
        }
    }

    #[test]
    fn in_fine_weather_nothing_happens() {
        let storms = Storms::default();
        assert_eq!((storms.injection(Service::S3), storms.fate()), (None, None));
        assert_eq!(storms.shortage(), None);
        storms.set(Some(Storm::default()));
        assert_eq!(storms.injection(Service::S3), None);
        let fate = storms.fate().map(|fate| (fate.deliveries, fate.skew_ms));
        assert_eq!(fate, Some((vec![Duration::ZERO], 0)));
        assert!(storms.injected().is_empty());
    }
}
