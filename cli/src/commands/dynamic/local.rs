//! Adversarial Text on one machine: its functions and their secret.

use anyhow::Result;
use dataperf_local::Config;
use dataperf_text::{BENCHMARK, DESCRIPTOR};
use serde_json::json;

use crate::functions::{FunctionArgs, evaluator};

/// What the secret is called that its functions read.
const SECRET: &str = "dataperf-text";

/// Adds its functions and their secret.
pub(super) fn configure(config: &mut Config, args: &FunctionArgs) -> Result<()> {
    for kind in DESCRIPTOR.kinds {
        let mut spec = evaluator((DESCRIPTOR.function)(kind), args)?;
        spec.trigger.prefix = format!("{BENCHMARK}/{kind}/");
        spec.environment.insert("DATAPERF_SECRET".into(), SECRET.into());
        config.functions.push(spec);
    }
    let keys = json!({ "pseudonyms": "of the cloud on one machine" });
    config.secrets.insert(SECRET.to_owned(), keys.to_string());
    Ok(())
}
