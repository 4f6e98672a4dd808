//! A collection's keys: those of services, and the key for ids and pseudonyms. They are one secret,
//! a JSON object of strings, which is read on first use. It is never in the environment or a log.

use std::collections::BTreeMap;
use std::fmt;

use dataperf::evaluation::workflow::WorkflowError;
use dataperf_aws::{Clients, Post, port_error};
use dataperf_collections::common::SecretKey;
use serde::Deserialize;
use serde_json::json;

use crate::common::collection::Collection;

/// The answer of Secrets Manager.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    secret_string: Option<String>,
}

/// The content of the secret.
pub struct Secrets {
    name: String,
    members: BTreeMap<String, String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.name)
    }
}

impl Secrets {
    /// Asks Secrets Manager, at `endpoint` or where the environment says.
    ///
    /// # Errors
    /// [`WorkflowError`] when it can't be read, or is of another form.
    pub async fn read(clients: &Clients, endpoint: Option<&str>, name: &str) -> Result<Self, WorkflowError> {
        let request = Post {
            operation: "GetSecretValue",
            path: "/".into(),
            headers: vec![
                ("content-type", "application/x-amz-json-1.1"),
                ("x-amz-target", "secretsmanager.GetSecretValue"),
            ],
            body: json!({ "SecretId": name }).to_string(),
        };
        let answer = clients.secrets_manager(endpoint).post(request).await;
        let answer = answer.map_err(|error| port_error(format!("reading the secret `{name}`"), error))?;
        let answer: Option<Answer> = serde_json::from_slice(&answer).ok();
        let members = answer
            .and_then(|answer| answer.secret_string)
            .and_then(|text| serde_json::from_str(&text).ok());
        let wrong = || {
            let problem = format!(
                "the secret `{name}` is not a JSON object of strings: store the keys of services and of \
                    pseudonyms in it"
            );
            organizer(problem)
        };
        Ok(Self {
            name: name.to_owned(),
            members: members.ok_or_else(wrong)?,
        })
    }

    /// Whether it has all of these members.
    pub fn has_all<'a>(&self, mut members: impl Iterator<Item = &'a str>) -> bool {
        members.all(|member| self.members.contains_key(member))
    }

    /// One of its members.
    ///
    /// # Errors
    /// [`WorkflowError`] if no member has this name.
    pub fn member(&self, member: &str) -> Result<&str, WorkflowError> {
        let value = self.members.get(member).map(String::as_str);
        value.ok_or_else(|| organizer(format!("the secret `{}` has no `{member}`", self.name)))
    }

    /// The key in a member that ids and pseudonyms are made with.
    ///
    /// # Errors
    /// [`WorkflowError`] if no member has this name, or it is too short.
    pub fn key(&self, member: &str) -> Result<SecretKey, WorkflowError> {
        let key = SecretKey::new(self.member(member)?.as_bytes());
        key.map_err(|weak| organizer(format!("`{member}` in the secret `{}`: {weak}", self.name)))
    }
}

/// The key of a collection's pseudonyms, for anybody who may read the secret `name`.
///
/// # Errors
/// [`WorkflowError`] when it can't be read, or has no such key.
pub async fn pseudonym_key<C: Collection>(
    clients: &Clients,
    endpoint: Option<&str>,
    name: &str,
) -> Result<SecretKey, WorkflowError> {
    Secrets::read(clients, endpoint, name).await?.key(C::PSEUDONYMS)
}

fn organizer(message: String) -> WorkflowError {
    WorkflowError::organizer(message)
}
