//! The queue of asynchronous invocations: it survives crashes, and nothing leaves it but by success or a record of failure.

pub(crate) mod events;
pub(crate) mod failure_record;
pub(crate) mod schedule;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Transaction, params};
use serde_json::Value;
use tokio::sync::watch;

use crate::config::{Config, Trigger};
use crate::database::{Database, now_ms};
use crate::error::DatabaseError;
use crate::faults::switches::Faults;
use crate::queue::events::{ObjectCreated, s3_event};
use crate::queue::failure_record::{
    FunctionError, MESSAGE_SOURCE, OnFailureRecord, failure_record, queue_message, write_record,
};

/// How often a message of the failures queue is handed out before it is set aside.
const MAX_RECEIVES: usize = 100;

/// An invocation that waits or runs.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub(crate) id: i64,
    pub(crate) request_id: String,
    pub(crate) payload: String,
    pub(crate) since_ms: i64,
}

/// The consequence of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    Retry,
    GivenUp,
}

/// The queue.
pub(crate) struct Queue {
    database: Arc<Database>,
    triggers: Vec<(String, Trigger)>,
    after_failure: Arc<AfterFailures>,
    faults: Arc<Faults>,
    /// For each function: there is work for it.
    work: BTreeMap<String, watch::Sender<()>>,
    /// Anything has changed.
    changed: watch::Sender<()>,
}

/// The handling of failed invocations.
#[derive(Debug)]
struct AfterFailures {
    retry_backoff: Vec<Duration>,
    dir: PathBuf,
    /// The function that reads the queue of failures.
    reader: Option<String>,
}

impl Queue {
    pub(crate) fn new(
        database: Arc<Database>,
        config: &Config,
        data_dir: &Path,
        faults: Arc<Faults>,
    ) -> Self {
        let triggers = config
            .functions
            .iter()
            .map(|spec| (spec.name.clone(), spec.trigger.clone()))
            .collect();
        let work = config
            .functions
            .iter()
            .map(|spec| (spec.name.clone(), watch::Sender::new(())));
        Self {
            database,
            triggers,
            work: work.collect(),
            after_failure: Arc::new(AfterFailures {
                retry_backoff: config.retry_backoff.clone(),
                dir: data_dir.join("on-failure"),
                reader: config.on_failure.clone(),
            }),
            faults,
            changed: watch::Sender::new(()),
        }
    }

    /// Queues the event of a new version for each function whose trigger matches. Gives these functions, which the caller tells after its commit.
    pub(crate) fn enqueue(
        &self,
        transaction: &Transaction<'_>,
        created: &ObjectCreated<'_>,
    ) -> rusqlite::Result<Vec<String>> {
        let mut with_work = Vec::new();
        for (function, trigger) in &self.triggers {
            if trigger.matches(created.bucket, created.key) {
                let fate = self.faults.event_fate();
                let announced = ObjectCreated {
                    created_ms: created.created_ms.saturating_add(fate.skew_ms),
                    ..created.clone()
                };
                let payload = s3_event(&announced, function).to_string();
                for delay in fate.deliveries {
                    insert(transaction, function, &payload, delay)?;
                }
                with_work.push(function.clone());
            }
        }
        Ok(with_work)
    }

    /// Queues one invocation of `function`; its request id.
    pub(crate) async fn invoke(&self, function: String, payload: String) -> Result<String, DatabaseError> {
        let name = function.clone();
        let queued =
            move |transaction: &Transaction<'_>| Ok(insert(transaction, &name, &payload, Duration::ZERO)?);
        let request_id = self.database.write::<_, DatabaseError>(queued).await?;
        self.announce_work(&function);
        Ok(request_id)
    }

    /// Wakes everybody who waits for any change, after its commit.
    pub(crate) fn announce(&self) {
        self.changed.send_replace(());
    }

    /// Tells a function, after the commit, that there is work for it, and wakes everybody who waits for any change. The other functions are not
    /// woken, since each would read the queue.
    pub(crate) fn announce_work(&self, function: &str) {
        if let Some(work) = self.work.get(function) {
            work.send_replace(());
        }
        self.announce();
    }

    /// Subscribes to news of work for a function.
    pub(crate) fn work_of(&self, function: &str) -> watch::Receiver<()> {
        self.work.get(function).unwrap_or(&self.changed).subscribe()
    }

    /// Subscribes to news of every change.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The first `limit` invocations of `function` that are due, and when the next one is.
    pub(crate) fn due(
        &self,
        function: &str,
        limit: usize,
    ) -> Result<(Vec<Queued>, Option<i64>), DatabaseError> {
        self.database
            .read_now(|connection| Ok(due(connection, function, limit)?))
    }

