//! The report on the models of a board.

use serde::{Deserialize, Serialize};

use super::intervals::Interval;
use super::{
    Figures, Measure, Rates, Trial, TrialRun, Weighed, dynascore_2021, pareto_front, shares_of_weights,
};

/// Steps of the grid of weights from 0 to 1: 10,626 weightings of five figures.
const N_STEPS: u32 = 20;
/// Dynabench's weight of performance; each other figure weighs 1.
const DYNABENCH_PERFORMANCE: f64 = 4.0;

/// A model of a board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The submitter.
    pub name: String,
    /// The measurements.
    pub figures: Figures,
}

impl Trial {
    /// Compares runs by fixed rates and a reader's weights. Ranks and points have intervals, for which annotators are drawn with all
    /// their texts, where each round has enough annotators.
    ///
    /// # Panics
    /// If a run has not one judgement for each example.
    pub fn report(&self, runs: &[TrialRun], rates: Rates, weights: Weighed) -> Report {
        let n_inputs = self.lines().len();
        let models = runs.iter().map(|run| Model {
            name: run.name.clone(),
            figures: self.outcome(&run.judged).figures(run.measured, n_inputs),
        });
        let intervals = self.intervals(runs, rates, weights);
        let why = intervals.as_ref().err().map(ToString::to_string);
        report_with(
            &models.collect::<Vec<_>>(),
            rates,
            weights,
            &intervals.unwrap_or_default(),
            why,
        )
    }
}

/// A model's figures relative to the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The submitter.
    pub name: String,
    /// Its place by `score`, from 1; equal scores have one place.
    pub rank: usize,
    /// Its points with the reader's weights.
    pub score: f64,
    /// The ranks that it could have on texts of other annotators, with 95 % confidence; `None` where only figures are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<(u32, u32)>,
    /// The points that it could have, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// The measurements.
    pub figures: Figures,
    /// The value of each figure by the fixed rates: performance, compute, memory, robustness,
    /// fairness.
    pub points: [f64; 5],
    /// Whether no other model is better in everything.
    pub is_on_front: bool,
    /// The share of all weights under which it leads.
    pub leads_under: f64,
    /// As Dynabench computed it in 2021; `None` if that is not a finite number.
    pub dynascore_2021: Option<f64>,
}

/// All models, the best one first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The rates of the data set.
    pub rates: Rates,
    /// The reader's weights.
    pub weights: Weighed,
    /// Number of steps of the grid of weights, from 0 to 1.
    pub steps_of_weights: u32,
    /// Why ranks and scores have no intervals; `None` if they have.
    pub why_no_intervals: Option<String>,
    /// The models.
    pub models: Vec<Compared>,
}

/// Compares models by fixed rates and a reader's weights, and says of each what does not depend on these.
pub fn report(models: &[Model], rates: Rates, weights: Weighed) -> Report {
    report_with(models, rates, weights, &[], None)
}

/// The report with an interval for each model, or with none.
fn report_with(
    models: &[Model],
    rates: Rates,
    weights: Weighed,
    intervals: &[Interval],
    why_no_intervals: Option<String>,
) -> Report {
    let points: Vec<[f64; 5]> = models.iter().map(|model| rates.points(&model.figures)).collect();
    let rows: Vec<Vec<f64>> = points.iter().map(|points| points.to_vec()).collect();
    let (front, shares) = (pareto_front(&rows), shares_of_weights(&rows, N_STEPS));
    let dynascores = dynascores(models);
    let score = |points: &[f64; 5]| points.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
    let scores: Vec<f64> = points.iter().map(score).collect();
    let mut compared: Vec<Compared> = (0..models.len())
        .map(|nth| Compared {
            name: models[nth].name.clone(),
            rank: 1 + scores.iter().filter(|other| **other > scores[nth]).count(),
            score: scores[nth],
            ranks: intervals.get(nth).map(|interval| interval.ranks),
            interval: intervals.get(nth).and_then(|interval| interval.score),
            figures: models[nth].figures,
            points: points[nth],
            is_on_front: front[nth],
            leads_under: shares[nth],
            dynascore_2021: dynascores[nth],
        })
        .collect();
    compared.sort_by(|a, b| a.rank.cmp(&b.rank).then_with(|| a.name.cmp(&b.name)));
    Report {
        rates,
        weights,
        steps_of_weights: N_STEPS,
        why_no_intervals,
        models: compared,
    }
}

