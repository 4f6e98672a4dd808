//! `dataperf demo all`: all that ships, each submission on its board, and `dataperf demo curation`, a contest on drawn data.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use dataperf::{Benchmark as _, Ending, Receipt};
use dataperf_benchmarks::IDS;
use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_benchmarks::own_data::curation::numerals::write_contest;
use dataperf_benchmarks::vision_selection::VisionSelection;
use dataperf_collections::nibbler::BENCHMARK;
use serde_json::json;

use super::shared::{
    DemoArgs, Outcome, as_planned, compared, data, drop_all, end_cloud, failed_for_good, failures, plan,
    plan_baselines, print_next_steps, put_in_force, start_cloud,
};
use super::story::CHANCE;
use crate::Done;
use crate::commands::leaderboard::{Shown, boards, csv, document, print};
use crate::commands::nibbler::demo as nibbler;
use crate::output::progress;
use crate::output::rows::RowFormat;
use crate::output::{Format, print_json, table};

pub(crate) async fn run(args: DemoArgs, format: RowFormat) -> Result<Done> {
    let is_drawn = args.demo.as_deref() == Some(Curation::ID);
    if is_drawn && args.data.is_some() {
        bail!(
            "`dataperf demo {}` draws its data: leave `--data` out",
            Curation::ID
        );
    }
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    let data = if is_drawn {
        drawn_data(&scratch.path().join("drawn"))?
    } else {
        data(&args)?
    };
    if !dataperf_hosted::IDS.iter().any(|id| data.join(id).is_dir()) {
        bail!(
            "`{}` has no benchmark's directory: name a directory with `demo`'s layout",
            data.display()
        );
    }
    let (local, cloud) = start_cloud(&args, scratch.path()).await?;

    let mut shown: Vec<&'static str> = IDS
        .iter()
        .copied()
        .filter(|id| data.join(id).is_dir() && takes_artifacts(id))
        .collect();
    let mut planned = Vec::new();
    for benchmark in &shown {
        let from = data.join(benchmark);
        let out = put_in_force(&cloud, benchmark, &from, scratch.path()).await?;
        planned.extend(plan(benchmark, &from.join("submissions"))?);
        planned.extend(plan_baselines(benchmark, &out, scratch.path(), |_| true).await?);
    }
    let rules = data.join(BENCHMARK);
    let has_nibbler = rules.is_dir();
    if has_nibbler {
        nibbler::prepare(&cloud, &local, &rules, scratch.path()).await?;
        shown.push(BENCHMARK);
    }
    let play = async {
        if has_nibbler {
            nibbler::play(&cloud).await.map(Some)
        } else {
            Ok(None)
        }
    };
    let all = async { tokio::try_join!(drop_all(&cloud, planned), play) };
    let ended = tokio::select! {
        ended = all => ended,
        fault = failed_for_good(&local) => Err(fault),
    };
    let (outcomes, played) = match ended {
        Ok(ended) => ended,
        Err(error) => bail!("{error:#}{}", failures(&local).await?),
    };
    let mut surprises: Vec<String> = outcomes.iter().filter_map(surprise).collect();
    surprises.extend(played.iter().flat_map(|receipts| nibbler::surprises(receipts)));
    compared(&cloud, &shown).await?;
    let mut all_boards = Vec::new();
    for benchmark in &shown {
        all_boards.extend(boards(&cloud, benchmark, None, 20).await?);
    }
    match format.of_rows()? {
        (_, true) => print!("{}", csv(&all_boards)?),
        (Format::Json, _) => print_outcomes_json(&all_boards, &outcomes, played.as_deref())?,
        (Format::Text, _) => {
            if let Some(receipts) = &played {
                nibbler::print(receipts);
            }
            print_outcomes(&all_boards, &outcomes);
            print_next_steps(&args, &local).await?;
        }
    }
    end_cloud(&args, &local).await?;
    as_planned(&surprises)
}

/// Whether what ships of a benchmark can be uploaded; where programs alone are scored, a round has to take them.
fn takes_artifacts(benchmark: &str) -> bool {
    dataperf_hosted::hosted(benchmark).is_some_and(|hosted| !hosted.only_programs)
}

/// A directory like `demo/` with one contest in it, on drawn Roman numerals, and without submissions but baselines.
fn drawn_data(directory: &Path) -> Result<PathBuf> {
    let contest = directory.join(Curation::ID);
    let spinner = progress::waiting("drawing Roman numerals");
    fs::create_dir_all(contest.join("submissions"))?;
    write_contest(&contest).with_context(|| format!("can't write `{}`", contest.display()))?;
    spinner.finish_and_clear();
    Ok(directory.to_owned())
}

