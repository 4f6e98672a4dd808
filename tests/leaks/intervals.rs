//! What a comparison tells beside the scores: somebody with many names fills a board (`ranking: all`) with submissions that differ in
//! one item, and reads intervals, ranks, `is_above_baselines`, `n_best` and the resolution as the read API gives them to anybody.
//!
//! What is looked for is the paired standard error of each pair: with it, and the difference of the scores, follows on how many hidden
//! items two submissions differ. It is told where the guess is within a tenth of the truth.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use dataperf::board::Board;
use dataperf::comparison::{Comparison, Line, Rows, Summary};
use dataperf::evaluation::admission::Admission;
use dataperf::evaluation::evaluate::evaluate_to_compare;
use dataperf::ladder::Margin;
use dataperf::receipt::released_score::Climb;
use dataperf::replicates::Replicates;
use dataperf::replicates::no_intervals::MIN_ITEMS;
use dataperf::rows::ranking::Ranked;
use dataperf::submission::Entry;
use dataperf::{Benchmark, Direction, Ending, Feedback, SubmissionId, Timestamp};
use dataperf_benchmarks::data_acquisition::DataAcquisition;
use dataperf_benchmarks::own_data::acquisition::Acquisition;
use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_benchmarks::vision_selection::VisionSelection;
use dataperf_datasets::Import;
use dataperf_numerics::ranks::{CONFIDENCE, DETECTABLE_ERRORS};
use serde_json::{Value, json};

use super::selection::submission;
use super::{Draws, Target, read};
use crate::support::project::hosted;

/// Submissions of the attacker to a board.
const N_VARIANTS: usize = 8;
/// Half of the width of an interval of 95 %, in standard errors.
pub(super) const HALF: f64 = 1.96;
/// Names that send one and the same file, on a board that is to have many submitters.
const N_COPIES: usize = 12;

/// Submissions of the attacker that differ in much, with the baseline.
const N_MIXED: usize = 13;

/// A submission of the attacker, with what the organizer keeps of it.
pub(super) struct Sent {
    pub(super) score: f64,
    pub(super) replicates: Arc<Replicates>,
}

pub(super) async fn sent<B: Import>(target: &Target<B>, leaderboard: &str, artifacts: &[Value]) -> Vec<Sent> {
    let artifacts: Vec<String> = artifacts.iter().map(Value::to_string).collect();
    sent_bytes(target, leaderboard, &artifacts).await
}

async fn sent_bytes<B: Import>(target: &Target<B>, leaderboard: &str, artifacts: &[String]) -> Vec<Sent> {
    let mut all = Vec::new();
    for artifact in artifacts {
        let free = Admission::free();
        let evaluated = evaluate_to_compare(&target.dataset, leaderboard, artifact.as_bytes(), &free, false);
        let (verdict, kept) = evaluated.await.unwrap();
        assert_eq!(verdict.status, Ending::Scored, "{:?}", verdict.reasons);
        let mut replicates = Replicates::from_bytes("kept", &kept.unwrap()).unwrap();
        // the demo's test sets are smaller than what intervals are shown of: the attack is on what would be shown of a larger one
        replicates.header.smallest = replicates.header.smallest.max(MIN_ITEMS);
        all.push(Sent {
            score: read(&verdict, Feedback::Score)["score"].as_f64().unwrap(),
            replicates: Arc::new(replicates),
        });
    }
    all
}

/// How a round shows scores: as they are, rounded, or as its Ladder releases them.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scores {
    Whole,
    Rounded,
    OfLadder,
}

/// The public view of a board with these rows, in their order.
fn board<B: Benchmark>(sent: &[&Sent], level: Feedback) -> (Summary, Vec<Line>) {
    let (summary, lines) = compared::<B>(sent, Scores::Whole);
    assert_eq!(summary.why_none, None);
    (summary.shown(level), lines)
}

