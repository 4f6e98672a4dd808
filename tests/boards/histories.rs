//! Random histories of a board. Whatever happens to its submissions, in any order and any number of times, its views follow from them.
//!
//! Scores, withdrawals, changed verdicts, final outcomes and changed rules come at random, several at once, and some calls are killed before a
//! random request. At the end a second implementation computes rows, the public view, counts and histories from the submissions alone, one submitter after
//! another. A hidden board has no public view at any time, and no submitter exceeds the limit. The table is in memory, and a seed decides which
//! request comes next. `HISTORIES` is the number of histories and `SEED` the first of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use dataperf::Reason;
use dataperf::benchmark::scorecard::Metrics;
use dataperf::board::{Board, Order, Ranking};
use dataperf::challenge::{Limits, Reserved, Terms};
use dataperf::rows::facts::Rules;
use dataperf::rows::revision::{Finalized, Revision};
use dataperf::submission::{Entry, Submission};
use dataperf::table::leaderboard::{Leaderboards as _, Projected};
use dataperf::table::maintenance::Maintenance as _;
use dataperf::{
    Descriptor, Digest, Direction, Ending, Receipt, Scorecard, SubmissionId, Timestamp, Upload, Verdict,
};
use dataperf_aws::Table;
use futures_util::future::join_all;
use tokio::sync::Notify;

use crate::boards::in_memory::{InMemory, base_client};
use crate::support::project::{BENCHMARK, hosted};
use dataperf_hosted::deployment::TABLE;

/// How many histories `cargo test` plays.
const IN_TESTS: u64 = 50;
/// How many histories share a table, which must not mix them up.
const IN_ONE_TABLE: u64 = 10;
const SUBMITTERS: [&str; 4] = ["ada", "bo", "cy", "baseline-di"];
const DATASETS: [&[u8]; 2] = [b"one", b"two"];
/// Scores are few, so that some are equal.
const N_SCORES: u32 = 5;
/// Until when boards are hidden.
const LONG_AGO: i64 = 1;
const NEVER: i64 = 200_000_000_000_000;

/// The most requests that a killed call makes.
const MOST_REQUESTS: usize = 20;

/// Kills a call before one of its requests: that one and all after it are never sent, and those before it are answered.
#[derive(Debug)]
struct Kill {
    /// How many requests are still sent.
    n_left: AtomicUsize,
    /// How many requests have no answer yet.
    n_waiting: AtomicUsize,
    progress: Notify,
}

/// A request that waits for its answer, or is dropped without one.
struct Waiting(Arc<Kill>);

impl Waiting {
    fn new(kill: Arc<Kill>) -> Self {
        kill.n_waiting.fetch_add(1, Ordering::SeqCst);
        Self(kill)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.n_waiting.fetch_sub(1, Ordering::SeqCst);
        self.0.progress.notify_one();
    }
}

/// The HTTP client of a call that will be killed.
#[derive(Debug, Clone)]
struct Mortal<C> {
    kill: Arc<Kill>,
    inner: C,
}

impl Kill {
    /// Returns when no further request may be sent and all sent ones are answered.
    async fn wait(&self) {
        loop {
            let changed = self.progress.notified();
            if self.n_left.load(Ordering::SeqCst) == 0 && self.n_waiting.load(Ordering::SeqCst) == 0 {
                return;
            }
            changed.await;
        }
    }
}

impl HttpClient for Mortal<SharedHttpClient> {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Mortal {
            kill: self.kill.clone(),
            inner: self.inner.http_connector(settings, components),
        })
    }
}

impl HttpConnector for Mortal<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let kill = self.kill.clone();
        let decrement = |n: usize| n.checked_sub(1);
        if kill
            .n_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, decrement)
            .is_err()
        {
            kill.progress.notify_one();
            return HttpConnectorFuture::new(pending());
        }
        let waiting = Waiting::new(kill);
        let answer = self.inner.call(request);
        HttpConnectorFuture::new(async move {
            let answer = answer.await;
            drop(waiting);
            answer
        })
    }
}

/// One history: a board with its own names in the table, and the random numbers that decide.
struct History {
    client: Client,
    table: Table,
    board: Board,
    random: fastrand::Rng,
    rules: Rules,
    sent: Vec<Submission>,
    n_runs: usize,
    clock: i64,
    /// How many scores of a submitter are counted at most.
    limit: Option<u64>,
    /// Whether the board is hidden from the beginning to the end.
    is_hidden: bool,
    /// The first verdict on each submission.
    first: BTreeMap<SubmissionId, Ending>,
    /// The submitters whose scores were recorded. The event of a killed one is delivered once more.
    recorded: BTreeSet<String>,
}

