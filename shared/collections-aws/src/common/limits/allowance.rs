//! A daily allowance of what costs money: taken before the work, kept with the result, and returned
//! when the platform fails.
//!
//! Each taken unit has its own item, made in the transaction that counts it. A mark below the
//! submission lists units that were taken and not received; whoever fails the submission returns
//! them. The starts of a day are counted too. They are returned only if nothing has to be paid, so
//! that endless failures can't cost endless money.

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use dataperf::ports::PortError;
use dataperf::{SubmissionId, Timestamp, Upload};
use dataperf_aws::{
    Cancelled, Change, Condition, Item, Key, N_TAKEN, Operation, Partition, Reader, Retry, SCHEMA, Step,
    Table, count, text,
};
use dataperf_collections::common::Lease;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use crate::common::limits::reservation::{LINES, Reservation};

/// The word under which the table counts what was taken.
const TAKEN: &str = "day";
/// The word under which the table counts starts that may cost money: successful ones, and failures
/// that may have cost something.
const BEGUN: &str = "begun";
/// The most starts of a day, as a multiple of the day's allowance.
pub const BEGUN_A_DAY: u64 = 2;
/// The state of a thing that is being made.
const MAKING: &str = "making";
/// The state of a thing that is made.
const MADE: &str = "made";
const COUNT: Step = Step::Named("count");
const BEGIN: Step = Step::Named("begin");
const THING: Step = Step::Named("thing");
const MARK: Step = Step::Named("mark");

/// Returns the unused part of an upload's allowance when the caretaker gives the upload up. Only
/// collections have allowances.
pub fn give_back<'a>(
    table: &'a Table,
    benchmark: &'a str,
    upload: &'a Upload,
) -> LocalBoxFuture<'a, Result<(), PortError>> {
    async move {
        let submission = upload.id();
        Allowance { table, benchmark }.give_all_back(&submission).await?;
        Reservation { table, benchmark }.give_back(&submission).await
    }
    .boxed_local()
}

/// One submitter's allowance in a collection.
#[derive(Debug, Clone)]
pub struct Allowance<'a> {
    /// The table.
    pub table: &'a Table,
    /// The collection's id.
    pub benchmark: &'a str,
}

/// A thing that somebody wants to have made.
#[derive(Debug, Clone)]
pub struct Taking<'a> {
    /// The submitter whose allowance it comes from.
    pub submitter: &'a str,
    /// The submission that it is made for.
    pub submission: &'a SubmissionId,
    /// When that submission was uploaded: its day counts.
    pub at: Timestamp,
    /// The name of the product.
    pub thing: &'a str,
    /// The allowance of a day.
    pub limit: u64,
    /// The worker that makes it: the id of the invocation.
    pub worker: &'a str,
    /// When the worker's lease expires: before that nobody else makes the thing.
    pub until: Timestamp,
}

/// The result of taking something of an allowance.
#[derive(Debug, Clone, PartialEq)]
pub enum Taken {
    /// The caller has to make it.
    Make {
        /// The submission whose allowance it came from.
        taken_by: SubmissionId,
        /// The day on which this start is counted.
        begun_on: String,
    },
    /// It is made already: its item.
    Made(Item),
    /// Another worker is making it.
    Busy {
        /// When the other worker's lease expires.
        until: Timestamp,
    },
    /// There is nothing left of the day's allowance.
    UsedUp {
        /// How much of it was taken.
        n_taken: u64,
    },
    /// Today's starts have reached [`BEGUN_A_DAY`] times the allowance.
    BegunTooOften,
}

