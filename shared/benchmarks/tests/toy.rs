//! A complete benchmark in one file, which docs/new-benchmark.md shows: choose points of a line, whose classes are known. A hidden point has the class
//! of the nearest chosen one, and the score is the share of hidden points that are right.

#![allow(clippy::unwrap_used, reason = "tests")]

use bytes::Bytes;
use dataperf::benchmark::closed::NoClosedBoards;
use dataperf::benchmark::dataset::Dataset;
use dataperf::benchmark::scorecard::{Metric, Metrics, Scorecard};
use dataperf::benchmark::{Benchmark, FrozenPart, Leaderboard, NotScored};
use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest};
use dataperf::dataset::{DatasetError, Files, Integrity};
use dataperf::evaluation::evaluate::evaluate;
use dataperf::evidence::{EvalItems, Evidence, EvidenceError, Repeat, Repeats, UnitEvidence, Weights};
use dataperf::{Direction, Ending, Reason, Reasons, Rejection};
use dataperf_datasets::{DatasetWriter, DirectoryBucket, Planned};
use dataperf_numerics::bootstrap::ItemMetric;
use dataperf_numerics::metrics::weighted_accuracy;

// guide: begin
/// The files of a data set: points with their classes; those of the test set are hidden.
const POOL: &str = "public/pool.safetensors";
const EVAL: &str = "eval.safetensors";
const UNIT: &str = "line";
const N_CLASSES: usize = 2;

struct Points {
    places: Vec<f32>,
    classes: Bytes,
}

impl Points {
    async fn read(files: &Files<'_>, path: &str) -> Result<Self, DatasetError> {
        let places = files
            .matrix(path, "places")
            .await?
            .view()
            .iter()
            .copied()
            .collect();
        Ok(Self {
            places,
            classes: files.classes(path, "classes").await?,
        })
    }
}

struct Frozen {
    pool: Points,
    eval: Points,
    max_points: usize,
}

impl FrozenPart for Frozen {
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError> {
        let max_points: usize = manifest.parameters()?;
        Ok(vec![Leaderboard::new(
            "open",
            format!("at most {max_points} points"),
        )])
    }

    async fn open(files: &Files<'_>, _leaderboard: &str) -> Result<Self, DatasetError> {
        let (pool, eval) = (Points::read(files, POOL).await?, Points::read(files, EVAL).await?);
        Ok(Self {
            pool,
            eval,
            max_points: files.manifest().parameters()?,
        })
    }

    fn eval_items(&self) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
        let items = EvalItems::from_metric(&self.eval.classes, ItemMetric::Accuracy);
        Ok(vec![(UNIT.to_owned(), items)])
    }
}

struct NearestPoint;

/// An artifact is a JSON list of rows of the pool, such as `[0, 17]`.
fn parse_rows(artifact: &[u8]) -> Result<Vec<usize>, Rejection> {
    serde_json::from_slice(artifact).map_err(|error| {
        Reason::new(
            "not_a_list_of_rows",
            "",
            format!("{error}: write a list such as [0, 17]"),
        )
        .into()
    })
}

impl Benchmark for NearestPoint {
    const ID: &'static str = "nearest-point";
    const ABOUT: &'static str = "choose the points that tell two classes apart";
    const MAX_ARTIFACT_BYTES: u64 = 64 << 10;
    const DIRECTION: Direction = Direction::HigherIsBetter;
    const METRICS: &'static [Metric] = &[];

    type Frozen = Frozen;
    type Checked = Vec<usize>;
    type ClosedBoards = NoClosedBoards;

    fn check_form(artifact: &[u8]) -> Result<(), Rejection> {
        parse_rows(artifact).map(drop)
    }

    async fn check(artifact: &[u8], frozen: &Frozen, _files: &Files<'_>) -> Result<Vec<usize>, NotScored> {
        let (rows, mut reasons) = (parse_rows(artifact)?, Reasons::default());
        let (n, limit, n_pool) = (rows.len(), frozen.max_points, frozen.pool.places.len());
        if n == 0 || n > limit {
            reasons.add(Reason::new(
                "wrong_number",
                "",
                format!("it has {n} points, choose 1 to {limit}"),
            ));
        }
        for (place, row) in rows.iter().enumerate().filter(|(_, row)| **row >= n_pool) {
            let message = format!("there is no row {row}, the last one is {}", n_pool - 1);
            reasons.add(Reason::new("unknown_row", format!("/{place}"), message));
        }
        Ok(reasons.into_verdict(rows)?)
    }

