//! The reasons for which a line is not taken, and what receipts say of a day's count.

use dataperf::{Reason, Timestamp};
use dataperf_collection_aws::{Notes, Reserved};
use serde_json::json;

/// What a receipt says of a day's count of `what`.
pub(crate) fn counted(what: &str, n_taken: u64, limit: u64, at: Timestamp) -> Notes {
    Notes::from([
        (format!("{what}_used"), json!(n_taken)),
        (format!("{what}_a_day"), json!(limit)),
        (format!("{what}_reset_at"), json!(at.next_day())),
    ])
}

/// Why models are not asked about a line: today they were asked about `n_asked` other lines of its author, including those of this file, and `most`
/// is the limit.
pub(crate) fn asked_too_often(line: usize, most: u64, n_asked: u64, at: Timestamp) -> Reason {
    let message = format!(
        "models were asked about {n_asked} lines of yours on {}, of which some had no answer, and {most} a day is the limit: upload this line \
         again from {} on",
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

/// Why a line is refused whose text one of the models refuses; `why` names the model and what it answers.
pub(crate) fn refused_by_model(line: usize, why: &str) -> Reason {
    let message = format!(
        "{why} when it was asked about this text alone, and answers about others: the example can't be judged and does not count. Change the \
         text, or ask the organizer what the model takes"
    );
    Reason::new("refused_by_model", format!("line {line} /text"), message)
}

/// Why a line is refused for which nothing of the day's count is left.
pub(crate) fn used_up(what: &str, line: usize, limit: u64, reserved: Reserved, at: Timestamp) -> Reason {
    let n_taken = reserved.n_taken;
    let message = format!(
        "{n_taken} {what} of yours were taken on {}, and {limit} a day is the limit: upload this line again from {} on. What the \
         platform fails to take does not count",
        at.day(),
        at.next_day()
    );
    Reason::over(
        &format!("daily_{what}"),
        format!("line {line}"),
        limit,
        n_taken.saturating_add(1),
        message,
    )
}
