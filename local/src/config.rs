//! The caller's configuration: ports, buckets, the table, the functions.

use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use crate::policy::Policy;

/// The organizer's access key, which may do everything, unless [`Config::organizer`] says another.
pub const ACCESS_KEY_ID: &str = "local";
/// The secret that belongs to [`ACCESS_KEY_ID`].
pub const SECRET_ACCESS_KEY: &str = "local";

/// An access key and its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// The id that requests name.
    pub id: String,
    /// The secret that signs requests.
    pub secret: String,
}

impl Default for AccessKey {
    /// The key that everybody knows: [`ACCESS_KEY_ID`] and [`SECRET_ACCESS_KEY`].
    fn default() -> Self {
        Self {
            id: ACCESS_KEY_ID.to_owned(),
            secret: SECRET_ACCESS_KEY.to_owned(),
        }
    }
}

impl std::fmt::Debug for AccessKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AccessKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A caller, other than the organizer, who may use the services.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The access key.
    pub access_key: String,
    /// The secret that belongs to it.
    pub secret: String,
    /// The allowed actions; all others are denied.
    pub policy: Policy,
}

/// Everything [`LocalCloud::start`](crate::LocalCloud::start) needs.
#[derive(Clone, Debug)]
pub struct Config {
    /// The directory of objects, the table, logs and the queue; created if missing. A directory
    /// with foreign contents is refused.
    pub data_dir: PathBuf,
    /// The address that the ports are opened on. One that other machines can reach needs an [`Self::organizer`] of its own;
    /// services of others, which only functions use, then stay on the loopback address.
    pub host: IpAddr,
    /// Additional names by which requests may reach the ports, besides `127.0.0.1`, `localhost`,
    /// `[::1]` and [`Self::host`]. A name includes a port if it differs from the listening one.
    /// Requests by another name are refused.
    pub allowed_hosts: Vec<String>,
    /// The organizer's key, which may do everything.
    pub organizer: AccessKey,
    /// The S3 port; 0 takes any free one.
    pub s3_port: u16,
    /// The `DynamoDB` port; 0 takes any free one.
    pub dynamodb_port: u16,
    /// The port of the web page; 0 takes any free one, `None` opens none.
    pub http_port: Option<u16>,
    /// The port of Lambda's Invoke; 0 takes any free one.
    pub lambda_port: u16,
    /// Services of others that functions reach over the Internet, and here on this machine.
    pub outside: Vec<OutsideService>,
    /// Buckets that exist from the start.
    pub buckets: Vec<Bucket>,
    /// The table that exists from the start.
    pub table: Option<TableSpec>,
    /// The functions and the uploads that start them.
    pub functions: Vec<FunctionSpec>,
    /// The secrets of Secrets Manager, by name. It is reached at Lambda's address.
    pub secrets: BTreeMap<String, String>,
    /// Aliases of keys of KMS, such as `alias/receipts`. Those without a key at the start share a new one. KMS is reached at Lambda's
    /// address; its keys are in the data directory.
    pub signing_aliases: Vec<String>,
    /// The callers, besides the organizer, who may use the services.
    pub identities: Vec<Identity>,
    /// The function that reads the queue of events that failed for good; without one they are only recorded.
    pub on_failure: Option<String>,
    /// Functions that run by the clock.
    pub schedules: Vec<Schedule>,
    /// The wait before each retry of a failed asynchronous invocation; its length is the number of retries.
    pub retry_backoff: Vec<Duration>,
    /// How long a warm process may wait for work before it is ended.
    pub idle_timeout: Duration,
    /// How long a stop waits for running invocations before it kills them; they run again after the next start.
    pub shutdown_grace: Duration,
}

impl Config {
    /// A cloud in `data_dir` on any free ports, without buckets, table or functions.
    ///
    /// Two retries after 1 s and 2 s (AWS waits 1 and 2 minutes), warm processes for 5 minutes.
    #[must_use]
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            allowed_hosts: Vec::new(),
            organizer: AccessKey::default(),
            s3_port: 0,
            dynamodb_port: 0,
            http_port: None,
            lambda_port: 0,
            outside: Vec::new(),
            buckets: Vec::new(),
            table: None,
            functions: Vec::new(),
            secrets: BTreeMap::new(),
            signing_aliases: Vec::new(),
            identities: Vec::new(),
            on_failure: None,
            schedules: Vec::new(),
            retry_backoff: vec![Duration::from_secs(1), Duration::from_secs(2)],
            idle_timeout: Duration::from_mins(5),
            shutdown_grace: Duration::from_secs(2),
        }
    }
}

