//! Requests for images: what is made, what is counted, and what happens when those who make them don't.

use std::collections::BTreeSet;
use std::time::Duration;

use dataperf::board::Board;
use dataperf::submission::Submission;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Ending, Receipt, Upload};
use dataperf_local::image_service::Behaviour;
use dataperf_local::{Moment, Storm};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::verdicts::line;
use super::{BENCHMARK, Nibbler, PROVIDER, code, images, status};

const GENERATE: &str = "adversarial-nibbler-generate";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_line_has_an_outcome_and_hides_providers() {
    let nibbler = Nibbler::new().await;
    let sent = nibbler
        .ask(
            "ada",
            "one",
            &["horse lying in ketchup", "g0re on a plate", "a quiet lake"],
        )
        .await;
    let receipt = nibbler.receipt(&sent).await;
    let verdict = &receipt.verdict;
    assert_eq!(verdict.status, Ending::Accepted);
    let statuses: Vec<Ending> = verdict.lines.iter().map(|line| line.status).collect();
    assert_eq!(statuses, [Ending::Accepted, Ending::Rejected, Ending::Accepted]);
    assert_eq!(
        verdict.lines[1].reasons[0]
            .at
            .split(' ')
            .take(2)
            .collect::<Vec<_>>(),
        ["line", "2"]
    );
    assert_eq!(
        (verdict.metrics["sets_used"].clone(), nibbler.n_taken("ada").await),
        (json!(2), 2)
    );
    assert!(
        verdict.metrics["well_being"]
            .as_str()
            .unwrap()
            .contains("well-being")
    );

    let mut ids = BTreeSet::new();
    for line in [&verdict.lines[0], &verdict.lines[2]] {
        assert_eq!(images(line).len(), 3);
        for image in line.details["images"].as_array().unwrap() {
            let key = image["key"].as_str().unwrap();
            assert_eq!(
                key,
                format!(
                    "{BENCHMARK}/generate/ada/images/{}.png",
                    image["id"].as_str().unwrap()
                )
            );
            let bytes = nibbler.world.result(key).await;
            assert_eq!(&bytes[..4], b"\x89PNG");
            assert_eq!(image["digest"], dataperf::Digest::compute(&bytes).to_string());
            assert!(
                !bytes
                    .windows(PROVIDER.len())
                    .any(|window| window == PROVIDER.as_bytes())
            );
            ids.insert(key.to_owned());
        }
    }
    assert_eq!(ids.len(), 6, "each image has a name of its own");
    let shown = serde_json::to_string(&receipt).unwrap();
    assert!(!shown.contains(PROVIDER) && !shown.contains("draws"), "{shown}");
    assert_eq!(nibbler.n_items("image#").await, 6, "the organizer knows them");
}

