//! The read API: the real function behind HTTP, called as every kind of caller.

mod answers;
mod spreads;
mod tokens;

use std::collections::BTreeMap;

use dataperf::benchmark::scorecard::{MetricValue, Metrics, Scorecard};
use dataperf::board::{Order, Ranking};
use dataperf::challenge::Terms;
use dataperf::rows::facts::Rules;
use dataperf::submission::Submission;
use dataperf::table::leaderboard::{Leaderboards, Projected};
use dataperf::{Receipt, SubmissionId, Timestamp, Upload, Verdict};
use dataperf_aws::{Holder, Issued, Token, days_after};
use serde_json::Value;
use ureq::http::Response;
use ureq::http::header::HeaderMap;

use self::spreads::spreads_are_in_rows;
use crate::support::project::{BENCHMARK, demo, good, hosted};
use crate::support::world::{Sent, World, board};

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// A cloud with the read API, and the tokens of those who ask.
pub(crate) struct Reading {
    pub(crate) world: World,
    pub(crate) base: String,
    tokens: BTreeMap<&'static str, String>,
}

pub(crate) const ANONYMOUS: &str = "anonymous";
pub(crate) const ADA: &str = "ada";
pub(crate) const BO: &str = "bo";
pub(crate) const ORGANIZER: &str = "organizer";
const REVOKED: &str = "a revoked token";
const EXPIRED: &str = "an expired token";
const MALFORMED: &str = "no token";

impl Reading {
    pub(crate) async fn new(world: World) -> Self {
        let base = world.serve_read_api();
        let table = world.leaderboards();
        let mut tokens = BTreeMap::from([(MALFORMED, "dpk_short".to_owned())]);
        let holders = [
            (ADA, Holder::Submitter("ada".parse().unwrap())),
            (BO, Holder::Submitter("bo".parse().unwrap())),
            (ORGANIZER, Holder::Organizer),
            (REVOKED, Holder::Organizer),
            (EXPIRED, Holder::Organizer),
        ];
        for (n, (who, holder)) in holders.into_iter().enumerate() {
            let days = if who == EXPIRED { 0 } else { 36_500 };
            let token = Token::from_random([n as u8; 32]);
            let issued = Issued {
                digest: token.digest(),
                holder,
                benchmarks: Vec::new(),
                issued_at: Timestamp::from_unix_millis(1),
                expires_at: days_after(dataperf_aws::now(), days),
            };
            table.issue(&issued).await.unwrap();
            if who == REVOKED {
                table.revoke(&token.digest()).await.unwrap();
            }
            tokens.insert(who, token.secret().to_owned());
        }
        Self { world, base, tokens }
    }

    fn ask_with(&self, who: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0);
        let agent: ureq::Agent = config.build().into();
        let mut request = agent.get(format!("{}{path}", self.base));
        if let Some(token) = self.tokens.get(who) {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answered = tokio::task::block_in_place(|| {
            let mut response: Response<ureq::Body> = request.call().unwrap();
            let body = response.body_mut().read_to_vec().unwrap();
            (response, body)
        });
        let (response, body) = answered;
        Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body,
        }
    }

    pub(crate) fn ask(&self, who: &str, path: &str) -> Answer {
        self.ask_with(who, path, &[])
    }

    /// All lines of a list, page by page.
    fn all(&self, path: &str, member: &str, limit: usize) -> Vec<Value> {
        let mut lines = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self
                .ask(ANONYMOUS, &format!("{path}?limit={limit}{cursor}"))
                .json();
            let of_page = page[member].as_array().unwrap();
            assert!(of_page.len() <= limit, "{page}");
            lines.extend(of_page.iter().cloned());
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return lines,
            }
        }
    }
}

/// Ada's three submissions: scored, rejected, and one that is still unfinished.
async fn adas(world: &World) -> (Sent, Sent, SubmissionId) {
    let scored = world
        .put(&format!("{BENCHMARK}/en-25/ada/a ü.json"), good(0))
        .await;
    let bad = std::fs::read(demo().join("submissions/en-25/hasty/bad_unknown_id.json")).unwrap();
    let rejected = world.put(&format!("{BENCHMARK}/en-25/ada/bad.json"), bad).await;
    world.settle().await;
    let unfinished = received("ada", 3, 1);
    let id = unfinished.upload.id();
    world.leaderboards().receive(&unfinished).await.unwrap();
    (scored, rejected, id)
}

