//! `dataperf local`: the whole cloud on this machine.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use dataperf::programs::Programs;
use dataperf_aws::{Holder, Issued, RANKING_INDEX, TABLE_KEYS, TOKEN_DAYS, Token, days_after};
use dataperf_benchmarks::IDS;
use dataperf_hosted::deployment::{
    CARETAKER, COMPARE, CURSOR_KEY, DATASETS, FINISH, GIVE_UP_AFTER_SECONDS, PROGRAMS, READER, RESULTS,
    SUBMISSIONS, SWEEP_AFTER_SECONDS, TABLE, Task, UPLOADS, signing_aliases,
};
use dataperf_local::{Bucket, Config, FunctionSpec, LocalCloud, OutsideService, REGION, Schedule, TableSpec};
use serde_json::json;

use super::organizer::token::random_token;
use crate::Done;
use crate::cloud::profile::PAGE_PORT;
use crate::cloud::secret_file;
use crate::cloud::{AccessKey, Cloud, CloudArgs, DYNAMODB_PORT, LAMBDA_PORT, S3_PORT, access_key, now};
use crate::extension::IMAGES;
use crate::local::functions::{FunctionArgs, directory, evaluator, function};
use crate::local::page;
use crate::output::{Format, print_json};
use crate::registry::HOSTED_EXTENSIONS;
use crate::stop::stopped;

/// The default ports of the page and of the service that makes images.
const IMAGES_PORT: u16 = 9002;
/// MiB of memory for running a program, in addition to the program's own: for the compiler, the
/// data and the answers.
const BESIDE_A_PROGRAM_MIB: u64 = 2048;
/// The time from the start to the first finishing of rounds: a laptop may be off before [`FINISH`] is due, day after day.
const FIRST_FINISH: Duration = Duration::from_secs(10);
/// The files of the data directory that hold the organizer's token and, for other machines, its key.
const TOKEN_FILE: &str = "organizer-token";
const KEY_FILE: &str = "organizer-key";
/// The id of the key that is made where the key that everybody knows may not be used.
const OWN_KEY_ID: &str = "organizer";

#[derive(Debug, Args)]
pub(crate) struct LocalArgs {
    /// The directory for all data
    #[arg(long, default_value = ".dataperf")]
    data_dir: PathBuf,
    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// Let other machines connect (unencrypted)
    #[arg(long)]
    remote: bool,
    /// Another host name of this machine
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// The organizer's key [default: local:local]
    #[arg(long, env = "DATAPERF_LOCAL_KEY", value_name = "ID:SECRET", hide_env_values = true, value_parser = access_key)]
    key: Option<AccessKey>,
    /// S3's port; 0 is any free port
    #[arg(long, default_value_t = S3_PORT)]
    s3_port: u16,
    /// DynamoDB's port
    #[arg(long, default_value_t = DYNAMODB_PORT)]
    dynamodb_port: u16,
    /// Lambda's port
    #[arg(long, default_value_t = LAMBDA_PORT)]
    lambda_port: u16,
    /// The image service's port
    #[arg(long, default_value_t = IMAGES_PORT)]
    images_port: u16,
    /// The page's port
    #[arg(long, default_value_t = PAGE_PORT)]
    http_port: u16,
    /// Write units per second, for load tests
    #[arg(long, value_name = "UNITS")]
    throttle: Option<u32>,
    #[command(flatten)]
    functions: FunctionArgs,
}

