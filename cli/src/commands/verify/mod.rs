//! `dataperf verify`: anybody can check a receipt or a published board: with the public keys alone, and with the data set and artifacts in full.

mod board;
mod fields;

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use dataperf::board_log::MAX_DOCUMENT_BYTES;
use dataperf::dataset::Integrity;
use dataperf::formats::json::Json;
use dataperf::programs::Program;
use dataperf::signature::Keys;
use dataperf::upload::names_of;
use dataperf::{Digest, Ending, Feedback, MAX_RECEIPT_BYTES, Receipt, SubmissionId, Verdict};
use serde_json::{Value, json};

use self::fields::{Field, Fields, State};
use super::participant::score::{Convert, Judge};
use crate::Done;
use crate::hosted::descriptor;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{n_of, table};
use crate::registry::with_benchmark;

/// The codes of rejections that follow from the place, the time or the state of an upload and not from its bytes.
const NOT_OF_THE_BYTES: [&str; 11] = [
    "archived",
    "daily_failures",
    "daily_limit",
    "deleted",
    "encrypted",
    "misplaced_upload",
    "name_looks_alike",
    "not_open",
    "total_limit",
    "unknown_leaderboard",
    "unusable_name",
];

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The receipt, or a published board
    receipt: PathBuf,
    /// The platform's public keys, to check the signature
    #[arg(long, short, value_name = "keys.json")]
    keys: Option<PathBuf>,
    /// The data set of the receipt, to recompute the verdict
    #[arg(long, short)]
    dataset: Option<PathBuf>,
    /// The artifact of the receipt; without --dataset only its digest is checked
    #[arg(long, short)]
    artifact: Option<PathBuf>,
    /// An earlier document of the board, to find removed rows
    #[arg(long, value_name = "OLD.json")]
    since: Option<PathBuf>,
    /// The receipts of a board's rows, to compare scores
    #[arg(long, value_name = "DIR")]
    receipts: Option<PathBuf>,
    /// The artifacts of a board's rows (SUBMITTER/FILE), to recompute scores
    #[arg(long, value_name = "DIR", requires = "dataset")]
    submissions: Option<PathBuf>,
    /// List every field and check
    #[arg(long)]
    verbose: bool,
}

pub(crate) async fn run(args: VerifyArgs, format: RowFormat) -> Result<Done> {
    let about = || format!("can't read the receipt `{}`", args.receipt.display());
    let bytes = document_bytes(&args.receipt).with_context(about)?;
    no_repeated_keys(&bytes).with_context(about)?;
    let document: Value = serde_json::from_slice(&bytes).with_context(about)?;
    if document["kind"] == "board" {
        return Box::pin(board::run(&args, format)).await;
    }
    ensure!(
        bytes.len() as u64 <= MAX_RECEIPT_BYTES,
        "`{}` has more than {MAX_RECEIPT_BYTES} bytes, and no receipt is that large: name the file of one receipt",
        args.receipt.display()
    );
    if args.since.is_some() || args.receipts.is_some() || args.submissions.is_some() {
        bail!(
            "`--since`, `--receipts` and `--submissions` are for published boards, and `{}` is a receipt",
            args.receipt.display()
        );
    }
    if args.dataset.is_some() && args.artifact.is_none() {
        bail!("`--dataset` needs `--artifact`, the file that was scored");
    }
    if args.keys.is_none() && args.artifact.is_none() {
        bail!(
            "a receipt alone proves nothing: name the public keys with `--keys`, or the file that was scored with `--artifact`"
        );
    }
    let receipt: Receipt = serde_json::from_value(document.clone()).with_context(|| {
        format!(
            "`{}` is not a receipt: take the file `BENCHMARK/LEADERBOARD/SUBMITTER/ID.json` of the results bucket",
            args.receipt.display()
        )
    })?;
    let mut fields = Fields::from_document(&document);
    agree(&receipt, &mut fields);
    if let Some(path) = &args.keys {
        check_signature(&document, path, &mut fields)?;
    }
    let feedback = receipt.feedback.unwrap_or(Feedback::Full);
    let is_withheld = feedback == Feedback::Nothing;
    let is_released = is_withheld || feedback < Feedback::Full && receipt.climb().is_some();
    let mut withheld = None;
    if let Some(artifact) = &args.artifact {
        match (&args.dataset, unrepeatable(&receipt.verdict)) {
            (Some(_), Some(why)) if args.keys.is_none() => {
                bail!("{why}: there is nothing to recompute; check the signature with `--keys`")
            }
            (Some(dataset), None) => {
                let whole = recomputed(&receipt.verdict, dataset, artifact).await?;
                let hosted = descriptor(&whole.benchmark)?;
                let mut shown = whole.shown(feedback, hosted);
                let mut claimed = receipt.verdict.clone();
                let mut left_out = whole.withheld(feedback, hosted);
                if is_released {
                    (shown.score, claimed.score) = (None, None); // not what the artifact and the data set give
                    left_out.push("score".to_owned());
                }
                compare(&claimed, &shown, &mut fields)?;
                withheld = Some(left_out);
            }
            _ => check_artifact(&receipt.verdict, artifact, &mut fields).await?,
        }
    }
    fields.explain_the_rest(&args, &receipt.verdict, is_released);
    let is_verified = !fields.has_failed();
    print(
        &receipt,
        feedback,
        withheld.as_deref(),
        &fields,
        (args.verbose, format),
    )?;
    if is_verified {
        Ok(Done::Fine)
    } else {
        bail!("the receipt is not verified")
    }
}

