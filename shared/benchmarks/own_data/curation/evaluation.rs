//! The frozen part of a board, the rules, the model's predictions and the score.

use bytes::Bytes;
use dataperf_numerics::learner::Learner;
use dataperf_numerics::network::{Network, train};
use ndarray::Array2;
use rayon::prelude::*;

use super::artifact::{Content, Image, Row, Rows};
use super::images::decode_png;
use super::{Artifact, Board, ExampleKind, Model, Parameters};
use crate::own_data::eval_set::scoring_eval_set;
use crate::own_data::scoring::{not_fitted, repeats};
use crate::own_data::table::{FEATURES, features_file};
use crate::own_data::{EVAL, EvalSet, Scoring};
use dataperf::benchmark::{FrozenPart, Leaderboard, NotScored};
use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, Evidence, EvidenceError, Repeats, UnitEvidence, Weights};
use dataperf::{Reason, Reasons, Rejection, explain_every, kind_of_file, offer, quote};
use dataperf::{Scorecard, is_zip};

/// The data that scoring keeps in memory for a board: the test set.
#[derive(Debug)]
pub struct Frozen {
    scoring: Scoring<Model>,
    examples: ExampleKind,
    /// The names of the columns that artifacts are matched with; none where they have no names.
    columns: Vec<String>,
    board: Board,
    eval: Option<EvalSet>,
    /// `(n_items, height * width)`: grey levels of the test set, if examples are images.
    eval_images: Bytes,
}

impl FrozenPart for Frozen {
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError> {
        let Parameters {
            about,
            scoring,
            leaderboards,
            ..
        } = manifest.parameters()?;
        let board = |board: Board| {
            let own = format!(
                "{}: at most {} {}; {}",
                about.title,
                board.max_examples,
                about.unit(),
                scoring.metric.about()
            );
            about.board(
                board.name,
                board.about.unwrap_or(own),
                scoring.metric.about(),
                scoring.model.about(),
            )
        };
        Ok(leaderboards.into_iter().map(board).collect())
    }

    async fn open(files: &Files<'_>, leaderboard: &str) -> Result<Self, DatasetError> {
        let manifest = files.manifest();
        let parameters: Parameters = manifest.parameters()?;
        let board = parameters.board(leaderboard)?.clone();
        let scoring = parameters.scoring;
        let mut eval_images = Bytes::new();
        let eval = match (parameters.examples, EvalSet::table_in(manifest)) {
            (_, None) => None,
            (ExampleKind::Table { .. }, Some(_)) => EvalSet::open(files, &scoring).await?,
            (ExampleKind::Images { height, width }, Some(table)) => {
                let path = features_file(table);
                let tensor = manifest.tensor(&path, FEATURES, Dtype::U8, 2)?;
                if tensor.shape[1] != height * width {
                    let why = format!("its images have not {height} x {width} pixels");
                    return Err(FrozenError::damaged(&path, why).into());
                }
                eval_images = files.tensor(&path, FEATURES).await?;
                let none = Array2::zeros((tensor.n_rows(), 0));
                Some(EvalSet::with_features(files, table, none, &scoring).await?)
            }
        };
        Ok(Self {
            scoring,
            examples: parameters.examples,
            columns: parameters.about.columns,
            board,
            eval,
            eval_images,
        })
    }

    fn eval_items(&self) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
        let eval = scoring_eval_set(self.eval.as_ref())?;
        Ok(eval.items(&self.scoring))
    }
}

/// A submission that obeys the rules: a training set.
#[derive(Debug)]
pub struct Checked {
    training: Training,
    classes: Vec<usize>,
}

#[derive(Debug)]
enum Training {
    /// `(n_examples, height, width)` grey levels.
    Images(Vec<u8>),
    /// `(n_examples, n_features)`
    Table(Array2<f64>),
}

impl Frozen {
    /// The most examples that a submission to the board may have.
    pub(super) fn max_examples(&self) -> usize {
        self.board.max_examples
    }