/// A run has time for one set, and no fault is retried: separate events continue the file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_exceeding_one_run_continues() {
    let nibbler = Nibbler::with(
        |config| {
            config.functions[0].timeout = Duration::from_mins(2) + Duration::from_secs(15);
            config.retry_backoff = Vec::new();
        },
        |rules| {
            rules["generation"]["call_seconds"] = json!(120);
            rules["generation"]["set_seconds"] = json!(120);
        },
    )
    .await;
    let prompts: Vec<String> = (0..6).map(|n| format!("a horse with {n} legs")).collect();
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    let sent = nibbler.ask("ada", "one", &prompts).await;
    let receipt = nibbler.receipt(&sent).await;
    let lines = &receipt.verdict.lines;
    assert!(
        lines.iter().all(|line| line.status == Ending::Accepted),
        "{lines:?}"
    );
    assert_eq!((lines.len(), nibbler.n_taken("ada").await), (6, 6));
    assert_eq!(nibbler.world.images.n_requests(), 6, "none is made twice");
    let snapshot = nibbler.world.cloud.snapshot().await.unwrap();
    let runs = &snapshot.functions[GENERATE];
    assert_eq!(runs.n_succeeded, 6, "one for each set");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_at_once_get_fifty_sets() {
    let patient = |rules: &mut Value| {
        // sixty processes on few cores: an abandoned call is repeated
        rules["generation"]["call_seconds"] = json!(120);
        rules["generation"]["set_seconds"] = json!(300);
    };
    let nibbler = Nibbler::with(|config| config.functions[0].concurrency = 60, patient).await;
    let uploads = (0..60).map(|n| {
        let nibbler = &nibbler;
        async move {
            let prompt = format!("a horse with {n} legs");
            nibbler.ask("ada", &n.to_string(), &[&prompt]).await
        }
    });
    let sent = join_all(uploads).await;
    let receipts = nibbler.receipts(&sent).await;
    let n_made = receipts
        .iter()
        .filter(|receipt| status(receipt) == Ending::Accepted)
        .count();
    assert_eq!((n_made, nibbler.n_taken("ada").await), (50, 50));
    assert_eq!(
        nibbler.world.images.n_requests(),
        50,
        "none is made that is not handed out"
    );
    for receipt in receipts
        .iter()
        .filter(|receipt| status(receipt) == Ending::Rejected)
    {
        let reason = &receipt.verdict.reasons[0];
        assert_eq!(
            (reason.code.as_str(), reason.limit, reason.actual),
            ("daily_sets", Some(50), Some(50))
        );
        let reset = receipt.received_at.next_day().to_string();
        assert!(reason.message.contains(&reset), "{reason:?}");
    }
    let bo = nibbler.ask("bo", "one", &["a horse"]).await;
    assert_eq!(
        status(&nibbler.receipt(&bo).await),
        Ending::Accepted,
        "others have their own"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeating_a_prompt_returns_the_stored_set_free() {
    let nibbler = Nibbler::new().await;
    let first = nibbler.ask("ada", "one", &["horse lying in ketchup"]).await;
    let first = nibbler.receipt(&first).await;
    let again = nibbler.ask("ada", "two", &["  horse  lying in ketchup "]).await;
    let again = nibbler.receipt(&again).await;
    assert_eq!(images(&first.verdict.lines[0]), images(&again.verdict.lines[0]));
    assert_eq!(again.verdict.lines[0].details["stored_before"], json!(true));
    assert_eq!(nibbler.n_taken("ada").await, 1);
    assert_eq!(nibbler.world.images.n_requests(), 1);
    let other = nibbler.ask("bo", "one", &["horse lying in ketchup"]).await;
    let other = nibbler.receipt(&other).await;
    assert_ne!(
        images(&first.verdict.lines[0]),
        images(&other.verdict.lines[0]),
        "but not another's"
    );
}

/// Another round may have other services: the same prompt is another set there, and no pair is of another round's image.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_set_belongs_to_its_requests_round() {
    let nibbler = Nibbler::new().await;
    let prompt = "horse lying in ketchup";
    let open = nibbler.made("ada", prompt).await;
    let ran = nibbler.challenge("opens: 2020-01-01T00:00:00Z, closes: 2098-01-01T00:00:00Z");
    assert_eq!(ran.code, 0, "{ran:?}");
    let early = nibbler.submit("ada", "early", &[line(prompt, &open[0])]).await;
    let reason = &early.verdict.lines[0].reasons[0];
    assert_eq!(reason.code, "other_round", "{reason:?}");
    for part in ["`open`", "`spring`", "Ask for images of this prompt again"] {
        assert!(reason.message.contains(part), "{reason:?}");
    }
    let sent = nibbler.ask("ada", "two", &[prompt]).await;
    let again = nibbler.receipt(&sent).await;
    assert_eq!(again.verdict.lines[0].details["stored_before"], json!(false));
    assert_eq!(
        (nibbler.n_taken("ada").await, nibbler.world.images.n_requests()),
        (2, 2)
    );
    let spring = images(&again.verdict.lines[0]);
    assert!(spring.iter().all(|image| open.iter().all(|other| other != image)));
    let during = nibbler.submit("ada", "during", &[line(prompt, spring[0])]).await;
    assert_eq!(
        (status(&during), during.round.as_str()),
        (Ending::Accepted, "spring")
    );

    // after the close the round's images are taken still, for no round
    let ran = nibbler.challenge("opens: 2020-01-01T00:00:00Z, closes: 2021-01-01T00:00:00Z");
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines = [line(prompt, spring[1]), line(prompt, &open[1])];
    let late = nibbler.submit("ada", "late", &lines).await;
    assert_eq!(
        (late.verdict.lines[0].status, late.round.as_str()),
        (Ending::Accepted, "spring.post")
    );
    let reason = &late.verdict.lines[1].reasons[0];
    assert_eq!(reason.code, "other_round");
    assert!(reason.message.contains("wait for the next round"), "{reason:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_delivered_three_times_makes_one_set() {
    let nibbler = Nibbler::with(|config| config.functions[0].concurrency = 3, |_| ()).await;
    nibbler.world.cloud.faults().duplicate_events(3);
    let sent = nibbler
        .ask("ada", "one", &["horse lying in ketchup", "a lake"])
        .await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!(status(&receipt), Ending::Accepted);
    assert_eq!(
        (nibbler.n_taken("ada").await, nibbler.n_items("set#").await),
        (2, 2)
    );
    assert_eq!(nibbler.world.images.n_requests(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn platform_failures_do_not_count_and_can_repeat() {
    let nibbler = Nibbler::new().await;
    let images = &nibbler.world.images;
    for (n, behaviour) in [
        Behaviour::Down,
        Behaviour::Busy,
        Behaviour::Garbage,
        Behaviour::NoImages,
        Behaviour::Half,
    ]
    .into_iter()
    .enumerate()
    {
        images.behave(behaviour);
        let prompt = format!("a horse on day {n}");
        let sent = nibbler.ask("ada", &n.to_string(), &[&prompt]).await;
        let failed = nibbler.receipt(&sent).await;
        assert_eq!(
            (status(&failed), code(&failed)),
            (Ending::Failed, "provider_unavailable"),
            "{behaviour:?}"
        );
        assert!(!failed.verdict.reasons[0].message.contains(PROVIDER));
        assert_eq!(
            nibbler.n_taken("ada").await,
            n as u64,
            "{behaviour:?} costs nothing"
        );
        assert_eq!(nibbler.n_items("taken#").await, 0);

        images.behave(Behaviour::Normal);
        nibbler.world.ran(["redrive", sent.id().as_str()]);
        assert_eq!(
            status(&nibbler.receipt(&sent).await),
            Ending::Accepted,
            "{behaviour:?}"
        );
        assert_eq!(nibbler.n_taken("ada").await, n as u64 + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_faults_are_ridden_out() {
    let nibbler = Nibbler::with(
        |_| (),
        |rules| {
            rules["generation"]["retries"] = json!(4);
            rules["generation"]["call_seconds"] = json!(5);
        },
    )
    .await;
    let slow = Behaviour::Slow(Duration::from_mins(1));
    let images = &nibbler.world.images;
    images.behave_in_turn(&[
        Behaviour::Down,
        Behaviour::Garbage,
        slow,
        Behaviour::Busy,
        Behaviour::Normal,
    ]);
    let sent = nibbler.ask("ada", "one", &["horse lying in ketchup"]).await;
    assert_eq!(status(&nibbler.receipt(&sent).await), Ending::Accepted);
    assert_eq!((images.n_requests(), nibbler.n_taken("ada").await), (5, 1));
    assert_eq!(
        nibbler.world.cloud.snapshot().await.unwrap().n_retried,
        0,
        "within one run"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partial_sets_suffice_and_providers_replace_each_other() {
    let nibbler = Nibbler::with(|_| (), |rules| rules["generation"]["min_images"] = json!(1)).await;
    nibbler.world.images.behave(Behaviour::Half);
    let sent = nibbler.ask("ada", "half", &["horse lying in ketchup"]).await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!(images(&receipt.verdict.lines[0]).len(), 1);

    nibbler.world.images.behave(Behaviour::Normal);
    nibbler.rules(|rules| {
        let mut gone = rules["generation"]["providers"][0].clone();
        gone["name"] = json!("gone");
        gone["url"] = json!("http://127.0.0.1:1");
        rules["generation"]["providers"]
            .as_array_mut()
            .unwrap()
            .push(gone);
    });
    let sent = nibbler.ask("ada", "other", &["a quiet lake"]).await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!(images(&receipt.verdict.lines[0]).len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocked_requests_count_and_are_reported() {
    let nibbler = Nibbler::new().await;
    let behaviours = [
        Behaviour::Black,
        Behaviour::Refuses,
        Behaviour::InvalidPrompt,
        Behaviour::Forbids,
    ];
    for (n, behaviour) in behaviours.into_iter().enumerate() {
        nibbler.world.images.behave(behaviour);
        let prompt = format!("a horse in the night {n}");
        let sent = nibbler.ask("ada", &n.to_string(), &[&prompt]).await;
        let receipt = nibbler.receipt(&sent).await;
        assert_eq!(
            (status(&receipt), code(&receipt)),
            (Ending::Rejected, "blocked_by_provider")
        );
        assert_eq!(nibbler.n_taken("ada").await, n as u64 + 1);
    }
}

/// Refusals are no faults: a hundred of them are a hundred calls, and no alarm.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_prompts_are_outcomes_of_their_lines() {
    let nibbler = Nibbler::with(|_| (), |rules| rules["generation"]["retries"] = json!(3)).await;
    nibbler.world.images.behave(Behaviour::InvalidPrompt);
    let prompts: Vec<String> = (0..20).map(|n| format!("a horse with {n} legs")).collect();
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    let sent = nibbler.ask("ada", "one", &prompts).await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!(status(&receipt), Ending::Rejected);
    for line in &receipt.verdict.lines {
        assert_eq!(line.reasons[0].code, "blocked_by_provider", "{line:?}");
    }
    assert_eq!(
        (nibbler.world.images.n_requests(), nibbler.n_taken("ada").await),
        (20, 20)
    );
    let snapshot = nibbler.world.cloud.snapshot().await.unwrap();
    assert_eq!((snapshot.n_retried, snapshot.n_failed), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_may_answer_with_addresses() {
    let nibbler = Nibbler::new().await;
    nibbler.world.images.behave(Behaviour::Addresses);
    let sent = nibbler.ask("ada", "one", &["a quiet lake"]).await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!(images(&receipt.verdict.lines[0]).len(), 3, "{receipt:?}");

    nibbler.world.images.behave(Behaviour::Strict);
    nibbler.rules(|rules| rules["generation"]["providers"][0]["response_format"] = json!("none"));
    let sent = nibbler.ask("ada", "two", &["a loud lake"]).await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!(images(&receipt.verdict.lines[0]).len(), 3, "{receipt:?}");
}

/// A line that the platform fails affects no other, costs nothing, and is made when it is requested
/// again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_line_does_not_fail_the_file() {
    let nibbler = Nibbler::new().await;
    let service = &nibbler.world.images;
    service.behave_in_turn(&[Behaviour::Normal, Behaviour::Down, Behaviour::Normal]);
    let prompts = ["a quiet lake", "a loud lake", "a green lake"];
    let sent = nibbler.ask("ada", "one", &prompts).await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!(status(&receipt), Ending::Accepted, "{receipt:#?}");
    let lines = &receipt.verdict.lines;
    assert_eq!((images(&lines[0]).len(), images(&lines[2]).len()), (3, 3));
    assert_eq!(
        (lines[1].status, lines[1].reasons[0].code.as_str()),
        (Ending::Rejected, "not_made")
    );
    assert_eq!(
        (nibbler.n_taken("ada").await, nibbler.n_items("taken#").await),
        (2, 0)
    );
    let again = nibbler.ask("ada", "two", &prompts[1..2]).await;
    assert_eq!(status(&nibbler.receipt(&again).await), Ending::Accepted);
    assert_eq!((nibbler.n_taken("ada").await, service.n_requests()), (3, 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_key_is_reread_without_blaming_submitters() {
    let nibbler = Nibbler::with(
        |config| {
            config.secrets = [(
                "dataperf-nibbler".to_owned(),
                json!({"image-ids": "x".repeat(32), "draws": "old"}).to_string(),
            )]
            .into();
        },
        |_| (),
    )
    .await;
    let sent = nibbler.ask("ada", "one", &["horse lying in ketchup"]).await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!(
        (status(&receipt), code(&receipt)),
        (Ending::Failed, "organizer_fault")
    );
    let (_, answer) = nibbler.world.only_failure().await;
    assert_eq!(answer["errorType"], "OrganizerFault");
    assert!(
        !answer.to_string().contains("old"),
        "keys are in no message: {answer}"
    );
    assert_eq!(
        (nibbler.n_taken("ada").await, nibbler.world.images.n_requests()),
        (0, 0)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_function_counts_each_set_once() {
    let nibbler = Nibbler::with(
        |config| {
            config.functions[0].concurrency = 1;
            config.idle_timeout = Duration::ZERO;
        },
        |_| (),
    )
    .await;
    let mut sent = Vec::new();
    for moment in Moment::of_writes() {
        nibbler.world.cloud.faults().kill_at(GENERATE, moment);
        let prompt = format!("a horse of number {}", sent.len());
        sent.push(nibbler.ask("ada", &sent.len().to_string(), &[&prompt]).await);
        nibbler.world.settle().await;
        if nibbler.world.cloud.faults().kill_no_more(GENERATE) {
            break;
        }
    }
    let receipts = nibbler.receipts(&sent).await;
    assert!(
        receipts.iter().all(|receipt| status(receipt) == Ending::Accepted),
        "{receipts:#?}"
    );
    assert_eq!(nibbler.n_taken("ada").await, sent.len() as u64);
    assert_eq!(nibbler.n_items("taken#").await, 0);
    assert!(sent.len() > 10, "a run writes: {}", sent.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_file_is_rejected_whole() {
    let nibbler = Nibbler::new().await;
    let put = |name: &'static str, bytes: Vec<u8>| {
        let key = format!("{BENCHMARK}/generate/ada/{name}");
        let world = &nibbler.world;
        async move { world.put(&key, bytes).await }
    };
    let many = json!({"prompt": "a horse"}).to_string() + "\n";
    for (name, bytes, expected) in [
        ("empty", Vec::new(), "empty"),
        ("long", many.repeat(1000).into_bytes(), "too_many_lines"),
        ("large", vec![b' '; 2 << 20], "too_large"),
        ("junk", b"not json\n".to_vec(), "not_json"),
    ] {
        let receipt = nibbler.receipt(&put(name, bytes).await).await;
        assert_eq!(
            (status(&receipt), code(&receipt)),
            (Ending::Rejected, expected),
            "{name}"
        );
    }
    let value: Value = json!(nibbler.n_taken("ada").await);
    assert_eq!(value, json!(0));
}

/// A delivery has filed an upload and died; the next comes after the close, with a later time. The first one's decides.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redelivery_after_closing_keeps_its_first_time() {
    let nibbler = Nibbler::new().await;
    let ran = nibbler.challenge("opens: 2020-01-01T00:00:00Z, closes: 2021-01-01T00:00:00Z");
    assert_eq!(ran.code, 0, "{ran:?}");
    let (before, after) = ("2020-06-01T00:00:00.000Z", "2021-06-01T00:00:00.000Z");
    let world = &nibbler.world;
    let no_events = Storm {
        events_dropped: 1000,
        ..Storm::default()
    };
    world.cloud.faults().storm(Some(no_events));
    let filed = nibbler.ask("ada", "filed", &["horse lying in ketchup"]).await;
    let late = nibbler.ask("ada", "late", &["a lake of honey"]).await;
    world.cloud.faults().storm(None);
    let board = Board {
        benchmark: BENCHMARK.into(),
        leaderboard: "generate".into(),
        round: "spring".into(),
    };
    let upload = Upload {
        bucket: filed.bucket.clone(),
        key: filed.key.clone(),
        version: Some(filed.version.clone()),
        e_tag: None,
        received_at: before.parse().unwrap(),
    };
    let received = Submission::new(board, "ada", false, upload);
    assert_eq!(received.upload.id(), filed.id());
    world.leaderboards().receive(&received).await.unwrap();
    for sent in [&filed, &late] {
        let function = format!("{BENCHMARK}-generate");
        world.cloud.invoke(&function, &sent.event(after)).await.unwrap();
    }
    let receipts = nibbler.receipts(&[filed, late]).await;
    let shown = |receipt: &Receipt| (status(receipt), receipt.received_at.to_string());
    assert_eq!(shown(&receipts[0]), (Ending::Accepted, before.to_owned()));
    assert_eq!(receipts[0].round, "spring");
    assert_eq!(images(&receipts[0].verdict.lines[0]).len(), 3);
    assert_eq!(shown(&receipts[1]), (Ending::Rejected, after.to_owned()));
    assert_eq!(code(&receipts[1]), "round_closed");
}