impl Allowance<'_> {
    fn day(&self, submitter: &str, day: &str) -> Key {
        Key::taken_of_day(self.benchmark, submitter, TAKEN, day)
    }

    fn marks(&self, submission: &SubmissionId) -> String {
        format!("{}#taken#{submission}", self.benchmark)
    }

    /// The key of the item of a thing that is made.
    pub fn thing(&self, thing: &str) -> Key {
        Key::new(format!("{}#set#{thing}", self.benchmark), "set")
    }

    /// How much of a day's allowance is taken.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn n_taken(&self, submitter: &str, at: Timestamp) -> Result<u64, PortError> {
        self.table
            .n_taken_of_day(self.benchmark, submitter, TAKEN, at)
            .await
    }

    /// Takes one thing of the allowance, unless the thing is made or being made.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn take(&self, taking: &Taking<'_>, now: Timestamp) -> Result<Taken, PortError> {
        let mut retry = Retry::new(format!("set `{}`", taking.thing));
        loop {
            if let Some(item) = self.table.item(self.thing(taking.thing)).await? {
                match self.take_existing(taking, item, now).await? {
                    Ok(taken) => return Ok(taken),
                    Err(Cancelled::Condition(step)) if step == BEGIN => return Ok(Taken::BegunTooOften),
                    Err(cancelled) => retry.cancelled(cancelled).await?,
                }
                continue;
            }
            match self.table.transact(self.taking(taking, now)).await {
                Ok(()) => {
                    return Ok(Taken::Make {
                        taken_by: taking.submission.clone(),
                        begun_on: now.day(),
                    });
                }
                Err(Cancelled::Condition(step)) if step == BEGIN => return Ok(Taken::BegunTooOften),
                Err(Cancelled::Condition(step)) if step == COUNT => {
                    let n_taken = self.n_taken(taking.submitter, taking.at).await?;
                    if n_taken >= taking.limit {
                        return Ok(Taken::UsedUp { n_taken });
                    }
                    retry.changed().await?; // one has been given back since
                }
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    /// The operation that adds one to what an item counts, as long as that is below `limit`.
    fn one_more(&self, counted: Key, limit: u64) -> TransactWriteItem {
        let below = Condition {
            text: "attribute_not_exists(#n_taken) OR #n_taken < :limit",
            names: &[N_TAKEN],
            values: vec![("limit", count(limit))],
        };
        let change = Change {
            set: vec![("schema".into(), count(SCHEMA.into()))],
            add: vec![(N_TAKEN, 1)],
            condition: Some(below),
            ..Change::default()
        };
        self.table.update(counted, change)
    }

    fn one_less(&self, counted: Key) -> TransactWriteItem {
        let change = Change {
            add: vec![(N_TAKEN, -1)],
            ..Change::default()
        };
        self.table.update(counted, change)
    }

    /// The key of the item that counts the starts of a day.
    fn begun(&self, submitter: &str, day: &str) -> Key {
        Key::taken_of_day(self.benchmark, submitter, BEGUN, day)
    }

    fn begin(&self, taking: &Taking<'_>, now: Timestamp) -> Operation {
        let most = taking.limit.saturating_mul(BEGUN_A_DAY);
        (
            BEGIN,
            self.one_more(self.begun(taking.submitter, &now.day()), most),
        )
    }

    fn taking(&self, taking: &Taking<'_>, now: Timestamp) -> Vec<Operation> {
        let day = taking.at.day();
        let mut mark = Key::new(self.marks(taking.submission), taking.thing).item();
        mark.insert("schema".into(), count(SCHEMA.into()));
        mark.insert("submitter".into(), text(taking.submitter));
        mark.insert("day".into(), text(&day));
        let mut thing = self.thing(taking.thing).item();
        thing.extend([
            ("schema".to_owned(), count(SCHEMA.into())),
            ("status".to_owned(), text(MAKING)),
            ("submitter".to_owned(), text(taking.submitter)),
            ("taken_by".to_owned(), text(taking.submission.as_str())),
        ]);
        thing.extend(lease(taking));
        let table = self.table;
        vec![
            (THING, table.put(thing, Some(Condition::new_item()))),
            (
                COUNT,
                self.one_more(self.day(taking.submitter, &day), taking.limit),
            ),
            self.begin(taking, now),
            (MARK, table.put(mark, None)),
        ]
    }

    /// Takes a thing that has an item: it is made, or another worker makes it, or that worker has stopped and this one takes over.
    async fn take_existing(
        &self,
        taking: &Taking<'_>,
        item: Item,
        now: Timestamp,
    ) -> Result<Result<Taken, Cancelled>, PortError> {
        let reader = Reader { item: &item };
        reader.schema()?;
        if reader.text("status")? == MADE {
            return Ok(Ok(Taken::Made(item)));
        }
        let held = Lease {
            worker: reader.text("worker")?.into(),
            until: reader.parsed("until")?,
        };
        if let Some(until) = held.keeps_off(taking.worker, now) {
            return Ok(Ok(Taken::Busy { until }));
        }
        let Lease { worker, until } = held;
        let taken_by = reader.parsed("taken_by")?;
        let same = Condition {
            text: "#status = :making AND #worker = :worker AND #until = :until",
            names: &["status", "worker", "until"],
            values: vec![
                ("making", text(MAKING)),
                ("worker", text(worker)),
                ("until", text(until.to_string())),
            ],
        };
        let change = Change {
            set: lease(taking).into(),
            condition: Some(same),
            ..Change::default()
        };
        let taken_over = self.table.update(self.thing(taking.thing), change);
        let begin = self.begin(taking, now);
        let taken_over = self.table.transact(vec![(THING, taken_over), begin]).await;
        Ok(taken_over.map(|()| Taken::Make {
            taken_by,
            begun_on: now.day(),
        }))
    }

    /// The operations that end the making: the thing gets the attributes of `made`, and the mark is removed. Whatever else belongs to the thing may
    /// be written with them. Their conditions fail when the thing was given back meanwhile.
    pub fn made(
        &self,
        thing: &str,
        taken_by: &SubmissionId,
        made: Vec<(String, AttributeValue)>,
    ) -> Vec<Operation> {
        let still = Condition {
            text: "#status = :making AND #taken_by = :taken_by",
            names: &["status", "taken_by"],
            values: vec![("making", text(MAKING)), ("taken_by", text(taken_by.as_str()))],
        };
        let mut set = made;
        set.push(("status".into(), text(MADE)));
        let change = Change {
            set,
            remove: vec!["worker", "until"],
            condition: Some(still),
            ..Change::default()
        };
        let mark = Key::new(self.marks(taken_by), thing);
        vec![
            (THING, self.table.update(self.thing(thing), change)),
            (MARK, self.table.delete(mark, Some(there()))),
        ]
    }

    /// Returns everything that a submission has taken and not received. Its run was interrupted and
    /// may cost money, so the starts stay counted.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn give_all_back(&self, submission: &SubmissionId) -> Result<(), PortError> {
        self.give_back(submission, None, None).await
    }

    /// Returns one unit that a submission has taken and not received. `free_on` is the day of its
    /// start if nothing has to be paid: then the start is returned too.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn give_one_back(
        &self,
        submission: &SubmissionId,
        thing: &str,
        free_on: Option<&str>,
    ) -> Result<(), PortError> {
        self.give_back(submission, Some(thing), free_on).await
    }

    async fn give_back(
        &self,
        submission: &SubmissionId,
        only: Option<&str>,
        free_on: Option<&str>,
    ) -> Result<(), PortError> {
        let marks = Partition::new(self.marks(submission));
        for mark in self.table.query(&marks).await? {
            let reader = Reader { item: &mark };
            let thing = reader.text("sk")?;
            if thing == LINES {
                continue; // a reservation's
            }
            if only.is_none_or(|only| only == thing) {
                self.give_marked_back(submission, thing, &mark, free_on).await?;
            }
        }
        Ok(())
    }

    /// Returns one unit, unless somebody else has done so, or the product was made after all.
    async fn give_marked_back(
        &self,
        submission: &SubmissionId,
        thing: &str,
        mark: &Item,
        free_on: Option<&str>,
    ) -> Result<(), PortError> {
        let (table, reader) = (self.table, Reader { item: mark });
        let (submitter, day) = (reader.text("submitter")?, reader.text("day")?);
        let mut retry = Retry::new(format!("set `{thing}`"));
        loop {
            let mark = Key::new(self.marks(submission), thing);
            let mut operations = vec![
                (MARK, table.delete(mark, Some(there()))),
                (COUNT, self.one_less(self.day(submitter, day))),
                (THING, table.delete(self.thing(thing), None)),
            ];
            operations.extend(free_on.map(|day| (BEGIN, self.one_less(self.begun(submitter, day)))));
            match table.transact(operations).await {
                Ok(()) => return Ok(()),
                Err(Cancelled::Condition(step)) if step == MARK => return Ok(()),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }
}

fn there() -> Condition {
    Condition {
        text: "attribute_exists(pk)",
        ..Condition::default()
    }
}

fn lease(taking: &Taking<'_>) -> [(String, AttributeValue); 2] {
    [
        ("worker".into(), text(taking.worker)),
        ("until".into(), text(taking.until.to_string())),
    ]
}