    /// Refuses a file that has more bytes than the board allows, before it is read.
    pub(super) fn check_size(&self, artifact: &[u8]) -> Result<(), Reason> {
        let (max_bytes, n_bytes) = (self.board.max_bytes, artifact.len() as u64);
        if n_bytes <= max_bytes {
            return Ok(());
        }
        let message = format!(
            "the file has {n_bytes} bytes, this leaderboard allows {max_bytes}: send fewer or smaller examples"
        );
        Err(Reason::over("too_large", "", max_bytes, n_bytes, message))
    }
}

impl Checked {
    pub(super) fn new(artifact: Artifact, frozen: &Frozen) -> Result<Self, Rejection> {
        let Artifact {
            mut content,
            n_examples: n,
            mut reasons,
        } = artifact;
        if let Content::Rows(rows) = &mut content {
            rows.arrange(&frozen.columns, &mut reasons);
        }
        let max_examples = frozen.max_examples();
        if n > max_examples {
            let message = format!(
                "the file has {n} examples, this leaderboard allows {max_examples}: remove {} of them",
                n - max_examples
            );
            reasons.add(Reason::over(
                "too_many_examples",
                "",
                max_examples as u64,
                n as u64,
                message,
            ));
        }
        if n == 0 && reasons.is_empty() {
            reasons.add(Reason::over(
                "no_examples",
                "",
                1,
                0,
                "the file has no examples: send at least one",
            ));
        }
        let classes: Vec<usize> = match &content {
            Content::Images(images) => classes(
                images.iter().map(|image| (&image.class, &image.at)),
                frozen,
                &mut reasons,
            ),
            Content::Rows(rows) => classes(
                rows.rows.iter().map(|row| (&row.class, &row.at)),
                frozen,
                &mut reasons,
            ),
        };
        if let (Content::Rows(rows), Model::Learner(Learner::GradientBoosting {})) =
            (&content, &frozen.scoring.model)
        {
            add_too_large(&rows.rows, &mut reasons);
        }
        let training = match (content, frozen.examples) {
            (Content::Images(images), ExampleKind::Images { height, width }) => {
                // images beyond the limit are not unpacked
                let wanted = &images[..images.len().min(max_examples)];
                Training::Images(pixels(wanted, height, width, &mut reasons))
            }
            (Content::Rows(rows), ExampleKind::Table { n_features }) => {
                Training::Table(table(&rows, n_features, frozen, &mut reasons))
            }
            (Content::Images(_), ExampleKind::Table { .. }) => {
                let message = "the file is a zip, and this contest takes tables: send a CSV with the column `label` and the numbers";
                reasons.add(Reason::new("wrong_form", "", message));
                Training::Images(Vec::new())
            }
            (Content::Rows(_), ExampleKind::Images { .. }) => {
                let message =
                    "the file is a CSV, and this contest takes images: send a zip of `CLASS/name.png`";
                reasons.add(Reason::new("wrong_form", "", message));
                Training::Images(Vec::new())
            }
        };
        reasons.into_verdict(Self { training, classes })
    }
}

fn classes<'a>(
    examples: impl Iterator<Item = (&'a String, &'a String)>,
    frozen: &Frozen,
    reasons: &mut Reasons,
) -> Vec<usize> {
    let (mut numbers, mut n) = (Vec::new(), 0);
    for (class, at) in examples {
        n += 1;
        let number = frozen.scoring.class_of(class);
        if number.is_none() {
            reasons.add_unknown("labels", class, [""; 0], || {
                let message = format!(
                    "{} is not a class: {}",
                    quote(class),
                    offer(class, &frozen.scoring.classes)
                );
                Reason::new("unknown_class", at, message)
            });
        }
        numbers.extend(number);
    }
    let known = frozen.scoring.classes.iter().map(String::as_str);
    reasons.compare_unknown("labels", n, known);
    numbers
}

/// Adds a reason for each row with a number that is infinite as a 32-bit float, which trees compute with.
fn add_too_large(rows: &[Row], reasons: &mut Reasons) {
    for row in rows {
        let is_infinite = |number: &f64| !(*number as f32).is_finite();
        if let Some(column) = row.numbers.iter().position(is_infinite) {
            let message = format!(
                "column {}: {} is too large for this contest's 32-bit model: the limit is {:e}",
                column + 2,
                row.numbers[column],
                f32::MAX
            );
            reasons.add(Reason::new("number_too_large", &row.at, message));
        }
    }
}

