//! The tokens that `dataperf login` has stored: one for each page, in a file that only its owner can read.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::cloud::api::Token;
use crate::cloud::{profile, secret_file};

/// The variable with a token, which commands use instead of a stored one.
pub(crate) const VARIABLE: &str = "DATAPERF_TOKEN";
/// The file's name, in the folder of the profiles.
const FILE: &str = "tokens.json";

/// The tokens by the addresses of their pages.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Logins {
    /// The page of the last login, which commands use if none is named.
    last: Option<String>,
    tokens: BTreeMap<String, Token>,
}

fn file() -> Result<PathBuf> {
    let folder = profile::folder().context(
        "there is no folder for settings: set HOME or XDG_CONFIG_HOME, or use the variable DATAPERF_TOKEN",
    )?;
    Ok(folder.join(FILE))
}

impl Logins {
    /// The stored logins; empty without a file.
    ///
    /// # Errors
    /// If the file can't be read, or is another one.
    pub(crate) fn stored() -> Result<Self> {
        let Ok(path) = file() else {
            return Ok(Self::default());
        };
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            // also without a home directory, or if it belongs to another user
            Err(error)
                if [
                    ErrorKind::NotFound,
                    ErrorKind::NotADirectory,
                    ErrorKind::PermissionDenied,
                ]
                .contains(&error.kind()) =>
            {
                return Ok(Self::default());
            }
            Err(error) => return Err(error).with_context(|| format!("can't read `{}`", path.display())),
        };
        // the parser's message could show a part of a token
        serde_json::from_slice(&text).map_err(|error| {
            anyhow::anyhow!(
                "`{}` is damaged at line {}: remove it, and run `dataperf login` again",
                path.display(),
                error.line()
            )
        })
    }

    /// The page of the last login.
    pub(crate) fn last(&self) -> Option<&String> {
        self.last.as_ref()
    }

    /// The token for a page.
    pub(crate) fn token(&self, page: &str) -> Option<&Token> {
        self.tokens.get(page)
    }

    /// Adds a token, or replaces the one for its page; returns the file's path.
    pub(crate) fn store(mut self, page: &str, token: Token) -> Result<PathBuf> {
        self.tokens.insert(page.to_owned(), token);
        self.last = Some(page.to_owned());
        self.write()
    }

    /// Forgets the token of a page; says whether there was one.
    pub(crate) fn forget(mut self, page: &str) -> Result<bool> {
        let was_there = self.tokens.remove(page).is_some();
        if self.last.as_deref() == Some(page) {
            self.last = None;
        }
        if was_there {
            self.write()?;
        }
        Ok(was_there)
    }

    fn write(&self) -> Result<PathBuf> {
        let path = file()?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("can't make the folder `{}`", folder.display()))?;
        }
        secret_file::write(&path, &(serde_json::to_string_pretty(self)? + "\n"))?;
        Ok(path)
    }
}
