//! `dataperf status`: what became of a submission, and what is unfinished since when.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::board::Board;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::submission::{Entry, Submission};
use dataperf::table::leaderboard::Leaderboards;
use dataperf::upload::misplaced::Note;
use dataperf::{Reason, Receipt};
use dataperf_aws::versions;
use futures_util::{StreamExt, TryStreamExt, stream};
use indicatif::HumanDuration;
use serde_json::{Value, json};

use super::score::done;
use crate::Done;
use crate::cloud::connection::Connection;
use crate::cloud::known;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::commands::leaderboard::{Worth, fields};
use crate::commands::organizer::withdraw::in_words;
use crate::output::rows::{OF_VERDICTS, RowFormat, of_verdict, print_rows, print_tabled};
use crate::output::{align_right, digits_apart, line_of, print_verdict, score, short, table, time};

/// Submissions that are looked up at once.
const AT_ONCE: usize = 16;
const MAX_NOTE_BYTES: u64 = 64 << 10;
/// The columns of CSV.
const COLUMNS: [&str; 24] = [
    "benchmark",
    "submission",
    "leaderboard",
    "round",
    "submitter",
    "received_at",
    "status",
    "score",
    "rank",
    "file",
    "reason",
    "n_reasons",
    "is_baseline",
    "is_released",
    "withdrawn_at",
    "withdrawal_reason",
    "waiting_seconds",
    "artifact",
    "rank_first",
    "rank_last",
    "score_low",
    "score_high",
    "n_submissions",
    "is_above_baselines",
];

#[allow(clippy::struct_excessive_bools)] // each is a flag of its own
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The benchmark [default: all]
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: Option<String>,
    /// A submission's id, or its first digits
    #[arg(conflicts_with = "submitter", requires = "benchmark")]
    submission: Option<String>,
    /// Show this submitter's submissions [default: yours, by your token]
    #[arg(long, requires = "benchmark")]
    submitter: Option<String>,
    /// Show failed evaluations, which `dataperf redrive` retries
    #[arg(long, conflicts_with_all = ["submission", "submitter"])]
    failed: bool,
    /// Show files that were uploaded to a wrong place
    #[arg(long, conflicts_with_all = ["benchmark", "submission", "submitter", "failed"])]
    misplaced: bool,
    /// How many submissions to show [default: 20; all in JSON and CSV]
    #[arg(long, short = 'n')]
    newest: Option<usize>,
    /// Show all of a submitter's submissions
    #[arg(long, conflicts_with = "newest")]
    all: bool,
    /// Also list score changes that come from people's decisions
    #[arg(long, requires = "submitter")]
    steps: bool,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// The submissions of a submitter that a person is shown.
const N_SHOWN: usize = 20;

