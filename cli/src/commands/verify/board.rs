//! `dataperf verify board.json`: a published board, its log, its scores and its intervals.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use dataperf::board_log::{
    BoardDocument, BoardParts, EvidenceKey, LogCheck, MAX_EARLIER, PublishedBoard, PublishedRow,
    canonical_digest,
};
use dataperf::comparison::{Comparison, MAX_COUNTED_ROWS, Rows};
use dataperf::dataset::Integrity;
use dataperf::evaluation::evaluate::gather;
use dataperf::evidence::Weights;
use dataperf::ladder::Margin;
use dataperf::receipt::released_score::Climb;
use dataperf::replicates::Replicates;
use dataperf::rows::ranking::{Ranked, differ};
use dataperf::submission::Entry;
use dataperf::{Digest, Direction, Ending, Feedback, NoIntervals, Receipt, SubmissionId, SubmitterName};
use dataperf_datasets::Import;
use serde_json::{Value, json};

use super::{VerifyArgs, document_bytes, keys_of, no_repeated_keys};
use crate::Done;
use crate::commands::participant::score::{open as open_board, read_for};
use crate::hosted::descriptor;
use crate::on_disk::open_verified;
use crate::output::print_json;
use crate::output::progress;
use crate::output::rows::RowFormat;
use crate::registry::{Action, with_benchmark};

/// The result of a verification.
#[derive(Debug, Default)]
struct Report {
    /// The checks that passed, in words.
    checked: Vec<String>,
    /// The checks that failed, each with a code.
    findings: Vec<Value>,
    /// The checks that were not possible, with the reason.
    not_checked: Vec<String>,
}

impl Report {
    fn find(&mut self, code: &str, message: impl Into<String>) {
        self.findings
            .push(json!({ "code": code, "message": message.into() }));
    }

    /// Adds what a check has found, or that it holds.
    fn add(&mut self, findings: Vec<dataperf::board_log::Finding>, holds: &str) -> Result<()> {
        if findings.is_empty() {
            self.checked.push(holds.to_owned());
        }
        for finding in findings {
            let mut value = serde_json::to_value(&finding)?;
            value["message"] = json!(finding.to_string());
            self.findings.push(value);
        }
        Ok(())
    }
}

/// A document that was read from a file, and its digest.
struct ReadDocument {
    json: Value,
    document: BoardDocument,
    digest: Digest,
}

fn read_document(path: &Path) -> Result<ReadDocument> {
    let about = || format!("can't read the board `{}`", path.display());
    let bytes = document_bytes(path).with_context(about)?;
    no_repeated_keys(&bytes).with_context(about)?;
    let json: Value = serde_json::from_slice(&bytes).with_context(about)?;
    let document: BoardDocument = serde_json::from_value(json.clone()).with_context(|| {
        format!(
            "`{}` is not a published board: take it from `/api/v1/benchmarks/B/leaderboards/L/document`",
            path.display()
        )
    })?;
    ensure!(
        document.schema == BoardDocument::SCHEMA,
        "`{}` is of schema {}, this version reads {}",
        path.display(),
        document.schema,
        BoardDocument::SCHEMA
    );
    for row in &document.board.rows {
        // it becomes a path and is printed
        row.submitter.parse::<SubmitterName>().with_context(about)?;
    }
    let digest = canonical_digest(&json)?;
    Ok(ReadDocument {
        json,
        document,
        digest,
    })
}

