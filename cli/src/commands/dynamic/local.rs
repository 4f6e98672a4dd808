//! Adversarial Text on one machine: its functions and their secret.

use anyhow::Result;
use dataperf_collections::text::DESCRIPTOR;
use dataperf_local::Config;
use serde_json::json;

use crate::local::functions::{FunctionArgs, add_collection};

/// The name of the secret that its functions read.
const SECRET: &str = "dataperf-text";

/// Adds its functions and their secret.
pub(super) fn configure(config: &mut Config, args: &FunctionArgs) -> Result<()> {
    let keys = json!({ "pseudonyms": "of the cloud on one machine" });
    add_collection(config, &DESCRIPTOR, (SECRET, keys.to_string()), args)
}
