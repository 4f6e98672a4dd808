//! Bookkeeping: what the buckets, the table and the boards say of the same uploads has to agree.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::board::{Board, OPEN_ROUND};
use dataperf::receipt::released_score::Climb;
use dataperf::submission::Entry;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Digest, Ending, Receipt, SubmissionId, SubmitterName};
use dataperf_aws::Partition;
use tokio::task::JoinHandle;

use crate::support::project::{BENCHMARK, hosted};
use crate::support::world::{Sent, World};

type Item = HashMap<String, AttributeValue>;

fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name)
        .and_then(|value| value.as_s().ok())
        .map_or("", String::as_str)
}

/// See [`World::short_leases`].
pub(crate) struct ShortLeases(JoinHandle<()>);

impl Drop for ShortLeases {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl World {
    /// The [receipts](Self::receipts) of uploads that are all scored.
    pub(crate) async fn all_scored(&self, sent: &[Sent]) -> BTreeMap<SubmissionId, Receipt> {
        let receipts = self.receipts(sent).await;
        let mut all = receipts.values();
        assert!(
            all.all(|receipt| receipt.verdict.status == Ending::Scored),
            "{receipts:#?}"
        );
        receipts
    }

    /// The requests that the table has had, of one operation or of all.
    pub(crate) async fn n_requests(&self, operation: Option<&str>) -> usize {
        let operations = self.cloud.snapshot().await.unwrap().table_operations;
        let counted = operations.iter();
        let counted = counted.filter(|(name, _)| operation.is_none_or(|only| only == *name));
        counted.map(|(_, n)| n).sum()
    }

    /// Waits until everything has ended, and gives the receipts of `sent`, which are all uploads there were.
    ///
    /// Asserts on the way that each upload has exactly one receipt, written once, and one terminal record, that both
    /// agree, that nothing is unfinished, that the table holds nothing else, and that each board is what follows from
    /// the receipts.
    pub(crate) async fn receipts(&self, sent: &[Sent]) -> BTreeMap<SubmissionId, Receipt> {
        self.settle().await;
        let receipts = self.stored_receipts().await;
        let expected: BTreeMap<_, _> = sent.iter().map(|sent| (sent.id(), sent.clone())).collect();
        assert_eq!(
            receipts.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
            "a receipt for each upload"
        );
        for (id, receipt) in &receipts {
            let Sent { bucket, key, version } = &expected[id];
            assert_eq!((&receipt.bucket, &receipt.key), (bucket, key));
            assert_eq!(receipt.version.as_ref(), Some(version));
            assert!(
                receipt.finished_at >= receipt.received_at
                    || bucket != "submissions"
                    || self
                        .cloud
                        .faults()
                        .injected()
                        .contains_key("event with a wrong time"),
                "{receipt:?}"
            );
            assert_eq!(
                receipt.verdict.score.is_some(),
                receipt.verdict.status == Ending::Scored,
                "{receipt:?}"
            );
            assert_eq!(
                receipt.verdict.reasons.is_empty(),
                receipt.verdict.status == Ending::Scored,
                "{receipt:?}"
            );
        }
        self.project_boards(BENCHMARK).await;
        self.assert_table_agrees(&receipts).await;
        self.assert_boards_follow(&receipts).await;
        self.assert_ladders_follow(&receipts).await;
        receipts
    }

    /// The receipts in the results bucket; each object has one version, except those of failures
    /// that were evaluated again.
    async fn stored_receipts(&self) -> BTreeMap<SubmissionId, Receipt> {
        let (s3, keys) = (&self.clients.s3, self.keys().await);
        let mut receipts = BTreeMap::new();
        let mut request = s3.list_object_versions().bucket("results");
        loop {
            let page = request.clone().send().await.unwrap();
            for version in page.versions() {
                let key = version.key().unwrap();
                if key.starts_with("_/misplaced/") {
                    continue; // nobody's submission
                }
                let compared = ["/_/_replicates/", "/_/_ranks/", "/_/_pairs/"];
                if compared.iter().any(|folder| key.contains(folder)) {
                    continue; // what boards are compared by
                }
                let object = s3.get_object().bucket("results").key(key);
                let object = object
                    .version_id(version.version_id().unwrap())
                    .send()
                    .await
                    .unwrap();
                let bytes = object.body.collect().await.unwrap().into_bytes();
                let json = serde_json::from_slice(&bytes).unwrap();
                keys.check(&json).expect("every receipt is signed");
                let receipt: Receipt = serde_json::from_value(json).unwrap();
                assert_eq!(receipt.object_key(), key);
                if version.is_latest() != Some(true) {
                    assert_eq!(
                        receipt.verdict.status,
                        Ending::Failed,
                        "`{key}` was written more than once: {receipt:?}"
                    );
                    continue;
                }
                let before = receipts.insert(receipt.submission.clone(), receipt);
                assert_eq!(before, None, "`{key}` was written more than once");
            }
            if page.is_truncated() != Some(true) {
                return receipts;
            }
            request = request
                .set_key_marker(page.next_key_marker)
                .set_version_id_marker(page.next_version_id_marker);
        }
    }