    /// Takes a succeeded invocation off the queue; the caller announces it. When the machine loses its power just then the
    /// invocation runs again, as it may in Lambda.
    pub(crate) async fn succeeded(&self, id: i64) -> Result<(), DatabaseError> {
        let remove = move |transaction: &Transaction<'_>| {
            transaction
                .prepare_cached("DELETE FROM invocation WHERE id = ?")?
                .execute([id])?;
            Ok(())
        };
        self.database.write_soon::<_, DatabaseError>(remove).await
    }

    /// Counts a failed attempt: the invocation waits for its retry, or becomes a record of failure; the caller announces it.
    pub(crate) async fn failed(&self, id: i64, error: FunctionError) -> Result<AfterFailure, DatabaseError> {
        let after_failure = Arc::clone(&self.after_failure);
        let after = self
            .database
            .write(move |transaction| after_failure.fail(transaction, id, &error))
            .await?;
        if let (AfterFailure::GivenUp, Some(reader)) = (after, &self.after_failure.reader) {
            self.announce_work(reader);
        }
        Ok(after)
    }

    /// How many invocations of the functions that are configured wait, for their turn or for their retry, or run.
    pub(crate) async fn n_open(&self) -> Result<usize, DatabaseError> {
        let counts = self.n_by_function().await?;
        Ok(counts
            .iter()
            .filter(|(function, _)| self.has_function(function))
            .map(|(_, n)| n)
            .sum())
    }

    /// Whether a function of that name is configured.
    pub(crate) fn has_function(&self, function: &str) -> bool {
        self.triggers.iter().any(|(name, _)| name == function)
    }

    /// How many invocations of each function are on the queue, whether it is configured or not.
    pub(crate) async fn n_by_function(&self) -> Result<Vec<(String, usize)>, DatabaseError> {
        self.database
            .read(|connection| {
                let sql = "SELECT function, count(*) FROM invocation GROUP BY function ORDER BY function";
                let mut statement = connection.prepare_cached(sql)?;
                let counts = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(counts.collect::<rusqlite::Result<_>>()?)
            })
            .await
    }

    /// All records of failure, oldest first.
    pub(crate) async fn on_failure(&self) -> Result<Vec<OnFailureRecord>, DatabaseError> {
        self.database
            .read(|connection| {
                let mut statement = connection
                    .prepare_cached("SELECT request_id, function, record FROM on_failure ORDER BY id")?;
                let records = statement.query_map([], |row| {
                    let record: String = row.get(2)?;
                    let record = serde_json::from_str(&record).unwrap_or(Value::String(record));
                    Ok(OnFailureRecord {
                        request_id: row.get(0)?,
                        function: row.get(1)?,
                        record,
                    })
                })?;
                Ok(records.collect::<rusqlite::Result<_>>()?)
            })
            .await
    }
}

fn insert(
    transaction: &Transaction<'_>,
    function: &str,
    payload: &str,
    delay: Duration,
) -> rusqlite::Result<String> {
    let request_id = uuid::Uuid::new_v4().to_string();
    let now = now_ms();
    let sql = "INSERT INTO invocation (request_id, function, payload, n_attempts, queued_ms, due_ms) VALUES (?, ?, ?, 0, ?, ?)";
    let due_ms = now.saturating_add(millis(delay));
    transaction
        .prepare_cached(sql)?
        .execute(params![request_id, function, payload, now, due_ms])?;
    Ok(request_id)
}

fn due(
    connection: &Connection,
    function: &str,
    limit: usize,
) -> rusqlite::Result<(Vec<Queued>, Option<i64>)> {
    let now = now_ms();
    let sql = "SELECT id, request_id, payload, queued_ms FROM invocation
        WHERE function = ? AND due_ms <= ? ORDER BY due_ms, id LIMIT ?";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![function, now, limit], |row| {
        Ok(Queued {
            id: row.get(0)?,
            request_id: row.get(1)?,
            payload: row.get(2)?,
            since_ms: row.get(3)?,
        })
    })?;
    let due = rows.collect::<rusqlite::Result<_>>()?;
    let mut statement =
        connection.prepare_cached("SELECT min(due_ms) FROM invocation WHERE function = ? AND due_ms > ?")?;
    let next_ms = statement.query_row(params![function, now], |row| row.get(0))?;
    Ok((due, next_ms))
}

impl AfterFailures {
    fn fail(
        &self,
        transaction: &Transaction<'_>,
        id: i64,
        error: &FunctionError,
    ) -> Result<AfterFailure, DatabaseError> {
        let sql = "UPDATE invocation SET n_attempts = n_attempts + 1 WHERE id = ? RETURNING n_attempts, request_id, function, payload";
        let (n_attempts, request_id, function, payload): (usize, String, String, String) =
            transaction.prepare_cached(sql)?.query_row([id], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?;
        if let Some(wait) = self.wait(n_attempts, &payload) {
            let due_ms = now_ms().saturating_add(millis(wait));
            transaction.execute(
                "UPDATE invocation SET due_ms = ? WHERE id = ?",
                params![due_ms, id],
            )?;
            return Ok(AfterFailure::Retry);
        }
        let record = failure_record(&request_id, &function, &payload, n_attempts, error);
        // the file first: should the commit not follow, the next attempt's record replaces it
        write_record(&self.dir, &request_id, &record)?;
        let sql = "INSERT INTO on_failure (request_id, function, record) VALUES (?, ?, ?)";
        transaction.execute(sql, params![request_id, function, record.to_string()])?;
        transaction.execute("DELETE FROM invocation WHERE id = ?", [id])?;
        if let Some(reader) = self.reader.as_ref().filter(|reader| **reader != function) {
            let message = queue_message(&request_id, &record).to_string();
            insert(transaction, reader, &message, Duration::ZERO)?;
        }
        Ok(AfterFailure::GivenUp)
    }

    /// How long to wait before the next attempt, if there is one. A message of a queue comes back more often than an event.
    fn wait(&self, n_attempts: usize, payload: &str) -> Option<Duration> {
        let is_message = payload.contains(MESSAGE_SOURCE);
        let last = self
            .retry_backoff
            .last()
            .filter(|_| is_message && n_attempts < MAX_RECEIVES);
        self.retry_backoff.get(n_attempts - 1).or(last).copied()
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
