//! The table's items: their keys, their attributes, and the way back. docs/leaderboard-schema.md shows them.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::ports::PortError;
use dataperf::ports::leaderboard::{Board, Entry, Received, Submission};
use dataperf::{Ending, Receipt, SubmissionId, Timestamp, Upload};

pub(crate) type Item = HashMap<String, AttributeValue>;

/// The version of the items' form.
pub(crate) const SCHEMA: u32 = 1;
/// The index that ranks: its partition is `board`, its sort key `rank`.
pub(crate) const RANKING: &str = "ranking";
const RECEIVED: &str = "received";

/// A partition and sort key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) pk: String,
    pub(crate) sk: String,
}

impl Key {
    pub(crate) fn item(self) -> Item {
        Item::from([("pk".into(), text(self.pk)), ("sk".into(), text(self.sk))])
    }

    /// One submission, whole.
    pub(crate) fn submission(benchmark: &str, id: &SubmissionId) -> Self {
        Self {
            pk: format!("{benchmark}#submission#{id}"),
            sk: "submission".into(),
        }
    }

    /// A line of its submitter's history.
    pub(crate) fn history(entry: &Entry) -> Self {
        Self {
            pk: history_partition(&entry.board.benchmark, &entry.submitter),
            sk: sort_key(entry),
        }
    }

    /// Its mark as unfinished.
    pub(crate) fn unfinished(entry: &Entry) -> Self {
        Self {
            pk: unfinished_partition(&entry.board.benchmark),
            sk: sort_key(entry),
        }
    }

    /// Its mark as failed.
    pub(crate) fn failed(entry: &Entry) -> Self {
        Self {
            pk: failed_partition(&entry.board.benchmark),
            sk: sort_key(entry),
        }
    }

    /// Its point in its board's series.
    pub(crate) fn series(entry: &Entry) -> Self {
        Self {
            pk: series_partition(&entry.board),
            sk: sort_key(entry),
        }
    }

    /// Its submitter's best on its board.
    pub(crate) fn best(board: &Board, submitter: &str) -> Self {
        Self {
            pk: format!("{}#best#{}#{}", board.benchmark, board.leaderboard, board.round),
            sk: submitter.into(),
        }
    }

    /// Its board in the list of boards.
    pub(crate) fn board(board: &Board) -> Self {
        Self {
            pk: boards_partition(&board.benchmark),
            sk: format!("{}#{}", board.leaderboard, board.round),
        }
    }
}

pub(crate) fn history_partition(benchmark: &str, submitter: &str) -> String {
    format!("{benchmark}#submitter#{submitter}")
}

pub(crate) fn unfinished_partition(benchmark: &str) -> String {
    format!("{benchmark}#unfinished")
}

pub(crate) fn failed_partition(benchmark: &str) -> String {
    format!("{benchmark}#failed")
}

pub(crate) fn series_partition(board: &Board) -> String {
    format!("{}#series#{}#{}", board.benchmark, board.leaderboard, board.round)
}

pub(crate) fn boards_partition(benchmark: &str) -> String {
    format!("{benchmark}#boards")
}

/// The partition of a board in the ranking index.
pub(crate) fn ranking_partition(board: &Board) -> String {
    format!("{}#{}#{}", board.benchmark, board.leaderboard, board.round)
}

/// Time, then id: the order of histories.
fn sort_key(entry: &Entry) -> String {
    format!("{}#{}", entry.received_at, entry.id)
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// The shortest decimal that reads back as the same number.
pub(crate) fn number(value: f64) -> AttributeValue {
    AttributeValue::N(format!("{value}"))
}

fn status(ending: Option<Ending>) -> AttributeValue {
    text(ending.map_or(RECEIVED, Ending::as_str))
}

/// The attributes that every item of a submission has.
pub(crate) fn entry_item(key: Key, entry: &Entry) -> Item {
    let mut item = key.item();
    item.insert("schema".into(), AttributeValue::N(SCHEMA.to_string()));
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
    item
}

/// The submission's own item when it is filed.
pub(crate) fn submission_item(entry: &Entry, received: &Received) -> Item {
    let mut item = entry_item(Key::submission(&entry.board.benchmark, &entry.id), entry);
    item.insert("bucket".into(), text(&received.upload.bucket));
    item.insert("key".into(), text(&received.upload.key));
    if let Some(version) = &received.upload.version {
        item.insert("version".into(), text(version));
    } else if let Some(e_tag) = &received.upload.e_tag {
        item.insert("e_tag".into(), text(e_tag)); // what tells apart the objects of a bucket without versions
    }
    item
}

/// Reads attributes, naming the item in every complaint.
struct Reader<'a> {
    item: &'a Item,
}

