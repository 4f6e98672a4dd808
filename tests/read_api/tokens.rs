//! How long a token of the read API is valid.

use dataperf::Timestamp;

use super::{EXPIRED, Reading};
use crate::support::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_valid_until_it_expires() {
    let world = World::new().await;
    let create = |more: &[&str]| {
        let ran = world.ran([&["token", "create", "--organizer"], more].concat());
        ran.json()
    };
    let days = |token: &serde_json::Value| {
        let until: Timestamp = token["expires_at"].as_str().unwrap().parse().unwrap();
        (until.unix_millis() - dataperf_aws::now().unix_millis() + 43_200_000) / 86_400_000
    };
    let (usual, week) = (create(&[]), create(&["--expires", "7"]));
    assert_eq!((days(&usual), days(&week)), (90, 7));
    for refused in ["0", "367", "never"] {
        let ran = world.command(["token", "create", "--organizer", "--expires", refused]);
        assert_eq!(ran.code, 1, "{ran:?}");
    }
    let listed = world.command(["token", "list"]).json();
    let of_week = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|token| token["id"] == week["id"]);
    // the table keeps whole seconds
    let second = |token: &serde_json::Value| token["expires_at"].as_str().unwrap()[..19].to_owned();
    assert_eq!(of_week.map(second), Some(second(&week)), "{listed}");
    assert!(
        listed
            .as_array()
            .unwrap()
            .iter()
            .all(|token| token["expired"] == false),
        "{listed}"
    );

    let reading = Reading::new(world).await;
    let refused = reading.ask(EXPIRED, "/api/v1/benchmarks").json();
    assert_eq!(refused["code"], "expired_token", "{refused}");
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains("dataperf token create"),
        "{refused}"
    );
    let listed = reading.world.command(["token", "list"]).json();
    assert!(
        listed
            .as_array()
            .unwrap()
            .iter()
            .any(|token| token["expired"] == true),
        "{listed}"
    );
}