/// Reads a zip of images: their pixels, their classes and their names.
///
/// # Errors
/// A [`Rejection`] with everything that is wrong with the zip and its images.
pub fn read_images(
    zip: &[u8],
    classes: &[String],
    height: usize,
    width: usize,
) -> Result<ReadImages, Rejection> {
    let no_zip = || {
        let kind = kind_of_file(zip).map_or(String::new(), |kind| format!(" but {}", kind.name));
        Reason::new(
            "wrong_form",
            "",
            format!("the file is not a zip{kind}: pack images in a zip as `CLASS/name.png`"),
        )
    };
    if !is_zip(zip) {
        return Err(no_zip().into());
    }
    let Artifact {
        content, mut reasons, ..
    } = Artifact::parse(zip, usize::MAX)?;
    let Content::Images(images) = content else {
        return Err(no_zip().into());
    };
    let mut read = ReadImages {
        pixels: pixels(&images, height, width, &mut reasons),
        classes: Vec::new(),
        names: Vec::new(),
    };
    for image in images {
        if let Some(class) = classes.iter().position(|class| *class == image.class) {
            read.classes.push(class);
        } else {
            let message = format!("{} is not a class of the document", quote(&image.class));
            reasons.add(Reason::new("unknown_class", &image.at, message));
        }
        read.names.push(image.at);
    }
    reasons.into_verdict(read)
}

/// The images of a zip.
#[derive(Debug)]
pub struct ReadImages {
    /// `(n_images, height, width)` grey levels.
    pub pixels: Vec<u8>,
    /// `(n_images,)` class numbers.
    pub classes: Vec<usize>,
    /// The name of each image in the zip.
    pub names: Vec<String>,
}

/// The rows of a table.
#[derive(Debug)]
pub struct ReadRows {
    /// The names of the numbers, `(n_features,)`.
    pub names: Vec<String>,
    /// The class and the numbers of each row.
    pub rows: Vec<(String, Vec<f64>)>,
    /// Whether the file has them in another order.
    pub is_arranged: bool,
}

/// Reads the rows of a CSV with a column `label`. The numbers come in the order of `columns`; of no columns, in the order of the file.
///
/// # Errors
/// A [`Rejection`] with everything that is wrong with the form of the CSV and with its columns.
pub fn read_rows(csv: &[u8], columns: &[String]) -> Result<ReadRows, Rejection> {
    let Artifact {
        content, mut reasons, ..
    } = Artifact::parse(csv, usize::MAX)?;
    let Content::Rows(mut rows) = content else {
        return Err(Reason::new(
            "wrong_form",
            "",
            "the file is a zip: send a CSV with the column `label` and the numbers",
        )
        .into());
    };
    let is_arranged = rows.arrange(columns, &mut reasons);
    let Rows { names, rows } = rows;
    let rows = rows.into_iter().map(|row| (row.class, row.numbers)).collect();
    reasons.into_verdict(ReadRows {
        names,
        rows,
        is_arranged,
    })
}

fn pixels(images: &[Image], height: usize, width: usize, reasons: &mut Reasons) -> Vec<u8> {
    let decoded: Vec<Result<Vec<u8>, String>> = images
        .par_iter()
        .map(|image| decode_png(&image.png, height, width))
        .collect();
    let n_bad = decoded.iter().filter(|decoded| decoded.is_err()).count();
    if let Some(Err(why)) = decoded.first()
        && decoded
            .iter()
            .all(|image_one| image_one.as_ref().err() == Some(why))
    {
        reasons.explain(explain_every("bad_image", n_bad, images.len(), || {
            format!("each of the {n_bad} images has the same fault: {why}")
        }));
    }
    let mut pixels = Vec::with_capacity(images.len() * height * width);
    for (image, decoded) in images.iter().zip(decoded) {
        match decoded {
            Ok(levels) => pixels.extend(levels),
            Err(why) => reasons.add(Reason::new(
                "bad_image",
                &image.at,
                format!("{}: {why}", quote(&image.at)),
            )),
        }
    }
    pixels
}