/// The effect of one call.
enum Call {
    Record(Receipt),
    Withdraw(SubmissionId),
    Reinstate(SubmissionId),
    Revise(Receipt, String),
    Finalize(Finalized),
    Project,
}

impl History {
    fn new(client: Client, seed: u64) -> Self {
        let order = Order {
            direction: Direction::HigherIsBetter,
            ranking: Ranking::Best,
        };
        let mut random = fastrand::Rng::with_seed(seed);
        let is_hidden = random.u8(..4) == 0;
        Self {
            limit: random.bool().then(|| random.u64(1..8)),
            is_hidden,
            first: BTreeMap::new(),
            table: Table::new(client.clone(), TABLE),
            client,
            board: Board {
                benchmark: format!("history-{seed}"),
                leaderboard: "l".into(),
                round: "spring".into(),
            },
            random,
            rules: Rules {
                dataset: Some(Digest::compute(DATASETS[0])),
                hidden_until: is_hidden.then_some(Timestamp::from_unix_millis(NEVER)),
                ..Rules::ranked_by(order)
            },
            sent: Vec::new(),
            n_runs: 0,
            clock: 1_000_000,
            recorded: BTreeSet::new(),
        }
    }

    fn dataset(&mut self) -> Digest {
        Digest::compute(DATASETS[self.random.usize(..DATASETS.len())])
    }

