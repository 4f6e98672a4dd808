//! Random histories of a board: whatever happens to its submissions, in whatever order and however often, the rows are those that follow from them.
//!
//! Scores, withdrawals, changed verdicts, final outcomes and changed rules come at random, several at once, and some calls are killed at a random
//! moment. What the submissions themselves say in the end decides which rows there have to be. They are worked out here a second time, one submitter
//! after another. `HISTORIES` says how many histories are played and `SEED` which is the first.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::Reason;
use dataperf::challenge::Terms;
use dataperf::facts::Rules;
use dataperf::ports::leaderboard::{Board, Leaderboards as _, Projected, Submission};
use dataperf::ports::maintenance::{Finalized, Maintenance as _, Order, Ranking, Revision};
use dataperf::scorecard::Metrics;
use dataperf::{
    Descriptor, Digest, Direction, Ending, Receipt, Scorecard, SubmissionId, Timestamp, Upload, Verdict,
};
use dataperf_aws::Table;
use futures_util::future::join_all;

use crate::project::{BENCHMARK, hosted};
use crate::world::World;

/// How many histories `cargo test` plays.
const IN_TESTS: u64 = 30;
const SUBMITTERS: [&str; 4] = ["ada", "bo", "cy", "baseline-di"];
const DATASETS: [&[u8]; 2] = [b"one", b"two"];
/// Scores are few, so that some are equal.
const N_SCORES: u32 = 5;

/// One history: a board with its own names in the table, and the random numbers that decide.
struct History {
    table: Table,
    board: Board,
    random: fastrand::Rng,
    rules: Rules,
    sent: Vec<Submission>,
    n_runs: usize,
    clock: i64,
    /// Whose scores were recorded. The event of one that was killed is delivered once more.
    recorded: BTreeSet<String>,
}

/// What one call does.
enum Call {
    Record(Receipt),
    Withdraw(SubmissionId),
    Reinstate(SubmissionId),
    Revise(Receipt, String),
    Finalize(Finalized),
    Project,
}

impl History {
    fn new(table: &Table, seed: u64) -> Self {
        let order = Order {
            direction: Direction::HigherIsBetter,
            ranking: Ranking::Best,
        };
        Self {
            table: table.clone(),
            board: Board {
                benchmark: format!("history-{seed}"),
                leaderboard: "l".into(),
                round: "spring".into(),
            },
            random: fastrand::Rng::with_seed(seed),
            rules: Rules {
                dataset: Some(Digest::of(DATASETS[0])),
                ..Rules::ranked_by(order)
            },
            sent: Vec::new(),
            n_runs: 0,
            clock: 1_000_000,
            recorded: BTreeSet::new(),
        }
    }

    fn dataset(&mut self) -> Digest {
        Digest::of(DATASETS[self.random.usize(..DATASETS.len())])
    }

    fn verdict(&mut self) -> Verdict {
        let (benchmark, leaderboard) = (&self.board.benchmark.clone(), &self.board.leaderboard.clone());
        let (dataset, artifact) = (self.dataset(), Digest::of(b"artifact"));
        if self.random.u8(..5) == 0 {
            let reason = Reason::new("too_many_clips", "", "there are too many").into();
            return Verdict::rejected(benchmark, leaderboard, Some(dataset), Some(artifact), &reason);
        }
        let card = Scorecard {
            score: f64::from(self.random.u32(..N_SCORES)) / 8.0,
            metrics: Metrics::new(),
        };
        Verdict::scored(benchmark, leaderboard, dataset, artifact, card)
    }

    /// Receives an upload, and gives the receipt that is to be recorded of it. Uploads come in no order.
    async fn upload(&mut self) -> Receipt {
        let submitter = SUBMITTERS[self.random.usize(..SUBMITTERS.len())];
        let upload = Upload {
            bucket: "submissions".into(),
            key: format!("{}/l/{submitter}/{}.json", self.board.benchmark, self.sent.len()),
            version: Some("v".into()),
            e_tag: None,
            received_at: Timestamp::from_unix_millis(self.random.i64(1..1_000)),
        };
        let is_baseline = submitter.starts_with("baseline-");
        let submission = Submission::new(self.board.clone(), submitter, is_baseline, upload);
        self.table.receive(&submission).await.unwrap();
        self.clock += 1;
        let verdict = self.verdict();
        let receipt = submission.to_receipt(Timestamp::from_unix_millis(self.clock), verdict);
        self.sent.push(submission);
        receipt
    }

    /// A submission of the history as the table has it, with its receipt once it has ended.
    async fn any(&mut self) -> Option<(Submission, Receipt)> {
        if self.sent.is_empty() {
            return None;
        }
        let id = self.sent[self.random.usize(..self.sent.len())].id.clone();
        let known = self.table.submission(&self.board.benchmark, &id).await.unwrap()?;
        let receipt = known.receipt.clone()?;
        Some((known, receipt))
    }