fn table(table: &Rows, n_features: usize, frozen: &Frozen, reasons: &mut Reasons) -> Array2<f64> {
    let rows = &table.rows;
    let mut numbers = Vec::with_capacity(rows.len() * n_features);
    for row in rows {
        if row.numbers.len() == n_features {
            numbers.extend_from_slice(&row.numbers);
            continue;
        }
        let (limit, actual) = (n_features as u64, row.numbers.len() as u64);
        let has_index = actual == limit + 1 && table.names.iter().any(|name| name.trim().is_empty());
        let remedy = if has_index {
            "leave out the column without a name, which numbers the rows: `frame.to_csv(FILE, index=False)`"
        } else {
            "give each line that many"
        };
        let message = format!("the line has {actual} numbers, the test set's rows have {limit}: {remedy}");
        reasons.add(Reason::over("wrong_width", &row.at, limit, actual, message));
        break; // all lines are as long as the first
    }
    let n_classes = frozen.scoring.classes.len();
    if let Model::Learner(learner) = &frozen.scoring.model
        && let Err(error) = learner.check(rows.len(), n_features, n_classes)
        && reasons.is_empty()
    {
        let message = format!("the model can't be trained on {} examples: {error}", rows.len());
        reasons.add(Reason::new("unusable_size", "", message));
    }
    Array2::from_shape_vec((numbers.len() / n_features.max(1), n_features), numbers).unwrap_or_default()
}

/// The predicted class of every item by the model of each seed.
pub(super) fn evidence(checked: &Checked, frozen: &Frozen) -> Result<Evidence, NotScored> {
    let path = features_file(EVAL);
    let damaged = |why: &str| FrozenError::damaged(&path, why.to_owned());
    let eval = scoring_eval_set(frozen.eval.as_ref())?;
    let Scoring {
        classes,
        model,
        seeds,
        ..
    } = &frozen.scoring;
    let (kind, predicted) = match (&checked.training, model) {
        (Training::Images(pixels), Model::Network(_)) => {
            let ExampleKind::Images { height, width } = frozen.examples else {
                return Err(damaged("the network is for images").into());
            };
            let of_seed = |&seed: &u32| {
                let network = Network {
                    height,
                    width,
                    n_classes: classes.len(),
                    seed,
                };
                train(pixels, &checked.classes, &network, &mut || {})
                    .map(|trained| trained.predict(&frozen.eval_images))
            };
            let predicted = seeds.iter().map(of_seed).collect::<Result<Vec<_>, _>>();
            (Repeats::Once, predicted)
        }
        (Training::Table(x), Model::Learner(learner)) => {
            let prepared = learner.prepare(x.view(), eval.features.view());
            let predicted = prepared.and_then(|prepared| prepared.predict_seeds(&checked.classes, seeds));
            (repeats(learner, seeds), predicted)
        }
        _ => return Err(damaged("its model is for other examples").into()),
    };
    let predicted = predicted.map_err(|error| not_fitted(&error, &path))?;
    let unit = UnitEvidence::new(kind, eval.n_items(), classes.len(), predicted.concat());
    let unit = frozen.scoring.count_examples(unit, &checked.classes);
    Ok(Evidence::of_unit(EVAL, unit))
}

pub(super) fn scorecard(
    frozen: &Frozen,
    evidence: &Evidence,
    weights: &Weights,
) -> Result<Scorecard, EvidenceError> {
    let eval = eval_set(frozen)?;
    let unit = eval.unit(evidence, &frozen.scoring)?;
    let item_weights = weights.unit(EVAL, eval.n_items())?;
    let (score, mut metrics) = frozen.scoring.scored(eval, unit, item_weights);
    metrics.extend(frozen.scoring.counted_examples(unit)?);
    Ok(Scorecard { score, metrics })
}

fn eval_set(frozen: &Frozen) -> Result<&EvalSet, EvidenceError> {
    Ok(scoring_eval_set(frozen.eval.as_ref())?)
}
