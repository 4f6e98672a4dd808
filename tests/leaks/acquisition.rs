//! Data Acquisition: hidden are the sellers' rows and labels. The draws are public, so that whether a sample has both labels
//! tells something about known rows; and markets are scored one by one.

use crate::project::hosted;
use dataperf::admission::Admission;
use dataperf::artifact_judge::{ArtifactJudge, Evaluator};
use dataperf::challenge::{Challenge, Terms};
use dataperf::evaluate::evaluate;
use dataperf::ports::bucket::Bucket as _;
use dataperf::ports::leaderboard::Submission;
use dataperf::ports::memory::{MemoryBucket, MemorySigner};
use dataperf::workflow::{Ports, WorkflowError, settle};
use dataperf::{Benchmark, Descriptor, Feedback, Receipt, Timestamp, Upload, Verdict};
use dataperf_benchmarks::data_acquisition::DataAcquisition;
use serde_json::{Value, json};

use super::selection::recombined;
use super::{Draws, LEVELS, Target, best, seen};
use crate::world::World;

fn parameters(target: &Target<DataAcquisition>) -> Value {
    target.dataset.manifest().parameters.clone()
}

/// As many of each seller as the budget allows if all were drawn alike, and some fewer.
fn plan(target: &Target<DataAcquisition>, draws: &mut Draws) -> Value {
    let parameters = parameters(target);
    let markets = parameters["markets"].as_object().unwrap();
    let counts = |market: &Value| -> Value {
        let sellers = market["sellers"].as_array().unwrap();
        let share = market["budget"].as_f64().unwrap() / sellers.len() as f64;
        let of_seller = |seller: &Value| {
            let (n_rows, price) = (
                seller["n_rows"].as_f64().unwrap(),
                seller["max_price"].as_f64().unwrap(),
            );
            let most = (share * n_rows / price).floor().min(n_rows) as usize;
            most - draws.below(most / 2 + 1)
        };
        json!(sellers.iter().map(of_seller).collect::<Vec<_>>())
    };
    let of_market = markets.iter().map({
        let mut counts = counts;
        move |(number, market)| (number.clone(), counts(market))
    });
    Value::Object(of_market.collect())
}

#[tokio::test]
async fn numbers_of_markets_recombine() {
    let target = Target::<DataAcquisition>::new().await;
    let mut draws = Draws(7);
    let mut verdicts = Vec::new();
    for _ in 0..6 {
        let artifact = plan(&target, &mut draws);
        let verdict = target.score("open", &artifact).await;
        verdicts.push((artifact, verdict));
    }
    let best = best(&verdicts);
    for level in LEVELS {
        let seen = seen(&verdicts, level);
        let combined = recombined("markets", "accuracy", &seen);
        if level == Feedback::Score {
            assert_eq!(combined, None, "the score alone says nothing of a market");
            continue;
        }
        let combined = target.score("open", &combined.unwrap()).await.score.unwrap();
        println!(
            "data-acquisition at `{}`: best of {} {best:.4}, recombined {combined:.4}",
            level.as_str(),
            seen.len()
        );
        assert!(combined > best, "{combined} {best}");
    }
}

/// A plan that buys two rows of one seller in `market`, whose labels it asks about.
fn question(target: &Target<DataAcquisition>, market: &str) -> Value {
    let mut plan = plan(target, &mut Draws(3));
    let counts = plan[market].as_array_mut().unwrap();
    for (seller, count) in counts.iter_mut().enumerate() {
        *count = json!(if seller == 0 { 2 } else { 0 });
    }
    plan
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asking_for_labels_by_rejections_costs_what_a_score_costs() {
    let target = Target::<DataAcquisition>::new().await;
    let markets = parameters(&target)["markets"].as_object().unwrap().clone();
    let round = json!({ "id": "spring", "opens": "2026-03-01T00:00:00Z", "daily_limit": 3 });
    let challenge: Challenge =
        serde_json::from_value(json!({ "schema": 1, "title": "t", "rounds": [round] })).unwrap();
    let (submissions, results) = (MemoryBucket::default(), MemoryBucket::default());
    let world = World::without_dataset(|config| config.functions.clear()).await;
    let leaderboards = world.leaderboards();
    let signer = MemorySigner::new("in-memory").unwrap();
    let mut told: Vec<Receipt> = Vec::new();
    let numbers: Vec<&String> = markets.keys().collect();
    for n in 0..6 {
        let key = format!("data-acquisition/open/ada/{n}.json");
        // in one market, in another, in two at once, and so on
        let mut asked = question(&target, numbers[n % numbers.len()]);
        if n == 2 {
            asked[numbers[0].as_str()] = question(&target, numbers[0])[numbers[0].as_str()].clone();
        }
        submissions.put(&key, asked.to_string().into()).await.unwrap();
        let upload = Upload {
            bucket: "submissions".into(),
            key,
            version: Some("0".into()),
            e_tag: None,
            received_at: "2026-03-01T10:00:00Z".parse::<Timestamp>().unwrap(),
        };
        let judge = ArtifactJudge {
            evaluator: &target,
            challenge: Ok(Some(challenge.clone())),
            submissions: &submissions,
            leaderboards: &leaderboards,
        };
        let ports = Ports {
            leaderboards: &leaderboards,
            results: &results,
            signer: &signer,
            now: &|| "2026-03-01T10:00:01Z".parse::<Timestamp>().unwrap(),
        };
        told.push(settle(&upload, judge, ports).await.unwrap().receipt);
    }
    let codes: Vec<&str> = told
        .iter()
        .map(|receipt| receipt.verdict.reasons[0].code.as_str())
        .collect();
    let (asked, refused) = ("one_label", "daily_limit");
    assert_eq!(codes, [asked, asked, asked, refused, refused, refused]);
    for receipt in &told[1..3] {
        let (one, other) = (&receipt.verdict.reasons, &told[0].verdict.reasons);
        assert_eq!(one, other, "nothing says which market it is");
        assert_eq!(receipt.verdict.n_reasons, None);
    }
}

impl Evaluator for Target<DataAcquisition> {
    fn hosted(&self) -> &'static Descriptor {
        hosted(DataAcquisition::ID)
    }

    fn max_artifact_bytes(&self) -> u64 {
        DataAcquisition::MAX_ARTIFACT_BYTES
    }

    async fn evaluate(
        &self,
        submission: &Submission,
        _: &Terms,
        artifact: &[u8],
        _: &Admission<'_>,
    ) -> Result<Verdict, WorkflowError> {
        Ok(evaluate(&self.dataset, &submission.board.leaderboard, artifact).await?)
    }
}