    fn verdict(&mut self) -> Verdict {
        let (benchmark, leaderboard) = (&self.board.benchmark.clone(), &self.board.leaderboard.clone());
        let (dataset, artifact) = (self.dataset(), Digest::compute(b"artifact"));
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
        self.first.insert(submission.id.clone(), receipt.verdict.status);
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
        let choice = self.random.u8(..16);
        if choice < 6 {
            return Some(Call::Record(self.upload().await));
        }
        if choice == 15 {
            return Some(Call::Project);
        }
        let (known, receipt) = self.any().await?;
        self.clock += 1;
        let at = Timestamp::from_unix_millis(self.clock);
        Some(match choice {
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

    async fn make(&self, table: &Table, call: Call, hosted: &Descriptor) {
        let benchmark = &self.board.benchmark;
        let at = Timestamp::from_unix_millis(self.clock);
        let direction = self.rules.order.direction;
        match call {
            Call::Record(receipt) => {
                let terms = Terms {
                    round: self.board.round.clone(),
                    limits: self.limit.map(|total| Limits {
                        total: Some(total),
                        ..Limits::default()
                    }),
                    ..Terms::outside_any_challenge(&receipt.submitter)
                };
                let sent = self.sent.iter().find(|sent| sent.id == receipt.submission);
                let reserved = table.reserve(sent.unwrap(), &terms).await.unwrap();
                if matches!(reserved, Reserved::OverLimit(_)) {
                    return; // what rejects it has no row
                }
                table.record(&receipt, hosted, &terms).await.unwrap();
                self.project(table, Some(&receipt.submitter)).await;
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
                self.project(table, Some(&receipt.submitter)).await;
            }
            Call::Finalize(last) => {
                table.finalize(&last, hosted).await.unwrap();
            }
            Call::Project => self.project(table, None).await,
        }
    }

    async fn project(&self, table: &Table, changed: Option<&str>) {
        let (board, rules) = (&self.board, &self.rules);
        let mut projected = table.project(board, rules, changed).await.unwrap();
        while projected == Projected::Behind {
            projected = table.project(board, rules, None).await.unwrap();
        }
    }

    /// Other rules: by an organizer, who notes that they have changed, or by the clock, after which the board is projected.
    async fn change_rules(&mut self) {
        self.rules.order.ranking = [Ranking::Best, Ranking::Latest][self.random.usize(..2)];
        self.rules.dataset = (self.random.u8(..4) > 0).then(|| self.dataset());
        if !self.is_hidden {
            self.rules.hidden_until =
                [None, Some(LONG_AGO), Some(NEVER)][self.random.usize(..3)].map(Timestamp::from_unix_millis);
        }
        if self.random.bool() {
            self.table.note_rules_changed(&self.board).await.unwrap();
        } else {
            self.project(&self.table, None).await;
        }
    }

    /// An item of the board's partition `kind`, `public` or `projections`.
    async fn item(&self, kind: &str, board: &Board) -> Option<HashMap<String, AttributeValue>> {
        let get = self.client.get_item().table_name(TABLE);
        let get = get
            .key("pk", AttributeValue::S(format!("{}#{kind}", board.benchmark)))
            .key(
                "sk",
                AttributeValue::S(format!("{}#{}", board.leaderboard, board.round)),
            );
        get.consistent_read(true).send().await.unwrap().item
    }

    /// Invariants: a hidden board has no public view, and nobody has more scores than the limit.
    async fn assert_nothing_too_early_or_too_much(&self, seed: u64) {
        if self.is_hidden {
            assert_eq!(self.item("public", &self.board).await, None, "seed {seed}");
        }
        for submitter in SUBMITTERS {
            let at = Timestamp::from_unix_millis(0);
            let usage = self.table.usage(&self.board, submitter, at).await.unwrap();
            assert_eq!(usage.day, usage.total, "seed {seed}");
            assert!(
                self.limit.is_none_or(|limit| usage.total <= limit),
                "seed {seed}: {usage:?}"
            );
        }
    }

    /// Plays the history. Some calls are made at once, and each may be killed.
    async fn play(&mut self, hosted: &Descriptor, seed: u64, kills: bool) {
        for _ in 0..self.random.usize(10..40) {
            if self.random.u8(..10) == 0 {
                self.change_rules().await;
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
                made.push((call, is_killed.then(|| self.random.usize(..MOST_REQUESTS))));
            }
            let history = &*self;
            let made = made.into_iter().map(|(call, n_requests)| async move {
                match n_requests {
                    None => history.make(&history.table, call, hosted).await,
                    Some(n_requests) => history.make_killed(call, hosted, n_requests).await,
                }
            });
            join_all(made).await;
            self.assert_nothing_too_early_or_too_much(seed).await;
        }
    }

    /// Makes a call that is killed after `n_requests` requests, unless it ends before.
    async fn make_killed(&self, call: Call, hosted: &Descriptor, n_requests: usize) {
        let kill = Arc::new(Kill {
            n_left: AtomicUsize::new(n_requests),
            n_waiting: AtomicUsize::new(0),
            progress: Notify::new(),
        });
        let config = self.client.config();
        let http = Mortal {
            kill: kill.clone(),
            inner: config.http_client().expect("a client"),
        };
        let client = Client::from_conf(config.to_builder().http_client(http).build());
        let table = Table::new(client, TABLE);
        tokio::select! {
            () = self.make(&table, call, hosted) => {}
            () = kill.wait() => {}
        }
    }

    /// Expires every lease, as if its holder had been killed long ago.
    async fn expire_leases(&self) {
        self.client
            .update_item()
            .table_name(TABLE)
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
            let submission = self
                .table
                .submission(&self.board.benchmark, &sent.id)
                .await
                .unwrap();
            known.extend(submission.map(|submission| (submission, last.get(&sent.id).copied())));
        }
        known
    }

    async fn assert_views_follow(&self, kills: bool, seed: u64) {
        let known = self.known().await;
        for (board, is_final) in [(self.board.clone(), false), (self.board.of_final(), true)] {
            let expected = rows(&known, &self.rules, is_final);
            let mut rows: Vec<_> = self.table.rows(&board).await.unwrap();
            rows.sort_by(|a, b| a.id.cmp(&b.id));
            let rows: Vec<_> = rows.into_iter().map(|row| (row.id, row.score)).collect();
            let mut sorted = expected.clone();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            assert_eq!(rows, sorted, "seed {seed}, final {is_final}, {:?}", self.rules);
            let top = self.table.top(&board, 1_000).await.unwrap();
            let top: Vec<_> = top
                .into_iter()
                .map(|row| (row.entry.id, row.entry.score))
                .collect();
            assert_eq!(top, expected, "seed {seed}, final {is_final}, {:?}", self.rules);
            self.assert_public_view(&board, &expected, seed).await;
        }
        let known: Vec<Submission> = known.into_iter().map(|(submission, _)| submission).collect();
        self.assert_counts(&known, kills, seed).await;
    }

    /// The view for dashboards has the rows in ranking order, with ranks that baselines and scores of other data sets do not have.
    async fn assert_public_view(&self, board: &Board, expected: &[(SubmissionId, Option<f64>)], seed: u64) {
        let view = self.item("public", board).await;
        let is_seen = board.is_final() || self.rules.hidden_until != Some(Timestamp::from_unix_millis(NEVER));
        if !is_seen || expected.is_empty() {
            assert_eq!(view, None, "seed {seed}, {board:?}");
            return;
        }
        let view = view.unwrap_or_else(|| panic!("seed {seed}: {board:?} has no public view"));
        let rows = view["rows"].as_l().unwrap().iter().map(|row| row.as_m().unwrap());
        let shown: Vec<_> = rows
            .map(|row| {
                let number = |name: &str| {
                    row.get(name)
                        .map(|number| number.as_n().unwrap().parse::<f64>().unwrap())
                };
                let id = row["submission"].as_s().unwrap().parse::<SubmissionId>().unwrap();
                (id, number("score"), number("rank"))
            })
            .collect();
        let (mut ranked, mut n_before) = (Vec::new(), Vec::new());
        for (id, score) in expected {
            let sent = self.sent.iter().find(|sent| sent.id == *id).unwrap();
            let dataset = self.table.submission(&self.board.benchmark, id).await.unwrap();
            let dataset = dataset
                .and_then(|known| known.receipt)
                .and_then(|receipt| receipt.verdict.dataset);
            let is_compared =
                board.is_final() || self.rules.dataset.is_none_or(|active| dataset == Some(active));
            let n_better = n_before.iter().filter(|better| *better > score).count();
            let rank = (is_compared && !sent.is_baseline).then_some(n_better as f64 + 1.0);
            if rank.is_some() {
                n_before.push(*score);
            }
            ranked.push((id.clone(), *score, rank));
        }
        assert_eq!(shown, ranked, "seed {seed}, {board:?}, {:?}", self.rules);
    }

    /// A submission counts from when it is reserved until it ends without a score, and its history says what the submission says.
    async fn assert_counts(&self, known: &[Submission], kills: bool, seed: u64) {
        for submitter in SUBMITTERS {
            let own: Vec<_> = known
                .iter()
                .filter(|submission| submission.submitter == submitter)
                .collect();
            let is_counted = |submission: &&&Submission| {
                submission.receipt.is_some() && self.first[&submission.id] == Ending::Scored
            };
            let n = own.iter().filter(is_counted).count() as u64;
            let at = Timestamp::from_unix_millis(0);
            let total = self.table.usage(&self.board, submitter, at).await.unwrap().total;
            let is_expected = match self.limit {
                None => total == 0,
                Some(_) if kills => total >= n, // a killed evaluation is counted until it ends
                Some(_) => total == n,
            };
            assert!(
                is_expected,
                "seed {seed}: {submitter} has {n} scores, and {total} are counted"
            );
            let lines = self
                .table
                .history(&self.board.benchmark, submitter, 1_000)
                .await
                .unwrap();
            assert_eq!(lines.len(), own.len(), "seed {seed}: {submitter}");
            for line in lines {
                let submission = own.iter().find(|submission| submission.id == line.id).unwrap();
                let entry = submission.entry();
                let outcome = |entry: &Entry| (entry.ending, entry.score, entry.dataset, entry.withdrawn_at);
                assert_eq!(outcome(&line), outcome(&entry), "seed {seed}: {}", line.id);
            }
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
    let value = std::env::var(name).ok();
    value.map_or(otherwise, |value| value.parse().expect("a number"))
}

#[tokio::test]
async fn views_follow_from_any_history() {
    let (base, hosted) = (base_client().await, hosted(BENCHMARK));
    let first = number("SEED", 0);
    let mut table = InMemory::new();
    for seed in first..first + number("HISTORIES", IN_TESTS) {
        if (seed - first).is_multiple_of(IN_ONE_TABLE) {
            table = InMemory::new();
        }
        let mut history = History::new(table.client(&base, seed), seed);
        let kills = seed % 2 == 1;
        history.play(hosted, seed, kills).await;
        if kills {
            history.expire_leases().await;
            for submitter in history.recorded.clone() {
                history.project(&history.table, Some(&submitter)).await;
            }
        }
        // as the caretaker does each minute
        while !history
            .table
            .boards_to_project(&history.board.benchmark)
            .await
            .unwrap()
            .is_empty()
        {
            history.project(&history.table, None).await;
        }
        history.assert_views_follow(kills, seed).await;
    }
}
