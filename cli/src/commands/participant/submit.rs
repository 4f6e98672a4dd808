//! `dataperf submit`: upload an artifact and wait for the verdict.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use bytes::Bytes;
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::board::OPEN_ROUND;
use dataperf::challenge::Challenge;
use dataperf::dataset::DatasetError;
use dataperf::dataset::active::InForce;
use dataperf::evaluation::evaluate::too_large;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::programs::Programs;
use dataperf::receipt::released_score::Climb;
use dataperf::upload::receipt_key;
use dataperf::{
    Descriptor, Digest, Ending, Feedback, MAX_RECEIPT_BYTES, Receipt, SubmissionId, SubmitterName, UTF_16,
    UploadKey, Verdict, is_zip, kind_of_file, offer,
};
use dataperf_benchmarks::IDS;
use dataperf_collections::common::check_lines;
use indicatif::ProgressBar;
use serde_json::json;

use super::score::{Artifact, Check, Convert, done, print_judged, read};
use super::status::print_whole;
use crate::Done;
use crate::cloud::api::{Form, Page, UploadRequest, is_transient};
use crate::cloud::connection::Connection;
use crate::cloud::{Cloud, CloudArgs};
use crate::commands::leaderboard::{fields, worth_soon};
use crate::hosted::descriptor;
use crate::output::progress;
use crate::output::rows::{OF_VERDICTS, RowFormat, of_verdict, print_tabled};
use crate::output::{check_new_files, write_new};
use crate::registry::{takes_artifacts, with_benchmark};

/// The wait between two looks for a receipt, and the longest one between two questions to a page.
const POLL: Duration = Duration::from_millis(250);
const LONGEST_POLL: Duration = Duration::from_secs(5);
/// How often the signature of a receipt is looked for. The page knows a verdict some moments before the receipt is signed, and a receipt that shows
/// more than the signed one never has a signature.
const MAX_LOOKS: usize = 12;
/// The submissions of a history among which an upload is looked for.
const N_NEWEST: usize = 20;
/// The most bytes of a file that are read: as many as any benchmark takes.
const MAX_READ_BYTES: u64 = 32 << 20;

/// The first bytes of a program that is submitted.
const PROGRAM: &[u8] = b"\0asm";

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The leaderboard, such as `en-25`
    #[arg(long, short)]
    leaderboard: String,
    /// Your name [default: the name of your token]
    #[arg(long, short)]
    submitter: Option<SubmitterName>,
    /// The file to upload
    artifact: PathBuf,
    /// The data set or kit, to check the rules before the upload
    #[arg(long, short, value_name = "DIR")]
    dataset: Option<PathBuf>,
    /// Don't wait for the verdict
    #[arg(long)]
    no_wait: bool,
    /// Write the signed receipt into this new file
    #[arg(long, value_name = "FILE", conflicts_with = "no_wait")]
    receipt: Option<PathBuf>,
    /// How long to wait for the verdict
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    timeout: u64,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// An upload that was made.
#[derive(Debug, Clone)]
pub(crate) struct Submitted {
    pub(crate) id: SubmissionId,
    pub(crate) key: String,
    pub(crate) receipt_key: String,
}

