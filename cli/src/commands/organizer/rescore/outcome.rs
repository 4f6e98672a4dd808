//! Compares the order on a board before and after a run.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use dataperf::Ending;
use dataperf::board::{Board, Order};
use dataperf::rows::ranking::{Ranked, rank_key_of, standing, with_shared_ranks};
use dataperf::rows::revision::{Revision, Run};
use dataperf::submission::Entry;
use serde_json::{Value, json};

use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{align_right, n_of, score, table};

/// One row of the table: a submitter's place before and now.
struct Row<'a> {
    submitter: &'a str,
    before: Option<&'a Ranked>,
    after: Option<&'a Ranked>,
}

pub(crate) fn print(
    board: &Board,
    run: &Run,
    revisions: &[Revision],
    order: Order,
    n: usize,
    format: RowFormat,
) -> Result<()> {
    let before = before(board, revisions, order);
    let after = ranked(board, revisions, order, |revision| revision.after);
    let rows = rows(&before, &after);
    let changed = revisions
        .iter()
        .filter(|revision| revision.before != revision.after)
        .count();
    let rejected = revisions
        .iter()
        .filter(|revision| revision.ending != Ending::Scored)
        .count();
    let document = || {
        let places: Vec<Value> = rows.iter().map(document).collect();
        Ok(
            json!({ "run": run.id, "benchmark": board.benchmark, "leaderboard": board.leaderboard,
            "round": board.round, "submissions": revisions.len(), "changed": changed, "rejected": rejected, "places": places }),
        )
    };
    print_tabled(
        document,
        &COLUMNS,
        || rows.iter().map(flat).collect(),
        format,
        || {
            print_places(&rows, n);
            let scored = n_of(revisions.len(), "submission was", "submissions were");
            let changed = n_of(changed, "has", "have");
            let rejected = n_of(rejected, "is", "are");
            println!("{scored} scored again: {changed} another score, {rejected} rejected now");
            Ok(())
        },
    )
}

fn print_places(rows: &[Row], n: usize) {
    let mut table = table(&["rank", "was", "score", "was", "submitter"]);
    let rank = |row: Option<&Ranked>| {
        row.and_then(Ranked::shown_rank)
            .map(|rank| rank.to_string())
            .unwrap_or_default()
    };
    let number = |row: Option<&Ranked>| row.and_then(|row| row.entry.score).map(score).unwrap_or_default();
    for Row {
        submitter,
        before,
        after,
    } in rows.iter().take(n)
    {
        table.add_row([
            rank(*after),
            rank(*before),
            number(*after),
            number(*before),
            (*submitter).to_owned(),
        ]);
    }
    (0..4).for_each(|column| align_right(&mut table, column));
    println!("{table}");
    if rows.len() > n {
        println!("{} more; `--format json` has all", rows.len() - n);
    }
}

/// The columns of places before and now.
const COLUMNS: [&str; 7] = [
    "submitter",
    "rank",
    "rank_before",
    "score",
    "score_before",
    "submission",
    "submission_before",
];

fn flat(row: &Row) -> Value {
    let rank = |row: Option<&Ranked>| row.and_then(Ranked::shown_rank);
    let score = |row: Option<&Ranked>| row.and_then(|row| row.entry.score);
    let id = |row: Option<&Ranked>| row.map(|row| row.entry.id.to_string());
    json!({ "submitter": row.submitter, "rank": rank(row.after), "rank_before": rank(row.before),
            "score": score(row.after), "score_before": score(row.before),
            "submission": id(row.after), "submission_before": id(row.before) })
}

fn document(row: &Row) -> Value {
    let place = |ranked: Option<&Ranked>| {
        ranked.map(|ranked| {
            json!({ "rank": ranked.shown_rank(), "score": ranked.entry.score, "submission": ranked.entry.id })
        })
    };
    json!({ "submitter": row.submitter, "before": place(row.before), "after": place(row.after) })
}

