//! Excludes a submitter, a rater, an item or a verdict from a collection.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use clap::Args;
use dataperf::Ending;
use dataperf::submission::Withdrawal;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::table::maintenance::Maintenance;
use dataperf_collections::common::Subject;
use dataperf_collections_aws::common::{Collection, Places, concerned, decide_again, disqualify};
use serde_json::json;

use crate::Done;
use crate::cloud::known::check_submitter;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::output::{Format, print_json};

/// The reason, the cloud, and whether to undo the disqualification.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// The reason, which is stored with the decision
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Undo the disqualification
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// Checks the length of an organizer's reason.
pub(crate) fn check_reason(reason: &str) -> Result<()> {
    let n_chars = reason.chars().count();
    ensure!(
        (1..=Withdrawal::MAX_REASON_CHARS).contains(&n_chars),
        "the reason has {n_chars} characters: give from 1 to {}",
        Withdrawal::MAX_REASON_CHARS
    );
    Ok(())
}

/// Takes a subject out of the count or back into it, and decides again what the subject concerns.
pub(crate) async fn disqualify_subject<C: Collection>(
    subject: Subject,
    how: How,
    format: Format,
) -> Result<Done> {
    let How { reason, undo, cloud } = how;
    check_reason(&reason)?;
    let cloud = cloud.connect().await?;
    let table = cloud.leaderboards();
    let items = concerned::<C>(&table, &subject).await?;
    let item = C::SPACE.item;
    match &subject {
        // who has access may be disqualified before anything is uploaded
        Subject::Submitter(name) | Subject::Rater(name) if items.is_empty() && !undo => {
            check_submitter(&cloud, C::DESCRIPTOR.id, name).await?;
        }
        Subject::Submitter(_) | Subject::Rater(_) => {}
        _ => ensure!(!items.is_empty(), "there is no such {item}: check the id"),
    }
    let notes = disqualify::<C>(&table, &subject, now(), &reason, undo).await?;
    ensure!(
        !undo || !notes.is_empty(),
        "it is not disqualified: there is nothing to undo"
    );
    // with what was submitted or judged meanwhile
    let items = concerned::<C>(&table, &subject).await?;
    let n_items = items.len();
    let n_steps = decide_again(&places(&cloud), &items).await?;
    let n_withdrawn = match &subject {
        Subject::Submitter(name) if !undo => withdraw_all::<C>(&cloud, name, &reason).await?,
        _ => 0,
    };
    match format {
        Format::Json => print_json(&json!({
            "subject": subject.to_string(), "is_disqualified": !undo, "notes": notes, format!("{item}s"): n_items, "steps": n_steps,
            "withdrawn": n_withdrawn,
        }))?,
        Format::Text => {
            let effect = if undo { "counts again" } else { "is disqualified" };
            println!(
                "{subject} {effect}: {n_items} {item}s were looked at again, and {n_steps} steps of scores follow"
            );
            if n_withdrawn > 0 {
                println!("{n_withdrawn} steps of scores are withdrawn, so that no row is left");
            }
        }
    }
    Ok(Done::Fine)
}

/// The stores in which a cloud decides items.
pub(crate) fn places(cloud: &Cloud) -> Places {
    Places {
        table: cloud.leaderboards(),
        datasets: cloud.datasets(),
        results: cloud.results(),
        signer: cloud.signer(),
    }
}

/// Removes a submitter's rows from the boards. It withdraws every score, because otherwise the
/// latest remaining one would appear.
async fn withdraw_all<C: Collection>(cloud: &Cloud, name: &str, reason: &str) -> Result<usize> {
    let (table, benchmark) = (cloud.leaderboards(), C::DESCRIPTOR.id);
    let direction = C::DESCRIPTOR.direction;
    let mut boards = BTreeSet::new();
    let entries = table.history(benchmark, name, usize::MAX).await?;
    let mut n_withdrawn = 0;
    for entry in entries.into_iter().rev() {
        let is_step = C::boards().contains(&entry.board.leaderboard.as_str());
        if is_step && entry.ending == Some(Ending::Scored) && entry.withdrawn_at.is_none() {
            table
                .withdraw(benchmark, &entry.id, now(), direction, Some(reason))
                .await?;
            boards.insert(entry.board);
            n_withdrawn += 1;
        }
    }
    for board in &boards {
        cloud.project(board).await?;
    }
    Ok(n_withdrawn)
}
