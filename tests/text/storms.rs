//! A storm over the loop: examples and verdicts under faults of every kind that storage, table, events and processes can have. In the end
//! each upload has one outcome, each example and each verdict was counted once, and the board is what the verdicts say.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use dataperf::{Ending, Receipt};
use dataperf_local::Storm;
use serde_json::json;

use super::{Text, VALIDATORS, example, fooling, honest, status};
use crate::storms::{n_uploads, without_retries};
use crate::world::Sent;

const PEOPLE: [&str; 3] = ["ada", "bo", "cy"];
/// Uploads for each number: the examples, and the verdicts of three.
const UPLOADS_A_NUMBER: usize = 4;

fn storm(seed: u64) -> Storm {
    Storm {
        seed,
        kills_before: 8,
        kills_after: 8,
        s3_unavailable: 20,
        s3_slow: 10,
        s3_cut: 10,
        table_throttled: 20,
        table_errors: 10,
        table_lost_answers: 15,
        events_dropped: 60,
        events_duplicated: 150,
        events_delayed: 200,
        longest_delay: Duration::from_millis(200),
        ..Storm::default()
    }
}

impl Text {
    /// Lets a step come to its end, and gives its uploads' receipts: after the storm everything was taken.
    async fn ride_out(&self, sent: &[Sent], injected: &mut BTreeMap<&'static str, usize>) -> Vec<Receipt> {
        self.world.settle().await;
        self.world.sweep().await;
        self.world.cloud.faults().storm(None);
        *injected = self.world.cloud.faults().injected();
        self.world.sweep().await;
        assert_eq!(self.world.command(&["redrive", "--all-failed"]).code, 0);
        let receipts = self.receipts(sent).await;
        for receipt in &receipts {
            assert_eq!(status(receipt), Ending::Accepted, "{receipt:#?}");
        }
        receipts
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adversarial_text_in_a_storm() {
    let text = Text::with(
        |config| {
            without_retries(config);
            config.retry_backoff = vec![Duration::from_millis(5); 2];
        },
        |rules| {
            rules["examples_a_day"] = json!(10_000);
            rules["validation"]["verdicts_a_day"] = json!(10_000);
        },
    )
    .await;
    let n = n_uploads() / UPLOADS_A_NUMBER;
    let (faults, mut injected) = (text.world.cloud.faults(), BTreeMap::new());

    faults.storm(Some(storm(41)));
    let mut sent = Vec::new();
    for number in 0..n {
        let lines = [fooling(2 * number), honest(2 * number + 1)];
        sent.push(
            text.send("submit", PEOPLE[number % 3], &number.to_string(), &lines)
                .await,
        );
    }
    let submitted = text.ride_out(&sent, &mut injected).await;
    let of = |person: usize| (person..n).step_by(3).count() as u64;
    for (person, who) in PEOPLE.into_iter().enumerate() {
        let (n_files, taken) = (of(person), text.n_taken(who, "examples").await);
        assert_eq!(taken, 2 * n_files, "each example of {who} counts once");
        assert_eq!(
            text.counts(who).await,
            [2 * n_files, n_files, n_files, 0, 0, 0, 0]
        );
    }
    assert_eq!(text.items("unjudged").await.len(), n);

    faults.storm(Some(storm(42)));
    let mut sent = Vec::new();
    for (number, receipt) in submitted.iter().enumerate() {
        let id = example(&receipt.verdict.lines[0]);
        // every fourth is refused
        let label = if number % 4 == 3 { "negative" } else { "positive" };
        for validator in &VALIDATORS[..3] {
            let line = json!({ "example": id, "label": label });
            sent.push(
                text.send("verdict", validator, &number.to_string(), &[line])
                    .await,
            );
        }
    }
    text.ride_out(&sent, &mut injected).await;
    assert_eq!(text.items("unjudged").await.len(), 0);
    for (person, who) in PEOPLE.into_iter().enumerate() {
        let (n_files, numbers) = (of(person), (person..n).step_by(3));
        let n_refused = numbers.filter(|number| number % 4 == 3).count() as u64;
        assert_eq!(
            text.counts(who).await,
            [2 * n_files, n_files, 0, n_files - n_refused, n_refused, 0, 0]
        );
    }
    for validator in &VALIDATORS[..3] {
        assert_eq!(text.n_taken(validator, "verdicts").await, n as u64);
    }

    let n_faults: usize = injected.values().sum();
    let n_sent = n * UPLOADS_A_NUMBER;
    // Not captured by the test harness: how bad the weather was belongs in every log.
    let _ = writeln!(
        std::io::stderr(),
        "{n_sent} uploads of Adversarial Text, {n_faults} faults: {injected:?}"
    );
    assert!(injected.len() >= 8 && n_faults >= n_sent / 5, "{injected:?}");
}