/// The board before the run. Scores of several data sets have no ranks among each other.
fn before(board: &Board, revisions: &[Revision], order: Order) -> Vec<Ranked> {
    let datasets: BTreeSet<_> = revisions
        .iter()
        .filter_map(|revision| revision.dataset_before)
        .collect();
    let mut before = ranked(board, revisions, order, |revision| revision.before);
    for ranked in &mut before {
        ranked.is_of_other_dataset = datasets.len() > 1;
    }
    before
}

/// The board as it follows from the scores that `of` gives.
fn ranked(
    board: &Board,
    revisions: &[Revision],
    order: Order,
    get: impl Fn(&Revision) -> Option<f64>,
) -> Vec<Ranked> {
    let mut lines: BTreeMap<&str, Vec<Entry>> = BTreeMap::new();
    for revision in revisions {
        let line = Entry {
            id: revision.id.clone(),
            board: board.clone(),
            submitter: revision.submitter.clone(),
            received_at: revision.received_at,
            is_baseline: revision.is_baseline,
            withdrawn_at: None,
            withdrawals: Vec::new(),
            ending: get(revision).map(|_| Ending::Scored),
            score: get(revision),
            climb: None,
            dataset: None, // a run scores all with one
        };
        lines.entry(&revision.submitter).or_default().push(line);
    }
    let mut state: Vec<&Entry> = Vec::new();
    for lines in lines.values() {
        state.extend(standing(lines, board, order.ranking, order.direction, None));
    }
    state.sort_by_cached_key(|line| rank_key_of(line, order.direction));
    with_shared_ranks(state.into_iter().cloned(), None)
}

/// The current rows in order, then the rows that have left the board.
fn rows<'a>(before: &'a [Ranked], after: &'a [Ranked]) -> Vec<Row<'a>> {
    let key = |ranked: &'a Ranked| ranked.entry.submitter.as_str();
    let row = |row_now: &'a Ranked, before, after| Row {
        submitter: &row_now.entry.submitter,
        before,
        after,
    };
    let stood: BTreeMap<&str, &Ranked> = before.iter().map(|ranked| (key(ranked), ranked)).collect();
    let stand: BTreeMap<&str, &Ranked> = after.iter().map(|ranked| (key(ranked), ranked)).collect();
    let now = after
        .iter()
        .map(|ranked| row(ranked, stood.get(key(ranked)).copied(), Some(ranked)));
    let gone = before.iter().filter(|ranked| !stand.contains_key(key(ranked)));
    now.chain(gone.map(|ranked| row(ranked, Some(ranked), None)))
        .collect()
}

#[cfg(test)]
mod tests {
    use dataperf::challenge::Ranking;
    use dataperf::{Digest, Direction, SubmissionId, Timestamp};

    use super::*;

    #[test]
    fn rescoring_from_mixed_data_sets_reports_no_ranks() {
        let board = Board {
            benchmark: "selection".into(),
            leaderboard: "digits-50".into(),
            round: "open".into(),
        };
        let revision = |submitter: &str, before: f64, dataset: &[u8]| Revision {
            id: SubmissionId::derive("bucket", submitter, ""),
            submitter: submitter.into(),
            received_at: Timestamp::from_unix_millis(1),
            is_baseline: false,
            before: Some(before),
            dataset_before: Some(Digest::compute(dataset)),
            ending: Ending::Scored,
            after: Some(0.5),
        };
        let order = Order {
            direction: Direction::HigherIsBetter,
            ranking: Ranking::Best,
        };
        let ranks = |revisions: &[Revision]| -> Vec<Option<usize>> {
            let before = before(&board, revisions, order);
            before.iter().map(Ranked::shown_rank).collect()
        };
        let of_old = [revision("ada", 0.8, b"old"), revision("bo", 0.7, b"old")];
        assert_eq!(ranks(&of_old), [Some(1), Some(2)]);
        let of_both = [revision("ada", 0.8, b"old"), revision("bo", 0.7, b"new")];
        assert_eq!(ranks(&of_both), [None, None]);
    }
}
