//! The stores that scores are read from and written to.

use dataperf::evaluation::workflow::Ports;
use dataperf_aws::{ReceiptKeys, S3Bucket, Table, now};

/// The stores for decisions and scores.
#[derive(Debug, Clone)]
pub struct Places {
    /// The table.
    pub table: Table,
    /// The bucket of data sets.
    pub datasets: S3Bucket,
    /// The bucket of receipts.
    pub results: S3Bucket,
    /// The key that receipts are signed with.
    pub signer: ReceiptKeys,
}

impl Places {
    /// The resources for writing scores.
    pub fn ports(&self) -> Ports<'_> {
        Ports {
            leaderboards: &self.table,
            results: &self.results,
            signer: &self.signer,
            now: &now,
        }
    }
}
