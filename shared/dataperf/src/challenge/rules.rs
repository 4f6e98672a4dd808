//! The rules of a board, as its challenge states them.

use super::Challenge;
use crate::benchmark::descriptor::Descriptor;
use crate::board::{Board, Order, Ranking};
use crate::rows::facts::Rules;
use crate::{Digest, Timestamp};

impl Rules {
    /// The rules of a board `at` a time. `active` is the data set that is active for the leaderboard, which counts where the round pins none.
    pub fn new(
        hosted: &Descriptor,
        challenge: Option<&Challenge>,
        board: &Board,
        active: Option<Digest>,
        at: Timestamp,
    ) -> Self {
        let ranking = challenge.map_or_else(Ranking::default, |challenge| {
            challenge.ranking(&board.leaderboard)
        });
        let round = challenge.and_then(|challenge| challenge.round(&board.round));
        let pinned = round.and_then(|round| round.dataset_at(at));
        let hidden_until = challenge.and_then(|challenge| challenge.hidden_until(board, at));
        let retires = round
            .and_then(|round| Some(round.retire?.at))
            .filter(|retires| at < *retires);
        // the active data set matters while a board takes uploads; the last document of a round
        // says that it has closed
        let closes = round.and_then(|round| round.closes);
        let opens = challenge.filter(|_| round.is_none()).and_then(|challenge| {
            let rounds = challenge.rounds_of(&board.leaderboard);
            rounds.iter().map(|round| round.opens).find(|opens| at < *opens)
        });
        let moves = closes.filter(|closes| at < *closes).into_iter().chain(opens);
        Self {
            order: Order {
                direction: hosted.direction,
                ranking: hosted.ranking(ranking),
            },
            // the data set of fixed boards is a configuration, and scores of several are compared
            dataset: pinned.or(active).filter(|_| hosted.fixed.is_none()),
            hidden_until,
            next_change: hidden_until.into_iter().chain(retires).chain(moves).min(),
        }
    }
}
