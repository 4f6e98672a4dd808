//! `dataperf token`: manages access to private data.

use anyhow::{Result, anyhow, bail, ensure};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use dataperf::{SubmitterName, offer};
use dataperf_aws::{Holder, Issued, TOKEN_DAYS, Table, Token, days_after};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::known::{check_name, note_name};
use crate::cloud::{Cloud, CloudArgs, now};
use crate::output::rows::{RowFormat, print_rows};
use crate::output::{Format, print_json, table, time};

/// The most days that a token is valid: a token lies in files and mails, and no challenge is longer than this without a new one.
pub(crate) const MAX_TOKEN_DAYS: i64 = 366;
/// Benchmarks in which a name is checked at once.
const AT_ONCE: usize = 8;
/// Digits of a token's digest that people see.
const ID_DIGITS: usize = 12;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it once
    Create(CreateArgs),
    /// List the valid and expired tokens
    List(ListArgs),
    /// Revoke a token
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    holder: HolderArgs,
    /// Allow uploads only to this benchmark [default: all]; repeatable
    #[arg(long = "benchmark", value_name = "BENCHMARK", conflicts_with = "organizer", value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmarks: Vec<String>,
    /// How many days the token is valid
    #[arg(long, value_name = "DAYS", default_value_t = TOKEN_DAYS, value_parser = clap::value_parser!(u32).range(1..=MAX_TOKEN_DAYS))]
    expires: u32,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct HolderArgs {
    /// For this submitter, to upload and to read its own submissions
    #[arg(long, value_name = "NAME")]
    submitter: Option<SubmitterName>,
    /// For the organizer, to read everything
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

pub(crate) async fn run(command: TokenCommand, format: RowFormat) -> Result<Done> {
    match command {
        TokenCommand::Create(args) => Box::pin(create(args, format.of_documents()?)).await?,
        TokenCommand::List(args) => list(&args.cloud.connect().await?.leaderboards(), format).await?,
        TokenCommand::Revoke(args) => {
            revoke(
                &args.cloud.connect().await?.leaderboards(),
                &args.id,
                format.of_documents()?,
            )
            .await?;
        }
    }
    Ok(Done::Fine)
}

async fn create(args: CreateArgs, format: Format) -> Result<()> {
    let holder = match args.holder.submitter {
        Some(name) => Holder::Submitter(name),
        None => Holder::Organizer,
    };
    let token = random_token()?;
    let cloud = args.cloud.connect().await?;
    let table = cloud.leaderboards();
    if let Holder::Submitter(name) = &holder {
        let checked = check(&cloud, std::slice::from_ref(name), &args.benchmarks).await?;
        note(&cloud, checked).await?;
    }
    let issued_at = now();
    let issued = Issued {
        digest: token.digest(),
        holder,
        benchmarks: args.benchmarks,
        issued_at,
        expires_at: days_after(issued_at, args.expires),
    };
    table.issue(&issued).await?;
    let (id, expires_at) = (&issued.digest.as_str()[..ID_DIGITS], issued.expires_at);
    match format {
        Format::Json => print_json(&json!({
            "token": token.secret(), "id": id, "role": issued.holder.role(), "submitter": submitter(&issued.holder),
            "benchmarks": issued.benchmarks, "expires_at": expires_at,
        }))?,
        Format::Text => {
            println!("{}", token.secret());
            eprintln!(
                "issued as {id}, valid until {expires_at}; it is not shown again. Send it as `Authorization: Bearer TOKEN`"
            );
        }
    }
    Ok(())
}

/// A name that may be noted as somebody's in a benchmark.
pub(crate) struct Checked {
    benchmark: &'static str,
    name: SubmitterName,
    /// Whether it is kept whatever it looks like.
    is_kept: bool,
}

/// Checks that no name can be confused with that of another token or submitter, in these benchmarks
/// or in all hosted ones.
///
/// # Errors
/// With all names that are refused.
pub(crate) async fn check(
    cloud: &Cloud,
    names: &[SubmitterName],
    benchmarks: &[String],
) -> Result<Vec<Checked>> {
    let tokens = cloud.leaderboards().tokens().await?;
    let all = dataperf_hosted::IDS.iter().copied();
    let is_wanted = |id: &&str| benchmarks.is_empty() || benchmarks.iter().any(|wanted| wanted == id);
    let wanted: Vec<&'static str> = all.filter(is_wanted).collect();
    let (mut checked, mut problems) = (Vec::new(), Vec::new());
    for name in names {
        let others = tokens.iter().filter_map(|issued| match &issued.holder {
            Holder::Submitter(other) => Some(other),
            Holder::Organizer => None,
        });
        if let Some(other) = others.into_iter().find(|other| name.looks_like(other)) {
            problems.push(format!(
                "`{name}` looks like `{other}`, who has a token: choose a name that differs more. If `{other}` was a mistake, \
                    revoke its token and free the name: `dataperf token list`, `dataperf submitter free {other}`"
            ));
            continue;
        }
        let of_each = wanted
            .iter()
            .map(async |benchmark| (*benchmark, check_name(cloud, benchmark, name).await));
        let mut of_each = stream::iter(of_each).buffered(AT_ONCE);
        while let Some((benchmark, is_kept)) = of_each.next().await {
            match is_kept {
                Ok(is_kept) => checked.push(Checked {
                    benchmark,
                    name: name.clone(),
                    is_kept,
                }),
                Err(error) if names.len() == 1 => return Err(error),
                Err(error) => {
                    problems.push(format!("{error:#}"));
                    break;
                }
            }
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(checked)
}

/// Notes names as somebody's.
pub(crate) async fn note(cloud: &Cloud, checked: Vec<Checked>) -> Result<()> {
    for one in checked {
        note_name(cloud, one.benchmark, &one.name, one.is_kept).await?;
    }
    Ok(())
}

async fn list(table: &Table, format: RowFormat) -> Result<()> {
    let tokens = table.tokens().await?;
    let documents: Vec<Value> = tokens.iter().map(document).collect();
    let mut lines = self::table(&["id", "role", "submitter", "uploads to", "issued (UTC)", "expires"]);
    for issued in &tokens {
        lines.add_row([
            issued.digest.as_str()[..ID_DIGITS].to_owned(),
            issued.holder.role().to_owned(),
            submitter(&issued.holder).unwrap_or_default().to_owned(),
            uploads_to(issued),
            time(issued.issued_at),
            expiry(issued),
        ]);
    }
    let columns = [
        "id",
        "role",
        "submitter",
        "benchmarks",
        "issued_at",
        "expires_at",
        "expired",
    ];
    print_rows(&documents, &columns, format, || {
        println!("{lines}");
        Ok(())
    })
}

async fn revoke(table: &Table, id: &str, format: Format) -> Result<()> {
    let tokens = table.tokens().await?;
    let mut matching = tokens
        .iter()
        .filter(|issued| issued.digest.as_str().starts_with(id));
    let (Some(issued), None) = (matching.next(), matching.next()) else {
        let ids: Vec<&str> = tokens
            .iter()
            .map(|issued| &issued.digest.as_str()[..ID_DIGITS])
            .collect();
        let of_id: Vec<&str> = ids
            .iter()
            .copied()
            .filter(|known| known.starts_with(id))
            .collect();
        bail!(
            "{}; `dataperf token list` shows the owners",
            match (ids.is_empty(), of_id.is_empty()) {
                (true, _) => format!("there is no token `{id}`: there are no tokens"),
                (false, true) => format!("there is no token `{id}`: {}", offer(id, &ids)),
                (false, false) => format!(
                    "`{id}` begins the ids of {} tokens: give more digits of one of `{}`",
                    of_id.len(),
                    of_id.join("`, `")
                ),
            }
        );
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
            "submitter": submitter(&issued.holder), "benchmarks": issued.benchmarks, "issued_at": issued.issued_at, "expires_at": issued.expires_at,
            "expired": !issued.is_valid(now()) })
}

fn uploads_to(issued: &Issued) -> String {
    match (&issued.holder, issued.benchmarks.is_empty()) {
        (Holder::Organizer, _) => String::new(),
        (Holder::Submitter(_), true) => "all".into(),
        (Holder::Submitter(_), false) => issued.benchmarks.join(", "),
    }
}

fn expiry(issued: &Issued) -> String {
    let mark = if issued.is_valid(now()) { "" } else { " (expired)" };
    format!("{}{mark}", time(issued.expires_at))
}

fn submitter(holder: &Holder) -> Option<&str> {
    match holder {
        Holder::Organizer => None,
        Holder::Submitter(name) => Some(name.as_str()),
    }
}

/// A new token.
pub(crate) fn random_token() -> Result<Token> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|error| anyhow!("the system gives no random numbers: {error}"))?;
    Ok(Token::from_random(random))
}
