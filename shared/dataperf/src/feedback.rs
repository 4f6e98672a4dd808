//! How much of a verdict its submitter and the public see while a round is open.
//!
//! Everything in a verdict that is computed from hidden labels tells something about them; how much is measured in
//! docs/security.md. The table keeps verdicts whole; every way out of the platform goes through [`Receipt::shown`] or
//! [`Verdict::shown`].

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Timestamp;
use crate::descriptor::Descriptor;
use crate::ladder::Released;
use crate::scorecard::{Leaf, leaves};
use crate::verdict::{Receipt, Verdict};

/// How much is shown. A higher level shows all that a lower one does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feedback {
    /// The score and the reasons, and what follows from the artifact and public data alone.
    #[default]
    Score,
    /// Also numbers of each class, concept, task, market, seed and trial.
    Metrics,
    /// Also what tells of single items and steps: curves.
    Full,
}

impl Feedback {
    /// The word documents use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Metrics => "metrics",
            Self::Full => "full",
        }
    }
}

/// What is shown of a submission at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// How much.
    pub level: Feedback,
    /// When everything is shown, if that time is known: the closing of the last round that uses the same data.
    pub whole_at: Option<Timestamp>,
}

impl Shown {
    /// Everything, as the organizer sees it.
    pub const WHOLE: Self = Self {
        level: Feedback::Full,
        whole_at: None,
    };
}

impl Verdict {
    /// The verdict as `level` shows it; `hosted` describes its benchmark. A metric that is not described is shown at
    /// [`Feedback::Full`] only.
    #[must_use]
    pub fn shown(&self, level: Feedback, hosted: &Descriptor) -> Self {
        let mut shown = self.clone();
        if level == Feedback::Full || !hosted.has_hidden_data {
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

    /// The names of the metrics that `level` withholds, as their benchmark describes them: `*` stands for each concept,
    /// task or market.
    pub fn withheld(&self, level: Feedback, hosted: &Descriptor) -> Vec<String> {
        if !hosted.has_hidden_data {
            return Vec::new();
        }
        let leaves = leaves(hosted.metrics, &self.metrics);
        let withheld = leaves.iter().filter(|leaf| leaf.level() > level);
        let names: BTreeSet<String> = withheld.map(Leaf::name).collect();
        names.into_iter().collect()
    }
}

impl Receipt {
    /// The receipt as `level` shows it, which it says of itself; `hosted` describes its benchmark. Below [`Feedback::Full`] its score
    /// is the one that the Ladder has released, where its round has one.
    #[must_use]
    pub fn shown(&self, level: Feedback, hosted: &Descriptor) -> Self {
        let mut verdict = self.verdict.shown(level, hosted);
        if level < Feedback::Full {
            verdict.score = self.public_score();
        }
        let ladder = self.ladder.clone().map(|released| Released {
            is_lifted: level == Feedback::Full,
            ..released
        });
        Self {
            feedback: Some(level),
            ladder,
            verdict,
            ..self.clone()
        }
    }
}

/// Puts a leaf where it was.
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
