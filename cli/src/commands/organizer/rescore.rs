//! `dataperf rescore`: has the functions score a whole board again.

mod outcome;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::board::{Board, OPEN_ROUND};
use dataperf::challenge::Challenge;
use dataperf::dataset_history::Noted;
use dataperf::evaluation::rescoring::Request;
use dataperf::evaluation::workflow::{Ports, keep_receipt};
use dataperf::ports::bucket::Bucket;
use dataperf::rows::revision::Run;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::table::maintenance::Maintenance;
use dataperf::{SubmissionId, quote};
use dataperf_aws::versions;
use dataperf_benchmarks::IDS;
use futures_util::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;

use crate::Done;
use crate::cloud::known::Known;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::hosted::descriptor;
use crate::output::progress;
use crate::output::rows::RowFormat;

const FIRST_POLL: Duration = Duration::from_millis(100);
const LAST_POLL: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct RescoreArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(IDS))]
    benchmark: String,
    /// The leaderboard
    leaderboard: String,
    /// The round
    #[arg(long, default_value = OPEN_ROUND)]
    round: String,
    /// Start again instead of resuming an interrupted run
    #[arg(long = "anew")]
    restart: bool,
    /// How many rows of the table to print
    #[arg(long, short = 'n', default_value_t = 20)]
    top: usize,
    /// How many submissions to score per request
    #[arg(long, value_name = "N", default_value_t = 4)]
    batch: usize,
    /// How many requests to send at a time
    #[arg(long, value_name = "N", default_value_t = 8)]
    at_once: usize,
    /// How long to wait for an answer before giving up for now
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    timeout: u64,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: RescoreArgs, format: RowFormat) -> Result<Done> {
    let cloud = args.cloud.clone().connect().await?;
    let board = Board {
        benchmark: args.benchmark.clone(),
        leaderboard: args.leaderboard.clone(),
        round: args.round.clone(),
    };
    if let Some(public) = board.public() {
        bail!(
            "`{}` is the board of a final data set, which is scored once: name the round itself, `--round {}`, to have its own board scored again",
            board.round,
            public.round
        );
    }
    let known = Known::read(&cloud, &board.benchmark).await?;
    known.check(Some(&board.leaderboard), Some(&board.round))?;
    refuse_before_retirement(&cloud, &board).await?;
    let table = cloud.leaderboards();
    if let Some(open) = table
        .run(&board)
        .await?
        .filter(|run| args.restart && run.ended_at.is_none())
    {
        table
            .end_run(&board, &open, now(), std::slice::from_ref(&board))
            .await?;
    }
    let run = table.begin_run(&board, now()).await?;
    let bar = progress::counting(0, "scoring again");
    bar.println(format!("the run that was begun at {}", run.begun_at));
    loop {
        let todo = todo(&cloud, &board, &run, &bar).await?;
        if todo.is_empty() {
            break;
        }
        ask(&cloud, &args, &board, &run, &todo, &bar).await?;
    }
    keep_receipts(&cloud, &args, &board, &run).await?;
    bar.finish_and_clear();
    table
        .end_run(&board, &run, now(), std::slice::from_ref(&board))
        .await?;
    cloud.project(&board).await?;
    tidy(&cloud, &board.benchmark, &run).await?;
    let order = cloud.order(&board).await?;
    let revisions = table.revisions(&board, &run.id).await?;
    outcome::print(&board, &run, &revisions, order, args.top, format)?;
    Ok(Done::Fine)
}

/// Refuses a board with an unfinished retirement: its report would lack submissions that are scored
/// again first.
async fn refuse_before_retirement(cloud: &Cloud, board: &Board) -> Result<()> {
    let table = cloud.leaderboards();
    let challenge = Challenge::published(&cloud.datasets(), &board.benchmark).await?;
    let round = challenge
        .as_ref()
        .and_then(|challenge| challenge.round(&board.round));
    if round.is_none()
        && Noted::read(&table, &board.benchmark)
            .await?
            .has_retired(&board.round)
    {
        bail!(
            "the data set of the round {} is retired, and the published challenge lacks the round, which says what scores each \
                upload. Publish a challenge with the round again",
            quote(&board.round)
        );
    }
    let Some((round, retire)) = round.and_then(|round| Some((round, round.retired(now())?))) else {
        return Ok(());
    };
    let run = table.run(&retire.run(board)).await?;
    if run.is_none_or(|run| run.ended_at.is_none()) {
        bail!(
            "the data set of the round `{}` is retired, and the platform scores the board again within about 30 minutes: wait \
                until `dataperf leaderboard retirement {} {} --round {}` prints its report",
            round.id,
            board.benchmark,
            board.leaderboard,
            round.id
        );
    }
    Ok(())
}

