//! Access control: the callers' keys, and their policies.

mod admission;
mod guard;
mod s3;
mod signature;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) use self::admission::{Admission, Hosts};
pub(crate) use self::guard::{Guard, Refused};
pub(crate) use self::s3::{Access, Keys};

use crate::config::{Config, TableSpec};
use crate::lock::locked;
use crate::policy::{Policy, Request};

/// A caller's permissions.
#[derive(Clone, Debug)]
pub(crate) enum Rights {
    /// Everything: the organizer, and functions without a policy.
    All,
    These(Arc<Policy>),
}

impl Rights {
    pub(crate) fn allow(&self, request: &Request<'_>) -> bool {
        match self {
            Self::All => true,
            Self::These(policy) => policy.allows(request),
        }
    }
}

/// How long the keys of a process that has ended still hold, for addresses that it has signed: as in AWS, where a function's credentials
/// outlive its processes.
const KEPT: Duration = Duration::from_hours(12);

#[derive(Clone, Debug)]
struct Caller {
    secret: String,
    rights: Rights,
    /// When its process ended.
    ended_at: Option<Instant>,
}

/// Everybody who may use the services, by access key.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    callers: Mutex<BTreeMap<String, Caller>>,
    /// The attributes by which policies identify the requested part of the table.
    partition_keys: Vec<String>,
}

impl Callers {
    /// The organizer, and those that `config` names.
    pub(crate) fn new(config: &Config) -> Self {
        let partition_keys = config.table.as_ref().map(TableSpec::partition_keys);
        let callers = Self {
            partition_keys: partition_keys.unwrap_or_default(),
            ..Self::default()
        };
        callers.add(&config.organizer.id, &config.organizer.secret, Rights::All);
        for identity in &config.identities {
            let rights = Rights::These(Arc::new(identity.policy.clone()));
            callers.add(&identity.access_key, &identity.secret, rights);
        }
        callers
    }

    /// Adds a caller, or gives it other keys and rights.
    pub(crate) fn add(&self, access_key: &str, secret: &str, rights: Rights) {
        let caller = Caller {
            secret: secret.to_owned(),
            rights,
            ended_at: None,
        };
        locked(&self.callers).insert(access_key.to_owned(), caller);
    }

    /// The partition keys of the table, and then of its indexes.
    pub(crate) fn partition_keys(&self) -> &[String] {
        &self.partition_keys
    }

    /// Notes that a caller's process has ended, and forgets those that have ended long ago.
    pub(crate) fn end(&self, access_key: &str) {
        let mut callers = locked(&self.callers);
        callers.retain(|_, caller| caller.ended_at.is_none_or(|ended_at| ended_at.elapsed() < KEPT));
        if let Some(caller) = callers.get_mut(access_key) {
            caller.ended_at = Some(Instant::now());
        }
    }

    pub(crate) fn secret(&self, access_key: &str) -> Option<String> {
        locked(&self.callers)
            .get(access_key)
            .map(|caller| caller.secret.clone())
    }

    pub(crate) fn rights(&self, access_key: &str) -> Option<Rights> {
        locked(&self.callers)
            .get(access_key)
            .map(|caller| caller.rights.clone())
    }
}
