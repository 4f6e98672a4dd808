//! Counts a file's lines against a daily limit: it takes them all at once before any work, and
//! notes them with the upload. Unused lines are returned when the file ends or is given up.
//! Repeated deliveries of the file keep the first grant until something is returned; then a retry
//! takes it again.

use dataperf::ports::PortError;
use dataperf::{SubmissionId, Timestamp};
use dataperf_aws::{
    Cancelled, Change, Condition, Item, Key, N_TAKEN, Partition, Reader, Retry, SCHEMA, Step, Table, count,
    text,
};

/// The sort key of the mark for a file's taken lines.
pub(crate) const LINES: &str = "lines";
/// The attribute that says how many of its lines the file has given back.
const N_UNUSED: &str = "n_unused";
/// The attribute that names the partition with the results of the file's lines.
const LISTED: &str = "listed";
/// The attribute of a listed item that says which file it came from.
pub(crate) const SUBMISSION: &str = "submission";
const COUNT: Step = Step::Named("count");
const MARK: Step = Step::Named("mark");

/// The daily counts of a collection.
#[derive(Debug, Clone, Copy)]
pub struct Reservation<'a> {
    /// The table.
    pub table: &'a Table,
    /// The collection's id.
    pub benchmark: &'a str,
}

/// A file, and the daily count that its lines are taken from.
#[derive(Debug, Clone)]
pub struct Reserving<'a> {
    /// The counted unit, such as `examples`.
    pub noun: &'a str,
    /// The submitter.
    pub submitter: &'a str,
    /// The upload.
    pub submission: &'a SubmissionId,
    /// When the file was uploaded: its day counts.
    pub at: Timestamp,
    /// The limit of a day.
    pub limit: u64,
    /// The partition in which the table lists results of lines, each with its `submission`.
    pub listed: String,
}

/// A file's share of a day's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved {
    /// How many of its lines are granted, including those with results of an earlier run.
    pub n_granted: u64,
    /// How many of the day's are taken, including these.
    pub n_taken: u64,
    /// Whether there may have been an earlier run.
    pub is_again: bool,
}

/// The content of a file's mark.
struct Mark {
    n_taken: u64,
    n_unused: u64,
}

impl Mark {
    fn read(item: &Item) -> Result<Self, PortError> {
        Ok(Self {
            n_taken: number(item, N_TAKEN)?,
            n_unused: number(item, N_UNUSED)?,
        })
    }

    fn n_kept(&self) -> u64 {
        self.n_taken.saturating_sub(self.n_unused)
    }

    /// The condition that the mark is as it was read.
    fn same(&self) -> Condition {
        Condition {
            text: "#n_taken = :n_taken AND (attribute_not_exists(#n_unused) OR #n_unused = :n_unused)",
            names: &[N_TAKEN, N_UNUSED],
            values: vec![
                ("n_taken", count(self.n_taken)),
                ("n_unused", count(self.n_unused)),
            ],
        }
    }
}

