//! Who was given access to submit, and to which leaderboards: rights name each leaderboard, so that rights given earlier lack new ones.

use dataperf::ports::PortError;
use dataperf::{SubmitterName, Timestamp};

use crate::items::{Item, SCHEMA, count, text};
use crate::keys::Key;
use crate::query::Partition;
use crate::reader::Reader;
use crate::retry::Retry;
use crate::table::{Step, Table};

/// How somebody may submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// By signed forms.
    Forms,
    /// By a policy of a user or role.
    Policy,
}

impl Access {
    /// The word that documents use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forms => "forms",
            Self::Policy => "policy",
        }
    }
}

/// Access that was given to one submitter of a benchmark, the latest of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Who may submit.
    pub submitter: SubmitterName,
    /// How the submitter may submit.
    pub access: Access,
    /// The leaderboards that the access is for.
    pub leaderboards: Vec<String>,
    /// Whether the leaderboards were chosen; otherwise they are all that were in force at the time.
    pub is_chosen: bool,
    /// When access was given.
    pub at: Timestamp,
}

impl Grant {
    /// The leaderboards in force that this access lacks; none where its leaderboards were chosen.
    pub fn lacks<'a>(&self, in_force: impl IntoIterator<Item = &'a String>) -> Vec<String> {
        if self.is_chosen {
            return Vec::new();
        }
        let lacking = in_force
            .into_iter()
            .filter(|board| !self.leaderboards.contains(board));
        lacking.cloned().collect()
    }
}

fn partition(benchmark: &str) -> String {
    format!("{benchmark}#submitters")
}

fn key(benchmark: &str, name: &SubmitterName, access: Access) -> Key {
    Key::new(partition(benchmark), format!("{name}#{}", access.as_str()))
}

fn grant(item: &Item) -> Result<Grant, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    let access = match reader.text("access")? {
        "forms" => Access::Forms,
        "policy" => Access::Policy,
        other => return Err(reader.malformed(format!("`access` is `{other}`"))),
    };
    let leaderboards = serde_json::from_str(reader.text("leaderboards")?);
    Ok(Grant {
        submitter: reader.parsed("submitter")?,
        access,
        leaderboards: leaderboards.map_err(|error| reader.malformed(format!("`leaderboards`: {error}")))?,
        is_chosen: item.contains_key("chosen"),
        at: reader.parsed("granted_at")?,
    })
}

/// Access in the table.
impl Table {
    /// Notes that access was given, in place of what was noted of the same submitter and kind of access.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn note_grant(&self, benchmark: &str, grant: &Grant) -> Result<(), PortError> {
        let leaderboards = serde_json::json!(grant.leaderboards).to_string();
        let mut item = key(benchmark, &grant.submitter, grant.access).item();
        item.insert("schema".into(), count(SCHEMA.into()));
        item.insert("submitter".into(), text(grant.submitter.as_str()));
        item.insert("access".into(), text(grant.access.as_str()));
        item.insert("leaderboards".into(), text(leaderboards));
        item.insert("granted_at".into(), text(grant.at.to_string()));
        if grant.is_chosen {
            item.insert("chosen".into(), count(1));
        }
        let mut retry = Retry::of(format!("access of `{}`", grant.submitter));
        loop {
            let put = self.put(item.clone(), None);
            match self.transact(vec![(Step::Named("grant"), put)]).await {
                Ok(()) => return Ok(()),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    /// Forgets the access that was given under a name. Says whether there was any.
    ///
    /// # Errors
    /// [`PortError`].
    pub(crate) async fn forget_grants(
        &self,
        benchmark: &str,
        name: &SubmitterName,
    ) -> Result<bool, PortError> {
        let mut is_known = false;
        for grant in self.grants(benchmark).await? {
            if grant.submitter == *name {
                self.delete_item(key(benchmark, name, grant.access)).await?;
                is_known = true;
            }
        }
        Ok(is_known)
    }

    /// The access that was given to a benchmark's submitters, in the order of their names.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn grants(&self, benchmark: &str) -> Result<Vec<Grant>, PortError> {
        let items = self.query(&Partition::of(partition(benchmark))).await?;
        items.iter().map(grant).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_given_all_leaderboards_lacks_the_new_ones() {
        let mut grant = Grant {
            submitter: "ada".parse().expect("a name"),
            access: Access::Policy,
            leaderboards: vec!["en-25".into()],
            is_chosen: false,
            at: Timestamp::from_unix_millis(0),
        };
        let in_force = ["en-25".to_owned(), "xray-50".to_owned()];
        assert_eq!(grant.lacks(&in_force), ["xray-50"]);
        grant.is_chosen = true;
        assert_eq!(grant.lacks(&in_force), [""; 0]);
    }
}
