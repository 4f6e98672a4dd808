//! The baselines of `selection` and `debugging`.

use crate::own_data::debugging::{self, Debugging, TRAIN};
use crate::own_data::selection::{self, LabelSource, POOL, Selection};
use crate::own_data::table::{ID, LABEL, Table, features_file, read};
use crate::own_data::{PUBLIC_EVAL, Scoring};
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Files;
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::progress::Progress;
use serde_json::json;

use dataperf_baselines::debugging::{Task, ascending, influence, orders, shapley};
use dataperf_baselines::no_such_method;
use dataperf_baselines::random::Random;
use dataperf_baselines::speech::cleanlab::out_of_sample;
use dataperf_baselines::speech::confident_learning::{flagged, label_quality};
use dataperf_baselines::vision::farthest_points;
use dataperf_baselines::{BaselineError, Baselines, Made, Method};

impl Baselines for Selection {
    const METHODS: &'static [Method] = &[
        Method {
            name: "random",
            about: "one random example of each class, then random ones",
            source: "paper, 2.3.1, random selection",
        },
        Method {
            name: "balanced",
            about: "as many random examples of each class",
            source: "own",
        },
        Method {
            name: "farthest-point",
            about: "of each class those that are farthest from each other",
            source: "paper, 2.3.2; Gonzalez 1985",
        },
        Method {
            name: "cleanlab",
            about: "balanced, of the examples whose labels other examples confirm best",
            source: "paper, 2.3.1; Northcutt, Jiang and Chuang 2021",
        },
    ];

    /// All methods if the pool has labels, else none: each of them needs them.
    fn methods(manifest: &Manifest) -> Result<Vec<&'static Method>, FrozenError> {
        let parameters: selection::Parameters = manifest.parameters()?;
        let has_labels = parameters.labels == LabelSource::Pool;
        Ok(Self::METHODS.iter().filter(|_| has_labels).collect())
    }

    async fn artifact(
        dataset: &Dataset<Self>,
        leaderboard: &str,
        method: &str,
        seed: u32,
        progress: &dyn Progress,
    ) -> Result<Made, BaselineError> {
        let parameters: selection::Parameters = dataset.manifest().parameters()?;
        let board = parameters
            .leaderboards
            .iter()
            .find(|board| board.name == leaderboard);
        let max_examples = board.map_or(0, |board| board.max_examples);
        let pool = read(&dataset.files(), POOL).await?;
        if pool.examples.column(LABEL).is_none() {
            return Err(BaselineError::TooFew {
                noun: "labels in the pool".into(),
                n: 0,
                n_needed: pool.features.nrows(),
            });
        }
        let pool = Labelled::read(pool, LABEL, &parameters.scoring)?;
        let mut random = Random::new(seed);
        let rows = match method {
            "random" => pool.random(max_examples, &mut random),
            "balanced" => {
                let order = random.permutation(pool.labels.len());
                pool.balanced(&order, max_examples)
            }
            "farthest-point" => pool.farthest(max_examples, &mut random, progress),
            "cleanlab" => {
                let (is_flagged, quality) = pool.doubts(seed, progress)?;
                let mut order = ascending(&quality);
                order.reverse();
                // flagged examples come last instead of being dropped, because a class may have no others
                order.sort_by_key(|&row| is_flagged[row]);
                pool.balanced(&order, max_examples)
            }
            _ => return Err(no_such_method::<Self>(method)),
        };
        let ids: Vec<&str> = rows.iter().map(|&row| pool.ids[row].as_str()).collect();
        Made::new(&json!({ "ids": ids }), json!({}))
    }
}

impl Baselines for Debugging {
    const METHODS: &'static [Method] = &[
        Method {
            name: "consecutive",
            about: "the examples as they come",
            source: "paper, 2.3.3",
        },
        Method {
            name: "random",
            about: "the examples in random order",
            source: "paper, 2.3.3",
        },
        Method {
            name: "influence",
            about: "first those without which a logistic regression does better on the public test set; two classes",
            source: "Koh and Liang 2017; DS3Lab/dataperf-vision-debugging",
        },
        Method {
            name: "datascope",
            about: "first those with the lowest Shapley value for the nearest neighbour, on the public test set",
            source: "paper, 2.3.3; Jia et al. 2019; Karlas et al. 2022",
        },
        Method {
            name: "cleanlab",
            about: "first those whose labels other examples confirm least",
            source: "Northcutt, Jiang and Chuang 2021",
        },
    ];

    /// `influence` and `datascope` need a public test set, and `influence` two classes as well.
    fn methods(manifest: &Manifest) -> Result<Vec<&'static Method>, FrozenError> {
        let parameters: debugging::Parameters = manifest.parameters()?;
        let is_public = manifest.files.contains_key(&features_file(PUBLIC_EVAL));
        let n_classes = parameters.scoring.classes.len();
        let works = |method: &&Method| match method.name {
            "influence" => is_public && n_classes == 2,
            "datascope" => is_public,
            _ => true,
        };
        Ok(Self::METHODS.iter().filter(works).collect())
    }

    async fn artifact(
        dataset: &Dataset<Self>,
        _leaderboard: &str,
        method: &str,
        seed: u32,
        progress: &dyn Progress,
    ) -> Result<Made, BaselineError> {
        let parameters: debugging::Parameters = dataset.manifest().parameters()?;
        let train = Labelled::read(read(&dataset.files(), TRAIN).await?, LABEL, &parameters.scoring)?;
        let n_train = train.labels.len();
        let (mut values, order) = (
            Vec::new(),
            match method {
                "consecutive" => Some(orders::consecutive(n_train)),
                "random" => Some(orders::random(n_train, seed)),
                _ => None,
            },
        );
        if order.is_none() {
            values = match method {
                "cleanlab" => train.doubts(seed, progress)?.1,
                "influence" | "datascope" => {
                    let validation = public_eval(&dataset.files(), &parameters.scoring).await?;
                    let task = Task {
                        x: train.x.view(),
                        labels: &train.labels,
                        validation_x: validation.x.view(),
                        validation_labels: &validation.labels,
                    };
                    if method == "datascope" {
                        shapley::values(&task, shapley::N_NEIGHBORS)
                    } else if train.n_classes == 2 {
                        influence::loss_changes(&task)?
                    } else {
                        let why = format!("it needs two classes, and the data set has {}", train.n_classes);
                        return Err(BaselineError::Learner(why));
                    }
                }
                _ => return Err(no_such_method::<Self>(method)),
            };
        }
        let order = order.unwrap_or_else(|| ascending(&values));
        let ids: Vec<&str> = order.iter().map(|&row| train.ids[row].as_str()).collect();
        Made::new(&json!({ "order": ids }), json!({ "values": values }))
    }
}

