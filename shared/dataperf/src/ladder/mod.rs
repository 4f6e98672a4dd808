//! The Ladder: what a round shows of scores so that many uploads can't learn the test set by their scores.
//!
//! Boards that are scored with the same evaluation data share one Ladder, so that together they
//! reveal no more than one board. For each submitter it stores the score that each board released
//! last. An upload that beats all of them by more than a margin is released, rounded. Any other
//! upload is held: its board shows the score that it released last, if any. The table's order of
//! recording decides. The table stores the state, and changes it in the transaction that records a
//! submission.
//!
//! # Source
//! Blum, A. and Hardt, M. (2015), "The Ladder: a reliable leaderboard for machine learning competitions", ICML.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Digest;
use crate::benchmark::descriptor::Descriptor;
use crate::board::rank_key::Direction;
use crate::board::{Board, Ranking};
use crate::ports::PortError;
use crate::ports::bucket::Bucket;
use crate::receipt::released_score::{Climb, Released};
use crate::receipt::verdict::Receipt;
use crate::replicates::Replicates;
use crate::rows::ranking::standing;
use crate::submission::Entry;
use crate::upload::SubmissionId;

/// How a round releases scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ladder {
    /// No parameter: the margin is the standard error of the difference from the best score before, over the draws of the test set, and scores are
    /// rounded to 1/n, n the number of its items.
    Auto,
    /// No margin: every score is released, rounded to 1/n, n the number of items of the test set.
    Rounded,
}

/// How far a submitter has come on the boards that are scored with the same evaluation data.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// The evaluation data.
    pub evaluation: String,
    /// How often the rung has changed. What is recorded after it names this number.
    pub n_changes: u64,
    /// The last released score of each board, by leaderboard and round.
    pub released: BTreeMap<(String, String), LastReleased>,
}

impl Rung {
    /// The rung of a submitter without any released score.
    pub fn new(evaluation: &str) -> Self {
        Self {
            evaluation: evaluation.to_owned(),
            n_changes: 0,
            released: BTreeMap::new(),
        }
    }

    /// The last released score of a board.
    pub fn on(&self, board: &Board) -> Option<&LastReleased> {
        self.released.get(&place(board))
    }

    /// The best that was released on any of the boards of scores with `dataset`.
    pub fn best(&self, dataset: Option<Digest>, direction: Direction) -> Option<&LastReleased> {
        let of_dataset = self.released.values().filter(|last| last.dataset == dataset);
        of_dataset.reduce(|best, other| {
            if direction.is_better(other.score, best.score) {
                other
            } else {
                best
            }
        })
    }

    /// Changes what was released last on a board.
    pub fn set(&mut self, board: &Board, last: Option<LastReleased>) {
        self.n_changes += 1;
        match last {
            Some(last) => self.released.insert(place(board), last),
            None => self.released.remove(&place(board)),
        };
    }

    /// Moves on to a receipt that has climbed. A Ladder without a margin releases worse scores too, which leave the better one.
    pub fn climb(&mut self, receipt: &Receipt, direction: Direction) {
        let Some(score) = receipt.public_score() else {
            return;
        };
        let (board, dataset) = (receipt.board(), receipt.verdict.dataset);
        let before = self.on(&board).filter(|last| last.dataset == dataset);
        let before = before
            .filter(|last| direction.is_better(last.score, score))
            .cloned();
        let last = before.unwrap_or_else(|| LastReleased {
            score,
            submission: receipt.submission.clone(),
            dataset,
        });
        self.set(&board, Some(last));
    }

    /// Moves back to the best of a submitter's other `lines` on a board, if the rung has what was released of a submission that `left` it. Says whether
    /// it has moved.
    pub fn step_down(&mut self, left: &Entry, lines: &[Entry], direction: Direction) -> bool {
        let last = self.on(&left.board).filter(|last| last.submission == left.id);
        let Some(dataset) = last.map(|last| last.dataset) else {
            return false;
        };
        let others = lines.iter().filter(|line| line.id != left.id);
        let back = LastReleased::of_lines(others, &left.board, dataset, direction);
        self.set(&left.board, back);
        true
    }

