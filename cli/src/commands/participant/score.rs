//! `dataperf score` and `dataperf validate`: the function's own code, on a data set on disk.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::benchmark::FrozenPart;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::dataset::frozen::{FrozenError, MANIFEST};
use dataperf::evaluation::evaluate::{check, evaluate, too_large};
use dataperf::{Benchmark, Digest, Ending, Reason, Reasons, Rejection, Verdict, offer};
use dataperf_collections::common::offline::{NOT_CHECKED, OTHER_BOARDS};
use dataperf_datasets::{DirectoryBucket, Import};
use serde_json::{Value, json};

use crate::Done;
use crate::extension::Extension;
use crate::hosted::leaderboards;
use crate::import::ImportSource;
use crate::on_disk::{damages, open as open_manifest, refuse_damaged};
use crate::output::figure::Figure;
use crate::output::progress::waiting;
use crate::output::rows::{OF_VERDICTS, RowFormat, of_verdict, print_tabled};
use crate::output::{check_files, n_of, print_verdict};
use crate::registry::{Action, extension, with_benchmark};

/// The largest participants' kit, in bytes, whose digests are checked each time. A kit came over a
/// network, and checking this much takes a part of a second.
const MAX_HASHED_BYTES: u64 = 256 << 20;

/// The artifact, and the rules or data set to check it with.
#[derive(Debug, Args)]
pub(crate) struct ArtifactArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The leaderboard, such as `en-25` (listed by `dataperf dataset show`)
    #[arg(long, short)]
    leaderboard: String,
    /// The data set's directory, its source (`score` only), or a participants' kit
    #[arg(long, short)]
    dataset: PathBuf,
    /// The artifact: the file you would upload
    artifact: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    artifact: ArtifactArgs,
    /// Write the curves of `vision-debugging` as a figure
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// Judges the artifact and prints the verdict.
pub(crate) async fn score(args: ScoreArgs, format: RowFormat) -> Result<Done> {
    let ScoreArgs { artifact: args, plot } = args;
    check_files(&[plot.as_deref()])?;
    let ArtifactArgs {
        benchmark,
        leaderboard,
        dataset,
        artifact,
    } = args;
    let scratch = tempfile::tempdir()?;
    let dataset = if dataset.is_dir() && !dataset.join(MANIFEST).exists() {
        let out = scratch.path().join("frozen");
        let source = ImportSource {
            from: &dataset,
            out: &out,
        };
        with_benchmark(&benchmark, source).await.with_context(|| {
            format!(
                "`{}` has no `{MANIFEST}`, and can't be imported as the source of a data set",
                dataset.display()
            )
        })?;
        out
    } else {
        dataset
    };
    let judge = Judge {
        leaderboard: &leaderboard,
        dataset: &dataset,
        artifact: &artifact,
        integrity: Integrity::Sizes,
    };
    let spinner = waiting("scoring");
    let verdict = with_benchmark(&benchmark, judge).await;
    spinner.finish_and_clear();
    let verdict = verdict?;
    let figure = Figure::from_verdict(&verdict);
    if plot.is_some() && figure.is_none() && verdict.status == Ending::Scored {
        bail!("{benchmark} has no curves to plot: leave `--plot` out")
    }
    let manifest = open_manifest(&dataset)?.manifest;
    let mut boards = leaderboards(&manifest)?.into_iter();
    let digits = boards
        .find(|board| board.name == leaderboard)
        .and_then(|board| board.digits);
    print_judged(&verdict, digits, format, || {
        if let Some(figure) = &figure {
            print!("{}\n", figure.text()?);
        }
        Ok(())
    })?;
    if let (Some(path), Some(figure)) = (plot, figure) {
        figure.write(&path)?;
    }
    Ok(done(&verdict))
}

/// Checks form and rules, and prints that they hold or what breaks them.
pub(crate) async fn validate(args: ArtifactArgs, format: RowFormat) -> Result<Done> {
    let ArtifactArgs {
        benchmark,
        leaderboard,
        dataset,
        artifact,
    } = args;
    if let Some(extension) = extension(&benchmark) {
        return validate_lines(extension, &leaderboard, &dataset, &artifact, format);
    }
    let check = Check {
        leaderboard: &leaderboard,
        dataset: Some(&dataset),
        artifact: &artifact,
    };
    let Some(verdict) = with_benchmark(&benchmark, check).await? else {
        let document = json!({ "status": "valid", "benchmark": benchmark, "leaderboard": leaderboard });
        let rows = || vec![document.clone()];
        print_tabled(
            || Ok(document.clone()),
            &OF_VERDICTS,
            rows,
            format,
            || {
                println!("{benchmark} {leaderboard}: valid");
                Ok(())
            },
        )?;
        return Ok(Done::Fine);
    };
    print_judged(&verdict, None, format, || Ok(()))?;
    Ok(Done::Rejected)
}

