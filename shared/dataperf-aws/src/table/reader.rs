//! The way back from the table's items.

use dataperf::board::Board;
use dataperf::ports::PortError;
use dataperf::rows::revision::{Revision, Run};
use dataperf::submission::{Entry, Submission};
use dataperf::table::maintenance::DataNote;
use dataperf::{Ending, Receipt, SubmissionId, Timestamp, Upload};

use crate::table::items::{
    BASELINE, DATASET, FIRST_ENDED_AT, Item, LADDER, N_BACK, NOTE, NOTED_AT, RECEIVED, SCHEMA, WITHDRAWALS,
};

/// Reads attributes, naming the item in every complaint.
pub struct Reader<'a> {
    /// The item.
    pub item: &'a Item,
}

impl Reader<'_> {
    /// The complaint that the item is not of its form.
    pub fn malformed(&self, why: String) -> PortError {
        let key = |name| {
            self.item
                .get(name)
                .and_then(|value| value.as_s().ok())
                .map_or("?", String::as_str)
        };
        PortError::Malformed {
            subject: format!("item `{}` `{}`", key("pk"), key("sk")),
            why,
        }
    }

    /// A string.
    ///
    /// # Errors
    /// [`PortError::Malformed`] if it is missing.
    pub fn text(&self, name: &str) -> Result<&str, PortError> {
        let value = self.item.get(name).and_then(|value| value.as_s().ok());
        value
            .map(String::as_str)
            .ok_or_else(|| self.malformed(format!("it has no string `{name}`")))
    }

    pub(crate) fn optional_text(&self, name: &str) -> Option<String> {
        self.item.get(name)?.as_s().ok().cloned()
    }

    /// Reads and parses a string.
    ///
    /// # Errors
    /// [`PortError::Malformed`] if it is missing or malformed.
    pub fn parsed<T: std::str::FromStr>(&self, name: &str) -> Result<T, PortError>
    where
        T::Err: std::fmt::Display,
    {
        self.text(name)?
            .parse()
            .map_err(|error: T::Err| self.malformed(format!("`{name}`: {error}")))
    }

    /// Checks the item's version.
    ///
    /// # Errors
    /// [`PortError::Malformed`] when it is another.
    pub fn schema(&self) -> Result<(), PortError> {
        let schema = self
            .item
            .get("schema")
            .and_then(|value| value.as_n().ok())
            .map_or("none", String::as_str);
        if schema == SCHEMA.to_string() {
            return Ok(());
        }
        Err(self.malformed(format!(
            "its schema is {schema}, this version reads {SCHEMA}: use a newer `dataperf`"
        )))
    }

    fn ending(&self) -> Result<Option<Ending>, PortError> {
        match self.text("status")? {
            RECEIVED => Ok(None),
            status => status
                .parse()
                .map(Some)
                .map_err(|_| self.malformed(format!("`status` is `{status}`"))),
        }
    }

    /// A number that the item may lack.
    ///
    /// # Errors
    /// [`PortError::Malformed`] when it is something else.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, PortError> {
        let Some(value) = self.item.get(name) else {
            return Ok(None);
        };
        let number = value.as_n().ok().and_then(|digits| digits.parse().ok());
        number
            .map(Some)
            .ok_or_else(|| self.malformed(format!("`{name}` is not a valid number")))
    }

    /// A text that the item may lack.
    ///
    /// # Errors
    /// [`PortError::Malformed`] if it is not a `T`.
    pub fn maybe<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, PortError>
    where
        T::Err: std::fmt::Display,
    {
        match self.item.get(name) {
            None => Ok(None),
            Some(_) => self.parsed(name).map(Some),
        }
    }

    fn is_baseline(&self) -> bool {
        self.item.contains_key(BASELINE)
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
        is_baseline: reader.is_baseline(),
        withdrawn_at: reader.maybe("withdrawn_at")?,
        withdrawals: match reader.optional_text(WITHDRAWALS) {
            Some(json) => serde_json::from_str(&json)
                .map_err(|error| reader.malformed(format!("`{WITHDRAWALS}`: {error}")))?,
            None => Vec::new(),
        },
        ending: reader.ending()?,
        score: reader.number("score")?,
        climb: reader.maybe(LADDER)?,
        dataset: reader.maybe(DATASET)?,
    })
}

/// A count; 0 without an item.
pub(crate) fn counted(item: Option<&Item>) -> Result<u64, PortError> {
    let counted = item.map(|item| Reader { item }.number("n_scored")).transpose()?;
    Ok(counted.flatten().unwrap_or_default())
}

pub(crate) fn run(item: &Item) -> Result<Run, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    Ok(Run {
        id: reader.text("run")?.into(),
        begun_at: reader.parsed("begun_at")?,
        ended_at: reader.maybe("ended_at")?,
        before: reader
            .optional_text("before")
            .map(|before| before.split(' ').map(str::to_owned).collect())
            .unwrap_or_default(),
        n_back: reader.number(N_BACK)?.unwrap_or_default(),
        first_ended_at: reader.maybe(FIRST_ENDED_AT)?,
    })
}

/// A note about a data set, and its time; `None` for an item that is a run.
pub(crate) fn note(item: &Item) -> Result<Option<(DataNote, Timestamp)>, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    let Some(json) = reader.optional_text(NOTE) else {
        return Ok(None);
    };
    let note = serde_json::from_str(&json).map_err(|error| reader.malformed(format!("`{NOTE}`: {error}")))?;
    Ok(Some((note, reader.parsed(NOTED_AT)?)))
}

pub(crate) fn revision(item: &Item) -> Result<Revision, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    Ok(Revision {
        id: reader.parsed("id")?,
        submitter: reader.text("submitter")?.into(),
        received_at: reader.parsed("received_at")?,
        is_baseline: reader.is_baseline(),
        before: reader.number("score_before")?,
        dataset_before: reader.maybe("dataset_before")?,
        ending: reader
            .ending()?
            .ok_or_else(|| reader.malformed("`status` is not an ending".into()))?,
        after: reader.number("score")?,
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
        is_baseline,
        withdrawn_at,
        withdrawals,
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
        is_baseline,
        withdrawn_at,
        withdrawals,
        is_reopened: item.contains_key(crate::table::items::REOPENED),
        upload,
        receipt,
    })
}
