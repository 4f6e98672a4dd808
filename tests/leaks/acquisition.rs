//! Data Acquisition: hidden are the sellers' rows and labels. The draws are public, so that whether a sample has both labels
//! tells something about known rows; and markets are scored one by one.

use crate::support::project::hosted;
use dataperf::challenge::{Challenge, Terms};
use dataperf::evaluation::admission::Admission;
use dataperf::evaluation::artifact_judge::{ArtifactJudge, Evaluator};
use dataperf::evaluation::evaluate::evaluate;
use dataperf::evaluation::workflow::{Ports, WorkflowError, settle};
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::ports::memory::MemoryBucket;
use dataperf::signature::MemorySigner;
use dataperf::submission::Submission;
use dataperf::{Benchmark, Descriptor, Ending, Feedback, Receipt, Timestamp, Upload, Verdict};
use dataperf_benchmarks::data_acquisition::DataAcquisition;
use serde_json::{Value, json};

use super::selection::recombined;
use super::{Draws, LEVELS, Target, best, seen};
use crate::support::world::World;

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

/// A cloud in which uploads are settled one by one.
struct Settling {
    target: Target<DataAcquisition>,
    world: World,
    submissions: MemoryBucket,
    results: MemoryBucket,
    signer: MemorySigner,
}

impl Settling {
    async fn new() -> Self {
        Self {
            target: Target::new().await,
            world: World::without_dataset(|config| config.functions.clear()).await,
            submissions: MemoryBucket::default(),
            results: MemoryBucket::default(),
            signer: MemorySigner::new("in-memory").unwrap(),
        }
    }

    async fn upload(&self, name: &str, artifact: &Value) -> Upload {
        let key = format!("data-acquisition/open/ada/{name}.json");
        self.submissions
            .put(&key, artifact.to_string().into())
            .await
            .unwrap();
        Upload {
            bucket: "submissions".into(),
            key,
            version: Some("0".into()),
            e_tag: None,
            received_at: "2026-03-01T10:00:00Z".parse::<Timestamp>().unwrap(),
        }
    }

    async fn settle(
        &self,
        upload: &Upload,
        challenge: Result<Option<Challenge>, WorkflowError>,
    ) -> Result<Receipt, WorkflowError> {
        let leaderboards = self.world.leaderboards();
        let judge = ArtifactJudge {
            evaluator: &self.target,
            challenge,
            submissions: &self.submissions,
            leaderboards: &leaderboards,
        };
        let ports = Ports {
            leaderboards: &leaderboards,
            results: &self.results,
            signer: &self.signer,
            now: &|| "2026-03-01T10:00:01Z".parse::<Timestamp>().unwrap(),
        };
        Ok(settle(upload, judge, ports).await?.receipt)
    }
}

fn with_round(round: &Value) -> Challenge {
    serde_json::from_value(json!({ "schema": 1, "title": "t", "rounds": [round] })).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_challenge_shows_nothing_more() {
    let settling = Settling::new().await;
    let blind = json!({ "id": "spring", "opens": "2026-03-01T00:00:00Z", "closes": "2999-01-01T00:00:00Z", "preset": "blind" });
    let unreadable = || Err(WorkflowError::transient("the bucket is down"));
    let first = settling.upload("first", &json!({})).await;
    assert!(settling.settle(&first, unreadable()).await.is_err());
    let receipt = settling
        .settle(&first, Ok(Some(with_round(&blind))))
        .await
        .unwrap();
    assert_eq!(receipt.verdict.status, Ending::Rejected, "{receipt:?}");

    // a second delivery of the event
    assert!(settling.settle(&first, unreadable()).await.is_err());
    let key = receipt.object_key();
    let Got::Object(stored) = settling.results.get(&key, Some("0"), 1 << 20).await.unwrap() else {
        panic!("no receipt")
    };
    let stored: Receipt = serde_json::from_slice(&stored.bytes).unwrap();
    assert_eq!(stored.feedback, Some(Feedback::Nothing));
    let rewritten = settling.results.get(&key, Some("1"), 1 << 20).await.unwrap();
    assert!(matches!(rewritten, Got::Missing), "{rewritten:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejection_revealing_labels_costs_like_a_score() {
    let settling = Settling::new().await;
    let target = &settling.target;
    let markets = parameters(target)["markets"].as_object().unwrap().clone();
    let limited = json!({ "id": "spring", "opens": "2026-03-01T00:00:00Z", "daily_limit": 3 });
    let mut shown: Vec<Receipt> = Vec::new();
    let numbers: Vec<&String> = markets.keys().collect();
    for n in 0..6 {
        // in one market, in another, in two at once, and so on
        let mut request = question(target, numbers[n % numbers.len()]);
        if n == 2 {
            request[numbers[0].as_str()] = question(target, numbers[0])[numbers[0].as_str()].clone();
        }
        let upload = settling.upload(&n.to_string(), &request).await;
        let challenge = Ok(Some(with_round(&limited)));
        shown.push(settling.settle(&upload, challenge).await.unwrap());
    }
    let codes: Vec<&str> = shown
        .iter()
        .map(|receipt| receipt.verdict.reasons[0].code.as_str())
        .collect();
    let (request, refused) = ("one_label", "daily_limit");
    assert_eq!(codes, [request, request, request, refused, refused, refused]);
    for receipt in &shown[1..3] {
        let (one, other) = (&receipt.verdict.reasons, &shown[0].verdict.reasons);
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
