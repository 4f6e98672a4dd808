//! Measures the effect of retiring a data set on scores, as Recht, Roelofs, Schmidt and Shankar
//! (2019) did by hand for image classifiers.

use std::sync::Arc;

use bytes::Bytes;
use dataperf_numerics::agreement::{
    CorrectedLine, Fitted, corrected_line, fitted_line, probit, standings, tau_b,
};
use dataperf_numerics::bootstrap::N_DRAWS;
use serde::{Deserialize, Serialize};

use crate::board::Board;
use crate::challenge::Retire;
use crate::comparison::why_none;
use crate::ports::PortError;
use crate::replicates::Replicates;
use crate::rows::revision::Revision;
use crate::upload::SubmissionId;
use crate::{Digest, Direction, NoIntervals, Timestamp};

pub use crate::replicates::no_intervals::MAX_WITH_INTERVALS;

/// The largest report in bytes: some ten thousand lines.
pub const MAX_BYTES: u64 = 16 << 20;
/// The most submissions for which rank agreement has an interval: its draws take a time that grows with the square of their number.
const MAX_WITH_TAU_INTERVAL: usize = 500;
/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A submission that was scored with both data sets.
#[derive(Debug, Clone)]
pub struct OnBoth {
    /// Both scores.
    pub revision: Revision,
    /// Its score under all draws of the retired data set, where they are kept.
    pub before: Option<Arc<Replicates>>,
    /// Its score under all draws of the data set that follows, where they are kept.
    pub after: Option<Arc<Replicates>>,
}

/// A figure with its interval of 95 %: its value and 1.96 standard deviations of its draws to either side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// The interval, if it has one.
    pub interval: Option<(f64, f64)>,
}

/// A submission's line of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetiredLine {
    /// The submission.
    pub submission: SubmissionId,
    /// The submitter.
    pub submitter: String,
    /// Whether it is a baseline: it has no ranks.
    pub is_baseline: bool,
    /// The score with the retired data set.
    pub before: f64,
    /// The score with the successor data set; `None` if it breaks that data set's rules.
    pub after: Option<f64>,
    /// Its rank among those that have both scores, by the retired data set.
    pub rank_before: Option<usize>,
    /// Its rank among them by the data set that follows.
    pub rank_after: Option<usize>,
    /// The score before less the score after.
    pub gap: Option<Estimate>,
}

/// The effect of retiring a data set on a board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetirementReport {
    /// The version of this document's form.
    pub schema: u32,
    /// The first moment whose uploads are scored with the data set that follows.
    pub retired_at: Option<Timestamp>,
    /// When everything had been scored.
    pub finished_at: Timestamp,
    /// The retired data set, where submissions tell it.
    pub dataset_before: Option<Digest>,
    /// The one that follows.
    pub dataset_after: Digest,
    /// Submissions with both scores; no baselines, which nobody fits to the test set by uploading again.
    pub n_scored: usize,
    /// Submissions that are against the rules of the data set that follows.
    pub n_rejected: usize,
    /// The mean of the gaps, score before less score after.
    pub gap: Option<Estimate>,
    /// The mean of the baselines' gaps: how much harder the new items are for everybody.
    pub gap_of_baselines: Option<Estimate>,
    /// The slope of the line of true new scores on true old ones. The draws measure the noise of
    /// the scores, which is removed. Without draws it is the least-squares slope, which is too
    /// flat.
    pub slope: Option<Estimate>,
    /// The value of that line at an old score of 0.
    pub intercept: Option<Estimate>,
    /// The slope of the same line on probit axes, as Recht et al. draw it; `None` where scores are no shares between 0 and 1.
    pub probit_slope: Option<Estimate>,
    /// The value of the line on probit axes at an old score of 0.5, as a probit of the new score.
    pub probit_intercept: Option<Estimate>,
    /// Kendall's tau-b between the orders.
    pub tau_b: Option<Estimate>,
    /// Why there are no intervals; `None` if there are intervals.
    pub why_none: Option<NoIntervals>,
    /// The submissions, in the order of the data set that follows, best first.
    pub lines: Vec<RetiredLine>,
}

/// A figure of all scores before and all scores after.
type Figure<'a> = &'a dyn Fn(&[f64], &[f64]) -> Option<f64>;

/// A submission's scores with both data sets, and its draws of both if all submissions have them.
struct Scores<'a> {
    before: f64,
    after: f64,
    drawn: Option<(&'a [f32], &'a [f32])>,
}