/// The bytes of the file of a receipt or a published board, which may come from anybody.
fn document_bytes(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(MAX_DOCUMENT_BYTES + 1)
        .read_to_end(&mut bytes)?;
    ensure!(
        bytes.len() as u64 <= MAX_DOCUMENT_BYTES,
        "it has more than {MAX_DOCUMENT_BYTES} bytes, and no receipt is that large: name the file of one receipt"
    );
    if let Some(mistake) = dataperf::mistaken_for_text(&bytes) {
        bail!("{mistake}: name the JSON file of a receipt or of a published board");
    }
    Ok(bytes)
}

/// Refuses an object with a repeated member, because readers differ in which of the two they use.
fn no_repeated_keys(bytes: &[u8]) -> Result<()> {
    /// The end of the path of a member that is there twice.
    fn search(json: &Json) -> Option<String> {
        match json {
            Json::Object(members) => {
                let mut seen = HashSet::new();
                members.iter().find_map(|(key, value)| {
                    let is_new = seen.insert(key);
                    let rest = if is_new { search(value)? } else { String::new() };
                    Some(format!("/{key}{rest}"))
                })
            }
            Json::Array(items) => items.iter().find_map(search).map(|rest| format!("/-{rest}")),
            _ => None,
        }
    }
    let json = Json::parse(bytes);
    let json = json.map_err(|rejection| anyhow::anyhow!("{}", rejection.reasons()[0].message))?;
    match search(&json) {
        Some(at) => bail!(
            "the receipt has `{at}` twice, and each member may be there once: take it from the \
             results bucket again"
        ),
        None => Ok(()),
    }
}

/// Checks fields that follow from other fields of the receipt.
fn agree(receipt: &Receipt, fields: &mut Fields) {
    let verdict = &receipt.verdict;
    let known = 1..=Receipt::SCHEMA;
    fields.compare(
        "schema",
        &json!(receipt.schema.clamp(1, Receipt::SCHEMA)),
        "this version reads it",
    );
    if !known.contains(&receipt.schema) {
        return; // the fields may mean something else there
    }
    let (leaderboard, submitter) = names_of(&verdict.benchmark, &receipt.key);
    fields.compare("leaderboard", &json!(leaderboard), "agrees with `key`");
    fields.compare("submitter", &json!(submitter), "agrees with `key`");
    if let Some(version) = &receipt.version {
        let id = SubmissionId::derive(&receipt.bucket, &receipt.key, version);
        fields.compare(
            "submission",
            &json!(id),
            "agrees with `bucket`, `key` and `version`",
        );
    }
}

