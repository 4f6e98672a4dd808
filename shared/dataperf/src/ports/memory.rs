//! Both ports in memory: for tests, and the reference that the contract compares adapters with.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::PortError;
use super::bucket::{Bucket, Got, Object, PutIfAbsent};
use super::leaderboard::{
    Board, Entry, Finished, Known, Leaderboards, Ranked, Received, Reopened, Submission, rank_key,
    with_shared_ranks,
};
use crate::rank::{Direction, RankKey};
use crate::upload::SubmissionId;
use crate::verdict::{Ending, Receipt};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A bucket in memory. Clones share their objects. Versions are the decimal numbers of an object's writes, from 0.
#[derive(Debug, Clone, Default)]
pub struct MemoryBucket {
    objects: Arc<Mutex<BTreeMap<String, Vec<Bytes>>>>,
}

impl MemoryBucket {
    fn version(&self, key: &str, version: Option<&str>) -> Option<Bytes> {
        let objects = lock(&self.objects);
        let versions = objects.get(key)?;
        match version {
            None => versions.last().cloned(),
            Some(version) => versions.get(version.parse::<usize>().ok()?).cloned(),
        }
    }
}

impl Bucket for MemoryBucket {
    async fn get(&self, key: &str, version: Option<&str>, max_bytes: u64) -> Result<Got, PortError> {
        Ok(match self.version(key, version) {
            None => Got::Missing,
            Some(bytes) if bytes.len() as u64 > max_bytes => Got::TooLarge {
                n_bytes: bytes.len() as u64,
            },
            Some(bytes) => Got::Object(Object {
                bytes,
                stored_at: None,
            }),
        })
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Option<Vec<Bytes>>, PortError> {
        let Some(bytes) = self.version(key, None) else {
            return Ok(None);
        };
        let part = |range: &Range<u64>| {
            let fits = range.start <= range.end && range.end <= bytes.len() as u64;
            let beyond = || PortError::Malformed {
                what: key.to_owned(),
                why: format!("it ends before byte {}", range.end),
            };
            fits.then(|| bytes.slice(range.start as usize..range.end as usize))
                .ok_or_else(beyond)
        };
        ranges.iter().map(part).collect::<Result<_, _>>().map(Some)
    }

    async fn put(&self, key: &str, bytes: Bytes) -> Result<(), PortError> {
        lock(&self.objects).entry(key.to_owned()).or_default().push(bytes);
        Ok(())
    }

    async fn put_if_absent(&self, key: &str, bytes: Bytes) -> Result<PutIfAbsent, PortError> {
        let mut objects = lock(&self.objects);
        if objects.contains_key(key) {
            return Ok(PutIfAbsent::Existed);
        }
        objects.insert(key.to_owned(), vec![bytes]);
        Ok(PutIfAbsent::Stored)
    }
}

/// The table in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryLeaderboards {
    table: Arc<Mutex<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    submissions: BTreeMap<(String, SubmissionId), Submission>,
    best: BTreeMap<(Board, String), (RankKey, Entry)>,
}

impl Table {
    fn entries(&self, benchmark: &str) -> Vec<Entry> {
        let of_benchmark = self
            .submissions
            .values()
            .filter(|submission| submission.board.benchmark == benchmark);
        let mut entries: Vec<Entry> = of_benchmark.map(Submission::entry).collect();
        entries.sort_by(|a, b| (a.received_at, &a.id).cmp(&(b.received_at, &b.id)));
        entries
    }
}

impl Leaderboards for MemoryLeaderboards {
    async fn receive(&self, received: &Received) -> Result<Known, PortError> {
        let id = received.upload.id();
        let mut table = lock(&self.table);
        let key = (received.board.benchmark.clone(), id.clone());
        if let Some(known) = table.submissions.get(&key) {
            return Ok(match &known.receipt {
                Some(receipt) => Known::Ended(receipt.clone()),
                None => Known::Unfinished(known.clone()),
            });
        }
        let submission = Submission {
            id,
            board: received.board.clone(),
            submitter: received.submitter.clone(),
            received_at: received.upload.received_at,
            upload: received.upload.clone(),
            receipt: None,
        };
        table.submissions.insert(key, submission.clone());
        Ok(Known::New(submission))
    }

    async fn finish(&self, receipt: &Receipt, direction: Direction) -> Result<Finished, PortError> {
        let mut table = lock(&self.table);
        let key = (receipt.verdict.benchmark.clone(), receipt.submission.clone());
        let Some(submission) = table.submissions.get_mut(&key) else {
            let why = "it was never received".to_owned();
            return Err(PortError::Malformed {
                what: receipt.submission.to_string(),
                why,
            });
        };
        if let Some(ended) = &submission.receipt {
            return Ok(Finished::EndedBefore(ended.clone()));
        }
        submission.receipt = Some(receipt.clone());
        let entry = submission.entry();
        if let Some(rank) = rank_key(receipt, direction) {
            let place = (entry.board.clone(), entry.submitter.clone());
            if table.best.get(&place).is_none_or(|(best, _)| rank < *best) {
                table.best.insert(place, (rank, entry));
            }
        }
        Ok(Finished::Recorded)
    }

    async fn submission(&self, benchmark: &str, id: &SubmissionId) -> Result<Option<Submission>, PortError> {
        Ok(lock(&self.table)
            .submissions
            .get(&(benchmark.to_owned(), id.clone()))
            .cloned())
    }

    async fn top(&self, board: &Board, n: usize) -> Result<Vec<Ranked>, PortError> {
        let table = lock(&self.table);
        let mut best: Vec<_> = table
            .best
            .iter()
            .filter(|((of, _), _)| of == board)
            .map(|(_, best)| best)
            .collect();
        best.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(with_shared_ranks(
            best.into_iter().take(n).map(|(_, entry)| entry.clone()),
        ))
    }

    async fn history(&self, benchmark: &str, submitter: &str, n: usize) -> Result<Vec<Entry>, PortError> {
        let mut entries = lock(&self.table).entries(benchmark);
        entries.retain(|entry| entry.submitter == submitter);
        Ok(entries.into_iter().rev().take(n).collect())
    }

    async fn series(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        let mut entries = lock(&self.table).entries(&board.benchmark);
        entries.retain(|entry| entry.board == *board && entry.ending == Some(Ending::Scored));
        Ok(entries)
    }

    async fn unfinished(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        let mut entries = lock(&self.table).entries(benchmark);
        entries.retain(|entry| entry.ending.is_none());
        Ok(entries)
    }

    async fn failed(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        let mut entries = lock(&self.table).entries(benchmark);
        entries.retain(|entry| entry.ending == Some(Ending::Failed));
        Ok(entries)
    }

    async fn reopen(&self, benchmark: &str, id: &SubmissionId) -> Result<Reopened, PortError> {
        let mut table = lock(&self.table);
        let Some(submission) = table.submissions.get_mut(&(benchmark.to_owned(), id.clone())) else {
            return Ok(Reopened::Unknown);
        };
        Ok(match &submission.receipt {
            None => Reopened::Unfinished(submission.clone()),
            Some(receipt) if receipt.verdict.status != Ending::Failed => Reopened::Final(receipt.clone()),
            Some(_) => {
                submission.receipt = None;
                Reopened::Reopened(submission.clone())
            }
        })
    }

    async fn boards(&self, benchmark: &str) -> Result<Vec<Board>, PortError> {
        let table = lock(&self.table);
        let mut boards: Vec<Board> = table.best.keys().map(|(board, _)| board.clone()).collect();
        boards.retain(|board| board.benchmark == benchmark);
        boards.dedup();
        Ok(boards)
    }
}