    /// Every item of the table except the notes on active data sets, which publishing leaves.
    pub(crate) async fn items(&self) -> Vec<Item> {
        let scan = self
            .clients
            .dynamodb
            .scan()
            .table_name("dataperf")
            .consistent_read(true);
        let all: Result<Vec<Item>, _> = scan.into_paginator().items().send().try_collect().await;
        let is_seen = |item: &Item| text(item, "sk").starts_with("_#seen.");
        all.unwrap().into_iter().filter(|item| !is_seen(item)).collect()
    }

    async fn assert_table_agrees(&self, receipts: &BTreeMap<SubmissionId, Receipt>) {
        let leaderboards = self.leaderboards();
        assert_eq!(leaderboards.unfinished(BENCHMARK).await.unwrap(), []);
        let mut histories: BTreeMap<&str, BTreeMap<SubmissionId, Vec<Entry>>> = BTreeMap::new();
        for receipt in receipts.values() {
            let submitter = receipt.submitter.as_str();
            if !histories.contains_key(submitter) {
                let history = leaderboards.history(BENCHMARK, submitter, usize::MAX).await;
                let lines = histories.entry(submitter).or_default();
                for line in history.unwrap() {
                    lines.entry(line.id.clone()).or_default().push(line);
                }
            }
        }
        let mut rungs = std::collections::BTreeSet::new();
        for (id, receipt) in receipts {
            let submission = leaderboards
                .submission(BENCHMARK, id)
                .await
                .unwrap()
                .expect("each receipt has a record");
            let whole = submission.receipt.as_ref().expect("it has ended");
            assert_eq!(whole.feedback, None, "the table keeps everything");
            let ladder = whole.ladder.as_ref().filter(|ladder| ladder.has_climbed);
            rungs.extend(ladder.map(|ladder| (ladder.evaluation.clone(), &receipt.submitter)));
            let shown = receipt.feedback.expect("it says how much it shows");
            assert_eq!(
                whole.shown(shown, hosted(&whole.verdict.benchmark)),
                receipt.unsigned(),
                "table and bucket agree"
            );
            let lines = &histories[receipt.submitter.as_str()][id];
            assert_eq!(*lines, [submission.entry()], "one line of history");
        }
        let mut n_items: BTreeMap<&str, usize> = BTreeMap::new();
        let items = self.items().await;
        for item in &items {
            let kind = text(item, "pk").split('#').nth(1).unwrap_or("?");
            if ["sweep", "compare", "projections", "public"].contains(&kind) {
                continue; // how far the sweep has come, and what is written of boards
            }
            if item
                .get("n_scored")
                .is_some_and(|n| n.as_n().is_ok_and(|n| n == "0"))
            {
                continue; // a place that was given back
            }
            *n_items.entry(kind).or_default() += 1;
        }
        let scored = || {
            receipts
                .values()
                .filter(|receipt| receipt.verdict.status == Ending::Scored)
        };
        let distinct =
            |names: Vec<(&str, &str)>| names.into_iter().collect::<std::collections::BTreeSet<_>>().len();
        let mut expected = BTreeMap::from([
            ("submission", receipts.len()),
            ("submitter", receipts.len()),
            (
                "failed",
                receipts
                    .values()
                    .filter(|receipt| receipt.verdict.status == Ending::Failed)
                    .count(),
            ),
            ("facts", scored().count()),
            (
                "rows",
                distinct(
                    scored()
                        .filter(|r| r.verdict.score.is_some()) // the Ladder shows nothing of the others
                        .map(|r| (r.verdict.leaderboard.as_str(), r.submitter.as_str()))
                        .collect(),
                ),
            ),
            ("ladder", rungs.len()),
            ("count", n_counts(receipts)),
            (
                "boards",
                distinct(scored().map(|r| (r.verdict.leaderboard.as_str(), "")).collect()),
            ),
        ]);
        // a name is noted when an upload obeys the rules, and stays even if the upload is not
        // evaluated in the end
        let is_noted =
            |receipt: &&Receipt| matches!(receipt.verdict.status, Ending::Scored | Ending::Accepted);
        let names = |receipts: &mut dyn Iterator<Item = &Receipt>| {
            let names = receipts.filter_map(|receipt| receipt.submitter.parse::<SubmitterName>().ok());
            names.collect::<std::collections::BTreeSet<_>>().len()
        };
        let noted = names(&mut receipts.values().filter(is_noted))..=names(&mut receipts.values());
        let n_noted = n_items.remove("names").unwrap_or(0);
        assert!(
            noted.contains(&n_noted),
            "{n_noted} submitters are noted, not {noted:?}"
        );
        expected.retain(|_, n| *n > 0);
        assert_eq!(n_items, expected, "the table holds these items and no others");
    }