impl<'a> Scores<'a> {
    fn from_both(on_both: &'a OnBoth, has_draws: bool) -> Option<Self> {
        let (before, after) = on_both.revision.before.zip(on_both.revision.after)?;
        let drawn = on_both
            .before
            .as_deref()
            .zip(on_both.after.as_deref())
            .filter(|_| has_draws);
        Some(Self {
            before,
            after,
            drawn: drawn.map(|(before, after)| (&*before.deviations, &*after.deviations)),
        })
    }
}

impl RetirementReport {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 1;

    /// The key of a board's report in the results bucket: below no submitter's name.
    pub fn key(board: &Board, successor: Digest) -> String {
        format!("{}/{}.json", board.object_key("_retirements"), successor.hex())
    }

    /// Computes the report from the scores with both data sets.
    pub(crate) fn new(
        mut on_both: Vec<OnBoth>,
        retire: &Retire,
        direction: Direction,
        at: Timestamp,
    ) -> Self {
        let goodness = |score: f64| match direction {
            Direction::HigherIsBetter => score,
            Direction::LowerIsBetter => -score,
        };
        on_both.retain(|pair| pair.revision.before.is_some());
        on_both.sort_by(|a, b| {
            let by = |pair: &OnBoth| pair.revision.after.map_or(f64::NEG_INFINITY, goodness);
            by(b)
                .total_cmp(&by(a))
                .then_with(|| a.revision.id.cmp(&b.revision.id))
        });
        let scored: Vec<&OnBoth> = on_both
            .iter()
            .filter(|pair| pair.revision.after.is_some())
            .collect();
        let reason = no_intervals(&scored, |pair| pair.before.as_ref())
            .or_else(|| no_intervals(&scored, |pair| pair.after.as_ref()));
        let has_draws = reason.is_none();
        let of_kind = |is_baseline: bool| -> Vec<Scores<'_>> {
            let of_kind = scored
                .iter()
                .filter(|pair| pair.revision.is_baseline == is_baseline);
            of_kind
                .filter_map(|pair| Scores::from_both(pair, has_draws))
                .collect()
        };
        let (people, baselines) = (of_kind(false), of_kind(true));
        let sign = goodness(1.0);
        let estimate = |pair: &[Scores<'_>], figure: Figure<'_>| estimated(pair, sign, figure);
        let mean_gap = |before: &[f64], after: &[f64]| {
            let gaps = before.iter().zip(after).map(|(before, after)| before - after);
            (!before.is_empty()).then(|| gaps.sum::<f64>() / before.len() as f64)
        };
        let n_items = |pair: fn(&OnBoth) -> &Option<Arc<Replicates>>| {
            let first = scored.iter().find_map(|scored| pair(scored).as_ref());
            first.map_or(1, |first| first.header.n_items.max(1))
        };
        let n_items = [n_items(|pair| &pair.before), n_items(|pair| &pair.after)];
        let (slope, intercept) = line(&people, sign, None).unzip();
        let (probit_slope, probit_intercept) = line(&people, sign, Some(n_items)).unzip();
        let tau = if people.len() <= MAX_WITH_TAU_INTERVAL {
            estimate(&people, &tau_b).map(|tau| Estimate {
                interval: tau.interval.map(|(low, high)| (low.max(-1.0), high.min(1.0))),
                ..tau
            })
        } else {
            let (before, after): (Vec<f64>, Vec<f64>) =
                people.iter().map(|scores| (scores.before, scores.after)).unzip();
            tau_b(&before, &after).map(|value| Estimate {
                value,
                interval: None,
            })
        };
        let ranks = |pair: fn(&Scores<'_>) -> f64| {
            standings(
                &people
                    .iter()
                    .map(|scores| goodness(pair(scores)))
                    .collect::<Vec<f64>>(),
            )
        };
        let mut ranks = ranks(|scores| scores.before)
            .into_iter()
            .zip(ranks(|scores| scores.after));
        let lines = on_both.iter().map(|pair| {
            let scores = Scores::from_both(pair, has_draws);
            let has_rank = scores.is_some() && !pair.revision.is_baseline;
            let (rank_before, rank_after) = has_rank.then(|| ranks.next()).flatten().unzip();
            RetiredLine {
                submission: pair.revision.id.clone(),
                submitter: pair.revision.submitter.clone(),
                is_baseline: pair.revision.is_baseline,
                before: pair.revision.before.unwrap_or_default(),
                after: pair.revision.after,
                rank_before,
                rank_after,
                gap: scores.and_then(|scores| estimate(&[scores], &mean_gap)),
            }
        });
        Self {
            schema: Self::SCHEMA,
            retired_at: Some(retire.at),
            finished_at: at,
            dataset_before: on_both
                .iter()
                .find_map(|pair| pair.before.as_ref())
                .map(|before| before.header.dataset),
            dataset_after: retire.dataset,
            n_scored: people.len(),
            n_rejected: on_both.len() - scored.len(),
            gap: estimate(&people, &mean_gap),
            gap_of_baselines: estimate(&baselines, &mean_gap),
            slope,
            intercept,
            probit_slope,
            probit_intercept,
            tau_b: tau,
            why_none: reason,
            lines: lines.collect(),
        }
    }