pub(crate) async fn run(args: StatusArgs, format: RowFormat) -> Result<Done> {
    let connection = args.cloud.choose().await?;
    if args.misplaced {
        return misplaced(connection.keys()?, format).await;
    }
    let benchmarks: Vec<&str> = match &args.benchmark {
        Some(benchmark) => vec![benchmark],
        None => dataperf_hosted::IDS.to_vec(),
    };
    if let (Some(benchmark), Some(id)) = (&args.benchmark, &args.submission) {
        return one(&connection, benchmark, id, format).await;
    }
    let submitter = match args.submitter {
        None if !args.failed => connection.own_name().await?.map(String::from),
        given => given,
    };
    if let Some(submitter) = submitter {
        let most = args
            .newest
            .or((format == RowFormat::Text && !args.all).then_some(N_SHOWN));
        let of_each = benchmarks
            .iter()
            .map(|benchmark| connection.uploads(benchmark, &submitter, usize::MAX, args.steps));
        let of_each: Vec<Vec<Entry>> = stream::iter(of_each).buffered(AT_ONCE).try_collect().await?;
        let mut entries = of_each.concat();
        if args.benchmark.is_none() {
            entries.sort_by(|one, other| other.time_order().cmp(&one.time_order()));
        }
        let n_all = entries.len();
        entries.truncate(most.unwrap_or(n_all));
        let n_shown = entries.len();
        if let (true, Connection::Keys(cloud), [benchmark]) =
            (entries.is_empty(), &connection, &benchmarks[..])
        {
            known::check_submitter(cloud, benchmark, &submitter).await?;
        }
        let message = format!("`{submitter}` has submitted nothing");
        let when_none = args
            .benchmark
            .map_or_else(|| message.clone(), |benchmark| format!("{benchmark}: {message}"));
        let done = print(&connection, entries, format, &when_none).await?;
        if n_shown < n_all && format == RowFormat::Text {
            println!("{n_shown} of {n_all} shown, --all");
        }
        return Ok(done);
    }
    let leaderboards = connection.keys()?.leaderboards();
    let mut entries = Vec::new();
    for benchmark in benchmarks {
        entries.extend(if args.failed {
            leaderboards.failed(benchmark).await?
        } else {
            leaderboards.unfinished(benchmark).await?
        });
    }
    let message = if args.failed {
        "nothing has failed"
    } else {
        "nothing is unfinished"
    };
    let when_none = match &args.benchmark {
        Some(benchmark) => format!("{benchmark}: {message}"),
        None => message.to_owned(),
    };
    print(&connection, entries, format, &when_none).await
}

/// One submission, whole.
async fn one(connection: &Connection, benchmark: &str, id: &str, format: RowFormat) -> Result<Done> {
    let submission = match connection.named(benchmark, id).await? {
        Some(id) => connection.submission(benchmark, &id).await?,
        None => None,
    };
    let Some(submission) = submission else {
        return Err(connection.no_submission(benchmark, id).await?);
    };
    let Some(receipt) = &submission.receipt else {
        return print(connection, vec![submission.entry()], format, "").await;
    };
    let worth = if submission.entry().is_shown() {
        connection.worths(&submission.board).await?.remove(&submission.id)
    } else {
        None
    };
    let document = || {
        let mut document = serde_json::to_value(receipt)?;
        if let Some(document) = document.as_object_mut() {
            document.extend(fields(worth.as_ref()));
            if !submission.withdrawals.is_empty() || submission.withdrawn_at.is_some() {
                document.insert("withdrawn_at".into(), json!(submission.withdrawn_at));
                document.insert("withdrawals".into(), json!(submission.withdrawals));
            }
        }
        Ok(document)
    };
    let digits = connection
        .digits_of(benchmark, &submission.board.leaderboard)
        .await;
    let rows = || of_verdict(&receipt.verdict);
    print_tabled(document, &OF_VERDICTS, rows, format, || {
        print_whole(receipt, &in_words(&submission), worth.as_ref(), digits);
        Ok(())
    })?;
    Ok(done(&receipt.verdict))
}

/// An ended submission: its file, later events, its rank if it is on its board, and the verdict.
pub(crate) fn print_whole(
    receipt: &Receipt,
    afterwards: &[String],
    worth: Option<&Worth>,
    digits: Option<u8>,
) {
    println!(
        "{} by {}, received {} UTC, finished {} UTC",
        receipt.submission,
        receipt.submitter,
        time(receipt.received_at),
        time(receipt.finished_at)
    );
    println!("file {}", line_of(&receipt.key));
    for line in afterwards {
        println!("{line}");
    }
    if let Some(worth) = worth {
        println!("round {}: {}", receipt.round, worth.in_words());
    }
    print_verdict(&receipt.verdict, digits);
}

/// A submission in a list, with what only its item or its board tells.
struct Line {
    entry: Entry,
    submission: Option<Submission>,
    worth: Option<Worth>,
}

impl Line {
    fn reasons(&self) -> &[Reason] {
        let receipt = self
            .submission
            .as_ref()
            .and_then(|submission| submission.receipt.as_ref());
        receipt.map_or(&[], |receipt| &receipt.verdict.reasons)
    }

