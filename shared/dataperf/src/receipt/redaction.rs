//! Verdicts and receipts as a feedback level shows them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::Timestamp;
use crate::benchmark::descriptor::Descriptor;
use crate::benchmark::feedback::Feedback;
use crate::benchmark::scorecard::{Leaf, leaves};
use crate::receipt::released_score::Released;
use crate::receipt::verdict::{Receipt, Verdict};

/// The visible part of a submission at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// How much.
    pub level: Feedback,
    /// When everything is shown, if that time is known: the closing of the last round that uses the same data.
    pub whole_at: Option<Timestamp>,
    /// When a score is shown that is withheld now, if that time is known.
    pub score_at: Option<Timestamp>,
}

impl Shown {
    /// Everything, as the organizer sees it.
    pub const WHOLE: Self = Self {
        level: Feedback::Full,
        whole_at: None,
        score_at: None,
    };
}

/// The visible part at a level that never changes.
impl From<Feedback> for Shown {
    fn from(level: Feedback) -> Self {
        Self {
            level,
            whole_at: None,
            score_at: None,
        }
    }
}

impl Verdict {
    /// The verdict as `level` shows it; `hosted` describes its benchmark. A metric that is not described is shown at
    /// [`Feedback::Full`] only.
    #[must_use]
    pub fn shown(&self, level: Feedback, hosted: &Descriptor) -> Self {
        let mut shown = self.clone();
        let is_whole = level == Feedback::Full || !hosted.has_hidden_data;
        if is_whole && level > Feedback::Nothing {
            return shown;
        }
        let mut kept = Map::new();
        for leaf in leaves(hosted.metrics, &self.metrics) {
            if leaf.level() <= level {
                insert(&mut kept, &leaf);
            }
        }
        shown.metrics = kept.into_iter().collect();
        shown
    }

    /// The names of the metrics that `level` withholds, as their benchmark describes them: `*`
    /// matches each concept, task or market.
    pub fn withheld(&self, level: Feedback, hosted: &Descriptor) -> Vec<String> {
        if !hosted.has_hidden_data && level > Feedback::Nothing {
            return Vec::new();
        }
        let leaves = leaves(hosted.metrics, &self.metrics);
        let withheld = leaves.iter().filter(|leaf| leaf.level() > level);
        let names: BTreeSet<String> = withheld.map(Leaf::name).collect();
        names.into_iter().collect()
    }
}

impl Receipt {
    /// The receipt as it is `shown`; the receipt names the level. `hosted` describes its benchmark. Below [`Feedback::Full`] its score is the one
    /// that its round has released.
    #[must_use]
    pub fn shown(&self, shown: impl Into<Shown>, hosted: &Descriptor) -> Self {
        let Shown { level, score_at, .. } = shown.into();
        let mut verdict = self.verdict.shown(level, hosted);
        if level < Feedback::Full {
            verdict.score = self.public_score().filter(|_| level > Feedback::Nothing);
        }
        let is_withheld = verdict.score.is_none() && self.verdict.score.is_some();
        let ladder = self.ladder.clone().map(|released| Released {
            evaluation: None,
            is_lifted: level == Feedback::Full,
            ..released
        });
        Self {
            feedback: Some(level),
            shown_at_first: None,
            withheld_until: score_at.filter(|_| is_withheld),
            ladder: ladder.filter(|_| level > Feedback::Nothing),
            verdict,
            ..self.clone()
        }
    }
}

/// Puts a leaf back to its place.
fn insert(into: &mut Map<String, Value>, leaf: &Leaf<'_>) {
    let mut object = into;
    let Some((name, way)) = leaf.place.split_last() else {
        return;
    };
    for step in way {
        let inner = object
            .entry((*step).to_owned())
            .or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(inner) = inner else { return };
        object = inner;
    }
    object.insert((*name).to_owned(), leaf.value.clone());
}