/// Verifies a published board.
pub(super) async fn run(args: &VerifyArgs, format: RowFormat) -> Result<Done> {
    if args.artifact.is_some() {
        bail!("`--artifact` is for receipts: name a folder of artifacts with `--submissions`");
    }
    let read = read_document(&args.receipt)?;
    let mut report = Report::default();
    check_signature(args, &read, "document", &mut report)?;
    report.add(read.document.check(), "ranks and ties follow from the scores")?;
    match &args.since {
        Some(path) => {
            let kept = read_document(path)?;
            check_signature(args, &kept, "kept document", &mut report)?;
            let number = kept.document.number;
            match read
                .document
                .compare_with(&kept.document, kept.digest, read.digest)
            {
                LogCheck::Compared(findings) => {
                    let holds = if read.document.board.is_cut() {
                        report
                            .not_checked
                            .push("whether rows behind the last one were removed: they are left out".into());
                        format!("the log continues from document {number}")
                    } else {
                        format!("the log continues from document {number}, and no row was removed")
                    };
                    report.add(findings, &holds)?;
                }
                LogCheck::TooFar => report.not_checked.push(format!(
                    "whether the log continues from document {number}: it is more than {MAX_EARLIER} documents older. First \
         compare with one between the two"
                )),
            }
        }
        None => report
            .not_checked
            .push("whether rows were removed: keep a document, and compare with `--since`".into()),
    }
    match &args.receipts {
        Some(folder) => check_receipts(args, folder, &read.document, &mut report)?,
        None => report
            .not_checked
            .push("scores by receipts: name a folder of receipts with `--receipts`".into()),
    }
    match (&args.dataset, &args.submissions) {
        (Some(dataset), Some(submissions)) => {
            recompute(dataset, submissions, &read.document, &mut report).await?;
        }
        _ => report.not_checked.push(
            "scores and intervals by computing them: name `--dataset` and `--submissions`, SUBMITTER/FILE"
                .into(),
        ),
    }
    print(&read, &report, args, format)?;
    if report.findings.is_empty() {
        Ok(Done::Fine)
    } else {
        bail!("the board is not verified")
    }
}

/// Checks the signature of a document. `name` says which one.
fn check_signature(args: &VerifyArgs, read: &ReadDocument, name: &str, report: &mut Report) -> Result<()> {
    let Some(path) = &args.keys else {
        report.not_checked.push(format!(
            "the signature of the {name}: name the public keys with `--keys`"
        ));
        return Ok(());
    };
    match keys_of(path)?.check(&read.json) {
        Ok(signature) => report.checked.push(format!(
            "the {name} was signed by {} at {}",
            signature.key, signature.signed_at
        )),
        Err(error) => report.find("signature", format!("the {name}: {error}")),
    }
    Ok(())
}

