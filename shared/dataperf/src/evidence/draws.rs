//! The draws of the test sets under which a board's submissions are scored once more, to tell what a score is worth.

use std::collections::BTreeMap;

use dataperf_numerics::bootstrap::{
    Answers, Batch, ItemMetric, LANES, N_BATCHES, N_DRAWS, Resampler, Trials, draws_of,
};
use dataperf_numerics::metrics::mean;
use dataperf_numerics::ranks::{Certainty, Margin, first_at_target};
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use super::{Evidence, EvidenceError, Fixes, Repeats, UnitEvidence, Weights, quote};
use crate::Digest;

/// The word that is hashed before a test set's labels to seed its draws: another one gives other draws.
const ITEMS: &str = "dataperf-draws/2 items\n";
const TRIALS: &str = "dataperf-draws/2 trials\n";

/// How many items of batches are worth a thread: the draws of small test sets take less time than sharing them out.
const MIN_ITEMS: usize = 1 << 14;

/// The items of a test set, as they are drawn.
#[derive(Debug, Clone, Copy)]
pub struct EvalItems<'a> {
    /// `(n_items,)` the right classes.
    pub truth: &'a [u8],
    /// `(n_items,)` group numbers, where the score depends on groups: as many of each are drawn as there are.
    pub groups: Option<&'a [usize]>,
    /// `(n_items,)` cluster numbers, where items depend on each other: clusters are drawn whole.
    pub clusters: Option<&'a [usize]>,
    /// The measurements of one model's answers.
    pub metric: ItemMetric<'a>,
}

impl<'a> EvalItems<'a> {
    /// Items without groups and clusters.
    pub fn from_metric(truth: &'a [u8], metric: ItemMetric<'a>) -> Self {
        Self {
            truth,
            groups: None,
            clusters: None,
            metric,
        }
    }

    /// The unit of evidence of this name, if it is of these items.
    fn unit<'e>(&self, name: &str, evidence: &'e Evidence) -> Result<&'e UnitEvidence, EvidenceError> {
        let unit = evidence.units().get(name);
        let unit = unit.filter(|unit| unit.n_items() == self.truth.len());
        unit.ok_or_else(|| EvidenceError::OtherData {
            why: format!("it has no unit {} of {} items", quote(name), self.truth.len()),
        })
    }
}

/// The draws of all test sets that a board is scored with. They follow from the hidden labels, so that nobody who does not have
/// the labels knows them, and are the same for every submission.
#[derive(Debug, Clone)]
pub struct Draws {
    of_units: BTreeMap<String, OfUnit>,
    digest: Digest,
}

#[derive(Debug, Clone)]
struct OfUnit {
    resampler: Resampler,
    seed_of_trials: [u8; 32],
}

