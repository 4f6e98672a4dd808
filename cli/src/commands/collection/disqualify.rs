//! What an organizer takes out of the count of a benchmark that collects something: a submitter, a rater, an item or a verdict.

use anyhow::{Result, ensure};
use clap::Args;
use dataperf::Ending;
use dataperf::challenge::Challenge;
use dataperf::ports::leaderboard::{Leaderboards, Withdrawal};
use dataperf::ports::maintenance::{Maintenance, Order};
use dataperf::workflow::Ports;
use dataperf_collection::Subject;
use dataperf_collection_aws::{
    Collection, Kept, Occasion, RulesOfItem, Standings, concerned, decide, disqualify, publish,
};
use serde_json::json;

use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::known::check_submitter;
use crate::output::{Format, print_json};

/// Why, in which cloud, and whether it is taken back.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Why; it is kept beside the subject
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Let it count again
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// Takes a subject out of the count or back into it, and decides anew what the subject concerns. `boards` are those on which a submitter of the
/// collection can have rows.
pub(crate) async fn disqualify_subject<C: Collection>(
    subject: Subject,
    how: How,
    boards: &[&str],
    format: Format,
) -> Result<Done> {
    let How { reason, undo, cloud } = how;
    let n_chars = reason.chars().count();
    ensure!(
        (1..=Withdrawal::MAX_REASON_CHARS).contains(&n_chars),
        "the reason has {n_chars} characters: give from 1 to {}",
        Withdrawal::MAX_REASON_CHARS
    );
    let cloud = cloud.connect().await;
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
    let (n_items, n_steps) = decide_anew::<C>(&cloud, &subject).await?;
    let n_withdrawn = match &subject {
        Subject::Submitter(name) if !undo => withdraw_all::<C>(&cloud, name, boards, &reason).await?,
        _ => 0,
    };
    match format {
        Format::Json => print_json(&json!({
            "subject": subject.to_string(), "is_disqualified": !undo, "notes": notes, format!("{item}s"): n_items, "steps": n_steps,
            "withdrawn": n_withdrawn,
        }))?,
        Format::Text => {
            let said = if undo { "counts again" } else { "is disqualified" };
            println!("{subject} {said}: {n_items} {item}s were decided anew, {n_steps} new scores follow");
            if n_withdrawn > 0 {
                println!("{n_withdrawn} steps of scores are withdrawn, so that no row is left");
            }
        }
    }
    Ok(Done::Fine)
}

/// Decides anew all items that a subject concerns. Gives the number of items, and of steps that have scores.
async fn decide_anew<C: Collection>(cloud: &Cloud, subject: &Subject) -> Result<(usize, usize)> {
    let table = cloud.leaderboards();
    // with what was submitted or judged meanwhile
    let items = concerned::<C>(&table, subject).await?;
    let challenge = Challenge::published(&cloud.datasets(), C::DESCRIPTOR.id).await?;
    let (results, signer) = (cloud.results(), cloud.signer());
    let ports = Ports {
        leaderboards: &table,
        results: &results,
        signer: &signer,
        now: &now,
    };
    let (rules, rules_before) = (Kept::<C>::default(), Kept::<C>::default());
    let (mut standings, mut n_steps) = (Standings::<C>::default(), 0);
    for item in &items {
        let round = challenge
            .as_ref()
            .and_then(|challenge| challenge.round(&item.round));
        let pinned = round.and_then(|round| round.dataset);
        let of_round = rules.rules(cloud.datasets(), pinned).await?;
        let own = match item.dataset.filter(|dataset| *dataset != of_round.dataset) {
            Some(dataset) => rules_before.rules(cloud.datasets(), Some(dataset)).await?,
            None => of_round.clone(),
        };
        let rules = RulesOfItem {
            own: &own,
            of_round: &of_round,
        };
        let occasion = Occasion::Disqualification;
        if let Some(step) = decide(&table, &item.id, rules, &mut standings, occasion).await? {
            publish(&table, &step, ports).await?;
            n_steps += usize::from(!step.scores.is_empty());
        }
    }
    Ok((items.len(), n_steps))
}

/// Takes a submitter's rows off the boards. Every score is withdrawn, because the latest of those that are left would stand.
async fn withdraw_all<C: Collection>(
    cloud: &Cloud,
    name: &str,
    boards: &[&str],
    reason: &str,
) -> Result<usize> {
    let (table, benchmark) = (cloud.leaderboards(), C::DESCRIPTOR.id);
    let order = Order {
        direction: C::DESCRIPTOR.direction,
        ranking: C::RANKING,
    };
    let entries = table.history(benchmark, name, usize::MAX).await?;
    let mut n_withdrawn = 0;
    for entry in entries.into_iter().rev() {
        let is_step = boards.contains(&entry.board.leaderboard.as_str());
        if is_step && entry.ending == Some(Ending::Scored) && entry.withdrawn_at.is_none() {
            table
                .withdraw(benchmark, &entry.id, now(), order, Some(reason))
                .await?;
            n_withdrawn += 1;
        }
    }
    Ok(n_withdrawn)
}