/// Checks each line of a file against the rules, and prints the verdict that a function would give,
/// as far as it is known here.
fn validate_lines(
    extension: &dyn Extension,
    id_name: &str,
    directory: &Path,
    artifact: &Path,
    format: RowFormat,
) -> Result<Done> {
    let about = extension.descriptor();
    let opened = open_manifest(directory)?;
    if opened.manifest.benchmark != about.id {
        bail!(
            "the data set `{}` is for `{}`, not for `{}`: name a data set or a kit of that benchmark",
            directory.display(),
            opened.manifest.benchmark,
            about.id
        );
    }
    let n_bytes: u64 = opened.manifest.files.values().map(|file| file.n_bytes).sum();
    if n_bytes <= MAX_HASHED_BYTES {
        refuse_damaged(directory, &damages(directory, &opened.manifest))?;
    }
    let verdict = match read(artifact, about.max_artifact_bytes)? {
        Artifact::Bytes(file) => extension.verdict(directory, &opened, id_name, &file)?,
        Artifact::TooLarge { n_bytes } => {
            extension.verdict(directory, &opened, id_name, b"")?; // an unknown name is a wrong call, whatever the file
            let rejection = too_large((about.max_bytes_of_kind)(id_name), n_bytes);
            Verdict::rejected(about.id, id_name, Some(opened.digest), None, &rejection)
        }
    };
    let lines = verdict.lines.iter();
    let n_rejected = lines.filter(|line| line.status == Ending::Rejected).count();
    print_judged(&verdict, None, format, || {
        if n_rejected > 0 {
            let n = verdict.lines.len();
            println!("{n_rejected} of {} would be rejected", n_of(n, "line", "lines"));
        }
        let listed = |name: &str| {
            verdict
                .metrics
                .get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        for line in listed(OTHER_BOARDS) {
            println!("line {line} counts on another leaderboard than `{id_name}`");
        }
        for unknown in listed(NOT_CHECKED).filter_map(Value::as_str) {
            println!("not known here: {unknown}");
        }
        Ok(())
    })?;
    let is_fine = verdict.status != Ending::Rejected && n_rejected == 0;
    Ok(if is_fine { Done::Fine } else { Done::Rejected })
}

/// Prints a verdict, and as text what `more` prints after it.
pub(crate) fn print_judged(
    verdict: &Verdict,
    digits: Option<u8>,
    format: RowFormat,
    more: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let rows = || of_verdict(verdict);
    print_tabled(
        || Ok(verdict),
        &OF_VERDICTS,
        rows,
        format,
        || {
            print_verdict(verdict, digits);
            more()
        },
    )
}

/// The exit code for a verdict.
pub(crate) fn done(verdict: &Verdict) -> Done {
    if verdict.status == Ending::Rejected {
        Done::Rejected
    } else {
        Done::Fine
    }
}

/// Judges an artifact on disk.
pub(crate) struct Judge<'a> {
    pub(crate) leaderboard: &'a str,
    pub(crate) dataset: &'a Path,
    pub(crate) artifact: &'a Path,
    pub(crate) integrity: Integrity,
}

impl Action for Judge<'_> {
    type Output = Verdict;

    async fn run<B: Import>(self) -> Result<Verdict> {
        let dataset = open::<B>(self.dataset, self.leaderboard, self.integrity).await?;
        match read_for::<B>(self.artifact)? {
            Ok(bytes) => Ok(evaluate(&dataset, self.leaderboard, &bytes).await?),
            Err(rejection) => Ok(Verdict::rejected(
                B::ID,
                self.leaderboard,
                Some(dataset.digest()),
                None,
                &rejection,
            )),
        }
    }
}

/// Checks a file's size, its form and, with a data set or a participants' kit, its rules. Nothing
/// more is possible before the upload.
pub(crate) struct Check<'a> {
    pub(crate) leaderboard: &'a str,
    pub(crate) dataset: Option<&'a Path>,
    pub(crate) artifact: &'a Path,
}

impl Action for Check<'_> {
    /// The verdict that refuses the file, if one does.
    type Output = Option<Verdict>;

    async fn run<B: Import>(self) -> Result<Option<Verdict>> {
        let dataset = match self.dataset {
            Some(directory) => Some(open::<B>(directory, self.leaderboard, Integrity::Sizes).await?),
            None => None,
        };
        let rejected = |artifact: Option<Digest>, rejection: &Rejection| {
            let dataset = dataset.as_ref().map(Dataset::digest);
            Some(Verdict::rejected(
                B::ID,
                self.leaderboard,
                dataset,
                artifact,
                rejection,
            ))
        };
        let bytes = match read_for::<B>(self.artifact)? {
            Ok(bytes) => bytes,
            Err(rejection) => return Ok(rejected(None, &rejection)),
        };
        let outcome = match &dataset {
            Some(dataset) => match check(dataset, self.leaderboard, &bytes).await {
                Ok(()) => Ok(()),
                Err(not_scored) => Err(not_scored.rejection()?),
            },
            None => B::check_form(&bytes),
        };
        let refused = outcome.err();
        Ok(refused.and_then(|rejection| rejected(Some(Digest::compute(&bytes)), &rejection)))
    }
}

