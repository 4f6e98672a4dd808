//! Code shared by the commands of collections, to which people submit items that raters judge.

pub(crate) mod agreement;
pub(crate) mod disqualify;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use dataperf::board::OPEN_ROUND;
use dataperf::challenge::Challenge;
use dataperf::{Ending, Receipt, SubmitterName};
use serde::Serialize;

use super::participant::submit::{receipt, upload};
use crate::Done;
use crate::cloud::{Cloud, now};
use crate::output::print_verdict;
use crate::output::progress;
use crate::output::rows::{OF_VERDICTS, RowFormat, of_verdict, print_tabled};

/// A person's consent to see disturbing content. It is requested once per person and folder.
pub(crate) struct Consent<'a> {
    /// The file in which it is noted.
    pub(crate) path: &'a Path,
    /// The consent's subject, such as `be shown images that may be disturbing`.
    pub(crate) to: &'a str,
    /// The place to find help.
    pub(crate) well_being: &'a str,
}

impl Consent<'_> {
    /// Makes sure that a person has agreed before or agrees now, by an option (`is_given`) or at a terminal.
    pub(crate) fn ask(&self, who: &SubmitterName, is_given: bool) -> Result<()> {
        let noted = std::fs::read_to_string(self.path).unwrap_or_default();
        if noted
            .lines()
            .any(|line| line.split(' ').next() == Some(who.as_str()))
        {
            return Ok(());
        }
        let well_being = self.well_being;
        if !is_given && !says_yes(well_being)? {
            bail!(
                "nothing was uploaded and nothing is shown, because you have not agreed to {}. {well_being} To \
                 agree, give the command again with `--consent`",
                self.to
            );
        }
        let line = format!("{who} has agreed to {}, {}", self.to, now());
        add_line(self.path, &line)
    }
}

/// Asks at a terminal only.
fn says_yes(well_being: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    eprint!("{well_being}\nDo you agree to be shown them? Type `yes`: ");
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .context("can't read your answer")?;
    Ok(answer.trim().eq_ignore_ascii_case("yes"))
}

/// Appends a line to a file, and creates the file if needed.
fn add_line(path: &Path, line: &str) -> Result<()> {
    let about = || format!("can't write `{}`", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(about)?;
    }
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(about)?;
    file.write_all(format!("{line}\n").as_bytes()).with_context(about)
}

/// Adds the items `now` to a rater's file of skipped items, one id per line, and returns all ids in
/// it.
pub(crate) fn skipped<Id: FromStr + Ord + Display>(noted: &Path, now: &[Id]) -> Result<BTreeSet<Id>> {
    for item in now {
        add_line(noted, &item.to_string())?;
    }
    let noted = std::fs::read_to_string(noted).unwrap_or_default();
    Ok(noted
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect())
}

/// The round `named`, or else the last round to begin in the active challenge; without a challenge
/// the round `open`.
pub(crate) fn round_or_latest(named: Option<&str>, challenge: Option<&Challenge>) -> Result<String> {
    if let Some(round) = named {
        return Ok(round.to_owned());
    }
    let Some(challenge) = challenge else {
        return Ok(OPEN_ROUND.into());
    };
    let begun = challenge
        .rounds
        .iter()
        .filter(|round| round.opens <= now())
        .max_by_key(|round| round.opens);
    let round = begun.context("no round of the challenge has begun: name one by `--round`")?;
    Ok(round.id.clone())
}

/// Uploads lines as one file, and waits for its receipt.
pub(crate) async fn send<T: Serialize>(
    cloud: &Cloud,
    benchmark: &str,
    kind: &str,
    who: &SubmitterName,
    lines: &[T],
) -> Result<Receipt> {
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    let path = scratch.path().join(format!("{kind}.jsonl"));
    let lines: Vec<String> = lines
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()?;
    std::fs::write(&path, lines.join("\n") + "\n").context("can't write a temporary file")?;
    send_file(cloud, benchmark, kind, who, &path).await
}

/// Uploads the file at `path`, and waits for its receipt.
pub(crate) async fn send_file(
    cloud: &Cloud,
    benchmark: &str,
    kind: &str,
    who: &SubmitterName,
    path: &Path,
) -> Result<Receipt> {
    let submitted = upload(cloud, benchmark, kind, who, path).await?;
    let spinner = progress::waiting(&format!("waiting for the receipt of {}", submitted.id));
    let receipt = receipt(cloud, &submitted).await;
    spinner.finish_and_clear();
    receipt
}

/// Prints a receipt; what it means for the exit code.
pub(crate) fn show(receipt: &Receipt, format: RowFormat) -> Result<Done> {
    let document = || Ok(receipt);
    let rows = || of_verdict(&receipt.verdict);
    print_tabled(document, &OF_VERDICTS, rows, format, || {
        println!("submission {}", receipt.submission);
        print_verdict(&receipt.verdict, None);
        Ok(())
    })?;
    match receipt.verdict.status {
        Ending::Failed => bail!("the platform failed: it does not count against you, and can be tried again"),
        Ending::Rejected => Ok(Done::Rejected),
        Ending::Accepted | Ending::Scored => Ok(Done::Fine),
    }
}
