//! From an artifact to its verdict: the same few lines for every benchmark, in the cloud and offline.

use std::sync::Arc;

use tracing::info_span;

use crate::Digest;
use crate::benchmark::dataset::Dataset;
use crate::benchmark::{Benchmark, FrozenPart, NotScored};
use crate::dataset::DatasetError;
use crate::dataset::frozen::{FrozenError, MANIFEST};
use crate::evaluation::admission::Admission;
use crate::programs::rounded;
use crate::receipt::verdict::Verdict;
use crate::rejection::{Reason, Rejection};
use crate::replicates::Replicates;

pub use crate::replicates::evaluated::Evaluated;

/// Judges `artifact` for a leaderboard: its size, its form, the rules, then the score.
///
/// # Errors
/// [`DatasetError`] when the data set can't be read or is damaged. A bad artifact is a verdict, not an error.
///
/// # Panics
/// If the benchmark does not accept its own evidence: a mistake in the program.
pub async fn evaluate<B: Benchmark>(
    dataset: &Dataset<B>,
    leaderboard: &str,
    artifact: &[u8],
) -> Result<Verdict, DatasetError> {
    Ok(scored(dataset, leaderboard, artifact, &Admission::free())
        .await?
        .0)
}

/// Like [`evaluate`], but also returns the replicates of a scored submission, which
/// [`Replicates::key`] names. A submission that obeys the rules is scored only if it is admitted.
/// If `is_rounded`, the score is rounded to the precision that the hidden items support, and the
/// replicates say that it can't be compared with others.
///
/// # Errors
/// As [`evaluate`], and when the table does not say whether it is admitted.
///
/// # Panics
/// As [`evaluate`].
#[tracing::instrument(name = "evaluate", skip_all)]
pub async fn evaluate_to_compare<B: Benchmark>(
    dataset: &Dataset<B>,
    leaderboard: &str,
    artifact: &[u8],
    admission: &Admission<'_>,
    is_rounded: bool,
) -> Result<(Verdict, Option<Vec<u8>>), DatasetError> {
    let (mut verdict, evaluated) = scored(dataset, leaderboard, artifact, admission).await?;
    if let (Some(score), Some(evaluated), true) = (verdict.score, &evaluated, is_rounded) {
        verdict.score = Some(rounded(score, n_items(evaluated)));
    }
    let Some((evaluated, score)) = evaluated.zip(verdict.score) else {
        return Ok((verdict, None));
    };
    let evidence = evaluated.evidence.to_bytes(&evaluated.provenance);
    let evidence = evidence.map_err(|error| FrozenError::damaged(MANIFEST, error.to_string()))?;
    let kept = {
        let replicates = info_span!("replicates").in_scope(|| Replicates::draw(&evaluated, score));
        let replicates = replicates.map(|replicates| {
            if is_rounded {
                replicates.withheld()
            } else {
                replicates
            }
        });
        replicates.and_then(|replicates| replicates.to_bytes(&evidence))
    };
    #[expect(
        clippy::expect_used,
        reason = "the evidence was made with this very frozen part"
    )]
    let kept = kept.expect("a benchmark accepts its own evidence");
    Ok((verdict, Some(kept)))
}

/// How many items the hidden test sets of a board have together.
fn n_items<B: Benchmark>(evaluated: &Evaluated<B>) -> usize {
    let items = evaluated.frozen.eval_items().unwrap_or_default();
    items.iter().map(|(_, items)| items.truth.len()).sum()
}

/// The verdict, and the evidence if there is a score.
async fn scored<B: Benchmark>(
    dataset: &Dataset<B>,
    leaderboard: &str,
    artifact: &[u8],
    admission: &Admission<'_>,
) -> Result<(Verdict, Option<Evaluated<B>>), DatasetError> {
    let evaluated = match gather_admitted(dataset, leaderboard, artifact, admission).await {
        Ok(evaluated) => evaluated,
        Err(not_scored) => {
            let rejection = not_scored.rejection()?;
            let (dataset, artifact) = (dataset.digest(), Digest::compute(artifact));
            let rejected = Verdict::rejected(B::ID, leaderboard, Some(dataset), Some(artifact), &rejection);
            return Ok((rejected, None));
        }
    };
    let card = B::scorecard(&evaluated.frozen, &evaluated.evidence);
    #[expect(
        clippy::expect_used,
        reason = "the evidence was made with this very frozen part"
    )]
    let card = card.expect("a benchmark accepts its own evidence");
    let verdict = Verdict {
        content: B::content_of(artifact).map(|content| Digest::compute(&content)),
        ..Verdict::scored(
            B::ID,
            leaderboard,
            dataset.digest(),
            evaluated.provenance.artifact,
            card,
        )
    };
    Ok((verdict, Some(evaluated)))
}

/// Everything but the score: the artifact's size, its form, the rules, then the frozen models' answers.
///
/// # Errors
/// [`NotScored`] when the artifact is rejected, or the data set can't be read or is damaged.
pub async fn gather<B: Benchmark>(
    dataset: &Dataset<B>,
    leaderboard: &str,
    artifact: &[u8],
) -> Result<Evaluated<B>, NotScored> {
    gather_admitted(dataset, leaderboard, artifact, &Admission::free()).await
}

/// Like [`gather`], but queries the models only if the submission is admitted.
async fn gather_admitted<B: Benchmark>(
    dataset: &Dataset<B>,
    leaderboard: &str,
    artifact: &[u8],
    admission: &Admission<'_>,
) -> Result<Evaluated<B>, NotScored> {
    let (frozen, checked) = checked(dataset, leaderboard, artifact).await?;
    if let Some(refused) = admission.refusal().await.map_err(DatasetError::from)? {
        return Err(refused.into());
    }
    let evidence = B::run(&checked, &frozen, &dataset.files()).await?;
    Ok(Evaluated::new(dataset, leaderboard, artifact, frozen, evidence))
}

/// Everything before the score: the artifact's size, its form and the rules.
///
/// # Errors
/// [`NotScored`] when the artifact is rejected, or the data set can't be read or is damaged.
pub async fn check<B: Benchmark>(
    dataset: &Dataset<B>,
    leaderboard: &str,
    artifact: &[u8],
) -> Result<(), NotScored> {
    checked(dataset, leaderboard, artifact).await.map(drop)
}

/// A submission that obeys the rules, and the frozen part that checked it.
async fn checked<B: Benchmark>(
    dataset: &Dataset<B>,
    leaderboard: &str,
    artifact: &[u8],
) -> Result<(Arc<B::Frozen>, B::Checked), NotScored> {
    dataset.check_board(leaderboard)?;
    if artifact.len() as u64 > B::MAX_ARTIFACT_BYTES {
        return Err(too_large(B::MAX_ARTIFACT_BYTES, artifact.len() as u64).into());
    }
    let frozen = dataset.frozen(leaderboard).await?;
    let checked = B::check(artifact, &frozen, &dataset.files()).await?;
    Ok((frozen, checked))
}

/// The rejection of an artifact that is larger than the `limit` up to which it is read.
pub fn too_large(limit: u64, n_bytes: u64) -> Rejection {
    let message = format!(
        "the file has {n_bytes} bytes, the limit is {limit}: remove what the format does not need, or \
            split a file of lines into several"
    );
    Reason::over("too_large", "", limit, n_bytes, message).into()
}
