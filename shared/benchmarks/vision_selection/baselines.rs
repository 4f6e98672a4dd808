//! The baselines of Selection for Vision.

use std::collections::{BTreeMap, HashMap};

use crate::vision_selection::{POOL_FILE, Parameters, VisionSelection, examples_file};
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Files;
use dataperf::dataset::frozen::{Dtype, FrozenError};
use dataperf::dataset::pool::RECORDS;
use dataperf::progress::Progress;
use ndarray::{Array2, ArrayView2};
use serde_json::json;

use dataperf_baselines::lines;
use dataperf_baselines::no_such_method;
use dataperf_baselines::random::Random;
use dataperf_baselines::vision::{Concept, farthest_points, pseudo_labels, random, uncertainty};
use dataperf_baselines::{BaselineError, Baselines, Made, Method};

impl Baselines for VisionSelection {
    const METHODS: &'static [Method] = &[
        Method {
            name: "random",
            about: "random images, labelled by a coin",
            source: "CoactiveAI/dataperf-vision-selection, random_500",
        },
        Method {
            name: "uncertainty",
            about: "draws from both sides of classifiers of noisy labels",
            source: "paper, 2.3.2 and Table 2; Mordelet and Vert 2014",
        },
        Method {
            name: "pseudo-label",
            about: "the best of several learners labels the pool",
            source: "paper, 2.3.2 and Table 2",
        },
        Method {
            name: "farthest-point",
            about: "the farthest points are the negatives; nested cross-validation chooses among subsets",
            source: "paper, 2.3.2 and Table 2; Gonzalez 1985",
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
        if !Self::METHODS.iter().any(|known| known.name == method) {
            return Err(no_such_method::<Self>(method));
        }
        let pool = Pool::read(&files, &parameters).await?;
        let farthest = if method == "farthest-point" {
            let n_points = farthest_points::n_points(pool.ids.len());
            let first = Random::new(seed).below(pool.ids.len());
            farthest_points::sample(pool.x.view(), n_points, first, progress)
        } else {
            Vec::new()
        };
        let mut generator = Random::new(seed);
        let mut artifact: BTreeMap<&String, BTreeMap<&str, u8>> = BTreeMap::new();
        let mut learners: BTreeMap<&String, &str> = BTreeMap::new();
        progress.begin("concepts", parameters.concepts.len() as u64);
        for name in &parameters.concepts {
            let examples = examples(&files, name, &pool).await?;
            let concept = Concept {
                pool: pool.x.view(),
                examples: &examples,
                max_images: parameters.max_examples / parameters.concepts.len(),
            };
            let labelled = match method {
                "random" => random::select(&concept, &mut generator),
                "uncertainty" => uncertainty::select(&concept, seed)?,
                "pseudo-label" => {
                    let (labelled, learner) = pseudo_labels::select(&concept, seed)?;
                    learners.insert(name, learner);
                    labelled
                }
                _ => farthest_points::select(&concept, &farthest, seed)?,
            };
            let by_id = labelled
                .into_iter()
                .map(|(row, label)| (pool.ids[row].as_str(), label));
            artifact.insert(name, by_id.collect());
            progress.advance(1);
        }
        let farthest: Vec<&str> = farthest.iter().map(|&row| pool.ids[row].as_str()).collect();
        Made::new(
            &artifact,
            json!({ "farthest_points": farthest, "learners": learners }),
        )
    }
}

/// The candidates, held in memory.
struct Pool {
    ids: Vec<String>,
    /// `(n_pool, n_features)`
    x: Array2<f32>,
}

impl Pool {
    async fn read(files: &Files<'_>, parameters: &Parameters) -> Result<Self, BaselineError> {
        let entry = files.manifest().tensor(POOL_FILE, RECORDS, Dtype::U8, 2)?;
        let records = files.tensor(POOL_FILE, RECORDS).await?;
        let Parameters {
            id_bytes, n_features, ..
        } = *parameters;
        let damaged = |why: String| FrozenError::damaged(POOL_FILE, why);
        let shape = (entry.n_rows(), id_bytes + 4 * n_features);
        let records = ArrayView2::from_shape(shape, &records).map_err(|error| damaged(error.to_string()))?;
        let mut ids = Vec::with_capacity(shape.0);
        let mut values = Vec::with_capacity(shape.0 * n_features);
        for record in records.outer_iter() {
            let record = record.to_slice().unwrap_or_default();
            let (id, vector) = record.split_at(id_bytes);
            let id = std::str::from_utf8(id).map_err(|_| damaged("an id is not UTF-8".into()))?;
            ids.push(id.trim_end_matches('\0').to_owned());
            let floats = vector.chunks_exact(4);
            values.extend(floats.map(|float| f32::from_le_bytes([float[0], float[1], float[2], float[3]])));
        }
        let x = Array2::from_shape_vec((shape.0, n_features), values);
        let x = x.map_err(|error| damaged(error.to_string()))?;
        Ok(Self { ids, x })
    }
}

/// The rows of the pool that hold a concept's example images; examples that are no candidates are left out.
async fn examples(files: &Files<'_>, concept: &str, pool: &Pool) -> Result<Vec<usize>, BaselineError> {
    let path = examples_file(concept);
    if !files.has(&path) {
        return Ok(Vec::new());
    }
    let bytes = files.whole(&path).await?;
    let row_of: HashMap<&str, usize> = pool.ids.iter().map(String::as_str).zip(0..).collect();
    let rows = lines(&path, &bytes)?
        .into_iter()
        .filter_map(|id| row_of.get(id).copied());
    Ok(rows.collect())
}
