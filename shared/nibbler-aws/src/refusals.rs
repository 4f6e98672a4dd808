//! What is said to whom nothing is taken of, and in every receipt.

use dataperf::Reason;
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

/// What every receipt says.
pub(crate) fn notes() -> Notes {
    Notes::from([("well_being".into(), json!(WELL_BEING))])
}