    async fn next_call(&mut self) -> Option<Call> {
        let what = self.random.u8(..16);
        if what < 6 {
            return Some(Call::Record(self.upload().await));
        }
        if what == 15 {
            return Some(Call::Project);
        }
        let (known, receipt) = self.any().await?;
        self.clock += 1;
        let at = Timestamp::from_unix_millis(self.clock);
        Some(match what {
            6 | 7 => Call::Record(receipt), // another delivery
            8 | 9 => Call::Withdraw(known.id),
            10 | 11 => Call::Reinstate(known.id),
            12 | 13 => {
                self.n_runs += 1;
                let again = Receipt {
                    revision: receipt.revision + 1,
                    finished_at: at,
                    verdict: self.verdict(),
                    ..receipt
                };
                Call::Revise(again, format!("run-{}", self.n_runs))
            }
            _ => {
                let entry = known.entry();
                let verdict = self.verdict();
                Call::Finalize(Finalized {
                    board: self.board.of_final(),
                    revision: Revision {
                        id: known.id,
                        submitter: known.submitter,
                        received_at: known.received_at,
                        is_baseline: known.is_baseline,
                        before: entry.score,
                        dataset_before: entry.dataset,
                        ending: verdict.status,
                        after: verdict.score,
                    },
                    verdict,
                })
            }
        })
    }

    async fn make(&self, call: Call, hosted: &Descriptor) {
        let (table, benchmark) = (&self.table, &self.board.benchmark);
        let at = Timestamp::from_unix_millis(self.clock);
        let direction = self.rules.order.direction;
        match call {
            Call::Record(receipt) => {
                let terms = Terms {
                    round: self.board.round.clone(),
                    ..Terms::outside_any_challenge(&receipt.submitter)
                };
                table.record(&receipt, hosted, &terms).await.unwrap();
                self.project(Some(&receipt.submitter)).await;
            }
            Call::Withdraw(id) => {
                table.withdraw(benchmark, &id, at, direction, None).await.unwrap();
            }
            Call::Reinstate(id) => {
                table
                    .reinstate(benchmark, &id, at, direction, None)
                    .await
                    .unwrap();
            }
            Call::Revise(receipt, run) => {
                table.revise(&receipt, hosted, &run).await.unwrap();
                self.project(Some(&receipt.submitter)).await;
            }
            Call::Finalize(last) => {
                table.finalize(&last, hosted).await.unwrap();
            }
            Call::Project => self.project(None).await,
        }
    }

    async fn project(&self, changed: Option<&str>) {
        let (board, rules) = (&self.board, &self.rules);
        let mut projected = self.table.project(board, rules, changed).await.unwrap();
        while projected == Projected::Behind {
            projected = self.table.project(board, rules, None).await.unwrap();
        }
    }

    fn change_rules(&mut self) {
        self.rules.order.ranking = [Ranking::Best, Ranking::Latest][self.random.usize(..2)];
        self.rules.dataset = (self.random.u8(..4) > 0).then(|| self.dataset());
    }

    /// Plays the history. Some calls are made at once, and each may be killed.
    async fn play(&mut self, hosted: &Descriptor, kills: bool) {
        for _ in 0..self.random.usize(10..40) {
            if self.random.u8(..10) == 0 {
                self.change_rules();
            }
            let mut calls = Vec::new();
            for _ in 0..self.random.usize(1..4) {
                calls.extend(self.next_call().await);
            }
            let mut made = Vec::new();
            for call in calls {
                if let Call::Record(receipt) = &call {
                    self.recorded.insert(receipt.submitter.clone());
                }
                let is_killed = kills && self.random.u8(..8) == 0;
                let patience = Duration::from_micros(if is_killed {
                    self.random.u64(..8_000)
                } else {
                    60_000_000
                });
                made.push((patience, call));
            }
            let of_self = &*self;
            let made = made.into_iter().map(|(patience, call)| async move {
                let _ = tokio::time::timeout(patience, of_self.make(call, hosted)).await;
            });
            join_all(made).await;
        }
        self.change_rules();
    }

    /// Has the time of every lease be over, as it is when its holder was killed long ago.
    async fn expire_leases(&self, world: &World) {
        world
            .clients
            .dynamodb
            .update_item()
            .table_name("dataperf")
            .key(
                "pk",
                AttributeValue::S(format!("{}#projections", self.board.benchmark)),
            )
            .key("sk", AttributeValue::S("l#spring".into()))
            .update_expression("REMOVE #until, #holder")
            .expression_attribute_names("#until", "until")
            .expression_attribute_names("#holder", "holder")
            .send()
            .await
            .unwrap();
    }

