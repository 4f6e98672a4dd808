//! The cloud on one machine: S3, `DynamoDB` and Lambda for real clients and the real function binaries.
//!
//! [`LocalCloud::start`] opens an S3 and a `DynamoDB` endpoint that any AWS client can use (access key `local`, secret
//! `local`), and runs function binaries when objects arrive, by the protocol and the rules of Lambda: one process an
//! invocation at a time, a time limit, retries with back-off, and a record of every event that failed for good. All
//! state is in one directory; an event is queued in the transaction that makes its object visible, so neither a crash
//! nor a restart loses one.
//!
//! The key is known to everybody, so the ports are open to this machine's programs and to no page in a browser but the
//! cloud's own; an address that other machines can reach needs a key of its own.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use dataperf_local::{Bucket, Config, LocalCloud, TableSpec};
//!
//! let dir = tempfile::tempdir()?;
//! let mut config = Config::new(dir.path());
//! config.buckets = vec![Bucket::versioned("submissions")];
//! config.table = Some(TableSpec::new("books", "author", "title"));
//! let cloud = LocalCloud::start(config).await?;
//! assert!(cloud.s3_endpoint().starts_with("http://127.0.0.1:"));
//! assert_eq!(cloud.snapshot().await?.n_waiting, 0);
//! cloud.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod access;
mod arns;
mod body;
mod cloud;
mod config;
mod data_dir;
mod database;
mod dynamodb;
mod error;
mod faults;
mod host;
mod ids;
pub mod image_service;
mod lock;
mod policy;
mod queue;
mod s3;
mod serve;
mod services;
mod status;

pub use arns::{ACCOUNT_ID, REGION};
pub use cloud::LocalCloud;
pub use config::{
    ACCESS_KEY_ID, AccessKey, Bucket, Config, FunctionSpec, Identity, IndexSpec, OutsideService,
    SECRET_ACCESS_KEY, Schedule, TableSpec, Trigger,
};
pub use error::{DatabaseError, InvokeError, StartError, WaitError};
#[cfg(feature = "faults")]
pub use faults::exposure::Shortage;
#[cfg(feature = "faults")]
pub use faults::storm::Storm;
#[cfg(feature = "faults")]
pub use faults::switches::{Faults, Moment};
pub use policy::{Policy, PolicyError};
pub use queue::failure_record::OnFailureRecord;
pub use s3::MAX_FORM_FILE_BYTES;
pub use status::{FunctionSnapshot, Metric, Snapshot, Times};