/// The comparison of these rows, in their order.
pub(super) fn compared<B: Benchmark>(sent: &[&Sent], scores: Scores) -> (Summary, Vec<Line>) {
    let hosted = hosted(B::ID);
    let sign = match hosted.direction {
        Direction::HigherIsBetter => 1.0,
        Direction::LowerIsBetter => -1.0,
    };
    let mut places: Vec<usize> = (0..sent.len()).collect();
    places.sort_by(|&a, &b| (sign * sent[b].score).total_cmp(&(sign * sent[a].score)));
    let dataset = sent[0].replicates.header.dataset;
    let id = |place: usize| SubmissionId::derive("bucket", &format!("sybil-{place}"), "");
    let ranked = |(rank, &place): (usize, &usize)| Ranked {
        entry: Entry {
            id: id(place),
            board: Board {
                benchmark: B::ID.into(),
                leaderboard: "attacked".into(),
                round: "open".into(),
            },
            submitter: format!("sybil-{place}"),
            received_at: Timestamp::from_unix_millis(i64::try_from(place).unwrap()),
            is_baseline: place == 0,
            withdrawn_at: None,
            withdrawals: Vec::new(),
            ending: Some(Ending::Scored),
            score: Some(match scores {
                Scores::Whole => sent[place].score,
                Scores::Rounded | Scores::OfLadder => {
                    Margin::rounding(&sent[place].replicates).rounded(sent[place].score, hosted.score_range)
                }
            }),
            climb: (scores != Scores::Whole).then_some(Climb::Climbed),
            dataset: Some(dataset),
        },
        rank: rank + 1,
        is_of_other_dataset: false,
    };
    let rows: Vec<Ranked> = places.iter().enumerate().map(ranked).collect();
    let replicates = (0..sent.len()).map(|place| (id(place), sent[place].replicates.clone()));
    let comparison = Comparison::compute(
        &Rows {
            rows: &rows,
            replicates: &replicates.collect(),
            n_submissions: &BTreeMap::new(),
            direction: hosted.direction,
            dataset: Some(dataset),
            shows_every_score: scores == Scores::Rounded,
        },
        Timestamp::from_unix_millis(0),
    );
    let lines: BTreeMap<SubmissionId, Line> = comparison.lines.into_iter().collect();
    (
        comparison.summary,
        (0..sent.len()).map(|place| lines[&id(place)]).collect(),
    )
}

/// The standard error of the difference of two submissions.
fn paired_error(one: &Sent, other: &Sent) -> f64 {
    let both = one.replicates.deviations.iter().zip(&other.replicates.deviations);
    let differences: Vec<f64> = both.map(|(a, b)| f64::from(*a) - f64::from(*b)).collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt()
}

pub(super) fn is_told(guess: f64, truth: f64) -> bool {
    (guess / truth - 1.0).abs() < 0.1
}

/// The result of the attack.
#[derive(Debug, Default, PartialEq)]
struct Shown {
    /// Pairs whose answers to some draw differ.
    n_pairs: usize,
    /// Shown by the intervals of both scores, as if they were independent.
    by_intervals: usize,
    /// Shown by the resolution of a board of two rows.
    by_resolution: usize,
    /// Shown by the resolution of a board with one row and many copies of another.
    by_copies: usize,
    /// Pairs that rank intervals tell apart, which says that the error is small against the difference.
    by_ranks: usize,
    /// Rows that `is_above_baselines` tells from the one which the organizer might take as a baseline.
    by_baseline: usize,
}

fn attack<B: Benchmark>(sent: &[Sent], level: Feedback) -> Shown {
    let all: Vec<&Sent> = sent.iter().collect();
    let (whole, lines) = board::<B>(&all, level);
    assert!(whole.n_best >= 1 && lines.iter().all(|line| line.interval.is_some()));
    let mut shown = Shown {
        by_baseline: lines
            .iter()
            .filter(|line| line.is_above_baselines == Some(true))
            .count(),
        ..Shown::default()
    };
    let error_of = |line: &Line| {
        let (low, high) = line.interval.unwrap();
        (high - low) / 2.0 / HALF
    };
    for one in 1..sent.len() {
        for other in 1..one {
            let truth = paired_error(&sent[one], &sent[other]);
            if truth == 0.0 {
                continue; // the same answers
            }
            shown.n_pairs += 1;
            let [a, b] = [one, other].map(|place| &lines[place]);
            shown.by_intervals += usize::from(is_told(error_of(a).hypot(error_of(b)), truth));
            let [ranks, others] = [a, b].map(|line| line.ranks.unwrap());
            shown.by_ranks += usize::from(ranks.1 < others.0 || others.1 < ranks.0);
            // the first row of a board is the baseline here, which has no neighbours
            let two = [&sent[0], &sent[one], &sent[other]];
            let mut copies = vec![&sent[0], &sent[one]];
            copies.extend([&sent[other]; N_COPIES]);
            let by = |rows: &[&Sent]| {
                let (summary, _) = board::<B>(rows, level);
                let resolution = summary.resolution;
                usize::from(resolution.is_some_and(|smallest| is_told(smallest / DETECTABLE_ERRORS, truth)))
            };
            shown.by_resolution += by(&two);
            shown.by_copies += by(&copies);
        }
    }
    shown
}

