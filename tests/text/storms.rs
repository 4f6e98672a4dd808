//! A storm over the loop: examples and verdicts under faults of every kind that storage, table, events and processes can have. In the end
//! each upload has one outcome, each example and each verdict was counted once, and the board is what the verdicts say.

use std::time::Duration;

use serde_json::json;

use super::{BENCHMARK, RATERS, Text, example, fooling, honest};
use crate::faults::storms::{n_uploads, storm_over_a_step, without_retries};

const PEOPLE: [&str; 3] = ["ada", "bo", "cy"];
/// Uploads for each number: the examples, and the verdicts of three.
const UPLOADS_A_NUMBER: usize = 4;

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
    let faults = text.world.cloud.faults();

    faults.storm(Some(storm_over_a_step(41)));
    let mut sent = Vec::new();
    for number in 0..n {
        let lines = [fooling(2 * number), honest(2 * number + 1)];
        sent.push(
            text.send("submit", PEOPLE[number % 3], &number.to_string(), &lines)
                .await,
        );
    }
    text.world.end_step(BENCHMARK, &sent).await;
    let submitted = text.receipts(&sent).await;
    let n_files_one = |person: usize| (person..n).step_by(3).count() as u64;
    for (person, who) in PEOPLE.into_iter().enumerate() {
        let (n_files, taken) = (n_files_one(person), text.n_taken(who, "examples").await);
        assert_eq!(taken, 2 * n_files, "each example of {who} counts once");
        assert_eq!(
            text.counts(who).await,
            [2 * n_files, n_files, n_files, 0, 0, 0, 0]
        );
    }
    assert_eq!(text.items("unjudged").await.len(), n);

    faults.storm(Some(storm_over_a_step(42)));
    let mut sent = Vec::new();
    for (number, receipt) in submitted.iter().enumerate() {
        let id = example(&receipt.verdict.lines[0]);
        // every fourth is refused
        let label = if number % 4 == 3 { "negative" } else { "positive" };
        for rater in &RATERS[..3] {
            let line = json!({ "example": id, "label": label });
            sent.push(text.send("verdict", rater, &number.to_string(), &[line]).await);
        }
    }
    text.world.end_step(BENCHMARK, &sent).await;
    assert_eq!(text.items("unjudged").await.len(), 0);
    for (person, who) in PEOPLE.into_iter().enumerate() {
        let (n_files, numbers) = (n_files_one(person), (person..n).step_by(3));
        let n_refused = numbers.filter(|number| number % 4 == 3).count() as u64;
        assert_eq!(
            text.counts(who).await,
            [2 * n_files, n_files, 0, n_files - n_refused, n_refused, 0, 0]
        );
    }
    for rater in &RATERS[..3] {
        assert_eq!(text.n_taken(rater, "verdicts").await, n as u64);
    }

    text.world.assert_stormy("Adversarial Text", n * UPLOADS_A_NUMBER);
}
