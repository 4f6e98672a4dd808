//! The part of a sweep that looks at submissions which were begun and did not end, by their marks.
//!
//! Marks are read in parts and partition by partition, so that a sweep holds a few hundred of them however many there are. It
//! begins where the one before has stopped, or else anywhere, so that no mark waits behind others for ever.

use std::time::SystemTime;

use dataperf::evaluation::failure_judge::Cause;
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::ports::PortError;
use dataperf::submission::Entry;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Descriptor, Timestamp, Upload};
use futures_util::{StreamExt, stream};

use crate::boards::unfinished::Mark;
use crate::caretaker::sweep::state::{State, save};
use crate::caretaker::sweep::{AT_ONCE, Sweep, Swept, is_over};
use crate::function::fail_upload::give_up;
use crate::runtime::now;
use crate::table::keys::{Key, unfinished_shards};

/// Marks that are read, and held, at once.
const MARKS_A_PAGE: usize = 200;

/// The result for a mark.
enum Became {
    /// It is young, and its submission may well end by itself.
    Left,
    /// Its submission is evaluated again.
    Evaluated,
    /// Its submission has failed.
    GivenUp,
}

/// Marks of one partition between `after` (exclusive) and `to` (inclusive).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stretch {
    shard: String,
    after: Option<String>,
    to: Option<String>,
}

impl Sweep<'_> {
    /// Ends submissions that were begun and did not end, until a time; whether it came to all of them.
    pub(crate) async fn unfinished(
        &self,
        hosted: &'static Descriptor,
        state: &mut State,
        until: SystemTime,
        swept: &mut Swept,
    ) -> bool {
        self.note_oldest(hosted.id, swept).await;
        let shards = unfinished_shards(hosted.id);
        let begin = state.marks.take().filter(|place| shards.contains(&place.pk));
        let begin = begin.unwrap_or_else(|| Key::new(shards[fastrand::usize(..shards.len())].clone(), ""));
        let mut is_read = true;
        for (n_done, stretch) in round_trip(&shards, &begin).into_iter().enumerate() {
            if n_done > 0 && is_over(until) {
                state.marks = Some(Key::new(stretch.shard, stretch.after.unwrap_or_default()));
                break;
            }
            match self.stretch(hosted, &stretch, until, swept).await {
                Ok(place) => state.marks = place,
                Err(error) => {
                    swept.note(error);
                    is_read = false;
                }
            }
            if state.marks.is_some() {
                break;
            }
        }
        if let Err(error) = save(&self.table, hosted.id, state).await {
            swept.note(error);
        }
        is_read && state.marks.is_none()
    }

    /// Handles a stretch, part by part. Returns where it stopped if the time was up before the end.
    async fn stretch(
        &self,
        hosted: &'static Descriptor,
        stretch: &Stretch,
        until: SystemTime,
        swept: &mut Swept,
    ) -> Result<Option<Key>, PortError> {
        let mut after = stretch.after.clone();
        loop {
            let page = self.table.marks(&stretch.shard, after.as_deref(), MARKS_A_PAGE);
            let page = page.await?;
            swept.n_unfinished += page.marks.len();
            let ended = page
                .marks
                .into_iter()
                .map(|mark| async move { self.end(hosted, mark?).await });
            let ended: Vec<_> = stream::iter(ended).buffer_unordered(AT_ONCE).collect().await;
            for became in ended {
                match became {
                    Ok(Became::Evaluated) => swept.n_evaluated += 1,
                    Ok(Became::GivenUp) => swept.n_given_up += 1,
                    Ok(Became::Left) => {}
                    Err(error) => swept.note(error),
                }
            }
            let next = page.next;
            let Some(next) = next.filter(|next| stretch.to.as_ref().is_none_or(|to| next <= to)) else {
                return Ok(None);
            };
            if is_over(until) {
                return Ok(Some(Key::new(stretch.shard.as_str(), next)));
            }
            after = Some(next);
        }
    }

    async fn end(&self, hosted: &'static Descriptor, mark: Mark) -> Result<Became, PortError> {
        let Mark {
            key,
            entry,
            marked_at,
        } = mark;
        let (benchmark, entry) = (hosted.id, &entry);
        let age = age_millis(entry.received_at);
        let is_young = age < self.limits.quiet_seconds * 1000;
        if is_young && key == Key::unfinished(entry) {
            return Ok(Became::Left);
        }
        let submission = self.table.submission(benchmark, &entry.id).await?;
        let submission = submission.ok_or_else(|| PortError::Malformed {
            subject: format!("submission `{}`", entry.id),
            why: "it is marked as unfinished and there is none".into(),
        })?;
        if submission.receipt.is_some() {
            return Ok(Became::Left); // it has ended since the mark was read
        }
        if age_millis(marked_at) >= self.limits.patience_seconds * 1000 {
            self.give_up(hosted, entry, &submission.upload).await?;
            return Ok(Became::GivenUp);
        }
        if is_young {
            return Ok(Became::Left);
        }
        self.evaluate(hosted, &submission.upload, "unfinished").await?;
        Ok(Became::Evaluated)
    }

    async fn give_up(
        &self,
        hosted: &'static Descriptor,
        entry: &Entry,
        upload: &Upload,
    ) -> Result<(), PortError> {
        let benchmark = hosted.id;
        let reason = Cause::Unfinished.reason(self.request_id, hosted.kinds.is_empty());
        tracing::warn!(request_id = self.request_id, benchmark, submission = %entry.id, "given up by the sweep");
        if !hosted.kinds.is_empty() {
            // before: no later sweep would come to it
            (self.give_back)(&self.table, benchmark, upload).await?;
        }
        match give_up(hosted, upload, reason, &self.table, self.results, &self.signer).await {
            Ok(_) => Ok(()),
            Err(WorkflowError::Port(error)) => Err(error),
            Err(error) => Err(PortError::Malformed {
                subject: format!("submission `{}`", entry.id),
                why: error.to_string(),
            }),
        }
    }

    /// Notes how long the oldest unfinished submission has been waited for, however far this sweep comes.
    async fn note_oldest(&self, benchmark: &str, swept: &mut Swept) {
        match self.table.waits_since(benchmark).await {
            Ok(since) => swept.oldest_seconds = since.map_or(0, age_millis) as f64 / 1e3,
            Err(error) => swept.note(error),
        }
    }
}

