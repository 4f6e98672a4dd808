//! Bookkeeping: what the buckets, the table and the boards say of the same uploads has to agree.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::ports::leaderboard::{Entry, Leaderboards};
use dataperf::{Digest, Ending, Receipt, SubmissionId};

use crate::project::{BENCHMARK, hosted};
use crate::world::{Sent, World, board};

type Item = HashMap<String, AttributeValue>;

fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name)
        .and_then(|value| value.as_s().ok())
        .map_or("", String::as_str)
}

impl World {
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
        self.assert_table_agrees(&receipts).await;
        self.assert_boards_follow(&receipts).await;
        receipts
    }

    /// The receipts in the results bucket; each object has one version, beside those of failures that were evaluated
    /// again.
    async fn stored_receipts(&self) -> BTreeMap<SubmissionId, Receipt> {
        let (s3, keys) = (&self.clients.s3, self.keys().await);
        let mut receipts = BTreeMap::new();
        let mut request = s3.list_object_versions().bucket("results");
        loop {
            let page = request.clone().send().await.unwrap();
            for version in page.versions() {
                let key = version.key().unwrap();
                if key.contains("/_/_replicates/") || key.contains("/_/_ranks/") {
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
                        "`{key}` was written more than once"
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

    /// Every item of the table.
    pub(crate) async fn items(&self) -> Vec<Item> {
        let scan = self
            .clients
            .dynamodb
            .scan()
            .table_name("dataperf")
            .consistent_read(true);
        scan.into_paginator().items().send().try_collect().await.unwrap()
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
        for (id, receipt) in receipts {
            let submission = leaderboards
                .submission(BENCHMARK, id)
                .await
                .unwrap()
                .expect("each receipt has a record");
            let whole = submission.receipt.as_ref().expect("it has ended");
            assert_eq!(whole.feedback, None, "the table keeps everything");
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
            if ["sweep", "compare"].contains(&kind) {
                continue; // how far the sweep has come, and boards that are compared within a minute
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
            ("series", scored().count()),
            (
                "best",
                distinct(
                    scored()
                        .map(|r| (r.verdict.leaderboard.as_str(), r.submitter.as_str()))
                        .collect(),
                ),
            ),
            (
                "boards",
                distinct(scored().map(|r| (r.verdict.leaderboard.as_str(), "")).collect()),
            ),
        ]);
        expected.retain(|_, n| *n > 0);
        assert_eq!(n_items, expected, "the table holds these items and no others");
    }

    /// Each board is what the receipts alone give: a submitter's best of one data set, better scores first, equal scores by time.
    async fn assert_boards_follow(&self, receipts: &BTreeMap<SubmissionId, Receipt>) {
        let leaderboards = self.leaderboards();
        let mut boards: BTreeMap<&str, Vec<&Receipt>> = BTreeMap::new();
        for receipt in receipts
            .values()
            .filter(|receipt| receipt.verdict.status == Ending::Scored)
        {
            boards
                .entry(&receipt.verdict.leaderboard)
                .or_default()
                .push(receipt);
        }
        let known = leaderboards.boards(BENCHMARK).await.unwrap();
        let known: Vec<&str> = known.iter().map(|board| board.leaderboard.as_str()).collect();
        assert_eq!(known, boards.keys().copied().collect::<Vec<_>>());
        for (name, mut of_board) in boards {
            let n_scored = of_board.len();
            let top = leaderboards.top(&board(name), usize::MAX).await.unwrap();
            // scores of two data sets are not compared: the row says of which one its submitter's best stands
            let stands: BTreeMap<String, Option<Digest>> = top
                .iter()
                .map(|place| (place.entry.submitter.clone(), place.entry.dataset))
                .collect();
            assert!(
                of_board
                    .iter()
                    .all(|receipt| stands.contains_key(&receipt.submitter))
            );
            of_board.retain(|receipt| stands[&receipt.submitter] == receipt.verdict.dataset);
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
            assert_eq!(shown, follows, "board `{name}`");
            assert_eq!(leaderboards.series(&board(name)).await.unwrap().len(), n_scored);
        }
    }
}
