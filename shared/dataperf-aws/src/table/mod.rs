//! Reads and conditional writes of `DynamoDB`, with every attribute's name behind a placeholder: hundreds of words are
//! reserved, `status`, `schema` and `round` among them.

mod attributes;
pub(crate) mod items;
pub(crate) mod keys;
pub(crate) mod pages;
pub(crate) mod query;
pub(crate) mod reader;
pub(crate) mod row_spread;
mod updates;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck, Delete, Put, TransactWriteItem, Update};
use dataperf::SubmitterName;
use dataperf::board::Board;
use dataperf::ports::PortError;

use crate::sdk::meter::Meter;
use crate::sdk::port_error::port_error;
use crate::sdk::retry::Retry;
use crate::table::attributes::Item;
use crate::table::keys::Key;

/// One table of `DynamoDB`: the port of leaderboards, and what else is kept in the table.
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) client: Client,
    pub(crate) name: String,
    pub(crate) meter: Meter,
    pub(crate) seen: Seen,
}

/// Values read from the table earlier, which save repeated reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<SeenItems>>);

#[derive(Debug, Default)]
pub(crate) struct SeenItems {
    /// The boards that the table lists: a listed board stays listed.
    boards: BTreeSet<Board>,
    /// The submitters whose names are noted, by benchmark and name, each with the time until which this is believed, since a name can be freed. Their
    /// number is limited.
    submitters: BTreeMap<(String, SubmitterName), Instant>,
}

/// How many submitters are remembered before all are forgotten: as many as fit into some megabytes.
const MAX_SEEN_SUBMITTERS: usize = 20_000;
/// How long a submitter is cached before the table is read again.
const SUBMITTERS_SEEN_FOR: Duration = Duration::from_mins(1);

impl Seen {
    fn locked(&self) -> MutexGuard<'_, SeenItems> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_submitter(&self, submitter: &(String, SubmitterName)) -> bool {
        let until = self.locked().submitters.get(submitter).copied();
        until.is_some_and(|until| Instant::now() < until)
    }

    pub(crate) fn keep_submitter(&self, submitter: (String, SubmitterName)) {
        let mut seen = self.locked();
        if seen.submitters.len() == MAX_SEEN_SUBMITTERS {
            seen.submitters.clear();
        }
        seen.submitters
            .insert(submitter, Instant::now() + SUBMITTERS_SEEN_FOR);
    }
}

/// The subject of an operation in a transaction, to identify a failed condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The submission itself: whether its state is still the expected one.
    Submission,
    /// The count of a submitter's day.
    DayCount,
    /// The count of a submitter's round.
    TotalCount,
    /// The mark that a run has come to a submission.
    Revision,
    /// A submitter's released scores on the Ladder.
    Rung,
    /// An operation that has no condition.
    Other,
    /// An operation of another crate's, by its name.
    Named(&'static str),
}

/// Why a transaction did not take place.
pub enum Cancelled {
    /// The condition of this operation did not hold.
    Condition(Step),
    /// It met another transaction, or was throttled: the same transaction may succeed at once.
    Conflict(PortError),
    /// Anything else.
    Other(PortError),
}

impl Retry {
    /// Waits after a transaction that did not take place.
    ///
    /// # Errors
    /// The transaction's error, when the tries are used up or another try would not help.
    pub async fn cancelled(&mut self, cancelled: Cancelled) -> Result<(), PortError> {
        match cancelled {
            Cancelled::Condition(_) => self.changed().await,
            Cancelled::Conflict(error) => self.busy(error).await,
            Cancelled::Other(error) => Err(error),
        }
    }
}

/// One operation of a transaction.
pub type Operation = (Step, TransactWriteItem);

/// A condition with its values; `#name` is a placeholder for the attribute `name`.
#[derive(Debug, Clone, Default)]
pub struct Condition {
    /// The expression.
    pub text: &'static str,
    /// The attributes that it names.
    pub names: &'static [&'static str],
    /// Its values; `:value` is a placeholder for `value`.
    pub values: Vec<(&'static str, AttributeValue)>,
}

