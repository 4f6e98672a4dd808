//! Finds the effects of another challenge on rounds that have begun.

use anyhow::Result;
use dataperf::challenge::{Challenge, ChallengeError, Preset, Round};
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::table::maintenance::Maintenance as _;
use dataperf::{Feedback, Reason, pointer};

use crate::cloud::{Cloud, now};

/// Warns of changes to rounds that have begun. For an open round: scores are released in another
/// way or for fewer boards, so that participants can infer held scores; later scores are rounded
/// but earlier ones were exact; or the round is removed. For a closed round: the round, or a part
/// of it, is missing.
pub(super) async fn changes_of_rounds(
    cloud: &Cloud,
    benchmark: &str,
    replaced_by: Option<&Challenge>,
) -> Result<Vec<Reason>> {
    let published = match Challenge::published(&cloud.datasets(), benchmark).await {
        Err(ChallengeError::Port(error)) => return Err(error.into()),
        Err(_) => None, // it is replaced because it can't be read
        Ok(published) => published,
    };
    let at = now();
    let has_begun = |round: &&Round| round.opens <= at;
    let rounds = published.iter().flat_map(|published| &published.rounds);
    let place = pointer(&pointer("/benchmarks", benchmark), "rounds");
    let warning = |round: &Round| {
        if round.is_closed(at) {
            let then = replaced_by.and_then(|challenge| challenge.round(&round.id));
            let is_missing = then.is_none_or(|then| {
                leaves_out_boards(then, round)
                    || round.final_dataset.is_some() && then.final_dataset.is_none()
            });
            let message = format!(
                "this change removes the closed round `{}`, some of its boards or its `final`: its boards \
                    lose their ranks, and a due `final` board is never made. Keep closed rounds as `challenge \
                    show --format yaml` prints them",
                round.id
            );
            return is_missing.then(|| Reason::new("closed_round_missing", &place, message));
        }
        let then = replaced_by.and_then(|challenge| challenge.round(&round.id));
        let message = match (round.release(), then) {
            (Some(before), then)
                if then.is_none_or(|then| {
                    let is_blind = |round: &Round| round.preset == Preset::Blind;
                    then.release() != Some(before)
                        || is_blind(then) != is_blind(round)
                        || leaves_out_boards(then, round)
                }) =>
            {
                "this change alters what its boards show: released scores stay as they are until \
             all results are public, and a repeated upload reveals a withheld score. Leave `preset`, `ladder` and \
             the boards as they are until the round has closed"
            }
            (None, Some(then)) if then.release().is_some() => {
                "it has shown all digits, and from now on scores of new uploads are rounded. Write \
                    `preset: practice` in the round to show all digits"
            }
            _ => return None,
        };
        Some(Reason::new(
            "preset_changed",
            &place,
            format!("the round `{}` is open, and {message}", round.id),
        ))
    };
    let begun: Vec<&Round> = rounds.filter(has_begun).collect();
    let mut warnings: Vec<Reason> = begun.iter().copied().filter_map(warning).collect();
    for round in begun {
        let is_missing = replaced_by.is_none_or(|challenge| challenge.round(&round.id).is_none());
        if let (true, Some(published)) = (is_missing, &published) {
            let lost = lost(cloud, benchmark, published, round).await?;
            let message = format!("this change removes the round `{}`: {lost}", round.id);
            warnings.push(Reason::new("round_removed", &place, message));
        }
    }
    Ok(warnings)
}

/// The losses from removing a round.
async fn lost(cloud: &Cloud, benchmark: &str, published: &Challenge, round: &Round) -> Result<String> {
    let (table, at) = (cloud.leaderboards(), now());
    let (mut n_scored, mut n_withheld, mut final_is_due) = (0, 0, false);
    for board in table.boards(benchmark).await? {
        if !board.is_of_round(&round.id) {
            continue;
        }
        let lines = table.series(&board).await?;
        let is_withheld = |line: &&dataperf::submission::Entry| {
            line.climb.is_some() || published.shown(&board, line.dataset, at).level < Feedback::Full
        };
        n_scored += lines.len();
        n_withheld += lines.iter().filter(is_withheld).count();
        if board.round == round.id && round.final_dataset.is_some() {
            let run = table.run(&board.of_final()).await?;
            final_is_due |= run.is_none_or(|run| run.ended_at.is_none());
        }
    }
    let mut lost = vec![if round.is_closed(at) {
        format!("it has closed, with {n_scored} scored submissions")
    } else {
        format!("it is open, with {n_scored} scored submissions, and new uploads would not count in it")
    }];
    if n_withheld > 0 {
        lost.push(format!(
            "the withheld results of {n_withheld} of them would never be public"
        ));
    }
    if final_is_due {
        lost.push("its final board is due and would never be made".to_owned());
    }
    Ok(lost.join("; "))
}

/// Whether a round has fewer boards than it had.
fn leaves_out_boards(round: &Round, before: &Round) -> bool {
    match before.leaderboards.as_slice() {
        // the round had all boards: those that are known of it count
        [] => !round.leaderboards.is_empty() && !before.evaluations.keys().all(|board| round.has(board)),
        boards => !boards.iter().all(|board| round.has(board)),
    }
}