    /// Moves to a submission that is `back` on its board, if it is the best of its submitter's `lines` that was released there. Says whether it has moved.
    pub fn step_up(&mut self, back: &Entry, lines: &[Entry], direction: Direction) -> bool {
        if back.climb != Some(Climb::Climbed) {
            return false;
        }
        let before = self.on(&back.board);
        let dataset = before.map_or(back.dataset, |last| last.dataset);
        let others = lines.iter().filter(|line| line.id != back.id).chain([back]);
        let last = LastReleased::of_lines(others, &back.board, dataset, direction);
        if last.as_ref() == before {
            return false;
        }
        self.set(&back.board, last);
        true
    }
}

fn place(board: &Board) -> (String, String) {
    (board.leaderboard.clone(), board.round.clone())
}

/// The score that was released last on a board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastReleased {
    /// The score, rounded.
    pub score: f64,
    /// The submitter of the score.
    pub submission: SubmissionId,
    /// The data set that it was scored with. With another one the Ladder starts again.
    pub dataset: Option<Digest>,
}

impl LastReleased {
    /// The best of a submitter's lines that have climbed on a board with a data set.
    pub fn of_lines<'a>(
        lines: impl IntoIterator<Item = &'a Entry>,
        board: &Board,
        dataset: Option<Digest>,
        direction: Direction,
    ) -> Option<Self> {
        let climbed = lines
            .into_iter()
            .filter(|line| line.climb == Some(Climb::Climbed) && line.dataset == dataset);
        let best = standing(climbed, board, Ranking::Best, direction, dataset)?;
        Some(Self {
            score: best.score?,
            submission: best.id.clone(),
            dataset,
        })
    }
}

/// The margin by which a score has to be better to be released, and the precision of the released
/// score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin {
    /// A score that is better by no more than this counts as not better.
    pub margin: f64,
    /// Scores are rounded to multiples of this.
    pub grain: f64,
    /// The number of equal steps in which scores move from 0 to 1, if they do: a rounded score is
    /// then moved to the nearest of them, so that it is one that there can be.
    pub n_steps: Option<usize>,
}

impl Margin {
    /// The standard error of the difference between two submissions over the draws of their test set. If they have no draws in common, or there is no
    /// `best` one before, the two are taken as independent and equally uncertain, which is more than the truth.
    pub fn paired(new: &Replicates, best: Option<&Replicates>) -> Self {
        let best = best.filter(|best| {
            best.header.draws == new.header.draws && best.deviations.len() == new.deviations.len()
        });
        let of_new = new.deviations.iter().map(|&deviation| f64::from(deviation));
        let margin = match best {
            Some(best) => {
                let others = best.deviations.iter().map(|&deviation| f64::from(deviation));
                standard_deviation(of_new.zip(others).map(|(new, best)| new - best))
            }
            None => std::f64::consts::SQRT_2 * standard_deviation(of_new),
        };
        Self {
            margin,
            grain: Self::grain(new),
            n_steps: new.header.n_steps,
        }
    }

    /// No margin: scores are rounded to 1/n, n the number of items of the test set.
    pub fn rounding(replicates: &Replicates) -> Self {
        Self {
            margin: 0.0,
            grain: Self::grain(replicates),
            n_steps: replicates.header.n_steps,
        }
    }

    /// The weight of one item of the test set. It is exact for an accuracy. For a share of examples
    /// to inspect it is a lower bound on average, because the accuracy rises by at most 1 along all
    /// of them.
    fn grain(replicates: &Replicates) -> f64 {
        1.0 / replicates.header.n_items.max(1) as f64
    }

