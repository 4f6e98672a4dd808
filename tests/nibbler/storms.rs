//! A storm over the whole loop: requests, pairs and verdicts under faults of every kind that storage, table, events and processes
//! can have. In the end each upload has one outcome, each set was counted once, and the boards are what the verdicts say.

use std::collections::BTreeMap;
use std::time::Duration;

use dataperf::board::{Board, OPEN_ROUND};
use dataperf::table::leaderboard::Leaderboards;
use dataperf_collections::nibbler::{CharacterNgrams, Embed, Scoring, Standing, ValidatedPair, Vocabulary};
use serde_json::json;

use super::verdicts::{RATERS, line, verdict};
use super::{BENCHMARK, Nibbler, images};
use crate::faults::storms::{n_uploads, storm_over_a_step, without_retries};

const PEOPLE: [&str; 3] = ["ada", "bo", "cy"];
/// Uploads of each prompt: its request, its pair, and the verdicts.
const UPLOADS_A_PROMPT: usize = 2 + RATERS.len();
const SUBJECTS: [&str; 5] = [
    "horse in ketchup",
    "chef and cherry jam",
    "king on velvet",
    "swing of ropes",
    "doll in a box",
];

/// No two are near duplicates: most of each is its own.
fn prompt(n: usize) -> String {
    let own = dataperf::Digest::compute(&n.to_le_bytes()).hex();
    format!("{} {} {}", SUBJECTS[n % SUBJECTS.len()], &own[..20], &own[20..44])
}

fn severity(n: usize) -> u8 {
    n as u8 % 4 + 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_loop_in_a_storm() {
    let nibbler = Nibbler::with(
        |config| {
            without_retries(config);
            config.retry_backoff = vec![Duration::from_millis(5); 2];
        },
        |rules| rules["generation"]["sets_a_day"] = json!(10_000),
    )
    .await;
    nibbler.name_raters(&RATERS).await;
    let n_prompts = n_uploads() / UPLOADS_A_PROMPT;
    let faults = nibbler.world.cloud.faults();

    faults.storm(Some(storm_over_a_step(21)));
    let mut sent = Vec::new();
    for n in 0..n_prompts {
        sent.push(nibbler.ask(PEOPLE[n % 3], &n.to_string(), &[&prompt(n)]).await);
    }
    nibbler.world.end_step(BENCHMARK, &sent).await;
    let made = nibbler.receipts(&sent).await;
    for (who, first) in PEOPLE.into_iter().zip(0..) {
        let n_asked = (first..n_prompts).step_by(3).count() as u64;
        assert_eq!(
            nibbler.n_taken(who).await,
            n_asked,
            "each set of {who} counts once"
        );
    }

    faults.storm(Some(storm_over_a_step(22)));
    let mut sent = Vec::new();
    for (n, receipt) in made.iter().enumerate() {
        let image = images(&receipt.verdict.lines[0])[0];
        let line = line(&prompt(n), image);
        sent.push(
            nibbler
                .send("submit", PEOPLE[n % 3], &n.to_string(), &[line])
                .await,
        );
    }
    nibbler.world.end_step(BENCHMARK, &sent).await;
    let submitted = nibbler.receipts(&sent).await;
    let pairs: Vec<String> = submitted
        .iter()
        .map(|receipt| {
            receipt.verdict.lines[0].details["pair"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(nibbler.n_items("unjudged").await, n_prompts);

    faults.storm(Some(storm_over_a_step(23)));
    let mut sent = Vec::new();
    for (n, pair) in pairs.iter().enumerate() {
        for rater in RATERS {
            sent.push(
                nibbler
                    .send("verdict", rater, &n.to_string(), &[verdict(pair, severity(n))])
                    .await,
            );
        }
    }
    nibbler.world.end_step(BENCHMARK, &sent).await;
    assert_eq!(nibbler.n_items("unjudged").await, 0);

    nibbler
        .world
        .assert_stormy("Adversarial Nibbler", n_prompts * UPLOADS_A_PROMPT);

    let vocabulary = Vocabulary::default();
    let (mut fooling, mut creativity) = (BTreeMap::new(), BTreeMap::new());
    for (who, first) in PEOPLE.into_iter().zip(0..) {
        let own = (first..n_prompts).step_by(3);
        let validated: Vec<ValidatedPair> = own.map(|n| validated(n, &pairs[n])).collect();
        let standing = Standing::compute(Scoring::First, &validated).unwrap();
        fooling.insert(who.to_owned(), standing.model_fooling().unwrap().score);
        creativity.insert(
            who.to_owned(),
            standing.prompt_creativity(&vocabulary).unwrap().score,
        );
        let board = Board {
            benchmark: BENCHMARK.into(),
            leaderboard: "model-fooling".into(),
            round: OPEN_ROUND.into(),
        };
        let steps = nibbler.world.leaderboards().series(&board).await.unwrap();
        let n_steps = steps.iter().filter(|step| step.submitter == who).count();
        assert_eq!(n_steps, validated.len(), "a step for each decision about {who}");
    }
    assert_eq!(nibbler.board("model-fooling").await, fooling);
    assert_eq!(nibbler.board("prompt-creativity").await, creativity);
}

/// A pair as three raters of one mind leave it.
fn validated(n: usize, pair: &str) -> ValidatedPair {
    let message = line(&prompt(n), "");
    let words = |name: &str| serde_json::from_value(message[name].clone()).unwrap();
    ValidatedPair {
        pair: pair.parse().unwrap(),
        severity: severity(n),
        attacks: words("attacks"),
        harms: words("harms"),
        identity_groups: words("identity_groups"),
        confirmed_attacks: Vec::new(),
        confirmed_groups: Vec::new(),
        is_duplicate: false,
        repeats_own: None,
        repeats_another: false,
        counted_elsewhere: false,
        embedding: CharacterNgrams.embed(&[&prompt(n)]).unwrap().remove(0),
    }
}
