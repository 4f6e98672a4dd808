//! A table that throttles as `DynamoDB` does: each partition takes a limited number of write units a second.
//!
//! A unit is a kilobyte of an item that is written; in a transaction a kilobyte takes two units. A change of an index's keys is another write, in
//! the index's partition. For an update only the new values count, because the item is not read for it. A partition keeps what it did not use for
//! one second only, while `DynamoDB` may be kinder.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::Value;

use crate::config::TableSpec;
use crate::lock::locked;

const UNIT_BYTES: usize = 1024;

/// The writes of one operation in a request: partitions, and the units in each.
type Writes = Vec<(String, f64)>;

/// Whether the table throttles, and how often it has.
#[derive(Debug)]
pub(crate) struct Throttling {
    /// The attributes whose values name a partition, of the table and then of its indexes.
    partition_keys: Vec<String>,
    throttle: Mutex<Option<Throttle>>,
    n_throttled: AtomicUsize,
}

impl Throttling {
    /// Throttling of `table`, which is off at first.
    pub(crate) fn new(table: Option<&TableSpec>) -> Self {
        Self {
            partition_keys: table.map(TableSpec::partition_keys).unwrap_or_default(),
            throttle: Mutex::default(),
            n_throttled: AtomicUsize::new(0),
        }
    }

    /// Limits each partition to `units_per_second` write units; `None` ends the limit.
    pub(crate) fn set(&self, units_per_second: Option<u32>) {
        *locked(&self.throttle) = units_per_second.map(Throttle::new);
    }

    /// How many requests were refused.
    pub(crate) fn n_throttled(&self) -> usize {
        self.n_throttled.load(Ordering::SeqCst)
    }

    /// For each operation of a request, whether it is above what its partitions take; `None` when the request may pass.
    pub(crate) fn refused(&self, operation: &str, body: &[u8]) -> Option<Vec<bool>> {
        let mut throttle = locked(&self.throttle);
        let throttle = throttle.as_mut()?;
        let writes = writes(operation, body, &self.partition_keys);
        let refused = throttle.take(&writes, Instant::now()).err()?;
        self.n_throttled.fetch_add(1, Ordering::SeqCst);
        Some(refused)
    }
}

