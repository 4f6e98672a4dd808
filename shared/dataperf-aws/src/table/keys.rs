//! The keys of the table's items. docs/leaderboard-schema.md shows them.

use dataperf::board::Board;
use dataperf::submission::Entry;
use dataperf::table::maintenance::DataNote;
use dataperf::upload::UNNAMED;
use dataperf::{SubmissionId, SubmitterName};
use serde::{Deserialize, Serialize};

use crate::table::attributes::{Item, RANKING, text};

/// The attributes of the table's key: the partition, and the place in it.
pub const TABLE_KEYS: [&str; 2] = ["pk", "sk"];
/// The index that ranks, with the attributes of its key: the partition, and the place in it.
pub const RANKING_INDEX: [&str; 3] = [RANKING, "board", "rank"];

/// In how many partitions the marks of a benchmark are: 16 take 4,000 submissions a second.
const N_SHARDS: u32 = 16;
/// The digits of the shards' numbers, which are the possible first digits of ids.
const DIGITS: std::ops::Range<u32> = 0..N_SHARDS;

/// A partition and sort key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The partition.
    pub pk: String,
    /// The place in it.
    pub sk: String,
}

impl Key {
    /// The key of a partition and a place in it.
    pub fn new(pk: impl Into<String>, sk: impl Into<String>) -> Self {
        Self {
            pk: pk.into(),
            sk: sk.into(),
        }
    }

    /// The key as attributes of an item.
    pub fn item(self) -> Item {
        Item::from([("pk".into(), text(self.pk)), ("sk".into(), text(self.sk))])
    }

    /// The item of a whole submission.
    pub(crate) fn submission(benchmark: &str, id: &SubmissionId) -> Self {
        Self {
            pk: format!("{benchmark}#submission#{id}"),
            sk: "submission".into(),
        }
    }

    /// A submission's line of its submitter's history.
    pub(crate) fn history(entry: &Entry) -> Self {
        Self {
            pk: history_partition(&entry.board.benchmark, &entry.submitter),
            sk: sort_key(entry),
        }
    }

    /// A submission's mark as unfinished.
    pub(crate) fn unfinished(entry: &Entry) -> Self {
        Self {
            pk: unfinished_shard(&entry.board.benchmark, &entry.id),
            sk: sort_key(entry),
        }
    }

    /// A submission's mark as failed.
    pub(crate) fn failed(entry: &Entry) -> Self {
        Self {
            pk: failed_partition(&entry.board.benchmark),
            sk: sort_key(entry),
        }
    }

    /// The fact of a submission that was scored on its board.
    pub(crate) fn fact(entry: &Entry) -> Self {
        Self {
            pk: facts_partition(&entry.board),
            sk: format!("{}{}", facts_of(&entry.submitter), sort_key(entry)),
        }
    }

    /// The state of a board's projection.
    pub(crate) fn projection(board: &Board) -> Self {
        Self {
            pk: projections_partition(&board.benchmark),
            sk: format!("{}#{}", board.leaderboard, board.round),
        }
    }

    /// How far the log of a board has come.
    pub(crate) fn log(board: &Board) -> Self {
        Self {
            pk: format!("{}#log", board.benchmark),
            sk: format!("{}#{}", board.leaderboard, board.round),
        }
    }

    /// The view of a board for dashboards.
    pub(crate) fn public(board: &Board) -> Self {
        Self {
            pk: format!("{}#public", board.benchmark),
            sk: format!("{}#{}", board.leaderboard, board.round),
        }
    }

    /// A submitter's row on a board.
    pub(crate) fn row(entry: &Entry) -> Self {
        Self {
            pk: rows_partition(&entry.board),
            sk: entry.submitter.clone(),
        }
    }

    /// A board in the list of boards.
    pub(crate) fn board(board: &Board) -> Self {
        Self {
            pk: boards_partition(&board.benchmark),
            sk: format!("{}#{}", board.leaderboard, board.round),
        }
    }

    /// The name that is noted among all that look like `name`.
    pub(crate) fn name(benchmark: &str, name: &SubmitterName) -> Self {
        Self {
            pk: names_partition(benchmark),
            sk: name.looks(),
        }
    }

