//! A collection's keys: those of services, and the one that ids and pseudonyms are made with. One secret, a
//! JSON object of strings, read when it is first needed. It is never in the environment and never in a log.

use std::collections::BTreeMap;
use std::fmt;

use dataperf::workflow::WorkflowError;
use dataperf_aws::{Clients, Post, port_error};
use dataperf_collection::SecretKey;
use serde::Deserialize;
use serde_json::json;

use crate::collection::Collection;

/// What Secrets Manager answers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    secret_string: Option<String>,
}

/// What the secret holds.
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
            let what = format!(
                "the secret `{name}` is no JSON object of strings: store the keys of services and what pseudonyms are made with in it"
            );
            organizer(what)
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
    /// [`WorkflowError`] when there is none of this name.
    pub fn member(&self, member: &str) -> Result<&str, WorkflowError> {
        let found = self.members.get(member).map(String::as_str);
        found.ok_or_else(|| organizer(format!("the secret `{}` has no `{member}`", self.name)))
    }

    /// The key in a member that ids and pseudonyms are made with.
    ///
    /// # Errors
    /// [`WorkflowError`] when there is none of this name, or it is too short.
    pub fn key(&self, member: &str) -> Result<SecretKey, WorkflowError> {
        let key = SecretKey::new(self.member(member)?.as_bytes());
        key.map_err(|weak| organizer(format!("`{member}` in the secret `{}`: {weak}", self.name)))
    }
}

/// The key that a collection's pseudonyms are made with, for whoever may read the secret `name`.
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
