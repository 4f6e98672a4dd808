//! The Ladder against the attack that it is for: boosting by random artifacts.
//!
//! Labels and artifacts are coin tosses, so only the test set can be learnt: anything above one
//! half comes from scores. The attacker keeps each artifact whose answer looked good, and lets the
//! kept ones vote.
//!
//! Source of the attack: Blum and Hardt (2015), "The Ladder: a reliable leaderboard for machine learning competitions".

use std::collections::BTreeMap;
use std::sync::Arc;

use dataperf::benchmark::scorecard::Metrics;
use dataperf::board::Board;
use dataperf::comparison::{Comparison, Line, Rows};
use dataperf::ladder::{Ladder, LastReleased, Margin, Rung, released};
use dataperf::ports::bucket::Bucket as _;
use dataperf::ports::memory::MemoryBucket;
use dataperf::receipt::released_score::Climb;
use dataperf::replicates::{Header, Replicates};
use dataperf::rows::ranking::with_shared_ranks;
use dataperf::submission::Entry;
use dataperf::{Descriptor, Digest, Direction, Ending, Receipt, Scorecard, SubmissionId, Timestamp, Verdict};
use dataperf_numerics::bootstrap::{LANES, N_BATCHES, N_DRAWS, Resampler, draws_of};

use crate::tiny;

const N_ITEMS: usize = 2_000;
const N_SUBMISSIONS: usize = 1_000;

/// Coin tosses (splitmix64).
struct Coins(u64);

impl Coins {
    fn toss(&mut self) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) >> 63 == 1
    }

    fn tosses(&mut self) -> Vec<bool> {
        (0..N_ITEMS).map(|_| self.toss()).collect()
    }
}

/// The hidden labels, and the weights of each draw of them.
struct EvalSet {
    labels: Vec<bool>,
    /// `(N_ITEMS, N_DRAWS)`.
    weights: Vec<Vec<u16>>,
}

impl EvalSet {
    fn new() -> Self {
        let labels = Coins(1).tosses();
        let truth: Vec<u8> = labels.iter().map(|&label| u8::from(label)).collect();
        let resampler = Resampler::of_items(&truth, None, [7; 32]);
        let mut weights = vec![Vec::new(); N_ITEMS];
        for batch in 0..N_BATCHES {
            let drawn = resampler.batch(batch);
            for lane in 0..draws_of(batch).len().min(LANES) {
                for (of_item, weight) in weights.iter_mut().zip(drawn.weights_of(lane)) {
                    of_item.push(u16::try_from(weight).expect("few of one item"));
                }
            }
        }
        Self { labels, weights }
    }

    fn accuracy(&self, answers: &[bool]) -> f64 {
        let right = answers
            .iter()
            .zip(&self.labels)
            .filter(|(one, other)| one == other);
        right.count() as f64 / N_ITEMS as f64
    }

    /// What is kept of an artifact when it is scored.
    fn replicates(&self, answers: &[bool]) -> Replicates {
        let mut sums = vec![0u16; N_DRAWS];
        for (item, weights) in self.weights.iter().enumerate() {
            if answers[item] == self.labels[item] {
                sums.iter_mut()
                    .zip(weights)
                    .for_each(|(sum, weight)| *sum += weight);
            }
        }
        let score = self.accuracy(answers);
        let deviation = |&sum: &u16| (f64::from(sum) / N_ITEMS as f64 - score) as f32;
        let correctness = answers.iter().zip(&self.labels);
        Replicates {
            header: Header {
                dataset: Digest::compute(b"data"),
                draws: Digest::compute(b"draws"),
                score,
                missing: None,
                smallest: N_ITEMS / 2,
                is_clustered: false,
                n_redrawn: 0,
                n_items: N_ITEMS,
                n_parts: None,
                n_steps: None,
                has_parts: false,
                without_score_interval: None,
                place_interval: None,
                area: None,
            },
            deviations: sums.iter().map(deviation).collect(),
            areas: Vec::new(),
            parts: Vec::new(),
            correctness: correctness.map(|(one, other)| u8::from(one == other)).collect(),
        }
    }
}

