//! The part of a sweep that looks for files where no submission belongs, and writes a note on each.
//!
//! No event announces such a file: S3 refuses a notification for all keys beside those for a benchmark's. So the whole bucket is
//! listed, except what is below a benchmark, a page at a time.

use std::collections::BTreeMap;
use std::time::SystemTime;

use dataperf::dataset::DatasetError;
use dataperf::in_force::InForce;
use dataperf::misplaced::{Note, Place as Board, is_misplaced};
use dataperf::ports::PortError;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::rescoring::Request;
use dataperf::upload::UNNAMED;
use dataperf::{Descriptor, Timestamp, Upload};
use futures_util::{StreamExt, stream};
use tokio::sync::OnceCell;

use crate::S3Bucket;
use crate::in_parts::is_in_parts;
use crate::listing::{Place, versions};
use crate::runtime::now;
use crate::sweep::{AT_ONCE, LONGEST_UPLOAD_MILLIS, Sweep, Swept, is_over};
use crate::sweep_state::{State, load, save};

/// A note is no larger: a key is in it three times at most.
const MAX_NOTE_BYTES: u64 = 64 << 10;
/// No character of a key comes after it.
const LAST_CHARACTER: char = char::MAX;

/// What notes are written with.
pub(crate) struct Notes<'a> {
    hosted: &'static [Descriptor],
    datasets: S3Bucket,
    results: &'a S3Bucket,
    /// Read for the first note: mostly there is none to write.
    boards: OnceCell<Vec<Board>>,
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

    fn ids(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.hosted.iter().map(|hosted| hosted.id)
    }

    async fn boards(&self) -> Result<&[Board], PortError> {
        let read = || async {
            let mut all = Vec::new();
            for hosted in self.hosted {
                let leaderboards = match hosted.fixed {
                    Some(fixed) => fixed.leaderboards.iter().map(ToString::to_string).collect(),
                    None => match InForce::read(&self.datasets, hosted.id).await {
                        Ok(in_force) => in_force.boards().keys().cloned().collect(),
                        // what is wrong with it others say
                        Err(DatasetError::Frozen(_)) => Vec::new(),
                        Err(DatasetError::Port(error)) => return Err(error),
                    },
                };
                all.push(Board {
                    benchmark: hosted.id.to_owned(),
                    leaderboards,
                });
            }
            Ok(all)
        };
        self.boards.get_or_try_init(read).await.map(Vec::as_slice)
    }

    /// Writes a note on an upload, unless it has one; whether it was written.
    async fn write(&self, upload: &Upload) -> Result<bool, PortError> {
        let place = Note::place(&upload.key);
        if let Got::Object(found) = self.results.get(&place, None, MAX_NOTE_BYTES).await?
            && serde_json::from_slice::<Note>(&found.bytes).is_ok_and(|note| note.answers(upload))
        {
            return Ok(false);
        }
        let note = Note::of(upload, self.boards().await?);
        self.results.put(&place, note.to_json()).await?;
        Ok(true)
    }

    /// Writes what notes are missing of those uploads that were stored `since` a time; of a key that was stored several times the
    /// newest is answered. What could not be written is returned, with the time of the upload.
    pub(crate) async fn answer(
        &self,
        uploads: &[Upload],
        since: Timestamp,
        swept: &mut Swept,
    ) -> Vec<(Timestamp, PortError)> {
        let mut newest: BTreeMap<&str, &Upload> = BTreeMap::new();
        for upload in uploads {
            let is_request = self.ids().any(|id| Request::is_one(id, upload));
            let is_due = upload.received_at >= since || is_in_parts(upload);
            if is_due && !is_request && is_misplaced(&upload.key, self.ids()) {
                let kept = newest.entry(&upload.key).or_insert(upload);
                if upload.received_at > kept.received_at {
                    *kept = upload;
                }
            }
        }
        let written = newest
            .into_values()
            .map(|upload| async move { (upload, self.write(upload).await) });
        let written: Vec<_> = stream::iter(written).buffer_unordered(AT_ONCE).collect().await;
        let mut failed = Vec::new();
        for (upload, written) in written {
            match written {
                Ok(is_new) => swept.n_misplaced += usize::from(is_new),
                Err(error) => failed.push((upload.received_at, error)),
            }
        }
        failed
    }
}

impl Sweep<'_> {
    /// Looks for files below no benchmark, until a time. Where it stops the next sweep goes on.
    pub(crate) async fn misplaced(&self, until: SystemTime) -> Swept {
        let mut swept = Swept::default();
        match self.look_for_misplaced(until, &mut swept).await {
            Ok(is_complete) => swept.is_complete = is_complete,
            Err(error) => swept.note(error),
        }
        swept
    }

    async fn look_for_misplaced(&self, until: SystemTime, swept: &mut Swept) -> Result<bool, PortError> {
        let mut state = load(&self.table, UNNAMED).await?.unwrap_or_else(|| State {
            began: now(),
            ..State::default()
        });
        loop {
            let page = match versions(self.s3, self.submissions, "", state.place.as_ref()).await {
                Ok(page) => page,
                Err(error) => {
                    if !error.is_transient() && state.place.take().is_some() {
                        // it would not be better the next time: that one begins at the beginning
                        save(&self.table, UNNAMED, &state).await?;
                    }
                    return Err(error);
                }
            };
            let last = page.uploads.last().map(|upload| upload.key.clone());
            let below_none: Vec<Upload> = page
                .uploads
                .into_iter()
                .filter(|upload| self.below(&upload.key).is_none())
                .collect();
            swept.n_listed += below_none.len();
            for (stored_at, error) in self.notes.answer(&below_none, state.checked_until, swept).await {
                // as if this listing had begun before it: then the next one looks at it again
                state.began = state.began.min(stored_at);
                swept.note(error);
            }
            let is_complete = page.next.is_none();
            state.place = page.next.map(|next| self.past_benchmark(next, last.as_deref()));
            if is_complete {
                state.checked_until =
                    Timestamp::from_unix_millis(state.began.unix_millis() - LONGEST_UPLOAD_MILLIS);
                state.began = now();
            }
            save(&self.table, UNNAMED, &state).await?;
            if is_complete || is_over(until) {
                return Ok(is_complete);
            }
        }
    }

    /// The benchmark that a key is below.
    fn below(&self, key: &str) -> Option<&'static str> {
        let (first, _) = key.split_once('/')?;
        self.notes.ids().find(|id| *id == first)
    }

    /// Where a listing goes on that has come to a benchmark, which has a sweep of its own: behind it.
    fn past_benchmark(&self, next: Place, last: Option<&str>) -> Place {
        match last.and_then(|key| self.below(key)) {
            Some(id) if self.below(&next.key) == Some(id) => {
                let behind = format!("{id}/{LAST_CHARACTER}");
                // among keys that come after it even so, the listing goes on as it is
                if next.key < behind {
                    return Place {
                        key: behind,
                        version: None,
                    };
                }
                next
            }
            _ => next,
        }
    }
}
