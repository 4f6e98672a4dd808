//! `dataperf submitter invite`: tokens for many at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use csv::{ReaderBuilder, StringRecord, Trim, Writer};
use dataperf::SubmitterName;
use dataperf_aws::{Holder, Issued, TOKEN_DAYS, days_after};
use serde_json::json;

use crate::Done;
use crate::cloud::api::page_address;
use crate::cloud::secret_file;
use crate::cloud::{CloudArgs, now};
use crate::commands::organizer::token::{self, MAX_TOKEN_DAYS, random_token};
use crate::output::{Format, check_new_files, n_of, print_json, time};

/// The column with the names.
const COLUMN: &str = "submitter";
/// The most people in a file.
const MAX_NAMES: usize = 2_000;

#[derive(Debug, Args)]
pub(crate) struct InviteArgs {
    /// A CSV file with a column `submitter`, or one name per line
    names: PathBuf,
    /// Write the tokens into this new CSV file, which only you can read
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Allow uploads only to this benchmark [default: all]; repeatable
    #[arg(long = "benchmark", value_name = "BENCHMARK", value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmarks: Vec<String>,
    /// How many days the tokens are valid
    #[arg(long, value_name = "DAYS", default_value_t = TOKEN_DAYS, value_parser = clap::value_parser!(u32).range(1..=MAX_TOKEN_DAYS))]
    expires: u32,
    /// The page, for links that sign people in [default: that of --cloud]
    #[arg(long, value_name = "URL")]
    page: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// The people of a file.
struct People {
    /// The names of the columns.
    header: StringRecord,
    /// Each person's line, as it is in the file.
    lines: Vec<(SubmitterName, StringRecord)>,
}

pub(crate) async fn run(args: InviteArgs, format: Format) -> Result<Done> {
    check_new_files(&[Some(&args.out)])?;
    let People { header, lines } = people(&args.names)?;
    let page = match args.page.as_deref().map(page_address) {
        Some(page) => Some(page.context("`--page`")?),
        None => args.cloud.chosen().and_then(|chosen| chosen.page()),
    };
    let names: Vec<SubmitterName> = lines.iter().map(|(name, _)| name.clone()).collect();
    let cloud = args.cloud.connect().await?;
    let checked = token::check(&cloud, &names, &args.benchmarks).await?;
    let issued_at = now();
    let expires_at = days_after(issued_at, args.expires);
    let mut writer = Writer::from_writer(Vec::new());
    let of_link = page.as_ref().map(|_| "link");
    writer.write_record(header.iter().chain(["token", "expires_at"]).chain(of_link))?;
    let mut all = Vec::new();
    for (name, line) in lines {
        let token = random_token()?;
        let expires = expires_at.to_string();
        let link = page
            .as_ref()
            .map(|page| format!("{page}/#token={}", token.secret()));
        let own = [token.secret(), expires.as_str()];
        writer.write_record(line.iter().chain(own).chain(link.as_deref()))?;
        all.push(Issued {
            digest: token.digest(),
            holder: Holder::Submitter(name),
            benchmarks: args.benchmarks.clone(),
            issued_at,
            expires_at,
        });
    }
    // a token that is in no file would be lost, and one that is not valid yet hurts nobody
    secret_file::write(&args.out, &String::from_utf8(writer.into_inner()?)?)?;
    token::note(&cloud, checked).await?;
    let table = cloud.leaderboards();
    for (n, issued) in all.iter().enumerate() {
        table.issue(issued).await.with_context(|| {
            format!(
                "only the first {n} tokens of `{}` are valid: invite the others again, with another --out",
                args.out.display()
            )
        })?;
    }
    match format {
        Format::Json => {
            print_json(&json!({ "submitters": names, "out": args.out, "expires_at": expires_at }))?;
        }
        Format::Text => println!(
            "{} in `{}`, valid until {} UTC. Send each person only their own line.",
            n_of(names.len(), "token", "tokens"),
            args.out.display(),
            time(expires_at)
        ),
    }
    Ok(Done::Fine)
}

/// Reads the people of a file.
///
/// # Errors
/// With all names that can't be used.
fn people(path: &Path) -> Result<People> {
    let about = || format!("can't read `{}`", path.display());
    let text = std::fs::read_to_string(path).with_context(about)?;
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().next().unwrap_or_default();
    let delimiter = if first.contains(';') && !first.contains(',') {
        b';'
    } else {
        b','
    };
    let mut reader = ReaderBuilder::new();
    let reader = reader
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .delimiter(delimiter);
    let records: Result<Vec<StringRecord>, csv::Error> =
        reader.from_reader(text.as_bytes()).records().collect();
    let mut records = records.with_context(about)?;
    let is_header = |record: &StringRecord| record.iter().position(|cell| cell == COLUMN);
    let (header, column) = match records.first().and_then(is_header) {
        Some(column) => (records.remove(0), column),
        None if records.iter().all(|record| record.len() == 1) => (StringRecord::from(vec![COLUMN]), 0),
        None => bail!(
            "`{}` has no column `{COLUMN}`: name the column with the names so in the first line, or write one name per line",
            path.display()
        ),
    };
    ensure!(!records.is_empty(), "`{}` has no names", path.display());
    ensure!(
        records.len() <= MAX_NAMES,
        "`{}` has {} names: invite at most {MAX_NAMES} at once",
        path.display(),
        records.len()
    );
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    let mut looks: BTreeMap<String, SubmitterName> = BTreeMap::new();
    for record in records {
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != header.len() {
            problems.push(format!(
                "line {line} has {} cells, and the header {}",
                record.len(),
                header.len()
            ));
            continue;
        }
        match record[column].parse::<SubmitterName>() {
            Ok(name) => {
                if let Some(other) = looks.insert(name.looks(), name.clone()) {
                    problems.push(format!(
                        "line {line}: `{name}` is or looks like `{other}` in a line above"
                    ));
                }
                lines.push((name, record));
            }
            Err(error) => problems.push(format!("line {line}: {error}")),
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(People { header, lines })
}
