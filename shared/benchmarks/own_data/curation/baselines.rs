//! The baselines of `curation`.

use crate::own_data::curation::numerals::zip_of_images;
use crate::own_data::curation::{Curation, ExampleKind, Parameters, START, read_images, read_rows};
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::progress::Progress;
use dataperf::{Benchmark, Rejection};
use ndarray::Array2;
use serde_json::json;

use crate::own_data::curation::methods::{Images, augmented, balanced, doubts};
use dataperf_baselines::no_such_method;
use dataperf_baselines::speech::cleanlab::out_of_sample;
use dataperf_baselines::speech::confident_learning::flagged;
use dataperf_baselines::{BaselineError, Baselines, Made, Method};

impl Baselines for Curation {
    const METHODS: &'static [Method] = &[
        Method {
            name: "as-it-is",
            about: "the start set",
            source: "paper, 2.1, baseline",
        },
        Method {
            name: "relabelled",
            about: "images: what confident learning doubts gets the likeliest label",
            source: "paper, 2.1; Northcutt, Jiang and Chuang 2021",
        },
        Method {
            name: "balanced",
            about: "images: those of rare classes again and again",
            source: "paper, 2.1",
        },
        Method {
            name: "augmented",
            about: "images: shifted, turned and scaled ones beside them",
            source: "paper, 2.1",
        },
        Method {
            name: "cleanlab",
            about: "without what confident learning doubts",
            source: "paper, 2.1; Northcutt, Jiang and Chuang 2021",
        },
    ];

    /// All methods for images; for tables only `as-it-is` and `cleanlab`.
    fn methods(manifest: &Manifest) -> Result<Vec<&'static Method>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        let is_table = matches!(parameters.examples, ExampleKind::Table { .. });
        let works = |method: &&Method| !is_table || ["as-it-is", "cleanlab"].contains(&method.name);
        Ok(Self::METHODS.iter().filter(works).collect())
    }

    async fn artifact(
        dataset: &Dataset<Self>,
        leaderboard: &str,
        method: &str,
        seed: u32,
        progress: &dyn Progress,
    ) -> Result<Made, BaselineError> {
        let parameters: Parameters = dataset.manifest().parameters()?;
        if !Self::METHODS.iter().any(|known| known.name == method) {
            return Err(no_such_method::<Self>(method));
        }
        let board = parameters
            .leaderboards
            .iter()
            .find(|board| board.name == leaderboard);
        let max_examples = board.map_or(0, |board| board.max_examples);
        let artifact = match parameters.examples {
            ExampleKind::Images { height, width } => {
                let start = dataset.files().whole(&format!("{START}.zip")).await?;
                let read = read_images(&start, &parameters.scoring.classes, height, width)
                    .map_err(|problems| unusable(&problems))?;
                let start = Images {
                    height,
                    width,
                    n_classes: parameters.scoring.classes.len(),
                    pixels: read.pixels,
                    classes: read.classes,
                };
                let made = match method {
                    "relabelled" => doubts(&start, seed, progress)?.relabelled(&start),
                    "balanced" => balanced(&start, max_examples, seed),
                    "augmented" => augmented(&start, max_examples, seed),
                    "cleanlab" => doubts(&start, seed, progress)?.selected(&start),
                    _ => start,
                };
                packed(&made, &parameters.scoring.classes, max_examples)?
            }
            ExampleKind::Table { .. } => {
                let start = dataset.files().whole(&format!("{START}.csv")).await?;
                match method {
                    "as-it-is" => start.to_vec(),
                    "cleanlab" => undoubted(&start, &parameters.scoring.classes, seed, progress)?,
                    _ => {
                        return Err(BaselineError::Learner(
                            "it is for images, and this contest is on tables".into(),
                        ));
                    }
                }
            }
        };
        Ok(Made {
            artifact,
            details: json!({}),
        })
    }
}

fn unusable(rejection: &Rejection) -> BaselineError {
    let reasons: Vec<&str> = rejection
        .reasons()
        .iter()
        .map(|reason| reason.message.as_str())
        .collect();
    BaselineError::Learner(reasons.join("; "))
}

fn packed(images: &Images, classes: &[String], max_examples: usize) -> Result<Vec<u8>, BaselineError> {
    let n = images.classes.len().min(max_examples);
    let named = (0..n).map(|row| (classes[images.classes[row]].as_str(), images.image(row)));
    let zip = zip_of_images(images.height as u32, images.width as u32, named);
    let zip = zip.map_err(|error| BaselineError::Learner(error.to_string()))?;
    if zip.len() as u64 > Curation::MAX_ARTIFACT_BYTES {
        return Err(BaselineError::Learner(format!(
            "its images take {} bytes, more than an artifact may have",
            zip.len()
        )));
    }
    Ok(zip)
}

/// The header of a CSV, and its lines whose labels confident learning does not doubt.
fn undoubted(
    start: &[u8],
    classes: &[String],
    seed: u32,
    progress: &dyn Progress,
) -> Result<Vec<u8>, BaselineError> {
    let rows = read_rows(start, &[])
        .map_err(|problems| unusable(&problems))?
        .rows;
    let number = |class: &String| classes.iter().position(|known| known == class).unwrap_or(0);
    let labels: Vec<usize> = rows.iter().map(|(class, _)| number(class)).collect();
    let width = rows.first().map_or(0, |(_, numbers)| numbers.len());
    let numbers = rows
        .iter()
        .flat_map(|(_, numbers)| numbers.iter().map(|&number| number as f32))
        .collect();
    let x = Array2::from_shape_vec((rows.len(), width), numbers);
    let x = x.map_err(|error| BaselineError::Learner(error.to_string()))?;
    let probabilities = out_of_sample(x.view(), &labels, classes.len(), seed, progress)?;
    let is_flagged = flagged(&labels, probabilities.view());
    // empty lines are skipped, as a reader of CSV does: each other line is one row
    let lines = start.split_inclusive(|&byte| byte == b'\n');
    let mut lines = lines.filter(|line| !line.trim_ascii().is_empty());
    let mut artifact = lines.next().unwrap_or_default().to_vec();
    for (line, is_flagged) in lines.zip(is_flagged) {
        if !is_flagged {
            artifact.extend_from_slice(line);
        }
    }
    Ok(artifact)
}
