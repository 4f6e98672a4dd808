//! `dataperf audit effect`: standing submissions on two versions of a data set.

mod candidates;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use bytes::Bytes;
use clap::Args;
use dataperf::benchmark::FrozenPart;
use dataperf::benchmark::dataset::Dataset;
use dataperf::benchmark::{NotScored, PUBLIC};
use dataperf::board::{Board, OPEN_ROUND};
use dataperf::comparison::correction::{Effect, OnBoth};
use dataperf::dataset::Integrity;
use dataperf::dataset::frozen::{Corrected, Manifest};
use dataperf::evaluation::evaluate::{Evaluated, gather};
use dataperf::evidence::{Evidence, Provenance, Weights};
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::replicates::Replicates;
use dataperf::{Benchmark, Direction, pointer};
use dataperf_aws::S3Bucket;
use dataperf_datasets::Import;
use serde_json::{Map, Value};

use self::candidates::{Candidate, Source, candidates_in, candidates_of};
use super::effect_report::{self, Errors, Gathered, LeftOut};
use crate::Done;
use crate::cloud::known::Known;
use crate::cloud::{Cloud, CloudArgs};
use crate::commands::participant::score::{open as open_board, read_for};
use crate::hosted::descriptor;
use crate::on_disk::{Opened, open_verified};
use crate::output::progress;
use crate::output::rows::RowFormat;
use crate::output::{check_new_files, write_new};
use crate::registry::{Action, with_benchmark};

