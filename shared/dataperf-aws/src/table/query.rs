//! Queries: each reads one partition of the table or of its index, never a scan.

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use dataperf::board::Board;
use dataperf::ports::PortError;

use crate::sdk::port_error::port_error;
use crate::table::Table;
use crate::table::attributes::{Item, RANKING, text};
use crate::table::keys::ranking_partition;

/// A partition of the table or of its index, in the order in which it is read.
#[derive(Debug, Clone)]
pub struct Partition {
    /// The index, or the table itself.
    pub(crate) index: Option<&'static str>,
    /// The attribute that is the partition key.
    pub(crate) hash: &'static str,
    /// Its value.
    pub(crate) value: String,
    /// Whether the last items come first.
    newest_first: bool,
    /// The sort key after which reading begins; `None` for the partition's beginning.
    after: Option<String>,
    /// The prefix of the sort keys to read; `None` for all.
    prefix: Option<String>,
}

impl Partition {
    /// A partition of the table, in the order of its sort keys.
    pub fn new(value: impl Into<String>) -> Self {
        Self {
            index: None,
            hash: "pk",
            value: value.into(),
            newest_first: false,
            after: None,
            prefix: None,
        }
    }

    /// The items of the same partition whose sort keys begin so.
    #[must_use]
    pub(crate) fn beginning_with(self, prefix: impl Into<String>) -> Self {
        Self {
            prefix: Some(prefix.into()),
            ..self
        }
    }

    /// The same partition, read from after a sort key of the table.
    #[must_use]
    pub fn after(self, sort_key: impl Into<String>) -> Self {
        Self {
            after: Some(sort_key.into()),
            ..self
        }
    }

    /// The rows of a board, best first.
    pub(crate) fn ranking(board: &Board) -> Self {
        Self {
            index: Some(RANKING),
            hash: "board",
            ..Self::new(ranking_partition(board))
        }
    }

    /// The same partition from its end.
    pub(crate) fn newest_first(self) -> Self {
        Self {
            newest_first: true,
            ..self
        }
    }
}

impl Table {
    /// All items of a partition; of the table itself as they are now, of an index as they were moments ago.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn query(&self, partition: &Partition) -> Result<Vec<Item>, PortError> {
        self.query_first(partition, usize::MAX).await
    }

    /// The first `n` items of a partition, read as [`Table::query`] does.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn query_first(&self, partition: &Partition, n: usize) -> Result<Vec<Item>, PortError> {
        let _call = self.meter.call();
        let request = self
            .query_request(partition)
            .consistent_read(partition.index.is_none());
        let mut first: Vec<Item> = Vec::new();
        let mut start = None;
        loop {
            let page = request.clone().set_exclusive_start_key(start);
            let (items, next) = self.query_page(page, n - first.len()).await?;
            first.extend(items);
            start = next;
            if start.is_none() || first.len() >= n {
                return Ok(first);
            }
        }
    }

    /// At most `n` items of a partition from a key on, as they were moments ago, and the key from which the next ones are read.
    ///
    /// # Errors
    /// [`PortError`].
    pub(crate) async fn page(
        &self,
        partition: &Partition,
        start: Option<Item>,
        n: usize,
    ) -> Result<(Vec<Item>, Option<Item>), PortError> {
        let _call = self.meter.call();
        let request = self.query_request(partition).set_exclusive_start_key(start);
        self.query_page(request, n).await
    }

    fn query_request(&self, partition: &Partition) -> QueryFluentBuilder {
        let request = self
            .client
            .query()
            .table_name(&self.name)
            .set_index_name(partition.index.map(str::to_owned))
            .expression_attribute_names("#hash", partition.hash)
            .expression_attribute_values(":hash", text(&partition.value))
            .scan_index_forward(!partition.newest_first);
        match (&partition.prefix, &partition.after) {
            (Some(prefix), _) => request
                .key_condition_expression("#hash = :hash AND begins_with(sk, :prefix)")
                .expression_attribute_values(":prefix", text(prefix)),
            (None, Some(after)) => request
                .key_condition_expression("#hash = :hash AND sk > :after")
                .expression_attribute_values(":after", text(after)),
            (None, None) => request.key_condition_expression("#hash = :hash"),
        }
    }

    async fn query_page(
        &self,
        request: QueryFluentBuilder,
        n: usize,
    ) -> Result<(Vec<Item>, Option<Item>), PortError> {
        let sent = request.limit(i32::try_from(n).unwrap_or(i32::MAX)).send().await;
        let output = sent.map_err(|error| port_error(self.describe("querying"), error))?;
        let next = output.last_evaluated_key.filter(|key| !key.is_empty());
        Ok((output.items.unwrap_or_default(), next))
    }
}
