//! Giving an upload up: its submission has failed.

use dataperf::evaluation::failure_judge::FailureJudge;
use dataperf::evaluation::workflow::{Ports, Settled, WorkflowError, settle};
use dataperf::ports::PortError;
use dataperf::{Descriptor, Ending, Reason, Upload};
use futures_util::future::LocalBoxFuture;

use crate::runtime::now;
use crate::{ReceiptKeys, S3Bucket, Table};

/// Called when an upload to a benchmark is given up. It returns unused allowances. Retries are
/// idempotent.
pub type GiveBack = for<'a> fn(
    table: &'a Table,
    benchmark: &'a str,
    upload: &'a Upload,
) -> LocalBoxFuture<'a, Result<(), PortError>>;

/// Settles an upload as failed, unless it has ended.
pub(crate) async fn give_up(
    hosted: &'static Descriptor,
    upload: &Upload,
    reason: Reason,
    leaderboards: &Table,
    results: &S3Bucket,
    signer: &ReceiptKeys,
) -> Result<Settled, WorkflowError> {
    let ports = Ports {
        leaderboards,
        results,
        signer,
        now: &now,
    };
    let settled = settle(upload, FailureJudge { hosted, reason }, ports).await?;
    let receipt = &settled.receipt;
    if receipt.verdict.status == Ending::Scored {
        // who recorded the score may have been killed before the board was projected
        leaderboards
            .note_change(&receipt.board(), &receipt.submitter)
            .await?;
    }
    Ok(settled)
}
