//! `dataperf login` and `logout`: the token with which a participant submits and reads what is theirs.

use std::fs::File;
use std::io::{IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use console::Term;
use dataperf::SubmitterName;
use serde_json::json;

use crate::Done;
use crate::cloud::api::{Page, Token, is_private, page_address};
use crate::cloud::profile::{Profile, profile};
use crate::cloud::stored_tokens::Logins;
use crate::output::{Format, print_json, time};

/// The variable of `--cloud`.
const CLOUD_VARIABLE: &str = "DATAPERF_CLOUD";
/// The most bytes of a file with a token: a larger one is another file.
const MAX_TOKEN_BYTES: u64 = 4 << 10;

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The page: its address, `local` or a profile [default: asks]
    page: Option<String>,
    /// Read the token from this file; `-` is standard input [default: asks]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// The page: its address, `local` or a profile [default: the last login]
    page: Option<String>,
}

pub(crate) async fn login(args: LoginArgs, format: Format) -> Result<Done> {
    let named = args.page.or_else(|| {
        std::env::var(CLOUD_VARIABLE)
            .ok()
            .filter(|named| !named.is_empty())
    });
    let url = match named {
        Some(named) => address(&named)?,
        None => prompt()?,
    };
    if !is_private(&url) {
        eprintln!("warning: `{url}` is not encrypted: everybody on the network between can read the token");
    }
    let token = match args.token_file {
        Some(file) => read(&file)?,
        None => secret(&url)?,
    };
    let who = Page::new(url.clone(), Some(token.clone())).who().await?;
    let path = Logins::stored()?.store(&url, token)?;
    let name = who
        .submitter
        .as_ref()
        .map_or("the organizer", SubmitterName::as_str);
    match format {
        Format::Json => print_json(&json!({
            "page": url, "role": who.role, "submitter": who.submitter, "expires_at": who.expires_at, "file": path,
        }))?,
        Format::Text => {
            println!(
                "{url}: signed in as {name}. The token is valid until {} UTC and stored in `{}`.",
                time(who.expires_at),
                path.display()
            );
        }
    }
    Ok(Done::Fine)
}

pub(crate) fn logout(args: &LogoutArgs, format: Format) -> Result<Done> {
    let logins = Logins::stored()?;
    let url = match &args.page {
        Some(named) => address(named)?,
        None => logins
            .last()
            .cloned()
            .context("there is no last login: name the page, `dataperf logout https://PAGE`")?,
    };
    if !logins.forget(&url)? {
        bail!("there is no token for `{url}`: nothing was removed");
    }
    match format {
        Format::Json => print_json(&json!({ "page": url }))?,
        Format::Text => println!(
            "{url}: the token is removed from this machine. It stays valid until the organizer revokes it."
        ),
    }
    Ok(Done::Fine)
}

/// The address of the page that somebody names.
fn address(named: &str) -> Result<String> {
    let profile: Profile = profile(named).map_err(|error| anyhow!("{error}"))?;
    profile.page().with_context(|| {
        format!("`{named}` names no page: give its address, or write `url` into the profile")
    })
}

/// Asks for the address of the page.
fn prompt() -> Result<String> {
    let terminal = Term::stderr();
    if !std::io::stdin().is_terminal() || !terminal.is_term() {
        bail!(
            "name the page: `dataperf login https://PAGE`, with its token in `--token-file FILE` or on standard input"
        );
    }
    terminal.write_str("Address of the contest's page: ")?;
    let named = terminal.read_line()?;
    let named = named.trim();
    if named.contains("://") {
        page_address(named)
    } else {
        page_address(&format!("https://{named}"))
    }
}

/// The token, from a terminal without showing it, or from standard input.
fn secret(url: &str) -> Result<Token> {
    let terminal = Term::stderr();
    if !std::io::stdin().is_terminal() || !terminal.is_term() {
        return read(Path::new("-"));
    }
    terminal.write_str(&format!(
        "Token for {url}, or the link with it (nothing is shown): "
    ))?;
    terminal.read_secure_line()?.parse()
}

/// The token in a file.
fn read(path: &Path) -> Result<Token> {
    let mut text = String::new();
    let about = || format!("can't read the token from `{}`", path.display());
    if path == Path::new("-") {
        let read = std::io::stdin().take(MAX_TOKEN_BYTES).read_to_string(&mut text);
        read.with_context(about)?;
    } else {
        let file = File::open(path).with_context(about)?;
        file.take(MAX_TOKEN_BYTES)
            .read_to_string(&mut text)
            .with_context(about)?;
    }
    text.parse().with_context(about)
}