/// The unexpected parts of an outcome.
fn surprise(outcome: &Outcome) -> Option<String> {
    let expected = if outcome.planned.is_bad() {
        Ending::Rejected
    } else {
        Ending::Scored
    };
    let actual = outcome.receipt.verdict.status;
    let file = outcome.planned.file.display();
    (actual != expected).then(|| {
        format!(
            "`{file}` was {} instead of {}",
            actual.as_str(),
            expected.as_str()
        )
    })
}

/// Submitters of the demo that choose without a method, on one benchmark or on all, and why they may lead.
const WITHOUT_METHOD: [(Option<&str>, &str, &str); 3] = [
    (
        Some(VisionSelection::ID),
        CHANCE,
        "draws images by chance but knows their labels, which the methods have to guess: here right labels \
            count for more than the choice of images",
    ),
    (
        None,
        CHANCE,
        "draws its files by chance: on so small a pool and test set luck may lead",
    ),
    (
        None,
        "mostly-no",
        "spends more than half of its clips on nontargets, like most of the test set: in so small a pool \
            that counts for more than the choice of clips",
    ),
];

/// A note for a board on which no method leads, because a reader would take the order for a ranking
/// of methods.
fn led_without_method(shown: &Shown) -> Option<String> {
    let leader = shown.top.iter().find(|row| row.shown_rank() == Some(1))?;
    let (_, name, why) = WITHOUT_METHOD.into_iter().find(|(board, name, _)| {
        *name == leader.entry.submitter && board.is_none_or(|board| board == shown.board.benchmark)
    })?;
    Some(format!(
        "`{name}`, which leads here, {why}; `dataperf demo` shows the boards on which methods separate"
    ))
}

fn print_outcomes(all_boards: &[Shown], outcomes: &[Outcome]) {
    for shown in all_boards {
        print(shown);
        if let Some(sentence) = led_without_method(shown) {
            println!("{sentence}");
        }
    }
    let mut rejected = table(&["leaderboard", "submitter", "code", "at", "what to change"]);
    for Outcome { planned, receipt, .. } in outcomes {
        for reason in &receipt.verdict.reasons {
            rejected.add_row([
                planned.leaderboard.as_str(),
                planned.submitter.as_str(),
                &reason.code,
                &reason.at,
                &reason.message,
            ]);
        }
    }
    if !rejected.is_empty() {
        println!("\nrejected, with every reason:\n{rejected}");
    }
    let slowest = outcomes.iter().map(|outcome| outcome.seconds).fold(0.0, f64::max);
    println!(
        "{} submissions ended; the slowest took {slowest:.2} s from upload to receipt",
        outcomes.len()
    );
}

fn print_outcomes_json(all_boards: &[Shown], outcomes: &[Outcome], played: Option<&[Receipt]>) -> Result<()> {
    let documents: Vec<_> = all_boards.iter().map(document).collect();
    let receipts: Vec<&Receipt> = outcomes.iter().map(|outcome| &outcome.receipt).collect();
    let mut document = json!({ "leaderboards": documents, "receipts": receipts });
    if let Some(receipts) = played {
        document["nibbler"] = json!(receipts);
    }
    print_json(&document)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dataperf::board::Board;
    use dataperf::rows::ranking::Ranked;
    use dataperf::submission::Entry;
    use dataperf::{SubmissionId, Timestamp};

    use super::*;

    fn led_by(names: [&str; 2]) -> Option<String> {
        let board = Board {
            benchmark: "b".into(),
            leaderboard: "l".into(),
            round: "open".into(),
        };
        let row = |(place, name): (usize, &&str)| Ranked {
            entry: Entry {
                id: SubmissionId::derive("bucket", name, ""),
                board: board.clone(),
                submitter: (*name).into(),
                received_at: Timestamp::from_unix_millis(0),
                is_baseline: name.starts_with("baseline-"),
                withdrawn_at: None,
                withdrawals: Vec::new(),
                ending: Some(Ending::Scored),
                score: Some(0.5),
                climb: None,
                dataset: None,
            },
            rank: place + 1,
            is_of_other_dataset: false,
        };
        led_without_method(&Shown {
            top: names.iter().enumerate().map(row).collect(),
            board: board.clone(),
            dataset: None,
            n_rows: 0,
            digits: None,
            comparison: None,
            lines: BTreeMap::new(),
            report: None,
            columns: &[],
            numbers: BTreeMap::new(),
        })
    }

    #[test]
    fn a_board_that_chance_leads_says_so() {
        let message = led_by([CHANCE, "ada"]).unwrap_or_default();
        assert!(
            message.contains("`coin-flip`, which leads here, draws its files by chance"),
            "{message}"
        );
        assert_eq!(led_by(["ada", CHANCE]), None);
        assert_eq!(led_by(["baseline-cleanlab", "ada"]), None);
    }
}
