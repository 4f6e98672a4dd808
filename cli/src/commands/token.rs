//! `dataperf token`: who may read what is not public.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use dataperf::{Timestamp, UploadKey};
use dataperf_aws::{Holder, Issued, Table, Token};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::CloudArgs;
use crate::output::{Format, print_json, table};

/// Digits of a token's digest that people see.
const ID_DIGITS: usize = 12;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Issue a token and print it, once: only its SHA-256 is kept
    #[command(after_help = "Example: dataperf token create --submitter ada --local")]
    Create(CreateArgs),
    /// List the tokens that are valid, without the tokens themselves
    List(ListArgs),
    /// Make a token invalid at once
    #[command(after_help = "Example: dataperf token revoke 3f1c99ab04d2 --local")]
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Whose {
    /// For this submitter: it may read its own submissions, receipts and artifacts
    #[arg(long, value_name = "NAME")]
    submitter: Option<String>,
    /// For the organizer: it may read everything
    #[arg(long)]
    organizer: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The id that `dataperf token list` shows, or its first digits
    id: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(command: TokenCommand, format: Format) -> Result<Done> {
    match command {
        TokenCommand::Create(args) => create(args, format).await?,
        TokenCommand::List(args) => list(&args.cloud.connect().await.leaderboards(), format).await?,
        TokenCommand::Revoke(args) => {
            revoke(&args.cloud.connect().await.leaderboards(), &args.id, format).await?;
        }
    }
    Ok(Done::Fine)
}

async fn create(args: CreateArgs, format: Format) -> Result<()> {
    let holder = match args.whose.submitter {
        // the rules of a key's names, said by the code that reads keys
        Some(name) => match UploadKey::parse("any", &format!("any/any/{name}/file")) {
            Ok(key) if key.submitter == name => Holder::Submitter(name),
            _ => bail!(
                "`{name}` can't be a submitter's name: 1 to 128 bytes, no `/`, `#` or control character"
            ),
        },
        None => Holder::Organizer,
    };
    let token = random_token()?;
    let table = args.cloud.connect().await.leaderboards();
    table.issue(&token, &holder, now()).await?;
    let digest = token.digest();
    let id = &digest.as_str()[..ID_DIGITS];
    match format {
        Format::Json => print_json(&json!({
            "token": token.secret(), "id": id, "role": holder.role(), "submitter": submitter(&holder),
        }))?,
        Format::Text => {
            println!("{}", token.secret());
            eprintln!("issued as {id}; it is not shown again. Send it as `Authorization: Bearer TOKEN`");
        }
    }
    Ok(())
}

async fn list(table: &Table, format: Format) -> Result<()> {
    let tokens = table.tokens().await?;
    if format == Format::Json {
        let documents: Vec<Value> = tokens.iter().map(document).collect();
        return print_json(&documents);
    }
    let mut lines = self::table(&["id", "role", "submitter", "issued"]);
    for issued in &tokens {
        lines.add_row([
            issued.digest.as_str()[..ID_DIGITS].to_owned(),
            issued.holder.role().to_owned(),
            submitter(&issued.holder).unwrap_or_default().to_owned(),
            issued.issued_at.to_string(),
        ]);
    }
    println!("{lines}");
    Ok(())
}

async fn revoke(table: &Table, id: &str, format: Format) -> Result<()> {
    let tokens = table.tokens().await?;
    let mut found = tokens
        .iter()
        .filter(|issued| issued.digest.as_str().starts_with(id));
    let (Some(issued), None) = (found.next(), found.next()) else {
        bail!("`{id}` is not the id of exactly one token: `dataperf token list` shows them");
    };
    table.revoke(&issued.digest).await?;
    match format {
        Format::Json => print_json(&document(issued))?,
        Format::Text => println!("revoked {}", &issued.digest.as_str()[..ID_DIGITS]),
    }
    Ok(())
}

fn document(issued: &Issued) -> Value {
    json!({ "id": &issued.digest.as_str()[..ID_DIGITS], "role": issued.holder.role(),
            "submitter": submitter(&issued.holder), "issued_at": issued.issued_at })
}

fn submitter(holder: &Holder) -> Option<&str> {
    match holder {
        Holder::Organizer => None,
        Holder::Submitter(name) => Some(name),
    }
}

/// A new token.
pub(crate) fn random_token() -> Result<Token> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|error| anyhow!("the system gives no random numbers: {error}"))?;
    Ok(Token::of(random))
}

/// The clock, for the token's date.
pub(crate) fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}