#[derive(Debug, Args)]
pub(crate) struct EffectArgs {
    /// The frozen data set that the board is scored with
    before: PathBuf,
    /// The corrected data set
    after: PathBuf,
    /// The leaderboard
    #[arg(long, short)]
    leaderboard: String,
    /// The round, for a board in a cloud
    #[arg(long, default_value = OPEN_ROUND, conflicts_with = "submissions")]
    round: String,
    /// Score the artifacts of this folder (SUBMITTER/FILE) instead of a board's
    #[arg(long, value_name = "DIR")]
    submissions: Option<PathBuf>,
    /// Write the report to this new Markdown file
    #[arg(long, value_name = "FILE.md")]
    report: Option<PathBuf>,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// The most submissions that are listed as not compared.
const MAX_LEFT_OUT: usize = 20;

pub(super) async fn run(args: EffectArgs, format: RowFormat) -> Result<Done> {
    check_new_files(&[args.report.as_deref()])?;
    let opened = (open_verified(&args.before)?, open_verified(&args.after)?);
    let candidates = if let Some(folder) = &args.submissions {
        (candidates_in(folder)?, Vec::new(), None)
    } else {
        let cloud = args.cloud.clone().connect().await?;
        let board = Board {
            benchmark: opened.0.manifest.benchmark.clone(),
            leaderboard: args.leaderboard.clone(),
            round: args.round.clone(),
        };
        let known = Known::read(&cloud, &board.benchmark).await?;
        known.check(Some(&board.leaderboard), Some(&board.round))?;
        let (candidates, left_out) = candidates_of(&cloud, &board, opened.0.digest).await?;
        (candidates, left_out, Some(cloud))
    };
    let gathered = gathered(&args.before, &args.after, &opened, &args.leaderboard, candidates).await?;
    if gathered.effect.lines.is_empty() && !gathered.left_out.is_empty() {
        let left_out = gathered.left_out.iter().take(MAX_LEFT_OUT);
        let why: Vec<String> = left_out.map(|one| format!("{}: {}", one.name, one.why)).collect();
        bail!(
            "none of {} submissions can be compared. Name as BEFORE the data set that the board is scored \
             with now; give this command before `dataperf dataset publish --replace` and `dataperf rescore`\n  \
             - {}",
            gathered.left_out.len(),
            why.join("\n  - ")
        );
    }
    if let Some(path) = &args.report {
        let document = effect_report::markdown(&gathered);
        write_new(path, &document)?;
    }
    effect_report::print(&gathered, format)?;
    Ok(Done::Fine)
}

/// The effect on the submissions of a cloud's board.
#[cfg(feature = "local")]
pub(crate) async fn of_cloud(cloud: &Cloud, board: &Board, before: &Path, after: &Path) -> Result<Gathered> {
    let opened = (open_verified(before)?, open_verified(after)?);
    let (candidates, left_out) = candidates_of(cloud, board, opened.0.digest).await?;
    let candidates = (candidates, left_out, Some(cloud.clone()));
    gathered(before, after, &opened, &board.leaderboard, candidates).await
}

type Candidates = (Vec<Candidate>, Vec<LeftOut>, Option<Cloud>);

async fn gathered(
    before: &Path,
    after: &Path,
    opened: &(Opened, Opened),
    leaderboard: &str,
    (candidates, left_out, cloud): Candidates,
) -> Result<Gathered> {
    let (of_before, of_after) = (&opened.0.manifest, &opened.1.manifest);
    if of_before.benchmark != of_after.benchmark {
        bail!(
            "`{}` is a data set of {}, and `{}` of {}: name two versions of one",
            before.display(),
            of_before.benchmark,
            after.display(),
            of_after.benchmark
        );
    }
    super::check_has_labels(of_before)?;
    for (path, manifest) in [(before, of_before), (after, of_after)] {
        if !manifest.files.keys().any(|file| !file.starts_with(PUBLIC)) {
            bail!(
                "`{}` is a participants' kit without a hidden test set: name the organizer's data set",
                path.display()
            );
        }
    }
    let corrected = of_after.corrected.as_ref();
    let task = OnBothVersions {
        before: (before, of_before),
        after: (after, of_after),
        corrected: corrected.filter(|corrected| corrected.parent == opened.0.digest),
        leaderboard,
        candidates,
        cloud: cloud.as_ref(),
    };
    let Scored {
        submissions,
        errors,
        n_from_evidence,
        other_differences,
        left_out: refused,
        direction,
    } = with_benchmark(&of_before.benchmark, task).await?;
    Ok(Gathered {
        benchmark: of_before.benchmark.clone(),
        leaderboard: leaderboard.to_owned(),
        before: opened.0.digest,
        after: opened.1.digest,
        n_reviewed: errors.last().and_then(|error| error.n_reviewed),
        errors,
        effect: Effect::compute(&submissions, direction),
        other_differences,
        n_from_evidence,
        left_out: [left_out, refused].concat(),
    })
}

/// Finds the places where two documents differ, as JSON pointers. Objects are compared member by member.
fn differing(one: &Value, other: &Value, at: &str, places: &mut Vec<String>) {
    let (Value::Object(of_one), Value::Object(of_other)) = (one, other) else {
        if one != other {
            places.push(at.to_owned());
        }
        return;
    };
    let keys: BTreeSet<&String> = of_one.keys().chain(of_other.keys()).collect();
    for key in keys {
        let member = |object: &Map<String, Value>| object.get(key).cloned().unwrap_or_default();
        differing(&member(of_one), &member(of_other), &pointer(at, key), places);
    }
}

/// Scores candidates on both versions.
struct OnBothVersions<'a> {
    before: (&'a Path, &'a Manifest),
    after: (&'a Path, &'a Manifest),
    /// The corrections that the version after lists, if it was made from the version before.
    corrected: Option<&'a Corrected>,
    leaderboard: &'a str,
    candidates: Vec<Candidate>,
    cloud: Option<&'a Cloud>,
}

struct Scored {
    submissions: Vec<OnBoth>,
    errors: Vec<Errors>,
    other_differences: Vec<String>,
    n_from_evidence: usize,
    left_out: Vec<LeftOut>,
    direction: Direction,
}

/// Both versions of a board, ready to score.
struct Versions<B: Benchmark> {
    before: (Dataset<B>, Arc<B::Frozen>),
    after: (Dataset<B>, Arc<B::Frozen>),
    /// Whether they differ in test labels only, so that evidence of one is evidence of the other.
    is_same_but_labels: bool,
}

type Pair = (Arc<Replicates>, Arc<Replicates>);