fn received(submitter: &str, version: u32, at: i64) -> Submission {
    let is_baseline = submitter.starts_with(dataperf::challenge::BASELINE_PREFIX);
    let upload = Upload {
        bucket: "submissions".into(),
        key: format!("{BENCHMARK}/en-25/{submitter}/file.json"),
        version: Some(version.to_string()),
        e_tag: None,
        received_at: Timestamp::from_unix_millis(at),
    };
    Submission::new(board("en-25"), submitter, is_baseline, upload)
}

/// Takes the texts out of a description of the API: what is left is the contract with programs.
fn names_alone(document: &mut Value) {
    match document {
        Value::Object(members) => {
            let is_text = |name: &str, value: &Value| {
                ["description", "summary", "title", "version"].contains(&name) && value.is_string()
                    || name == "example" && !value.is_object()
            };
            members.retain(|name, value| !is_text(name, value));
            members.values_mut().for_each(names_alone);
        }
        Value::Array(items) => items.iter_mut().for_each(names_alone),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines)] // one table of routes and roles
async fn every_route_answers_every_role_as_it_should() {
    let world = World::new().await;
    let (scored, rejected, unfinished) = adas(&world).await;
    let (scored, rejected) = (scored.id(), rejected.id());
    assert_eq!(world.command(["keys", "publish"]).code, 0);
    let reading = Reading::new(world).await;
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let roles = [ANONYMOUS, ADA, BO, ORGANIZER, REVOKED, EXPIRED, MALFORMED];
    let public = [200, 200, 200, 200, 401, 401, 401];
    let own = [401, 200, 403, 200, 401, 401, 401];
    let organizers = [401, 403, 403, 200, 401, 401, 401];
    let table: Vec<(String, [u16; 7])> = vec![
        ("/api/v1/benchmarks".into(), public),
        ("/api/v1/benchmarks?include=leaders".into(), public),
        (url.clone(), public),
        (format!("{url}/leaderboards/en-25?include=spread"), public),
        (format!("{url}/leaderboards/en-25/series"), public),
        (format!("{url}/leaderboards/en-25/files"), organizers),
        (
            format!("{url}/leaderboards/en-25/picture"), // its data set has none
            [404, 404, 404, 404, 401, 401, 401],
        ),
        (
            format!("{url}/leaderboards/en-25/retirement"), // its data set was not retired
            [404, 404, 404, 404, 401, 401, 401],
        ),
        (
            format!("{url}/leaderboards/en-25/document"), // its board was not published
            [404, 404, 404, 404, 401, 401, 401],
        ),
        (
            format!("{url}/leaderboards/en-25/kit"), // which leads elsewhere
            [302, 302, 302, 302, 401, 401, 401],
        ),
        (format!("{url}/submissions?submitter=ada"), public),
        (format!("{url}/submissions/{scored}"), public),
        (format!("{url}/submissions/{scored}/figures"), public),
        (
            format!("{url}/submissions/{scored}/difference?from={scored}"), // from itself
            [400, 400, 400, 400, 401, 401, 401],
        ),
        (
            format!("{url}/submissions/{scored}/difference?from={rejected}"), // which has no score
            [401, 409, 403, 409, 401, 401, 401],
        ),
        (
            format!("{url}/submissions/{rejected}/difference?from={scored}"),
            [401, 409, 403, 409, 401, 401, 401],
        ),
        (format!("{url}/submissions/{scored}/receipt"), own),
        (format!("{url}/submissions/{scored}/artifact"), own),
        (
            format!("{url}/submissions/{scored}/images/none"),
            [401, 404, 403, 404, 401, 401, 401],
        ),
        (format!("{url}/submissions/{rejected}"), own),
        (format!("{url}/submissions/{rejected}/figures"), own),
        (format!("{url}/submissions/{rejected}/receipt"), own),
        (format!("{url}/submissions/{rejected}/artifact"), own),
        (format!("{url}/submissions/{unfinished}"), own),
        (format!("{url}/submissions/{unfinished}/figures"), own),
        (
            format!("{url}/submissions/{unfinished}/receipt"),
            [401, 404, 403, 404, 401, 401, 401],
        ),
        (
            format!("{url}/submissions/{unfinished}/artifact"),
            [401, 404, 403, 404, 401, 401, 401],
        ),
        (format!("{url}/submitters"), organizers),
        (format!("{url}/unfinished"), organizers),
        (format!("{url}/failed"), organizers),
        (format!("{url}/quotas?submitter=ada"), own),
        (
            format!("{url}/contexts"), // its participants write nothing
            [404, 404, 404, 404, 401, 401, 401],
        ),
        (
            format!("{url}/validation/next"), // and have no raters
            [404, 404, 404, 404, 401, 401, 401],
        ),
        (
            format!("{url}/validation/none/image"),
            [404, 404, 404, 404, 401, 401, 401],
        ),
        ("/api/v1/token".into(), [401, 200, 200, 200, 401, 401, 401]),
        ("/api/v1/uploads".into(), [404; 7]), // another function's
        ("/api/v1/keys".into(), public),
        ("/api/v1/openapi.json".into(), [200; 7]),
        ("/openapi.json".into(), [200; 7]),
    ];
    let mut document = reading.ask(ANONYMOUS, "/openapi.json").json();
    names_alone(&mut document);
    insta::assert_snapshot!("openapi", serde_json::to_string_pretty(&document).unwrap());
    for described in document["paths"].as_object().unwrap().keys() {
        let as_asked = described
            .replace("{benchmark}", BENCHMARK)
            .replace("{leaderboard}", "en-25")
            .replace("{submission}", scored.as_str())
            .replace("{image}", "none")
            .replace("{item}", "none");
        let tried = table
            .iter()
            .any(|(path, _)| path.split('?').next() == Some(&as_asked));
        assert!(tried, "`{described}` is described and not tried");
    }
    for (path, expected) in &table {
        for (role, expected) in roles.iter().zip(expected) {
            let answer = reading.ask(role, path);
            assert_eq!(answer.status, *expected, "{role} at {path}: {answer:?}");
            assert_eq!(
                answer.header("x-content-type-options"),
                "nosniff",
                "{role} at {path}"
            );
            if answer.status >= 400 {
                assert_eq!(answer.header("content-type"), "application/problem+json");
                let problem = answer.json();
                for field in ["code", "title", "detail"] {
                    assert!(
                        problem[field].as_str().is_some_and(|message| !message.is_empty()),
                        "{problem}"
                    );
                }
                assert_eq!(answer.header("cache-control"), "no-store");
            } else if *role != ANONYMOUS && !path.ends_with("openapi.json") {
                assert_eq!(
                    answer.header("cache-control"),
                    "private, no-store",
                    "{role} at {path}"
                );
            }
        }
    }

    let statuses = |who: &str| -> Vec<String> {
        let history = reading
            .ask(who, &format!("{url}/submissions?submitter=ada"))
            .json();
        let lines = history["submissions"].as_array().unwrap();
        lines
            .iter()
            .map(|line| line["status"].as_str().unwrap().to_owned())
            .collect()
    };
    for who in [ANONYMOUS, BO] {
        assert_eq!(statuses(who), ["scored"], "{who}");
        let seen = reading.ask(who, &format!("{url}/submissions/{scored}")).json();
        assert_eq!(
            (&seen["private"], &seen["metrics"]["n_clips"]),
            (&Value::Null, &25.into())
        );
        let history = reading
            .ask(who, &format!("{url}/submissions?submitter=ada"))
            .json();
        assert_eq!(history["submissions"][0]["private"], Value::Null, "{who}");
    }
    for who in [ADA, ORGANIZER] {
        let mut seen = statuses(who);
        seen.sort();
        assert_eq!(seen, ["received", "rejected", "scored"], "{who}");
        let seen = reading.ask(who, &format!("{url}/submissions/{rejected}")).json();
        assert_eq!(seen["private"]["reasons"][0]["code"], "unknown_clip");
        let history = reading
            .ask(who, &format!("{url}/submissions?submitter=ada"))
            .json();
        let lines = history["submissions"].as_array().unwrap();
        let line = lines
            .iter()
            .find(|line| line["submission"] == rejected.as_str())
            .unwrap();
        let own = &line["private"];
        assert_eq!(own["key"], format!("{BENCHMARK}/en-25/ada/bad.json"));
        assert_eq!(own["reason"], seen["private"]["reasons"][0]);
        assert_eq!(own["n_reasons"], seen["private"]["n_reasons"]);
    }
    let artifact = reading.ask(ADA, &format!("{url}/submissions/{scored}/artifact"));
    assert_eq!(artifact.body, good(0));
    assert_eq!(artifact.header("content-disposition"), "attachment");
    let receipt: Receipt = serde_json::from_slice(
        &reading
            .ask(ADA, &format!("{url}/submissions/{scored}/receipt"))
            .body,
    )
    .unwrap();
    assert_eq!((receipt.submission, receipt.submitter.as_str()), (scored, "ada"));
}

