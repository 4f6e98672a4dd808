//! The reasons for which nothing is taken of a rater, or of another round.

use dataperf::board::{Stage, parse_round};
use dataperf::{Reason, Rejection, quote};

/// The rejection of a rater's files as a participant: raters do not take part.
pub(crate) fn rater(name: &str) -> Rejection {
    let message = format!(
        "{} is a rater, and raters can't request images or submit pairs: use the name of somebody who does not rate",
        quote(name)
    );
    Reason::new("rater", "", message).into()
}

/// Why a pair of `round` is refused if its image was made in another round, `made_in`: that round
/// may have had other services.
pub(crate) fn other_round(at: String, made_in: &str, round: &str) -> Reason {
    let remedy = if parse_round(round).1 == Stage::Post {
        "The round has closed and makes no more images: wait for the next round, and ask for images of \
            this prompt again"
    } else {
        "Ask for images of this prompt again, which counts towards the day's sets, and submit one of those"
    };
    let message = format!(
        "the image is from the round {}, and this pair is for the round {}: a pair needs an image of its \
            own round. {remedy}",
        quote(made_in),
        quote(round)
    );
    Reason::new("other_round", at, message)
}
