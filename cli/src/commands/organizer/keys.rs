//! `dataperf keys`: the keys that receipts are signed with.

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use dataperf::Timestamp;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::signature::{Keys, PublicKey};
use dataperf_aws::KmsKey;
use dataperf_hosted::HOSTED;
use serde_json::json;

use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::hosted::descriptor;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{table, time};

const MAX_KEYS_BYTES: u64 = 1 << 20;
/// How long a replaced key stays valid, in milliseconds: it may still sign, since a changed alias takes minutes to be known everywhere (KMS).
const OVERLAP_MILLIS: i64 = 3_600_000;

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Publish the public keys, so that everybody can check receipts
    Publish(KeysArgs),
    /// Sign with a new key from now on; earlier receipts stay valid
    Rotate(RotateArgs),
    /// Print the published keys
    Show(KeysArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KeysArgs {
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RotateArgs {
    /// Give this benchmark its own key [default: all share it]
    #[arg(long, short)]
    benchmark: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(command: KeysCommand, format: RowFormat) -> Result<Done> {
    let keys = match command {
        KeysCommand::Publish(args) => publish(&args.cloud.connect().await?).await?,
        KeysCommand::Rotate(args) => rotate(&args.cloud.connect().await?, args.benchmark.as_deref()).await?,
        KeysCommand::Show(args) => {
            let keys = published(&args.cloud.connect().await?).await?;
            keys.context("no keys are published: publish them with `dataperf keys publish`")?
        }
    };
    print(&keys, format)?;
    Ok(Done::Fine)
}

/// Publishes the keys in use, and ends the validity of those before.
pub(crate) async fn publish(cloud: &Cloud) -> Result<Keys> {
    let at = now();
    // A key that is published for the first time may have signed already, if nobody gave this command before.
    let known = published(cloud).await?;
    let valid_from = if known.is_some() {
        at
    } else {
        Timestamp::from_unix_millis(0)
    };
    let mut in_use = Vec::new();
    for hosted in HOSTED {
        let key = cloud.signer().for_benchmark(hosted.id);
        in_use.push(key.public_key(hosted.id, valid_from).await?);
    }
    let mut keys = known.clone().unwrap_or_default();
    keys.put_in_use(
        &in_use,
        Timestamp::from_unix_millis(at.unix_millis() + OVERLAP_MILLIS),
    );
    if known.as_ref() != Some(&keys) {
        write(cloud, &keys).await?;
    }
    Ok(keys)
}

/// Makes a new key and signs with it from now on, receipts of one benchmark or of all. The key is published before it signs, so that no receipt has
/// a key that nobody knows. If this breaks off, `publish` or another `rotate` completes it.
async fn rotate(cloud: &Cloud, benchmark: Option<&str>) -> Result<Keys> {
    let prefix = &cloud.names.signing_key;
    if !prefix.starts_with("alias/") {
        bail!(
            "`{prefix}` is no alias (`alias/NAME`), and only an alias can be pointed at a new key: name the aliases of the signing keys \
             with `--signing-key`"
        );
    }
    let benchmarks: Vec<&str> = match benchmark {
        Some(id) => vec![descriptor(id)?.id],
        None => HOSTED.iter().map(|hosted| hosted.id).collect(),
    };
    let mut keys = publish(cloud).await?;
    let id = KmsKey::new(cloud.kms(), prefix).create().await?;
    let new = KmsKey::new(cloud.kms(), &id);
    for benchmark in &benchmarks {
        keys.add(new.public_key(benchmark, now()).await?);
    }
    write(cloud, &keys).await?;
    for benchmark in &benchmarks {
        cloud.signer().for_benchmark(benchmark).point_at(&id).await?;
    }
    publish(cloud).await
}

async fn published(cloud: &Cloud) -> Result<Option<Keys>> {
    let about = || {
        format!(
            "`{}` of the datasets bucket is not a document of keys",
            Keys::OBJECT_KEY
        )
    };
    match cloud
        .datasets()
        .get(Keys::OBJECT_KEY, None, MAX_KEYS_BYTES)
        .await?
    {
        Got::Missing => Ok(None),
        Got::TooLarge { n_bytes } => bail!("{}: it has {n_bytes} bytes", about()),
        Got::Object(object) => {
            let keys: Keys = serde_json::from_slice(&object.bytes).with_context(about)?;
            if keys.schema != Keys::SCHEMA {
                bail!(
                    "{}: its schema is {}, this version reads {}",
                    about(),
                    keys.schema,
                    Keys::SCHEMA
                );
            }
            Ok(Some(keys))
        }
    }
}

async fn write(cloud: &Cloud, keys: &Keys) -> Result<()> {
    let mut json = serde_json::to_vec_pretty(keys)?;
    json.push(b'\n');
    Ok(cloud.datasets().put(Keys::OBJECT_KEY, json.into()).await?)
}

fn print(keys: &Keys, format: RowFormat) -> Result<()> {
    let columns = [
        "id",
        "algorithm",
        "benchmarks",
        "valid_from",
        "valid_until",
        "public_key",
    ];
    let signed = |key: &PublicKey| -> Vec<String> {
        let signed = key.benchmarks.iter().filter(|(_, until)| until.is_none());
        signed.map(|(benchmark, _)| benchmark.clone()).collect()
    };
    let row = |key: &PublicKey| {
        let mut row = json!(key);
        row["benchmarks"] = json!(signed(key));
        row
    };
    let rows = || keys.keys.iter().map(row).collect();
    print_tabled(
        || Ok(keys),
        &columns,
        rows,
        format,
        || {
            let mut table = table(&["key", "benchmarks", "valid from (UTC)", "until"]);
            for key in &keys.keys {
                let until = key.valid_until.map_or_else(|| "in use".to_owned(), time);
                let signed = signed(key);
                let benchmarks = if signed.len() == HOSTED.len() {
                    "all".to_owned()
                } else {
                    signed.join(", ")
                };
                table.add_row([&key.id, &benchmarks, &time(key.valid_from), &until]);
            }
            println!("{table}");
            Ok(())
        },
    )
}