/// A board, as somebody who uploads to it knows it.
struct Platform<'a> {
    eval_set: &'a EvalSet,
    ladder: Option<Ladder>,
    results: MemoryBucket,
    rung: Rung,
    n_uploads: usize,
    n_climbs: usize,
}

impl<'a> Platform<'a> {
    fn new(eval_set: &'a EvalSet, ladder: Option<Ladder>) -> Self {
        Self {
            eval_set,
            ladder,
            results: MemoryBucket::default(),
            rung: Rung::new("data"),
            n_uploads: 0,
            n_climbs: 0,
        }
    }

    /// Scores an artifact; the score that its receipt shows.
    fn answer(&mut self, answers: &[bool]) -> f64 {
        let score = self.eval_set.accuracy(answers);
        let Some(ladder) = self.ladder else { return score };
        self.n_uploads += 1;
        let receipt = receipt(self.n_uploads, score);
        let released = pollster::block_on(async {
            let kept = self
                .eval_set
                .replicates(answers)
                .to_bytes(b"")
                .expect("a short header");
            let key = Replicates::key(tiny::HOSTED.id, &receipt.submission);
            self.results.put(&key, kept.into()).await.expect("stored");
            let released = ladder
                .release(&receipt, &self.rung, &tiny::HOSTED, &self.results)
                .await;
            released.expect("the replicates are there").expect("a score")
        });
        let score = released.score.expect("something was released on the board");
        if released.has_climbed {
            self.n_climbs += 1;
            let receipt = Receipt {
                ladder: Some(released),
                ..receipt
            };
            self.rung.climb(&receipt, tiny::HOSTED.direction);
        }
        score
    }
}

fn receipt(n: usize, score: f64) -> Receipt {
    let (dataset, artifact) = (Digest::compute(b"data"), Digest::compute(b"artifact"));
    let at = Timestamp::from_unix_millis(0);
    let card = Scorecard {
        score,
        metrics: Metrics::new(),
    };
    Receipt {
        schema: Receipt::SCHEMA,
        submission: SubmissionId::derive("submissions", &n.to_string(), ""),
        revision: 1,
        submitter: "eve".into(),
        round: "r".into(),
        bucket: "submissions".into(),
        key: n.to_string(),
        version: None,
        received_at: at,
        finished_at: at,
        feedback: None,
        withheld_until: None,
        shown_at_first: None,
        ladder: None,
        verdict: Verdict::scored(tiny::HOSTED.id, "en-25", dataset, artifact, card),
        signature: None,
    }
}

/// The result of the attack: the accuracy of the vote on the test set, and the score on the board.
fn attacked(platform: &mut Platform<'_>) -> (f64, f64) {
    let mut coins = Coins(2);
    let mut votes = vec![0i32; N_ITEMS];
    let mut before = 0.5;
    for _ in 1..N_SUBMISSIONS {
        let tried = coins.tosses();
        let shown = platform.answer(&tried);
        // of a plain board every score above chance is good news, of a Ladder every new one is
        let is_good = if platform.ladder.is_none() {
            shown > 0.5
        } else {
            shown > before
        };
        before = shown;
        if is_good {
            let vote = |answer: bool| if answer { 1 } else { -1 };
            votes
                .iter_mut()
                .zip(&tried)
                .for_each(|(votes, &answer)| *votes += vote(answer));
        }
    }
    let vote: Vec<bool> = votes.iter().map(|&votes| votes > 0).collect();
    (platform.eval_set.accuracy(&vote), platform.answer(&vote))
}

