//! Answers that a client knows already, and questions that make no sense.

use super::{ANONYMOUS, Reading, finish};
use crate::support::project::BENCHMARK;
use crate::support::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_known_answer_is_not_sent_again() {
    let world = World::without_dataset(|config| config.functions.clear()).await;
    finish(&world, "ada", 1, 0.5).await;
    finish(&world, "bo", 2, 0.25).await;
    let reading = Reading::new(world).await;
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let board = format!("{url}/leaderboards/en-25");

    let first = reading.ask(ANONYMOUS, &board);
    let tag = first.header("etag").to_owned();
    assert_eq!(
        first.header("cache-control"),
        "public, max-age=0, s-maxage=10, must-revalidate, stale-if-error=0"
    );
    for sent in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}")] {
        let again = reading.ask_with(ANONYMOUS, &board, &[("if-none-match", &sent)]);
        assert_eq!(
            (again.status, again.body.len(), again.header("etag")),
            (304, 0, tag.as_str()),
            "{sent}"
        );
    }
    finish(&reading.world, "cy", 3, 0.125).await;
    let changed = reading.ask_with(ANONYMOUS, &board, &[("if-none-match", &tag)]);
    assert_eq!((changed.status, changed.header("etag") == tag), (200, false));

    let other = reading.ask(ANONYMOUS, &format!("{board}/series?limit=1")).json();
    let foreign = format!("{board}?cursor={}", other["next"].as_str().unwrap());
    let first = reading.ask(ANONYMOUS, &format!("{board}?limit=1")).json();
    let sealed = first["next"].as_str().unwrap();
    let (begin, end) = sealed.split_at(sealed.len() / 2);
    let other = if end.starts_with('A') { 'B' } else { 'A' };
    let forged = format!("{board}?cursor={begin}{other}{}", &end[1..]);
    let nonsense: [(&str, u16, &str); 14] = [
        ("/api/v1/nowhere", 404, "openapi.json"),
        ("/api/v1/benchmarks/no-such", 404, "speech-selection"),
        (&format!("{url}/leaderboards/no-such"), 404, "lists them"),
        (&format!("{board}?round=no-such"), 404, "lists them"),
        (&format!("{board}?limit=0"), 400, "1 to 200"),
        (&format!("{board}?limit=201"), 400, "1 to 200"),
        (&format!("{board}?limit=some"), 400, "limit"),
        (&format!("{board}?rond=open"), 400, "rond"),
        (&format!("{board}?cursor=xyz"), 404, "next"),
        (&foreign, 404, "cursor"),
        (&forged, 404, "cursor"),
        (&format!("{url}/submissions"), 400, "submitter"),
        (&format!("{url}/submissions/123"), 400, "32 hexadecimal digits"),
        (
            &format!("{url}/submissions/{}", "0".repeat(32)),
            404,
            "no submission has this id",
        ),
    ];
    for (path, status, message) in nonsense {
        let answer = reading.ask(ANONYMOUS, path);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        let problem = answer.json();
        assert!(
            problem["detail"].as_str().unwrap().contains(message),
            "{path}: {problem}"
        );
        assert_eq!(problem["status"], status);
    }
    let written = tokio::task::block_in_place(|| {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent: ureq::Agent = config.build().into();
        agent.post(format!("{}{board}", reading.base)).send("{}").unwrap()
    });
    assert_eq!(written.status(), 405);
    assert_eq!(written.headers()["content-type"], "application/problem+json");
}