    /// The object that is stored.
    ///
    /// # Errors
    /// [`PortError::Malformed`] when it can't be written as JSON.
    pub fn to_json(&self) -> Result<Bytes, PortError> {
        let mut json = serde_json::to_vec_pretty(self).map_err(|error| malformed("a report", &error))?;
        json.push(b'\n');
        Ok(json.into())
    }

    /// Reads an object.
    ///
    /// # Errors
    /// [`PortError::Malformed`] for another form.
    pub fn from_json(key: &str, bytes: &[u8]) -> Result<Self, PortError> {
        serde_json::from_slice(bytes).map_err(|error| malformed(key, &error))
    }
}

fn malformed(subject: &str, why: &serde_json::Error) -> PortError {
    PortError::Malformed {
        subject: format!("the report of a retirement `{subject}`"),
        why: why.to_string(),
    }
}

/// Why the draws of one of the data sets give no intervals.
fn no_intervals(scored: &[&OnBoth], get: fn(&OnBoth) -> Option<&Arc<Replicates>>) -> Option<NoIntervals> {
    let replicates: Vec<Option<&Arc<Replicates>>> = scored.iter().map(|scored| get(scored)).collect();
    let compared: Vec<&Arc<Replicates>> = replicates.iter().copied().flatten().collect();
    let missing = compared.iter().find_map(|replicates| {
        let header = &replicates.header;
        header.missing.or(header.without_score_interval)
    });
    if missing.is_some() {
        return missing;
    }
    if compared.len() < replicates.len() {
        let n = replicates.len() - compared.len();
        return Some(if replicates.len() > MAX_WITH_INTERVALS {
            NoIntervals::ManySubmissions { n: replicates.len() }
        } else {
            NoIntervals::DrawsNotKept { n }
        });
    }
    let draws = compared.first().map(|first| first.header.draws);
    if compared.iter().any(|other| Some(other.header.draws) != draws) {
        return Some(NoIntervals::MixedDraws);
    }
    why_none(&replicates, &compared).filter(|_| !replicates.is_empty())
}