pub(crate) async fn run(args: LocalArgs, format: Format) -> Result<Done> {
    let mut config = config(&args.data_dir, &args.functions)?;
    config.host = args.host;
    config.allowed_hosts.clone_from(&args.allow_host);
    let AccessKey { id, secret } = organizer(&args)?;
    config.organizer = dataperf_local::AccessKey { id, secret };
    (config.s3_port, config.dynamodb_port) = (args.s3_port, args.dynamodb_port);
    (config.lambda_port, config.http_port) = (args.lambda_port, Some(args.http_port));
    config.outside = outside(args.images_port);
    let cloud = start(config, &args.functions).await?;
    cloud.throttle_table(args.throttle);
    keep_key(&args, &cloud)?;
    let token = organizer_token(&cloud).await?;
    match format {
        Format::Json => print_json(&json!({
            "s3": cloud.s3_endpoint(), "dynamodb": cloud.dynamodb_endpoint(), "lambda": cloud.lambda_endpoint(),
            "page": cloud.http_endpoint(), "images": cloud.outside(IMAGES),
            "buckets": [SUBMISSIONS, DATASETS, RESULTS], "table": TABLE, "region": REGION,
            "access_key": cloud.organizer().id, "secret_key": cloud.organizer().secret, "functions": dataperf_hosted::IDS, "data_dir": args.data_dir,
            "organizer_token": token.secret(),
        }))?,
        Format::Text => print_addresses(&cloud, &args.data_dir, &token),
    }
    stopped().await?;
    eprintln!("stopping");
    cloud.shutdown().await;
    Ok(Done::Fine)
}

fn print_addresses(cloud: &LocalCloud, data_dir: &Path, token: &Token) {
    println!("S3        {}", cloud.s3_endpoint());
    println!("DynamoDB  {}", cloud.dynamodb_endpoint());
    println!("Lambda    {}", cloud.lambda_endpoint());
    println!("images    {}", cloud.outside(IMAGES).unwrap_or_default());
    println!("page      {}", cloud.http_endpoint().unwrap_or_default());
    println!("organizer {}", with_token(cloud, token));
    println!("buckets   {SUBMISSIONS} {DATASETS} {RESULTS}, table {TABLE}");
    let dataperf_local::AccessKey { id, secret } = cloud.organizer();
    println!("key       {id}, secret {secret}, region {REGION}");
    println!("functions {}", dataperf_hosted::IDS.join(" "));
    println!(
        "data      {} (kept; the functions' logs are in logs/)",
        data_dir.display()
    );
    let (s3, flags) = (cloud.s3_endpoint(), which_cloud(cloud));
    println!("publish   dataperf dataset publish DIR {flags}");
    print!("upload    dataperf submit BENCHMARK --leaderboard LEADERBOARD --submitter YOU FILE {flags}\n");
    print!(
        "          aws --endpoint-url {s3} s3 cp FILE s3://{SUBMISSIONS}/BENCHMARK/LEADERBOARD/YOU/FILE\n"
    );
    println!("look      dataperf leaderboard BENCHMARK {flags}");
    println!("Stop with Ctrl-C.");
}

/// The option with which a command speaks to this cloud, whatever its ports are.
pub(crate) fn which_cloud(cloud: &LocalCloud) -> String {
    let page = cloud.http_endpoint().unwrap_or_default();
    let own_key = cloud.organizer() != &dataperf_local::AccessKey::default();
    let key = if own_key { " --local-key ID:SECRET" } else { "" };
    format!("--cloud {page}{key}")
}

/// Starts the cloud, the page and the read API.
pub(crate) async fn start(config: Config, functions: &FunctionArgs) -> Result<LocalCloud> {
    let (reader, uploads) = (reader(functions)?, function(UPLOADS, functions)?);
    let cloud = LocalCloud::start(config)
        .await
        .context("the local cloud can't start")?;
    let answering = page::Functions {
        reader: cloud.http_function(reader)?,
        uploads: cloud.http_function(uploads)?,
        addresses: crate::cloud::profile::addresses(&cloud),
    };
    cloud.serve_page(page::router(answering, cloud.s3_endpoint()));
    super::organizer::keys::publish(&CloudArgs::for_local(&cloud).connect().await?).await?;
    Ok(cloud)
}

/// Starts the cloud and the page on free ports, with the data in `data_dir`.
pub(crate) async fn start_on_free_ports(data_dir: &Path) -> Result<(LocalCloud, Cloud)> {
    let functions = FunctionArgs::default();
    let mut config = config(data_dir, &functions)?;
    config.http_port = Some(0);
    let local = start(config, &functions).await?;
    let cloud = CloudArgs::for_local(&local).connect().await?;
    Ok((local, cloud))
}

