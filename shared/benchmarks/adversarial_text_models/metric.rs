//! The score: a program's points by the rates of the data set, divided by 100.

use std::collections::BTreeMap;

use dataperf::benchmark::closed::Measured;
use dataperf::benchmark::scorecard::{MetricValue, Metrics, Scorecard};
use dataperf::evidence::{Draws, Evidence, EvidenceError, Repeat, Weights};
use dataperf_collections::text::compare::{Figures, Judged, Outcome};
use dataperf_numerics::bootstrap::{LANES, draws_of};
use dataperf_numerics::metrics::ItemWeights;

use super::frozen::{EXAMPLES, FAIR, Frozen, N_CLASSES, RIGHT, ROBUST};

/// The name of the count of the run's fuel, in units of fuel.
pub(super) const FUEL: &str = "fuel";
/// The name of the count of the run's memory at its end, in bytes.
pub(super) const MEMORY_BYTES: &str = "memory_bytes";
/// The number of points that are a score of 1.
const POINTS: f64 = 100.0;

/// The evidence about a program.
struct Run {
    /// `(n_items,)`: how the answers to each example were judged, in all rounds.
    judged: Vec<Judged>,
    measured: Measured,
}

impl Run {
    fn from_evidence(frozen: &Frozen, evidence: &Evidence) -> Result<Self, EvidenceError> {
        let items = frozen.items()?;
        let unit = evidence.unit(EXAMPLES, items.len(), N_CLASSES)?;
        let predicted = unit.predicted(Repeat::Only)?.iter();
        let judged = predicted.zip(items).map(|(predicted, item)| Judged {
            is_right: predicted & RIGHT != 0,
            is_robust: item.misspelt.map(|_| predicted & ROBUST != 0),
            is_fair: item.exchanged.map(|_| predicted & FAIR != 0),
        });
        Ok(Self {
            judged: judged.collect(),
            measured: Measured {
                fuel: unit.count(FUEL)?,
                memory_bytes: unit.count(MEMORY_BYTES)?,
            },
        })
    }

    /// The outcome and figures with each example repeated by its weight; `weights`: `(n_items,)`.
    fn outcome(&self, frozen: &Frozen, weights: &[u32]) -> (Outcome, Figures) {
        let outcome = frozen
            .trial()
            .outcome_of(&self.judged, ItemWeights::Each(weights));
        let figures = outcome.figures(self.measured, frozen.trial().lines().len());
        (outcome, figures)
    }

    fn score(&self, frozen: &Frozen, weights: &[u32]) -> f64 {
        let (_, figures) = self.outcome(frozen, weights);
        frozen.rates().score(&figures) / POINTS
    }
}

pub(super) fn scorecard(
    frozen: &Frozen,
    evidence: &Evidence,
    weights: &Weights,
) -> Result<Scorecard, EvidenceError> {
    let run = Run::from_evidence(frozen, evidence)?;
    let n_items = run.judged.len();
    let of_unit = weights.unit(EXAMPLES, n_items)?;
    let of_items: Vec<u32> = (0..n_items).map(|nth| of_unit.at(nth) as u32).collect();
    let (outcome, figures) = run.outcome(frozen, &of_items);
    let rates = frozen.rates();
    let each = |names: &[(&str, f64)]| {
        let names = names.iter().map(|&(name, number)| (name.to_owned(), number));
        MetricValue::Each(names.collect())
    };
    let [performance, compute, memory, robustness, fairness] = rates.points(&figures);
    let rounds = outcome.rounds.iter();
    let rounds: BTreeMap<String, f64> = rounds
        .map(|(round, share)| (round.clone(), share.points()))
        .collect();
    let tasks = outcome.tasks.iter();
    let tasks: BTreeMap<String, f64> = tasks
        .map(|(task, share)| (task.to_string(), share.points()))
        .collect();
    let points = [
        ("performance", performance),
        ("compute", compute),
        ("memory", memory),
        ("robustness", robustness),
        ("fairness", fairness),
    ];
    let of_rates = [
        ("fuel", rates.fuel),
        ("memory", rates.memory),
        ("robustness", rates.robustness),
        ("fairness", rates.fairness),
    ];
    let metrics = Metrics::new()
        .with("performance", figures.performance)
        .with("rounds", MetricValue::Each(rounds))
        .with("tasks", MetricValue::Each(tasks))
        .with("robustness", figures.robustness)
        .with("fairness", figures.fairness)
        .with("fuel", figures.fuel)
        .with("memory", figures.memory)
        .with("points", each(&points))
        .with("rates", each(&of_rates))
        .with("n_items", ItemWeights::Each(&of_items).total(of_items.len()))
        .with("n_inputs", frozen.trial().lines().len());
    Ok(Scorecard {
        score: run.score(frozen, &of_items),
        metrics,
    })
}

pub(super) fn replicates(
    frozen: &Frozen,
    evidence: &Evidence,
    draws: &Draws,
) -> Result<Vec<f64>, EvidenceError> {
    let run = Run::from_evidence(frozen, evidence)?;
    draws.scores(|batch| {
        let drawn = draws.batch(EXAMPLES, batch)?;
        let mut scores = [0.0; LANES];
        for (lane, score) in scores[..draws_of(batch).len()].iter_mut().enumerate() {
            *score = run.score(frozen, &drawn.weights_of(lane));
        }
        Ok(scores)
    })
}
