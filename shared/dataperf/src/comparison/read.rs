//! Reads a board's comparison: the summary and a few rows, without the rest.

use std::collections::BTreeMap;
use std::ops::Range;

use super::wire::MIN_LINES;
use super::{Comparison, FIRST_BYTES, Line, Summary};
use crate::board::Board;
use crate::ports::PortError;
use crate::ports::bucket::Bucket;
use crate::submission::Entry;
use crate::upload::SubmissionId;

/// The read part of a comparison: the summary, and some rows' lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The summary of the board.
    pub summary: Summary,
    lines: BTreeMap<SubmissionId, Line>,
}

/// The bytes of the summary and the first lines.
const FIRST: Range<u64> = 0..FIRST_BYTES as u64;
/// How many lines around a row's place are read as well: rows that have come or gone since a board was compared move the others.
const AROUND: usize = 64;

impl Read {
    /// Reads the summary and the rows at these places; `None` if the board has not been compared.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn load(
        results: &dyn Bucket,
        board: &Board,
        places: Range<usize>,
    ) -> Result<Option<Self>, PortError> {
        let Some(mut read) = Self::beginning(results, board).await? else {
            return Ok(None);
        };
        let wanted = places.start.saturating_sub(AROUND)..read.summary.n_rows.min(places.end + AROUND);
        if wanted.end > read.lines.len() && wanted.start < wanted.end {
            read.more(results, board, wanted).await?;
        }
        Ok(Some(read))
    }

    /// Reads the summary and one row at an unknown place. It starts with the best rows and reads
    /// more lines at a time until it finds the row. `None` if the board has not been compared.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn of_row(
        results: &dyn Bucket,
        board: &Board,
        row: &SubmissionId,
    ) -> Result<Option<Self>, PortError> {
        let Some(mut read) = Self::beginning(results, board).await? else {
            return Ok(None);
        };
        let (mut from, mut n) = (read.lines.len(), 4 * MIN_LINES);
        while !read.lines.contains_key(row) && from < read.summary.n_rows {
            let until = read.summary.n_rows.min(from + n);
            read.more(results, board, from..until).await?;
            (from, n) = (until, 4 * n);
        }
        Ok(Some(read))
    }

    async fn beginning(results: &dyn Bucket, board: &Board) -> Result<Option<Self>, PortError> {
        let key = Comparison::key(board);
        let beginning = results.get_ranges(&key, &[FIRST]).await?;
        let Some(beginning) = beginning.and_then(|ranges| ranges.into_iter().next()) else {
            return Ok(None);
        };
        let Comparison { summary, lines } = Comparison::from_bytes(&beginning)?;
        Ok(Some(Self {
            summary,
            lines: lines.into_iter().collect(),
        }))
    }

    async fn more(
        &mut self,
        results: &dyn Bucket,
        board: &Board,
        places: Range<usize>,
    ) -> Result<(), PortError> {
        let key = Comparison::key(board);
        match results.get_ranges(&key, &[Comparison::range_of(places)]).await {
            // the board has been compared again meanwhile, and has fewer rows
            Err(PortError::Malformed { .. }) => {}
            more => {
                for bytes in more?.into_iter().flatten() {
                    self.lines.extend(Comparison::lines(&bytes)?);
                }
            }
        }
        Ok(())
    }

    /// The comparison of a row; `None` if it has not been compared yet.
    pub fn line(&self, row: &Entry) -> Option<&Line> {
        self.lines
            .get(&row.id)
            .filter(|_| row.dataset == self.summary.dataset)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use bytes::Bytes;

    use super::*;
    use crate::Timestamp;
    use crate::comparison::LINE_BYTES;
    use crate::ports::async_trait;
    use crate::ports::bucket::Got;
    use crate::ports::memory::MemoryBucket;

    /// A bucket that counts what is read.
    #[derive(Default)]
    struct Counting {
        bucket: MemoryBucket,
        n_bytes: AtomicU64,
    }

    #[async_trait]
    impl Bucket for Counting {
        async fn get(&self, key: &str, version: Option<&str>, max_bytes: u64) -> Result<Got, PortError> {
            self.bucket.get(key, version, max_bytes).await
        }

        async fn get_ranges(
            &self,
            key: &str,
            ranges: &[Range<u64>],
        ) -> Result<Option<Vec<Bytes>>, PortError> {
            let n_bytes = ranges.iter().map(|range| range.end - range.start).sum();
            self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
            self.bucket.get_ranges(key, ranges).await
        }

        async fn put(&self, key: &str, bytes: Bytes) -> Result<(), PortError> {
            self.bucket.put(key, bytes).await
        }

        async fn put_if_absent(&self, key: &str, bytes: Bytes) -> Result<bool, PortError> {
            self.bucket.put_if_absent(key, bytes).await
        }
    }

    #[test]
    fn one_row_is_read_without_the_rest_below() {
        const N_ROWS: usize = 10_000;
        let id = |row: usize| SubmissionId::derive("bucket", &row.to_string(), "");
        let line = |row: usize| Line {
            ranks: Some((row as u32 + 1, row as u32 + 1)),
            interval: None,
            n_submissions: 1,
            is_above_baselines: None,
            area: None,
        };
        let summary = Summary {
            schema: Comparison::SCHEMA,
            compared_at: Timestamp::from_unix_millis(1),
            dataset: None,
            n_rows: N_ROWS,
            n_ranked: N_ROWS,
            n_missing: 0,
            n_best: 1,
            resolution: None,
            is_clustered: false,
            why_none: None,
            why_no_score_intervals: None,
            n_best_by_area: None,
        };
        let comparison = Comparison {
            summary,
            lines: (0..N_ROWS).map(|row| (id(row), line(row))).collect(),
        };
        let board = Board {
            benchmark: "b".into(),
            leaderboard: "l".into(),
            round: "open".into(),
        };
        let bucket = Counting::default();
        let bytes = comparison.to_bytes().expect("a short summary");
        let key = Comparison::key(&board);
        pollster::block_on(bucket.put(&key, bytes.into())).expect("kept");
        for (row, most) in [
            (0, 256),
            (255, 256),
            (256, 1_280),
            (1_300, 5_376),
            (9_999, N_ROWS),
        ] {
            bucket.n_bytes.store(0, Ordering::Relaxed);
            let read = pollster::block_on(Read::of_row(&bucket, &board, &id(row)));
            let read = read.expect("read").expect("compared");
            assert_eq!(read.lines.get(&id(row)), Some(&line(row)));
            let n_bytes = bucket.n_bytes.load(Ordering::Relaxed);
            assert!(n_bytes <= 2_048 + (most * LINE_BYTES) as u64, "{row}: {n_bytes}");
        }
        let none = pollster::block_on(Read::of_row(&bucket, &board, &id(N_ROWS)));
        assert!(
            !none
                .expect("read")
                .expect("compared")
                .lines
                .contains_key(&id(N_ROWS))
        );
    }
}
