//! What a request to `DynamoDB` wants, in the words of policies.

use std::collections::BTreeMap;

use http::request::Parts;
use serde_json::Value;

use super::policy::Request;
use crate::config::{ACCOUNT_ID, REGION};

/// One thing that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AccessNeeded {
    action: String,
    resource: String,
    /// The partition keys it concerns, if they can be told.
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

/// Everything a request wants: each operation of a transaction counts by itself. `names` are the partition keys of the table, and
/// then of its indexes.
pub(crate) fn wanted(parts: &Parts, body: &[u8], names: &[String]) -> Vec<AccessNeeded> {
    let target = parts
        .headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok());
    let operation = target
        .and_then(|target| target.rsplit_once('.'))
        .map_or("", |(_, operation)| operation);
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    match operation {
        "TransactWriteItems" | "TransactGetItems" => transaction(&body["TransactItems"], names),
        "BatchGetItem" | "BatchWriteItem" => batch(operation, &body["RequestItems"], names),
        _ => vec![one(operation, &body, names)],
    }
}

fn transaction(items: &Value, names: &[String]) -> Vec<AccessNeeded> {
    let operations = items
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .flatten();
    let wanted = operations.map(|(kind, operation)| {
        let action = if kind == "ConditionCheck" {
            "ConditionCheckItem".to_owned()
        } else {
            format!("{kind}Item")
        };
        one(&action, operation, names)
    });
    wanted.collect()
}

fn batch(operation: &str, tables: &Value, names: &[String]) -> Vec<AccessNeeded> {
    let tables = tables.as_object().into_iter().flatten();
    let wanted = tables.map(|(table, requests)| {
        let gets = requests["Keys"].as_array().into_iter().flatten();
        let writes = requests.as_array().into_iter().flatten().filter_map(|request| {
            request
                .pointer("/PutRequest/Item")
                .or_else(|| request.pointer("/DeleteRequest/Key"))
        });
        AccessNeeded {
            action: format!("dynamodb:{operation}"),
            resource: arn(table, None),
            keys: gets
                .chain(writes)
                .map(|item| partition_key(item, names))
                .collect(),
        }
    });
    wanted.collect()
}

fn one(operation: &str, body: &Value, names: &[String]) -> AccessNeeded {
    let item = ["Key", "Item"].iter().find_map(|name| body.get(name));
    let key = item.map_or_else(|| queried_key(body, names), |item| partition_key(item, names));
    AccessNeeded {
        action: format!("dynamodb:{operation}"),
        resource: arn(
            body["TableName"].as_str().unwrap_or_default(),
            body["IndexName"].as_str(),
        ),
        keys: key.map(|key| vec![key]),
    }
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
        body["ExpressionAttributeNames"][word]
            .as_str()
            .unwrap_or(word)
            .to_owned()
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

    #[test]
    fn partition_keys_are_found_wherever_they_are() {
        let put = one(
            "PutItem",
            &json!({"TableName": "t", "Item": {"pk": {"S": "b#1"}, "sk": {"S": "s"}}}),
            &names(),
        );
        assert_eq!(
            (put.action.as_str(), keys(&put)),
            ("dynamodb:PutItem", Some(vec!["b#1"]))
        );
        for condition in ["pk = :a AND sk > :b", "#p=:a", "sk > :b AND #p = :a"] {
            let query = json!({"TableName": "t", "KeyConditionExpression": condition,
                "ExpressionAttributeNames": {"#p": "pk"}, "ExpressionAttributeValues": {":a": {"S": "b#1"}, ":b": {"S": "x"}}});
            assert_eq!(
                keys(&one("Query", &query, &names())),
                Some(vec!["b#1"]),
                "{condition}"
            );
        }
        assert_eq!(keys(&one("Scan", &json!({"TableName": "t"}), &names())), None);
        let ranking = one(
            "Query",
            &json!({"TableName": "t", "IndexName": "ranking", "KeyConditionExpression": "board = :a",
            "ExpressionAttributeValues": {":a": {"S": "b#en-25#open"}}}),
            &names(),
        );
        assert!(ranking.resource.ends_with("table/t/index/ranking"));
        assert_eq!(keys(&ranking), Some(vec!["b#en-25#open"]));
    }

    #[test]
    fn each_operation_of_a_transaction_counts_by_itself() {
        let items = json!([
            {"Put": {"TableName": "t", "Item": {"pk": {"S": "a"}}}},
            {"ConditionCheck": {"TableName": "t", "Key": {"pk": {"S": "b"}}}},
            {"Update": {"TableName": "t", "Key": {"sk": {"S": "no partition"}}}},
        ]);
        let wanted = transaction(&items, &names());
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
        let batch = batch(
            "BatchWriteItem",
            &json!({"t": [{"PutRequest": {"Item": {"pk": {"S": "a"}}}}, {"DeleteRequest": {"Key": {}}}]}),
            &names(),
        );
        assert_eq!(
            keys(&batch[0]),
            None,
            "one that can't be told makes all of them unknown"
        );
    }
}