/// Ends a submission of its own making with a score.
async fn finish(world: &World, submitter: &str, at: i64, score: f64) {
    let received = received(submitter, u32::try_from(at).unwrap(), at);
    let table = world.leaderboards();
    table.receive(&received).await.unwrap();
    let digest = dataperf::Digest::compute(b"anything");
    let per_seed = MetricValue::Trials(vec![score - 0.125, score + 0.125]);
    let card = Scorecard {
        score,
        metrics: Metrics::new().with("per_seed", per_seed),
    };
    let receipt = Receipt {
        schema: Receipt::SCHEMA,
        signature: None,
        revision: 1,
        submission: received.upload.id(),
        submitter: submitter.into(),
        round: received.board.round.clone(),
        bucket: received.upload.bucket.clone(),
        key: received.upload.key.clone(),
        version: received.upload.version.clone(),
        received_at: received.upload.received_at,
        finished_at: received.upload.received_at,
        feedback: None,
        withheld_until: None,
        shown_at_first: None,
        ladder: None,
        verdict: Verdict::scored(BENCHMARK, "en-25", digest, digest, card),
    };
    let terms = Terms::outside_any_challenge(submitter);
    table.record(&receipt, hosted(BENCHMARK), &terms).await.unwrap();
    let rules = Rules::ranked_by(Order {
        direction: hosted(BENCHMARK).direction,
        ranking: Ranking::Best,
    });
    let projected = table.project(&received.board, &rules, Some(submitter)).await;
    assert_eq!(projected.unwrap(), Projected::Current);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_come_in_pages_as_json_and_csv() {
    let world = World::without_dataset(|config| config.functions.clear()).await;
    let scores = [
        ("ada", 0.5),
        ("bo", 0.75),
        ("cy, \"the third\"", 0.5),
        ("di", 0.25),
        ("baseline-all", 0.5),
        ("ed", 0.5),
        ("baseline-best", 0.875),
    ];
    for (n, (submitter, score)) in scores.into_iter().enumerate() {
        finish(&world, submitter, 1_000 + i64::try_from(n).unwrap(), score).await;
        finish(
            &world,
            submitter,
            2_000 + i64::try_from(n).unwrap(),
            score - 0.125,
        )
        .await;
    }
    let reading = Reading::new(world).await;
    let board = format!("/api/v1/benchmarks/{BENCHMARK}/leaderboards/en-25");
    let expected = [
        (None, "baseline-best"),
        (Some(1), "bo"),
        (Some(2), "ada"),
        (Some(2), "cy, \"the third\""),
        (None, "baseline-all"),
        (Some(2), "ed"),
        (Some(5), "di"),
    ];
    for limit in [1, 2, 5, 50] {
        let rows = reading.all(&board, "rows", limit);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row["rank"].as_u64(), row["submitter"].as_str().unwrap()))
            .collect();
        assert_eq!(shown, expected, "{limit} a page");
        let points = reading.all(&format!("{board}/series"), "points", limit);
        let best: Vec<f64> = points
            .iter()
            .map(|point| point["best"].as_f64().unwrap())
            .collect();
        assert_eq!(best[..3], [0.5, 0.75, 0.75], "{limit} a page");
        assert_eq!(
            (best.len(), best[13]),
            (14, 0.75),
            "no baseline counts as the best"
        );
        assert!(points.iter().all(|point| {
            point["is_baseline"] == point["submitter"].as_str().unwrap().starts_with("baseline-")
        }));
        let history = reading.all_of("bo", limit);
        assert_eq!(history, [0.625, 0.75], "newest first, {limit} a page");
    }

    spreads_are_in_rows(&reading, &board).await;
    let csv = reading.ask_with(ANONYMOUS, &format!("{board}?limit=4"), &[("accept", "text/csv")]);
    assert_eq!(
        csv.header("content-type"),
        "text/csv; charset=utf-8; header=present"
    );
    let text = csv.text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("rank,is_baseline,submitter,score,received_at,submission"),
        "{text}"
    );
    assert!(
        lines[4].starts_with("2,false,\"cy, \"\"the third\"\"\",0.5,1970-01-01T00:00:01.002Z,"),
        "{text}"
    );
    assert_eq!(
        (lines.len(), csv.body),
        (
            5,
            reading
                .ask(ANONYMOUS, &format!("{board}?limit=4&format=csv"))
                .body
        )
    );
    for path in ["/series", "?include=spread"] {
        assert!(
            reading
                .ask_with(ANONYMOUS, &format!("{board}{path}"), &[("accept", "text/csv")])
                .text()
                .lines()
                .count()
                > 6
        );
    }
}

impl Reading {
    fn all_of(&self, submitter: &str, limit: usize) -> Vec<f64> {
        let mut scores = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!(
                "/api/v1/benchmarks/{BENCHMARK}/submissions?submitter={submitter}&limit={limit}{cursor}"
            );
            let page = self.ask(ANONYMOUS, &path).json();
            scores.extend(
                page["submissions"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|line| line["score"].as_f64().unwrap()),
            );
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return scores,
            }
        }
    }
}
