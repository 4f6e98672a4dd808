//! `dataperf demo`: everything on this machine, with the data that ships with the project.

use anyhow::Result;

pub(crate) use super::demo_shared::DemoArgs;
use super::demo_shared::{CLOSED, DYNAMIC, INTEGRITY};
use super::{demo_all, demo_closed, demo_dynamic, demo_integrity, demo_story};
use crate::Done;
use crate::rows::RowFormat;

pub(crate) async fn run(args: DemoArgs, format: RowFormat) -> Result<Done> {
    match args.of.as_deref() {
        None => Box::pin(demo_story::run(args, format)).await,
        Some(INTEGRITY) => Box::pin(demo_integrity::run(args, format)).await,
        Some(DYNAMIC) => demo_dynamic::run(&args, format),
        Some(CLOSED) => Box::pin(demo_closed::run(args, format)).await,
        Some(_) => Box::pin(demo_all::run(args, format)).await,
    }
}
