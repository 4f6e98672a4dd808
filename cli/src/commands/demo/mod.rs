//! `dataperf demo`: everything on this machine, with the data that ships with the project.

mod all;
mod closed;
mod dynamic;
mod integrity;
mod shared;
mod story;

use anyhow::Result;

use crate::Done;
use crate::output::rows::RowFormat;

pub(crate) use shared::DemoArgs;

use shared::{CLOSED, DYNAMIC, INTEGRITY};

pub(crate) async fn run(args: DemoArgs, format: RowFormat) -> Result<Done> {
    match args.demo.as_deref() {
        None => Box::pin(story::run(args, format)).await,
        Some(INTEGRITY) => Box::pin(integrity::run(args, format)).await,
        Some(DYNAMIC) => dynamic::run(&args, format),
        Some(CLOSED) => Box::pin(closed::run(args, format)).await,
        Some(_) => Box::pin(all::run(args, format)).await,
    }
}