/// Opens the data set and makes sure that it has the leaderboard: offline, a wrong name is a wrong call.
pub(crate) async fn open<B: Benchmark>(
    directory: &Path,
    leaderboard: &str,
    integrity: Integrity,
) -> Result<Dataset<B>> {
    let about = || format!("can't use the data set `{}`", directory.display());
    if !directory.join(MANIFEST).is_file() {
        let place = directory.display().to_string();
        return Err(FrozenError::Missing { place }.into()); // where it is on disk, which a bucket does not know
    }
    let bucket = DirectoryBucket::new(directory);
    let dataset = Dataset::<B>::open(bucket, String::new(), None, integrity)
        .await
        .with_context(about)?;
    let manifest = dataset.manifest();
    let n_bytes: u64 = manifest.files.values().map(|file| file.n_bytes).sum();
    let is_kit = manifest.files.keys().all(|path| B::Frozen::is_public(path));
    if is_kit && n_bytes <= MAX_HASHED_BYTES {
        refuse_damaged(directory, &damages(directory, manifest))?;
    }
    let boards = B::Frozen::leaderboards(manifest).with_context(about)?;
    if !boards.iter().any(|board| board.name == leaderboard) {
        let names = boards.iter().map(|board| &board.name);
        bail!(
            "the data set has no leaderboard `{leaderboard}`: {}",
            offer(leaderboard, names)
        );
    }
    Ok(dataset)
}

/// An artifact read from disk.
pub(crate) enum Artifact {
    Bytes(Vec<u8>),
    TooLarge { n_bytes: u64 },
}

/// Reads the artifact of a file: the file's bytes, or its form for functions. The rejection names
/// the problem with the file.
pub(crate) fn read_for<B: Import>(path: &Path) -> Result<Result<Vec<u8>, Rejection>> {
    let file = match read(path, B::MAX_ARTIFACT_BYTES)? {
        Artifact::Bytes(file) => file,
        Artifact::TooLarge { n_bytes } => return Ok(Err(too_large(B::MAX_ARTIFACT_BYTES, n_bytes))),
    };
    let name = path.display().to_string();
    let bytes = match B::artifact_of(&name, file) {
        Ok(bytes) => bytes,
        Err(problems) => {
            let mut reasons = Reasons::default();
            for problem in problems {
                reasons.add(Reason::new("not_parquet", "", problem));
            }
            return Ok(reasons.into_verdict(Vec::new()));
        }
    };
    let n_bytes = bytes.len() as u64;
    if n_bytes > B::MAX_ARTIFACT_BYTES {
        return Ok(Err(too_large(B::MAX_ARTIFACT_BYTES, n_bytes)));
    }
    Ok(Ok(bytes))
}

fn converted<B: Import>(path: &Path, file: Vec<u8>) -> Result<Vec<u8>> {
    let name = path.display().to_string();
    B::artifact_of(&name, file).map_err(|problems| anyhow!("{}", problems.join("; ")))
}

/// Converts a file's bytes into the artifact that they represent.
pub(crate) struct Convert<'a> {
    pub(crate) path: &'a Path,
    pub(crate) file: Vec<u8>,
}

impl Action for Convert<'_> {
    type Output = Vec<u8>;

    async fn run<B: Import>(self) -> Result<Vec<u8>> {
        converted::<B>(self.path, self.file)
    }
}

/// Reads a file of at most `max_bytes`; of a larger file only the size.
pub(crate) fn read(path: &Path, max_bytes: u64) -> Result<Artifact> {
    let about = || format!("can't read the artifact `{}`", path.display());
    let file = File::open(path).with_context(about)?;
    let metadata = file.metadata().with_context(about)?;
    if metadata.is_dir() {
        bail!(
            "the artifact `{}` is a directory: name the file you would upload",
            path.display()
        );
    }
    if metadata.len() > max_bytes {
        return Ok(Artifact::TooLarge {
            n_bytes: metadata.len(),
        });
    }
    let mut bytes = Vec::new();
    // A pipe has no size beforehand: read one byte more than allowed and no further.
    file.take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .with_context(about)?;
    if bytes.len() as u64 > max_bytes {
        return Ok(Artifact::TooLarge {
            n_bytes: bytes.len() as u64,
        });
    }
    Ok(Artifact::Bytes(bytes))
}