/// The remaining work of the run: submissions scored before it began, and those that an earlier run
/// rejected, perhaps only because of its data set.
async fn todo(cloud: &Cloud, board: &Board, run: &Run, bar: &ProgressBar) -> Result<Vec<SubmissionId>> {
    let table = cloud.leaderboards();
    let series = table.series(board).await?;
    let scored = series.into_iter().filter(|line| line.received_at <= run.begun_at);
    let mut ids: BTreeSet<SubmissionId> = scored.map(|line| line.id).collect();
    for before in &run.before {
        let revisions = table.revisions(board, before).await?;
        ids.extend(
            revisions
                .into_iter()
                .filter(|revision| revision.after.is_none())
                .map(|revision| revision.id),
        );
    }
    let done: BTreeSet<SubmissionId> = table
        .revisions(board, &run.id)
        .await?
        .into_iter()
        .map(|done| done.id)
        .collect();
    bar.set_length(ids.union(&done).count() as u64);
    bar.set_position(done.len() as u64);
    let mut todo = Vec::new();
    for id in ids.difference(&done) {
        if !is_withdrawn(cloud, board, id).await? {
            todo.push(id.clone());
        }
    }
    Ok(todo)
}

async fn is_withdrawn(cloud: &Cloud, board: &Board, id: &SubmissionId) -> Result<bool> {
    let known = cloud.leaderboards().submission(&board.benchmark, id).await?;
    Ok(known.is_none_or(|known| known.withdrawn_at.is_some()))
}

/// Requests all of `todo`, some at a time, and waits for the answers.
async fn ask(
    cloud: &Cloud,
    args: &RescoreArgs,
    board: &Board,
    run: &Run,
    todo: &[SubmissionId],
    bar: &ProgressBar,
) -> Result<()> {
    let patience = Duration::from_secs(args.timeout);
    let batches = todo.chunks(args.batch.max(1)).enumerate();
    let answers = batches.map(|(n, ids)| async move {
        request(cloud, board, run, n, ids).await?;
        for id in ids {
            answered(cloud, board, run, id, patience).await?;
            bar.inc(1);
        }
        anyhow::Ok(())
    });
    stream::iter(answers)
        .buffer_unordered(args.at_once.max(1))
        .try_collect()
        .await
}

/// Writes the receipts that functions did not write: if a function is cut short after it has changed the table, its next try finds no request any
/// more, since all were answered.
async fn keep_receipts(cloud: &Cloud, args: &RescoreArgs, board: &Board, run: &Run) -> Result<()> {
    let (table, results, signer) = (cloud.leaderboards(), cloud.results(), cloud.signer());
    let challenge = Challenge::published(&cloud.datasets(), &board.benchmark).await?;
    let hosted = descriptor(&board.benchmark)?;
    let ports = Ports {
        leaderboards: &table,
        results: &results,
        signer: &signer,
        now: &now,
    };
    let challenge = challenge.as_ref();
    let revisions = table.revisions(board, &run.id).await?;
    let kept = revisions
        .into_iter()
        .map(|revision| async move { keep_receipt(&revision.id, hosted, challenge, ports).await });
    let kept = stream::iter(kept).buffer_unordered(args.at_once.max(1));
    kept.try_collect::<()>().await?;
    Ok(())
}

/// The folder of a run's requests.
fn folder(benchmark: &str, run: &Run) -> String {
    format!("{}{}/", Request::folder(benchmark), run.id)
}

async fn request(cloud: &Cloud, board: &Board, run: &Run, n: usize, ids: &[SubmissionId]) -> Result<()> {
    let request = Request {
        leaderboard: board.leaderboard.clone(),
        round: board.round.clone(),
        run: run.id.clone(),
        submissions: ids.to_vec(),
    };
    let key = format!("{}{n}.json", folder(&board.benchmark, run));
    let json = Bytes::from(serde_json::to_vec(&request)?);
    cloud.submissions().put(&key, json).await?;
    Ok(())
}

async fn answered(
    cloud: &Cloud,
    board: &Board,
    run: &Run,
    id: &SubmissionId,
    patience: Duration,
) -> Result<()> {
    let (began, mut wait) = (Instant::now(), FIRST_POLL);
    while cloud.leaderboards().revision(board, &run.id, id).await?.is_none() {
        if is_withdrawn(cloud, board, id).await? {
            return Ok(());
        }
        if began.elapsed() > patience {
            bail!(
                "submission {id} was not scored again within {} s: look into the function's log and the failures queue. Then \
                    run the same command again, which continues where it stopped",
                patience.as_secs()
            );
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LAST_POLL);
    }
    Ok(())
}

/// Removes the requests of a run: they have been answered.
async fn tidy(cloud: &Cloud, benchmark: &str, run: &Run) -> Result<()> {
    let (s3, bucket) = (&cloud.clients.s3, &cloud.names.submissions_bucket);
    let about = || {
        format!(
            "can't remove the run's requests from `s3://{bucket}/{}`",
            folder(benchmark, run)
        )
    };
    loop {
        let listed = versions(s3, bucket, &folder(benchmark, run), None).await;
        let listed = listed.with_context(about)?;
        for request in listed.uploads {
            let removed = s3
                .delete_object()
                .bucket(bucket)
                .key(request.key)
                .version_id(request.version.as_deref().unwrap_or("null"));
            removed.send().await.with_context(about)?;
        }
        if listed.next.is_none() {
            return Ok(());
        }
    }
}