/// The stretches that cover all marks once, beginning and ending at a place.
fn round_trip(shards: &[String], begin: &Key) -> Vec<Stretch> {
    let first = shards.iter().position(|shard| *shard == begin.pk).unwrap_or(0);
    let stretch = |shard: &String, after: Option<&str>, to: Option<&str>| Stretch {
        shard: shard.clone(),
        after: after.map(str::to_owned),
        to: to.map(str::to_owned),
    };
    let place = Some(begin.sk.as_str()).filter(|sk| !sk.is_empty());
    let mut stretches = vec![stretch(&shards[first], place, None)];
    let others = shards[first + 1..].iter().chain(&shards[..first]);
    stretches.extend(others.map(|shard| stretch(shard, None, None)));
    stretches.extend(place.map(|place| stretch(&shards[first], None, Some(place))));
    stretches
}

fn age_millis(since: Timestamp) -> i64 {
    now().unix_millis() - since.unix_millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_continues_after_the_previous_stop() {
        let shards: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        let trip = |begin: Key| -> Vec<(String, Option<String>, Option<String>)> {
            let stretches = round_trip(&shards, &begin).into_iter();
            stretches
                .map(|stretch| (stretch.shard, stretch.after, stretch.to))
                .collect()
        };
        let mark = |shard: &str, after: Option<&str>, to: Option<&str>| {
            (shard.to_owned(), after.map(str::to_owned), to.map(str::to_owned))
        };
        let anywhere = [
            mark("b", None, None),
            mark("c", None, None),
            mark("a", None, None),
        ];
        assert_eq!(trip(Key::new("b", "")), anywhere);
        let from_a_place = [
            mark("c", Some("t"), None),
            mark("a", None, None),
            mark("b", None, None),
            mark("c", None, Some("t")),
        ];
        assert_eq!(trip(Key::new("c", "t")), from_a_place);
    }
}
