//! How the functions are run that the cloud on this machine starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use dataperf::Descriptor;
use dataperf_hosted::deployment::{SUBMISSIONS, environment};
use dataperf_local::{Config, FunctionSpec, Policy, Trigger};

/// The longest time limit that Lambda allows, in seconds.
const LONGEST_SECONDS: u64 = 900;
/// The default of `--sweep-after`, in seconds: longer than an evaluation, which for a program may take as long as Lambda lets a function run.
const SWEEP_AFTER: u32 = 1000;
/// The rights that functions have when they are deployed, and here.
const POLICIES: &str = include_str!("../../../infra/policies.json");

/// How functions are run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Functions")]
pub(crate) struct FunctionArgs {
    /// Where the functions' programs are
    #[arg(long, value_name = "DIR")]
    functions_dir: Option<PathBuf>,
    /// Processes per function [default: 3 per core]
    // a process is idle for about half of its time, and on a busy board one also waits for the next comparison; of submitted programs no
    // more run than fit into half of the memory
    #[arg(long)]
    pub(crate) concurrency: Option<usize>,
    /// Seconds per invocation
    #[arg(long, value_name = "SECONDS", default_value_t = LONGEST_SECONDS)]
    time_limit: u64,
    /// Waits before the two retries
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', default_values_t = [1.0, 2.0])]
    pub(crate) back_off: Vec<f64>,
    /// When an idle process ends
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) idle_limit: u64,
    /// Keys of image services, as JSON
    #[arg(long = "nibbler-keys", value_name = "FILE")]
    pub(crate) image_keys: Option<PathBuf>,
    /// How often to look for lost uploads
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) sweep_every: u64,
    /// When to retry an upload
    #[arg(long, value_name = "SECONDS", default_value_t = SWEEP_AFTER)]
    pub(crate) sweep_after: u32,
    /// When to fail an upload
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub(crate) give_up_after: u32,
    /// Python for submitted programs
    #[arg(long, value_name = "FILE", default_value = "python3")]
    pub(crate) python: PathBuf,
}

/// Three processes for each core.
fn usual_concurrency() -> usize {
    3 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

impl Default for FunctionArgs {
    fn default() -> Self {
        Self {
            functions_dir: None,
            concurrency: None,
            time_limit: LONGEST_SECONDS,
            back_off: vec![0.2, 0.4],
            idle_limit: 300,
            image_keys: None,
            sweep_every: 60,
            sweep_after: SWEEP_AFTER,
            give_up_after: 3600,
            python: "python3".into(),
        }
    }
}

/// The function of a benchmark, which each upload to the benchmark starts.
pub(crate) fn evaluator(benchmark: &str, args: &FunctionArgs) -> Result<FunctionSpec> {
    let mut spec = function(benchmark, args)?;
    spec.trigger = Trigger {
        bucket: SUBMISSIONS.into(),
        prefix: format!("{benchmark}/"),
        suffix: String::new(),
    };
    Ok(spec)
}

/// The rights of a function; an error if `infra/policies.json` has none for it.
fn rights(function: &str) -> Result<Policy> {
    let mut policies: BTreeMap<String, Policy> = serde_json::from_str(POLICIES)?;
    let policy = policies.remove(function);
    policy.with_context(|| format!("`infra/policies.json` has no rights for the function `{function}`"))
}

/// The directory of the function binaries.
pub(crate) fn directory(args: &FunctionArgs) -> Result<PathBuf> {
    Ok(match &args.functions_dir {
        Some(directory) => directory.clone(),
        None => std::env::current_exe()?
            .parent()
            .map(Path::to_owned)
            .unwrap_or_default(),
    })
}

/// A function as it is run here; no upload starts it.
pub(crate) fn function(benchmark: &str, args: &FunctionArgs) -> Result<FunctionSpec> {
    let directory = directory(args)?;
    let binary = directory.join(benchmark);
    if !binary.is_file() {
        bail!(
            "there is no function binary `{}`: build all with `cargo build --release`, or name their directory with `--functions-dir`",
            binary.display()
        );
    }
    Ok(FunctionSpec {
        name: benchmark.to_owned(),
        binary,
        trigger: Trigger::default(),
        memory_mb: 1769,
        policy: Some(rights(benchmark)?),
        timeout: Duration::from_secs(args.time_limit),
        concurrency: args.concurrency.unwrap_or_else(usual_concurrency).max(1),
        environment: environment(benchmark).into_iter().collect(),
    })
}

/// Adds the functions of a collection, and the secret that they read: its name, and its members as JSON.
pub(crate) fn add_collection(
    config: &mut Config,
    descriptor: &Descriptor,
    (secret, members): (&str, String),
    args: &FunctionArgs,
) -> Result<()> {
    for kind in descriptor.kinds {
        let mut spec = evaluator((descriptor.function)(kind), args)?;
        spec.trigger.prefix = format!("{}/{kind}/", descriptor.id);
        spec.environment.insert("DATAPERF_SECRET".into(), secret.into());
        config.functions.push(spec);
    }
    config.secrets.insert(secret.to_owned(), members);
    Ok(())
}
