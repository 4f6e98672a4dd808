//! `dataperf keys`: the keys that receipts are signed with.

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use dataperf::Timestamp;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::signature::Keys;
use dataperf_aws::KmsKey;
use serde_json::json;

use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::output::table;
use crate::rows::{RowFormat, print_tabled};

const MAX_KEYS_BYTES: u64 = 1 << 20;
/// How long a replaced key stays valid, in milliseconds: it may still sign, since a changed alias takes minutes to be known everywhere (KMS).
const OVERLAP_MILLIS: i64 = 3_600_000;

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Publish the public half of the key in use, so that everybody can check receipts; may be given again at any time
    #[command(after_help = "Example: dataperf keys publish --local")]
    Publish(KeysArgs),
    /// Sign with a new key from now on; receipts of the keys before stay valid
    #[command(after_help = "Example: dataperf keys rotate --local")]
    Rotate(KeysArgs),
    /// Print the published keys
    #[command(after_help = "Example: dataperf --format json keys show --local > keys.json")]
    Show(KeysArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KeysArgs {
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(command: KeysCommand, format: RowFormat) -> Result<Done> {
    let keys = match command {
        KeysCommand::Publish(args) => publish(&args.cloud.connect().await).await?,
        KeysCommand::Rotate(args) => rotate(&args.cloud.connect().await).await?,
        KeysCommand::Show(args) => {
            let keys = published(&args.cloud.connect().await).await?;
            keys.context("no keys are published: `dataperf keys publish` does it")?
        }
    };
    print(&keys, format)?;
    Ok(Done::Fine)
}

/// Publishes the key in use, and ends the validity of those before.
pub(crate) async fn publish(cloud: &Cloud) -> Result<Keys> {
    let at = now();
    // A key that is published for the first time may have signed already, if nobody gave this command before.
    let known = published(cloud).await?;
    let valid_from = if known.is_some() {
        at
    } else {
        Timestamp::from_unix_millis(0)
    };
    let key = cloud.signer().public_key(valid_from).await?;
    let mut keys = known.clone().unwrap_or_default();
    keys.put_in_use(
        key,
        Timestamp::from_unix_millis(at.unix_millis() + OVERLAP_MILLIS),
    );
    if known.as_ref() != Some(&keys) {
        write(cloud, &keys).await?;
    }
    Ok(keys)
}

/// Makes a new key and signs with it from now on. The key is published before it signs, so that no receipt has a key that nobody knows. If this
/// breaks off, `publish` or another `rotate` completes it.
async fn rotate(cloud: &Cloud) -> Result<Keys> {
    let signer = cloud.signer();
    if !cloud.names.signing_key.starts_with("alias/") {
        bail!(
            "`{}` is no alias (`alias/NAME`), and only an alias can be pointed at a new key: name the alias \
             of the signing key with `--signing-key`",
            cloud.names.signing_key
        );
    }
    let mut keys = publish(cloud).await?;
    let id = signer.create().await?;
    let new = KmsKey::new(cloud.kms(), &id).public_key(now()).await?;
    keys.add(new);
    write(cloud, &keys).await?;
    signer.point_at(&id).await?;
    publish(cloud).await
}

async fn published(cloud: &Cloud) -> Result<Option<Keys>> {
    let about = || {
        format!(
            "`{}` of the datasets bucket is no document of keys",
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
    let columns = ["id", "algorithm", "valid_from", "valid_until", "public_key"];
    let rows = || keys.keys.iter().map(|key| json!(key)).collect();
    print_tabled(
        || Ok(keys),
        &columns,
        rows,
        format,
        || {
            let mut table = table(&["key", "algorithm", "valid from", "until"]);
            for key in &keys.keys {
                let until = key
                    .valid_until
                    .map_or_else(|| "in use".to_owned(), |until| until.to_string());
                table.add_row([&key.id, &key.algorithm, &key.valid_from.to_string(), &until]);
            }
            println!("{table}");
            Ok(())
        },
    )
}
