//! The notes on files where no submission belongs.

use std::collections::BTreeMap;

use dataperf::dataset::DatasetError;
use dataperf::dataset::active::InForce;
use dataperf::evaluation::rescoring::Request;
use dataperf::ports::PortError;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::upload::misplaced::{Note, Place as Board, is_misplaced, is_of_no_kind};
use dataperf::{Descriptor, Timestamp, Upload};
use futures_util::{StreamExt, stream};
use tokio::sync::OnceCell;

use crate::S3Bucket;
use crate::bucket::multipart::is_in_parts;

/// The largest note that is read, in bytes: a key is in it three times at most.
const MAX_NOTE_BYTES: u64 = 64 << 10;
/// Notes that are written at once.
const WRITTEN_AT_ONCE: usize = 16;

/// The resources for writing notes.
pub(crate) struct Notes<'a> {
    hosted: &'static [Descriptor],
    datasets: S3Bucket,
    results: &'a S3Bucket,
    /// Read for the first note, because most sweeps write none.
    boards: OnceCell<Vec<Board>>,
}

/// The result of answering uploads with notes.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    /// Notes that were written.
    pub(crate) n_written: usize,
    /// Why others could not be written, with the times of their uploads.
    pub(crate) failed: Vec<(Timestamp, PortError)>,
}

impl<'a> Notes<'a> {
    pub(crate) fn new(hosted: &'static [Descriptor], datasets: S3Bucket, results: &'a S3Bucket) -> Self {
        Self {
            hosted,
            datasets,
            results,
            boards: OnceCell::new(),
        }
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.hosted.iter().map(|hosted| hosted.id)
    }

    /// Whether an upload is misplaced: no function receives it, or nobody can see its receipt.
    fn is_misplaced(&self, key: &str) -> bool {
        let of_no_kind = |hosted: &Descriptor| {
            let below = key
                .strip_prefix(hosted.id)
                .is_some_and(|rest| rest.starts_with('/'));
            below && is_of_no_kind(key, hosted.kinds)
        };
        is_misplaced(key, self.ids()) || self.hosted.iter().any(of_no_kind)
    }

    async fn boards(&self) -> Result<&[Board], PortError> {
        let read = || async {
            let mut all = Vec::new();
            for hosted in self.hosted {
                let has_kinds = !hosted.kinds.is_empty();
                let leaderboards = match hosted.fixed {
                    _ if has_kinds => hosted.kinds.iter().map(ToString::to_string).collect(),
                    Some(fixed) => fixed.leaderboards.iter().map(ToString::to_string).collect(),
                    None => match InForce::read(&self.datasets, hosted.id).await {
                        Ok(in_force) => in_force.boards().keys().cloned().collect(),
                        // other functions say what is wrong with the object
                        Err(DatasetError::Frozen(_)) => Vec::new(),
                        Err(DatasetError::Port(error)) => return Err(error),
                    },
                };
                all.push(Board {
                    benchmark: hosted.id.to_owned(),
                    leaderboards,
                    has_kinds,
                });
            }
            Ok(all)
        };
        self.boards.get_or_try_init(read).await.map(Vec::as_slice)
    }

    /// Writes a note on an upload, unless it has one; whether it was written.
    async fn write(&self, upload: &Upload) -> Result<bool, PortError> {
        let place = Note::place(&upload.key);
        if let Got::Object(kept) = self.results.get(&place, None, MAX_NOTE_BYTES).await?
            && serde_json::from_slice::<Note>(&kept.bytes).is_ok_and(|note| note.answers(upload))
        {
            return Ok(false);
        }
        let note = Note::new(upload, self.boards().await?);
        self.results.put(&place, note.to_json()).await?;
        Ok(true)
    }

    /// Writes the missing notes on misplaced uploads that were stored `since` a time or came in parts. Of a key that was stored several times, the
    /// newest upload gets the note.
    pub(crate) async fn answer(&self, uploads: &[Upload], since: Timestamp) -> Answered {
        let mut newest: BTreeMap<&str, &Upload> = BTreeMap::new();
        for upload in uploads {
            let is_request = self.ids().any(|id| Request::is_one(id, upload));
            let is_due = upload.received_at >= since || is_in_parts(upload);
            if is_due && !is_request && self.is_misplaced(&upload.key) {
                let kept = newest.entry(&upload.key).or_insert(upload);
                if upload.received_at > kept.received_at {
                    *kept = upload;
                }
            }
        }
        let written = newest
            .into_values()
            .map(|upload| async move { (upload, self.write(upload).await) });
        let written: Vec<_> = stream::iter(written)
            .buffer_unordered(WRITTEN_AT_ONCE)
            .collect()
            .await;
        let mut answered = Answered::default();
        for (upload, written) in written {
            match written {
                Ok(is_new) => answered.n_written += usize::from(is_new),
                Err(error) => answered.failed.push((upload.received_at, error)),
            }
        }
        answered
    }
}
