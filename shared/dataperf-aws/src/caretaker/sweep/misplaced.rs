//! The part of a sweep that looks for files where no submission belongs, and writes a note on each.
//!
//! No event announces such a file: S3 refuses a notification for all keys in addition to those for
//! a benchmark's. So the sweep lists the whole bucket, a page at a time, except the keys below a
//! benchmark.

use std::time::SystemTime;

use dataperf::ports::PortError;
use dataperf::upload::UNNAMED;
use dataperf::{Timestamp, Upload};

use crate::bucket::listing::{Place, versions};
use crate::caretaker::sweep::state::{State, load, save};
use crate::caretaker::sweep::{LONGEST_UPLOAD_MILLIS, Sweep, Swept, is_over};
use crate::runtime::now;

/// The last of all characters: none that a key has comes after it.
const LAST_CHARACTER: char = char::MAX;

impl Sweep<'_> {
    /// Searches files below no benchmark, until a time. The next sweep continues at the same place.
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
                        // it would fail again the next time: the next listing begins at the beginning
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
            let answered = self.notes.answer(&below_none, state.checked_until).await;
            swept.n_misplaced += answered.n_written;
            for (stored_at, error) in answered.failed {
                // the listing counts as begun before this object was stored: then the next one looks at it again
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

    /// Where a listing continues. It skips the keys of a benchmark, which has its own sweep.
    fn past_benchmark(&self, next: Place, last: Option<&str>) -> Place {
        match last.and_then(|key| self.below(key)) {
            Some(id) if self.below(&next.key) == Some(id) => {
                let behind = format!("{id}/{LAST_CHARACTER}");
                // if other keys follow, the listing continues normally
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
