//! The reliability of models' ranks: their scores under draws of the annotators who wrote the
//! rounds' test sets.

use dataperf::Digest;
use dataperf_numerics::bootstrap::{LANES, N_BATCHES, Resampler, draws_of};
use dataperf_numerics::metrics::ItemWeights;
use dataperf_numerics::ranks::{self, Entry, degrees_of_freedom, difference_interval};

use super::trial::{Trial, TrialRun};
use super::{Rates, Weighed};

/// The word hashed before the inputs: another word gives other draws.
const DRAWS: &str = "adversarial-text-models draws 2\n";

/// The fewest annotators of a round's test set for which intervals hold what they promise (`tests/annotators.rs`).
pub const MIN_ANNOTATORS: usize = 10;

/// The ranks and the points that a model could have on texts of other annotators, with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) ranks: (u32, u32),
    pub(super) score: Option<(f64, f64)>,
}

/// Why the ranks and points of models have no intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "intervals need {MIN_ANNOTATORS} annotators in each round's test set, because one person's texts \
        resemble each other, and one set has {n_annotators}"
)]
pub struct FewAnnotators {
    /// Annotators of the round that has the fewest.
    pub n_annotators: usize,
}

impl Trial {
    /// The interval of each run. Annotators are drawn 1,000 times with all their texts, and each model is scored again under each
    /// draw, while what its run took stays the same.
    ///
    /// # Errors
    /// [`FewAnnotators`]
    pub(super) fn intervals(
        &self,
        runs: &[TrialRun],
        rates: Rates,
        weights: Weighed,
    ) -> Result<Vec<Interval>, FewAnnotators> {
        let annotators: Vec<usize> = self.items().iter().map(|item| item.annotator).collect();
        let one_class = vec![0; annotators.len()];
        let resampler =
            Resampler::of_clusters(&one_class, Some(&self.round_numbers()), &annotators, self.seed());
        let n_annotators = resampler.smallest();
        if n_annotators < MIN_ANNOTATORS {
            return Err(FewAnnotators { n_annotators });
        }
        let widening = resampler.widening();
        let score = |run: &TrialRun, counts: ItemWeights<'_>| -> f64 {
            let outcome = self.outcome_of(&run.judged, counts);
            let points = rates.points(&outcome.figures(run.measured, self.lines().len()));
            points.iter().zip(weights).map(|(x, w)| x * w).sum()
        };
        let scores: Vec<f64> = runs.iter().map(|run| score(run, ItemWeights::Ones)).collect();
        let mut deviations: Vec<Vec<f32>> = vec![Vec::with_capacity(N_BATCHES * LANES); runs.len()];
        for batch in 0..N_BATCHES {
            let drawn = resampler.batch(batch);
            for lane in 0..draws_of(batch).len() {
                let counts = drawn.weights_of(lane);
                for (nth, run) in runs.iter().enumerate() {
                    let better = score(run, ItemWeights::Each(&counts)) - scores[nth];
                    deviations[nth].push((better * widening) as f32);
                }
            }
        }
        let mut places: Vec<usize> = (0..runs.len()).collect();
        places.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let entry = |&nth: &usize| Entry {
            score: scores[nth],
            is_ranked: true,
            deviations: &deviations[nth],
        };
        let entries: Vec<Entry<'_>> = places.iter().map(entry).collect();
        let compared = ranks::compare(&entries, &|one, other, _| {
            let (one, other) = (&runs[places[one]], &runs[places[other]]);
            let pairs = one.judged.iter().zip(&other.judged);
            let n_different = pairs.filter(|(one, other)| one != other).count();
            degrees_of_freedom(n_different, Some(n_annotators))
        });
        let without = vec![0.0; deviations.first().map_or(0, Vec::len)];
        let mut intervals: Vec<(usize, Interval)> = places
            .iter()
            .zip(&compared)
            .map(|(&nth, of_place)| {
                let both: [&[f32]; 2] = [&deviations[nth], &without];
                let interval = Interval {
                    ranks: (of_place.first, of_place.last),
                    // points are not shares, whose intervals have another form
                    score: difference_interval(scores[nth], both, n_annotators - 1),
                };
                (nth, interval)
            })
            .collect();
        intervals.sort_by_key(|(nth, _)| *nth);
        Ok(intervals.into_iter().map(|(_, interval)| interval).collect())
    }

    /// `(n_items,)`: the number of each item's round, in the order in which rounds occur.
    fn round_numbers(&self) -> Vec<usize> {
        let mut known: Vec<&str> = Vec::new();
        let mut numbers = Vec::with_capacity(self.items().len());
        for item in self.items() {
            let place = known.iter().position(|known| *known == item.round);
            numbers.push(place.unwrap_or(known.len()));
            if place.is_none() {
                known.push(&item.round);
            }
        }
        numbers
    }

    /// The seed of the draws, which follows from the questions and the right answers.
    fn seed(&self) -> [u8; 32] {
        Digest::compute(format!("{DRAWS}{self:?}").as_bytes()).bytes()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "helpers of tests")]
