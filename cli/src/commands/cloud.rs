//! `dataperf cloud`: which cloud the other commands use.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::Done;
use crate::cloud::CloudArgs;
use crate::cloud::api::Page;
use crate::cloud::connection::Connection;
use crate::output::{Format, print_json, table};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: ShowArgs, format: Format) -> Result<Done> {
    let connection = args.cloud.choose().await?;
    let cloud = match &connection {
        Connection::Keys(cloud) => cloud,
        Connection::Page(page) => return print_page(page, format),
    };
    let names = &cloud.names;
    print(
        &[
            ("region", cloud.clients.region().unwrap_or_default()),
            ("uploads", &cloud.submissions_address().1),
            ("submissions_bucket", &names.submissions_bucket),
            ("datasets_bucket", &names.datasets_bucket),
            ("results_bucket", &names.results_bucket),
            ("table", &names.table),
            ("signing_key", &names.signing_key),
        ],
        format,
    )
}

/// The page that commands for participants use; the token does not move.
fn print_page(page: &Page, format: Format) -> Result<Done> {
    let access = if page.has_token() {
        "your token"
    } else {
        "the public's"
    };
    print(&[("page", page.url()), ("access", access)], format)
}

fn print(rows: &[(&str, &str)], format: Format) -> Result<Done> {
    match format {
        Format::Json => print_json(&json!(rows.iter().copied().collect::<BTreeMap<_, _>>()))?,
        Format::Text => {
            let mut shown = table(&["name", "value"]);
            for (name, value) in rows {
                shown.add_row([*name, *value]);
            }
            println!("{shown}");
        }
    }
    Ok(Done::Fine)
}
