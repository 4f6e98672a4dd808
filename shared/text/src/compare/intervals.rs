//! What the ranks of models are worth: their scores under draws of the rounds' test sets.

use dataperf::Digest;
use dataperf_numerics::bootstrap::{LANES, N_BATCHES, Resampler, draws_of};
use dataperf_numerics::metrics::ItemWeights;
use dataperf_numerics::ranks::{self, Entry, degrees_of_freedom, percentile_interval};

use super::outcome::Judged;
use super::report::{Interval, report_with};
use super::trial::Trial;
use super::{Measured, Model, Rates, Report, Weighed};

/// What is hashed before the inputs: another word gives other draws.
const DRAWS: &str = "adversarial-text-models draws 1\n";

/// A model's run on a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialRun {
    /// The model's name.
    pub name: String,
    /// What the engine has counted.
    pub measured: Measured,
    /// Its answers, judged by [`Trial::judged`].
    pub judged: Vec<Judged>,
}

impl Trial {
    /// Compares runs by fixed rates and a reader's weights. Rank intervals are made as on all boards: the examples of each round are drawn 1,000
    /// times, and each model is scored again under each draw, while what its run took stays the same.
    ///
    /// # Panics
    /// If a run has not one judgement for each example.
    pub fn report(&self, runs: &[TrialRun], rates: Rates, weights: Weighed) -> Report {
        let n_inputs = self.asked().len();
        let of_run = |run: &TrialRun| Model {
            name: run.name.clone(),
            figures: self.outcome(&run.judged).figures(run.measured, n_inputs),
        };
        let models: Vec<Model> = runs.iter().map(of_run).collect();
        let intervals = self.intervals(runs, rates, weights);
        report_with(&models, rates, weights, &intervals)
    }

    fn intervals(&self, runs: &[TrialRun], rates: Rates, weights: Weighed) -> Vec<Interval> {
        let rounds = self.round_numbers();
        let resampler = Resampler::of_items(&vec![0; rounds.len()], Some(&rounds), self.seed());
        let widening = resampler.widening();
        let score = |run: &TrialRun, counts: ItemWeights<'_>| -> f64 {
            let outcome = self.outcome_of(&run.judged, counts);
            let points = rates.points(&outcome.figures(run.measured, self.asked().len()));
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
            degrees_of_freedom(pairs.filter(|(one, other)| one != other).count(), None)
        });
        let mut intervals = vec![
            Interval {
                ranks: (1, 1),
                score: (0.0, 0.0)
            };
            runs.len()
        ];
        for (&nth, of_place) in places.iter().zip(&compared) {
            intervals[nth] = Interval {
                ranks: (of_place.first, of_place.last),
                // points are not shares, whose intervals have another form
                score: percentile_interval(scores[nth], &deviations[nth])
                    .unwrap_or((scores[nth], scores[nth])),
            };
        }
        intervals
    }

    /// The seed of the draws, which follows from what is asked and what is right.
    fn seed(&self) -> [u8; 32] {
        Digest::of(format!("{DRAWS}{self:?}").as_bytes()).bytes()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "helpers of tests")]
mod tests {
    use super::*;
    use crate::answers::{Gold, Input};
    use crate::compare::{TrialItem, WEIGHTS};
    use crate::task::Task;

    fn trial(n: usize) -> Trial {
        let item = |nth: usize| TrialItem {
            round: format!("r{}", nth % 2),
            task: Task::Sentiment,
            input: Input {
                context: None,
                text: format!("sentence {nth}"),
            },
            gold: Gold::Label("neutral".into()),
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
    fn clear_differences_have_ranks_and_small_ones_have_several() {
        let (n, trial) = (200, trial(200));
        let runs = [
            run("good", n, |nth| nth % 10 != 0),
            run("nearly as good", n, |nth| nth % 10 != 1 && nth != 7),
            run("bad", n, |nth| nth % 3 == 0),
        ];
        let report = trial.report(&runs, Rates::default(), WEIGHTS);
        let of = |name: &str| report.models.iter().find(|model| model.name == name).unwrap();
        assert_eq!(of("good").ranks, Some((1, 2)));
        assert_eq!(of("nearly as good").ranks, Some((1, 2)));
        assert_eq!(of("bad").ranks, Some((3, 3)));
        let (from, to) = of("good").interval.unwrap();
        assert!(
            from < of("good").score && of("good").score < to && to - from < 20.0,
            "{from} {to}"
        );
        assert_eq!(report, trial.report(&runs, Rates::default(), WEIGHTS));
    }

    #[test]
    fn models_that_differ_by_few_examples_are_not_told_apart() {
        let (n, trial) = (200, trial(200));
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
}