    fn n_reasons(&self) -> usize {
        let receipt = self
            .submission
            .as_ref()
            .and_then(|submission| submission.receipt.as_ref());
        let counted = receipt.and_then(|receipt| receipt.verdict.n_reasons);
        counted.unwrap_or(self.reasons().len())
    }

    /// The file, without the folder that it is in.
    fn file(&self) -> Option<String> {
        let key = &self.submission.as_ref()?.upload.key;
        Some(key.splitn(4, '/').last().unwrap_or(key).to_owned())
    }

    /// Why it has no score, or why it is on no board.
    fn why(&self) -> Option<String> {
        if self.entry.withdrawn_at.is_some() {
            return self.entry.withdrawals.last()?.reason.clone();
        }
        let first = self.reasons().first()?;
        let more = match self.n_reasons() {
            0 | 1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        Some(format!("{}: {}{more}", first.code, first.message))
    }

    fn document(&self) -> Value {
        let Self { entry, worth, .. } = self;
        let receipt = self
            .submission
            .as_ref()
            .and_then(|submission| submission.receipt.as_ref());
        let mut document = json!({ "benchmark": entry.board.benchmark, "is_baseline": entry.is_baseline, "withdrawn_at": entry.withdrawn_at,
                "waiting_seconds": waiting_seconds(entry), "submission": entry.id, "leaderboard": entry.board.leaderboard, "round": entry.board.round,
                "submitter": entry.submitter, "received_at": entry.received_at, "status": status(entry), "score": entry.score,
                "is_released": entry.climb.is_some(), "file": self.file(), "reasons": self.reasons(),
                "reason": self.reasons().first().map(|reason| &reason.code), "n_reasons": self.n_reasons(),
                "withdrawals": entry.withdrawals,
                "withdrawal_reason": entry.withdrawals.last().filter(|_| entry.withdrawn_at.is_some()).and_then(|last| last.reason.clone()),
                "artifact": receipt.and_then(|receipt| receipt.verdict.artifact) });
        if let Some(document) = document.as_object_mut() {
            let end = |interval: &Value, place: usize| interval.get(place).cloned().unwrap_or(Value::Null);
            let worth = fields(worth.as_ref());
            for (name, interval, place) in [
                ("rank_first", "rank_interval", 0),
                ("rank_last", "rank_interval", 1),
                ("score_low", "interval", 0),
                ("score_high", "interval", 1),
            ] {
                document.insert(name.to_owned(), end(&worth[interval], place));
            }
            document.extend(worth);
        }
        document
    }
}

/// The table's data on each submission, with its rank if it is on a board.
async fn lines(connection: &Connection, entries: Vec<Entry>) -> Result<Vec<Line>> {
    let boards: BTreeSet<Board> = entries
        .iter()
        .filter(|entry| entry.is_shown())
        .map(|entry| entry.board.clone())
        .collect();
    let mut of_boards = BTreeMap::new();
    for board in boards {
        of_boards.extend(connection.worths(&board).await?);
    }
    let own = connection.own_name().await?;
    let lines = entries.into_iter().map(|entry| async {
        // nobody else's receipt can be read with a token
        let is_readable = own.as_ref().is_none_or(|own| own.as_str() == entry.submitter);
        let submission = if is_readable {
            connection.submission(&entry.board.benchmark, &entry.id).await?
        } else {
            None
        };
        let worth = of_boards.get(&entry.id).cloned();
        anyhow::Ok(Line {
            entry,
            submission,
            worth,
        })
    });
    stream::iter(lines).buffered(AT_ONCE).try_collect().await
}

async fn print(
    connection: &Connection,
    entries: Vec<Entry>,
    format: RowFormat,
    when_none: &str,
) -> Result<Done> {
    let lines = lines(connection, entries).await?;
    let documents: Vec<Value> = lines.iter().map(Line::document).collect();
    print_rows(&documents, &COLUMNS, format, || {
        if lines.is_empty() {
            println!("{when_none}");
        } else {
            print_text(&lines);
        }
        Ok(())
    })?;
    Ok(Done::Fine)
}

fn print_text(lines: &[Line]) {
    let heads = [
        "received (UTC)",
        "benchmark",
        "leaderboard",
        "round",
        "submitter",
        "status",
        "score",
        "rank",
        "tries",
        "file",
        "submission",
    ];
    let mut table = table(&heads);
    table.spare(&["tries", "benchmark", "submitter", "round"]);
    let n_digits = digits_apart(lines.iter().map(|line| line.entry.id.as_str()));
    let id = |line: &Line| short(line.entry.id.as_str(), n_digits);
    for line in lines {
        let entry = &line.entry;
        table.add_row([
            time(entry.received_at),
            entry.board.benchmark.clone(),
            entry.board.leaderboard.clone(),
            entry.board.round.clone(),
            entry.submitter.clone(),
            match waiting_seconds(entry) {
                Some(seconds) => format!("received {} ago", HumanDuration(Duration::from_secs(seconds))),
                None if entry.withdrawn_at.is_some() => "withdrawn".to_owned(),
                None => status(entry).to_owned(),
            },
            entry.score.map(score).unwrap_or_default(),
            line.worth.as_ref().map(Worth::rank_in_words).unwrap_or_default(),
            line.worth
                .as_ref()
                .and_then(Worth::n_submissions)
                .map(|n| n.to_string())
                .unwrap_or_default(),
            // the page puts the moment of the upload before the file's own name
            line_of(
                line.file()
                    .unwrap_or_default()
                    .rsplit('/')
                    .next()
                    .unwrap_or_default(),
            ),
            id(line),
        ]);
    }
    (6..9).for_each(|column| align_right(&mut table, column));
    println!("{table}");
    for (line, why) in lines.iter().filter_map(|line| Some((line, line.why()?))) {
        println!("{}  {}", id(line), line_of(&why));
    }
}

fn status(entry: &Entry) -> &'static str {
    entry.ending.map_or("received", dataperf::Ending::as_str)
}

