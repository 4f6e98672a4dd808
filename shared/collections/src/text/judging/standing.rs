//! An annotator's standing on a task's board in a round.

use dataperf::benchmark::scorecard::{Metrics, Scorecard};
use dataperf_numerics::agreement::share_interval;
use serde::{Deserialize, Serialize};

use crate::text::judging::decision::Decision;

/// An example's state in its author's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It repeats an earlier text, so that it never counts.
    Duplicate,
    /// It fooled nobody.
    NotFooling,
    /// It fooled the models, and the raters have not decided.
    Pending,
    /// It fooled the models, and its author is right.
    Validated,
    /// It fooled the models, and its author is not right, or the raters don't agree.
    Refused,
    /// It is no example of the task, whether it fooled or not.
    Flagged,
}

impl State {
    /// Derives the state from three facts: whether an example repeats another, whether it fooled
    /// the models, and its decision.
    pub fn new(is_duplicate: bool, is_fooling: bool, decision: Option<&Decision>) -> Self {
        match (is_duplicate, decision, is_fooling) {
            (true, _, _) => Self::Duplicate,
            (_, Some(Decision::Flagged), _) => Self::Flagged,
            (_, _, false) => Self::NotFooling,
            (_, None, true) => Self::Pending,
            (_, Some(Decision::Correct), true) => Self::Validated,
            (_, Some(Decision::Incorrect(_) | Decision::NoAgreement), true) => Self::Refused,
        }
    }
}

/// How many examples of an annotator count as what. The numbers are sums, so the order in which examples came and were judged changes nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Examples that repeat no earlier text.
    pub n_submitted: u64,
    /// Examples among them that fooled the models when they were submitted.
    pub n_fooling: u64,
    /// Examples that fooled and wait for raters.
    pub n_pending: u64,
    /// Examples that fooled and whose author is right.
    pub n_validated: u64,
    /// Examples that fooled and were refused.
    pub n_refused: u64,
    /// Texts that are no examples of the task.
    pub n_flagged: u64,
    /// Examples that repeat an earlier text, which are in no other number.
    pub n_duplicates: u64,
}

impl Standing {
    /// The standing from an annotator's examples: what each counts as, and whether it fooled the models.
    pub fn compute(examples: impl IntoIterator<Item = (State, bool)>) -> Self {
        let mut standing = Self::default();
        for (state, is_fooling) in examples {
            standing.add(state, is_fooling);
        }
        standing
    }

    fn add(&mut self, state: State, is_fooling: bool) {
        if state == State::Duplicate {
            self.n_duplicates += 1;
            return;
        }
        self.n_submitted += 1;
        self.n_fooling += u64::from(is_fooling);
        match state {
            State::Pending => self.n_pending += 1,
            State::Validated => self.n_validated += 1,
            State::Refused => self.n_refused += 1,
            State::Flagged => self.n_flagged += 1,
            State::NotFooling | State::Duplicate => {}
        }
    }

    /// The validated model error rate: the share of all examples that fooled and are right. While some wait it lies between the rate
    /// with none of them and the rate with all. `None` without an example.
    pub fn error_rate(&self) -> Option<ErrorRate> {
        let n = usize::try_from(self.n_submitted).ok()?;
        let low = usize::try_from(self.n_validated).ok()?;
        let high = low.checked_add(usize::try_from(self.n_pending).ok()?)?;
        let (from, _) = share_interval(low, n)?;
        let (_, to) = share_interval(high, n)?;
        Some(ErrorRate {
            low: low as f64 / n as f64,
            high: high as f64 / n as f64,
            from,
            to,
        })
    }

    /// The score and what it is made of. `None` without an example, duplicates included.
    pub fn scorecard(&self) -> Option<Scorecard> {
        if self.n_submitted + self.n_duplicates == 0 {
            return None;
        }
        let mut metrics = Metrics::new()
            .with("n_submitted", self.n_submitted)
            .with("n_fooling", self.n_fooling)
            .with("n_pending", self.n_pending)
            .with("n_validated", self.n_validated)
            .with("n_refused", self.n_refused)
            .with("n_flagged", self.n_flagged)
            .with("n_duplicates", self.n_duplicates);
        if let Some(rate) = self.error_rate() {
            metrics.insert("vmer_low", rate.low);
            metrics.insert("vmer_high", rate.high);
            metrics.insert("vmer_low_from", rate.from);
            metrics.insert("vmer_high_to", rate.to);
        }
        Some(Scorecard {
            score: self.n_validated as f64,
            metrics,
        })
    }
}

/// A validated model error rate, as bounds while examples wait for raters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ErrorRate {
    /// The rate if none of the waiting examples turns out right.
    pub low: f64,
    /// The rate if all of them do.
    pub high: f64,
    /// The lower end of the 95 % interval (Wilson) of `low`.
    pub from: f64,
    /// The upper end of the 95 % interval (Wilson) of `high`.
    pub to: f64,
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact values are expected")]
mod tests {
    use super::*;

    #[test]
    fn pending_examples_count_as_bounds_and_duplicates_never() {
        let incorrect = Decision::Incorrect(None);
        let state =
            |is_duplicate, is_fooling, decision| (State::new(is_duplicate, is_fooling, decision), is_fooling);
        let examples = [
            state(false, true, None),
            state(false, true, Some(&Decision::Correct)),
            state(false, true, Some(&Decision::Correct)),
            state(false, true, Some(&incorrect)),
            state(false, true, Some(&Decision::NoAgreement)),
            state(false, true, Some(&Decision::Flagged)),
            state(false, false, Some(&Decision::Flagged)),
            state(false, false, Some(&Decision::Correct)),
            state(false, false, None),
            state(false, false, Some(&incorrect)),
            state(true, true, Some(&Decision::Correct)),
        ];
        let standing = Standing::compute(examples);
        let expected = Standing {
            n_submitted: 10,
            n_fooling: 6,
            n_pending: 1,
            n_validated: 2,
            n_refused: 2,
            n_flagged: 2,
            n_duplicates: 1,
        };
        assert_eq!(standing, expected);
        let card = standing.scorecard().unwrap();
        assert_eq!(card.score, 2.0);
        assert_eq!(
            card.metrics.undescribed(crate::text::hosted::DESCRIPTOR.metrics),
            [""; 0]
        );
        let metrics = card.metrics.clone().into_json();
        let metric = |name: &str| metrics[name].as_f64().unwrap();
        assert_eq!((metric("vmer_low"), metric("vmer_high")), (0.2, 0.3));
        // Wilson's formula by hand, of 2 and of 3 of 10
        assert!((metric("vmer_low_from") - 0.056_682_151_454_375_19).abs() < 1e-12);
        assert!((metric("vmer_high_to") - 0.603_221_852_538_854_6).abs() < 1e-12);
        assert_eq!(Standing::default().scorecard(), None);
        let only_copies = Standing::compute([state(true, true, None)]).scorecard().unwrap();
        assert_eq!(only_copies.score, 0.0);
        assert!(only_copies.metrics.get("vmer_low").is_none());
    }
}