/// The public keys in a file.
fn keys_of(path: &Path) -> Result<Keys> {
    let about = || format!("`{}` is not a document of public keys", path.display());
    let text = fs::read(path).with_context(|| format!("can't read the keys `{}`", path.display()))?;
    let keys: Keys = serde_json::from_slice(&text).with_context(about)?;
    if keys.schema != Keys::SCHEMA {
        bail!(
            "{}: its schema is {}, this version reads {}",
            about(),
            keys.schema,
            Keys::SCHEMA
        );
    }
    Ok(keys)
}

fn check_signature(document: &Value, path: &Path, fields: &mut Fields) -> Result<()> {
    match keys_of(path)?.check(document) {
        Ok(signature) => fields.vouch(&format!("signed by {} at {}", signature.key, signature.signed_at)),
        Err(error) => fields.fail("signature", &error.to_string(), Value::Null),
    }
    Ok(())
}

/// Why a verdict can't be had again from the artifact and the data set.
fn unrepeatable(verdict: &Verdict) -> Option<&'static str> {
    let of_the_place = |code: &str| NOT_OF_THE_BYTES.contains(&code);
    if verdict.program.is_some() {
        return Some("the score is of a program's run on hidden data, which `dataperf closed run` repeats");
    }
    match verdict.status {
        Ending::Failed => Some("the receipt says that the platform failed"),
        Ending::Accepted => {
            Some("this kind of artifact is judged line by line, with what the platform knows")
        }
        Ending::Rejected if verdict.reasons.iter().any(|reason| of_the_place(&reason.code)) => {
            Some("the rejection is for where, when or how often the artifact was uploaded, not for its bytes")
        }
        Ending::Scored if !dataperf_benchmarks::IDS.contains(&verdict.benchmark.as_str()) => {
            Some("the score follows from raters' verdicts")
        }
        Ending::Scored | Ending::Rejected => None,
    }
}

async fn recomputed(claimed: &Verdict, dataset: &Path, artifact: &Path) -> Result<Verdict> {
    let judge = Judge {
        leaderboard: &claimed.leaderboard,
        dataset,
        artifact,
        integrity: Integrity::Digests,
    };
    with_benchmark(&claimed.benchmark, judge).await
}

async fn check_artifact(claimed: &Verdict, artifact: &Path, fields: &mut Fields) -> Result<()> {
    let mut bytes =
        fs::read(artifact).with_context(|| format!("can't read the artifact `{}`", artifact.display()))?;
    if let Some(program) = &claimed.program {
        let module = Digest::compute(&bytes);
        let program = Program {
            module,
            ..program.clone()
        };
        fields.compare("program", &json!(program), "the digest of the given file");
        return Ok(());
    }
    if dataperf_benchmarks::IDS.contains(&claimed.benchmark.as_str()) {
        let (path, file) = (artifact, bytes);
        bytes = with_benchmark(&claimed.benchmark, Convert { path, file }).await?;
    }
    fields.compare(
        "artifact",
        &json!(Digest::compute(&bytes)),
        "the digest of the given file",
    );
    if claimed.artifact.is_none() {
        bail!(
            "the receipt names no artifact: it was never read, so there is nothing to compare `--artifact` with"
        );
    }
    Ok(())
}

/// Compares the JSON of a verdict with the recomputed one; numbers are compared by their shortest
/// exact decimals. A rejection reached without reading the data set or the artifact does not name
/// their digests.
fn compare(claimed: &Verdict, recomputed: &Verdict, fields: &mut Fields) -> Result<()> {
    let was_refused = claimed.status == Ending::Rejected;
    let (claimed, recomputed) = (serde_json::to_value(claimed)?, serde_json::to_value(recomputed)?);
    let names = |value: &Value| {
        value
            .as_object()
            .map_or(Vec::new(), |object| object.keys().cloned().collect())
    };
    let mut all: Vec<String> = [names(&claimed), names(&recomputed)].concat();
    all.sort();
    all.dedup();
    for name in all {
        let was_not_read =
            was_refused && claimed[&name].is_null() && ["dataset", "artifact"].contains(&name.as_str());
        if !was_not_read {
            fields.compare(&name, &recomputed[&name], "recomputed");
        }
    }
    Ok(())
}