impl Draws {
    /// The draws of these test sets, by the names of their units.
    pub fn new<'a>(items: impl IntoIterator<Item = (String, EvalItems<'a>)>) -> Self {
        let mut all = Sha256::new();
        let mut of_units = BTreeMap::new();
        for (name, items) in items {
            let seed = seed(ITEMS, &name, items);
            all.update(seed);
            let resampler = match items.clusters {
                Some(clusters) => Resampler::of_clusters(items.truth, items.groups, clusters, seed),
                None => Resampler::of_items(items.truth, items.groups, seed),
            };
            let seed_of_trials = self::seed(TRIALS, &name, items);
            of_units.insert(
                name,
                OfUnit {
                    resampler,
                    seed_of_trials,
                },
            );
        }
        Self {
            of_units,
            digest: Digest::compute(&all.finalize()),
        }
    }

    /// A digest of the draws. Replicates of a board are compared only if they have the same one.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The smallest number of items of a class (of a group), or of clusters that have one where these are drawn, over all test sets.
    pub fn smallest(&self) -> usize {
        let of_units = self.of_units.values().map(|of_unit| of_unit.resampler.smallest());
        of_units.min().unwrap_or(0)
    }

    /// The factor that widens the deviations: the largest [`Resampler::widening`], which belongs to
    /// the test set with the smallest class.
    pub fn widening(&self) -> f64 {
        let of_units = self.of_units.values().map(|of_unit| of_unit.resampler.widening());
        of_units.fold(1.0, f64::max)
    }

    /// Whether clusters are drawn in one of the test sets.
    pub fn is_clustered(&self) -> bool {
        self.of_units
            .values()
            .any(|of_unit| of_unit.resampler.is_clustered())
    }

    /// Draws that lacked a class or a group and were drawn again.
    pub fn n_redrawn(&self) -> usize {
        let counted = self
            .of_units
            .values()
            .filter_map(|of_unit| of_unit.resampler.cluster_draws());
        counted.map(|counted| counted.n_redrawn).sum()
    }

    /// The weights of a unit's items under one batch of draws.
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`] when there is no such unit.
    pub fn batch(&self, unit: &str, batch: usize) -> Result<Batch, EvidenceError> {
        Ok(self.unit(unit)?.resampler.batch(batch))
    }

    /// The draws of a unit's trials.
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`] when there is no such unit.
    pub fn trials(&self, unit: &str, n_trials: usize) -> Result<Trials, EvidenceError> {
        Ok(Trials::new(n_trials, self.unit(unit)?.seed_of_trials))
    }

    fn unit(&self, name: &str) -> Result<&OfUnit, EvidenceError> {
        self.of_units.get(name).ok_or_else(|| EvidenceError::OtherData {
            why: format!("its data set has no unit {}", quote(name)),
        })
    }

    /// The weights of all items under one draw.
    ///
    /// # Panics
    /// If there is no such draw.
    pub fn weights(&self, draw: usize) -> Weights {
        let of_units = self.of_units.iter().map(|(name, of_unit)| {
            let batch = of_unit.resampler.batch(draw / LANES);
            (name.clone(), batch.weights_of(draw % LANES))
        });
        Weights::of_units(of_units.collect())
    }

    /// The scores of all draws, `(N_DRAWS,)`, computed by `of_batch` for each batch of draws.
    ///
    /// # Errors
    /// Those of `of_batch`.
    pub fn scores(
        &self,
        of_batch: impl Fn(usize) -> Result<[f64; LANES], EvidenceError> + Sync + Send,
    ) -> Result<Vec<f64>, EvidenceError> {
        let n_items: usize = self
            .of_units
            .values()
            .map(|of_unit| of_unit.resampler.n_items())
            .sum();
        let batches: Vec<[f64; LANES]> = (0..N_BATCHES)
            .into_par_iter()
            .with_min_len(MIN_ITEMS.div_ceil(n_items.max(1)))
            .map(of_batch)
            .collect::<Result<_, _>>()?;
        let scores = batches.iter().enumerate();
        let scores: Vec<f64> = scores
            .flat_map(|(batch, scores)| scores[..draws_of(batch).len()].to_vec())
            .collect();
        debug_assert_eq!(scores.len(), N_DRAWS);
        Ok(scores)
    }
}

/// The target of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// The share of the last model's score that counts as reached.
    pub share: f64,
    /// The possible effect of rounding on the difference of a score and the target; 0 without
    /// rounding.
    pub slack: f64,
}

/// The ends of the interval of a place on curves are whole parts of so many.
pub const PLACES: f64 = 20.0;

/// The most models of a curve whose place has an interval: their draws take 120 MB.
const MAX_MODELS: usize = 10_000;

/// The results of a test set's draws for whole curves.
#[derive(Debug, Clone, PartialEq)]
pub struct OnCurves {
    /// The first and the last fraction of fixes after which the target may truly be reached, with 95 % confidence.
    pub place: (f64, f64),
    /// The [area](Fixes::area) under the curve.
    pub area: f64,
    /// `(N_DRAWS,)`: the area under each draw.
    pub areas: Vec<f64>,
}