/// Dynabench's scores of these models. Its compute is examples a second; here less fuel and less memory are better, from the most of the
/// board on.
fn dynascores(models: &[Model]) -> Vec<Option<f64>> {
    let most = |get: fn(&Figures) -> f64| models.iter().map(|model| get(&model.figures)).fold(0.0, f64::max);
    let more = |weight| Measure {
        direction: 1.0,
        offset: 0.0,
        weight,
    };
    let less = |offset| Measure {
        direction: -1.0,
        offset,
        weight: 1.0,
    };
    let measures = [
        more(DYNABENCH_PERFORMANCE),
        less(most(|figures| figures.fuel)),
        less(most(|figures| figures.memory)),
        more(1.0),
        more(1.0),
    ];
    let values: Vec<Vec<f64>> = models
        .iter()
        .map(|model| {
            let Figures {
                performance,
                fuel,
                memory,
                robustness,
                fairness,
            } = model.figures;
            vec![performance, fuel, memory, robustness, fairness]
        })
        .collect();
    let scores = dynascore_2021(&values, &measures);
    scores
        .into_iter()
        .map(|score| Some(score).filter(|score| score.is_finite()))
        .collect()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact values are expected")]
mod tests {
    use super::*;
    use crate::text::compare::WEIGHTS;

    fn model(name: &str, [performance, fuel, memory, robustness, fairness]: [f64; 5]) -> Model {
        Model {
            name: name.into(),
            figures: Figures {
                performance,
                fuel,
                memory,
                robustness,
                fairness,
            },
        }
    }

    fn models() -> [Model; 3] {
        [
            model("small", [60.0, 1.0, 1.0, 90.0, 90.0]),
            model("large", [80.0, 300.0, 640.0, 95.0, 85.0]),
            model("worst", [50.0, 400.0, 700.0, 80.0, 80.0]),
        ]
    }

    #[test]
    fn a_ranking_does_not_depend_on_other_models() {
        let ranking = |models: &[Model]| report(models, Rates::default(), WEIGHTS);
        let (all, two) = (ranking(&models()), ranking(&models()[..2]));
        let names = |report: &Report| {
            report
                .models
                .iter()
                .map(|model| model.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&all), ["small", "large", "worst"]);
        assert_eq!(names(&two), names(&all)[..2]);
        assert_eq!(two.models[0].score, all.models[0].score);
        assert_eq!(
            all.models
                .iter()
                .map(|model| model.is_on_front)
                .collect::<Vec<_>>(),
            [true, true, false]
        );
        assert!(all.models[0].leads_under > 0.5 && all.models[2].leads_under == 0.0);
        assert!((all.models.iter().map(|model| model.leads_under).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(all.models.iter().all(|model| model.dynascore_2021.is_some()));
    }

    #[test]
    fn reader_weights_change_the_ranking() {
        let only_performance = report(&models(), Rates::default(), [1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(only_performance.models[0].name, "large");
        let one = report(&models()[..1], Rates::default(), WEIGHTS);
        assert_eq!(
            (one.models[0].dynascore_2021, one.models[0].leads_under),
            (None, 1.0)
        );
        let twins = report(
            &[models()[0].clone(), models()[0].clone()],
            Rates::default(),
            WEIGHTS,
        );
        assert_eq!(
            twins.models.iter().map(|model| model.rank).collect::<Vec<_>>(),
            [1, 1]
        );
    }

    #[test]
    fn rates_that_exchange_nothing_are_refused() {
        assert!(Rates::default().check().is_ok());
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let rates = Rates {
                memory: wrong,
                ..Rates::default()
            };
            assert_eq!(rates.check().unwrap_err().name, "memory");
        }
    }
}
