//! What the tests of collections share: functions as they are deployed, and what people have done.

use std::collections::BTreeMap;
use std::time::Duration;

use dataperf::{Descriptor, Ending, Receipt, Timestamp};
use dataperf_aws::Item;
use dataperf_collections_aws::common::{Collection, name_rater};
use dataperf_local::Config;
use serde_json::Value;

use crate::support::project::binary;
use crate::support::world::{World, as_deployed};

/// Configures a collection's functions and the caretaker, each with the rights that it is deployed with, and their secret.
pub(crate) fn configure(config: &mut Config, collection: &Descriptor, secret: &str, keys: &Value) {
    let mut spec = config.functions[0].clone();
    config.functions.clear();
    for kind in collection.kinds {
        let name = format!("{}-{kind}", collection.id);
        spec.binary = binary(&name);
        spec.trigger.prefix = format!("{}/{kind}/", collection.id);
        spec.name = name;
        spec.environment.insert("DATAPERF_SECRET".into(), secret.into());
        config.functions.push(spec.clone());
    }
    as_deployed(config);
    config.secrets = BTreeMap::from([(secret.to_owned(), keys.to_string())]);
    config.retry_backoff = vec![Duration::from_millis(20); 2];
}

impl World {
    /// The items of the partitions whose names begin so.
    pub(crate) async fn items_below(&self, prefix: &str) -> Vec<Item> {
        let mut items = self.items().await;
        items.retain(|item| item["pk"].as_s().is_ok_and(|pk| pk.starts_with(prefix)));
        items
    }

    /// Makes somebody a rater.
    pub(crate) async fn name_rater<C: Collection>(&self, name: &str) {
        let at = Timestamp::from_unix_millis(0);
        name_rater::<C>(&self.leaderboards(), name, at).await.unwrap();
    }

    /// A person's count of days, of what the table counts as `noun`.
    pub(crate) async fn n_taken(&self, benchmark: &str, who: &str, noun: &str) -> u64 {
        let (pk, day) = (format!("{benchmark}#quota#{who}"), format!("{noun}#"));
        let items = self.items_below(&pk).await;
        let counted = items.iter().filter(|item| {
            let text = |name: &str| item[name].as_s().unwrap();
            *text("pk") == pk && text("sk").starts_with(&day)
        });
        counted
            .map(|item| item["n_taken"].as_n().unwrap().parse::<u64>().unwrap())
            .sum()
    }
}

pub(crate) fn status(receipt: &Receipt) -> Ending {
    receipt.verdict.status
}

/// The code of the first reason, if there is one.
pub(crate) fn code(receipt: &Receipt) -> &str {
    receipt.verdict.reasons.first().map_or("", |reason| &reason.code)
}
