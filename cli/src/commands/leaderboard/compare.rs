//! `dataperf leaderboard compare`: two submissions against each other, with an interval of their difference.

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::comparison::pair::Paired;
use dataperf::evidence::MAX_EVIDENCE_BYTES;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::replicates::{HEAD_BYTES, Replicates};
use dataperf::submission::Submission;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Digest, Ending, SubmissionId, similar};
use serde::Serialize;
use serde_json::{Value, json};

use super::words::sentence;
use crate::Done;
use crate::cloud::known;
use crate::cloud::{Cloud, CloudArgs};
use crate::hosted::descriptor;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{align_right, digits_apart, score, short, table};

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The first submission's id, or its first digits
    first: String,
    /// The second submission's id, or its first digits
    second: String,
    /// Look in this benchmark only
    #[arg(long, short, value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// One of the two.
#[derive(Debug, Serialize)]
struct Side {
    submission: SubmissionId,
    submitter: String,
    round: String,
    score: f64,
}

/// The printed document.
#[derive(Debug, Serialize)]
struct Compared {
    benchmark: String,
    leaderboard: String,
    dataset: Digest,
    first: Side,
    second: Side,
    #[serde(flatten)]
    paired: Paired,
}

pub(super) async fn run(args: CompareArgs, format: RowFormat) -> Result<Done> {
    let cloud = args.cloud.clone().connect().await?;
    let first = submission(&cloud, args.benchmark.as_deref(), &args.first).await?;
    let second = submission(&cloud, args.benchmark.as_deref(), &args.second).await?;
    if first.id == second.id {
        bail!("`{}` is named twice: name two submissions", first.id);
    }
    let [one, other] =
        [&first, &second].map(|compared| (&compared.board.benchmark, &compared.board.leaderboard));
    if one != other {
        bail!(
            "`{}` is of {} {}, and `{}` of {} {}: compare two submissions of one leaderboard",
            first.id,
            one.0,
            one.1,
            second.id,
            other.0,
            other.1
        );
    }
    let [kept_first, kept_second] = [kept(&cloud, &first).await?, kept(&cloud, &second).await?];
    let side = |compared: &Submission, kept: &Replicates| Side {
        submission: compared.id.clone(),
        submitter: compared.submitter.clone(),
        round: compared.board.round.clone(),
        score: kept.header.score,
    };
    let (one, other) = (side(&first, &kept_first), side(&second, &kept_second));
    let dataset = kept_first.header.dataset;
    let direction = descriptor(&first.board.benchmark)?.direction;
    let paired = Paired::compare(kept_first, kept_second, direction);
    let compared = Compared {
        benchmark: first.board.benchmark,
        leaderboard: first.board.leaderboard,
        dataset,
        first: one,
        second: other,
        paired: paired.map_err(|why| anyhow!("the two can't be compared: {why}"))?,
    };
    let document = || Ok(&compared);
    print_tabled(
        document,
        &COLUMNS,
        || vec![row(&compared)],
        format,
        || {
            print(&compared);
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}

/// A scored submission, whichever benchmark has it.
async fn submission(cloud: &Cloud, benchmark: Option<&str>, id: &str) -> Result<Submission> {
    let benchmarks = benchmark.map_or_else(|| dataperf_hosted::IDS.to_vec(), |benchmark| vec![benchmark]);
    for (benchmark, id) in known::named(cloud, &benchmarks, id).await? {
        if let Some(submission) = cloud.leaderboards().submission(benchmark, &id).await? {
            let status = submission.entry().ending.map_or("received", Ending::as_str);
            if status != Ending::Scored.as_str() {
                bail!("submission `{id}` is {status}: only scored ones are compared");
            }
            return Ok(submission);
        }
    }
    let mut known = Vec::new();
    for benchmark in benchmarks {
        known.extend(known::ids(cloud, benchmark).await?);
    }
    let known: Vec<&str> = known.iter().map(SubmissionId::as_str).collect();
    let remedy = similar(id, &known)
        .unwrap_or_else(|| "`dataperf leaderboard BENCHMARK` shows the submissions on boards".to_owned());
    bail!("there is no submission `{id}`: {remedy}")
}

/// The stored evidence and replicates of a submission.
async fn kept(cloud: &Cloud, submission: &Submission) -> Result<Replicates> {
    let key = Replicates::key(&submission.board.benchmark, &submission.id);
    let max_bytes = (HEAD_BYTES + 2 * MAX_EVIDENCE_BYTES) as u64;
    match cloud.results().get(&key, None, max_bytes).await? {
        Got::Object(object) => Ok(Replicates::from_bytes(&key, &object.bytes)?),
        Got::TooLarge { n_bytes } => bail!(
            "`{key}` of the results bucket has {n_bytes} bytes, and {max_bytes} is the most there can be"
        ),
        Got::Missing => {
            let Submission { id, board, .. } = submission;
            Err(anyhow!(
                "scoring the board again makes them: `dataperf rescore {} {} --round {}`",
                board.benchmark,
                board.leaderboard,
                board.round
            ))
            .with_context(|| {
                format!(
                    "submission `{id}` has no replicates, from which a difference gets its interval (`{key}` \
                     of the results bucket)"
                )
            })
        }
    }
}

/// The columns of CSV.
const COLUMNS: [&str; 19] = [
    "benchmark",
    "leaderboard",
    "dataset",
    "first",
    "first_submitter",
    "first_score",
    "second",
    "second_submitter",
    "second_score",
    "difference",
    "difference_low",
    "difference_high",
    "share_first_better",
    "clearly_better",
    "n_items",
    "n_items_first_better",
    "n_items_second_better",
    "is_clustered",
    "why_none",
];

fn row(compared: &Compared) -> Value {
    let Compared {
        first,
        second,
        paired,
        ..
    } = compared;
    json!({ "benchmark": compared.benchmark, "leaderboard": compared.leaderboard, "dataset": compared.dataset,
            "first": first.submission, "first_submitter": first.submitter, "first_score": first.score,
            "second": second.submission, "second_submitter": second.submitter, "second_score": second.score,
            "difference": paired.difference,
            "difference_low": paired.interval.map(|(low, _)| low), "difference_high": paired.interval.map(|(_, high)| high),
            "share_first_better": paired.share_first_better, "clearly_better": paired.clearly_better,
            "n_items": paired.n_items, "n_items_first_better": paired.n_items_first_better,
            "n_items_second_better": paired.n_items_second_better, "is_clustered": paired.is_clustered,
            "why_none": sentence(paired.why_none) })
}

fn print(set_audit: &Compared) {
    let Compared {
        first,
        second,
        paired,
        ..
    } = set_audit;
    println!(
        "{} {}, scored with {}",
        set_audit.benchmark, set_audit.leaderboard, set_audit.dataset
    );
    let mut shown = table(&["", "submitter", "score", "round", "submission"]);
    let n_digits = digits_apart([first.submission.as_str(), second.submission.as_str()]);
    for (name, side) in [("first", first), ("second", second)] {
        shown.add_row([
            name,
            &side.submitter,
            &score(side.score),
            &side.round,
            &short(side.submission.as_str(), n_digits),
        ]);
    }
    align_right(&mut shown, 2);
    println!("{shown}");
    let Paired {
        difference, interval, ..
    } = paired;
    match (interval, &paired.why_none) {
        (Some((low, high)), _) => {
            println!(
                "Difference (first minus second): {difference:+.4}; 95 % interval {low:+.4} to {high:+.4}."
            );
            println!(
                "{}",
                match paired.clearly_better {
                    Some(1) => "The first is clearly better.",
                    Some(_) => "The second is clearly better.",
                    None => "Neither is clearly better: another test set may reverse the order.",
                }
            );
        }
        (None, why) => println!(
            "Difference (first minus second): {difference:+.4}; no interval: {}.",
            sentence(*why).unwrap_or_default()
        ),
    }
    if let Some(share) = paired.share_first_better {
        println!(
            "The first is better in {:.1} % of 1,000 draws of the test set.",
            share * 100.0
        );
    }
    println!(
        "Of {} test items, the first gets {} right more often, the second {}.",
        paired.n_items, paired.n_items_first_better, paired.n_items_second_better
    );
}