    /// A score as it is released.
    ///
    /// ```
    /// use dataperf::ladder::Margin;
    /// let margin = Margin { margin: 0.0, grain: 0.01, n_steps: None };
    /// assert_eq!(margin.rounded(0.28712, [0.0, 1.0]), 0.29);
    /// let of_fixes = Margin { n_steps: Some(16), ..margin };
    /// assert_eq!(of_fixes.rounded(0.25, [0.0, 1.0]), 0.25);
    /// assert_eq!(of_fixes.rounded(0.28712, [0.0, 1.0]), 0.3125);
    /// ```
    pub fn rounded(&self, score: f64, [least, greatest]: [f64; 2]) -> f64 {
        let n_grains = (score / self.grain).round();
        let a_unit = (1.0 / self.grain).round();
        // a decimal step has no exact binary number, its inverse has
        let rounded = if (a_unit * self.grain - 1.0).abs() < 1e-9 {
            n_grains / a_unit
        } else {
            n_grains * self.grain
        };
        let of_steps = |n_steps: usize| (rounded * n_steps as f64).round() / n_steps as f64;
        let rounded = self.n_steps.map_or(rounded, of_steps);
        rounded.clamp(least, greatest)
    }
}

fn standard_deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count();
    let mean = values.clone().sum::<f64>() / n.max(1) as f64;
    let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
    (squares / n.saturating_sub(1).max(1) as f64).sqrt()
}

/// The score that a board releases after `rung`. It is `score`, rounded, if `score` beats the best
/// released score of any board of the rung by more than the margin, and the rounded score beats it
/// too. Otherwise it is the score that the same board released last. `hosted` says which scores are
/// better.
pub fn released(
    score: f64,
    board: &Board,
    rung: &Rung,
    margin: Margin,
    dataset: Option<Digest>,
    hosted: &Descriptor,
) -> Released {
    let best = rung.best(dataset, hosted.direction);
    let rounded = margin.rounded(score, hosted.score_range);
    let gain = |to: f64, from: f64| match hosted.direction {
        Direction::HigherIsBetter => to - from,
        Direction::LowerIsBetter => from - to,
    };
    let climbs =
        |best: &LastReleased| gain(score, best.score) > margin.margin && gain(rounded, best.score) > 0.0;
    let has_climbed = best.is_none_or(climbs);
    let last = rung.on(board).filter(|last| last.dataset == dataset);
    Released {
        score: if has_climbed {
            Some(rounded)
        } else {
            last.map(|last| last.score)
        },
        has_climbed,
        rung: rung.n_changes,
        evaluation: Some(rung.evaluation.clone()),
        is_lifted: false,
    }
}

impl Ladder {
    /// The score that a receipt releases when it is recorded after `rung`; `None` for a receipt
    /// without a score.
    ///
    /// # Errors
    /// [`PortError`] when the replicates can't be read, which are stored before a score is recorded.
    pub async fn release(
        self,
        receipt: &Receipt,
        rung: &Rung,
        hosted: &Descriptor,
        results: &dyn Bucket,
    ) -> Result<Option<Released>, PortError> {
        let Some(score) = receipt.verdict.score else {
            return Ok(None);
        };
        let dataset = receipt.verdict.dataset;
        let kept = async || {
            let id = &receipt.submission;
            let missing = || PortError::Malformed {
                subject: format!("the replicates `{}`", Replicates::key(hosted.id, id)),
                why: "they are missing, and the Ladder needs them: score it again with `dataperf redrive`"
                    .into(),
            };
            replicates(id, hosted, results).await?.ok_or_else(missing)
        };
        let margin = match self {
            Self::Rounded => {
                let rounded = Margin::rounding(&kept().await?).rounded(score, hosted.score_range);
                return Ok(Some(Released {
                    score: Some(rounded),
                    has_climbed: true,
                    rung: rung.n_changes,
                    evaluation: Some(rung.evaluation.clone()),
                    is_lifted: false,
                }));
            }
            Self::Auto => {
                let new = kept().await?;
                let best = match rung.best(dataset, hosted.direction) {
                    Some(best) => replicates(&best.submission, hosted, results).await?,
                    None => None,
                };
                Margin::paired(&new, best.as_ref())
            }
        };
        Ok(Some(released(
            score,
            &receipt.board(),
            rung,
            margin,
            dataset,
            hosted,
        )))
    }
}

/// The replicates of a submission, without what was right of each item.
async fn replicates(
    id: &SubmissionId,
    hosted: &Descriptor,
    results: &dyn Bucket,
) -> Result<Option<Replicates>, PortError> {
    let head = Replicates::head(results, &Replicates::key(hosted.id, id)).await?;
    Ok(head.map(|(_, replicates)| replicates))
}