async fn attacked<B: Import>(leaderboard: &str, artifacts: Vec<Value>) {
    let target = Target::<B>::new().await;
    told_by_intervals::<B>(&sent(&target, leaderboard, &artifacts).await);
}

fn told_by_intervals<B: Benchmark>(sent: &[Sent]) {
    let [score, metrics, full] = super::LEVELS.map(|level| attack::<B>(sent, level));
    // Not captured by the test harness: for docs/security.md.
    let _ = writeln!(
        std::io::stderr(),
        "{} at `score`: {score:?}; at `full`: {full:?}",
        B::ID
    );
    assert!(
        score.n_pairs >= 10,
        "the variants are answered differently: {score:?}"
    );
    assert_eq!((score.by_resolution, score.by_copies), (0, 0), "it is withheld");
    assert_eq!(score, metrics);
    assert_eq!(
        (full.by_resolution, full.by_copies),
        (full.n_pairs, full.n_pairs),
        "the attack works where it can, and a number of submitters is no hindrance"
    );
    assert!(score.by_ranks * 10 <= score.n_pairs, "{score:?}");
    assert!(score.by_intervals * 4 <= score.n_pairs, "{score:?}");
}

/// The effect of adding rows.
#[derive(Debug, Default)]
struct Moved {
    /// Pairs whose scores and answers differ.
    pairs: usize,
    /// Pairs that are distinguished alone, but not after adding some of the other rows.
    crossed: usize,
    /// Pairs of which the number of rows that it takes tells the standard error, to a tenth.
    revealed: usize,
}

/// The share of the normal distribution below a deviate.
fn normal(deviate: f64) -> f64 {
    let n_steps = 2_000;
    let step = deviate / f64::from(n_steps);
    let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let middles = (0..n_steps).map(|n| density((f64::from(n) + 0.5) * step));
    0.5 + middles.sum::<f64>() * step
}