    /// How many of a submitter's submissions were scored that were uploaded on a day.
    pub(crate) fn day_count(board: &Board, submitter: &str, day: &str) -> Self {
        Self {
            pk: counts_partition(board, submitter),
            sk: format!("day#{day}"),
        }
    }

    /// How many of a submitter's submissions were scored in the whole round.
    pub(crate) fn total_count(board: &Board, submitter: &str) -> Self {
        Self {
            pk: counts_partition(board, submitter),
            sk: "total".into(),
        }
    }

    /// A submitter's released scores on the Ladder of some evaluation data.
    pub(crate) fn rung(benchmark: &str, evaluation: &str, submitter: &str) -> Self {
        Self {
            pk: format!("{benchmark}#ladder#{evaluation}"),
            sk: submitter.to_owned(),
        }
    }

    /// The newest run that scores a board again.
    pub(crate) fn run(board: &Board) -> Self {
        Self {
            pk: runs_partition(&board.benchmark),
            sk: format!("{}#{}", board.leaderboard, board.round),
        }
    }

    /// A note about a data set, stored with the runs under an empty leaderboard.
    pub(crate) fn note(benchmark: &str, note: &DataNote) -> Self {
        Self {
            pk: runs_partition(benchmark),
            sk: format!("{UNNAMED}#{}", note.key()),
        }
    }

    /// A run's result for one submission.
    pub(crate) fn revision(board: &Board, run: &str, id: &SubmissionId) -> Self {
        Self {
            pk: revisions_partition(board, run),
            sk: id.to_string(),
        }
    }
}

pub(crate) fn history_partition(benchmark: &str, submitter: &str) -> String {
    format!("{benchmark}#submitter#{submitter}")
}

pub(crate) fn failed_partition(benchmark: &str) -> String {
    format!("{benchmark}#failed")
}

pub(crate) fn facts_partition(board: &Board) -> String {
    format!("{}#facts#{}#{}", board.benchmark, board.leaderboard, board.round)
}

/// The prefix of the sort keys of a submitter's facts.
pub(crate) fn facts_of(submitter: &str) -> String {
    format!("{submitter}#")
}

pub(crate) fn projections_partition(benchmark: &str) -> String {
    format!("{benchmark}#projections")
}

pub(crate) fn rows_partition(board: &Board) -> String {
    format!("{}#rows#{}#{}", board.benchmark, board.leaderboard, board.round)
}

pub(crate) fn boards_partition(benchmark: &str) -> String {
    format!("{benchmark}#boards")
}

pub(crate) fn names_partition(benchmark: &str) -> String {
    format!("{benchmark}#names")
}

fn counts_partition(board: &Board, submitter: &str) -> String {
    let Board {
        benchmark,
        leaderboard,
        round,
    } = board;
    format!("{benchmark}#count#{leaderboard}#{round}#{submitter}")
}

pub(crate) fn runs_partition(benchmark: &str) -> String {
    format!("{benchmark}#runs")
}

pub(crate) fn revisions_partition(board: &Board, run: &str) -> String {
    let Board {
        benchmark,
        leaderboard,
        round,
    } = board;
    format!("{benchmark}#run#{leaderboard}#{round}#{run}")
}

/// The partition of a board in the ranking index.
pub(crate) fn ranking_partition(board: &Board) -> String {
    format!("{}#{}#{}", board.benchmark, board.leaderboard, board.round)
}

/// Time, then id: the order of histories.
fn sort_key(entry: &Entry) -> String {
    format!("{}#{}", entry.received_at, entry.id)
}

/// The partition of a submission's mark.
pub(crate) fn unfinished_shard(benchmark: &str, id: &SubmissionId) -> String {
    let digit = &id.as_str()[..1]; // an id is a digest, whose digits are spread evenly
    format!("{}#{digit}", unfinished_prefix(benchmark))
}

/// The prefix of a benchmark's partitions with marks.
pub(crate) fn unfinished_prefix(benchmark: &str) -> String {
    format!("{benchmark}#unfinished")
}

/// All partitions with marks of a benchmark.
pub(crate) fn unfinished_shards(benchmark: &str) -> Vec<String> {
    let prefix = unfinished_prefix(benchmark);
    let digits = DIGITS.filter_map(|digit| char::from_digit(digit, N_SHARDS));
    digits.map(|digit| format!("{prefix}#{digit}")).collect()
}