    async fn run(rows: &Vec<usize>, frozen: &Frozen, _files: &Files<'_>) -> Result<Evidence, NotScored> {
        let (pool, eval) = (&frozen.pool, &frozen.eval);
        let nearest = |place: &f32| {
            let distance = |row: &usize| (pool.places[*row] - place).abs();
            let row = rows
                .iter()
                .min_by(|one, other| distance(one).total_cmp(&distance(other)));
            row.map_or(0, |row| pool.classes[*row])
        };
        let predicted = eval.places.iter().map(nearest).collect();
        let unit = UnitEvidence::new(Repeats::Once, eval.places.len(), N_CLASSES, predicted);
        Ok(Evidence::from_iter([(UNIT.to_owned(), unit)]))
    }

    fn score(frozen: &Frozen, evidence: &Evidence, weights: &Weights) -> Result<Scorecard, EvidenceError> {
        let truth = &frozen.eval.classes;
        let predicted = evidence
            .unit(UNIT, truth.len(), N_CLASSES)?
            .predicted(Repeat::Only)?;
        let score = weighted_accuracy(truth, predicted, weights.unit(UNIT, truth.len())?);
        Ok(Scorecard {
            score,
            metrics: Metrics::new(),
        })
    }
}
// guide: end

/// A data set with points at 0, 1, 2 ... of which those from `first` on are of class 1.
fn write(writer: &mut DatasetWriter, path: &str, n: u8, first: u8) {
    let planned = [
        Planned {
            name: "places",
            dtype: Dtype::F32,
            shape: vec![n.into(), 1],
        },
        Planned {
            name: "classes",
            dtype: Dtype::U8,
            shape: vec![n.into()],
        },
    ];
    let places: Vec<f32> = (0..n).map(f32::from).collect();
    let classes: Vec<u8> = (0..n).map(|place| u8::from(place >= first)).collect();
    writer
        .tensors(path, &planned, |file| {
            file.write_f32(&places)?;
            file.write(&classes)
        })
        .unwrap();
}

#[test]
fn the_guides_benchmark_scores_and_rejects() {
    let scratch = tempfile::tempdir().unwrap();
    let frozen = scratch.path().join("frozen");
    let mut writer = DatasetWriter::create(&frozen).unwrap();
    write(&mut writer, POOL, 10, 5);
    write(&mut writer, EVAL, 40, 5);
    writer.finish(NearestPoint::ID, serde_json::json!(2)).unwrap();
    let judge = |artifact: &[u8]| {
        let open = Dataset::<NearestPoint>::open(
            DirectoryBucket::new(&frozen),
            String::new(),
            None,
            Integrity::Sizes,
        );
        pollster::block_on(async { evaluate(&open.await.unwrap(), "open", artifact).await.unwrap() })
    };
    let scored = judge(b"[4, 5]");
    assert_eq!((scored.status, scored.score), (Ending::Scored, Some(1.0)));
    assert_eq!(judge(b"[0, 1]").score, Some(5.0 / 40.0));
    let rejected = judge(b"[0, 10, 11]");
    let codes: Vec<&str> = rejected
        .reasons
        .iter()
        .map(|reason| reason.code.as_str())
        .collect();
    assert_eq!(codes, ["wrong_number", "unknown_row", "unknown_row"]);
    assert_eq!(judge(b"{}").reasons[0].code, "not_a_list_of_rows");
}

#[test]
fn the_guide_shows_this_benchmark() {
    let code = include_str!("toy.rs");
    let code = code
        .split("// guide: begin\n")
        .nth(1)
        .and_then(|rest| rest.split("// guide: end").next());
    let guide = include_str!("../../../docs/new-benchmark.md");
    assert!(
        guide.contains(code.unwrap().trim_end()),
        "docs/new-benchmark.md shows another benchmark than tests/toy.rs"
    );
}
