//! The baselines of Debugging for Vision.

use std::collections::BTreeMap;

use crate::vision_debugging::{EMBEDDINGS, LABELS, Parameters, VisionDebugging, train_file, validation_file};
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Files;
use dataperf::dataset::frozen::FrozenError;
use dataperf::progress::Progress;
use ndarray::Array2;
use serde_json::json;

use dataperf_baselines::debugging::{Task, ascending, influence, orders, shapley};
use dataperf_baselines::no_such_method;
use dataperf_baselines::{BaselineError, Baselines, Made, Method};

impl Baselines for VisionDebugging {
    const METHODS: &'static [Method] = &[
        Method {
            name: "consecutive",
            about: "the images as they come",
            source: "paper, 2.3.3",
        },
        Method {
            name: "random",
            about: "the images in random order",
            source: "paper, 2.3.3",
        },
        Method {
            name: "influence",
            about: "first those without which a logistic regression does better on the validation set",
            source: "Koh and Liang 2017; DS3Lab/dataperf-vision-debugging",
        },
        Method {
            name: "datascope",
            about: "first those with the lowest Shapley value for the nearest neighbour",
            source: "paper, 2.3.3; Jia et al. 2019; Karlas et al. 2022",
        },
    ];

    async fn artifact(
        dataset: &Dataset<Self>,
        _leaderboard: &str,
        method: &str,
        seed: u32,
        progress: &dyn Progress,
    ) -> Result<Made, BaselineError> {
        let parameters: Parameters = dataset.manifest().parameters()?;
        let files = dataset.files();
        let (mut artifact, mut all_values) = (BTreeMap::new(), BTreeMap::new());
        progress.begin("tasks", parameters.tasks.len() as u64);
        for (name, of_task) in parameters.tasks.iter().zip(0..) {
            let train = Images::read(&files, &train_file(name)).await?;
            let n_train = train.labels.len();
            let order = match method {
                "consecutive" => orders::consecutive(n_train),
                // each task has an order of its own
                "random" => orders::random(n_train, seed.wrapping_add(of_task)),
                "influence" | "datascope" => {
                    let path = validation_file(name);
                    if !files.has(&path) {
                        return Err(BaselineError::TooFew {
                            noun: format!("validation images of `{name}`"),
                            n: 0,
                            n_needed: 1,
                        });
                    }
                    let validation = Images::read(&files, &path).await?;
                    let task = Task {
                        x: train.x.view(),
                        labels: &train.labels,
                        validation_x: validation.x.view(),
                        validation_labels: &validation.labels,
                    };
                    let values = if method == "influence" {
                        influence::loss_changes(&task)?
                    } else {
                        shapley::values(&task, shapley::N_NEIGHBORS)
                    };
                    let order = ascending(&values);
                    all_values.insert(name, values);
                    order
                }
                _ => return Err(no_such_method::<Self>(method)),
            };
            artifact.insert(name, order);
            progress.advance(1);
        }
        Made::new(&artifact, json!({ "values": all_values }))
    }
}

/// Labelled images.
struct Images {
    /// `(n_images, n_features)`
    x: Array2<f64>,
    labels: Vec<usize>,
}

impl Images {
    async fn read(files: &Files<'_>, path: &str) -> Result<Self, BaselineError> {
        let x = files.matrix(path, EMBEDDINGS).await?.view().mapv(f64::from);
        let labels = files.classes(path, LABELS).await?;
        if labels.len() != x.nrows() || labels.is_empty() {
            return Err(FrozenError::damaged(path, "it has not one label for each image").into());
        }
        let labels = labels.iter().map(|&label| label.into()).collect();
        Ok(Self { x, labels })
    }
}