pub(crate) async fn run(args: SubmitArgs, format: RowFormat) -> Result<Done> {
    takes_artifacts(&args.benchmark)?;
    check_new_files(&[args.receipt.as_deref()])?;
    let connection = args.cloud.clone().choose().await?;
    if let Connection::Keys(cloud) = &connection {
        check_leaderboard(cloud, &args.benchmark, &args.leaderboard).await?;
    }
    if let Some(verdict) = refused(
        &args.benchmark,
        &args.leaderboard,
        args.dataset.as_deref(),
        &args.artifact,
    )
    .await?
    {
        print_judged(&verdict, None, format, || {
            println!("Nothing was uploaded.");
            Ok(())
        })?;
        return Ok(done(&verdict));
    }
    let sent = match &connection {
        Connection::Keys(cloud) => {
            let name = args.submitter.as_ref().context(
                "give your name with `--submitter NAME`, or sign in with your token: `dataperf login`",
            )?;
            let (benchmark, leaderboard) = (&args.benchmark, &args.leaderboard);
            let submitted = upload(cloud, benchmark, leaderboard, name, &args.artifact).await?;
            Sent::ToBucket(cloud, submitted)
        }
        Connection::Page(page) => Sent::ByForm(page, send(page, &args).await?),
    };
    if args.no_wait {
        print_uploaded(&sent, &args.benchmark, format)?;
        return Ok(Done::Fine);
    }
    let spinner = progress::waiting(&format!("waiting for the verdict on {}", sent.name()));
    let receipt = tokio::time::timeout(
        Duration::from_secs(args.timeout),
        sent.receipt(&args.benchmark, &spinner),
    )
    .await;
    spinner.finish_and_clear();
    let Ok(receipt) = receipt else {
        bail!(
            "{} has no verdict after {} s: try `dataperf status {}{}` later",
            sent.name(),
            args.timeout,
            args.benchmark,
            sent.id().map_or_else(String::new, |id| format!(" {id}"))
        );
    };
    let (receipt, signed) = receipt?;
    if let Some(path) = &args.receipt {
        // before anything is printed: the reader of a pipe may end at any line
        write_new(path, &signed)?;
    }
    // a submitter's own access may write and read files, and not the table: then the rank is the page's to show
    let worth = match (receipt.verdict.score, format) {
        (Some(_), RowFormat::Text | RowFormat::Json) => {
            worth_soon(&connection, &receipt.board(), &receipt.submission)
                .await
                .unwrap_or_default()
        }
        _ => None,
    };
    let document = || {
        let mut document = serde_json::to_value(&receipt)?;
        if let Some(document) = document.as_object_mut() {
            document.extend(fields(worth.as_ref()));
        }
        Ok(document)
    };
    let digits = connection.digits_of(&args.benchmark, &args.leaderboard).await;
    let rows = || of_verdict(&receipt.verdict);
    print_tabled(document, &OF_VERDICTS, rows, format, || {
        print_whole(&receipt, &[], worth.as_ref(), digits);
        print_level(&receipt);
        Ok(())
    })?;
    if receipt.verdict.status == Ending::Failed {
        let counts = if receipt.verdict.is_counted_failure() {
            "it counts as one of the failures of the day"
        } else {
            "it is not your fault and counts against no limit (a program counts until the organizer retries it)"
        };
        bail!(
            "submission {} could not be evaluated: {counts}",
            receipt.submission
        );
    }
    Ok(done(&receipt.verdict))
}

/// A file that was uploaded.
enum Sent<'a> {
    /// With keys for the bucket.
    ToBucket(&'a Cloud, Submitted),
    /// By a form of the page, which does not know the id yet.
    ByForm(&'a Page, Form),
}

impl Sent<'_> {
    fn id(&self) -> Option<&SubmissionId> {
        match self {
            Self::ToBucket(_, submitted) => Some(&submitted.id),
            Self::ByForm(..) => None,
        }
    }

    /// Its title.
    fn name(&self) -> String {
        match self {
            Self::ToBucket(_, submitted) => format!("submission {}", submitted.id),
            Self::ByForm(_, form) => format!("the upload `{}`", form.key),
        }
    }

    /// Waits until the receipt is there, which comes with its bytes as they are stored or sent.
    async fn receipt(&self, benchmark: &str, spinner: &ProgressBar) -> Result<(Receipt, Bytes)> {
        match self {
            Self::ToBucket(cloud, submitted) => signed_receipt(cloud, submitted).await,
            Self::ByForm(page, form) => receipt_over_page(page, benchmark, form, spinner).await,
        }
    }
}