impl OnCurves {
    /// The mean over curves. The ends of the place's interval are moved outward to whole parts of [`PLACES`]. `None` without curves.
    pub fn mean(of_curves: &[Self]) -> Option<Self> {
        let mean_of = |figure: &dyn Fn(&Self) -> f64| mean(&of_curves.iter().map(figure).collect::<Vec<_>>());
        let n_draws = of_curves.iter().map(|curve| curve.areas.len()).min()?;
        let (low, high) = (mean_of(&|curve| curve.place.0), mean_of(&|curve| curve.place.1));
        Some(Self {
            place: ((low * PLACES).floor() / PLACES, (high * PLACES).ceil() / PLACES),
            area: mean_of(&|curve| curve.area),
            areas: (0..n_draws)
                .map(|draw| mean_of(&|curve| curve.areas[draw]))
                .collect(),
        })
    }
}

/// An area as people see it: rounded to 1/n, n the number of test items. The digits after that would tell which steps of a curve move.
pub fn shown_area(area: f64, n_items: u64) -> f64 {
    let n = n_items.max(1) as f64;
    (area * n).round() / n
}

impl Draws {
    /// The results of the draws for a unit's whole curve; `None` without models, and with more than
    /// 10,000.
    ///
    /// # Shapes and units
    /// `values`: `(n_models,)`, the score of each model. `of_batch`: the same under each draw of a batch. `fraction`: what a number of fixes is as a
    /// fraction.
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`] when there is no such unit.
    pub fn on_curve(
        &self,
        unit: &str,
        fixes: &Fixes,
        target: Target,
        values: &[f64],
        of_batch: impl Fn(&Batch) -> Vec<[f64; LANES]> + Sync + Send,
        fraction: impl Fn(u32) -> f64,
    ) -> Result<Option<OnCurves>, EvidenceError> {
        if values.len() > MAX_MODELS {
            return Ok(None);
        }
        let drawn = |batch| Ok(of_batch(&self.batch(unit, batch)?));
        let drawn: Result<Vec<Vec<[f64; LANES]>>, EvidenceError> =
            (0..N_BATCHES).into_par_iter().map(drawn).collect();
        let (drawn, widening) = (drawn?, self.widening());
        let Some(last) = values.len().checked_sub(1) else {
            return Ok(None);
        };
        let margin = |model: usize| {
            let value = values[model] - target.share * values[last];
            let deviations = (0..N_DRAWS).map(|draw| {
                let of_models = &drawn[draw / LANES];
                let at = |model: usize| of_models[model][draw % LANES];
                (widening * (at(model) - target.share * at(last) - value)) as f32
            });
            Margin {
                value,
                deviations: deviations.collect(),
            }
        };
        let margins: Vec<Margin> = (0..values.len()).map(margin).collect();
        let certainty = Certainty {
            smallest: self.smallest(),
            least_error: 1.0 / self.unit(unit)?.resampler.n_items().max(1) as f64,
            slack: target.slack,
        };
        let of_draw = |draw: usize| {
            let of_models = drawn[draw / LANES].iter();
            fixes.area(of_models.map(|of_model| of_model[draw % LANES]))
        };
        let places = first_at_target(&margins, certainty);
        Ok(places.map(|(first, last)| OnCurves {
            place: (fraction(fixes.models[first]), fraction(fixes.models[last])),
            area: fixes.area(values.iter().copied()),
            areas: (0..N_DRAWS).map(of_draw).collect(),
        }))
    }
}

/// A unit of evidence as its draws are scored.
struct Drawn<'a> {
    name: String,
    answers: Answers<'a>,
    /// The draws of the trials, where training sets are drawn by chance.
    trials: Option<Trials>,
}

/// The scores of evidence under all draws, `(N_DRAWS,)`, for a score that is a mean over the units, in the order of `items`, of the mean of the
/// metric over a unit's repeats. Where the repeats are trials, the mean is over those that a draw takes.
///
/// # Errors
/// [`EvidenceError::OtherData`] when the evidence is not of these items, or its repeats are steps of fixing labels: then the score is no
/// mean.
pub fn mean_over_units(
    items: Vec<(String, EvalItems<'_>)>,
    evidence: &Evidence,
    draws: &Draws,
) -> Result<Vec<f64>, EvidenceError> {
    let mut units = Vec::with_capacity(items.len());
    for (name, items) in items {
        let unit = items.unit(&name, evidence)?;
        let trials = match unit.repeats() {
            Repeats::Trials(n_trials) => Some(draws.trials(&name, *n_trials as usize)?),
            Repeats::Once | Repeats::Seeds(_) => None,
            Repeats::Fixes(_) => {
                let why = format!("the unit {} has steps of fixing labels", quote(&name));
                return Err(EvidenceError::OtherData { why });
            }
        };
        let answers = Answers::new(items.metric, items.truth, unit.each_repeat());
        units.push(Drawn {
            name,
            answers,
            trials,
        });
    }
    draws.scores(|batch| {
        let mut of_units = Vec::with_capacity(units.len());
        for unit in &units {
            of_units.push(unit.values(batch, &draws.batch(&unit.name, batch)?));
        }
        Ok(mean_per_lane(&of_units))
    })
}

impl Drawn<'_> {
    /// The unit's value under each draw of a batch.
    fn values(&self, batch: usize, weights: &Batch) -> [f64; LANES] {
        let of_repeats = self.answers.values(weights);
        let Some(trials) = &self.trials else {
            return mean_per_lane(&of_repeats);
        };
        let draws = draws_of(batch);
        per_lane(|lane| {
            let values: Vec<f64> = of_repeats.iter().map(|values| values[lane]).collect();
            // the last batch has lanes without a draw
            if lane < draws.len() {
                trials.mean(draws.start + lane, &values)
            } else {
                mean(&values)
            }
        })
    }
}

fn mean_per_lane(values: &[[f64; LANES]]) -> [f64; LANES] {
    per_lane(|lane| mean(&values.iter().map(|values| values[lane]).collect::<Vec<_>>()))
}

/// A function's results for each draw of a batch.
pub fn per_lane(of_lane: impl Fn(usize) -> f64) -> [f64; LANES] {
    std::array::from_fn(of_lane)
}

/// For each item of each unit the share of the repeats that are right, in units of 1/255: `(n_items of all units,)`, unit after
/// unit by name. Two submissions differ in correctness on the items where these differ.
///
/// # Errors
/// [`EvidenceError`] when the evidence is not of these test sets.
pub fn correctness<'a>(
    items: impl IntoIterator<Item = (String, EvalItems<'a>)>,
    evidence: &Evidence,
) -> Result<Vec<u8>, EvidenceError> {
    let items: BTreeMap<String, EvalItems<'a>> = items.into_iter().collect();
    let mut shares = Vec::new();
    for (name, items) in items {
        let (unit, truth) = (items.unit(&name, evidence)?, items.truth);
        let mut n_right = vec![0usize; truth.len()];
        for predicted in unit.each_repeat() {
            for (n_right, (truth, predicted)) in n_right.iter_mut().zip(truth.iter().zip(predicted)) {
                *n_right += usize::from(truth == predicted);
            }
        }
        let n_repeats = unit.repeats().len().max(1);
        shares.extend(n_right.into_iter().map(|n| (n * 255 / n_repeats) as u8));
    }
    Ok(shares)
}

/// The seed of a test set's draws: a hash of everything that they depend on.
fn seed(word: &str, unit: &str, items: EvalItems<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(word);
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(unit.as_bytes());
    part(items.truth);
    for numbers in [items.groups, items.clusters] {
        let numbers = numbers.unwrap_or_default().iter();
        part(
            &numbers
                .flat_map(|&number| (number as u64).to_le_bytes())
                .collect::<Vec<u8>>(),
        );
    }
    if items.clusters.is_some() {
        part(b"of the rarest"); // earlier versions counted all clusters, whatever they have, and knew no groups in them
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Fixes;

    const TRUTH: &[u8] = &[0, 1, 1, 0, 1, 0];

    fn items(truth: &[u8]) -> [(String, EvalItems<'_>); 1] {
        [(
            "eval".to_owned(),
            EvalItems::from_metric(truth, ItemMetric::Accuracy),
        )]
    }

    #[test]
    fn draws_follow_from_labels_and_names() {
        let draw = |truth: &[u8]| Draws::new(items(truth));
        assert_eq!(draw(TRUTH).digest(), draw(TRUTH).digest());
        assert_eq!(draw(TRUTH).weights(999), draw(TRUTH).weights(999));
        assert_ne!(draw(TRUTH).digest(), draw(&[0, 1, 1, 0, 1, 1]).digest());
        let [(_, of_unit)] = items(TRUTH);
        let clusters = [0, 0, 1, 1, 2, 2];
        let clustered = EvalItems {
            clusters: Some(&clusters),
            ..of_unit
        };
        let clustered = Draws::new([("eval".to_owned(), clustered)]);
        assert_ne!(draw(TRUTH).digest(), clustered.digest());
        assert_eq!(
            (
                draw(TRUTH).smallest(),
                clustered.smallest(),
                clustered.is_clustered()
            ),
            (3, 3, true)
        );
    }

    #[test]
    fn correctness_is_the_share_of_correct_repeats() {
        let seeds = Repeats::Seeds(vec![1, 2]);
        let unit = UnitEvidence::new(seeds, 6, 2, vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        let evidence = Evidence::of_unit("eval", unit);
        let shares = correctness(items(TRUTH), &evidence).expect("evidence of this test set");
        assert_eq!(shares, [255, 127, 0, 255, 127, 127]);
        assert!(correctness(items(&TRUTH[1..]), &evidence).is_err());
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "both are the same sums")]
    fn draw_scores_average_repeats_and_then_units() {
        let two = |first: &[u8], second: &[u8]| [first, second].concat();
        let seeds = || Repeats::Seeds(vec![1, 2]);
        let units = [
            ("a", two(&[0, 1, 0, 0, 0, 0], &[0, 1, 1, 0, 1, 1])),
            ("b", two(&[1, 1, 1, 1, 1, 1], &[0, 1, 1, 0, 1, 0])),
        ];
        let unit = |(name, predicted): (&str, Vec<u8>)| {
            (name.to_owned(), UnitEvidence::new(seeds(), 6, 2, predicted))
        };
        let evidence = Evidence::from_iter(units.map(unit));
        let items = || vec![("a", TRUTH), ("b", TRUTH)].into_iter();
        let items = || {
            items().map(|(name, truth)| {
                (
                    name.to_owned(),
                    EvalItems::from_metric(truth, ItemMetric::Accuracy),
                )
            })
        };
        let draws = Draws::new(items());
        let scores = mean_over_units(items().collect(), &evidence, &draws).expect("evidence of these items");
        for draw in [0, 33, N_DRAWS - 1] {
            let weights = draws.weights(draw);
            let of_units: Vec<f64> = evidence
                .units()
                .iter()
                .map(|(name, unit)| {
                    let weights = weights.unit(name, 6).expect("weights of these items");
                    let of_repeat = |predicted| ItemMetric::Accuracy.value(TRUTH, predicted, weights);
                    mean(&unit.each_repeat().map(of_repeat).collect::<Vec<_>>())
                })
                .collect();
            assert_eq!(scores[draw], mean(&of_units), "draw {draw}");
        }
        assert!(mean_over_units(items().take(1).collect(), &evidence, &Draws::new([])).is_err());
    }

    #[test]
    fn steps_of_fixing_have_no_mean() {
        let fixes = Fixes {
            models: vec![0, 1],
            n_known: 1,
        };
        let unit = UnitEvidence::new(Repeats::Fixes(fixes), 6, 2, [TRUTH, TRUTH].concat());
        let evidence = Evidence::of_unit("eval", unit);
        let (items, draws) = (items(TRUTH).into(), Draws::new(items(TRUTH)));
        let error = mean_over_units(items, &evidence, &draws).expect_err("no mean");
        assert!(error.to_string().contains("steps of fixing"), "{error}");
    }
}