impl Condition {
    /// The condition that the table has no item with this key.
    pub fn new_item() -> Self {
        Self {
            text: "attribute_not_exists(pk)",
            ..Self::default()
        }
    }

    fn names(&self) -> Option<HashMap<String, String>> {
        let names: HashMap<_, _> = self
            .names
            .iter()
            .map(|name| (format!("#{name}"), (*name).to_owned()))
            .collect();
        (!names.is_empty()).then_some(names)
    }

    fn values(self) -> Option<Item> {
        let values: Item = self
            .values
            .into_iter()
            .map(|(name, value)| (format!(":{name}"), value))
            .collect();
        (!values.is_empty()).then_some(values)
    }
}

/// Changes of one item.
#[derive(Debug, Default)]
pub struct Change {
    /// Attributes with their new values.
    pub set: Vec<(String, AttributeValue)>,
    /// Attributes to remove.
    pub remove: Vec<&'static str>,
    /// The amounts to add to these counts.
    pub add: Vec<(&'static str, i64)>,
    /// Texts that are added to these sets.
    pub add_to: Vec<(&'static str, String)>,
    /// Texts that are taken out of these sets.
    pub take_from: Vec<(&'static str, Vec<String>)>,
    /// The condition of the change.
    pub condition: Option<Condition>,
}

/// A change as requests have it.
pub(crate) struct Expressions {
    pub(crate) update: String,
    pub(crate) condition: Option<String>,
    pub(crate) names: HashMap<String, String>,
    pub(crate) values: Option<Item>,
}

impl Change {
    pub(crate) fn expressions(self) -> Expressions {
        let Self {
            set,
            remove,
            add,
            add_to,
            take_from,
            condition,
        } = self;
        let (condition, names, values) = parts(condition);
        let (mut names, mut values) = (names.unwrap_or_default(), values.unwrap_or_default());
        let mut clauses = Vec::new();
        let assignments: Vec<String> = set
            .iter()
            .map(|(name, _)| format!("#{name} = :set_{name}"))
            .collect();
        if !assignments.is_empty() {
            clauses.push(format!("SET {}", assignments.join(", ")));
        }
        let removals: Vec<String> = remove.iter().map(|name| format!("#{name}")).collect();
        if !removals.is_empty() {
            clauses.push(format!("REMOVE {}", removals.join(", ")));
        }
        let counters = add.iter().map(|(counter, _)| *counter);
        let additions: Vec<String> = counters
            .chain(add_to.iter().map(|(set, _)| *set))
            .map(|name| format!("#{name} :add_{name}"))
            .collect();
        if !additions.is_empty() {
            clauses.push(format!("ADD {}", additions.join(", ")));
        }
        for (counter, n) in add {
            names.insert(format!("#{counter}"), counter.to_owned());
            values.insert(format!(":add_{counter}"), AttributeValue::N(n.to_string()));
        }
        for (set, text) in add_to {
            names.insert(format!("#{set}"), set.to_owned());
            values.insert(format!(":add_{set}"), AttributeValue::Ss(vec![text]));
        }
        let removals: Vec<String> = take_from
            .iter()
            .map(|(set, _)| format!("#{set} :take_{set}"))
            .collect();
        if !removals.is_empty() {
            clauses.push(format!("DELETE {}", removals.join(", ")));
        }
        for (set, texts) in take_from {
            names.insert(format!("#{set}"), set.to_owned());
            values.insert(format!(":take_{set}"), AttributeValue::Ss(texts));
        }
        names.extend(remove.iter().map(|name| (format!("#{name}"), (*name).to_owned())));
        for (name, value) in set {
            names.insert(format!("#{name}"), name.clone());
            values.insert(format!(":set_{name}"), value);
        }
        Expressions {
            update: clauses.join(" "),
            condition,
            names,
            values: (!values.is_empty()).then_some(values),
        }
    }
}

impl Table {
    /// The table `name`.
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self {
            client,
            name: name.into(),
            meter: Meter::default(),
            seen: Seen::default(),
        }
    }

    /// The same table, with what was seen in it before.
    pub(crate) fn having_seen(mut self, seen: &Seen) -> Self {
        self.seen = seen.clone();
        self
    }

    /// Whether the table lists a board.
    pub(crate) async fn lists(&self, board: &Board) -> Result<bool, PortError> {
        if self.seen.locked().boards.contains(board) {
            return Ok(true);
        }
        let is_listed = self.item(Key::board(board)).await?.is_some();
        if is_listed {
            self.seen.locked().boards.insert(board.clone());
        }
        Ok(is_listed)
    }

    /// The same table, with its calls counted by `meter`.
    pub(crate) fn metered(mut self, meter: &Meter) -> Self {
        self.meter = meter.clone();
        self
    }

    /// The name of an operation on this table in errors.
    pub fn describe(&self, verb: &str) -> String {
        format!("{verb} table `{}`", self.name)
    }

    /// The item of a key, as it is now.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn item(&self, key: Key) -> Result<Option<Item>, PortError> {
        let _call = self.meter.call();
        let request = self
            .client
            .get_item()
            .table_name(&self.name)
            .set_key(Some(key.item()));
        let output = request.consistent_read(true).send().await;
        output
            .map(|output| output.item)
            .map_err(|error| port_error(self.describe("reading"), error))
    }

    /// Writes an item unless there is one with its key. Says whether it did.
    ///
    /// # Errors
    /// [`PortError`].
    pub(crate) async fn put_new(&self, item: Item) -> Result<bool, PortError> {
        let _call = self.meter.call();
        let request = self.client.put_item().table_name(&self.name);
        let request = request
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(pk)");
        match request.send().await {
            Ok(_) => Ok(true),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(PutItemError::is_conditional_check_failed_exception) =>
            {
                Ok(false)
            }
            Err(error) => Err(port_error(self.describe("writing"), error)),
        }
    }

    /// Writes an item, whatever was there.
    ///
    /// # Errors
    /// [`PortError`].
    pub(crate) async fn put_item(&self, item: Item) -> Result<(), PortError> {
        let _call = self.meter.call();
        let request = self.client.put_item().table_name(&self.name);
        let sent = request.set_item(Some(item)).send().await;
        sent.map(drop)
            .map_err(|error| port_error(self.describe("writing"), error))
    }

    /// Deletes the item of a key, if it is there.
    ///
    /// # Errors
    /// [`PortError`].
    pub(crate) async fn delete_item(&self, key: Key) -> Result<(), PortError> {
        self.delete_item_if(key, None).await
    }

    /// Deletes the item of a key, if it is there and a condition holds.
    ///
    /// # Errors
    /// [`PortError`].
    pub(crate) async fn delete_item_if(
        &self,
        key: Key,
        condition: Option<Condition>,
    ) -> Result<(), PortError> {
        let _call = self.meter.call();
        let (text, names, values) = parts(condition);
        let request = self.client.delete_item().table_name(&self.name);
        let request = request
            .set_key(Some(key.item()))
            .set_condition_expression(text)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values);
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(DeleteItemError::is_conditional_check_failed_exception) =>
            {
                Ok(())
            }
            Err(error) => Err(port_error(self.describe("writing"), error)),
        }
    }

    /// The operation that writes an item.
    #[expect(clippy::missing_panics_doc, reason = "the required fields are set")]
    pub fn put(&self, item: Item, condition: Option<Condition>) -> TransactWriteItem {
        let (text, names, values) = parts(condition);
        let put = Put::builder()
            .table_name(&self.name)
            .set_item(Some(item))
            .set_condition_expression(text)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values);
        #[expect(clippy::expect_used, reason = "both required fields are set")]
        TransactWriteItem::builder()
            .put(put.build().expect("complete"))
            .build()
    }

    /// The operation that changes nothing, and lets the transaction take place only where the condition holds.
    #[expect(clippy::missing_panics_doc, reason = "the required fields are set")]
    pub fn check(&self, key: Key, condition: Condition) -> TransactWriteItem {
        let (text, names, values) = parts(Some(condition));
        let check = ConditionCheck::builder()
            .table_name(&self.name)
            .set_key(Some(key.item()))
            .set_condition_expression(text)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values);
        #[expect(clippy::expect_used, reason = "all required fields are set")]
        TransactWriteItem::builder()
            .condition_check(check.build().expect("complete"))
            .build()
    }

    /// The operation that deletes an item.
    #[expect(clippy::missing_panics_doc, reason = "the required fields are set")]
    pub fn delete(&self, key: Key, condition: Option<Condition>) -> TransactWriteItem {
        let (text, names, values) = parts(condition);
        let delete = Delete::builder()
            .table_name(&self.name)
            .set_key(Some(key.item()))
            .set_condition_expression(text)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values);
        #[expect(clippy::expect_used, reason = "both required fields are set")]
        TransactWriteItem::builder()
            .delete(delete.build().expect("complete"))
            .build()
    }

    /// The operation that changes attributes of an item, which is made when it is not there.
    #[expect(clippy::missing_panics_doc, reason = "the required fields are set")]
    pub fn update(&self, key: Key, change: Change) -> TransactWriteItem {
        let Expressions {
            update,
            condition,
            names,
            values,
        } = change.expressions();
        let update = Update::builder()
            .table_name(&self.name)
            .set_key(Some(key.item()))
            .update_expression(update)
            .set_condition_expression(condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(values);
        #[expect(clippy::expect_used, reason = "all required fields are set")]
        TransactWriteItem::builder()
            .update(update.build().expect("complete"))
            .build()
    }

    /// Does all operations or none of them.
    ///
    /// # Errors
    /// [`Cancelled`], with the first operation whose condition did not hold.
    pub async fn transact(&self, operations: Vec<Operation>) -> Result<(), Cancelled> {
        let _call = self.meter.call();
        let (steps, items): (Vec<Step>, Vec<_>) = operations.into_iter().unzip();
        let request = self.client.transact_write_items().set_transact_items(Some(items));
        let sent = request.send().await;
        sent.map(drop).map_err(|error| self.cancelled(error, &steps))
    }

    fn cancelled<R>(&self, error: SdkError<TransactWriteItemsError, R>, steps: &[Step]) -> Cancelled
    where
        R: std::fmt::Debug + Send + Sync + 'static,
    {
        let reasons = match error.as_service_error() {
            Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                cancelled.cancellation_reasons()
            }
            _ => return Cancelled::Other(port_error(self.describe("writing"), error)),
        };
        let codes: Vec<&str> = reasons
            .iter()
            .map(|reason| reason.code().unwrap_or("None"))
            .collect();
        if let Some(at) = codes.iter().position(|&code| code == "ConditionalCheckFailed") {
            return Cancelled::Condition(steps.get(at).copied().unwrap_or(Step::Other));
        }
        let passing = [
            "TransactionConflict",
            "ThrottlingError",
            "ProvisionedThroughputExceeded",
        ];
        let conflict = codes.iter().any(|code| passing.contains(code));
        let subject = format!("{} ({})", self.describe("writing"), codes.join(", "));
        let source = Box::new(error);
        if conflict {
            Cancelled::Conflict(PortError::Transient { subject, source })
        } else {
            Cancelled::Other(PortError::Refused { subject, source })
        }
    }
}

#[allow(clippy::type_complexity)] // the three parts as the builders take them
fn parts(condition: Option<Condition>) -> (Option<String>, Option<HashMap<String, String>>, Option<Item>) {
    condition.map_or((None, None, None), |condition| {
        (
            Some(condition.text.to_owned()),
            condition.names(),
            condition.values(),
        )
    })
}
