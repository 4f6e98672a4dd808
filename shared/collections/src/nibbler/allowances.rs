//! Daily allowances, and how large files may be.

use crate::common::LineItem;
use dataperf::benchmark::allowance::DailyAllowance;

use crate::nibbler::Kind;
use crate::nibbler::artifacts::{GenerationRequest, Submission, Verdict};
use crate::nibbler::configuration::Parameters;

/// The word under which the table counts a submitter's sets of images.
const SETS: &str = "day";

impl Parameters {
    /// Each person's daily use.
    pub fn daily_allowances(&self) -> Vec<DailyAllowance> {
        vec![DailyAllowance {
            kind: "sets",
            title: "sets of images",
            counted_as: SETS,
            limit: self.sets_a_day.into(),
            is_of_raters: false,
        }]
    }
}

impl Kind {
    /// The largest file of this kind that is read at all, in bytes.
    pub fn max_bytes(self) -> u64 {
        match self {
            Self::Generate => GenerationRequest::MAX_BYTES,
            Self::Submit => Submission::MAX_BYTES,
            Self::Verdict => Verdict::MAX_BYTES,
        }
    }
}
