//! S3. `s3s` implements the protocol, signatures and POST policies; this module implements storage
//! and semantics.

mod bodies;
mod copies;
mod failure;
mod forms;
mod headers;
mod index;
mod listing;
mod multipart;
mod objects;
mod operations;
mod recovery;
mod store;

use std::path::Path;
use std::sync::Arc;

use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::S3ServiceBuilder;

use crate::access::{Access, Callers, Keys};
use crate::config::Bucket;
use crate::database::Database;
use crate::error::{DatabaseError, StartError};
use crate::queue::Queue;

use self::bodies::Bodies;
use self::forms::Forms;
pub use self::forms::MAX_FORM_FILE_BYTES;
use self::index::Versioning;
pub(crate) use self::store::Store;

/// The S3 service on what `data_dir` holds.
pub(crate) fn service(store: Store, callers: &Arc<Callers>) -> Forms {
    let mut config = S3Config::default();
    forms::bound(&mut config);
    let mut builder = S3ServiceBuilder::new(store);
    builder.set_auth(Keys(Arc::clone(callers)));
    builder.set_access(Access(Arc::clone(callers)));
    builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
    Forms::new(builder.build())
}

/// Opens the storage: clears up what a crash left over, and makes the buckets that are missing.
pub(crate) fn open(
    dir: &Path,
    database: &Arc<Database>,
    queue: &Arc<Queue>,
    buckets: &[Bucket],
) -> Result<Store, StartError> {
    let bodies = Bodies::open(dir).map_err(|source| StartError::DataDir {
        path: dir.to_owned(),
        source,
    })?;
    recovery::recover(&bodies, database)?;
    let index_failed = |source: DatabaseError| StartError::Index {
        path: database.path().to_owned(),
        source,
    };
    for bucket in buckets {
        if !s3s::path::check_bucket_name(&bucket.name) {
            return Err(StartError::BucketName {
                name: bucket.name.clone(),
            });
        }
        let versioning = if bucket.versioned {
            Versioning::Enabled
        } else {
            Versioning::Never
        };
        database
            .write_now(|transaction| Ok(index::create_bucket(transaction, &bucket.name, versioning)?))
            .map_err(index_failed)?;
    }
    Ok(Store {
        database: Arc::clone(database),
        bodies,
        queue: Arc::clone(queue),
        recent: Arc::default(),
    })
}