impl Action for OnBothVersions<'_> {
    type Output = Scored;

    async fn run<B: Import>(self) -> Result<Scored> {
        let version = async |directory| -> Result<_> {
            let dataset = open_board::<B>(directory, self.leaderboard, Integrity::Sizes).await?;
            let frozen = dataset.frozen(self.leaderboard).await?;
            Ok((dataset, frozen))
        };
        let (before, after) = (version(self.before.0).await?, version(self.after.0).await?);
        let errors = self.errors::<B>(&before.1)?;
        let versions = Versions::<B> {
            before,
            after,
            is_same_but_labels: self.is_same_but_labels::<B>()?,
        };
        let bar = progress::counting(self.candidates.len() as u64, "scoring on both versions");
        let (mut submissions, mut left_out, mut n_from_evidence) = (Vec::new(), Vec::new(), 0);
        for candidate in &self.candidates {
            let kept = versions
                .is_same_but_labels
                .then(|| versions.of_kept(candidate))
                .flatten();
            n_from_evidence += usize::from(kept.is_some());
            let scored = match kept {
                Some(pair) => Ok(pair),
                None => self.evaluated(&versions, candidate).await?,
            };
            match scored {
                Ok((before, after)) => submissions.push(OnBoth {
                    name: candidate.name.clone(),
                    submission: candidate.submission.clone(),
                    is_baseline: candidate.is_baseline,
                    before,
                    after,
                }),
                Err(why) => left_out.push(LeftOut {
                    name: candidate.name.clone(),
                    why,
                }),
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(Scored {
            submissions,
            errors,
            other_differences: self.other_differences::<B>()?,
            n_from_evidence,
            left_out,
            direction: descriptor(B::ID)?.direction,
        })
    }
}

impl OnBothVersions<'_> {
    /// How many labels of the board's test sets differ.
    fn errors<B: Import>(&self, frozen: &B::Frozen) -> Result<Vec<Errors>> {
        let units: Vec<String> = frozen.eval_items()?.into_iter().map(|(name, _)| name).collect();
        let mut errors = Vec::new();
        let sets = B::labelled(self.after.1)?;
        for set in B::labelled(self.before.1)?
            .iter()
            .filter(|set| units.contains(&set.name))
        {
            let before = set.labels(self.before.0, self.before.1)?;
            let Some(of_after) = sets.iter().find(|after| after.name == set.name) else {
                continue;
            };
            let after = of_after.labels(self.after.0, self.after.1)?;
            if before.len() != after.len() {
                bail!(
                    "the test set `{}` has {} items before and {} after: name two versions of one data set",
                    set.name,
                    before.len(),
                    after.len()
                );
            }
            let n_changed = before
                .iter()
                .zip(&after)
                .filter(|(before, after)| before != after)
                .count();
            errors.push(Errors::count(&set.name, before.len(), n_changed, self.corrected));
        }
        if errors.len() > 1 {
            errors.push(Errors::together(&errors));
        }
        Ok(errors)
    }

    /// Differences other than label files: parameters and files, by their names in the manifest.
    fn other_differences<B: Import>(&self) -> Result<Vec<String>> {
        let (before, after) = (self.before.1, self.after.1);
        let sets = (B::labelled(before)?, B::labelled(after)?);
        let labels: Vec<&str> = sets
            .0
            .iter()
            .chain(&sets.1)
            .map(|set| set.labels.file())
            .collect();
        let mut of_parameters = Vec::new();
        differing(&before.parameters, &after.parameters, "", &mut of_parameters);
        let digest = |manifest: &Manifest, path: &str| manifest.files.get(path).map(|entry| entry.digest);
        let paths: BTreeSet<&String> = before.files.keys().chain(after.files.keys()).collect();
        let of_files = paths.into_iter().filter(|path| {
            let is_of_labels =
                *path == dataperf::dataset::frozen::CORRECTIONS || labels.contains(&path.as_str());
            !is_of_labels && digest(before, path) != digest(after, path)
        });
        let parameters = of_parameters.iter().map(|at| format!("the parameter `{at}`"));
        Ok(parameters
            .chain(of_files.map(|path| format!("the file `{path}`")))
            .collect())
    }

    fn is_same_but_labels<B: Import>(&self) -> Result<bool> {
        let ((before, of_before), (after, of_after)) = (self.before, self.after);
        let sets = (B::labelled(of_before)?, B::labelled(of_after)?);
        let may_differ = |path: &str| {
            path == dataperf::dataset::frozen::CORRECTIONS
                || sets.0.iter().any(|set| set.labels.file() == path)
        };
        let paths = of_before.files.keys().chain(of_after.files.keys());
        let is_equal = |path: &String| {
            of_before.files.get(path).map(|entry| entry.digest)
                == of_after.files.get(path).map(|entry| entry.digest)
        };
        let mut is_same = of_before.parameters == of_after.parameters
            && sets.0 == sets.1
            && paths.into_iter().all(|path| may_differ(path) || is_equal(path));
        for set in sets.0.iter().filter(|set| set.rows.file == set.labels.file()) {
            is_same = is_same && set.rows.read(before, of_before)? == set.rows.read(after, of_after)?;
        }
        Ok(is_same)
    }

    /// Evaluates a candidate from its artifact. A sentence says why, if the artifact breaks a rule or is missing.
    async fn evaluated<B: Import>(
        &self,
        versions: &Versions<B>,
        candidate: &Candidate,
    ) -> Result<Result<Pair, String>> {
        let too_large = || {
            Ok(Err(format!(
                "its artifact has more than {} bytes",
                B::MAX_ARTIFACT_BYTES
            )))
        };
        let artifact = match &candidate.artifact {
            Source::File(path) => match read_for::<B>(path) {
                Ok(Ok(artifact)) => Bytes::from(artifact),
                Ok(Err(rejection)) => {
                    let first = rejection.reasons().first();
                    return Ok(Err(
                        first.map_or_else(String::new, |reason| reason.message.clone())
                    ));
                }
                Err(error) => return Ok(Err(format!("{error:#}"))),
            },
            Source::Uploaded(upload) => {
                let Some(cloud) = self.cloud else {
                    return Ok(Err("it has no cloud".into()));
                };
                let bucket = S3Bucket::new(cloud.clients.s3.clone(), &upload.bucket);
                match bucket
                    .get(&upload.key, upload.version.as_deref(), B::MAX_ARTIFACT_BYTES)
                    .await?
                {
                    Got::Object(object) => object.bytes,
                    Got::TooLarge { .. } => return too_large(),
                    Got::Missing => return Ok(Err("its artifact is not in the bucket any more".into())),
                }
            }
        };
        let mut scored = Vec::new();
        for (dataset, _) in [&versions.before, &versions.after] {
            let evaluated = match gather(dataset, self.leaderboard, &artifact).await {
                Ok(evaluated) => evaluated,
                Err(NotScored::Dataset(error)) => return Err(error.into()),
                Err(NotScored::Rejected(rejection)) => {
                    let reasons: Vec<&str> = rejection
                        .reasons()
                        .iter()
                        .map(|reason| reason.message.as_str())
                        .collect();
                    return Ok(Err(format!("it is rejected: {}", reasons.join("; "))));
                }
            };
            let own = replicates::<B>(
                evaluated.frozen,
                evaluated.evidence.clone(),
                evaluated.provenance.clone(),
            )?;
            if scored.is_empty() && versions.is_same_but_labels {
                let frozen = versions.after.1.clone();
                if let Ok(after) = replicates::<B>(frozen, evaluated.evidence, evaluated.provenance) {
                    return Ok(Ok((own, after)));
                }
            }
            scored.push(own);
        }
        let [before, after] = <[Arc<Replicates>; 2]>::try_from(scored)
            .map_err(|_| anyhow::anyhow!("two versions were scored"))?;
        Ok(Ok((before, after)))
    }
}