/// Uploads the file by a form, which the page gives only for a board, a size and a time at which the file can be scored.
async fn send(page: &Page, args: &SubmitArgs) -> Result<Form> {
    let (name, bytes) = named_body(&args.benchmark, &args.leaderboard, &args.artifact).await?;
    let request = UploadRequest {
        benchmark: &args.benchmark,
        leaderboard: &args.leaderboard,
        submitter: args.submitter.as_ref().map(SubmitterName::as_str),
        file: &name,
        n_bytes: bytes.len(),
    };
    let form = page.form(&request).await?;
    let bar = progress::bytes(bytes.len() as u64, "uploading");
    let sent = page.send(&form, &name, &bytes, bar.clone()).await;
    bar.finish_and_clear();
    sent?;
    Ok(form)
}

async fn receipt_over_page(
    page: &Page,
    benchmark: &str,
    form: &Form,
    spinner: &ProgressBar,
) -> Result<(Receipt, Bytes)> {
    let (mut wait, mut n_looks) = (POLL, 0);
    loop {
        let line = match page.history(benchmark, form.submitter.as_str(), N_NEWEST).await {
            Err(error) if is_transient(&error) => None,
            lines => lines?.into_iter().find(|line| line.has_key(&form.key)),
        };
        if let Some(line) = &line {
            if line.has_ended() {
                match page.receipt(benchmark, &line.submission).await {
                    Err(error) if is_transient(&error) => {}
                    bytes => {
                        let bytes = bytes?;
                        let receipt: Receipt = serde_json::from_slice(&bytes)
                            .with_context(|| format!("the receipt of `{}` is malformed", line.submission))?;
                        n_looks += 1;
                        if receipt.signature.is_some() || n_looks == MAX_LOOKS {
                            return Ok((receipt, bytes.into()));
                        }
                    }
                }
            }
            spinner.set_message(format!("submission {} is being evaluated", line.submission));
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 3 / 2).min(LONGEST_POLL);
    }
}

/// Prints where an upload is whose verdict nobody waits for.
fn print_uploaded(sent: &Sent, benchmark: &str, format: RowFormat) -> Result<()> {
    let (key, receipt_key) = match sent {
        Sent::ToBucket(_, submitted) => (&submitted.key, Some(&submitted.receipt_key)),
        Sent::ByForm(_, form) => (&form.key, None),
    };
    let uploaded = json!({ "submission": sent.id(), "key": key, "receipt": receipt_key });
    print_tabled(
        || Ok(uploaded.clone()),
        &["submission", "key", "receipt"],
        || vec![uploaded.clone()],
        format,
        || {
            match sent {
                Sent::ToBucket(_, Submitted { id, receipt_key, .. }) => {
                    println!("uploaded as submission {id}; its receipt will be {receipt_key}");
                }
                Sent::ByForm(..) => {
                    println!("uploaded; `dataperf status {benchmark}` shows what became of it");
                }
            }
            Ok(())
        },
    )
}

/// A note if the receipt shows only a part of the verdict.
fn print_level(receipt: &Receipt) {
    let level = receipt.feedback.unwrap_or(Feedback::Full);
    if receipt.verdict.status != Ending::Scored || level == Feedback::Full {
        return;
    }
    match receipt.climb() {
        _ if level == Feedback::Nothing => {
            let until = receipt
                .withheld_until
                .map_or("its close".to_owned(), |at| at.to_string());
            println!("The round shows no results until {until}.");
            return;
        }
        Some(Climb::Climbed) => {
            println!("The score is rounded until the round closes.");
        }
        Some(Climb::Held) if receipt.verdict.score.is_none() => println!(
            "The score is not shown yet: it is not better, by the Ladder's margin, than your best score on boards with the \
         same test data. You will see it after the close."
        ),
        Some(Climb::Held) => println!(
            "This is the last score that the round's Ladder has shown. You will see the submission's own score after the \
         close."
        ),
        None => {}
    }
    // a program's output on hidden data is never shown
    let is_withheld = receipt.round == OPEN_ROUND || receipt.verdict.program.is_some();
    let rest = if is_withheld {
        "only the organizer sees the rest"
    } else {
        "you will see the rest after the close"
    };
    println!("The receipt shows the feedback `{}`; {rest}.", level.as_str());
}