/// A local stand-in for a service on the Internet.
#[derive(Clone, Debug)]
pub struct OutsideService {
    /// Its name, by which [`LocalCloud::outside`](crate::LocalCloud::outside) returns its address.
    pub name: &'static str,
    /// Its port; 0 takes any free one.
    pub port: u16,
    /// The option that changes the port, for the error when it is in use.
    pub option: &'static str,
    /// The handler of requests.
    pub router: axum::Router,
}

/// A bucket that is made at the start when it does not exist.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// The bucket's name.
    pub name: String,
    /// Whether every write keeps the versions before it.
    pub versioned: bool,
}

impl Bucket {
    /// A bucket that keeps every version.
    #[must_use]
    pub fn versioned(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            versioned: true,
        }
    }

    /// A bucket that keeps the last object of a key only.
    #[must_use]
    pub fn plain(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            versioned: false,
        }
    }
}

/// A table with string keys that is made at the start when it does not exist.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// The table's name.
    pub name: String,
    /// The attribute that is the partition key.
    pub partition_key: String,
    /// The attribute that is the sort key.
    pub sort_key: String,
    /// Global secondary indexes, each with all attributes.
    pub indexes: Vec<IndexSpec>,
}

/// A global secondary index with string keys and all attributes.
#[derive(Clone, Debug)]
pub struct IndexSpec {
    /// The index's name.
    pub name: String,
    /// The attribute that is the partition key.
    pub partition_key: String,
    /// The attribute that is the sort key.
    pub sort_key: String,
}

impl TableSpec {
    /// A table without indexes.
    ///
    /// ```
    /// let table = dataperf_local::TableSpec::new("books", "author", "title").indexed("by year", "year", "title");
    /// assert_eq!(table.indexes[0].partition_key, "year");
    /// ```
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        partition_key: impl Into<String>,
        sort_key: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            partition_key: partition_key.into(),
            sort_key: sort_key.into(),
            indexes: Vec::new(),
        }
    }

    /// The same with one more global secondary index.
    #[must_use]
    pub fn indexed(
        mut self,
        name: impl Into<String>,
        partition_key: impl Into<String>,
        sort_key: impl Into<String>,
    ) -> Self {
        self.indexes.push(IndexSpec {
            name: name.into(),
            partition_key: partition_key.into(),
            sort_key: sort_key.into(),
        });
        self
    }

    /// The attributes that are a partition's key, of the table and of its indexes.
    pub(crate) fn partition_keys(&self) -> Vec<String> {
        let of_indexes = self.indexes.iter().map(|index| &index.partition_key);
        std::iter::once(&self.partition_key)
            .chain(of_indexes)
            .cloned()
            .collect()
    }
}

/// A function binary and how it is run.
#[derive(Clone, Debug)]
pub struct FunctionSpec {
    /// The function's name.
    pub name: String,
    /// The binary that speaks the Lambda Runtime API.
    pub binary: PathBuf,
    /// Which uploads start it.
    pub trigger: Trigger,
    /// The memory size reported to the function; the local cloud reports the peak but does not
    /// enforce it.
    pub memory_mb: u32,
    /// The time limit of one invocation; past it the process is killed.
    pub timeout: Duration,
    /// How many processes may run at once.
    pub concurrency: usize,
    /// The function's rights for S3, `DynamoDB`, Lambda, Secrets Manager and KMS; all rights
    /// without a policy.
    pub policy: Option<Policy>,
    /// Variables for the function in addition to those that Lambda sets.
    pub environment: BTreeMap<String, String>,
}

/// A function that runs by the clock.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The function's name.
    pub function: String,
    /// The time from the start to the first run.
    pub first_after: Duration,
    /// The time between two runs.
    pub every: Duration,
    /// The event, if it is not the usual `EventBridge` one.
    pub input: Option<Value>,
}

/// The uploads that start a function: all whose key begins with `prefix` and ends with `suffix`.
#[derive(Clone, Debug, Default)]
pub struct Trigger {
    /// The bucket to watch.
    pub bucket: String,
    /// The required prefix of keys; empty matches all.
    pub prefix: String,
    /// The required ending of keys; empty matches all.
    pub suffix: String,
}

impl Trigger {
    /// Whether an object written to `bucket` under `key` starts the function.
    ///
    /// ```
    /// use dataperf_local::Trigger;
    /// let trigger = Trigger { bucket: "in".into(), prefix: "speech/".into(), suffix: ".json".into() };
    /// assert!(trigger.matches("in", "speech/a.json"));
    /// assert!(!trigger.matches("in", "vision/a.json"));
    /// ```
    #[must_use]
    pub fn matches(&self, bucket: &str, key: &str) -> bool {
        // a key that is shorter than prefix and suffix together may match both by overlap, as in S3
        // and a function without a bucket is started by none
        self.bucket == bucket && key.starts_with(&self.prefix) && key.ends_with(&self.suffix)
    }
}