#[test]
fn random_artifacts_do_not_climb_on_the_ladder() {
    let eval_set = EvalSet::new();
    // what chance alone reaches in so many tries: 0.5 and 3.3 standard errors
    let by_chance = 0.5 + 3.3 * 0.5 / (N_ITEMS as f64).sqrt();
    let mut plain = Platform::new(&eval_set, None);
    let (vote, board) = attacked(&mut plain);
    println!("plain board: the vote has {vote:.4}, the board says {board:.4}; by chance {by_chance:.4}");
    assert!(vote > 0.6 && board > 0.6, "the attack works: {vote} {board}");
    let mut platform = Platform::new(&eval_set, Some(Ladder::Auto));
    let (vote, board) = attacked(&mut platform);
    let n_climbs = platform.n_climbs;
    println!("the Ladder: the vote has {vote:.4}, the board says {board:.4} after {n_climbs} climbs");
    assert!(vote < by_chance + 0.01, "{vote}");
    assert!(board < by_chance + 0.01, "{board}");
    assert!((1..=5).contains(&n_climbs), "{n_climbs}");
}

fn board(leaderboard: &str) -> Board {
    Board {
        benchmark: tiny::HOSTED.id.into(),
        leaderboard: leaderboard.into(),
        round: "r".into(),
    }
}

/// A rung on which a score was released on the board `one`.
fn rung(score: f64) -> Rung {
    let last = LastReleased {
        score,
        submission: SubmissionId::derive("b", "k", ""),
        dataset: None,
    };
    let mut rung = Rung::new("data");
    rung.set(&board("one"), Some(last));
    rung
}

#[test]
fn the_ladder_releases_scores_beyond_the_margin() {
    let lower = Descriptor {
        direction: Direction::LowerIsBetter,
        ..tiny::HOSTED
    };
    let release = |score: f64, rung: &Rung, margin: Margin, hosted: &Descriptor| {
        let released = released(score, &board("one"), rung, margin, None, hosted);
        (released.score.expect("a score"), released.has_climbed)
    };
    let of_step = |step| Margin {
        margin: step,
        grain: step,
        n_steps: None,
    };
    let step = of_step(0.01);
    for (hosted, score, last, expected) in [
        (&tiny::HOSTED, 0.2871, None, (0.29, true)),
        (&tiny::HOSTED, 0.2999, Some(0.29), (0.29, false)),
        (&tiny::HOSTED, 0.3001, Some(0.29), (0.3, true)),
        (&tiny::HOSTED, 0.1, Some(0.29), (0.29, false)),
        (&lower, 0.2799, Some(0.29), (0.28, true)),
        (&lower, 0.2801, Some(0.29), (0.29, false)),
        (&lower, 0.9, Some(0.29), (0.29, false)),
    ] {
        let before = last.map_or(Rung::new("data"), rung);
        assert_eq!(
            release(score, &before, step, hosted),
            expected,
            "{score} after {last:?}"
        );
    }
    // a margin of none, and a score that is only better before it is rounded
    let fine = Margin {
        margin: 0.0,
        grain: 0.25,
        n_steps: None,
    };
    assert_eq!(release(0.6, &rung(0.5), fine, &tiny::HOSTED), (0.5, false));
    // another data set has another Ladder
    let other = Some(Digest::compute(b"other"));
    let again = released(0.1, &board("one"), &rung(0.5), step, other, &tiny::HOSTED);
    assert_eq!((again.score, again.has_climbed, again.rung), (Some(0.1), true, 1));
    // on another board of the same evaluation data a score is better than what was released anywhere, or is not shown
    for (score, expected) in [(0.3, None), (0.5, None), (0.505, None), (0.52, Some(0.52))] {
        let released = released(score, &board("two"), &rung(0.5), step, None, &tiny::HOSTED);
        assert_eq!(
            (released.score, released.has_climbed),
            (expected, expected.is_some()),
            "{score}"
        );
    }
    // no score is shown that there can't be
    assert_eq!(
        release(0.99, &Rung::new("data"), of_step(0.4), &tiny::HOSTED),
        (0.8, true)
    );
    assert_eq!(
        release(1.0, &Rung::new("data"), of_step(0.4), &tiny::HOSTED),
        (1.0, true)
    );
}