impl<B: Benchmark> Versions<B> {
    /// Both scores, computed from stored evidence. `None` if the evidence is missing, gives another
    /// score than the board, or lacks data that the other version needs.
    fn of_kept(&self, candidate: &Candidate) -> Option<Pair> {
        let kept = candidate.kept.as_ref()?;
        let head = Replicates::from_bytes(&candidate.name, kept).ok()?;
        let evidence = kept.get(head.header.evidence_begin()..)?;
        let (provenance, evidence) = Evidence::from_bytes(evidence).ok()?;
        let before = replicates::<B>(self.before.1.clone(), evidence.clone(), provenance.clone()).ok()?;
        let after = replicates::<B>(self.after.1.clone(), evidence, provenance).ok()?;
        (candidate.recorded == Some(before.header.score)).then_some((before, after))
    }
}

/// The score of the evidence and its replicates. `frozen` is of the data set that the evidence is from, or of a version with other labels.
fn replicates<B: Benchmark>(
    frozen: Arc<B::Frozen>,
    evidence: Evidence,
    provenance: Provenance,
) -> Result<Arc<Replicates>> {
    let score = B::score(&frozen, &evidence, &Weights::ones())?.score;
    let evaluated = Evaluated::<B> {
        frozen,
        evidence,
        provenance,
    };
    Ok(Arc::new(Replicates::draw(&evaluated, score)?))
}
