//! How a score spreads over seeds or trials, kept in its row of a board: a board with spreads would otherwise read a whole
//! receipt for each row.

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::ports::PortError;
use dataperf::receipt::figures::{Figures, Spread};
use dataperf::submission::Entry;
use dataperf::{Descriptor, Digest, Feedback, Verdict};
use serde::{Deserialize, Serialize};

use crate::table::items::{Item, text};
use crate::table::reader;

/// The attribute of a row that keeps its spread.
pub(crate) const SPREAD: &str = "spread";

/// The spread of a row's score, stored with the row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowSpread {
    /// The data set of the score, on which it depends how much is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<Digest>,
    /// The spread with the lowest level that shows it; `None` if nothing was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_at: Option<(Feedback, Spread)>,
}

/// A row of a board.
#[derive(Debug, Clone, PartialEq)]
pub struct BoardRow {
    /// The row's entry.
    pub entry: Entry,
    /// The spread of the score. `None` if another of the submitter's scores replaced a withdrawn
    /// one: then the receipt has it.
    pub spread: Option<RowSpread>,
}

impl RowSpread {
    /// The spread that a whole verdict has, with the lowest level that shows it; `hosted` describes the verdict's benchmark.
    pub fn from_verdict(verdict: &Verdict, hosted: &Descriptor) -> Self {
        let levels = [Feedback::Score, Feedback::Metrics, Feedback::Full];
        let at = |level| {
            Some((
                level,
                Figures::from_verdict(&verdict.shown(level, hosted), hosted.metrics).spread?,
            ))
        };
        Self {
            dataset: verdict.dataset,
            shown_at: levels.into_iter().find_map(at),
        }
    }

    /// The attribute that keeps it.
    pub(crate) fn attribute(&self) -> Result<(String, AttributeValue), PortError> {
        let json = serde_json::to_string(self).map_err(|error| PortError::Malformed {
            subject: "the spread of a row".into(),
            why: error.to_string(),
        })?;
        Ok((SPREAD.to_owned(), text(json)))
    }
}

pub(crate) fn row(item: &Item) -> Result<BoardRow, PortError> {
    let entry = reader::entry(item)?;
    let json = item.get(SPREAD).and_then(|spread| spread.as_s().ok());
    // a spread that can't be read is left out: the receipt has it
    let spread = json.and_then(|json| serde_json::from_str(json).ok());
    Ok(BoardRow { entry, spread })
}

#[cfg(test)]
mod tests {
    use dataperf::benchmark::scorecard::{Metrics, Scorecard};
    use dataperf_benchmarks::speech_selection::SpeechSelection;
    use serde_json::json;

    use super::*;

    const HOSTED: Descriptor = Descriptor::for_benchmark::<SpeechSelection>();

    fn scored(metrics: &serde_json::Value) -> Verdict {
        let metrics = metrics.as_object().expect("an object").clone();
        let card = Scorecard {
            score: 0.5,
            metrics: Metrics::new(),
        };
        let digest = Digest::compute(b"any");
        Verdict {
            metrics: metrics.into_iter().collect(),
            ..Verdict::scored("speech-selection", "en-25", digest, digest, card)
        }
    }

    #[test]
    fn a_row_keeps_its_spread_and_feedback_level() {
        let of_seeds = RowSpread::from_verdict(
            &scored(&json!({ "per_seed": [0.25, 0.75], "seeds": [1, 2] })),
            &HOSTED,
        );
        let (level, spread) = of_seeds.shown_at.clone().expect("a spread");
        assert_eq!(
            (level, spread.values.as_slice()),
            (Feedback::Metrics, [0.25, 0.75].as_slice())
        );
        let json = serde_json::to_string(&of_seeds).expect("JSON");
        assert_eq!(
            serde_json::from_str::<RowSpread>(&json).expect("as written"),
            of_seeds
        );
        let of_one = RowSpread::from_verdict(&scored(&json!({ "n_clips": 3 })), &HOSTED);
        assert_eq!(
            (of_one.shown_at, of_one.dataset),
            (None, Some(Digest::compute(b"any")))
        );
    }
}