mod tests {
    use super::*;
    use crate::text::compare::{Judged, Measured, TrialItem, WEIGHTS};
    use crate::text::task::Task;
    use crate::text::texts::answers::{Gold, Input};

    /// Texts of so many annotators, one after another.
    fn trial(n: usize, n_annotators: usize) -> Trial {
        let item = |nth: usize| TrialItem {
            round: format!("r{}", nth % 2),
            task: Task::Sentiment,
            input: Input {
                context: None,
                text: format!("sentence {nth}"),
            },
            gold: Gold::Label("neutral".into()),
            annotator: format!("annotator {}", nth * n_annotators / n),
        };
        Trial::new((0..n).map(item).collect())
    }

    fn run(name: &str, n: usize, is_right: impl Fn(usize) -> bool) -> TrialRun {
        let judged = (0..n).map(|nth| Judged {
            is_right: is_right(nth),
            is_robust: Some(true),
            is_fair: None,
        });
        TrialRun {
            name: name.into(),
            measured: Measured {
                fuel: 1000,
                memory_bytes: 1 << 20,
            },
            judged: judged.collect(),
        }
    }

    #[test]
    fn clear_differences_give_ranks_and_small_ones_ranges() {
        let (n, trial) = (200, trial(200, 40));
        let runs = [
            run("good", n, |nth| nth % 10 != 0),
            run("nearly as good", n, |nth| nth % 10 != 1 && nth != 7),
            run("bad", n, |nth| nth % 3 == 0),
        ];
        let report = trial.report(&runs, Rates::default(), WEIGHTS);
        let model_one = |name: &str| report.models.iter().find(|model| model.name == name).unwrap();
        assert_eq!(model_one("good").ranks, Some((1, 2)));
        assert_eq!(model_one("nearly as good").ranks, Some((1, 2)));
        assert_eq!(model_one("bad").ranks, Some((3, 3)));
        let (from, to) = model_one("good").interval.unwrap();
        assert!(
            from < model_one("good").score && model_one("good").score < to && to - from < 20.0,
            "{from} {to}"
        );
        assert_eq!(report, trial.report(&runs, Rates::default(), WEIGHTS));
    }

    #[test]
    fn models_differing_by_few_examples_are_not_separated() {
        let (n, trial) = (200, trial(200, 40));
        let runs = [run("one", n, |_| true), run("other", n, |nth| nth > 3)];
        let report = trial.report(&runs, Rates::default(), WEIGHTS);
        assert!(
            report.models.iter().all(|model| model.ranks == Some((1, 2))),
            "{report:?}"
        );
        let alone = trial.report(&runs[..1], Rates::default(), WEIGHTS);
        assert_eq!(alone.models[0].ranks, Some((1, 1)));
        assert!(trial.report(&[], Rates::default(), WEIGHTS).models.is_empty());
    }

    #[test]
    fn few_annotators_give_a_reason_instead_of_intervals() {
        let runs = [run("one", 200, |nth| nth % 7 != 0), run("other", 200, |_| false)];
        let compare = |n_annotators| trial(200, n_annotators).report(&runs, Rates::default(), WEIGHTS);
        let few = compare(MIN_ANNOTATORS - 1);
        assert!(few.why_no_intervals.unwrap().ends_with("one set has 9"));
        assert!(
            few.models
                .iter()
                .all(|model| model.ranks.is_none() && model.interval.is_none())
        );
        let enough = compare(MIN_ANNOTATORS);
        assert_eq!(
            (enough.why_no_intervals, enough.models[0].ranks),
            (None, Some((1, 1)))
        );
    }
}
