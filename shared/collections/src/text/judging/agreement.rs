//! How far raters agree beyond chance.

use std::collections::BTreeMap;

use crate::common::agreement::{Level, alpha};
use serde::{Deserialize, Serialize};

use crate::text::lines::Judgement;
use crate::text::texts::answers::Gold;
use crate::text::texts::squad::normalised;

/// The agreement of a round's raters about the examples of a task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Examples with verdicts.
    pub n_examples: usize,
    /// Verdicts.
    pub n_verdicts: usize,
    /// Krippendorff's alpha, nominal, of the right answers: correct, incorrect with each label or
    /// answer, flagged. `None` if nothing can be compared.
    pub alpha: Option<f64>,
}

/// The agreement of verdicts, listed by example. Answers in a context are compared only within their example: as the author's, the first other one,
/// the second other one.
pub fn agreement(examples: &[Vec<Judgement>]) -> Agreement {
    let units: Vec<Vec<u8>> = examples.iter().map(|verdicts| values(verdicts)).collect();
    Agreement {
        n_examples: units.iter().filter(|values| !values.is_empty()).count(),
        n_verdicts: units.iter().map(Vec::len).sum(),
        alpha: alpha(&units, Level::Nominal),
    }
}

/// A number for what each verdict says, the same for those that say the same. Labels have the same number in all examples.
fn values(verdicts: &[Judgement]) -> Vec<u8> {
    const LABELS: [&str; 7] = [
        "entailment",
        "neutral",
        "contradiction",
        "positive",
        "negative",
        "hateful",
        "not-hateful",
    ];
    const FIRST_SPAN: usize = 16;
    let mut spans: BTreeMap<String, usize> = BTreeMap::new();
    let mut value = |verdict: &Judgement| match verdict {
        Judgement::Correct => 0,
        Judgement::Flagged(_) => 1,
        Judgement::Incorrect(None) => 2,
        Judgement::Incorrect(Some(Gold::Label(label))) => {
            3 + LABELS
                .iter()
                .position(|known| known == label)
                .unwrap_or(LABELS.len())
        }
        Judgement::Incorrect(Some(Gold::Span(span))) => {
            let next = FIRST_SPAN + spans.len();
            *spans.entry(normalised(&span.text)).or_insert(next)
        }
    };
    verdicts
        .iter()
        .map(|verdict| u8::try_from(value(verdict)).unwrap_or(u8::MAX))
        .collect()
}
