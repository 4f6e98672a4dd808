//! Resolves the name of a cloud: a profile in a file, or a running local cloud.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use dataperf::offer;
#[cfg(feature = "local")]
use dataperf_local::LocalCloud;
use serde::Deserialize;

use crate::cloud::api::{agent, page_address};

/// The variable that names another file of profiles.
const FILE_VARIABLE: &str = "DATAPERF_CLOUDS";
/// The names that no profile may have.
const LOCAL: &str = "local";
const AWS: &str = "aws";
/// The default port of a local cloud's page.
pub(crate) const PAGE_PORT: u16 = 8080;
/// The time limit for a local cloud to send its addresses.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a cloud is reached; what is not set is as without `--cloud`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    /// Whether it runs on a machine of one's own.
    #[serde(default)]
    pub(crate) local: bool,
    /// The address of the page. A local cloud's page knows the other addresses; any page takes a
    /// token.
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    pub(crate) s3_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) dynamodb_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) lambda_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) functions_prefix: Option<String>,
    #[serde(default)]
    pub(crate) submissions_bucket: Option<String>,
    #[serde(default)]
    pub(crate) datasets_bucket: Option<String>,
    #[serde(default)]
    pub(crate) results_bucket: Option<String>,
    #[serde(default)]
    pub(crate) table: Option<String>,
    #[serde(default)]
    pub(crate) signing_key: Option<String>,
}

impl Profile {
    /// A cloud that is known only by its page.
    pub(crate) fn at(url: String) -> Self {
        Self {
            url: Some(url),
            ..Self::default()
        }
    }

    /// The address of the page, if there is one.
    pub(crate) fn page(&self) -> Option<String> {
        let is_usual = *self == Self::of_local();
        self.url
            .clone()
            .or_else(|| is_usual.then(|| format!("http://127.0.0.1:{PAGE_PORT}")))
    }

    /// With the addresses that a local cloud's page has; as it is, where the profile names no page, or has the names of AWS, too. `None` if the page
    /// is not a local cloud's.
    ///
    /// # Errors
    /// If the page does not answer.
    pub(crate) fn learnt(self) -> Result<Option<Self>> {
        let Some(url) = self.url.as_ref().filter(|_| self.submissions_bucket.is_none()) else {
            return Ok(Some(self));
        };
        let Some(learnt) = learnt(url)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            local: true,
            url: None,
            s3_endpoint: self.s3_endpoint.or(learnt.s3_endpoint),
            dynamodb_endpoint: self.dynamodb_endpoint.or(learnt.dynamodb_endpoint),
            lambda_endpoint: self.lambda_endpoint.or(learnt.lambda_endpoint),
            ..self
        }))
    }

    /// The cloud on this machine, at its default ports.
    pub(crate) fn of_local() -> Self {
        Self {
            local: true,
            ..Self::default()
        }
    }

    /// Whether it says nothing, so that options and variables say all: `--cloud aws`.
    pub(crate) fn is_of_environment(&self) -> bool {
        *self == Self::default()
    }
}

/// The ports of a local cloud, as its page says them.
#[derive(Debug, Deserialize)]
struct Ports {
    s3: u16,
    dynamodb: u16,
    lambda: u16,
}

/// The description that a local cloud serves.
#[cfg(feature = "local")]
pub(crate) fn addresses(cloud: &LocalCloud) -> serde_json::Value {
    let port = |address: &str| {
        address
            .rsplit(':')
            .next()
            .and_then(|port| port.trim_end_matches('/').parse::<u16>().ok())
    };
    serde_json::json!({ "s3": port(cloud.s3_endpoint()), "dynamodb": port(cloud.dynamodb_endpoint()),
                        "lambda": port(cloud.lambda_endpoint()) })
}

/// Reads what `--cloud` says: `local`, `aws`, the address of a page, or the name of a profile.
pub(crate) fn profile(cloud: &str) -> Result<Profile, String> {
    match cloud {
        LOCAL => Ok(Profile::of_local()),
        AWS => Ok(Profile::default()),
        _ if cloud.starts_with("http://") || cloud.starts_with("https://") => page_address(cloud)
            .map(Profile::at)
            .map_err(|error| error.to_string()),
        name => named(name),
    }
}

