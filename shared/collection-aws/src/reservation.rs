//! A file's lines in a daily count: taken for all of them at once before any work, kept beside the upload, given back when the platform
//! fails. However often the file is delivered, it has what it was given the first time.

use dataperf::ports::PortError;
use dataperf::{SubmissionId, Timestamp};
use dataperf_aws::{
    Cancelled, Change, Condition, Item, Key, N_TAKEN, Reader, Retry, SCHEMA, Step, Table, count, text,
};

/// The sort key of the mark of what a file has taken.
pub(crate) const LINES: &str = "lines";
const N_UNUSED: &str = "n_unused";
const COUNT: Step = Step::Named("count");
const MARK: Step = Step::Named("mark");

/// The daily counts of a benchmark.
#[derive(Debug, Clone, Copy)]
pub struct Reservation<'a> {
    /// The table.
    pub table: &'a Table,
    /// The benchmark's id.
    pub benchmark: &'a str,
}

/// Whose count a file's lines come from.
#[derive(Debug, Clone, Copy)]
pub struct Reserving<'a> {
    /// What is counted, such as `examples`.
    pub what: &'a str,
    /// The submitter.
    pub submitter: &'a str,
    /// The upload.
    pub submission: &'a SubmissionId,
    /// When that was uploaded: its day counts.
    pub at: Timestamp,
    /// How many a day there are.
    pub limit: u64,
}

/// What a file has of a day's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved {
    /// How many of its lines.
    pub n_granted: u64,
    /// How many are taken of the day, with these.
    pub n_taken: u64,
}

impl Reservation<'_> {
    fn day(&self, what: &str, submitter: &str, day: &str) -> Key {
        Key::taken_of_day(self.benchmark, submitter, what, day)
    }

    fn mark(&self, submission: &SubmissionId) -> Key {
        Key::new(format!("{}#taken#{submission}", self.benchmark), LINES)
    }

    async fn n_taken(&self, day: &Key) -> Result<u64, PortError> {
        let item = self.table.item(day.clone()).await?;
        let n_taken = item.map(|item| number(&item, N_TAKEN)).transpose()?;
        Ok(n_taken.unwrap_or_default())
    }

    /// How many of `n` lines a file has of the day's count: as many as are left, and the same again when it is asked again.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn reserve(&self, reserving: &Reserving<'_>, n: u64) -> Result<Reserved, PortError> {
        let (table, mark) = (self.table, self.mark(reserving.submission));
        let day = self.day(reserving.what, reserving.submitter, &reserving.at.day());
        let mut retry = Retry::of(format!("daily {} of `{}`", reserving.what, reserving.submitter));
        loop {
            if let Some(found) = table.item(mark.clone()).await? {
                let n_granted = number(&found, N_TAKEN)?;
                // what an earlier run has given back is given back by this one as well, in words only
                let n_taken = self.n_taken(&day).await? + number(&found, N_UNUSED)?;
                return Ok(Reserved { n_granted, n_taken });
            }
            let n_before = self.n_taken(&day).await?;
            let n_granted = n.min(reserving.limit.saturating_sub(n_before));
            let same = Condition {
                text: "attribute_not_exists(#n_taken) OR #n_taken = :seen",
                names: &[N_TAKEN],
                values: vec![("seen", count(n_before))],
            };
            let counted = Change {
                set: vec![
                    ("schema".into(), count(SCHEMA.into())),
                    (N_TAKEN.into(), count(n_before + n_granted)),
                ],
                condition: Some(same),
                ..Change::default()
            };
            let mut taken = mark.clone().item();
            taken.extend([
                ("schema".to_owned(), count(SCHEMA.into())),
                ("what".to_owned(), text(reserving.what)),
                ("submitter".to_owned(), text(reserving.submitter)),
                ("day".to_owned(), text(reserving.at.day())),
                (N_TAKEN.to_owned(), count(n_granted)),
            ]);
            let operations = vec![
                (MARK, table.put(taken, Some(Condition::new_item()))),
                (COUNT, table.update(day.clone(), counted)),
            ];
            match table.transact(operations).await {
                Ok(()) => {
                    return Ok(Reserved {
                        n_granted,
                        n_taken: n_before + n_granted,
                    });
                }
                Err(Cancelled::Condition(_)) => retry.changed().await?,
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    /// Gives back what a file has taken and not used, once.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn give_back_unused(&self, reserving: &Reserving<'_>, n_unused: u64) -> Result<(), PortError> {
        if n_unused == 0 {
            return Ok(());
        }
        let table = self.table;
        let day = self.day(reserving.what, reserving.submitter, &reserving.at.day());
        let mut retry = Retry::of(format!("daily {} of `{}`", reserving.what, reserving.submitter));
        loop {
            let first = Condition {
                text: "attribute_exists(pk) AND attribute_not_exists(#n_unused)",
                names: &[N_UNUSED],
                ..Condition::default()
            };
            let noted = Change {
                set: vec![(N_UNUSED.into(), count(n_unused))],
                condition: Some(first),
                ..Change::default()
            };
            let operations = vec![
                (MARK, table.update(self.mark(reserving.submission), noted)),
                (COUNT, table.update(day.clone(), fewer(n_unused))),
            ];
            match table.transact(operations).await {
                Ok(()) | Err(Cancelled::Condition(_)) => return Ok(()),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    /// Gives back all that a file has taken: it is given up, and takes it anew when it is tried again.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn give_back(&self, submission: &SubmissionId) -> Result<(), PortError> {
        let (table, mark) = (self.table, self.mark(submission));
        let mut retry = Retry::of(format!("what `{submission}` has taken"));
        loop {
            let Some(found) = table.item(mark.clone()).await? else {
                return Ok(());
            };
            let reader = Reader { item: &found };
            let day = self.day(
                reader.text("what")?,
                reader.text("submitter")?,
                reader.text("day")?,
            );
            let n_unused = number(&found, N_UNUSED)?;
            let same = Condition {
                text: "#n_taken = :n_taken AND (attribute_not_exists(#n_unused) OR #n_unused = :n_unused)",
                names: &[N_TAKEN, N_UNUSED],
                values: vec![
                    ("n_taken", count(number(&found, N_TAKEN)?)),
                    ("n_unused", count(n_unused)),
                ],
            };
            let n_kept = number(&found, N_TAKEN)?.saturating_sub(n_unused);
            let operations = vec![
                (MARK, table.delete(mark.clone(), Some(same))),
                (COUNT, table.update(day, fewer(n_kept))),
            ];
            match table.transact(operations).await {
                Ok(()) => return Ok(()),
                Err(Cancelled::Condition(_)) => retry.changed().await?,
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }
}

fn fewer(n: u64) -> Change {
    Change {
        add: vec![(N_TAKEN, -i64::try_from(n).unwrap_or(i64::MAX))],
        ..Change::default()
    }
}

fn number(item: &Item, name: &str) -> Result<u64, PortError> {
    Ok(Reader { item }.number(name)?.unwrap_or_default())
}