/// Refuses a leaderboard that does not exist. Access to uploads and receipts alone does not tell: then the receipt says so.
async fn check_leaderboard(cloud: &Cloud, benchmark: &str, leaderboard: &str) -> Result<()> {
    let kinds = descriptor(benchmark)?.kinds;
    if !kinds.is_empty() {
        ensure!(
            kinds.contains(&leaderboard),
            "{benchmark} takes no `{leaderboard}`: {}",
            offer(leaderboard, kinds)
        );
        return Ok(());
    }
    let datasets = cloud.datasets();
    let in_force = match InForce::read(&datasets, benchmark).await {
        Ok(in_force) => in_force,
        Err(error @ DatasetError::Frozen(_)) => return Err(error.into()),
        Err(DatasetError::Port(_)) => return Ok(()), // a submitter may lack the right to read it
    };
    let Err(reason) = in_force.scoring(benchmark, leaderboard) else {
        return Ok(());
    };
    let Ok(challenge) = Challenge::published(&datasets, benchmark).await else {
        return Ok(());
    };
    // a round may have a board of an inactive data set
    let mut rounds = challenge.iter().flat_map(|challenge| &challenge.rounds);
    let is_in_a_round = rounds.any(|round| {
        round.leaderboards.iter().any(|name| name == leaderboard)
            || round.evaluations.contains_key(leaderboard)
    });
    ensure!(is_in_a_round, "{}", reason.message);
    Ok(())
}

/// The verdict that refuses the file before it is uploaded, as `dataperf validate` gives it. What programs write is known after they have run.
async fn refused(
    benchmark: &str,
    leaderboard: &str,
    dataset: Option<&Path>,
    artifact: &Path,
) -> Result<Option<Verdict>> {
    let mut begin = Vec::new();
    let about = || format!("can't read the artifact `{}`", artifact.display());
    let file = File::open(artifact).with_context(about)?;
    if file.metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        file.take(PROGRAM.len() as u64)
            .read_to_end(&mut begin)
            .with_context(about)?;
    }
    if begin == PROGRAM {
        return Ok(None);
    }
    let check = Check {
        leaderboard,
        dataset,
        artifact,
    };
    with_benchmark(benchmark, check).await
}

/// Drops a file into the submissions bucket, as any S3 client would.
pub(crate) async fn upload(
    cloud: &Cloud,
    benchmark: &str,
    leaderboard: &str,
    submitter: &SubmitterName,
    artifact: &Path,
) -> Result<Submitted> {
    let (name, body) = named_body(benchmark, leaderboard, artifact).await?;
    let key = format!("{benchmark}/{leaderboard}/{submitter}/{name}");
    match UploadKey::parse(benchmark, &key) {
        Ok(of_key) if of_key.leaderboard == leaderboard && of_key.submitter == *submitter => {}
        Ok(_) => bail!("`{leaderboard}` must be a name without `/`: it is part of the upload's key"),
        Err(rejection) => {
            let messages: Vec<&str> = rejection
                .reasons()
                .iter()
                .map(|reason| reason.message.as_str())
                .collect();
            bail!("{}", messages.join("; "));
        }
    }
    let bucket = &cloud.names.submissions_bucket;
    let sent = cloud
        .clients
        .s3
        .put_object()
        .bucket(bucket)
        .key(&key)
        .body(body.into())
        .send()
        .await;
    let sent = sent.with_context(|| format!("can't upload to `s3://{bucket}/{key}`"))?;
    let version = sent.version_id().unwrap_or_default();
    if version.is_empty() {
        bail!("the bucket `{bucket}` keeps no versions, so a submission has no id: turn versioning on");
    }
    let id = SubmissionId::derive(bucket, &key, version);
    let receipt_key = receipt_key(benchmark, leaderboard, submitter.as_str(), &id);
    Ok(Submitted { id, key, receipt_key })
}