impl Reservation<'_> {
    fn day(&self, noun: &str, submitter: &str, day: &str) -> Key {
        Key::taken_of_day(self.benchmark, submitter, noun, day)
    }

    fn mark(&self, submission: &SubmissionId) -> Key {
        Key::new(format!("{}#taken#{submission}", self.benchmark), LINES)
    }

    async fn n_taken(&self, day: &Key) -> Result<u64, PortError> {
        let item = self.table.item(day.clone()).await?;
        let n_taken = item.map(|item| number(&item, N_TAKEN)).transpose()?;
        Ok(n_taken.unwrap_or_default())
    }

    /// Takes up to `n` lines of the day's count for a file, as many as are left. A repeated call
    /// takes the same number. Lines that the file has returned are taken again, if that many are
    /// left.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn reserve(&self, reserving: &Reserving<'_>, n: u64) -> Result<Reserved, PortError> {
        let (table, mark) = (self.table, self.mark(reserving.submission));
        let day = self.day(reserving.noun, reserving.submitter, &reserving.at.day());
        let mut retry = Retry::new(format!("daily {} of `{}`", reserving.noun, reserving.submitter));
        loop {
            let item = table.item(mark.clone()).await?;
            let known = item.as_ref().map(Mark::read).transpose()?;
            let n_before = self.n_taken(&day).await?;
            let n_kept = known.as_ref().map_or(0, Mark::n_kept);
            let n_more = n
                .saturating_sub(n_kept)
                .min(reserving.limit.saturating_sub(n_before));
            let is_fixed = known
                .as_ref()
                .is_some_and(|mark| mark.n_unused == 0 || n_more == 0);
            if is_fixed {
                return Ok(Reserved {
                    n_granted: n_kept,
                    n_taken: n_before,
                    is_again: true,
                });
            }
            let same = Condition {
                text: "attribute_not_exists(#n_taken) OR #n_taken = :seen",
                names: &[N_TAKEN],
                values: vec![("seen", count(n_before))],
            };
            let counted = Change {
                set: vec![
                    ("schema".into(), count(SCHEMA.into())),
                    (N_TAKEN.into(), count(n_before + n_more)),
                ],
                condition: Some(same),
                ..Change::default()
            };
            let mut taken = mark.clone().item();
            taken.extend([
                ("schema".to_owned(), count(SCHEMA.into())),
                ("what".to_owned(), text(reserving.noun)),
                ("submitter".to_owned(), text(reserving.submitter)),
                ("day".to_owned(), text(reserving.at.day())),
                (LISTED.to_owned(), text(&reserving.listed)),
                (N_TAKEN.to_owned(), count(n_kept + n_more)),
            ]);
            let unchanged = known.as_ref().map_or_else(Condition::new_item, Mark::same);
            let operations = vec![
                (MARK, table.put(taken, Some(unchanged))),
                (COUNT, table.update(day.clone(), counted)),
            ];
            match table.transact(operations).await {
                Ok(()) => {
                    return Ok(Reserved {
                        n_granted: n_kept + n_more,
                        n_taken: n_before + n_more,
                        is_again: known.is_some(),
                    });
                }
                Err(Cancelled::Condition(_)) => retry.changed().await?,
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    /// Counts `n` more of something that has cost money, on the day of `at`. It is not given back.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn spend(&self, noun: &str, submitter: &str, at: Timestamp, n: u64) -> Result<(), PortError> {
        let day = self.day(noun, submitter, &at.day());
        let mut retry = Retry::new(format!("daily {noun} of `{submitter}`"));
        loop {
            let counted = Change {
                set: vec![("schema".into(), count(SCHEMA.into()))],
                add: vec![(N_TAKEN, i64::try_from(n).unwrap_or(i64::MAX))],
                ..Change::default()
            };
            let operations = vec![(COUNT, self.table.update(day.clone(), counted))];
            match self.table.transact(operations).await {
                Ok(()) => return Ok(()),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    /// Returns what a file has taken beyond the `n_used` lines with results.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn keep(&self, submission: &SubmissionId, n_used: u64) -> Result<(), PortError> {
        let (table, mark) = (self.table, self.mark(submission));
        let mut retry = Retry::new(format!("what `{submission}` has taken"));
        loop {
            let Some(item) = table.item(mark.clone()).await? else {
                return Ok(());
            };
            let known = Mark::read(&item)?;
            let n_unused = known.n_kept().saturating_sub(n_used);
            if n_unused == 0 {
                return Ok(());
            }
            let reader = Reader { item: &item };
            let day = self.day(
                reader.text("what")?,
                reader.text("submitter")?,
                reader.text("day")?,
            );
            let noted = Change {
                set: vec![(N_UNUSED.into(), count(known.n_unused + n_unused))],
                condition: Some(known.same()),
                ..Change::default()
            };
            let operations = vec![
                (MARK, table.update(mark.clone(), noted)),
                (COUNT, table.update(day, fewer(n_unused))),
            ];
            match table.transact(operations).await {
                Ok(()) => return Ok(()),
                Err(Cancelled::Condition(_)) => retry.changed().await?,
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    /// Returns a file's unused lines when it is given up. The table lists which lines have results.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn give_back(&self, submission: &SubmissionId) -> Result<(), PortError> {
        let Some(item) = self.table.item(self.mark(submission)).await? else {
            return Ok(());
        };
        let reader = Reader { item: &item };
        let n_used = match reader.maybe::<String>(LISTED)? {
            Some(listed) => {
                let listed = self.table.query(&Partition::new(listed)).await?;
                let is_of_it = |item: &&Item| item.get(SUBMISSION) == Some(&text(submission.as_str()));
                listed.iter().filter(is_of_it).count() as u64
            }
            None => 0, // versions before didn't say
        };
        self.keep(submission, n_used).await
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