/// The difference, in standard errors, that is sure on a board with `n_rows` independent rows: an
/// approximation.
fn critical(n_rows: usize) -> f64 {
    let share = CONFIDENCE.powf(1.0 / n_rows as f64);
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if normal(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Somebody with many names has two rows on a board and adds others, one after the other, until rank intervals tell the two apart no longer. How many that takes
/// tells how many standard errors the difference of their scores has, and with the difference the standard error. A row is clearly worse than another where its
/// best rank is higher without the other one on the board.
fn thresholds<B: Benchmark>(sent: &[Sent]) -> Moved {
    let mut moved = Moved::default();
    let best_rank = |rows: &[&Sent]| {
        board::<B>(rows, Feedback::Score).1[rows.len() - 1]
            .ranks
            .unwrap()
            .0
    };
    for one in 1..sent.len() {
        for other in 1..one {
            let (truth, difference) = (
                paired_error(&sent[one], &sent[other]),
                (sent[one].score - sent[other].score).abs(),
            );
            if truth == 0.0 || difference == 0.0 {
                continue;
            }
            moved.pairs += 1;
            let is_better = sent[one].score > sent[other].score;
            let (better, worse) = if is_better { (one, other) } else { (other, one) };
            let added = (1..sent.len()).filter(|place| *place != one && *place != other);
            let added: Vec<&Sent> = added.map(|place| &sent[place]).collect();
            let is_apart = |n: usize| {
                let without: Vec<&Sent> = [&sent[0]]
                    .into_iter()
                    .chain(added[..n].iter().copied())
                    .chain([&sent[worse]])
                    .collect();
                let mut with = without.clone();
                with.insert(1, &sent[better]);
                best_rank(&with) > best_rank(&without)
            };
            let first_not = (0..=added.len()).find(|&n| !is_apart(n));
            let Some(n_added) = first_not.filter(|&n| n > 0) else {
                continue;
            };
            moved.crossed += 1;
            // compared with the better one, the baseline and those that were added
            let guess = difference / f64::midpoint(critical(n_added + 1), critical(n_added + 2));
            moved.revealed += usize::from(is_told(guess, truth));
        }
    }
    moved
}

async fn thresholds_of<B: Import>(leaderboard: &str, artifacts: Vec<Value>) {
    let target = Target::<B>::new().await;
    let sent = sent(&target, leaderboard, &artifacts).await;
    let moved = thresholds::<B>(&sent);
    let _ = writeln!(std::io::stderr(), "{} by thresholds: {moved:?}", B::ID); // for docs/security.md
    assert!(moved.pairs >= 10, "the submissions differ: {moved:?}");
    assert!(
        moved.crossed > 0,
        "the attack works where a difference is large enough: {moved:?}"
    );
    assert!(moved.revealed * 4 <= moved.pairs, "{moved:?}");
}

#[test]
fn significant_differences_grow_with_the_number_of_rows() {
    assert!((critical(1) - 1.96).abs() < 1e-3, "{}", critical(1));
    assert!((critical(25) - 3.09).abs() < 1e-2, "{}", critical(25));
}

#[tokio::test]
async fn adding_rows_tells_little_of_speech_selection() {
    let [one, other] = ["random.json", "random_again.json"]
        .map(|file| submission("speech-selection", &format!("en-25/coin-flip/{file}")));
    let mut draws = Draws(3);
    let artifacts = (0..N_MIXED).map(|_| {
        let mut mixed = one.clone();
        for (word, clips) in one["targets"].as_object().unwrap() {
            let others = other["targets"][word].as_array().unwrap();
            let chosen = if draws.below(2) == 0 {
                clips.as_array().unwrap()
            } else {
                others
            };
            mixed["targets"][word] = json!(chosen);
        }
        mixed
    });
    thresholds_of::<SpeechSelection>("en-25", artifacts.collect()).await;
}

#[tokio::test]
async fn adding_rows_tells_little_of_vision_selection() {
    let base = submission("vision-selection", "open/near-enough/nearest_60.json");
    let mut draws = Draws(4);
    let artifacts = (0..N_MIXED).map(|_| {
        let mut fewer = base.clone();
        for images in fewer.as_object_mut().unwrap().values_mut() {
            let images = images.as_object_mut().unwrap();
            let mut names: Vec<String> = images.keys().cloned().collect();
            draws.shuffle(&mut names);
            for name in names.iter().take(names.len() / 2) {
                // both labels stay
                let label = images[name].clone();
                if images.values().filter(|other| **other == label).count() > 2 {
                    images.remove(name);
                }
            }
        }
        fewer
    });
    thresholds_of::<VisionSelection>("open", artifacts.collect()).await;
}

#[tokio::test]
async fn adding_rows_tells_little_of_own_selection() {
    let artifacts = super::own_data::drawn_selections(N_MIXED, 2, 5);
    thresholds_of::<Selection>("digits-20", artifacts).await;
}

#[tokio::test]
async fn adding_rows_tells_little_of_own_acquisition() {
    let artifacts =
        (0..N_MIXED).map(|n| json!({ "counts": { "north": n, "south": 12 - n, "west": 3 * n + 1 } }));
    thresholds_of::<Acquisition>("clinics", artifacts.collect()).await;
}

#[tokio::test]
async fn intervals_tell_no_pair_of_own_curation() {
    let target = Target::<Curation>::new().await;
    let start = std::fs::read_to_string(target.frozen.join("public/start.csv")).unwrap();
    let lines: Vec<&str> = start.lines().collect();
    let artifacts: Vec<String> = (0..=N_VARIANTS)
        .map(|n| {
            let chosen = lines
                .iter()
                .enumerate()
                .filter(|(at, _)| *at == 0 || at % 40 != n + 1);
            chosen.map(|(_, line)| *line).collect::<Vec<&str>>().join("\n")
        })
        .collect();
    let sent = sent_bytes(&target, "digits-set", &artifacts).await;
    told_by_intervals::<Curation>(&sent);
    let moved = thresholds::<Curation>(&sent);
    let _ = writeln!(std::io::stderr(), "curation by thresholds: {moved:?}"); // for docs/security.md
    assert!(
        moved.pairs >= 10 && moved.revealed * 4 <= moved.pairs,
        "{moved:?}"
    );
}

/// A base, and variants in each of which one place has what `other` has there.
fn variants(change: impl Fn(usize) -> Value) -> Vec<Value> {
    (0..=N_VARIANTS).map(change).collect()
}

#[tokio::test]
async fn intervals_tell_no_pair_of_speech_selection() {
    let [base, other] = ["random.json", "random_again.json"]
        .map(|file| submission("speech-selection", &format!("en-25/coin-flip/{file}")));
    let words: Vec<String> = base["targets"].as_object().unwrap().keys().cloned().collect();
    let artifacts = variants(|n| {
        let mut changed = base.clone();
        let word = &words[n % words.len()];
        let used = base["targets"][word].as_array().unwrap();
        let fresh = other["targets"][word]
            .as_array()
            .unwrap()
            .iter()
            .filter(|clip| !used.contains(clip));
        let fresh: Vec<&Value> = fresh.collect();
        if n > 0 {
            changed["targets"][word][n / words.len()] = fresh[n / words.len()].clone();
        }
        changed
    });
    attacked::<SpeechSelection>("en-25", artifacts).await;
}

#[tokio::test]
async fn intervals_tell_no_pair_of_vision_selection() {
    let base = submission("vision-selection", "open/coin-flip/random_20.json");
    let concepts: Vec<String> = base.as_object().unwrap().keys().cloned().collect();
    let artifacts = variants(|n| {
        let mut changed = base.clone();
        let of_concept = changed[&concepts[n % concepts.len()]].as_object_mut().unwrap();
        if n > 0 {
            let image = of_concept.keys().nth(n).unwrap().clone();
            of_concept.remove(&image);
        }
        changed
    });
    attacked::<VisionSelection>("open", artifacts).await;
}

#[tokio::test]
async fn intervals_tell_no_pair_of_data_acquisition() {
    let base = submission("data-acquisition", "open/a-bit-of-all/uniform.json");
    let markets: Vec<String> = base.as_object().unwrap().keys().cloned().collect();
    let artifacts = variants(|n| {
        let mut changed = base.clone();
        let of_market = changed[&markets[n % markets.len()]].as_array_mut().unwrap();
        let seller = n % of_market.len();
        let count = &mut of_market[seller];
        *count = json!(count.as_u64().unwrap_or_default() - u64::from(n > 0));
        changed
    });
    attacked::<DataAcquisition>("open", artifacts).await;
}

#[tokio::test]
async fn intervals_tell_no_pair_of_own_selection() {
    let [base, other] = ["ada/central.json", "bo/balanced.json"]
        .map(|file| submission("selection", &format!("digits-20/{file}")));
    let fresh = other["ids"].as_array().unwrap().iter();
    let fresh: Vec<&Value> = fresh
        .filter(|id| !base["ids"].as_array().unwrap().contains(id))
        .collect();
    let artifacts = variants(|n| {
        let mut changed = base.clone();
        if n > 0 {
            changed["ids"][n] = fresh[n].clone();
        }
        changed
    });
    attacked::<Selection>("digits-20", artifacts).await;
}

#[tokio::test]
async fn intervals_tell_no_pair_of_own_acquisition() {
    let artifacts = variants(|n| json!({ "counts": { "north": 11, "south": 12, "west": 33 - n } }));
    attacked::<Acquisition>("clinics", artifacts).await;
}
