//! Derives a board from the facts about it.
//!
//! The table stores facts: the scored submissions of a board, each with its outcome and, once its round was finished, the outcome with the round's final
//! data set. Rows are computed from facts and rules alone, by [`board`]. They can be deleted and computed again at any time.

use std::collections::BTreeMap;

use crate::board::{Board, Order, Ranking};
use crate::receipt::verdict::Ending;
use crate::rows::ranking::{rank_key_of, standing};
use crate::submission::Entry;
use crate::{Digest, Timestamp};

/// A submission that was scored on a board, and may be withdrawn or rejected by now.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The submission with its outcome.
    pub entry: Entry,
    /// The outcome with the final data set of the round, once there is one.
    pub last: Option<FinalOutcome>,
}

/// How a submission ended with the final data set of its round.
#[derive(Debug, Clone, PartialEq)]
pub struct FinalOutcome {
    /// Scored, or rejected by the rules of the final data set.
    pub ending: Ending,
    /// The score, if it has one.
    pub score: Option<f64>,
    /// The final data set.
    pub dataset: Option<Digest>,
    /// The score on the public board when the round was finished.
    pub before: Option<f64>,
    /// The data set of that score.
    pub dataset_before: Option<Digest>,
}

impl Fact {
    /// The line of the submission on the public or the final board; `None` if it is not on it.
    pub fn line_on(self, board: &Board) -> Option<Entry> {
        if !self.entry.is_on_board() {
            return None;
        }
        if board.is_final() {
            self.final_entry()
        } else {
            Some(self.entry)
        }
    }

    /// The line of the submission on the final board, withdrawn if the public one is. `None`
    /// without a final score.
    pub fn final_entry(&self) -> Option<Entry> {
        let last = self.last.as_ref()?;
        Some(Entry {
            board: self.entry.board.of_final(),
            ending: Some(last.ending),
            score: Some(last.score?),
            climb: None,
            dataset: last.dataset,
            ..self.entry.clone()
        })
    }
}

/// The inputs, besides facts, of a board's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Which scores are better, and which submissions of a submitter have a row.
    pub order: Order,
    /// The data set whose scores are compared. `None` if neither the round nor the active data sets
    /// name one: then the newest scored upload decides.
    pub dataset: Option<Digest>,
    /// Until when nobody but the organizer sees the board; `None` where anybody may.
    pub hidden_until: Option<Timestamp>,
    /// When these rules change by the clock; `None` where they don't.
    pub next_change: Option<Timestamp>,
}

impl Rules {
    /// The rules of a board that anybody sees, whose scores are of any data set.
    pub fn ranked_by(order: Order) -> Self {
        Self {
            order,
            dataset: None,
            hidden_until: None,
            next_change: None,
        }
    }
}

/// The rows of a board and of its final board, each in ranking order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    /// The board's own rows.
    pub public: Vec<Entry>,
    /// The rows of its final board; empty where its round has not been finished.
    pub last: Vec<Entry>,
}

/// The rows of a board: one for each submitter. Withdrawn and rejected submissions have none.
///
/// The final board shows, for each submitter, the submission with the public row among the
/// submissions with a final outcome. It shows none if that outcome is a rejection.
///
/// All facts have to belong to one board. If the rules [allow](Rules::are_of_each_submitter) it,
/// the facts of some submitters yield their rows.
pub fn board(facts: &[Fact], rules: &Rules) -> Rows {
    let Order { direction, ranking } = rules.order;
    let dataset = scored_with(facts, rules);
    let sorted = |mut rows: Vec<Entry>| {
        rows.sort_by_cached_key(|row| rank_key_of(row, direction));
        rows
    };
    let select = |get: &dyn Fn(&Fact) -> bool| -> Vec<&Fact> {
        let mut of_submitters: BTreeMap<&str, Vec<&Fact>> = BTreeMap::new();
        for fact in facts.iter().filter(|fact| get(fact)) {
            of_submitters.entry(&fact.entry.submitter).or_default().push(fact);
        }
        let one_each = of_submitters.into_values().filter_map(|facts| {
            let lines = facts.iter().map(|fact| &fact.entry);
            let best = standing(lines, &facts.first()?.entry.board, ranking, direction, dataset)?;
            facts.into_iter().find(|fact| fact.entry.id == best.id)
        });
        one_each.collect()
    };
    let public = select(&|_| true);
    let last = select(&|fact| fact.last.is_some());
    Rows {
        public: sorted(public.into_iter().map(|fact| fact.entry.clone()).collect()),
        last: sorted(last.into_iter().filter_map(Fact::final_entry).collect()),
    }
}

/// The data set whose scores are compared on a board: the rules' data set, or else that of the
/// newest scored upload.
pub fn scored_with(facts: &[Fact], rules: &Rules) -> Option<Digest> {
    let newest = || {
        let shown = facts
            .iter()
            .map(|fact| &fact.entry)
            .filter(|entry| entry.is_shown());
        shown
            .max_by_key(|entry| entry.time_order())
            .and_then(|newest| newest.dataset)
    };
    rules.dataset.or_else(newest)
}

impl Rules {
    /// Whether the rows of a submitter follow from the submitter's own facts alone.
    pub fn are_of_each_submitter(&self) -> bool {
        self.dataset.is_some() || self.order.ranking != Ranking::Best
    }
}

/// How many submissions of each submitter were scored, those that are withdrawn by now included.
pub fn count_scored(facts: &[Fact]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for fact in facts
        .iter()
        .filter(|fact| fact.entry.ending == Some(Ending::Scored))
    {
        *counts.entry(fact.entry.submitter.clone()).or_default() += 1;
    }
    counts
}
