//! From an artifact to its verdict: the same few lines for every benchmark, in the cloud and offline.

use std::sync::Arc;

use tracing::info_span;

use crate::Digest;
use crate::admission::Admission;
use crate::benchmark::Benchmark;
use crate::dataset::{Dataset, DatasetError};
use crate::evidence::{Evidence, Provenance, Weights};
use crate::in_force::unknown_leaderboard;
use crate::ports::bucket::Bucket;
use crate::rejection::{Reason, Rejection};
use crate::replicates::Replicates;
use crate::verdict::{EVALUATOR, Verdict};

/// Judges `artifact` for a leaderboard: its size, its form, the rules, then the score.
///
/// # Errors
/// [`DatasetError`] when the data set can't be read or is damaged. A bad artifact is a verdict, not an error.
///
/// # Panics
/// If the benchmark does not accept its own evidence: a mistake in the program.
pub async fn evaluate<B: Benchmark, S: Bucket>(
    dataset: &Dataset<B, S>,
    leaderboard: &str,
    artifact: &[u8],
) -> Result<Verdict, DatasetError> {
    Ok(scored(dataset, leaderboard, artifact, &Admission::free())
        .await?
        .0)
}

/// As [`evaluate`], with what is kept of a scored submission so that it can be compared with others: the object that
/// [`Replicates::key`] names. What obeys the rules is scored only if it is admitted.
///
/// # Errors
/// As [`evaluate`], and when the table does not say whether it is admitted.
///
/// # Panics
/// As [`evaluate`].
#[tracing::instrument(name = "evaluate", skip_all)]
pub async fn evaluate_to_compare<B: Benchmark, S: Bucket>(
    dataset: &Dataset<B, S>,
    leaderboard: &str,
    artifact: &[u8],
    admission: &Admission<'_>,
) -> Result<(Verdict, Option<Vec<u8>>), DatasetError> {
    let (verdict, evaluated) = scored(dataset, leaderboard, artifact, admission).await?;
    let kept = evaluated.zip(verdict.score).map(|(evaluated, score)| {
        let replicates = info_span!("replicates").in_scope(|| Replicates::of(&evaluated, score));
        let evidence = evaluated.evidence.to_bytes(&evaluated.provenance);
        replicates.and_then(|replicates| replicates.to_bytes(&evidence?))
    });
    #[expect(
        clippy::expect_used,
        reason = "the evidence was made with this very frozen part"
    )]
    let kept = kept.map(|kept| kept.expect("a benchmark accepts its own evidence"));
    Ok((verdict, kept))
}

/// The verdict, and the evidence where it is a score.
async fn scored<B: Benchmark, S: Bucket>(
    dataset: &Dataset<B, S>,
    leaderboard: &str,
    artifact: &[u8],
    admission: &Admission<'_>,
) -> Result<(Verdict, Option<Evaluated<B>>), DatasetError> {
    let evaluated = match gather_admitted(dataset, leaderboard, artifact, admission).await? {
        Ok(evaluated) => evaluated,
        Err(rejection) => {
            let digest = Digest::of(artifact);
            let rejected = Verdict::rejected(
                B::ID,
                leaderboard,
                Some(dataset.digest()),
                Some(digest),
                &rejection,
            );
            return Ok((rejected, None));
        }
    };
    let card = B::score(&evaluated.frozen, &evaluated.evidence, &Weights::ones());
    #[expect(
        clippy::expect_used,
        reason = "the evidence was made with this very frozen part"
    )]
    let card = card.expect("a benchmark accepts its own evidence");
    let verdict = Verdict::scored(
        B::ID,
        leaderboard,
        dataset.digest(),
        evaluated.provenance.artifact,
        card,
    );
    Ok((verdict, Some(evaluated)))
}

/// The evidence of a submission that obeys the rules, and what it is scored with.
pub struct Evaluated<B: Benchmark> {
    /// The frozen part of the leaderboard.
    pub frozen: Arc<B::Frozen>,
    /// What the frozen models answered.
    pub evidence: Evidence,
    /// What the evidence is of.
    pub provenance: Provenance,
}