/// The name and the bytes to upload. A form that functions don't read is converted to CSV, and the name's ending with it.
async fn named_body(benchmark: &str, leaderboard: &str, artifact: &Path) -> Result<(String, Vec<u8>)> {
    let name = artifact.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| {
        format!(
            "can't upload `{}`: its name is not UTF-8, so rename it",
            artifact.display()
        )
    })?;
    let hosted = descriptor(benchmark)?;
    let limit = if hosted.kinds.is_empty() {
        hosted.max_artifact_bytes.max(Programs::MAX_MODULE_BYTES)
    } else {
        (hosted.max_bytes_of_kind)(leaderboard)
    };
    let refuse = |n_bytes| {
        let rejection = too_large(limit, n_bytes);
        anyhow!(
            "can't upload `{}`: {}",
            artifact.display(),
            rejection.reasons()[0].message
        )
    };
    let file = match read(artifact, MAX_READ_BYTES)? {
        Artifact::Bytes(file) => file,
        Artifact::TooLarge { n_bytes } => return Err(refuse(n_bytes)),
    };
    let (name, bytes) = if IDS.contains(&benchmark) {
        let digest = Digest::compute(&file);
        let path = artifact;
        let bytes = with_benchmark(benchmark, Convert { path, file }).await?;
        let is_same = Digest::compute(&bytes) == digest;
        let csv = Path::new(name).with_extension("csv").display().to_string();
        (if is_same { name.to_owned() } else { csv }, bytes)
    } else {
        (name.to_owned(), file)
    };
    let n_bytes = bytes.len() as u64;
    if n_bytes > limit {
        return Err(refuse(n_bytes));
    }
    check_form(hosted, &bytes).with_context(|| format!("can't upload `{}`", artifact.display()))?;
    Ok((name, bytes))
}

/// Refuses a file that is another kind than the benchmark takes, as its function would.
fn check_form(hosted: &Descriptor, bytes: &[u8]) -> Result<()> {
    let is_zip = hosted.forms.contains(&"zip") && is_zip(bytes);
    if is_zip || bytes.starts_with(PROGRAM) {
        return Ok(());
    }
    let is_csv = hosted.forms.contains(&"csv");
    // of text in UTF-16 a CSV may be
    let kind = kind_of_file(bytes).filter(|kind| !(is_csv && kind.name == UTF_16));
    ensure!(
        kind.is_none(),
        "the file is {}",
        kind.map_or(String::new(), |kind| kind.to_string())
    );
    ensure!(!bytes.is_empty(), "the file is empty");
    if !hosted.kinds.is_empty()
        && let Err(rejection) = check_lines(bytes)
    {
        let first = rejection.cause().unwrap_or(&rejection.reasons()[0]);
        bail!("{} {}", first.at, first.message);
    }
    Ok(())
}

/// Waits until the receipt is there.
pub(crate) async fn receipt(cloud: &Cloud, submitted: &Submitted) -> Result<Receipt> {
    Ok(signed_receipt(cloud, submitted).await?.0)
}

/// Waits until the receipt is there, which comes with its bytes as they were signed.
async fn signed_receipt(cloud: &Cloud, submitted: &Submitted) -> Result<(Receipt, Bytes)> {
    let results = cloud.results();
    loop {
        match results
            .get(&submitted.receipt_key, None, MAX_RECEIPT_BYTES)
            .await?
        {
            Got::Object(object) => {
                let about = || format!("the receipt `{}` is malformed", submitted.receipt_key);
                let receipt = serde_json::from_slice(&object.bytes).with_context(about)?;
                return Ok((receipt, object.bytes));
            }
            Got::Missing => tokio::time::sleep(POLL).await,
            Got::TooLarge { n_bytes } => bail!("the receipt `{}` has {n_bytes} bytes", submitted.receipt_key),
        }
    }
}
