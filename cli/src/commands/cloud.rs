//! `dataperf cloud`: which cloud the other commands use.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::Done;
use crate::cloud::CloudArgs;
use crate::output::{Format, print_json, table};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: ShowArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.connect().await;
    let names = &cloud.names;
    let rows = [
        ("region", cloud.clients.region().unwrap_or_default()),
        ("uploads", &cloud.submissions_address().1),
        ("submissions_bucket", &names.submissions_bucket),
        ("datasets_bucket", &names.datasets_bucket),
        ("results_bucket", &names.results_bucket),
        ("table", &names.table),
        ("signing_key", &names.signing_key),
    ];
    match format {
        Format::Json => print_json(&json!(std::collections::BTreeMap::from(rows)))?,
        Format::Text => {
            let mut shown = table(&["name", "value"]);
            for (name, value) in rows {
                shown.add_row([name, value]);
            }
            println!("{shown}");
        }
    }
    Ok(Done::Fine)
}
