//! The quality of labels, against the grammar's truth.

use std::collections::BTreeMap;

use dataperf_numerics::agreement::clustered_share_interval;
use serde::{Deserialize, Serialize};

use crate::text::matrix::percent;

/// A share of examples with its 95 % interval, for which annotators count with all their examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The number of all.
    pub n: usize,
    /// The number found among them.
    pub n_found: usize,
    /// `n_found / n`; `None` where `n` is 0.
    pub share: Option<f64>,
    /// The two ends of the interval; `None` for examples of fewer than two annotators.
    pub interval: Option<(f64, f64)>,
    /// Of each annotator the number found, and the number of all.
    #[serde(skip)]
    of_annotators: BTreeMap<String, (usize, usize)>,
}

impl Share {
    /// The share among examples, each with its annotator's name, for which something holds.
    pub fn count<'a>(examples: impl IntoIterator<Item = (&'a String, bool)>) -> Self {
        let counts = examples
            .into_iter()
            .map(|(annotator, is_so)| (annotator, (usize::from(is_so), 1)));
        Self::of_counts(counts)
    }

    /// The share of several rounds together, in which an annotator has one name.
    pub fn of_all<'a>(shares: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::of_counts(
            shares
                .into_iter()
                .flat_map(|share| &share.of_annotators)
                .map(|(annotator, counts)| (annotator, *counts)),
        )
    }

    fn of_counts<'a>(counts: impl IntoIterator<Item = (&'a String, (usize, usize))>) -> Self {
        let mut of_annotators: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        let (mut n_found, mut n) = (0, 0);
        for (annotator, (hits, all)) in counts {
            let of_one = of_annotators.entry(annotator.clone()).or_default();
            *of_one = (of_one.0 + hits, of_one.1 + all);
            (n_found, n) = (n_found + hits, n + all);
        }
        let clusters: Vec<(usize, usize)> = of_annotators.values().copied().collect();
        Self {
            n,
            n_found,
            share: (n > 0).then(|| n_found as f64 / n as f64),
            interval: clustered_share_interval(&clusters),
            of_annotators,
        }
    }

    /// `34.5 (28.1–41.6)`, in percent.
    pub fn to_percent(&self) -> String {
        self.share
            .map_or("–".to_owned(), |share| percent(share, self.interval))
    }
}

/// The facts about an example that the grammar has made.
pub(super) struct Known {
    pub(super) annotator: String,
    /// Whether its author says what is true.
    pub(super) is_right: bool,
    pub(super) is_duplicate: bool,
    pub(super) is_fooling: bool,
    /// Whether the first rater agrees with the author.
    pub(super) first: Option<bool>,
    /// Whether it is decided that the author is right.
    pub(super) is_correct: Option<bool>,
}

/// The effect of wrong labels and wrong verdicts on a round's fooling examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Right labels among all examples.
    pub all: Share,
    /// Right labels among the examples that fooled the model: without any validation.
    pub fooling: Share,
    /// Right labels among the fooling examples with which the first rater agrees.
    pub first_verdict: Share,
    /// Right labels among the fooling examples that are validated.
    pub validated: Share,
    /// Refused examples among the fooling examples with a right label.
    pub lost: Share,
    /// Validated examples among the fooling examples with a wrong label.
    pub let_through: Share,
}

impl Quality {
    pub(super) fn compute(known: &[Known]) -> Self {
        let new: Vec<&Known> = known.iter().filter(|one| !one.is_duplicate).collect();
        let right = |is: &dyn Fn(&Known) -> bool| {
            let selected = new.iter().filter(|one| is(one));
            Share::count(selected.map(|one| (&one.annotator, one.is_right)))
        };
        let decided = |is_right: bool, is_correct: bool| {
            let selected = new
                .iter()
                .filter(|one| one.is_fooling && one.is_right == is_right);
            Share::count(selected.map(|one| (&one.annotator, one.is_correct == Some(is_correct))))
        };
        Self {
            all: right(&|_| true),
            fooling: right(&|one| one.is_fooling),
            first_verdict: right(&|one| one.is_fooling && one.first == Some(true)),
            validated: right(&|one| one.is_fooling && one.is_correct == Some(true)),
            lost: decided(true, false),
            let_through: decided(false, true),
        }
    }
}