/// Since when it has been waiting for its verdict.
fn waiting_seconds(entry: &Entry) -> Option<u64> {
    let millis = now().unix_millis() - entry.received_at.unix_millis();
    entry
        .ending
        .is_none()
        .then(|| u64::try_from(millis / 1000).unwrap_or(0))
}

/// The notes that the caretaker has written.
async fn misplaced(cloud: &Cloud, format: RowFormat) -> Result<Done> {
    let (results, bucket) = (cloud.results(), &cloud.names.results_bucket);
    let mut notes: BTreeMap<String, Note> = BTreeMap::new();
    let mut place = None;
    loop {
        let page = versions(&cloud.clients.s3, bucket, &Note::prefix(), place.as_ref()).await?;
        for listed in page.uploads {
            if let Got::Object(object) = results.get(&listed.key, None, MAX_NOTE_BYTES).await? {
                let note: Note = serde_json::from_slice(&object.bytes)?;
                notes.insert(note.key.clone(), note);
            }
        }
        place = page.next;
        if place.is_none() {
            break;
        }
    }
    let documents: Vec<Value> = notes.values().map(|note| json!(note)).collect();
    let columns = ["key", "version", "received_at", "code", "nearest", "message"];
    print_rows(&documents, &columns, format, || {
        if notes.is_empty() {
            println!(
                "No file is misplaced. The caretaker looks for such files from time to time, once an hour on AWS."
            );
            return Ok(());
        }
        let mut table = table(&["received (UTC)", "file", "upload it as"]);
        for note in notes.values() {
            table.add_row([time(note.received_at), line_of(&note.key), line_of(&note.nearest)]);
        }
        println!("{table}");
        Ok(())
    })?;
    Ok(Done::Fine)
}