/// Slope and intercept of the line of new scores on old ones; with numbers of items, before and after, on probit axes.
fn line(values: &[Scores<'_>], sign: f64, n_items: Option<[usize; 2]>) -> Option<(Estimate, Estimate)> {
    let is_share = |score: f64| 0.0 < score && score < 1.0;
    if n_items.is_some()
        && !values
            .iter()
            .all(|scores| is_share(scores.before) && is_share(scores.after))
    {
        return None;
    }
    // a draw may have no item right, or all: it counts as half an item
    let on_axis = |score: f64, side: usize| match n_items {
        None => score,
        Some(n_items) => {
            let least = 0.5 / n_items[side] as f64;
            probit(score.clamp(least.min(0.5), 1.0 - least.min(0.5)))
        }
    };
    let (before, after): (Vec<f64>, Vec<f64>) = values
        .iter()
        .map(|scores| (on_axis(scores.before, 0), on_axis(scores.after, 1)))
        .unzip();
    let drawn: Option<Vec<(&[f32], &[f32])>> = values.iter().map(|scores| scores.drawn).collect();
    let plain = || {
        let line = fitted_line(&before, &after)?;
        let figure = |value| Estimate {
            value,
            interval: None,
        };
        Some((figure(line.slope), figure(line.intercept)))
    };
    let Some(drawn) = drawn else { return plain() };
    let draws = |score: f64, deviations: &[f32], axis: usize, shift: usize| -> Vec<f64> {
        let shifted = deviations.iter().cycle().skip(shift).take(deviations.len());
        shifted
            .map(|deviation| on_axis(score + sign * f64::from(*deviation), axis))
            .collect()
    };
    let both = || values.iter().zip(&drawn);
    let drawn_before: Vec<Vec<f64>> = both()
        .map(|(scores, (before, _))| draws(scores.before, before, 0, 0))
        .collect();
    // test sets with the same labels in the same places have the same draws
    let drawn_after: Vec<Vec<f64>> = both()
        .map(|(scores, (_, after))| draws(scores.after, after, 1, 1))
        .collect();
    let CorrectedLine { slope, intercept } = corrected_line(&before, &after, &drawn_before, &drawn_after)?;
    let estimate = |Fitted { value, interval }| Estimate { value, interval };
    Some((estimate(slope), estimate(intercept)))
}

/// A figure of the scores, and of all draws of both data sets, which are independent.
fn estimated(values: &[Scores<'_>], sign: f64, figure: Figure<'_>) -> Option<Estimate> {
    let (before, after): (Vec<f64>, Vec<f64>) =
        values.iter().map(|scores| (scores.before, scores.after)).unzip();
    let value = figure(&before, &after)?;
    let drawn: Option<Vec<(&[f32], &[f32])>> = values.iter().map(|scores| scores.drawn).collect();
    let interval = drawn.and_then(|drawn| {
        let draws = (0..N_DRAWS).map(|draw| {
            let at = |score: f64, deviations: &[f32], draw: usize| {
                Some(score + sign * f64::from(*deviations.get(draw)?))
            };
            // test sets with the same labels in the same places have the same draws
            let other = (draw + 1) % N_DRAWS;
            let places = values.iter().zip(&drawn);
            let both: Option<Vec<(f64, f64)>> = places
                .map(|(scores, drawn)| at(scores.before, drawn.0, draw).zip(at(scores.after, drawn.1, other)))
                .collect();
            let (before, after): (Vec<f64>, Vec<f64>) = both?.into_iter().unzip();
            figure(&before, &after)
        });
        let draws: Vec<f64> = draws.collect::<Option<_>>()?;
        let mean = draws.iter().sum::<f64>() / N_DRAWS as f64;
        let squares: f64 = draws.iter().map(|draw| (draw - mean).powi(2)).sum();
        let half = Z * (squares / (N_DRAWS - 1) as f64).sqrt();
        Some((value - half, value + half))
    });
    Some(Estimate { value, interval })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod coverage;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::float_cmp)]
mod tests {
    use super::*;
    use crate::Ending;

    /// Replicates whose draws spread by `spread` around the score. Each submission has its own
    /// order of draws.
    fn replicates(score: f64, name: &str, seed: usize, spread: f32) -> Arc<Replicates> {
        let deviation = |draw: usize| ((draw * 7919 + seed * 104_729) % 1000) as f32 / 1000.0 - 0.4995;
        Arc::new(Replicates {
            deviations: (0..N_DRAWS).map(|draw| deviation(draw) * spread).collect(),
            ..Replicates::of_test(score, 50, 100).of_test_with(name)
        })
    }

    pub(super) fn on_both(name: &str, before: f64, after: Option<f64>, spread: f32) -> OnBoth {
        let seed = usize::from(name.as_bytes()[0]);
        OnBoth {
            revision: Revision {
                id: SubmissionId::derive("bucket", name, ""),
                submitter: name.to_owned(),
                received_at: Timestamp::from_unix_millis(0),
                is_baseline: name.starts_with("baseline"),
                before: Some(before),
                dataset_before: Some(Digest::compute(b"old")),
                ending: after.map_or(Ending::Rejected, |_| Ending::Scored),
                after,
            },
            before: Some(replicates(before, "old", seed, spread)),
            after: after.map(|after| replicates(after, "new", seed + 9, spread)),
        }
    }

    pub(super) fn report(on_both: Vec<OnBoth>, direction: Direction) -> RetirementReport {
        let retire = Retire {
            dataset: Digest::compute(b"new"),
            at: Timestamp::from_unix_millis(5),
        };
        RetirementReport::new(on_both, &retire, direction, Timestamp::from_unix_millis(9))
    }

    #[test]
    fn scores_on_a_line_give_that_line() {
        let scored = |name: &str, before: f64| on_both(name, before, Some(0.5 * before + 0.25), 0.0);
        let fitted = report(
            vec![
                scored("ada", 0.5),
                scored("bo", 0.75),
                scored("cy", 1.0),
                scored("baseline-x", 0.25),
                on_both("di", 0.6, None, 0.0),
            ],
            Direction::HigherIsBetter,
        );
        let (slope, intercept) = (fitted.slope.unwrap(), fitted.intercept.unwrap());
        assert!((slope.value - 0.5).abs() < 1e-12 && (intercept.value - 0.25).abs() < 1e-12);
        let gap = fitted.gap.unwrap();
        assert!((gap.value - 0.125).abs() < 1e-12, "{gap:?}");
        assert_eq!(
            gap.interval,
            Some((gap.value, gap.value)),
            "draws that don't spread"
        );
        assert_eq!(fitted.gap_of_baselines.unwrap().value, 0.25 - 0.375);
        assert_eq!(fitted.tau_b.unwrap().value, 1.0);
        assert_eq!(
            (fitted.n_scored, fitted.n_rejected, &fitted.why_none),
            (3, 1, &None)
        );
        let lines: Vec<_> = fitted
            .lines
            .iter()
            .map(|line| (line.submitter.as_str(), line.rank_before, line.rank_after))
            .collect();
        let ranks = |rank: usize| (Some(rank), Some(rank));
        assert_eq!(
            lines,
            [
                ("cy", ranks(1).0, ranks(1).1),
                ("bo", ranks(2).0, ranks(2).1),
                ("ada", ranks(3).0, ranks(3).1),
                ("baseline-x", None, None),
                ("di", None, None),
            ]
        );
        let key = "key";
        assert_eq!(
            RetirementReport::from_json(key, &fitted.to_json().unwrap()).unwrap(),
            fitted
        );
    }

    #[test]
    fn intervals_are_those_of_both_data_sets_together() {
        // deviations are spread evenly over a width of 0.1, in an order that has nothing to do with the other's
        let fitted = report(
            vec![on_both("ada", 0.9, Some(0.7), 0.1)],
            Direction::HigherIsBetter,
        );
        let (low, high) = fitted.lines[0].gap.unwrap().interval.unwrap();
        let mut squares = 0.0;
        let (before, after) = (replicates(0.9, "old", 97, 0.1), replicates(0.7, "new", 106, 0.1));
        let others = after.deviations.iter().cycle().skip(1); // each draw with the next one of the other data set
        for (before, after) in before.deviations.iter().zip(others) {
            squares += f64::from(before - after).powi(2);
        }
        let half = 1.96 * (squares / 1000.0).sqrt();
        assert!(
            (low - (0.2 - half)).abs() < 1e-4 && (high - (0.2 + half)).abs() < 1e-4,
            "{low} {high} {half}"
        );
        assert_eq!((fitted.slope, fitted.tau_b), (None, None), "of one submission");
    }

    #[test]
    fn the_gap_keeps_its_sign_for_lower_scores() {
        let fitted = report(
            vec![
                on_both("ada", 0.2, Some(0.3), 0.01),
                on_both("bo", 0.4, Some(0.1), 0.01),
            ],
            Direction::LowerIsBetter,
        );
        assert_eq!(fitted.lines[0].submitter, "bo");
        assert_eq!(
            (fitted.lines[0].rank_before, fitted.lines[0].rank_after),
            (Some(2), Some(1))
        );
        assert!((fitted.lines[0].gap.unwrap().value - 0.3).abs() < 1e-12);
        assert_eq!(fitted.tau_b.unwrap().value, -1.0);
    }

    #[test]
    fn without_draws_there_are_figures_and_no_intervals() {
        let mut without = on_both("ada", 0.5, Some(0.4), 0.1);
        without.before = None;
        let fitted = report(
            vec![without, on_both("bo", 0.6, Some(0.5), 0.1)],
            Direction::HigherIsBetter,
        );
        assert!(matches!(fitted.why_none, Some(NoIntervals::DrawsNotKept { .. })));
        assert!((fitted.gap.unwrap().value - 0.1).abs() < 1e-12);
        assert_eq!(fitted.gap.unwrap().interval, None);
        let nothing = report(Vec::new(), Direction::HigherIsBetter);
        assert_eq!((nothing.gap, nothing.slope, nothing.why_none), (None, None, None));
    }
}
