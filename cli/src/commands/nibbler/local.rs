//! Adversarial Nibbler on one machine: its functions, their secret, and the service that makes images.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use dataperf_collections::nibbler::DESCRIPTOR;
use dataperf_local::image_service::{IMAGES_KEY, ImageService};
use dataperf_local::{Config, OutsideService};
use serde_json::json;

use crate::extension::IMAGES;
use crate::local::functions::{FunctionArgs, add_collection};

/// The name of the secret that its functions read.
const SECRET: &str = "dataperf-nibbler";
/// The name of the key of the service on this machine, as the shipped configuration has it.
const LOCAL_PROVIDER: &str = "drawer";

/// Adds its functions and their secret.
pub(super) fn configure(config: &mut Config, args: &FunctionArgs) -> Result<()> {
    add_collection(config, &DESCRIPTOR, (SECRET, keys(args)?), args)
}

/// The service that makes images, in place of those on the Internet.
pub(super) fn images(port: u16) -> OutsideService {
    OutsideService {
        name: IMAGES,
        port,
        option: "--images-port",
        router: ImageService::default().router(),
    }
}

/// The secret with the keys of the services that make images: of the one on this machine, unless a file says more.
fn keys(args: &FunctionArgs) -> Result<String> {
    let Some(path) = &args.image_keys else {
        let keys = json!({ "image-ids": "of the cloud on one machine", LOCAL_PROVIDER: IMAGES_KEY });
        return Ok(keys.to_string());
    };
    let about = || format!("`{}` is not a JSON object of strings", path.display());
    let text = std::fs::read_to_string(path).with_context(|| format!("can't read `{}`", path.display()))?;
    let keys: BTreeMap<String, String> = serde_json::from_str(&text).with_context(about)?;
    Ok(serde_json::to_string(&keys)?)
}