/// The addresses of a local cloud, read from its page; `None` if it is another page.
fn learnt(url: &str) -> Result<Option<Profile>> {
    let at = format!("{url}/cloud.json");
    let answer = agent(&at, PATIENCE).get(&at).call().and_then(|mut answer| {
        let text = answer.body_mut().read_to_string()?;
        Ok(answer.status().is_success().then_some(text))
    });
    let text = answer.with_context(|| {
        format!(
            "`{at}` does not answer like a cloud's page: give the address of the page that `dataperf local` prints, or --s3-endpoint, \
             --dynamodb-endpoint and --lambda-endpoint"
        )
    })?;
    let Some(ports) = text.and_then(|text| serde_json::from_str::<Ports>(&text).ok()) else {
        return Ok(None);
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split('/').next().unwrap_or_default();
    // the port is what follows the last colon outside of the brackets of an IPv6 address
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let endpoint = |port: u16| Some(format!("{scheme}://{host}:{port}"));
    Ok(Some(Profile {
        local: true,
        s3_endpoint: endpoint(ports.s3),
        dynamodb_endpoint: endpoint(ports.dynamodb),
        lambda_endpoint: endpoint(ports.lambda),
        ..Profile::default()
    }))
}

/// The path of the profiles.
fn file() -> Option<PathBuf> {
    let chosen = std::env::var_os(FILE_VARIABLE).map(PathBuf::from);
    chosen.or_else(|| Some(folder()?.join("clouds.yaml")))
}

/// The folder of a person's settings for this program.
pub(crate) fn folder() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let folder = if cfg!(windows) {
        set("APPDATA")
    } else {
        set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))
    };
    Some(folder?.join("dataperf"))
}

fn named(name: &str) -> Result<Profile, String> {
    let no_file = || {
        format!(
            "there is no profile `{name}`: choose `{LOCAL}`, `{AWS}`, a local cloud's address, or name a file of profiles \
         with {FILE_VARIABLE}"
        )
    };
    let path = file().ok_or_else(no_file)?;
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let known = offer(name, [LOCAL, AWS]);
            return Err(format!(
                "there is no cloud `{name}`: {known}\nThe file of profiles `{}` does not exist. {}",
                path.display(),
                lines_for(name)
            ));
        }
        Err(error) => return Err(format!("can't read `{}`: {error}", path.display())),
    };
    let profiles =
        parse(&text).map_err(|error| format!("`{}` is not a file of profiles: {error}", path.display()))?;
    let Some(profile) = profiles.get(name) else {
        let known = profiles.keys().map(String::as_str).chain([LOCAL, AWS]);
        return Err(format!(
            "`{}` has no profile `{name}`: {}\n{}",
            path.display(),
            offer(name, known),
            lines_for(name)
        ));
    };
    let mut profile = profile.clone();
    let address = profile.url.as_deref().map(page_address).transpose();
    profile.url =
        address.map_err(|error| format!("`url` of the profile `{name}` in `{}`: {error}", path.display()))?;
    Ok(profile)
}

/// The lines to write into the file for a new profile.
fn lines_for(name: &str) -> String {
    format!(
        "To name a cloud so, write for a local one, or to use a token, the address of its page\n\n{name}:\n  url: http://127.0.0.1:8080\n\nor for one in AWS what `sam deploy` printed\n\n\
         {name}:\n  submissions_bucket: NAME\n  datasets_bucket: NAME\n  results_bucket: NAME\n  table: NAME\n  \
         functions_prefix: NAME-\n  signing_key: alias/NAME-receipts"
    )
}

/// The profiles of a file, by name.
fn parse(text: &str) -> Result<BTreeMap<String, Profile>, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        let message = error.to_string();
        let names_secret = ["local_key", "key", "secret", "token", "access_key"]
            .iter()
            .any(|name| message.contains(&format!("unknown field `{name}`")));
        if names_secret {
            return format!("{message}; a profile has no keys: use `dataperf login` for a token, DATAPERF_LOCAL_KEY, or AWS_PROFILE for AWS");
        }
        message
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_have_addresses_and_names_and_no_secrets() {
        let text = "here:\n  local: true\n  s3_endpoint: http://127.0.0.1:9100\nspring:\n  results_bucket: spring-results\n  table: spring\n";
        let profiles = parse(text).expect("two profiles");
        assert!(profiles["here"].local && profiles["here"].dynamodb_endpoint.is_none());
        assert_eq!(profiles["spring"].table.as_deref(), Some("spring"));
        for lines in lines_for("spring")
            .split("\n\n")
            .filter(|lines| lines.starts_with("spring:"))
        {
            assert!(
                parse(lines).is_ok_and(|profiles| profiles.contains_key("spring")),
                "{lines}"
            );
        }
        let refused = parse("here:\n  secret: x\n").expect_err("a secret");
        assert!(refused.contains("DATAPERF_LOCAL_KEY"), "{refused}");
        assert!(profile("local").is_ok_and(|profile| profile.local));
        assert_eq!(profile("aws"), Ok(Profile::default()));
    }
}
