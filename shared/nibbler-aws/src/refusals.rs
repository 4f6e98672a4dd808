//! The reasons for which nothing is taken of a person, and the notes of every receipt.

use dataperf::{Reason, Rejection};
use dataperf_collection_aws::Notes;
use serde_json::json;

use crate::WELL_BEING;

/// The reason for which nothing is taken of a person, if the person is disqualified in that role.
pub(crate) fn disqualified(is_disqualified: bool, name: &str, whose: &str) -> Option<Reason> {
    is_disqualified.then(|| {
        let name = dataperf::quote(name);
        let message = format!("{name} is disqualified, no more {whose} are taken: ask the organizer why");
        Reason::new("disqualified", "", message)
    })
}

/// The rejection of a rater's files as a participant: whoever judges does not take part.
pub(crate) fn rater(name: &str) -> Rejection {
    let message = format!(
        "{} is a rater's name: who judges pairs has no images made and submits none. Take part under another name, of somebody who is no rater",
        dataperf::quote(name)
    );
    Reason::new("rater", "", message).into()
}

/// The notes of every receipt.
pub(crate) fn notes() -> Notes {
    Notes::from([("well_being".into(), json!(WELL_BEING))])
}
