//! Records who received forms to submit with, and for which leaderboards. A form names one
//! leaderboard, so earlier recipients lack forms for new ones.

use dataperf::ports::PortError;
use dataperf::{SubmitterName, Timestamp};

use crate::sdk::retry::Retry;
use crate::table::items::{Item, SCHEMA, count, text};
use crate::table::keys::Key;
use crate::table::query::Partition;
use crate::table::reader::Reader;
use crate::table::{Step, Table};

/// Forms that were given to one submitter of a benchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The submitter.
    pub submitter: SubmitterName,
    /// The leaderboards that the forms are for.
    pub leaderboards: Vec<String>,
    /// Whether the leaderboards were chosen; otherwise they are all that were active at the time.
    pub is_chosen: bool,
    /// When they were given.
    pub at: Timestamp,
}

impl Grant {
    /// The active leaderboards without a form; none if the submitter's leaderboards were chosen
    /// explicitly.
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

fn key(benchmark: &str, name: &SubmitterName) -> Key {
    Key::new(partition(benchmark), name.as_str())
}

fn grant(item: &Item) -> Result<Grant, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    let leaderboards = serde_json::from_str(reader.text("leaderboards")?);
    Ok(Grant {
        submitter: reader.parsed("submitter")?,
        leaderboards: leaderboards.map_err(|error| reader.malformed(format!("`leaderboards`: {error}")))?,
        is_chosen: item.contains_key("chosen"),
        at: reader.parsed("granted_at")?,
    })
}

/// Forms in the table.
impl Table {
    /// Notes that forms were given, and replaces the submitter's earlier note.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn note_grant(&self, benchmark: &str, grant: &Grant) -> Result<(), PortError> {
        let leaderboards = serde_json::json!(grant.leaderboards).to_string();
        let mut item = key(benchmark, &grant.submitter).item();
        item.insert("schema".into(), count(SCHEMA.into()));
        item.insert("submitter".into(), text(grant.submitter.as_str()));
        item.insert("leaderboards".into(), text(leaderboards));
        item.insert("granted_at".into(), text(grant.at.to_string()));
        if grant.is_chosen {
            item.insert("chosen".into(), count(1));
        }
        let mut retry = Retry::new(format!("forms of `{}`", grant.submitter));
        loop {
            let put = self.put(item.clone(), None);
            match self.transact(vec![(Step::Named("grant"), put)]).await {
                Ok(()) => return Ok(()),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    /// Forgets the forms that were given under a name. Says whether there was any.
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
                self.delete_item(key(benchmark, name)).await?;
                is_known = true;
            }
        }
        Ok(is_known)
    }

    /// The forms that were given to a benchmark's submitters, in the order of their names.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn grants(&self, benchmark: &str) -> Result<Vec<Grant>, PortError> {
        let items = self.query(&Partition::new(partition(benchmark))).await?;
        items.iter().map(grant).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_for_all_leaderboards_lack_new_ones() {
        let mut grant = Grant {
            submitter: "ada".parse().expect("a name"),
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
