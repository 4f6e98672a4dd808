//! Tests a data set before publication. It scores the largest artifact that the rules allow and the
//! model's hardest one, within half of the function's limits.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use dataperf::benchmark::{FrozenPart, Leaderboard};
use dataperf::dataset::Integrity;
use dataperf::dataset::frozen::Manifest;
use dataperf::evaluation::admission::Admission;
use dataperf::evaluation::evaluate::evaluate_to_compare;
use dataperf::{Ending, Verdict};
use dataperf_benchmarks::IDS;
use dataperf_benchmarks::own_data::NOT_FITTED;
use dataperf_datasets::Import;
use dataperf_hosted::deployment::{OWN_DATA_MB, OWN_DATA_SECONDS};
use serde::Serialize;

use crate::commands::participant::score::open;
use crate::output::progress::waiting;
use crate::registry::{Action, with_benchmark};

/// The share of this time and memory that the largest artifact may take.
const SHARE: f64 = 0.5;

/// How one board's largest artifact did.
#[derive(Debug, Serialize)]
pub(super) struct Trial {
    pub(super) leaderboard: String,
    pub(super) artifact_bytes: usize,
    pub(super) score: f64,
    /// The cost of the trial, or of the hardest artifact if that took longer.
    pub(super) seconds: f64,
    /// The most memory that this process had, where the system says.
    pub(super) peak_mb: Option<u64>,
}

/// Tries every board of a data set on disk. Benchmarks that can make no such artifact are not tried.
///
/// # Errors
/// When one is not scored, or takes more than half of the function's time or memory: with what to change.
pub(super) async fn try_all(directory: &Path, manifest: &Manifest) -> Result<Vec<Trial>> {
    if !IDS.contains(&manifest.benchmark.as_str()) {
        return Ok(Vec::new()); // without a frozen model
    }
    let task = TryAll { directory, manifest };
    let spinner = waiting("scoring the largest artifacts");
    let trials = with_benchmark(&manifest.benchmark, task).await;
    spinner.finish_and_clear();
    let trials = trials?;
    for trial in &trials {
        let Trial {
            leaderboard, seconds, ..
        } = trial;
        if *seconds > SHARE * f64::from(OWN_DATA_SECONDS) {
            bail!(
                "an artifact of the leaderboard `{leaderboard}` can take {seconds:.0} s to score here, and half of the function's \
                 {OWN_DATA_SECONDS} s is the limit: allow fewer examples, make the test set smaller, or choose another model"
            );
        }
        if let Some(mb) = trial
            .peak_mb
            .filter(|&mb| mb as f64 > SHARE * f64::from(OWN_DATA_MB))
        {
            bail!(
                "scoring an artifact of the leaderboard `{leaderboard}` can take {mb} MB of memory, and half of the function's \
                 {OWN_DATA_MB} MB is the limit: allow fewer examples, or make the test set smaller"
            );
        }
    }
    Ok(trials)
}

struct TryAll<'a> {
    directory: &'a Path,
    manifest: &'a Manifest,
}

impl Action for TryAll<'_> {
    type Output = Vec<Trial>;

    async fn run<B: Import>(self) -> Result<Vec<Trial>> {
        let mut trials = Vec::new();
        for Leaderboard { name, .. } in B::Frozen::leaderboards(self.manifest)? {
            let dataset = open::<B>(self.directory, &name, Integrity::Sizes).await?;
            let Some(largest) = B::largest_artifact(&dataset, &name).await? else {
                continue;
            };
            let hardest = B::hardest_artifact(&dataset, &name).await?;
            drop(dataset); // what a trial takes is measured from nothing on
            let (verdict, seconds, peak) = self.evaluated::<B>(&name, &largest).await?;
            let mut trial = Trial {
                artifact_bytes: largest.len(),
                score: scored(&name, &verdict)?,
                leaderboard: name,
                seconds,
                peak_mb: peak,
            };
            if let Some(hardest) = hardest {
                // whether the model can be fitted to it does not matter, only what that takes
                let (_, seconds, peak) = self.evaluated::<B>(&trial.leaderboard, &hardest).await?;
                trial.seconds = trial.seconds.max(seconds);
                trial.peak_mb = trial.peak_mb.max(peak);
            }
            trials.push(trial);
        }
        Ok(trials)
    }
}

impl TryAll<'_> {
    /// The verdict on an artifact, and the seconds and the memory that it took.
    async fn evaluated<B: Import>(
        &self,
        leaderboard: &str,
        artifact: &[u8],
    ) -> Result<(Verdict, f64, Option<u64>)> {
        reset_peak_memory();
        let began = Instant::now();
        let dataset = open::<B>(self.directory, leaderboard, Integrity::Sizes).await?;
        let dataset = dataset.with_parameters(B::prolong);
        // including the stored replicates, as in the benchmark's function
        let (verdict, _) =
            evaluate_to_compare(&dataset, leaderboard, artifact, &Admission::free(), false).await?;
        Ok((verdict, began.elapsed().as_secs_f64(), peak_mb()))
    }
}

fn scored(leaderboard: &str, verdict: &Verdict) -> Result<f64> {
    if verdict.status == Ending::Scored {
        return verdict.score.context("a scored verdict has a score");
    }
    let reasons: Vec<&str> = verdict
        .reasons
        .iter()
        .map(|reason| reason.message.as_str())
        .collect();
    let is_not_fitted = verdict.reasons.iter().any(|reason| reason.code == NOT_FITTED);
    let remedy = if is_not_fitted {
        ". Scale the features to about 1, or use a lower `C` or a higher `tol`"
    } else {
        ""
    };
    bail!(
        "the largest artifact of the leaderboard `{leaderboard}` is rejected: {}{remedy}",
        reasons.join("; ")
    )
}

/// Resets the peak of this process's memory, if the system can (Linux).
fn reset_peak_memory() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The peak of this process's memory, where the system says it (Linux).
fn peak_mb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kb: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kb / 1024)
}