#[test]
fn the_default_margin_is_the_paired_standard_error() {
    let eval_set = EvalSet::new();
    let mut coins = Coins(3);
    let one = coins.tosses();
    let mut other = one.clone();
    other[..200].iter_mut().for_each(|answer| *answer = !*answer);
    let (of_one, of_other) = (eval_set.replicates(&one), eval_set.replicates(&other));
    let paired = Margin::paired(&of_other, Some(&of_one));
    // they differ in the correctness of 200 items, each of which moves the difference by one: sqrt(200) / n
    let expected = 200f64.sqrt() / N_ITEMS as f64;
    assert!(
        (paired.margin / expected - 1.0).abs() < 0.1,
        "{paired:?} {expected}"
    );
    assert!((paired.grain - 1.0 / N_ITEMS as f64).abs() < 1e-15);
    // without a partner they count as independent: sqrt(2) * sqrt(1/4 / n)
    let alone = Margin::paired(&of_other, None);
    let expected = (0.5 / N_ITEMS as f64).sqrt();
    assert!(
        (alone.margin / expected - 1.0).abs() < 0.1,
        "{alone:?} {expected}"
    );
    let mut of_others = of_one.clone();
    of_others.header.draws = Digest::compute(b"other draws");
    assert_eq!(Margin::paired(&of_other, Some(&of_others)), alone);
    let same = Margin::paired(&of_one, Some(&of_one));
    assert!(
        same.margin.abs() < f64::EPSILON,
        "nothing is between equals: {same:?}"
    );
}

#[test]
fn released_scores_compare_only_with_full_feedback() {
    let eval_set = EvalSet::new();
    let mut coins = Coins(4);
    let artifacts = [coins.tosses(), coins.tosses()];
    let replicates = artifacts
        .each_ref()
        .map(|answers| Arc::new(eval_set.replicates(answers)));
    let compared = |climb: Option<Climb>, shows_every_score: bool| {
        let entry = |n: usize| {
            let own = replicates[n].header.score;
            let rounded = Margin::paired(&replicates[n], None).rounded(own, [0.0, 1.0]);
            let receipt = receipt(n, if shows_every_score { rounded } else { own });
            Entry {
                id: receipt.submission.clone(),
                board: receipt.board(),
                submitter: format!("s{n}"),
                received_at: receipt.received_at,
                is_baseline: false,
                withdrawn_at: None,
                withdrawals: Vec::new(),
                ending: Some(Ending::Scored),
                score: receipt.verdict.score,
                climb,
                dataset: receipt.verdict.dataset,
            }
        };
        let mut entries = vec![entry(0), entry(1)];
        entries.sort_by(|a, b| b.score.partial_cmp(&a.score).expect("numbers"));
        let rows = with_shared_ranks(entries, None);
        let of_rows = replicates.iter().enumerate();
        let of_rows = of_rows.map(|(n, replicates)| (entry(n).id, replicates.clone()));
        let comparison = Comparison::compute(
            &Rows {
                rows: &rows,
                replicates: &of_rows.collect(),
                n_submissions: &BTreeMap::new(),
                direction: Direction::HigherIsBetter,
                dataset: Some(Digest::compute(b"data")),
                shows_every_score,
            },
            Timestamp::from_unix_millis(0),
        );
        let some = |has: fn(&Line) -> bool| comparison.lines.iter().any(|(_, line)| has(line));
        (
            some(|line| line.ranks.is_some()),
            some(|line| line.interval.is_some()),
            comparison.summary.why_none.is_some(),
            comparison.summary.why_no_score_intervals.is_some(),
        )
    };
    assert_eq!(compared(None, false), (true, true, false, false));
    for climb in [Climb::Climbed, Climb::Held] {
        assert_eq!(compared(Some(climb), false), (false, false, true, false));
    }
    // where every score is shown, rounded, ranks have intervals, and scores have none
    assert_eq!(compared(Some(Climb::Climbed), true), (true, false, false, true));
}
