//! Daily allowances, and how large files may be.

use crate::common::LineItem;
use dataperf::benchmark::allowance::DailyAllowance;

use crate::text::configuration::Parameters;
use crate::text::hosted::Kind;
use crate::text::lines::{Example, Verdict};

/// The word under which the table counts an annotator's examples.
pub const EXAMPLES: &str = "examples";
/// The word under which the table counts a rater's verdicts.
pub const VERDICTS: &str = "verdicts";

impl Parameters {
    /// Each person's daily use.
    pub fn daily_allowances(&self) -> Vec<DailyAllowance> {
        vec![
            DailyAllowance {
                kind: EXAMPLES,
                title: "examples",
                counted_as: EXAMPLES,
                limit: self.examples_a_day.into(),
                is_of_raters: false,
            },
            DailyAllowance {
                kind: VERDICTS,
                title: "verdicts",
                counted_as: VERDICTS,
                limit: self.validation.verdicts_a_day.into(),
                is_of_raters: true,
            },
        ]
    }
}

impl Kind {
    /// The largest file of this kind that is read at all, in bytes.
    pub fn max_bytes(self) -> u64 {
        match self {
            Self::Submit => Example::MAX_BYTES,
            Self::Verdict => Verdict::MAX_BYTES,
        }
    }
}
