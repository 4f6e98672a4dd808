//! A request to `DynamoDB`, in the words of policies.

use std::collections::BTreeMap;

use http::request::Parts;
use serde_json::Value;

use crate::arns::{ACCOUNT_ID, REGION};
use crate::policy::Request;

/// One requested item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AccessNeeded {
    action: String,
    resource: String,
    /// Its partition keys, if they are known.
    keys: Option<Vec<String>>,
}

impl AccessNeeded {
    pub(crate) fn request(&self) -> Request<'_> {
        let keys = self.keys.clone().map(|keys| ("dynamodb:LeadingKeys", keys));
        Request {
            action: &self.action,
            resource: &self.resource,
            context: keys.into_iter().collect::<BTreeMap<_, _>>(),
        }
    }
}

/// The members that say which items or which index an operation is about.
const PLACES: [&str; 4] = ["Item", "Key", "KeyConditionExpression", "IndexName"];

/// The members of [`PLACES`] that an operation has. The engine ignores the others, so that they could say anything.
fn places(operation: &str) -> &'static [&'static str] {
    match operation {
        "PutItem" => &["Item"],
        "GetItem" | "UpdateItem" | "DeleteItem" | "ConditionCheckItem" => &["Key"],
        "Query" => &["KeyConditionExpression", "IndexName"],
        "Scan" => &["IndexName"],
        _ => &[],
    }
}

/// Everything a request wants: each operation of a transaction counts by itself. `names` are the partition keys of the table, and
/// then of its indexes.
///
/// # Errors
/// When this can't be determined. A member that is skipped here could be one that the engine understands, such as a list in the place of an object.
pub(crate) fn wanted(parts: &Parts, body: &[u8], names: &[String]) -> Result<Vec<AccessNeeded>, String> {
    let target = parts
        .headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok());
    let operation = target
        .and_then(|target| target.rsplit_once('.'))
        .map_or("", |(_, operation)| operation);
    // the engine passes over values that this can't read
    let body: Value = serde_json::from_slice(body).map_err(|error| format!("not JSON: {error}"))?;
    if !body.is_object() {
        return Err("a request is a JSON object".into());
    }
    match operation {
        "TransactWriteItems" | "TransactGetItems" => transaction(&body["TransactItems"], names),
        "BatchGetItem" | "BatchWriteItem" => batch(operation, &body["RequestItems"], names),
        _ => Ok(vec![one(operation, &body, names)?]),
    }
}

fn transaction(items: &Value, names: &[String]) -> Result<Vec<AccessNeeded>, String> {
    let mut wanted = Vec::new();
    for item in items.as_array().into_iter().flatten() {
        let operations = item
            .as_object()
            .ok_or("what a transaction consists of is JSON objects")?;
        for (kind, operation) in operations {
            let name = match kind.as_str() {
                "Get" => "GetItem",
                "Put" => "PutItem",
                "Update" => "UpdateItem",
                "Delete" => "DeleteItem",
                "ConditionCheck" => "ConditionCheckItem",
                _ => return Err(format!("a transaction has no `{kind}`")),
            };
            wanted.push(one(name, operation, names)?);
        }
    }
    Ok(wanted)
}

fn batch(operation: &str, tables: &Value, names: &[String]) -> Result<Vec<AccessNeeded>, String> {
    let tables = tables.as_object().into_iter().flatten();
    let wanted = tables.map(|(table, requests)| -> Result<AccessNeeded, String> {
        let keys: Option<Vec<String>> = if operation == "BatchGetItem" {
            let read = requests["Keys"].as_array().into_iter().flatten();
            read.map(|key| partition_key(key, names)).collect()
        } else {
            let written = requests.as_array().into_iter().flatten();
            let written = written.map(|request| written_key(request, names));
            written.collect::<Result<_, _>>()?
        };
        Ok(AccessNeeded {
            action: format!("dynamodb:{operation}"),
            resource: arn(table, None),
            keys,
        })
    });
    wanted.collect()
}

/// The partition key that a batch writes or deletes.
fn written_key(request: &Value, names: &[String]) -> Result<Option<String>, String> {
    match (request.get("PutRequest"), request.get("DeleteRequest")) {
        (Some(put), None) => {
            must_have_places("PutItem", put)?;
            Ok(partition_key(&put["Item"], names))
        }
        (None, Some(delete)) => {
            must_have_places("DeleteItem", delete)?;
            Ok(partition_key(&delete["Key"], names))
        }
        _ => Err("each request of a batch is a `PutRequest` or a `DeleteRequest`".into()),
    }
}

