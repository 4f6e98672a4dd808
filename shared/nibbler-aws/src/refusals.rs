//! What is said to whom nothing is taken of, and in every receipt.

use dataperf::{Reason, Rejection};
use dataperf_collection_aws::Notes;
use serde_json::json;

use crate::WELL_BEING;

/// Nothing is taken of who is disqualified in that role.
pub(crate) fn disqualified(is_disqualified: bool, name: &str, whose: &str) -> Option<Reason> {
    is_disqualified.then(|| {
        let name = dataperf::quote(name);
        let message = format!("{name} is disqualified, no more {whose} are taken: ask the organizer why");
        Reason::new("disqualified", "", message)
    })
}

/// Who judges takes no part.
pub(crate) fn rater(name: &str) -> Rejection {
    let message = format!(
        "{} is a rater's name: who judges pairs has no images made and submits none. Take part under another name, of somebody who is no rater",
        dataperf::quote(name)
    );
    Reason::new("rater", "", message).into()
}

/// What every receipt says.
pub(crate) fn notes() -> Notes {
    Notes::from([("well_being".into(), json!(WELL_BEING))])
}
