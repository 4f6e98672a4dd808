//! Giving an upload up: its submission has failed, and what it had taken of an allowance is given back.

use dataperf::failure::FailureJudge;
use dataperf::workflow::{Ports, Settled, WorkflowError, settle};
use dataperf::{Reason, Upload};

use crate::runtime::now;
use crate::{Allowance, S3Bucket, Table};

/// Settles an upload as failed, unless it has ended. First the allowance that it has taken without a result is given back;
/// a retry is idempotent.
pub(crate) async fn give_up(
    benchmark: &str,
    upload: &Upload,
    reason: Reason,
    leaderboards: &Table,
    results: &S3Bucket,
) -> Result<Settled, WorkflowError> {
    let allowance = Allowance {
        table: leaderboards,
        benchmark,
    };
    allowance.give_back(&upload.id(), None).await?;
    let ports = Ports {
        leaderboards,
        results,
        now: &now,
    };
    settle(upload, FailureJudge { benchmark, reason }, ports).await
}