fn one(operation: &str, body: &Value, names: &[String]) -> Result<AccessNeeded, String> {
    must_have_places(operation, body)?;
    let key = match operation {
        "PutItem" => partition_key(&body["Item"], names),
        "GetItem" | "UpdateItem" | "DeleteItem" | "ConditionCheckItem" => partition_key(&body["Key"], names),
        "Query" => queried_key(body, names),
        _ => None,
    };
    Ok(AccessNeeded {
        action: format!("dynamodb:{operation}"),
        resource: arn(
            body["TableName"].as_str().unwrap_or_default(),
            body["IndexName"].as_str(),
        ),
        keys: key.map(|key| vec![key]),
    })
}

/// Refuses a body that has a member of `PLACES` which the operation lacks.
fn must_have_places(operation: &str, body: &Value) -> Result<(), String> {
    let has = places(operation);
    let foreign = PLACES
        .iter()
        .find(|place| !has.contains(place) && body.get(place).is_some());
    foreign.map_or(Ok(()), |place| Err(format!("`{operation}` has no `{place}`")))
}

fn arn(table: &str, index: Option<&str>) -> String {
    let table = if table.starts_with("arn:") {
        table.to_owned()
    } else {
        format!("arn:aws:dynamodb:{REGION}:{ACCOUNT_ID}:table/{table}")
    };
    index.map_or_else(|| table.clone(), |index| format!("{table}/index/{index}"))
}

fn partition_key(item: &Value, names: &[String]) -> Option<String> {
    item[names.first()?]["S"].as_str().map(str::to_owned)
}

