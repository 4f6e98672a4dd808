//! The table's items: their attributes. docs/leaderboard-schema.md shows them.

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::board::Board;
use dataperf::ports::PortError;
use dataperf::rows::revision::{Revision, Run};
use dataperf::submission::Entry;
use dataperf::table::maintenance::DataNote;
use dataperf::{Ending, RankKey, Timestamp, Upload};

use crate::table::keys::{Key, ranking_partition};

pub use crate::table::attributes::{Item, SCHEMA, count, number, text};

pub(crate) const RECEIVED: &str = "received";
/// 1 on the items of a baseline; other items don't have it.
pub(crate) const BASELINE: &str = "baseline";
/// On submissions whose failed ending was taken back; other items don't have it.
pub(crate) const REOPENED: &str = "reopened";
/// How often a submission was withdrawn, as JSON.
pub(crate) const WITHDRAWALS: &str = "withdrawals";
/// For items whose score the Ladder released: whether it is the submission's own.
pub(crate) const LADDER: &str = "ladder";
/// The data set that a submission was judged with.
pub(crate) const DATASET: &str = "dataset";

fn status(ending: Option<Ending>) -> AttributeValue {
    text(ending.map_or(RECEIVED, Ending::as_str))
}

/// The attributes that every item of a submission has.
pub(crate) fn entry_item(key: Key, entry: &Entry) -> Item {
    let mut item = key.item();
    item.insert("schema".into(), count(SCHEMA.into()));
    item.insert("id".into(), text(entry.id.as_str()));
    item.insert("benchmark".into(), text(&entry.board.benchmark));
    item.insert("leaderboard".into(), text(&entry.board.leaderboard));
    item.insert("round".into(), text(&entry.board.round));
    item.insert("submitter".into(), text(&entry.submitter));
    item.insert("received_at".into(), text(entry.received_at.to_string()));
    item.insert("status".into(), status(entry.ending));
    if let Some(score) = entry.score {
        item.insert("score".into(), number(score));
    }
    item.extend(dataset(entry));
    item.extend(climb(entry));
    if entry.is_baseline {
        item.insert(BASELINE.into(), count(1));
    }
    if let Some(at) = entry.withdrawn_at {
        item.insert("withdrawn_at".into(), text(at.to_string()));
    }
    item.extend(withdrawals(entry));
    item
}

/// The attribute with the data set of an entry that has one.
pub(crate) fn dataset(entry: &Entry) -> Option<(String, AttributeValue)> {
    let dataset = entry.dataset?;
    Some((DATASET.to_owned(), text(dataset.to_string())))
}

/// The attribute of an entry that was withdrawn, or was once.
pub(crate) fn withdrawals(entry: &Entry) -> Option<(String, AttributeValue)> {
    let json = serde_json::json!(entry.withdrawals).to_string();
    (!entry.withdrawals.is_empty()).then(|| (WITHDRAWALS.to_owned(), text(json)))
}

/// The attribute of an entry whose score the Ladder released.
pub(crate) fn climb(entry: &Entry) -> Option<(String, AttributeValue)> {
    let climb = entry.climb?;
    Some((LADDER.to_owned(), text(climb.as_str())))
}

/// A row of a board.
pub(crate) fn row_item(key: Key, entry: &Entry, rank: &RankKey) -> Item {
    let mut item = entry_item(key, entry);
    item.insert("board".into(), text(ranking_partition(&entry.board)));
    item.insert("rank".into(), text(rank.as_str()));
    item
}

/// A board in the list of boards.
pub(crate) fn board_item(board: &Board) -> Item {
    let mut item = Key::board(board).item();
    item.insert("schema".into(), count(SCHEMA.into()));
    item.insert("benchmark".into(), text(&board.benchmark));
    item.insert("leaderboard".into(), text(&board.leaderboard));
    item.insert("round".into(), text(&board.round));
    item
}

/// The attribute of a run that says how many submissions came back while it went on, or after it.
pub(crate) const N_BACK: &str = "n_back";
/// The attribute that says when a run had ended before it was taken up again.
pub(crate) const FIRST_ENDED_AT: &str = "first_ended_at";

/// The newest run over a board.
pub(crate) fn run_item(board: &Board, run: &Run) -> Item {
    let mut item = Key::run(board).item();
    item.insert("schema".into(), count(SCHEMA.into()));
    item.insert("run".into(), text(&run.id));
    item.insert("begun_at".into(), text(run.begun_at.to_string()));
    let optional = [
        ("ended_at", run.ended_at.map(|at| at.to_string())),
        ("before", (!run.before.is_empty()).then(|| run.before.join(" "))),
    ];
    for (name, value) in optional {
        item.extend(value.map(|value| (name.to_owned(), text(value))));
    }
    item
}

/// The attribute of a note about a data set, as JSON.
pub(crate) const NOTE: &str = "note";
/// The attribute with the time of a note.
pub(crate) const NOTED_AT: &str = "at";

/// A note about a data set.
pub(crate) fn note_item(key: Key, note: &DataNote, at: Timestamp) -> Result<Item, PortError> {
    let json = serde_json::to_string(note).map_err(|error| PortError::Malformed {
        subject: "a note about a data set".into(),
        why: error.to_string(),
    })?;
    let mut item = key.item();
    item.insert("schema".into(), count(SCHEMA.into()));
    item.insert(NOTE.into(), text(json));
    item.insert(NOTED_AT.into(), text(at.to_string()));
    Ok(item)
}

/// A run's result for one submission.
pub(crate) fn revision_item(key: Key, revision: &Revision) -> Item {
    let mut item = key.item();
    item.insert("schema".into(), count(SCHEMA.into()));
    item.insert("id".into(), text(revision.id.as_str()));
    item.insert("submitter".into(), text(&revision.submitter));
    item.insert("received_at".into(), text(revision.received_at.to_string()));
    item.insert("status".into(), text(revision.ending.as_str()));
    let scores = [("score_before", revision.before), ("score", revision.after)];
    for (name, score) in scores {
        item.extend(score.map(|score| (name.to_owned(), number(score))));
    }
    if let Some(dataset) = revision.dataset_before {
        item.insert("dataset_before".into(), text(dataset.to_string()));
    }
    if revision.is_baseline {
        item.insert(BASELINE.into(), count(1));
    }
    item
}

/// The submission's own item when it is received.
pub(crate) fn submission_item(entry: &Entry, upload: &Upload) -> Item {
    let mut item = entry_item(Key::submission(&entry.board.benchmark, &entry.id), entry);
    item.insert("bucket".into(), text(&upload.bucket));
    item.insert("key".into(), text(&upload.key));
    if let Some(version) = &upload.version {
        item.insert("version".into(), text(version));
    } else if let Some(e_tag) = &upload.e_tag {
        item.insert("e_tag".into(), text(e_tag)); // what tells apart the objects of a bucket without versions
    }
    item
}
