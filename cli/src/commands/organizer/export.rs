//! `dataperf export`: boards, submissions and metrics as tables for other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use dataperf::board::Board;
use dataperf::challenge::{Challenge, shown_of_receipt};
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::submission::Submission;
use dataperf::{Descriptor, Ending, Receipt, SubmissionId, Upload};
use dataperf_datasets::{Values, write_csv, write_parquet};
use dataperf_hosted::is_step;
use serde_json::json;

use crate::Done;
use crate::cloud::known::{Known, ids};
use crate::cloud::{Cloud, CloudArgs, now};
use crate::commands::leaderboard::{all_boards, columns as board_columns};
use crate::hosted::descriptor;
use crate::output::metrics::numbers;
use crate::output::progress::{counting, waiting};
use crate::output::{Format, print_json};

/// Submissions that are read at once.
const AT_ONCE: usize = 500;

/// The longest ending of an uploaded file's name that its copy keeps.
const MAX_ENDING_BYTES: usize = 8;

/// The form of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FileForm {
    /// Apache Parquet
    Parquet,
    /// Comma-separated values
    Csv,
}

impl FileForm {
    fn ending(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The directory to make
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// parquet or csv
    #[arg(long = "as", value_enum, default_value_t = FileForm::Parquet)]
    form: FileForm,
    /// Only data that everybody may see now
    #[arg(long)]
    public: bool,
    /// Also export score changes that come from people's decisions
    #[arg(long)]
    steps: bool,
    /// Only this round, with its late submissions and final board
    #[arg(long)]
    round: Option<String>,
    /// Also export the uploaded files, to artifacts/
    #[arg(long, conflicts_with = "public")]
    artifacts: bool,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: ExportArgs, format: Format) -> Result<Done> {
    if args.out.symlink_metadata().is_ok() {
        bail!("`{}` exists already: choose another name", args.out.display());
    }
    let cloud = args.cloud.clone().connect().await?;
    let hosted = descriptor(&args.benchmark)?;
    if let Some(round) = &args.round {
        Known::read(&cloud, &args.benchmark)
            .await?
            .check(None, Some(round))?;
    }
    let spinner = waiting("reading submissions");
    let exported = Exported::read(&cloud, hosted, &args).await;
    spinner.finish_and_clear();
    let exported = exported?;
    // whole or not at all: beside its place first
    let name = args.out.file_name().with_context(|| {
        format!(
            "`{}` can't be made: `--out` has to end with a name",
            args.out.display()
        )
    })?;
    let parent = args.out.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let about = || format!("can't write `{}`", args.out.display());
    let staging = tempfile::Builder::new()
        .prefix(&format!(".{}", name.display()))
        .tempdir_in(parent)
        .with_context(about)?;
    let mut written = Vec::new();
    for (name, columns) in [
        ("boards", &exported.boards),
        ("submissions", &exported.submissions),
        ("metrics", &exported.metrics),
    ] {
        let file = format!("{name}.{}", args.form.ending());
        write(&staging.path().join(&file), columns, args.form).with_context(about)?;
        written.push((file, n_rows(columns)));
    }
    let n_files = if args.artifacts {
        Some(download(&cloud, &exported.uploads, &staging.path().join("artifacts")).await?)
    } else {
        None
    };
    fs::rename(staging.path(), &args.out).with_context(about)?;
    let _ = staging.keep(); // it is in its place
    match format {
        Format::Json => {
            let files = written
                .iter()
                .map(|(file, n_rows)| json!({ "file": file, "n_rows": n_rows }));
            print_json(
                &json!({ "benchmark": args.benchmark, "directory": args.out, "files": files.collect::<Vec<_>>(), "n_artifacts": n_files }),
            )?;
        }
        Format::Text => {
            for (file, n_rows) in &written {
                println!("{n_rows:>8} rows  {}", args.out.join(file).display());
            }
            if let Some(n_files) = n_files {
                println!("{n_files:>8} files {}", args.out.join("artifacts").display());
            }
        }
    }
    Ok(Done::Fine)
}

/// Downloads the files of submissions into a new directory, each named by its submission. Returns
/// their number: a bucket's rules may have deleted some.
async fn download(
    cloud: &Cloud,
    uploads: &BTreeMap<SubmissionId, Upload>,
    directory: &Path,
) -> Result<usize> {
    let about = || format!("can't write `{}`", directory.display());
    fs::create_dir(directory).with_context(about)?;
    let (bucket, mut n_files) = (cloud.submissions(), 0);
    let bar = counting(uploads.len() as u64, "downloading files");
    for (id, upload) in uploads {
        let object = bucket
            .get(&upload.key, upload.version.as_deref(), u64::MAX)
            .await?;
        bar.inc(1);
        let Got::Object(object) = object else {
            continue;
        };
        let ending = Path::new(&upload.key)
            .extension()
            .and_then(|ending| ending.to_str());
        let ending = ending.filter(|ending| {
            ending.len() <= MAX_ENDING_BYTES && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        let name = ending.map_or_else(|| id.to_string(), |ending| format!("{id}.{ending}"));
        fs::write(directory.join(name), object.bytes).with_context(about)?;
        n_files += 1;
    }
    bar.finish_and_clear();
    Ok(n_files)
}

type Columns = Vec<(String, Values)>;

fn n_rows(columns: &Columns) -> usize {
    columns.first().map_or(0, |(_, values)| values.len())
}

fn write(path: &Path, columns: &Columns, form: FileForm) -> Result<()> {
    let file = File::create_new(path)?;
    match form {
        FileForm::Parquet => write_parquet(columns, file)?,
        FileForm::Csv => write_csv(columns, file)?,
    }
    Ok(())
}

/// The tables.
struct Exported {
    boards: Columns,
    submissions: Columns,
    metrics: Columns,
    /// The uploads of the submissions.
    uploads: BTreeMap<SubmissionId, Upload>,
}

impl Exported {
    /// Reads the tables. Submissions include steps of scores only with `--steps`; the metrics of
    /// steps in a board's rows are always included.
    async fn read(cloud: &Cloud, hosted: &'static Descriptor, args: &ExportArgs) -> Result<Self> {
        let (is_public, with_steps) = (args.public, args.steps);
        let is_of_round = |board: &Board| args.round.as_ref().is_none_or(|round| round == board.round_id());
        let table = cloud.leaderboards();
        let challenge = Challenge::published(&cloud.datasets(), hosted.id).await?;
        let is_hidden = |board: &Board| {
            let until = challenge
                .as_ref()
                .and_then(|challenge| challenge.hidden_until(board, now()));
            is_public && until.is_some()
        };
        let mut boards = all_boards(cloud, hosted.id).await?;
        boards.retain(|shown| !is_hidden(&shown.board) && is_of_round(&shown.board));
        let rows = boards.iter().flat_map(|shown| &shown.top);
        let in_rows: BTreeSet<SubmissionId> = rows.map(|row| row.entry.id.clone()).collect();
        let boards = board_columns(&boards);
        let ids: Vec<SubmissionId> = ids(cloud, hosted.id).await?.into_iter().collect();
        let (mut lines, mut metrics, mut uploads) = (Vec::new(), Metrics::default(), BTreeMap::new());
        for ids in ids.chunks(AT_ONCE) {
            for submission in table.submissions(hosted.id, ids).await?.into_values() {
                let board = submission.entry().board;
                if is_public && !is_counted(&submission) || is_hidden(&board) || !is_of_round(&board) {
                    continue;
                }
                let shown = submission.receipt.as_ref().map(|receipt| {
                    if is_public {
                        receipt.shown(shown_of_receipt(challenge.as_ref(), receipt, now()), hosted)
                    } else {
                        receipt.clone()
                    }
                });
                let is_listed = with_steps || !is_step(&board);
                if is_listed {
                    uploads.insert(submission.id.clone(), submission.upload.clone());
                    lines.push(Line::from_submission(&submission, shown.as_ref(), is_public));
                }
                if let Some(receipt) = shown.filter(|_| is_listed || in_rows.contains(&submission.id)) {
                    metrics.add(&receipt, hosted);
                }
            }
        }
        lines.sort_by(|one, other| {
            (&one.received_at, &one.submission).cmp(&(&other.received_at, &other.submission))
        });
        Ok(Self {
            boards,
            submissions: columns(&lines),
            metrics: metrics.columns(),
            uploads,
        })
    }
}

/// Whether a submission can appear on a board, so that everybody may see it.
fn is_counted(submission: &Submission) -> bool {
    let ending = submission.receipt.as_ref().map(|receipt| receipt.verdict.status);
    submission.withdrawn_at.is_none() && matches!(ending, Some(Ending::Scored | Ending::Accepted))
}

/// A line of the table of submissions.
struct Line {
    submission: String,
    leaderboard: String,
    round: String,
    submitter: String,
    is_baseline: bool,
    received_at: String,
    finished_at: Option<String>,
    status: String,
    score: Option<f64>,
    is_released: Option<bool>,
    dataset: Option<String>,
    artifact: Option<String>,
    withdrawn_at: Option<String>,
    key: Option<String>,
    code: Option<String>,
    reason: Option<String>,
    n_reasons: Option<i64>,
}

impl Line {
    fn from_submission(submission: &Submission, receipt: Option<&Receipt>, is_public: bool) -> Self {
        let verdict = receipt.map(|receipt| &receipt.verdict);
        let round = receipt.map_or(&submission.board.round, |receipt| &receipt.round);
        let reason = verdict.and_then(|verdict| verdict.reasons.first());
        Self {
            submission: submission.id.to_string(),
            leaderboard: submission.board.leaderboard.clone(),
            round: round.clone(),
            submitter: submission.submitter.clone(),
            is_baseline: submission.is_baseline,
            received_at: submission.received_at.to_string(),
            finished_at: receipt.map(|receipt| receipt.finished_at.to_string()),
            status: verdict
                .map_or("received", |verdict| verdict.status.as_str())
                .to_owned(),
            score: if is_public {
                receipt.and_then(Receipt::public_score)
            } else {
                verdict.and_then(|verdict| verdict.score)
            },
            is_released: receipt.map(|receipt| receipt.climb().is_some()),
            dataset: verdict
                .and_then(|verdict| verdict.dataset)
                .map(|digest| digest.to_string()),
            artifact: verdict
                .and_then(|verdict| verdict.artifact)
                .map(|digest| digest.to_string()),
            withdrawn_at: submission.withdrawn_at.map(|at| at.to_string()),
            key: (!is_public).then(|| submission.upload.key.clone()),
            code: reason.map(|reason| reason.code.clone()),
            reason: reason.map(|reason| reason.message.clone()),
            n_reasons: verdict
                .and_then(|verdict| i64::try_from(verdict.n_reasons.unwrap_or(verdict.reasons.len())).ok()),
        }
    }
}

/// The table of submissions, column by column.
fn columns(lines: &[Line]) -> Columns {
    fn text(lines: &[Line], get: impl Fn(&Line) -> &String) -> Values {
        Values::Text(lines.iter().map(|line| get(line).clone()).collect())
    }
    fn maybe(lines: &[Line], get: impl Fn(&Line) -> &Option<String>) -> Values {
        Values::MaybeText(lines.iter().map(|line| get(line).clone()).collect())
    }
    let flag = |get: fn(&Line) -> Option<bool>| Values::MaybeFlag(lines.iter().map(get).collect());
    named([
        ("submission", text(lines, |line| &line.submission)),
        ("leaderboard", text(lines, |line| &line.leaderboard)),
        ("round", text(lines, |line| &line.round)),
        ("submitter", text(lines, |line| &line.submitter)),
        ("is_baseline", flag(|line| Some(line.is_baseline))),
        ("received_at", text(lines, |line| &line.received_at)),
        ("finished_at", maybe(lines, |line| &line.finished_at)),
        ("status", text(lines, |line| &line.status)),
        (
            "score",
            Values::MaybeReal(lines.iter().map(|line| line.score).collect()),
        ),
        ("is_released", flag(|line| line.is_released)),
        ("dataset", maybe(lines, |line| &line.dataset)),
        ("artifact", maybe(lines, |line| &line.artifact)),
        ("withdrawn_at", maybe(lines, |line| &line.withdrawn_at)),
        ("key", maybe(lines, |line| &line.key)),
        ("code", maybe(lines, |line| &line.code)),
        ("reason", maybe(lines, |line| &line.reason)),
        (
            "n_reasons",
            Values::MaybeWhole(lines.iter().map(|line| line.n_reasons).collect()),
        ),
    ])
}

fn named<const N: usize>(columns: [(&str, Values); N]) -> Columns {
    columns.map(|(name, values)| (name.to_owned(), values)).into()
}

/// The table of metrics: a line for each number of a verdict. Curves are not in it.
#[derive(Default)]
struct Metrics {
    submission: Vec<String>,
    leaderboard: Vec<String>,
    round: Vec<String>,
    submitter: Vec<String>,
    metric: Vec<String>,
    item: Vec<Option<String>>,
    number: Vec<Option<i64>>,
    value: Vec<f64>,
}

impl Metrics {
    fn add(&mut self, receipt: &Receipt, hosted: &'static Descriptor) {
        for number in numbers(hosted.metrics, &receipt.verdict.metrics) {
            self.submission.push(receipt.submission.to_string());
            self.leaderboard.push(receipt.verdict.leaderboard.clone());
            self.round.push(receipt.round.clone());
            self.submitter.push(receipt.submitter.clone());
            self.metric.push(number.metric);
            self.item.push(number.of);
            self.number.push(number.number);
            self.value.push(number.value);
        }
    }

    fn columns(self) -> Columns {
        named([
            ("submission", Values::Text(self.submission)),
            ("leaderboard", Values::Text(self.leaderboard)),
            ("round", Values::Text(self.round)),
            ("submitter", Values::Text(self.submitter)),
            ("metric", Values::Text(self.metric)),
            ("of", Values::MaybeText(self.item)),
            ("number", Values::MaybeWhole(self.number)),
            ("value", Values::Real(self.value)),
        ])
    }
}