fn print(
    receipt: &Receipt,
    feedback: Feedback,
    withheld: Option<&[String]>,
    fields: &Fields,
    (is_verbose, format): (bool, RowFormat),
) -> Result<()> {
    let document = || {
        Ok(json!({
            "verified": !fields.has_failed(), "submission": receipt.submission, "schema": receipt.schema,
            "signature": fields.signature(), "feedback": feedback, "withheld": withheld, "fields": fields.list(),
            "differences": fields.differences(),
        }))
    };
    let columns = ["field", "state", "how", "claimed", "recomputed"];
    print_tabled(
        document,
        &columns,
        || fields.rows(),
        format,
        || {
            print_text(receipt, feedback, withheld, fields, is_verbose);
            Ok(())
        },
    )
}

fn print_text(
    receipt: &Receipt,
    feedback: Feedback,
    withheld: Option<&[String]>,
    fields: &Fields,
    is_verbose: bool,
) {
    let word = if fields.has_failed() {
        "not verified"
    } else {
        "verified"
    };
    let count = |state| fields.all().filter(|field| field.state == state).count();
    let more = if is_verbose { "" } else { " (--verbose lists them)" };
    println!(
        "{word}: submission {}: {} checked, {} not checked{more}",
        receipt.submission,
        n_of(count(State::Checked), "field", "fields"),
        count(State::NotChecked)
    );
    if receipt.signature.is_none() {
        println!("The receipt is of schema {} and not signed.", receipt.schema);
    }
    if !is_verbose && !fields.has_failed() {
        return;
    }
    if let Some(withheld) = withheld.filter(|withheld| !withheld.is_empty()) {
        let level = feedback.as_str();
        println!(
            "The receipt shows the feedback `{level}`, without {}.",
            withheld.join(", ")
        );
    }
    let is_shown = |field: &&Field| is_verbose || field.state == State::Differs;
    let mut table = table(&["field", "", "how, or why not"]);
    for field in fields.all().filter(is_shown) {
        table.add_row([field.name.as_str(), field.state.as_str(), &field.how]);
        if field.state == State::Differs && !field.expected.is_null() {
            table.add_row([
                "",
                "",
                &format!("receipt {}, here {}", field.claimed, field.expected),
            ]);
        }
    }
    println!("{table}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_member_is_named_with_its_path() {
        let message = |json: &str| {
            no_repeated_keys(json.as_bytes())
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(
            message(r#"{"a": [{"b": 1}, {"b": 1, "c": 2}], "b": {"a": 1}}"#),
            None
        );
        let error = message(r#"{"a": [{"b": 1}, {"b": 1, "c": {"d": 1, "e": 2, "d": 3}}]}"#);
        assert!(error.is_some_and(|error| error.contains("`/a/-/c/d` twice")));
        let members: Vec<String> = (0..50_000).map(|n| format!("\"{n}\": 0")).collect();
        assert_eq!(message(&format!("{{{}}}", members.join(","))), None);
        let error = message(&format!("{{{}, \"49999\": 1}}", members.join(",")));
        assert!(error.is_some_and(|error| error.contains("`/49999` twice")));
    }

    #[test]
    fn a_file_larger_than_any_receipt_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("receipt.json");
        let file = fs::File::create(&path).expect("a file");
        file.set_len(MAX_DOCUMENT_BYTES).expect("bytes");
        assert!(document_bytes(&path).is_ok());
        file.set_len(MAX_DOCUMENT_BYTES + 1).expect("bytes");
        let error = document_bytes(&path).expect_err("too large");
        assert!(error.to_string().contains("no receipt is that large"), "{error}");
    }
}
