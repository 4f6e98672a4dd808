//! Lists submitters and reserves their names. Each benchmark notes a name once by its appearance,
//! so the first of several similar names wins.

use std::collections::BTreeSet;

use dataperf::ports::PortError;
use dataperf::upload::UNNAMED;
use dataperf::{SubmitterName, Timestamp};

use crate::table::items::{Item, SCHEMA, count, text};
use crate::table::keys::{self, Key};
use crate::table::pages::PageError;
use crate::table::query::Partition;
use crate::table::reader::{self, Reader};
use crate::{S3Bucket, Table};

/// How many lines of a history, the oldest, are searched for a submission that obeyed the rules.
const FIRST_LINES: usize = 100;

/// How many unfinished submissions, the oldest, are read for the names of a benchmark's submitters.
const MAX_UNFINISHED: usize = 1_000;

/// The submitter that an item of names notes.
fn noted(item: &Item) -> Result<SubmitterName, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    reader.parsed("submitter")
}

/// Notes that a name is somebody's. If the name of somebody else that looks like it keeps them from using it, returns that name.
pub(crate) async fn note(
    table: &Table,
    benchmark: &str,
    name: &SubmitterName,
    at: Timestamp,
) -> Result<Option<SubmitterName>, PortError> {
    let name_key = (benchmark.to_owned(), name.clone());
    if table.seen.is_submitter(&name_key) {
        return Ok(None);
    }
    let key = || Key::name(benchmark, name);
    if table.item(key()).await?.is_none() {
        let mut item = key().item();
        item.insert("schema".into(), count(SCHEMA.into()));
        item.insert("submitter".into(), text(name.as_str()));
        item.insert("since".into(), text(at.to_string()));
        table.put_new(item).await?; // of two at once one is there
    }
    let other = table.name_taken_by(benchmark, name).await?;
    if other.is_none() {
        table.seen.keep_submitter(name_key);
    }
    Ok(other)
}

/// Names in the table.
impl Table {
    /// An already noted name that looks like `name` and so prevents its use in a benchmark; `None`
    /// if there is none.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn name_taken_by(
        &self,
        benchmark: &str,
        name: &SubmitterName,
    ) -> Result<Option<SubmitterName>, PortError> {
        let Some(item) = self.item(Key::name(benchmark, name)).await? else {
            return Ok(None);
        };
        let other = noted(&item)?;
        if other == *name || self.has_stood(benchmark, name).await? {
            return Ok(None);
        }
        Ok(Some(other))
    }

    /// Whether one of somebody's first submissions to a benchmark was scored or accepted.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn has_stood(&self, benchmark: &str, name: &SubmitterName) -> Result<bool, PortError> {
        let history = Partition::new(keys::history_partition(benchmark, name.as_str()));
        for line in self.query_first(&history, FIRST_LINES).await? {
            if reader::entry(&line)?.is_scored_or_accepted() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Frees a name in a benchmark: it is no longer noted as somebody's, and the access that was given under it is forgotten. Says whether there was
    /// either.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn free_name(&self, benchmark: &str, name: &SubmitterName) -> Result<bool, PortError> {
        let item = self.item(Key::name(benchmark, name)).await?;
        let is_noted = item.as_ref().map(noted).transpose()?.as_ref() == Some(name);
        if is_noted {
            self.delete_item(Key::name(benchmark, name)).await?;
        }
        Ok(self.forget_grants(benchmark, name).await? || is_noted)
    }
}

/// The submitters of a benchmark: those with a receipt, with one of the first thousand unfinished submissions, or with access that was given to them.
///
/// # Errors
/// [`PortError`].
pub async fn submitters(
    table: &Table,
    results: &S3Bucket,
    benchmark: &str,
) -> Result<BTreeSet<SubmitterName>, PortError> {
    let mut submitters = BTreeSet::new();
    for board in results.folders(&format!("{benchmark}/")).await? {
        if board != UNNAMED {
            submitters.extend(results.folders(&format!("{benchmark}/{board}/")).await?);
        }
    }
    let unfinished = table.unfinished_page(benchmark, None, MAX_UNFINISHED).await;
    let unfinished = unfinished.map_err(|error| match error {
        PageError::Port(error) => error,
        PageError::Cursor => PortError::Malformed {
            subject: format!("what is unfinished of `{benchmark}`"),
            why: "it has no first page".into(),
        },
    });
    submitters.extend(unfinished?.lines.into_iter().map(|entry| entry.submitter));
    let mut names: BTreeSet<SubmitterName> = submitters.iter().filter_map(|name| name.parse().ok()).collect();
    names.extend(
        table
            .grants(benchmark)
            .await?
            .into_iter()
            .map(|grant| grant.submitter),
    );
    Ok(names)
}
