//! Own data: contests that an organizer declares by one document, `task.yaml`, with files of
//! features and labels.
//!
//! Four tasks share this code: the description for people ([`About`]), the model, the metric and
//! the classes ([`Scoring`]), the files of features and examples ([`table`](mod@table)) and the
//! test set ([`EvalSet`]). A task's boards come from its published data sets.
//!
//! Every data set of a task has
//! - `eval.npy`: the test set's features, `(n_items, n_features)`, 32- or 64-bit floats. Hidden;
//! - `eval.csv`: `id,label`, and `group` and `cluster` where the document has them, a line for each row. Hidden;
//! - `public/eval.npy` and `public/eval.csv`: a second test set of the same form that participants may have, where there is one.
//!
//! The participants' part is a data set as well, without the hidden files. It is enough to check an
//! artifact, and with a public test set to score it.

pub mod acquisition;
#[cfg(feature = "baselines")]
mod baselines;
mod closed;
pub mod curation;
pub mod debugging;
mod eval_set;
mod id_list;
#[cfg(feature = "import")]
mod import;
mod scoring;
pub mod selection;
pub mod table;

use serde::{Deserialize, Serialize};

use dataperf::benchmark::Leaderboard;

#[cfg(feature = "import")]
pub use import::{Apart, Finding, Half, TASKS, Tables, init, look, schema, split};

pub use eval_set::{EVAL, EvalSet, PUBLIC_EVAL};
pub use scoring::{MAX_CLASSES, NOT_FITTED, ScoreMetric, Scoring};

/// A contest's description for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The contest's name.
    pub title: String,
    /// More about it, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The path in the data set of a picture for the contest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    /// The noun for the rows, such as `recordings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The number of decimals with which scores are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<u8>,
    /// The names of the features, in the order of the frozen tables; none where the files have no names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
}

impl About {
    /// The noun for the rows.
    pub fn unit(&self) -> &str {
        self.unit.as_deref().unwrap_or("rows")
    }

    /// The description of one board for people, with its metric and its model in words. All boards of a contest share one test set.
    fn board(&self, name: String, about: String, metric: String, model: String) -> Leaderboard {
        Leaderboard {
            title: Some(self.title.clone()),
            description: self.description.clone(),
            picture: self.picture.clone(),
            unit: self.unit.clone(),
            digits: self.digits,
            metric: Some(metric),
            model: Some(model),
            evaluation: Some(EVAL.to_owned()),
            ..Leaderboard::new(name, about)
        }
    }
}

/// A board of a task whose boards differ only in their names and descriptions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// The board's name.
    pub name: String,
    /// One line about the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}