/// The units that each partition has left.
#[derive(Debug)]
struct Throttle {
    units_per_second: f64,
    buckets: BTreeMap<String, Bucket>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Throttle {
    /// A table whose partitions take `units_per_second` write units each.
    fn new(units_per_second: u32) -> Self {
        Self {
            units_per_second: f64::from(units_per_second),
            buckets: BTreeMap::new(),
        }
    }

    /// Takes the units that the operations of a request need. If a partition has too few, takes nothing and says for each operation whether it is
    /// refused.
    fn take(&mut self, operations: &[Writes], at: Instant) -> Result<(), Vec<bool>> {
        let mut left: BTreeMap<&str, f64> = BTreeMap::new();
        let mut refused = Vec::with_capacity(operations.len());
        for writes in operations {
            let mut fits = true;
            for (partition, units) in writes {
                let left = left.entry(partition).or_insert_with(|| self.left(partition, at));
                // an operation that needs more than a full partition would wait for ever: a full one is enough for it
                fits &= *left >= units.min(self.units_per_second);
                *left -= units;
            }
            refused.push(!fits);
        }
        if refused.contains(&true) {
            return Err(refused);
        }
        let taken: Vec<(String, f64)> = left
            .into_iter()
            .map(|(name, left)| (name.to_owned(), left))
            .collect();
        for (name, left) in taken {
            self.buckets.insert(name, Bucket { left, at });
        }
        Ok(())
    }

    fn left(&self, partition: &str, at: Instant) -> f64 {
        let full = self.units_per_second;
        self.buckets.get(partition).map_or(full, |bucket| {
            let gained = at.saturating_duration_since(bucket.at).as_secs_f64() * full;
            (bucket.left + gained).min(full)
        })
    }
}

/// The writes of each operation in a request; empty if it only reads. `names` are the attributes
/// that name a partition, of the table and then of its indexes.
fn writes(operation: &str, body: &[u8], names: &[String]) -> Vec<Writes> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    match operation {
        "PutItem" | "UpdateItem" | "DeleteItem" => vec![of_one(&body, 1.0, names)],
        "TransactWriteItems" => {
            let items = body["TransactItems"].as_array().into_iter().flatten();
            let operations = items.filter_map(Value::as_object).flat_map(|item| item.values());
            operations
                .map(|operation| of_one(operation, 2.0, names))
                .collect()
        }
        "BatchWriteItem" => {
            let tables = body["RequestItems"].as_object().into_iter().flatten();
            let requests = tables.flat_map(|(_, requests)| requests.as_array().into_iter().flatten());
            requests
                .filter_map(|request| request.get("PutRequest").or_else(|| request.get("DeleteRequest")))
                .map(|request| of_one(request, 1.0, names))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn of_one(operation: &Value, factor: f64, names: &[String]) -> Writes {
    let values = [
        &operation["Item"],
        &operation["Key"],
        &operation["ExpressionAttributeValues"],
    ];
    let n_bytes: usize = values.iter().map(|value| value.to_string().len()).sum();
    let units = n_bytes.div_ceil(UNIT_BYTES).max(1) as f64;
    let factors = std::iter::once(factor).chain(std::iter::repeat(1.0));
    let of_partition = |(name, factor): (&String, f64)| Some((key(operation, name)?, units * factor));
    names.iter().zip(factors).filter_map(of_partition).collect()
}

/// The value of an attribute in an item or a key, or that an update gives it.
fn key(operation: &Value, name: &str) -> Option<String> {
    let in_item = ["Item", "Key"]
        .iter()
        .find_map(|part| operation[part][name]["S"].as_str());
    let value = in_item.or_else(|| {
        let names = operation["ExpressionAttributeNames"].as_object()?;
        let (placeholder, _) = names.iter().find(|(_, entry)| entry.as_str() == Some(name))?;
        let (_, rest) = operation["UpdateExpression"]
            .as_str()?
            .split_once(&format!("{placeholder} = "))?;
        let value = rest.split([',', ' ']).next()?;
        operation["ExpressionAttributeValues"][value]["S"].as_str()
    });
    value.map(|value| format!("{name} {value}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn names(writes: &[Writes]) -> Vec<Vec<(&str, f64)>> {
        let mut named = Vec::new();
        for writes in writes {
            named.push(
                writes
                    .iter()
                    .map(|(name, units)| (name.as_str(), *units))
                    .collect(),
            );
        }
        named
    }

    #[test]
    fn units_are_counted_by_partition_and_size() {
        let keys = ["pk", "board"].map(str::to_owned);
        let item =
            json!({ "pk": { "S": "a" }, "sk": { "S": "x" }, "board": { "S": "b" }, "rank": { "S": "1" } });
        let large = json!({ "pk": { "S": "a" }, "data": { "S": "x".repeat(3000) } });
        let update = json!({ "Key": { "pk": { "S": "c" } }, "UpdateExpression": "SET #x = :x, #board = :set_board",
            "ExpressionAttributeNames": { "#x": "x", "#board": "board" },
            "ExpressionAttributeValues": { ":x": { "S": "v" }, ":set_board": { "S": "d" } } });
        let transaction = json!({ "TransactItems": [{ "Put": { "Item": item } }, { "Update": update }, { "Delete": { "Key": { "pk": { "S": "e" } } } }] });
        assert_eq!(
            names(&writes(
                "TransactWriteItems",
                transaction.to_string().as_bytes(),
                &keys
            )),
            [
                vec![("pk a", 2.0), ("board b", 1.0)],
                vec![("pk c", 2.0), ("board d", 1.0)],
                vec![("pk e", 2.0)]
            ]
        );
        let put = json!({ "Item": large });
        assert_eq!(
            names(&writes("PutItem", put.to_string().as_bytes(), &keys)),
            [vec![("pk a", 3.0)]]
        );
        assert_eq!(writes("Query", b"{}", &keys), Vec::<Writes>::new());
    }

    #[test]
    fn throttling_one_partition_leaves_others_unaffected() {
        let mut throttle = Throttle::new(10);
        let begin = Instant::now();
        let writes = |partition: &str, units: f64| vec![(partition.to_owned(), units)];
        for _ in 0..5 {
            assert_eq!(throttle.take(&[writes("a", 2.0)], begin), Ok(()));
        }
        assert_eq!(
            throttle.take(&[writes("b", 2.0), writes("a", 2.0)], begin),
            Err(vec![false, true])
        );
        assert_eq!(
            throttle.take(&[writes("b", 10.0)], begin),
            Ok(()),
            "nothing was taken of it"
        );
        let later = begin + Duration::from_millis(200);
        assert_eq!(throttle.take(&[writes("a", 2.0)], later), Ok(()));
        assert!(throttle.take(&[writes("a", 2.0)], later).is_err());
        let much_later = begin + Duration::from_mins(1);
        assert_eq!(
            throttle.take(&[writes("a", 25.0)], much_later),
            Ok(()),
            "one that is larger than all"
        );
        assert!(
            throttle.take(&[writes("a", 1.0)], much_later).is_err(),
            "nothing is saved for longer than a second"
        );
    }
}