/// Everything but the score: the artifact's size, its form, the rules, then the frozen models' answers.
///
/// # Errors
/// [`DatasetError`] when the data set can't be read or is damaged. A bad artifact is a rejection, not an error.
pub async fn gather<B: Benchmark, S: Bucket>(
    dataset: &Dataset<B, S>,
    leaderboard: &str,
    artifact: &[u8],
) -> Result<Result<Evaluated<B>, Rejection>, DatasetError> {
    gather_admitted(dataset, leaderboard, artifact, &Admission::free()).await
}

/// [`gather`], where the models are asked only if it is admitted.
async fn gather_admitted<B: Benchmark, S: Bucket>(
    dataset: &Dataset<B, S>,
    leaderboard: &str,
    artifact: &[u8],
    admission: &Admission<'_>,
) -> Result<Result<Evaluated<B>, Rejection>, DatasetError> {
    if let Err(rejection) = check_leaderboard::<B, S>(dataset, leaderboard)? {
        return Ok(Err(rejection));
    }
    let Checked { frozen, checked } = match check(dataset, leaderboard, artifact).await? {
        Ok(checked) => checked,
        Err(rejection) => return Ok(Err(rejection)),
    };
    if let Some(refused) = admission.refusal().await? {
        return Ok(Err(refused.into()));
    }
    let mut evidence = Evidence::default();
    for (part_idx, requests) in B::parts(&checked, &frozen).iter().enumerate() {
        let rows = dataset.rows(requests).await?;
        evidence.append(B::run(&checked, &frozen, part_idx, &rows)?);
    }
    let provenance = Provenance {
        benchmark: B::ID.to_owned(),
        leaderboard: leaderboard.to_owned(),
        dataset: dataset.digest(),
        artifact: Digest::of(artifact),
        evaluator: EVALUATOR.to_owned(),
    };
    Ok(Ok(Evaluated {
        frozen,
        evidence,
        provenance,
    }))
}

/// A submission that obeys the rules, and the frozen part it was held against.
pub struct Checked<B: Benchmark> {
    /// The frozen part of the leaderboard.
    pub frozen: Arc<B::Frozen>,
    /// The submission.
    pub checked: B::Checked,
}

/// Everything before the score: the artifact's size, its form and the rules.
///
/// # Errors
/// [`DatasetError`] when the data set can't be read or is damaged. A bad artifact is a rejection, not an error.
pub async fn check<B: Benchmark, S: Bucket>(
    dataset: &Dataset<B, S>,
    leaderboard: &str,
    artifact: &[u8],
) -> Result<Result<Checked<B>, Rejection>, DatasetError> {
    if artifact.len() as u64 > B::MAX_ARTIFACT_BYTES {
        return Ok(Err(too_large(B::MAX_ARTIFACT_BYTES, artifact.len() as u64)));
    }
    let submission = match B::parse(artifact) {
        Ok(submission) => submission,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let frozen = dataset.frozen(leaderboard).await?;
    let lookups = B::lookups(&submission, &frozen);
    let n_bytes = dataset.n_bytes(&lookups)?;
    if n_bytes > B::MAX_LOOKUP_BYTES {
        return Ok(Err(too_much_to_look_up(B::MAX_LOOKUP_BYTES, n_bytes)));
    }
    let found = dataset.rows(&lookups).await?;
    Ok(B::validate(submission, &frozen, &found).map(|checked| Checked { frozen, checked }))
}

/// The rejection of an artifact that is larger than the `limit` up to which it is read.
pub fn too_large(limit: u64, n_bytes: u64) -> Rejection {
    let message = format!(
        "the file has {n_bytes} bytes, the limit is {limit}: send the submission only, without embeddings or padding"
    );
    Reason::over("too_large", "", limit, n_bytes, message).into()
}

fn too_much_to_look_up(limit: u64, n_bytes: u64) -> Rejection {
    let message = format!(
        "what the submission names has {n_bytes} bytes in the data set, at most {limit} are read before the rules are \
         checked: choose less"
    );
    Reason::over("too_much_to_look_up", "", limit, n_bytes, message).into()
}

fn check_leaderboard<B: Benchmark, S: Bucket>(
    dataset: &Dataset<B, S>,
    leaderboard: &str,
) -> Result<Result<(), Rejection>, DatasetError> {
    let boards = B::leaderboards(dataset.manifest())?;
    if boards.iter().any(|board| board.name == leaderboard) {
        return Ok(Ok(()));
    }
    let names = boards.iter().map(|board| &board.name);
    Ok(Err(unknown_leaderboard(leaderboard, names).into()))
}
