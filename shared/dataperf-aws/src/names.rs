//! Who submits to a benchmark, each noted once by what the name looks like: of names that people take for each other the first one stands.

use dataperf::ports::PortError;
use dataperf::{SubmitterName, Timestamp};

use crate::items::{Item, SCHEMA, count, text};
use crate::keys::{self, Key};
use crate::pages::{Cursor, Page, PageError};
use crate::query::Partition;
use crate::reader::Reader;
use crate::table::Table;

/// A submitter of a benchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotedSubmitter {
    /// The name.
    pub name: SubmitterName,
    /// Since when it is noted: the time of the first upload, or when access was given.
    pub since: Timestamp,
}

fn noted(item: &Item) -> Result<NotedSubmitter, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    Ok(NotedSubmitter {
        name: reader.parsed("submitter")?,
        since: reader.parsed("since")?,
    })
}

/// Notes a submitter, unless one is noted that the name looks like: then that one.
pub(crate) async fn note(
    table: &Table,
    benchmark: &str,
    name: &SubmitterName,
    at: Timestamp,
) -> Result<Option<SubmitterName>, PortError> {
    let of = (benchmark.to_owned(), name.clone());
    if table.seen.is_submitter(&of) {
        return Ok(None);
    }
    let mut found = table.item(Key::name(benchmark, name)).await?;
    if found.is_none() {
        let mut item = Key::name(benchmark, name).item();
        item.insert("schema".into(), count(SCHEMA.into()));
        item.insert("submitter".into(), text(name.as_str()));
        item.insert("since".into(), text(at.to_string()));
        if !table.put_new(item).await? {
            found = table.item(Key::name(benchmark, name)).await?;
        }
    }
    let other = found.as_ref().map(noted).transpose()?.map(|noted| noted.name);
    let other = other.filter(|other| other != name);
    if other.is_none() {
        table.seen.keep_submitter(of);
    }
    Ok(other)
}

/// Submitters in the table.
impl Table {
    /// Who is noted as a benchmark's submitter, nearly in the order of the names; at most `n`.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn submitters_page(
        &self,
        benchmark: &str,
        after: Option<&Cursor>,
        n: usize,
    ) -> Result<Page<NotedSubmitter>, PageError> {
        let partition = Partition::of(keys::names_partition(benchmark));
        self.lines(&partition, after, n, noted).await
    }

    /// All who are noted as a benchmark's submitters.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn submitters(&self, benchmark: &str) -> Result<Vec<NotedSubmitter>, PortError> {
        let items = self
            .query(&Partition::of(keys::names_partition(benchmark)))
            .await?;
        items.iter().map(noted).collect()
    }
}