impl Reader<'_> {
    fn malformed(&self, why: String) -> PortError {
        let key = |name| {
            self.item
                .get(name)
                .and_then(|value| value.as_s().ok())
                .map_or("?", String::as_str)
        };
        PortError::Malformed {
            what: format!("item `{}` `{}`", key("pk"), key("sk")),
            why,
        }
    }

    fn text(&self, name: &str) -> Result<&str, PortError> {
        let value = self.item.get(name).and_then(|value| value.as_s().ok());
        value
            .map(String::as_str)
            .ok_or_else(|| self.malformed(format!("it has no string `{name}`")))
    }

    fn optional_text(&self, name: &str) -> Option<String> {
        self.item.get(name)?.as_s().ok().cloned()
    }

    fn parsed<T: std::str::FromStr>(&self, name: &str) -> Result<T, PortError>
    where
        T::Err: std::fmt::Display,
    {
        self.text(name)?
            .parse()
            .map_err(|error: T::Err| self.malformed(format!("`{name}`: {error}")))
    }

    fn schema(&self) -> Result<(), PortError> {
        let found = self
            .item
            .get("schema")
            .and_then(|value| value.as_n().ok())
            .map_or("none", String::as_str);
        if found == SCHEMA.to_string() {
            return Ok(());
        }
        Err(self.malformed(format!(
            "its schema is {found}, this version reads {SCHEMA}: use a newer `dataperf`"
        )))
    }

    fn ending(&self) -> Result<Option<Ending>, PortError> {
        match self.text("status")? {
            RECEIVED => Ok(None),
            "scored" => Ok(Some(Ending::Scored)),
            "rejected" => Ok(Some(Ending::Rejected)),
            "failed" => Ok(Some(Ending::Failed)),
            other => Err(self.malformed(format!("`status` is `{other}`"))),
        }
    }

    fn score(&self) -> Result<Option<f64>, PortError> {
        let Some(value) = self.item.get("score") else {
            return Ok(None);
        };
        let score = value.as_n().ok().and_then(|digits| digits.parse().ok());
        score
            .map(Some)
            .ok_or_else(|| self.malformed("`score` is no number".into()))
    }

    fn board(&self) -> Result<Board, PortError> {
        Ok(Board {
            benchmark: self.text("benchmark")?.into(),
            leaderboard: self.text("leaderboard")?.into(),
            round: self.text("round")?.into(),
        })
    }
}

pub(crate) fn entry(item: &Item) -> Result<Entry, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    Ok(Entry {
        id: reader.parsed::<SubmissionId>("id")?,
        board: reader.board()?,
        submitter: reader.text("submitter")?.into(),
        received_at: reader.parsed::<Timestamp>("received_at")?,
        ending: reader.ending()?,
        score: reader.score()?,
    })
}

pub(crate) fn board(item: &Item) -> Result<Board, PortError> {
    Reader { item }.board()
}

pub(crate) fn submission(item: &Item) -> Result<Submission, PortError> {
    let reader = Reader { item };
    let entry = entry(item)?;
    let receipt: Option<Receipt> = if entry.ending.is_none() {
        None
    } else {
        let json = reader.text("receipt")?;
        let receipt =
            serde_json::from_str(json).map_err(|error| reader.malformed(format!("`receipt`: {error}")))?;
        Some(receipt)
    };
    let Entry {
        id,
        board,
        submitter,
        received_at,
        ..
    } = entry;
    let upload = Upload {
        bucket: reader.text("bucket")?.into(),
        key: reader.text("key")?.into(),
        version: reader.optional_text("version"),
        e_tag: reader.optional_text("e_tag"),
        received_at,
    };
    Ok(Submission {
        id,
        board,
        submitter,
        received_at,
        upload,
        receipt,
    })
}
