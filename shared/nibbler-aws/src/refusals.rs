//! The reasons for which nothing is taken of a rater, or of another round.

use dataperf::ports::leaderboard::{Stage, parse_round};
use dataperf::{Reason, Rejection, quote};

/// The rejection of a rater's files as a participant: whoever judges does not take part.
pub(crate) fn rater(name: &str) -> Rejection {
    let message = format!(
        "{} is a rater's name: who judges pairs has no images made and submits none. Take part under another name, of somebody who is no rater",
        quote(name)
    );
    Reason::new("rater", "", message).into()
}

/// Why a pair of `round` is not taken whose image was asked for in another round, `made_in`: that round may have had other services.
pub(crate) fn other_round(at: String, made_in: &str, round: &str) -> Reason {
    let remedy = if parse_round(round).1 == Stage::Post {
        "The round has closed, and no more images are made: wait until another round opens, and ask for the images of this prompt in it"
    } else {
        "Ask for the images of this prompt again, which makes another set and counts towards the day's sets, and submit one of those"
    };
    let message = format!(
        "the image was made in the round {}, and this pair is of the round {}: a pair has an image that was asked for in its own round. {remedy}",
        quote(made_in),
        quote(round)
    );
    Reason::new("other_round", at, message)
}