/// All JSON files below a folder.
fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("can't list `{}`", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(json_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Checks the scores of rows against receipts.
fn check_receipts(
    args: &VerifyArgs,
    folder: &Path,
    document: &BoardDocument,
    report: &mut Report,
) -> Result<()> {
    let keys = args.keys.as_deref().map(keys_of).transpose()?;
    // a final board has the scores of a submission with another data set
    let rows = document.board.rows.iter();
    let wanted: BTreeMap<&SubmissionId, Option<Digest>> =
        rows.map(|row| (&row.submission, row.dataset)).collect();
    let (mut receipts, mut others) = (BTreeMap::<SubmissionId, Receipt>::new(), BTreeSet::new());
    for path in json_files(folder)? {
        let bytes = fs::read(&path).with_context(|| format!("can't read `{}`", path.display()))?;
        let Ok(json) = serde_json::from_slice::<Value>(&bytes) else {
            continue;
        };
        let Ok(receipt) = serde_json::from_value::<Receipt>(json.clone()) else {
            continue;
        };
        let Some(dataset) = wanted.get(&receipt.submission) else {
            continue;
        };
        if let Some(error) = keys.as_ref().and_then(|keys| keys.check(&json).err()) {
            report.find("receipt_signature", format!("`{}`: {error}", path.display()));
            continue;
        }
        if receipt.verdict.dataset != *dataset {
            others.insert(receipt.submission);
            continue;
        }
        let known = receipts
            .get(&receipt.submission)
            .map_or(0, |known| known.revision);
        if receipt.revision > known {
            receipts.insert(receipt.submission.clone(), receipt);
        }
    }
    let (mut n_equal, mut n_missing, mut n_other, mut n_other_data) = (0, 0, 0, 0);
    for row in &document.board.rows {
        let Some(receipt) = receipts.get(&row.submission) else {
            if others.contains(&row.submission) {
                n_other_data += 1;
            } else {
                n_missing += 1;
            }
            continue;
        };
        if receipt.submitter != row.submitter {
            let message = format!("the receipt of {} is of another submitter", row.submission);
            report.find("other_receipt", message);
        } else if receipt.climb().is_some() != row.is_released || receipt.verdict.score.is_none() {
            n_other += 1; // written when the round showed more or less
        } else if receipt.verdict.score.map(f64::to_bits) == Some(row.score.to_bits()) {
            n_equal += 1;
        } else {
            let score = receipt.verdict.score.unwrap_or_default();
            let message = format!(
                "`{}` has the score {} and its receipt {score}",
                row.submitter, row.score
            );
            report.find("score_differs", message);
        }
    }
    if n_equal > 0 {
        report
            .checked
            .push(format!("{n_equal} scores are those of their receipts"));
    }
    if n_missing > 0 {
        report.not_checked.push(format!(
            "{n_missing} scores by receipts: they are not in `{}`",
            folder.display()
        ));
    }
    if n_other_data > 0 {
        report.not_checked.push(format!(
            "{n_other_data} scores by receipts, which are of another data set"
        ));
    }
    if n_other > 0 {
        report.not_checked.push(format!(
            "{n_other} scores by receipts, which show more or less than the board"
        ));
    }
    Ok(())
}

async fn recompute(
    dataset: &Path,
    submissions: &Path,
    document: &BoardDocument,
    report: &mut Report,
) -> Result<()> {
    let opened = open_verified(dataset)?;
    if opened.manifest.benchmark != document.benchmark {
        bail!(
            "`{}` is a data set of {}, and the board is of {}",
            dataset.display(),
            opened.manifest.benchmark,
            document.benchmark
        );
    }
    let n_other = document
        .board
        .rows
        .iter()
        .filter(|row| row.dataset != Some(opened.digest))
        .count();
    if n_other > 0 {
        report.not_checked.push(format!(
            "{n_other} rows by computing them: they are of another data set"
        ));
    }
    let hosted = descriptor(&document.benchmark)?;
    let task = Recompute {
        dataset,
        digest: opened.digest,
        submissions,
        document,
    };
    let recomputed = with_benchmark(&document.benchmark, task).await?;
    let key = EvidenceKey::new(&opened.manifest, hosted.is_public);
    let (mut n_evidence, mut replicates) = (0, BTreeMap::new());
    for row in &document.board.rows {
        let Some(candidates) = recomputed.candidates.get(&row.submission) else {
            continue;
        };
        let evidence = key.as_ref().zip(row.evidence);
        let is_of_row = |one: &&Arc<Replicates>| match evidence {
            Some((key, evidence)) => key.digest(one) == evidence,
            None => true,
        };
        match candidates.iter().find(is_of_row) {
            Some(one) => {
                n_evidence += usize::from(evidence.is_some());
                replicates.insert(row.submission.clone(), one.clone());
            }
            None => report.find(
                "evidence_differs",
                format!("the evidence of `{}` differs", row.submitter),
            ),
        }
        if candidates.len() > 1 && evidence.is_none() {
            report.not_checked.push(format!(
                "which of the artifacts of `{}` with this score is the row's",
                row.submitter
            ));
        }
    }
    for (submitter, why) in &recomputed.without_score {
        report.find("score_differs", format!("`{submitter}`: {why}"));
    }
    if !recomputed.candidates.is_empty() {
        let n = recomputed.candidates.len();
        report
            .checked
            .push(format!("{n} scores are what their artifacts give"));
    }
    if n_evidence > 0 {
        report.checked.push(format!("{n_evidence} digests of evidence"));
    }
    if !recomputed.missing.is_empty() {
        let names = recomputed.missing.join(", ");
        report
            .not_checked
            .push(format!("rows whose artifacts are not in the folder: {names}"));
        report
            .not_checked
            .push("intervals: they follow from all rows".into());
        return Ok(());
    }
    if document.board.dataset != Some(opened.digest) {
        report
            .not_checked
            .push("intervals: the board is of another data set".into());
    } else if document.board.is_cut() {
        report
            .not_checked
            .push("intervals: they follow from all rows, and some are left out".into());
    } else if recomputed.without_score.is_empty() && replicates.len() == recomputed.candidates.len() {
        check_intervals(document, &replicates, hosted.direction, report);
    }
    Ok(())
}

/// The rows as the table has them.
fn ranked_rows(document: &BoardDocument) -> Vec<Ranked> {
    let rows = document.board.rows.iter().map(|row| Ranked {
        entry: Entry {
            id: row.submission.clone(),
            board: document.place(),
            submitter: row.submitter.clone(),
            received_at: row.received_at,
            is_baseline: row.is_baseline,
            withdrawn_at: None,
            withdrawals: Vec::new(),
            ending: Some(Ending::Scored),
            score: Some(row.score),
            climb: row.is_released.then_some(Climb::Climbed),
            dataset: row.dataset,
        },
        rank: row.rank.unwrap_or_default(),
        is_of_other_dataset: differ(row.dataset, document.board.dataset),
    });
    rows.collect()
}

/// Compares the rows again, and checks the document's intervals against the result.
fn check_intervals(
    document: &BoardDocument,
    replicates: &BTreeMap<SubmissionId, Arc<Replicates>>,
    direction: Direction,
    report: &mut Report,
) {
    let Some(published) = &document.board.comparison else {
        report.not_checked.push("intervals: the document has none".into());
        return;
    };
    let is_of_board = |row: &&PublishedRow| row.dataset == document.board.dataset;
    let of_board = document.board.rows.iter().filter(is_of_board);
    // a row that came after the comparison
    let is_new = |row: &PublishedRow| row.n_submissions.is_none();
    let n_compared = of_board.clone().filter(|row| !is_new(row)).count();
    if n_compared != published.n_compared {
        report
            .not_checked
            .push("intervals: rows that they were computed from have changed since".into());
        return;
    }
    let rows = ranked_rows(document);
    let n_submissions = document
        .board
        .rows
        .iter()
        .map(|row| {
            (
                row.submitter.clone(),
                row.n_submissions.unwrap_or_default().into(),
            )
        })
        .collect();
    let is_released = document.board.rows.iter().any(|row| row.is_released);
    let shows_every_score = is_released && published.why_none != Some(NoIntervals::LadderReleases);
    let new: BTreeSet<&SubmissionId> = of_board
        .filter(|row| is_new(row))
        .map(|row| &row.submission)
        .collect();
    let compared: Vec<Ranked> = rows
        .iter()
        .filter(|row| !new.contains(&row.entry.id))
        .cloned()
        .collect();
    let comparison = Comparison::compute(
        &Rows {
            rows: &compared,
            replicates,
            n_submissions: &n_submissions,
            direction,
            dataset: document.board.dataset,
            shows_every_score,
        },
        document.published_at,
    );
    let parts = BoardParts {
        rows: &rows,
        n_rows: document.board.n_rows,
        comparison: Some(&comparison),
        evidence: &BTreeMap::new(),
        direction,
        ranking: document.board.ranking,
        dataset: document.board.dataset,
        is_closed: document.board.is_closed,
    };
    let level = published.resolution.map_or(Feedback::Score, |_| Feedback::Full);
    let computed = PublishedBoard::new(&parts, level);
    let mut n_differ = 0;
    for (row, again) in document.board.rows.iter().zip(&computed.rows) {
        let intervals =
            |row: &PublishedRow| (row.rank_interval, row.interval, row.is_above_baselines, row.area);
        if intervals(row) != intervals(again) {
            n_differ += 1;
            let message = format!(
                "`{}` has the intervals {} and should have {}",
                row.submitter,
                in_words(row),
                in_words(again)
            );
            report.find("interval_differs", message);
        }
    }
    if computed.comparison.as_ref() != Some(published) {
        n_differ += 1;
        report.find("comparison_differs", "the summary of the intervals differs");
    }
    if n_differ == 0 {
        report
            .checked
            .push("intervals are what data set and artifacts give".into());
    }
}

/// Scores the artifacts of a board's rows.
struct Recompute<'a> {
    dataset: &'a Path,
    digest: Digest,
    submissions: &'a Path,
    document: &'a BoardDocument,
}

/// The result of scoring the artifacts.
#[derive(Default)]
struct Recomputed {
    /// The replicates of all artifacts of a row's submitter that have the row's score.
    candidates: BTreeMap<SubmissionId, Vec<Arc<Replicates>>>,
    /// Submitters without an artifact.
    missing: Vec<String>,
    /// Submitters without an artifact that has the row's score.
    without_score: Vec<(String, String)>,
}

impl Action for Recompute<'_> {
    type Output = Recomputed;

    async fn run<B: Import>(self) -> Result<Recomputed> {
        let leaderboard = &self.document.leaderboard;
        let dataset = open_board::<B>(self.dataset, leaderboard, Integrity::Sizes).await?;
        let mut recomputed = Recomputed::default();
        let rows = &self.document.board.rows;
        let heads_only = rows.len() > MAX_COUNTED_ROWS;
        let range = descriptor(B::ID)?.score_range;
        let bar = progress::counting(rows.len() as u64, "scoring rows");
        for row in rows.iter().filter(|row| row.dataset == Some(self.digest)) {
            let mut scores = Vec::new();
            let (mut candidates, files) = (Vec::new(), artifacts_of(&self.submissions.join(&row.submitter))?);
            for path in &files {
                let Ok(Ok(artifact)) = read_for::<B>(path) else {
                    continue;
                };
                let Ok(evaluated) = gather(&dataset, leaderboard, &artifact).await else {
                    continue;
                };
                let score = B::score(&evaluated.frozen, &evaluated.evidence, &Weights::ones())?.score;
                let mut replicates = Replicates::draw(&evaluated, score)?;
                let shown = if row.is_released {
                    Margin::rounding(&replicates).rounded(score, range)
                } else {
                    score
                };
                scores.push(shown);
                if shown.to_bits() == row.score.to_bits() {
                    if heads_only {
                        replicates.correctness.clear();
                        replicates.parts.clear();
                    }
                    candidates.push(Arc::new(replicates));
                }
            }
            if !candidates.is_empty() {
                recomputed.candidates.insert(row.submission.clone(), candidates);
            } else if files.is_empty() {
                recomputed.missing.push(row.submitter.clone());
            } else {
                let given: Vec<String> = scores.iter().map(ToString::to_string).collect();
                let given = if given.is_empty() {
                    "none".to_owned()
                } else {
                    given.join(", ")
                };
                let why = format!("the score is {}, and its artifacts give {given}", row.score);
                recomputed.without_score.push((row.submitter.clone(), why));
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(recomputed)
    }
}

/// The files of a submitter; none where the folder is not there.
fn artifacts_of(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).with_context(|| format!("can't list `{}`", folder.display()))?;
    let mut files = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

/// Prints the report. Without keys nobody vouches for the document.
fn print(read: &ReadDocument, report: &Report, args: &VerifyArgs, format: RowFormat) -> Result<()> {
    let has_keys = args.keys.is_some();
    let BoardDocument {
        benchmark,
        leaderboard,
        round,
        number,
        published_at,
        ..
    } = &read.document;
    let is_verified = report.findings.is_empty() && has_keys;
    if format != RowFormat::Text {
        return print_json(&json!({
            "verified": is_verified, "kind": "board", "benchmark": benchmark, "leaderboard": leaderboard, "round": round,
            "number": number, "published_at": published_at, "digest": read.digest,
            "checked": report.checked, "findings": report.findings, "not_checked": report.not_checked,
        }));
    }
    let word = match (report.findings.is_empty(), has_keys) {
        (true, true) => "verified",
        (true, false) => "consistent, signature not checked",
        (false, _) => "not verified",
    };
    println!("{word}: {benchmark} {leaderboard}, round {round}, document {number} of {published_at}");
    for finding in &report.findings {
        println!(
            "  differs      {}",
            finding["message"].as_str().unwrap_or_default()
        );
    }
    if !args.verbose {
        return Ok(());
    }
    for checked in &report.checked {
        println!("  checked      {checked}");
    }
    for left in &report.not_checked {
        println!("  not checked  {left}");
    }
    Ok(())
}

/// The intervals of a row: of its rank and of its score.
fn in_words(row: &PublishedRow) -> String {
    let rank = row
        .rank_interval
        .map_or("none".to_owned(), |(first, last)| format!("{first} to {last}"));
    let score = row
        .interval
        .map_or("none".to_owned(), |(low, high)| format!("{low} to {high}"));
    let by_area = row.area.map_or_else(String::new, |area| {
        let (first, last) = area.rank_interval;
        let (value, interval) = (area.value, area.interval);
        let of_area = value.map_or_else(String::new, |value| format!("{value}, {interval:?} (area), "));
        format!(", {of_area}{first} to {last} (rank by area)")
    });
    format!("{rank} (rank), {score} (score){by_area}")
}
