//! Entries that answer items of a newly drawn test set.

use dataperf_numerics::bootstrap::{
    Answers, Course, ItemMetric, LANES, N_BATCHES, Resampler, Trials, draws_of,
};
use dataperf_numerics::metrics::{ItemWeights, mean};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The kind of score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Score {
    Accuracy,
    MacroF1,
    Fixes,
    Acquisition,
    /// The accuracy of the worst of four groups.
    WorstGroup,
}

/// How the true scores of the entries lie.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field {
    SpreadOut,
    NearlyEqual,
    Tied,
    /// Tied, and right on nearly all items.
    Perfect,
}

/// The parameters of a simulation.
pub(crate) struct Scenario {
    pub(crate) score: Score,
    pub(crate) field: Field,
    pub(crate) n_entries: usize,
    pub(crate) n_classes: usize,
    pub(crate) items_of_class: usize,
    /// So many clusters share the items; each entry is better in some of them than in others.
    pub(crate) n_clusters: Option<usize>,
}

/// An entry that has been scored.
pub(crate) struct Scored {
    pub(crate) score: f64,
    /// `(N_DRAWS,)`: what each draw gives more.
    pub(crate) deviations: Vec<f32>,
    /// `(n_items,)`: how many models are right.
    pub(crate) n_right: Vec<u8>,
}

/// By how much an entry's ability differs from cluster to cluster: the standard deviation.
const EFFECT_OF_CLUSTER: f64 = 0.7;
/// The same from trial to trial of an acquisition.
const EFFECT_OF_TRIAL: f64 = 0.1;
const N_GROUPS: usize = 4;
/// Models of a course of fixes.
const N_MODELS: usize = 60;
const N_TRIALS: usize = 10;
const TARGET_SHARE: f64 = 0.95;

fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    (-2.0 * (1.0 - uniform(random)).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The mean of sigmoid(ability - difficulty) over difficulties that are normal with this standard deviation.
fn expected(ability: f64, deviation: f64) -> f64 {
    let points = (-600..=600).map(|point| f64::from(point) / 100.0);
    points
        .map(|x| {
            sigmoid(ability - deviation * x) * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() / 100.0
        })
        .sum()
}

impl Scenario {
    pub(crate) fn name(&self) -> String {
        let score = match self.score {
            Score::Accuracy => "accuracy",
            Score::MacroF1 => "macro F1",
            Score::Fixes => "fraction of fixes",
            Score::Acquisition => "acquisition",
            Score::WorstGroup => "worst of four groups",
        };
        let field = match self.field {
            Field::SpreadOut => "spread out",
            Field::NearlyEqual => "nearly equal",
            Field::Tied => "tied",
            Field::Perfect => "tied, nearly perfect",
        };
        let clusters = self
            .n_clusters
            .map_or_else(String::new, |n| format!(" in {n} clusters"));
        format!(
            "{score} | {field} | {} | {} x {}{clusters}",
            self.n_entries, self.n_classes, self.items_of_class
        )
    }

    /// Items of the smallest stratum, or clusters.
    pub(crate) fn smallest(&self) -> usize {
        let n_groups = if self.score == Score::WorstGroup {
            N_GROUPS
        } else {
            1
        };
        self.n_clusters.unwrap_or(self.items_of_class / n_groups)
    }

    /// The ability of each entry.
    fn abilities(&self) -> Vec<f64> {
        let step = match self.field {
            Field::SpreadOut => 0.25,
            Field::NearlyEqual => 0.01,
            Field::Tied | Field::Perfect => 0.0,
        };
        let best = if matches!(self.field, Field::Perfect) {
            5.0
        } else {
            1.5
        };
        (0..self.n_entries)
            .map(|entry| best - step * entry as f64)
            .collect()
    }

    /// The true scores: larger is better.
    pub(crate) fn truth(&self) -> Vec<f64> {
        // All classes and groups are alike, so that accuracy, macro F1, that of the worst group and their order in the limit of many
        // items are one; entries with more ability reach the target sooner.
        let effect = match (self.score, self.n_clusters) {
            (Score::Acquisition, _) => EFFECT_OF_TRIAL,
            (_, Some(_)) => EFFECT_OF_CLUSTER,
            _ => 0.0,
        };
        self.abilities()
            .into_iter()
            .map(|ability| {
                if self.score == Score::Fixes {
                    -self.true_fraction(ability)
                } else {
                    expected(ability, 1.0_f64.hypot(effect))
                }
            })
            .collect()
    }

    /// The ability of an entry's model after some of its fixes: how soon it rises is what entries differ in.
    fn ability_after(ability: f64, model: usize) -> f64 {
        let share = model as f64 / (N_MODELS - 1) as f64;
        -0.5 + 2.5 * share.powf(1.0 / (0.3 + ability.max(0.05)))
    }

    fn true_fraction(&self, ability: f64) -> f64 {
        let of_model = |model| (expected(Self::ability_after(ability, model), 1.0) * 100.0).round() / 100.0;
        let target = TARGET_SHARE * of_model(N_MODELS - 1);
        let first = (0..N_MODELS).position(|model| of_model(model) >= target);
        first.unwrap_or(0) as f64 / N_MODELS as f64
    }

    /// The score and the deviations of each entry on one test set, and its correctness.
    pub(crate) fn run(&self, seed: u64) -> Vec<Scored> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let n_items = self.n_classes * self.items_of_class;
        let truth: Vec<u8> = (0..n_items).map(|item| (item % self.n_classes) as u8).collect();
        let difficulties: Vec<f64> = (0..n_items).map(|_| normal(&mut random)).collect();
        let mut seed = [0; 32];
        random.fill_bytes(&mut seed);
        let groups: Vec<usize> = (0..n_items)
            .map(|item| item / self.n_classes % N_GROUPS)
            .collect();
        let clusters = self.n_clusters.map(|n| {
            (0..n_items)
                .map(|item| item / self.n_classes % n)
                .collect::<Vec<_>>()
        });
        let resampler = match &clusters {
            Some(clusters) => Resampler::of_clusters(&truth, None, clusters, seed),
            None => Resampler::of_items(
                &truth,
                (self.score == Score::WorstGroup).then_some(&groups[..]),
                seed,
            ),
        };
        let batches: Vec<_> = (0..N_BATCHES).map(|batch| resampler.batch(batch)).collect();
        let n_classes = self.n_classes as u64;
        let answers = |ability: f64, luck: &mut Xoshiro256PlusPlus| -> Vec<u8> {
            let effects: Vec<f64> = (0..self.n_clusters.unwrap_or(0))
                .map(|_| EFFECT_OF_CLUSTER * normal(luck))
                .collect();
            let answer = |(item, truth): (usize, &u8)| {
                let of_cluster = clusters.as_ref().map_or(0.0, |clusters| effects[clusters[item]]);
                let is_right = uniform(luck) < sigmoid(ability + of_cluster - difficulties[item]);
                let other = 1 + (luck.next_u64() >> 32) % (n_classes - 1).max(1);
                if is_right {
                    *truth
                } else {
                    ((u64::from(*truth) + other) % n_classes) as u8
                }
            };
            truth.iter().enumerate().map(answer).collect()
        };
        let trials = Trials::new(N_TRIALS, seed);
        let of_entry = |ability: f64| {
            let each_draw = |of_batch: &dyn Fn(usize) -> [f64; LANES]| -> Vec<f64> {
                (0..N_BATCHES)
                    .flat_map(|batch| of_batch(batch)[..draws_of(batch).len()].to_vec())
                    .collect()
            };
            let (score, drawn, shares): (f64, Vec<f64>, Vec<u8>) = match self.score {
                Score::Accuracy | Score::MacroF1 | Score::WorstGroup => {
                    let metric = match self.score {
                        Score::MacroF1 => ItemMetric::MacroF1,
                        Score::WorstGroup => ItemMetric::WorstGroupAccuracy(&groups),
                        _ => ItemMetric::Accuracy,
                    };
                    let answers = answers(ability, &mut random);
                    let ready = Answers::new(metric, &truth, [&answers[..]]);
                    let drawn = each_draw(&|batch| ready.values(&batches[batch])[0]);
                    let shares = answers
                        .iter()
                        .zip(&truth)
                        .map(|(a, t)| u8::from(a == t))
                        .collect();
                    (metric.value(&truth, &answers, ItemWeights::Ones), drawn, shares)
                }
                Score::Acquisition => {
                    let models: Vec<Vec<u8>> = (0..N_TRIALS)
                        .map(|_| {
                            let of_trial = ability + EFFECT_OF_TRIAL * normal(&mut random);
                            answers(of_trial, &mut random)
                        })
                        .collect();
                    let metric = ItemMetric::Accuracy;
                    let values: Vec<f64> = models
                        .iter()
                        .map(|model| metric.value(&truth, model, ItemWeights::Ones))
                        .collect();
                    let ready = Answers::new(metric, &truth, models.iter().map(Vec::as_slice));
                    let drawn = each_draw(&|batch| {
                        let of_models = ready.values(&batches[batch]);
                        let draws = draws_of(batch);
                        std::array::from_fn(|lane| {
                            let values: Vec<f64> = of_models.iter().map(|values| values[lane]).collect();
                            if lane < draws.len() {
                                trials.mean(draws.start + lane, &values)
                            } else {
                                0.0
                            }
                        })
                    });
                    let n_right =
                        |item: usize| models.iter().filter(|model| model[item] == truth[item]).count() as u8;
                    (mean(&values), drawn, (0..n_items).map(n_right).collect())
                }
                Score::Fixes => {
                    // an item's luck is one for all models, so that it is learnt once, mostly
                    let luck: Vec<f64> = (0..n_items).map(|_| uniform(&mut random)).collect();
                    let model = |model: usize| -> Vec<u8> {
                        let ability = Self::ability_after(ability, model);
                        let right = |item: usize| luck[item] < sigmoid(ability - difficulties[item]);
                        (0..n_items)
                            .map(|item| {
                                if right(item) {
                                    truth[item]
                                } else {
                                    (truth[item] + 1) % self.n_classes as u8
                                }
                            })
                            .collect()
                    };
                    let models: Vec<Vec<u8>> = (0..N_MODELS).map(model).collect();
                    let course = Course::new(&truth, models.iter().map(Vec::as_slice));
                    let fraction = |n_right: &dyn Fn(usize) -> f64| {
                        let rounded =
                            |model: usize| (n_right(model) / n_items as f64 * 100.0).round() / 100.0;
                        let target = TARGET_SHARE * rounded(N_MODELS - 1);
                        -((0..N_MODELS)
                            .position(|model| rounded(model) >= target)
                            .unwrap_or(0) as f64)
                            / N_MODELS as f64
                    };
                    let n_right = |model: usize| {
                        models[model].iter().zip(&truth).filter(|(a, t)| a == t).count() as f64
                    };
                    let drawn = each_draw(&|batch| {
                        let (of_models, _) = course.n_right(&batches[batch]);
                        std::array::from_fn(|lane| fraction(&|model| f64::from(of_models[model][lane])))
                    });
                    let shares = (0..n_items)
                        .map(|item| models.iter().filter(|model| model[item] == truth[item]).count() as u8);
                    (fraction(&n_right), drawn, shares.collect())
                }
            };
            let widened = resampler.widening();
            let deviations = drawn
                .iter()
                .map(|drawn| (widened * (drawn - score)) as f32)
                .collect();
            Scored {
                score,
                deviations,
                n_right: shares,
            }
        };
        self.abilities().into_iter().map(of_entry).collect()
    }
}
