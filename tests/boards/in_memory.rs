//! The table in the memory of this process: the SDK's requests reach the engine without a socket and without another thread.
//!
//! Random numbers decide how often a request lets others go first, so a seed repeats a history but for its retries, which wait by the clock.

use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use dataperf_aws::{Clients, RANKING_INDEX, TABLE_KEYS};
use dataperf_hosted::deployment::TABLE;
use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde_json::{Value, json};

/// The most times that a request lets others go first.
const MOST_YIELDS: usize = 3;

/// The engine with the table of the deployment.
#[derive(Clone)]
pub(crate) struct InMemory {
    database: Database,
    random: Arc<Mutex<fastrand::Rng>>,
}

impl std::fmt::Debug for InMemory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("InMemory")
    }
}

impl InMemory {
    /// A new table, which is empty.
    pub(crate) fn new() -> Self {
        let database = Database::memory().unwrap();
        let request = serde_json::from_value(definition()).unwrap();
        database.create_table(request).unwrap();
        Self {
            database,
            random: Arc::default(),
        }
    }

    /// A client of the table, otherwise configured as `base`.
    pub(crate) fn client(&self, base: &Client, seed: u64) -> Client {
        *self.random.lock().unwrap() = fastrand::Rng::with_seed(seed);
        Client::from_conf(base.config().to_builder().http_client(self.clone()).build())
    }
}

/// A client with fixed credentials and no table.
pub(crate) async fn base_client() -> Client {
    let nowhere = "http://localhost:9";
    Clients::at(nowhere, nowhere, "local", "local").await.dynamodb
}

fn definition() -> Value {
    let ([partition, sort], [index, of_index, order]) = (TABLE_KEYS, RANKING_INDEX);
    let keys = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let definitions =
        [partition, sort, of_index, order].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    json!({
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": definitions,
        "KeySchema": keys(partition, sort),
        "GlobalSecondaryIndexes": [
            {"IndexName": index, "KeySchema": keys(of_index, order), "Projection": {"ProjectionType": "ALL"}},
        ],
    })
}

impl HttpClient for InMemory {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for InMemory {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let table = self.clone();
        HttpConnectorFuture::new(async move {
            let n_yields = table.random.lock().unwrap().usize(..=MOST_YIELDS);
            for _ in 0..n_yields {
                tokio::task::yield_now().await;
            }
            let (status, body) = match table.answer(&request) {
                Ok(body) => (200, body),
                Err(error) => (error.status_code(), error.to_json()),
            };
            Ok(HttpResponse::new(status.try_into().unwrap(), body.into()))
        })
    }
}

impl InMemory {
    fn answer(&self, request: &HttpRequest) -> dynoxide::Result<String> {
        let target = request.headers().get("x-amz-target").unwrap();
        let mut body: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        // no request is sent twice, and the engine looks at all tokens of the last minutes each time
        body.as_object_mut().unwrap().remove("ClientRequestToken");
        let database = &self.database;
        match target.rsplit('.').next().unwrap() {
            "GetItem" => to_json(database.get_item(read(body)?)?),
            "PutItem" => to_json(database.put_item(read(body)?)?),
            "UpdateItem" => to_json(database.update_item(read(body)?)?),
            "DeleteItem" => to_json(database.delete_item(read(body)?)?),
            "Query" => to_json(database.query(read(body)?)?),
            "BatchGetItem" => to_json(database.batch_get_item(read(body)?)?),
            "BatchWriteItem" => to_json(database.batch_write_item(read(body)?)?),
            "TransactGetItems" => to_json(database.transact_get_items(read(body)?)?),
            "TransactWriteItems" => to_json(database.transact_write_items(read(body)?)?),
            other => panic!("{other} is not expected"),
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(body: Value) -> dynoxide::Result<T> {
    serde_json::from_value(body).map_err(|error| DynoxideError::ValidationException(error.to_string()))
}

#[allow(clippy::unnecessary_wraps, reason = "it ends an expression with `?`")]
fn to_json(answer: impl Serialize) -> dynoxide::Result<String> {
    Ok(serde_json::to_string(&answer).unwrap())
}
