//! The table engine, `dynoxide`, called as a function: an operation and its JSON go in, and what `DynamoDB` answers comes
//! out. It has no port of its own: a request reaches it only through the one that checks signatures.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use dynoxide::{Database, DynoxideError};
use http::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::database::flush::Flush;
use crate::dynamodb::sent_again::SentAgain;

const UNKNOWN_OPERATION: &str = r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;

/// The engine's answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// JSON.
    pub(crate) body: String,
}

/// The operations that leave the file as it is.
const READS: [&str; 11] = [
    "GetItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "TransactGetItems",
    "DescribeTable",
    "ListTables",
    "DescribeTimeToLive",
    "ListTagsOfResource",
    "ListStreams",
    "DescribeStream",
];

/// The engine on its file. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Engine {
    database: Database,
    flush: Arc<Flush>,
    sent_again: Arc<SentAgain>,
}

impl Engine {
    /// The engine on the open database at `path`.
    ///
    /// # Errors
    /// When its `-wal` file can't be opened, or the engine refuses to commit without a flush.
    pub(crate) fn open(database: Database, path: &Path) -> io::Result<Self> {
        // The only way to `synchronous = NORMAL` that the engine has: the end of its bulk loading sets it, and leaves everything else as it was.
        // What is written is still on the disk before the client hears of it: `flush` waits for it.
        let settings = database
            .enable_bulk_loading()
            .and_then(|()| database.disable_bulk_loading());
        settings.map_err(io::Error::other)?;
        let flush = Arc::new(Flush::open(path)?);
        Ok(Self {
            database,
            flush,
            sent_again: Arc::default(),
        })
    }

    /// Does `operation` on a thread that may block, because writes wait for the disk and for each other.
    pub(crate) async fn answer(&self, operation: &str, body: Bytes) -> Answer {
        let (engine, operation) = (self.clone(), operation.to_owned());
        let done = tokio::task::spawn_blocking(move || engine.run(&operation, &body)).await;
        let stopping = || DynoxideError::InternalServerError("the local cloud is stopping".into());
        match done.unwrap_or_else(|_| Some(Err(stopping()))) {
            Some(Ok(body)) => Answer {
                status: StatusCode::OK,
                body,
            },
            None => Answer {
                status: StatusCode::BAD_REQUEST,
                body: UNKNOWN_OPERATION.to_owned(),
            },
            Some(Err(error)) => Answer {
                status: StatusCode::from_u16(error.status_code()).unwrap_or(StatusCode::BAD_REQUEST),
                body: error.to_json(),
            },
        }
    }
}

impl Engine {
    /// Does an operation, and waits until what it wrote is on the disk.
    fn run(&self, operation: &str, body: &[u8]) -> Option<dynoxide::Result<String>> {
        let done = match operation {
            "TransactWriteItems" => self.sent_again.or_do(body, |body| {
                call(body, |request| self.database.transact_write_items(request))
            }),
            _ => run(&self.database, operation, body)?,
        };
        if done.is_ok()
            && !READS.contains(&operation)
            && let Err(error) = self.flush.wait()
        {
            let message = format!("the disk refuses writes: {error}");
            return Some(Err(DynoxideError::InternalServerError(message)));
        }
        Some(done)
    }
}

/// `None` when there is no such operation.
fn run(database: &Database, operation: &str, body: &[u8]) -> Option<dynoxide::Result<String>> {
    let done = match operation {
        "GetItem" => call(body, |request| database.get_item(request)),
        "PutItem" => call(body, |request| database.put_item(request)),
        "UpdateItem" => call(body, |request| database.update_item(request)),
        "DeleteItem" => call(body, |request| database.delete_item(request)),
        "Query" => call(body, |request| database.query(request)),
        "Scan" => call(body, |request| database.scan(request)),
        "BatchGetItem" => call(body, |request| database.batch_get_item(request)),
        "BatchWriteItem" => call(body, |request| database.batch_write_item(request)),
        "TransactGetItems" => call(body, |request| database.transact_get_items(request)),
        "ExecuteStatement" => call(body, |request| database.execute_statement(request)),
        "ExecuteTransaction" => call(body, |request| database.execute_transaction(request)),
        "BatchExecuteStatement" => call(body, |request| database.batch_execute_statement(request)),
        "CreateTable" => call(body, |request| database.create_table(request)),
        "DeleteTable" => call(body, |request| database.delete_table(request)),
        "DescribeTable" => call(body, |request| database.describe_table(request)),
        "ListTables" => call(body, |request| database.list_tables(request)),
        "UpdateTable" => call(body, |request| database.update_table(request)),
        "DescribeTimeToLive" => call(body, |request| database.describe_time_to_live(request)),
        "UpdateTimeToLive" => call(body, |request| database.update_time_to_live(request)),
        "TagResource" => call(body, |request| database.tag_resource(request)),
        "UntagResource" => call(body, |request| database.untag_resource(request)),
        "ListTagsOfResource" => call(body, |request| database.list_tags_of_resource(request)),
        "ListStreams" => call(body, |request| database.list_streams(request)),
        "DescribeStream" => call(body, |request| database.describe_stream(request)),
        "GetShardIterator" => call(body, |request| database.get_shard_iterator(request)),
        "GetRecords" => call(body, |request| database.get_records(request)),
        _ => return None,
    };
    Some(done)
}

fn call<Q, A>(body: &[u8], work: impl FnOnce(Q) -> dynoxide::Result<A>) -> dynoxide::Result<String>
where
    Q: DeserializeOwned,
    A: Serialize,
{
    let request = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    let answer = work(request)?;
    serde_json::to_string(&answer).map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

/// Why a request cannot be read. The engine's types mark what `DynamoDB` calls invalid and not unreadable; its own server
/// takes the marks off, so this does as well.
fn unreadable(error: &serde_json::Error) -> DynoxideError {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(&*text, |(text, _)| text);
    let is_mark = |mark: &str| mark.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let (mark, words) = match text.split_once(':') {
        Some((mark, words)) if is_mark(mark) => (mark, words.trim_start()),
        _ => ("", text),
    };
    let calls_it_invalid = [
        "missing field",
        "unknown variant",
        "invalid type: null",
        "AttributeValue",
    ];
    let is_invalid = mark.starts_with("VALIDATION")
        || mark.is_empty() && calls_it_invalid.iter().any(|words| text.contains(words));
    if is_invalid {
        DynoxideError::ValidationException(words.to_owned())
    } else {
        DynoxideError::SerializationException(words.to_owned())
    }
}