/// Reads the test set that participants have.
async fn public_eval(files: &Files<'_>, scoring: &Scoring) -> Result<Labelled, BaselineError> {
    if !files.has(&features_file(PUBLIC_EVAL)) {
        return Err(BaselineError::TooFew {
            noun: "items of a public test set".into(),
            n: 0,
            n_needed: 1,
        });
    }
    Labelled::read(read(files, PUBLIC_EVAL).await?, LABEL, scoring)
}

/// Rows with a class each, such as a pool.
struct Labelled {
    ids: Vec<String>,
    /// `(n_rows, n_features)`
    x: ndarray::Array2<f64>,
    labels: Vec<usize>,
    n_classes: usize,
}

impl Labelled {
    fn read(table: Table, column: &str, scoring: &Scoring) -> Result<Self, BaselineError> {
        let classes = table.examples.classes(column, &scoring.classes)?;
        let ids = table.examples.column(ID).unwrap_or_default().to_vec();
        Ok(Self {
            ids,
            x: table.features,
            labels: classes.into_iter().map(usize::from).collect(),
            n_classes: scoring.classes.len(),
        })
    }

    /// The rows of a class, in the given order.
    fn of_class(&self, order: &[usize], class: usize) -> Vec<usize> {
        order
            .iter()
            .copied()
            .filter(|&row| self.labels[row] == class)
            .collect()
    }

    fn random(&self, n: usize, random: &mut Random) -> Vec<usize> {
        let order = random.permutation(self.labels.len());
        let firsts = (0..self.n_classes)
            .filter_map(|class| order.iter().copied().find(|&row| self.labels[row] == class));
        let mut rows: Vec<usize> = firsts.collect();
        let others: Vec<usize> = order.into_iter().filter(|row| !rows.contains(row)).collect();
        rows.extend(others.into_iter().take(n.saturating_sub(rows.len())));
        rows
    }

    /// The first rows of each class in the given order, one class after another in turn, until there are `n` rows or none is left.
    fn balanced(&self, order: &[usize], n: usize) -> Vec<usize> {
        let mut of_classes: Vec<_> = (0..self.n_classes)
            .map(|class| self.of_class(order, class).into_iter())
            .collect();
        let mut rows = Vec::new();
        while rows.len() < n {
            let n_before = rows.len();
            for of_class in &mut of_classes {
                if rows.len() < n {
                    rows.extend(of_class.next());
                }
            }
            if rows.len() == n_before {
                break;
            }
        }
        rows
    }

    fn farthest(&self, n: usize, random: &mut Random, progress: &dyn Progress) -> Vec<usize> {
        let all: Vec<usize> = (0..self.labels.len()).collect();
        let mut order = Vec::new();
        for class in 0..self.n_classes {
            let rows = self.of_class(&all, class);
            let x = self
                .x
                .select(ndarray::Axis(0), &rows)
                .mapv(|number| number as f32);
            let n_points = n.div_ceil(self.n_classes).min(rows.len());
            let points = farthest_points::sample(x.view(), n_points, random.below(rows.len()), progress);
            order.extend(points.into_iter().map(|point| rows[point]));
        }
        self.balanced(&order, n)
    }

    /// Whether confident learning doubts each label, and how well each is confirmed.
    fn doubts(&self, seed: u32, progress: &dyn Progress) -> Result<(Vec<bool>, Vec<f64>), BaselineError> {
        let x = self.x.mapv(|number| number as f32);
        let probabilities = out_of_sample(x.view(), &self.labels, self.n_classes, seed, progress)?;
        let is_flagged = flagged(&self.labels, probabilities.view());
        Ok((is_flagged, label_quality(&self.labels, probabilities.view())))
    }
}