/// The key with all rights: the given one, or the well-known one. For other machines it is a
/// generated key that is stored with the data.
fn organizer(args: &LocalArgs) -> Result<AccessKey> {
    if args.host.is_loopback() && !args.remote {
        return Ok(args.key.clone().unwrap_or_default());
    }
    if !args.remote {
        bail!(
            "other machines can reach `{}`: add `--remote` to let them in, with an access key that is made \
             for this cloud, or leave out `--host`",
            args.host
        );
    }
    eprintln!(
        "warning: traffic with {} is not encrypted, so that everybody on the network between can read it; \
         everybody who has the key can do everything",
        args.host
    );
    if let Some(key) = &args.key {
        return Ok(key.clone());
    }
    let path = args.data_dir.join(KEY_FILE);
    if let Ok(kept) = std::fs::read_to_string(&path) {
        let key = access_key(kept.trim());
        return key.map_err(|reason| {
            anyhow!(
                "`{}` is damaged: {reason}; remove it for a new one",
                path.display()
            )
        });
    }
    Ok(AccessKey {
        id: OWN_KEY_ID.to_owned(),
        secret: random_token()?.secret().to_owned(),
    })
}

/// Keeps the key of a cloud for other machines with its data, so that it stays the same.
fn keep_key(args: &LocalArgs, cloud: &LocalCloud) -> Result<()> {
    if !args.remote || args.key.is_some() {
        return Ok(());
    }
    let dataperf_local::AccessKey { id, secret } = cloud.organizer();
    secret_file::write(&cloud.data_dir().join(KEY_FILE), &format!("{id}:{secret}\n"))
}

/// The organizer's token of this cloud: kept with its data, so that it stays the same.
pub(crate) async fn organizer_token(cloud: &LocalCloud) -> Result<Token> {
    let path = cloud.data_dir().join(TOKEN_FILE);
    let kept = std::fs::read_to_string(&path)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let token: Token = match kept {
        Some(token) => token,
        None => random_token()?,
    };
    secret_file::write(&path, token.secret())?;
    let connection = CloudArgs::for_local(cloud).connect();
    let table = connection.await?.leaderboards();
    // valid from each start on
    let issued_at = now();
    let issued = Issued {
        digest: token.digest(),
        holder: Holder::Organizer,
        benchmarks: Vec::new(),
        issued_at,
        expires_at: days_after(issued_at, TOKEN_DAYS),
    };
    table.issue(&issued).await?;
    Ok(token)
}

/// The page's address as the organizer opens it. What follows `#` is never sent to a server.
pub(crate) fn with_token(cloud: &LocalCloud, token: &Token) -> String {
    let page = cloud.http_endpoint().unwrap_or_default();
    format!("{page}/#token={}", token.secret())
}

/// Every benchmark's function, the buckets and the table, with its state in `data_dir`.
pub(crate) fn config(data_dir: &Path, functions: &FunctionArgs) -> Result<Config> {
    check_unreadable(&interpreter(functions), data_dir, &directory(functions)?)?;
    let mut config = Config::new(data_dir);
    config.buckets = vec![
        Bucket::versioned(SUBMISSIONS),
        Bucket::versioned(DATASETS), // which keeps earlier challenges
        Bucket::versioned(RESULTS),
    ];
    let ([partition, sort], [index, of_index, order]) = (TABLE_KEYS, RANKING_INDEX);
    config.table = Some(TableSpec::new(TABLE, partition, sort).indexed(index, of_index, order));
    config.outside = outside(0);
    config.signing_aliases = signing_aliases();
    let back_off = functions
        .back_off
        .iter()
        .map(|&seconds| Duration::try_from_secs_f64(seconds));
    config.retry_backoff = back_off
        .collect::<Result<_, _>>()
        .context("`--back-off` takes seconds from 0 on")?;
    config.idle_timeout = Duration::from_secs(functions.idle_limit);
    config.functions = IDS
        .iter()
        .map(|id| evaluator(id, functions))
        .collect::<Result<_>>()?;
    for extension in HOSTED_EXTENSIONS {
        extension.configure(&mut config, functions)?;
    }
    config.functions.push(programs(functions)?);
    config.functions.push(caretaker(functions)?);
    config.on_failure = Some(CARETAKER.into());
    config.schedules = vec![
        Schedule {
            function: CARETAKER.into(),
            first_after: Duration::from_secs(functions.sweep_every.max(1)),
            every: Duration::from_secs(functions.sweep_every.max(1)),
            input: None,
        },
        schedule(COMPARE, COMPARE.every)?,
        schedule(FINISH, FIRST_FINISH)?,
    ];
    Ok(config)
}