    /// The submissions as they are in the end, with what the final data set says of each.
    async fn known(&self) -> Vec<(Submission, Option<Option<f64>>)> {
        let facts = self.table.facts(&self.board).await.unwrap();
        let last: BTreeMap<_, _> = facts
            .into_iter()
            .filter_map(|fact| Some((fact.entry.id, fact.last?.score)))
            .collect();
        let mut known = Vec::new();
        for sent in &self.sent {
            let found = self
                .table
                .submission(&self.board.benchmark, &sent.id)
                .await
                .unwrap();
            known.extend(found.map(|found| (found, last.get(&sent.id).copied())));
        }
        known
    }

    async fn assert_rows_follow(&self, seed: u64) {
        let known = self.known().await;
        for (board, is_final) in [(self.board.clone(), false), (self.board.of_final(), true)] {
            let expected = rows(&known, &self.rules, is_final);
            let mut found: Vec<_> = self.table.rows(&board).await.unwrap();
            found.sort_by(|a, b| a.id.cmp(&b.id));
            let found: Vec<_> = found.into_iter().map(|row| (row.id, row.score)).collect();
            let mut sorted = expected.clone();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            assert_eq!(found, sorted, "seed {seed}, final {is_final}, {:?}", self.rules);
            let top = self.table.top(&board, 1_000).await.unwrap();
            let top: Vec<_> = top
                .into_iter()
                .map(|row| (row.entry.id, row.entry.score))
                .collect();
            assert_eq!(top, expected, "seed {seed}, final {is_final}, {:?}", self.rules);
        }
    }
}

/// The rows in ranking order, by a second way: one submitter after another, by comparing each submission with all others.
#[allow(
    clippy::option_option,
    reason = "not judged by the final data set, or rejected by it, or scored"
)]
#[allow(clippy::float_cmp, reason = "scores are read back as they are written")]
fn rows(
    known: &[(Submission, Option<Option<f64>>)],
    rules: &Rules,
    is_final: bool,
) -> Vec<(SubmissionId, Option<f64>)> {
    let on_board = |submission: &Submission| {
        let verdict = submission.receipt.as_ref().map(|receipt| &receipt.verdict)?;
        let is_scored = verdict.status == Ending::Scored && submission.withdrawn_at.is_none();
        Some((verdict.score?, verdict.dataset)).filter(|_| is_scored)
    };
    let all: Vec<_> = known
        .iter()
        .filter_map(|(submission, last)| Some((submission, *last, on_board(submission)?)))
        .collect();
    let time = |submission: &Submission| (submission.received_at, submission.id.clone());
    let newest = all.iter().max_by_key(|(submission, ..)| time(submission));
    let active = rules
        .dataset
        .or_else(|| newest.and_then(|(_, _, (_, dataset))| *dataset));
    let mut rows = Vec::new();
    for (submission, last, (score, dataset)) in &all {
        let rivals = || {
            let others = all
                .iter()
                .filter(|(other, ..)| other.submitter == submission.submitter);
            others.filter(|(_, last, _)| !is_final || last.is_some())
        };
        if is_final && last.is_none() {
            continue;
        }
        let compared = if rivals().any(|(_, _, (_, other))| *other == active) {
            active
        } else {
            rivals()
                .max_by_key(|(other, ..)| time(other))
                .and_then(|(_, _, (_, dataset))| *dataset)
        };
        let has_row = match rules.order.ranking {
            Ranking::Latest => rivals().all(|(other, ..)| time(other) <= time(submission)),
            Ranking::Best => {
                *dataset == compared
                    && rivals().all(|(other, _, (of_other, its))| {
                        *its != compared
                            || of_other < score
                            || (of_other == score && time(submission) <= time(other))
                    })
            }
        };
        let shown = if is_final { last.flatten() } else { Some(*score) };
        if has_row && let Some(shown) = shown {
            rows.push((shown, time(submission)));
        }
    }
    rows.sort_by(|(a, at), (b, other)| b.total_cmp(a).then(at.cmp(other)));
    rows.into_iter()
        .map(|(score, (_, id))| (id, Some(score)))
        .collect()
}

fn number(name: &str, otherwise: u64) -> u64 {
    let said = std::env::var(name).ok();
    said.map_or(otherwise, |said| said.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_follow_from_any_history() {
    let world = World::without_dataset(|config| config.functions.clear()).await;
    let (table, hosted) = (world.leaderboards(), hosted(BENCHMARK));
    let first = number("SEED", 0);
    for seed in first..first + number("HISTORIES", IN_TESTS) {
        let mut history = History::new(&table, seed);
        let kills = seed % 2 == 1;
        history.play(hosted, kills).await;
        if kills {
            tokio::time::sleep(Duration::from_millis(20)).await; // what a killed call has sent may still arrive
            history.expire_leases(&world).await;
            for submitter in history.recorded.clone() {
                history.project(Some(&submitter)).await;
            }
        }
        history.project(None).await;
        assert_eq!(
            table.boards_to_project(&history.board.benchmark).await.unwrap(),
            [],
            "seed {seed}"
        );
        history.assert_rows_follow(seed).await;
    }
}