/// The value that a query compares its partition key with.
fn queried_key(body: &Value, names: &[String]) -> Option<String> {
    let condition = body["KeyConditionExpression"].as_str()?;
    let words = condition.replace('=', " = ");
    let words: Vec<&str> = words.split_whitespace().collect();
    let name = |word: &str| {
        let named = &body["ExpressionAttributeNames"][word];
        let named = named.as_str().filter(|_| word.starts_with('#'));
        named.unwrap_or(word).to_owned()
    };
    let at = words
        .windows(2)
        .position(|pair| pair[1] == "=" && names.contains(&name(pair[0])))?;
    body["ExpressionAttributeValues"][*words.get(at + 2)?]["S"]
        .as_str()
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names() -> Vec<String> {
        ["pk", "board"].map(str::to_owned).into()
    }

    fn keys(wanted: &AccessNeeded) -> Option<Vec<&str>> {
        wanted
            .keys
            .as_ref()
            .map(|keys| keys.iter().map(String::as_str).collect())
    }

    fn one(operation: &str, body: &Value) -> AccessNeeded {
        super::one(operation, body, &names()).unwrap()
    }

    /// The requested actions, or why they are unknown.
    fn access(operation: &str, body: &[u8]) -> Result<Vec<AccessNeeded>, String> {
        let request =
            http::Request::builder().header("x-amz-target", format!("DynamoDB_20120810.{operation}"));
        let (parts, ()) = request.body(()).unwrap().into_parts();
        wanted(&parts, body, &names())
    }

    #[test]
    fn partition_keys_are_extracted_from_every_operation() {
        let put = one(
            "PutItem",
            &json!({"TableName": "t", "Item": {"pk": {"S": "b#1"}, "sk": {"S": "s"}}}),
        );
        assert_eq!(
            (put.action.as_str(), keys(&put)),
            ("dynamodb:PutItem", Some(vec!["b#1"]))
        );
        for operation in ["GetItem", "UpdateItem", "DeleteItem"] {
            let body = json!({"TableName": "t", "Key": {"pk": {"S": "b#1"}, "sk": {"S": "s"}}});
            assert_eq!(keys(&one(operation, &body)), Some(vec!["b#1"]), "{operation}");
        }
        for condition in ["pk = :a AND sk > :b", "#p=:a", "sk > :b AND #p = :a"] {
            let query = json!({"TableName": "t", "KeyConditionExpression": condition,
                "ExpressionAttributeNames": {"#p": "pk"}, "ExpressionAttributeValues": {":a": {"S": "b#1"}, ":b": {"S": "x"}}});
            assert_eq!(keys(&one("Query", &query)), Some(vec!["b#1"]), "{condition}");
        }
        assert_eq!(keys(&one("Scan", &json!({"TableName": "t"}))), None);
        let ranking = one(
            "Query",
            &json!({"TableName": "t", "IndexName": "ranking", "KeyConditionExpression": "board = :a",
            "ExpressionAttributeValues": {":a": {"S": "b#en-25#open"}}}),
        );
        assert!(ranking.resource.ends_with("table/t/index/ranking"));
        assert_eq!(keys(&ranking), Some(vec!["b#en-25#open"]));
    }

    #[test]
    fn a_missing_operation_member_is_ignored() {
        let own = json!({"pk": {"S": "own"}, "sk": {"S": "s"}});
        let others = json!({"pk": {"S": "others"}, "sk": {"S": "s"}});
        let query = json!({"TableName": "t", "Key": own, "KeyConditionExpression": "pk = :a",
            "ExpressionAttributeValues": {":a": {"S": "others"}}});
        for (operation, body) in [
            ("Query", query),
            ("PutItem", json!({"TableName": "t", "Key": own, "Item": others})),
            (
                "UpdateItem",
                json!({"TableName": "t", "Item": own, "Key": others}),
            ),
            (
                "GetItem",
                json!({"TableName": "t", "IndexName": "ranking", "Key": others}),
            ),
            ("Scan", json!({"TableName": "t", "Key": own})),
            (
                "TransactWriteItems",
                json!({"TransactItems": [{"Put": {"TableName": "t", "Key": own, "Item": others}}]}),
            ),
            (
                "BatchWriteItem",
                json!({"RequestItems": {"t": [{"PutRequest": {"Key": own, "Item": others}}]}}),
            ),
        ] {
            let refused = access(operation, body.to_string().as_bytes()).unwrap_err();
            assert!(refused.contains("has no"), "{operation}: {refused}");
        }
        let renamed = json!({"TableName": "t", "KeyConditionExpression": "sk = :b AND pk = :a",
            "ExpressionAttributeNames": {"sk": "pk"}, "ExpressionAttributeValues": {":a": {"S": "others"}, ":b": {"S": "own"}}});
        assert_eq!(keys(&one("Query", &renamed)), Some(vec!["others"]));
    }

    #[test]
    fn ambiguous_requests_are_refused() {
        let key = r#"{"pk": {"S": "others"}, "sk": {"S": "s"}}"#;
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for (operation, body) in [
            // the engine takes lists for objects
            (
                "TransactWriteItems",
                format!(r#"{{"TransactItems": [[null, null, {{"TableName": "t", "Key": {key}}}, null]]}}"#),
            ),
            (
                "TransactWriteItems",
                format!(r#"[[{{"Delete": {{"TableName": "t", "Key": {key}}}}}]]"#),
            ),
            (
                "BatchWriteItem",
                format!(r#"{{"RequestItems": {{"t": [[null, {{"Key": {key}}}]]}}}}"#),
            ),
            // and does not look into what it does not know
            (
                "TransactWriteItems",
                format!(
                    r#"{{"TransactItems": [{{"Delete": {{"TableName": "t", "Key": {key}}}}}], "x": {deep}}}"#
                ),
            ),
        ] {
            assert!(access(operation, body.as_bytes()).is_err(), "{operation} {body}");
        }
    }

    #[test]
    fn each_operation_of_a_transaction_counts_by_itself() {
        let items = json!([
            {"Put": {"TableName": "t", "Item": {"pk": {"S": "a"}}}},
            {"ConditionCheck": {"TableName": "t", "Key": {"pk": {"S": "b"}}}},
            {"Update": {"TableName": "t", "Key": {"sk": {"S": "no partition"}}}},
        ]);
        let wanted = transaction(&items, &names()).unwrap();
        let actions: Vec<&str> = wanted.iter().map(|wanted| wanted.action.as_str()).collect();
        assert_eq!(
            actions,
            [
                "dynamodb:PutItem",
                "dynamodb:ConditionCheckItem",
                "dynamodb:UpdateItem"
            ]
        );
        assert_eq!(
            wanted.iter().map(keys).collect::<Vec<_>>(),
            [Some(vec!["a"]), Some(vec!["b"]), None]
        );
        let written = batch(
            "BatchWriteItem",
            &json!({"t": [{"PutRequest": {"Item": {"pk": {"S": "a"}}}}, {"DeleteRequest": {"Key": {}}}]}),
            &names(),
        );
        assert_eq!(
            keys(&written.unwrap()[0]),
            None,
            "one that can't be told makes all of them unknown"
        );
        let read = batch(
            "BatchGetItem",
            &json!({"t": {"Keys": [{"pk": {"S": "a"}}, {"pk": {"S": "b"}}]}}),
            &names(),
        );
        assert_eq!(keys(&read.unwrap()[0]), Some(vec!["a", "b"]));
    }
}
