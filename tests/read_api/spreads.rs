//! How scores spread, as boards of the read API show it: kept in the rows, and read from receipts where rows have none.

use super::{ANONYMOUS, Reading};

/// The rows of a board, the first of which has the trials .75 and 1, say how their scores spread.
pub(super) async fn spreads_are_in_rows(reading: &Reading, board: &str) {
    let spread = reading
        .ask(ANONYMOUS, &format!("{board}?include=spread&limit=1"))
        .json();
    assert_eq!(
        spread["rows"][0]["spread"]["values"],
        serde_json::json!([0.75, 1.0])
    );
    assert_eq!(spread["rows"][0]["spread"]["std"], 0.125);
    // each row says it by itself; of one that has none the receipt is read
    let n_read = async || reading.world.n_requests(Some("BatchGetItem")).await;
    let all = format!("{board}?include=spread&limit=50");
    let of_rows = reading.ask(ANONYMOUS, &all).json();
    assert_eq!(n_read().await, 0);
    for item in reading
        .world
        .items()
        .await
        .iter()
        .filter(|item| item.contains_key("spread"))
    {
        let key = ["pk", "sk"].map(|name| (name.to_owned(), item[name].clone()));
        let update = reading
            .world
            .clients
            .dynamodb
            .update_item()
            .table_name("dataperf");
        let update = update
            .set_key(Some(key.into()))
            .update_expression("REMOVE spread");
        update.send().await.unwrap();
    }
    assert_eq!(reading.ask(ANONYMOUS, &all).json(), of_rows);
    assert_eq!(n_read().await, 1);
}
