//! The cost of images: which providers are called, for whom, and how often without a result.

use dataperf::Ending;
use dataperf_local::image_service::Behaviour;
use serde_json::{Value, json};

use super::{Nibbler, code, images, status};

/// A provider without a key is not called, and nobody is paid for an impossible set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_without_a_key_is_not_called() {
    let others = |least: usize| {
        move |rules: &mut Value| {
            let mut another = rules["generation"]["providers"][0].clone();
            another["name"] = json!("another");
            another["secret"] = json!("forgotten");
            let providers = rules["generation"]["providers"].as_array_mut().unwrap();
            providers.insert(0, another);
            rules["generation"]["min_images"] = json!(least);
        }
    };
    let nibbler = Nibbler::with(|_| (), others(3)).await;
    let sent = nibbler.ask("ada", "one", &["horse lying in ketchup"]).await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!(images(&receipt.verdict.lines[0]).len(), 3, "{receipt:#?}");
    assert_eq!(nibbler.world.images.n_requests(), 1);

    nibbler.rules(others(4));
    let sent = nibbler.ask("ada", "two", &["a quiet lake"]).await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!(
        (status(&receipt), code(&receipt)),
        (Ending::Failed, "organizer_fault")
    );
    assert_eq!(
        (nibbler.world.images.n_requests(), nibbler.n_taken("ada").await),
        (1, 1)
    );
}

/// Failures before a service has made anything are free without limit; failures that may cost money
/// are not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_that_cost_money_have_an_end() {
    let two = |rules: &mut Value| rules["generation"]["sets_a_day"] = json!(2);
    let nibbler = Nibbler::with(|_| (), two).await;
    let service = &nibbler.world.images;
    service.behave(Behaviour::Down);
    for n in 0..3 {
        let sent = nibbler.ask("ada", &format!("down-{n}"), &["a quiet lake"]).await;
        assert_eq!(status(&nibbler.receipt(&sent).await), Ending::Failed);
    }
    assert_eq!(service.n_requests(), 9, "each of three files in three runs");

    service.behave(Behaviour::NoImages);
    let sent = nibbler.ask("ada", "unusable", &["a quiet lake"]).await;
    assert_eq!(status(&nibbler.receipt(&sent).await), Ending::Failed);
    assert_eq!((service.n_requests(), nibbler.n_taken("ada").await), (12, 0));
    service.behave_in_turn(&[Behaviour::Normal, Behaviour::NoImages]);
    let sent = nibbler.ask("ada", "made", &["a quiet lake"]).await;
    assert_eq!(status(&nibbler.receipt(&sent).await), Ending::Accepted);
    let sent = nibbler.ask("ada", "more", &["a loud lake"]).await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!(
        (status(&receipt), code(&receipt)),
        (Ending::Rejected, "daily_failures")
    );
    let sent = nibbler
        .ask("ada", "mixed", &["a quiet lake", "a loud lake"])
        .await;
    let receipt = nibbler.receipt(&sent).await;
    let reason = &receipt.verdict.lines[1].reasons[0];
    assert_eq!(
        (reason.code.as_str(), reason.limit),
        ("daily_failures", Some(4)),
        "{reason:?}"
    );
    assert_eq!((service.n_requests(), nibbler.n_taken("ada").await), (13, 1));

    service.behave(Behaviour::Normal);
    let bo = nibbler.ask("bo", "one", &["a loud lake"]).await;
    assert_eq!(
        status(&nibbler.receipt(&bo).await),
        Ending::Accepted,
        "others have their own"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn raters_have_no_images_made() {
    let nibbler = Nibbler::new().await;
    nibbler.name_raters(&["rosa"]).await;
    let sent = nibbler.ask("rosa", "one", &["a quiet lake"]).await;
    let receipt = nibbler.receipt(&sent).await;
    assert_eq!((status(&receipt), code(&receipt)), (Ending::Rejected, "rater"));
    assert_eq!(nibbler.world.images.n_requests(), 0);
}
