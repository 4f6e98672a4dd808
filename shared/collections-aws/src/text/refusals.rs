//! The reasons for which a line is not taken.

use crate::common::Reserved;
use dataperf::{Reason, Timestamp};

/// Why a line is not sent to models: today they answered `n_asked` other lines of its author,
/// including this file's, and `most` is the limit.
pub(crate) fn too_many_requests(line: usize, most: u64, n_asked: u64, at: Timestamp) -> Reason {
    let message = format!(
        "models judged {n_asked} of your lines on {}, some without an answer, and the limit is {most} a \
            day: upload this line again from {}",
        at.day(),
        at.next_day()
    );
    Reason::over(
        "daily_asked",
        format!("line {line}"),
        most,
        n_asked.saturating_add(1),
        message,
    )
}

/// Why a line is refused if a model refuses its text; `why` names the model and its answer.
pub(crate) fn refused_by_model(line: usize, why: &str) -> Reason {
    let message = format!(
        "{why} for this text, but answers for others: the example can't be judged and does not count. \
            Change the text, or ask the organizer what the model takes"
    );
    Reason::new("refused_by_model", format!("line {line} /text"), message)
}

/// Why a line is refused if the day's limit is used up.
pub(crate) fn used_up(noun: &str, line: usize, limit: u64, reserved: Reserved, at: Timestamp) -> Reason {
    let n_taken = reserved.n_taken;
    let message = format!(
        "the platform took {n_taken} {noun} of yours on {}, and the limit is {limit} a day. Failures of \
            the platform do not count. Upload this line again from {}",
        at.day(),
        at.next_day()
    );
    Reason::over(
        &format!("daily_{noun}"),
        format!("line {line}"),
        limit,
        n_taken.saturating_add(1),
        message,
    )
}