/// When the caretaker is started for a task.
fn schedule(task: Task, first_after: Duration) -> Result<Schedule> {
    Ok(Schedule {
        function: CARETAKER.into(),
        first_after,
        every: task.every,
        input: Some(serde_json::from_str(&task.event())?),
    })
}

/// The services on this machine in place of those on the Internet.
fn outside(port: u16) -> Vec<OutsideService> {
    HOSTED_EXTENSIONS
        .iter()
        .filter_map(|extension| extension.outside(port))
        .collect()
}

fn caretaker(args: &FunctionArgs) -> Result<FunctionSpec> {
    let mut spec = function(CARETAKER, args)?;
    let own = [
        (SWEEP_AFTER_SECONDS, args.sweep_after.to_string()),
        (GIVE_UP_AFTER_SECONDS, args.give_up_after.to_string()),
    ];
    spec.environment
        .extend(own.map(|(name, value)| (name.to_owned(), value)));
    spec.concurrency = 1;
    Ok(spec)
}

/// The interpreter of programs in Python, as a shell finds it.
fn interpreter(args: &FunctionArgs) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(&path).map(|folder| folder.join(&args.python));
    candidates
        .find(|file| file.is_file())
        .unwrap_or_else(|| args.python.clone())
}

/// The function that runs submitted programs; on this machine also programs in Python, in rounds that take them.
fn programs(args: &FunctionArgs) -> Result<FunctionSpec> {
    let mut spec = function(PROGRAMS, args)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let interpreter = interpreter(args);
    if args.concurrency.is_none() {
        spec.concurrency = spec.concurrency.min(programs_that_fit());
    }
    let own = [
        ("DATAPERF_PYTHON", interpreter.display().to_string()),
        ("PATH", path.to_string_lossy().into_owned()), // by which bubblewrap is found
    ];
    spec.environment
        .extend(own.map(|(name, value)| (name.to_owned(), value)));
    Ok(spec)
}

/// Checks that submitted Python programs can't read the cloud's data or its functions. There is
/// nothing to check if Python programs can't run.
#[cfg(all(feature = "closed", target_os = "linux", target_arch = "x86_64"))]
fn check_unreadable(interpreter: &Path, data_dir: &Path, functions: &Path) -> Result<()> {
    let python = dataperf_closed::Python::new(std::env::current_exe()?, interpreter.as_os_str());
    let Ok(python) = python else { return Ok(()) };
    python.check_unreadable(&[
        ("the data directory", data_dir),
        ("the directory of the functions", functions),
    ])?;
    Ok(())
}

#[cfg(not(all(feature = "closed", target_os = "linux", target_arch = "x86_64")))]
#[expect(clippy::unnecessary_wraps, reason = "as where programs in Python are run")]
fn check_unreadable(_: &Path, _: &Path, _: &Path) -> Result<()> {
    Ok(())
}

/// How many programs, each with the most memory that a round may give, fit into half of this machine's memory; no limit if the system does not say
/// how much it has.
fn programs_that_fit() -> usize {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|total| total.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let fit = kib.map(|kib| kib / 1024 / 2 / (Programs::MOST_MEMORY_MIB + BESIDE_A_PROGRAM_MIB));
    fit.map_or(usize::MAX, |fit| {
        usize::try_from(fit).unwrap_or(usize::MAX).max(1)
    })
}

/// The function of the read API. No upload starts it.
fn reader(args: &FunctionArgs) -> Result<FunctionSpec> {
    let mut spec = function(READER, args)?;
    spec.memory_mb = 512;
    let key = random_token()?; // cursors end with this process
    spec.environment
        .insert(CURSOR_KEY.into(), key.secret().to_owned());
    Ok(spec)
}