    /// Ends leases of boards whose holders have them for three seconds or longer, as if half a minute had passed, until the result is dropped. Such a
    /// holder was killed, or is slow and projects once more.
    pub(crate) fn short_leases(&self, benchmark: &str) -> ShortLeases {
        let (table, dynamodb) = (self.leaderboards(), self.clients.dynamodb.clone());
        let partition = Partition::new(format!("{benchmark}#projections"));
        let ending = async move {
            let mut held: BTreeMap<String, (AttributeValue, Instant)> = BTreeMap::new();
            loop {
                tokio::time::sleep(Duration::from_millis(500)).await;
                let Ok(items) = table.query(&partition).await else {
                    continue; // a fault of the storm
                };
                for item in items {
                    let Some(holder) = item.get("holder").cloned() else {
                        continue;
                    };
                    let since = held.entry(item["sk"].as_s().unwrap().clone());
                    let since = since.or_insert_with(|| (holder.clone(), Instant::now()));
                    if since.0 != holder {
                        *since = (holder.clone(), Instant::now());
                    }
                    if since.1.elapsed() < Duration::from_secs(3) {
                        continue;
                    }
                    let over = dynamodb.update_item().table_name("dataperf");
                    let over = over.key("pk", item["pk"].clone()).key("sk", item["sk"].clone());
                    let over = over.update_expression("REMOVE #until, #holder");
                    let over = over.condition_expression("#holder = :holder");
                    let over = over.expression_attribute_names("#until", "until");
                    let over = over.expression_attribute_names("#holder", "holder");
                    let over = over.expression_attribute_values(":holder", holder);
                    let _ = over.send().await; // somebody else may have it since
                }
            }
        };
        ShortLeases(tokio::spawn(ending))
    }

    /// Projects the boards whose projection was killed, as functions do that the caretaker asks. No lease is waited for: nothing runs any more.
    pub(crate) async fn project_boards(&self, benchmark: &str) {
        let (table, hosted) = (self.leaderboards(), hosted(benchmark));
        let partition = Partition::new(format!("{benchmark}#projections"));
        for item in table.query(&partition).await.unwrap() {
            let over = self.clients.dynamodb.update_item().table_name("dataperf");
            let over = over.key("pk", item["pk"].clone()).key("sk", item["sk"].clone());
            let over = over.update_expression("REMOVE #until, #holder");
            let over = over.expression_attribute_names("#until", "until");
            let over = over.expression_attribute_names("#holder", "holder");
            over.send().await.unwrap();
        }
        for board in table.boards_to_project(benchmark).await.unwrap() {
            let projected = table.project_now(&board, hosted, &self.bucket("datasets")).await;
            projected.unwrap();
        }
    }

    /// Each board is what the receipts alone give: a submitter's best of one data set, better scores first, equal scores by time.
    async fn assert_boards_follow(&self, receipts: &BTreeMap<SubmissionId, Receipt>) {
        let leaderboards = self.leaderboards();
        let mut boards: BTreeMap<Board, Vec<&Receipt>> = BTreeMap::new();
        for receipt in receipts
            .values()
            .filter(|receipt| receipt.verdict.status == Ending::Scored)
        {
            boards.entry(receipt.board()).or_default().push(receipt);
        }
        let known = leaderboards.boards(BENCHMARK).await.unwrap();
        assert_eq!(known, boards.keys().cloned().collect::<Vec<_>>());
        for (board, mut of_board) in boards {
            let n_scored = of_board.len();
            let top = leaderboards.top(&board, usize::MAX).await.unwrap();
            // scores of two data sets are not compared: the row names the data set of its
            // submitter's best
            let standing: BTreeMap<String, Option<Digest>> = top
                .iter()
                .map(|place| (place.entry.submitter.clone(), place.entry.dataset))
                .collect();
            of_board.retain(|receipt| receipt.verdict.score.is_some());
            assert!(
                of_board
                    .iter()
                    .all(|receipt| standing.contains_key(&receipt.submitter))
            );
            of_board.retain(|receipt| standing[&receipt.submitter] == receipt.verdict.dataset);
            of_board.retain(|receipt| receipt.climb() != Some(Climb::Held));
            of_board.sort_by(|a, b| {
                let score = |receipt: &Receipt| receipt.verdict.score.unwrap();
                let time = (a.received_at, &a.submission).cmp(&(b.received_at, &b.submission));
                score(b).total_cmp(&score(a)).then(time)
            });
            let mut seen = std::collections::BTreeSet::new();
            of_board.retain(|receipt| seen.insert(&receipt.submitter));
            let better = |receipt: &Receipt| {
                of_board
                    .iter()
                    .filter(|other| other.verdict.score > receipt.verdict.score)
                    .count()
            };
            let follows: Vec<_> = of_board
                .iter()
                .map(|receipt| {
                    (
                        better(receipt) + 1,
                        receipt.submission.clone(),
                        receipt.verdict.score,
                    )
                })
                .collect();
            let shown: Vec<_> = top
                .into_iter()
                .map(|place| (place.rank, place.entry.id, place.entry.score))
                .collect();
            assert_eq!(shown, follows, "{board:?}");
            assert_eq!(leaderboards.series(&board).await.unwrap().len(), n_scored);
        }
    }

    /// The Ladder's released scores follow from the submissions' own scores in the order of
    /// recording. Each receipt reveals that order by the rung before it.
    async fn assert_ladders_follow(&self, receipts: &BTreeMap<SubmissionId, Receipt>) {
        let leaderboards = self.leaderboards();
        let mut climbs: BTreeMap<(String, &str), Vec<&Receipt>> = BTreeMap::new();
        let mut released = Vec::new();
        for receipt in receipts.values().filter(|receipt| receipt.climb().is_some()) {
            let known = leaderboards.submission(BENCHMARK, &receipt.submission).await;
            let whole = known.unwrap().unwrap().receipt.unwrap();
            let evaluation = whole.ladder.clone().unwrap().evaluation.unwrap();
            let rung = (evaluation, receipt.submitter.as_str());
            if receipt.climb() == Some(Climb::Climbed) {
                climbs.entry(rung.clone()).or_default().push(receipt);
            }
            released.push((receipt, rung, whole.verdict.score.unwrap()));
        }
        // a round without a Ladder releases every score, rounded
        let holds_back = released
            .iter()
            .any(|(receipt, ..)| receipt.climb() == Some(Climb::Held));
        for ((evaluation, submitter), climbs) in &mut climbs {
            climbs.sort_by_key(|receipt| receipt.ladder.as_ref().unwrap().rung);
            for (n, receipt) in climbs.iter().enumerate() {
                let ladder = receipt.ladder.as_ref().unwrap();
                assert_eq!(
                    ladder.rung, n as u64,
                    "each climb is of another rung: {receipt:?}"
                );
                let before = n.checked_sub(1).map(|before| climbs[before]);
                let before = before.filter(|before| before.verdict.dataset == receipt.verdict.dataset);
                assert!(
                    !holds_back || before.is_none_or(|before| before.verdict.score < receipt.verdict.score),
                    "{receipt:?} after {before:?}"
                );
            }
            let rung = leaderboards.rung(BENCHMARK, evaluation, submitter).await.unwrap();
            assert_eq!(rung.n_changes, climbs.len() as u64);
            if !holds_back {
                continue;
            }
            let climbed = climbs.last().unwrap();
            let last = rung.on(&climbed.board()).unwrap();
            assert_eq!(last.submission, climbed.submission);
            assert_eq!(Some(last.score), climbed.verdict.score);
        }
        for (receipt, rung, own) in released {
            let ladder = receipt.ladder.as_ref().unwrap();
            assert_eq!(receipt.verdict.score, ladder.score, "{receipt:?}");
            if ladder.has_climbed {
                let score = ladder.score.unwrap();
                assert!((own - score).abs() < 0.02, "its own, rounded: {own} {receipt:?}");
            } else {
                // what was released last on its own board
                let before = &climbs[&rung][..usize::try_from(ladder.rung).unwrap()];
                let held = before.iter().rev().find(|before| {
                    before.board() == receipt.board() && before.verdict.dataset == receipt.verdict.dataset
                });
                let shown = held.and_then(|held| held.verdict.score);
                assert_eq!(shown, ladder.score, "{receipt:?}");
            }
        }
    }
}

/// Counts of submitters in rounds: one for each round, and one for each day of it; the same of failures, in rounds or not.
fn n_counts(receipts: &BTreeMap<SubmissionId, Receipt>) -> usize {
    let in_rounds = receipts.values().filter(|receipt| receipt.round != OPEN_ROUND);
    let counted = in_rounds
        .filter(|receipt| receipt.verdict.status == Ending::Scored)
        .map(|receipt| (receipt, receipt.round.clone()));
    let failures = receipts
        .values()
        .filter(|receipt| receipt.verdict.is_counted_failure())
        .map(|receipt| (receipt, format!("{}.failed", receipt.round)));
    let mut counts = std::collections::BTreeSet::new();
    for (receipt, round) in counted.chain(failures) {
        counts.insert((round.clone(), &receipt.submitter, None));
        counts.insert((round, &receipt.submitter, Some(receipt.received_at.day())));
    }
    counts.len()
}
