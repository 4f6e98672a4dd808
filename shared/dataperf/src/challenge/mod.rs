//! Challenges: the rounds of a benchmark's leaderboards, with their limits, and under which terms an upload is judged.
//!
//! Time alone opens and closes a round: an upload belongs to the round that was open when it was stored.

mod datasets;
mod document;
mod evaluations;
mod preset;
mod programs;
mod retire;
mod rules;
mod terms;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::benchmark::feedback::Feedback;
use crate::board::{Board, parse_round};
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got};
use crate::programs::Programs;
use crate::receipt::redaction::Shown;
use crate::receipt::verdict::Receipt;
use crate::rejection::{Reason, quote};
use crate::{Digest, Timestamp};

pub use crate::board::Ranking;
pub use crate::upload::submitter::BASELINE_PREFIX;
pub use datasets::daily_allowances;
pub use document::announcements::{Announcement, unknown_rounds};
pub use document::check;
pub use document::dates::bare_dates;
pub use evaluations::named_by_dataset;
pub use preset::Preset;
pub use retire::Retire;
pub use terms::{DAILY_FAILURES, Limits, OverLimit, Reserved, Terms, Together};

const MAX_BYTES: u64 = 1 << 20;

/// The people who may read the artifacts of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Their submitters.
    #[default]
    Private,
    /// Everybody.
    Public,
}

/// Announcements to participants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Before the opening; also part of the rejection of an early upload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// While the round is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
    /// After the closing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A round: some leaderboards of a benchmark for some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Its id, such as `2026-spring`.
    pub id: String,
    /// Its title, if it differs from the challenge's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// More about its contest, if it has its own title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The leaderboards; all of the benchmark's when none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaderboards: Vec<String>,
    /// The first moment at which an upload counts.
    pub opens: Timestamp,
    /// The first moment at which an upload no longer counts; `None` if the round never closes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes: Option<Timestamp>,
    /// The data set that scores it, independent of the active ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<Digest>,
    /// The data set that scores the submissions on its boards after the close. No upload sees it.
    #[serde(default, rename = "final", skip_serializing_if = "Option::is_none")]
    pub final_dataset: Option<Digest>,
    /// When another data set takes the place of the one that it is scored with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retire: Option<Retire>,
    /// How many submissions of a submitter count in a day (UTC), on the leaderboards together that share their evaluation data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_limit: Option<u64>,
    /// How many submissions of a submitter count in the whole round, on the leaderboards together that share their evaluation data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_limit: Option<u64>,
    /// How many uploads of a submitter may fail in a day (UTC), where the round says it ([`DAILY_FAILURES`]); of programs
    /// [`Programs::daily_failures`] may say another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_failures: Option<u64>,
    /// The division, shown with the round: which freedom submissions have beyond the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub division: Option<String>,
    /// How participants reach the organizer: an email address, a web address or words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// The terms of participation, in Markdown. The page asks submitters to accept them before an upload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<String>,
    /// How programs run, if the round takes programs: then it is a round of the closed division.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<Programs>,
    /// The people who may read the artifacts.
    #[serde(default)]
    pub artifacts: Visibility,
    /// The results that it shows until it closes.
    #[serde(default)]
    pub preset: Preset,
    /// Whether practice shows curves too, which tell hidden labels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub curves: bool,
    /// Whether a contest shows a score only if it beats the submitter's earlier scores by more than
    /// the error of measurement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ladder: bool,
    /// Submitters whose submissions are baselines without limits. Names that begin with [`BASELINE_PREFIX`] are baselines too, with limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<String>,
    /// Announcements to participants.
    #[serde(default)]
    pub messages: Messages,
    /// The evaluation data of each leaderboard of the pinned data set, or of the active ones, named
    /// by [`named_by_dataset`], as publishing recorded it. Submissions to boards that share it are
    /// counted together.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub evaluations: BTreeMap<String, String>,
}

impl Round {
    /// Whether this leaderboard is in the round.
    pub fn has(&self, leaderboard: &str) -> bool {
        self.leaderboards.is_empty() || self.leaderboards.iter().any(|name| name == leaderboard)
    }

    /// The leaderboards of the data set, in this round or not, that are scored with the same evaluation data as this one,
    /// itself among them.
    pub fn shared_with<'a>(&'a self, leaderboard: &str) -> impl Iterator<Item = &'a str> {
        let own = self.evaluations.get(leaderboard);
        let boards = self.evaluations.iter();
        boards
            .filter(move |(_, evaluation)| Some(*evaluation) == own)
            .map(|(board, _)| board.as_str())
    }

    /// How many uploads of a submitter may fail in a day.
    pub fn daily_failures(&self) -> u64 {
        let of_programs = self
            .programs
            .as_ref()
            .and_then(|programs| programs.daily_failures);
        of_programs.or(self.daily_failures).unwrap_or(DAILY_FAILURES)
    }

    /// Whether some leaderboard is in this round and in the other.
    pub fn shares_boards(&self, other: &Self) -> bool {
        let is_of_all = self.leaderboards.is_empty() || other.leaderboards.is_empty();
        is_of_all || self.leaderboards.iter().any(|name| other.has(name))
    }

    /// Whether the round limits how many submissions are scored.
    pub fn is_limited(&self) -> bool {
        self.daily_limit.or(self.total_limit).is_some()
    }

    /// Whether the round has closed by `at`.
    pub fn is_closed(&self, at: Timestamp) -> bool {
        self.closes.is_some_and(|closes| closes <= at)
    }
}

/// How one leaderboard differs from the benchmark's others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardRules {
    /// Which submissions the board shows; `None` for the benchmark's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
}

/// The challenge of one benchmark: `BENCHMARK/challenge.json` in the datasets bucket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Challenge {
    /// The version of this document's form.
    pub schema: u32,
    /// The challenge's name for people.
    pub title: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Announcements to participants, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub announcements: Vec<Announcement>,
    /// Which submissions the boards show.
    #[serde(default)]
    pub ranking: Ranking,
    /// Leaderboards with rules of their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub leaderboards: BTreeMap<String, BoardRules>,
    /// The rounds. Those of one leaderboard never overlap.
    #[serde(default)]
    pub rounds: Vec<Round>,
}

/// Why a challenge could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ChallengeError {
    /// The bucket did not answer.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A challenge was published and is gone, and nobody has removed it on purpose: without it there would be no limits.
    #[error(
        "`{key}` is gone from the datasets bucket: publish its last version again with `dataperf challenge rollback`, or end it with \
         `dataperf challenge remove`"
    )]
    Gone {
        /// The object.
        key: String,
    },
    /// The published object is not a challenge.
    #[error(
        "`{key}` in the datasets bucket is not a valid challenge: {why}. Publish it again with `dataperf \
            challenge publish`"
    )]
    Malformed {
        /// The object.
        key: String,
        /// The problem.
        why: String,
    },
}

impl Challenge {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 1;

    /// The key of a benchmark's challenge in the datasets bucket.
    pub fn key(benchmark: &str) -> String {
        format!("{benchmark}/challenge.json")
    }

    /// The object that says that there is a challenge, so that the challenge's loss is noticed. Publishing the challenge writes it.
    pub fn mark_key(benchmark: &str) -> String {
        format!("{benchmark}/published/challenge.json")
    }

    /// Notes that there is a challenge.
    ///
    /// # Errors
    /// [`ChallengeError::Port`] when the bucket does not answer.
    pub async fn mark(&self, datasets: &impl Bucket, benchmark: &str) -> Result<(), ChallengeError> {
        let mark = Bytes::from_static(b"{\"schema\": 1}\n");
        Ok(datasets.put(&Self::mark_key(benchmark), mark).await?)
    }

    /// The challenge that is published for a benchmark; `None` when there never was one, or it was removed on purpose.
    ///
    /// # Errors
    /// [`ChallengeError`] when the bucket does not answer, the object is of another form, or it is gone.
    pub async fn published(datasets: &impl Bucket, benchmark: &str) -> Result<Option<Self>, ChallengeError> {
        let key = Self::key(benchmark);
        let malformed = |why: String| ChallengeError::Malformed {
            key: key.clone(),
            why,
        };
        match datasets.get(&key, None, MAX_BYTES).await? {
            Got::Missing => match datasets.get(&Self::mark_key(benchmark), None, MAX_BYTES).await? {
                Got::Missing => Ok(None),
                Got::Object(_) | Got::TooLarge { .. } => Err(ChallengeError::Gone { key }),
            },
            Got::TooLarge { n_bytes } => Err(malformed(format!(
                "it has {n_bytes} bytes, more than {MAX_BYTES}"
            ))),
            Got::Object(object) => {
                let challenge: Self =
                    serde_json::from_slice(&object.bytes).map_err(|error| malformed(error.to_string()))?;
                if challenge.schema != Self::SCHEMA {
                    let why = format!(
                        "its schema is {}, this version reads {}",
                        challenge.schema,
                        Self::SCHEMA
                    );
                    return Err(malformed(why));
                }
                Ok(Some(challenge))
            }
        }
    }

    /// Warns of settings that the organizer may not intend. Each warning names its place in the
    /// document. It covers leaderboards outside a round that share evaluation data with a limited
    /// round or a Ladder, and events that are due `at` the time of publishing.
    pub fn warnings(&self, at: Timestamp) -> Vec<Reason> {
        let mut warnings = Vec::new();
        for (idx, round) in self.rounds.iter().enumerate() {
            if let Some(closes) = round.closes.filter(|closes| *closes <= at)
                && round.final_dataset.is_some()
            {
                let message = format!(
                    "the round closed at {closes}: within half an hour the platform scores its boards with \
                        the `final` data set, unless it already has"
                );
                warnings.push(Reason::new(
                    "final_at_once",
                    format!("/rounds/{idx}/closes"),
                    message,
                ));
            }
            // the limit on the whole ends with the round
            let is_bounded =
                round.daily_limit.is_some() || round.total_limit.is_some() && round.closes.is_none();
            if round.programs.is_some() && !is_bounded {
                let since = if round.total_limit.is_some() {
                    "after the close "
                } else {
                    ""
                };
                let message = format!(
                    "{since}programs run on the hidden data without a limit: each run can leak some of the \
                        data and takes minutes of a processor. Set a `daily_limit`"
                );
                warnings.push(Reason::new(
                    "unlimited_programs",
                    format!("/rounds/{idx}/daily_limit"),
                    message,
                ));
            }
            if let Some(retire) = round.retired(at) {
                let message = format!(
                    "this time has passed: the platform scores uploads since then with {}. Within half an \
                        hour it also scores the boards again, unless it already has",
                    retire.dataset
                );
                warnings.push(Reason::new(
                    "retired_at_once",
                    format!("/rounds/{idx}/retire/at"),
                    message,
                ));
            }
        }
        for (idx, round) in self
            .rounds
            .iter()
            .enumerate()
            .filter(|(_, round)| round.is_limited() || round.preset != Preset::Practice)
        {
            for left_out in round.evaluations.keys().filter(|board| !round.has(board)) {
                let limited: Vec<String> = round
                    .shared_with(left_out)
                    .filter(|board| round.has(board))
                    .map(quote)
                    .collect();
                if limited.is_empty() {
                    continue;
                }
                let message = format!(
                    "{} uses the same evaluation data as {} but is not in the round: its scores have all \
                        digits and no limits, and reveal as much. Add it to the round",
                    quote(left_out),
                    limited.join(", ")
                );
                warnings.push(Reason::new(
                    "open_sibling",
                    format!("/rounds/{idx}/leaderboards"),
                    message,
                ));
            }
        }
        warnings
    }

    /// The object that is published.
    ///
    /// # Errors
    /// [`ChallengeError::Malformed`] when it can't be written as JSON.
    pub fn to_json(&self) -> Result<Bytes, ChallengeError> {
        let mut json = serde_json::to_vec_pretty(self).map_err(|error| ChallengeError::Malformed {
            key: "challenge.json".into(),
            why: error.to_string(),
        })?;
        json.push(b'\n');
        Ok(json.into())
    }

    /// A round by its id, or by the id that a board of it has after the close.
    pub fn round(&self, id: &str) -> Option<&Round> {
        let (id, _) = parse_round(id);
        self.rounds.iter().find(|round| round.id == id)
    }

    /// The time until which a board is hidden, if it is hidden `at` a time: the close of a
    /// [blind](Preset::Blind) round.
    pub fn hidden_until(&self, board: &Board, at: Timestamp) -> Option<Timestamp> {
        let round = self.round(&board.round)?;
        let closes = round.closes.filter(|closes| at < *closes)?;
        (round.preset == Preset::Blind).then_some(closes)
    }

    /// Rounds that have opened `at` a time and have not closed.
    pub fn open_rounds(&self, at: Timestamp) -> impl Iterator<Item = &Round> + Clone {
        let is_open =
            move |round: &&Round| round.opens <= at && round.closes.is_none_or(|closes| closes > at);
        self.rounds.iter().filter(is_open)
    }

    /// Why another challenge, or none, can't replace this one `at` a time. A replacement must not
    /// open boards that a round hides until its close. It must not score artifacts with data that
    /// programs have to meet unseen.
    pub fn uncovered(&self, by: Option<&Self>, at: Timestamp) -> Option<Reason> {
        let with_programs = self.open_rounds(at).filter(|round| round.programs.is_some());
        for (hidden, other) in with_programs.flat_map(|round| {
            let others = by.into_iter().flat_map(|by| by.rounds.iter().enumerate());
            others.map(move |other| (round, other))
        }) {
            let (idx, other) = other;
            let begins_before = hidden.closes.is_none_or(|closes| other.opens < closes);
            let takes_hidden = other.dataset.is_some() && other.dataset == hidden.dataset && begins_before;
            if other.programs.is_none() && (other.id == hidden.id || takes_hidden) {
                let message = format!(
                    "the published round {} keeps its data set unseen for programs until it closes, but \
                        this round takes artifacts: add `programs`, or use another id and data set",
                    quote(&hidden.id)
                );
                return Some(Reason::new("takes_artifacts", format!("/rounds/{idx}"), message));
            }
        }
        // a document that puts a round off is as good as one without it
        let is_gone = |round: &&Round| {
            let is_there = |other: &Round| other.id == round.id && other.opens <= at;
            by.is_none_or(|by| !by.rounds.iter().any(is_there))
        };
        let put_off = |round: &Round| by.is_some_and(|by| by.rounds.iter().any(|other| other.id == round.id));
        let mut gone = self.open_rounds(at).filter(is_gone);
        if let Some(round) = gone
            .clone()
            .find(|round| round.programs.is_some() && (by.is_none() || put_off(round)))
        {
            let message = format!(
                "the published round {} keeps its data set unseen for programs until it closes: close it \
                    first, or keep it as it is",
                quote(&round.id)
            );
            return Some(Reason::new("hidden_round_missing", "/rounds", message));
        }
        let Round { id, closes, .. } = gone.find(|round| round.preset == Preset::Blind)?;
        let until = closes.map(|closes| closes.to_string()).unwrap_or_default();
        let message = format!(
            "the published round {} hides its boards until {until}. Without it everybody sees them at \
                once: keep the round, or publish it with `preset: contest` first",
            quote(id)
        );
        Some(Reason::new("hidden_round_missing", "/rounds", message))
    }

    /// Which submissions a leaderboard shows.
    pub fn ranking(&self, leaderboard: &str) -> Ranking {
        let of_board = self.leaderboards.get(leaderboard).and_then(|rules| rules.ranking);
        of_board.unwrap_or(self.ranking)
    }

    /// The part of a verdict that submitters and the public see `at` a time, on a board that was
    /// scored with `dataset`.
    ///
    /// Everything is shown once the board's round and every other round that may be scored with the
    /// same data have closed. A round that pins no data set counts among these, because it may use
    /// the active one. A board outside any round never closes.
    pub fn shown(&self, board: &Board, dataset: Option<Digest>, at: Timestamp) -> Shown {
        let Some(round) = self.round(&board.round) else {
            return Feedback::default().into();
        };
        let last = self.last_with_data_of(board, dataset);
        let whole_at = last.and_then(|last| last.closes);
        let level = if whole_at.is_some_and(|whole_at| whole_at <= at) {
            Feedback::Full
        } else {
            round.feedback(at)
        };
        Shown {
            level,
            whole_at,
            // a blind round shows rounded scores from its own close on
            score_at: if level == Feedback::Nothing {
                round.closes
            } else {
                whole_at
            },
        }
    }

    /// The round that closes last of a board's round and those that may be scored with its data, or with `dataset`; one that never closes is the last.
    /// Everything of the board is shown once it has closed. `None` where the board is of no round.
    pub fn last_with_data_of(&self, board: &Board, dataset: Option<Digest>) -> Option<&Round> {
        let round = self.round(&board.round)?;
        let shares = |other: &&Round| {
            other.id == round.id
                || other.may_use(dataset)
                || (round.dataset.is_some() && other.may_use(round.dataset))
                || (other.dataset.is_none() && other.has(&board.leaderboard))
                || (dataset.is_some() && other.final_dataset == dataset)
        };
        last_to_close(self.rounds.iter().filter(shares))
    }

    /// The rounds of a leaderboard in the order of their opening.
    fn rounds_of(&self, leaderboard: &str) -> Vec<&Round> {
        let mut rounds: Vec<&Round> = self
            .rounds
            .iter()
            .filter(|round| round.has(leaderboard))
            .collect();
        rounds.sort_by_key(|round| round.opens);
        rounds
    }
}

/// The round that closes last; one that never closes is the last.
pub(crate) fn last_to_close<'a>(rounds: impl Iterator<Item = &'a Round>) -> Option<&'a Round> {
    rounds.max_by_key(|round| round.closes.map_or((1, None), |closes| (0, Some(closes))))
}

/// What [`Challenge::shown`] returns. Without a challenge, [`Preset::Practice`] applies for good.
pub fn shown(challenge: Option<&Challenge>, board: &Board, dataset: Option<Digest>, at: Timestamp) -> Shown {
    let outside = Feedback::default().into();
    challenge.map_or(outside, |challenge| challenge.shown(board, dataset, at))
}

/// The visible part of a receipt: as in [`shown`], or, if a Ladder released its score, as in
/// [`shown_of_released`].
pub fn shown_of_receipt(challenge: Option<&Challenge>, receipt: &Receipt, at: Timestamp) -> Shown {
    let (board, dataset) = (receipt.board(), receipt.verdict.dataset);
    match receipt.ladder {
        Some(_) => shown_of_released(challenge, &board, dataset, at),
        None => shown(challenge, &board, dataset, at),
    }
}

/// The visible part of a score that a Ladder has released. Until the round shows everything it is
/// the score alone, even if the round or its Ladder has been removed from the challenge since. A
/// closed round of [`Preset::Practice`] with curves shows everything.
pub fn shown_of_released(
    challenge: Option<&Challenge>,
    board: &Board,
    dataset: Option<Digest>,
    at: Timestamp,
) -> Shown {
    let shown = shown(challenge, board, dataset, at);
    let is_whole = shown.whole_at.is_some_and(|whole_at| whole_at <= at);
    let round = challenge.and_then(|challenge| challenge.round(&board.round));
    let shows_full = round.is_some_and(|round| round.is_closed(at) && round.feedback(at) == Feedback::Full);
    if is_whole || shows_full {
        return shown;
    }
    Shown {
        level: shown.level.min(Feedback::Score),
        ..shown
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(
        challenge: &serde_json::Value,
        board: (&str, &str),
        dataset: &[u8],
        at: &str,
    ) -> (Feedback, bool) {
        let challenge: Challenge = serde_json::from_value(challenge.clone()).expect("a challenge");
        let board = Board {
            benchmark: "speech-selection".into(),
            leaderboard: board.0.into(),
            round: board.1.into(),
        };
        let at = at.parse().expect("a time");
        let shown = challenge.shown(&board, Some(Digest::compute(dataset)), at);
        (shown.level, shown.whole_at.is_some())
    }

    #[test]
    fn boards_outside_of_rounds_are_for_practice() {
        let challenge = json!({ "schema": 1, "title": "t", "rounds": [
            { "id": "one", "leaderboards": ["en-25"], "opens": "2026-03-01T00:00:00Z", "closes": "2026-03-05T00:00:00Z" },
        ] });
        let (before, after) = ("2026-03-04T23:59:59.999Z", "2026-03-05T00:00:00Z");
        for (board, while_open, after_closing) in [
            (("en-25", "one"), Feedback::Score, Feedback::Full),
            (("en-25", "one.post"), Feedback::Score, Feedback::Full),
            // no round closes these
            (("pt-25", "open"), Feedback::Metrics, Feedback::Metrics),
            (("en-25", "gone"), Feedback::Metrics, Feedback::Metrics),
        ] {
            assert_eq!(shown(&challenge, board, b"d", before).0, while_open, "{board:?}");
            assert_eq!(
                shown(&challenge, board, b"d", after).0,
                after_closing,
                "{board:?}"
            );
        }
    }

    #[test]
    fn a_shared_final_data_set_waits_for_closing() {
        let (own, last) = (
            |id: &str| Digest::compute(id.as_bytes()),
            Digest::compute(b"last"),
        );
        let round = |id: &str, month: u8| {
            json!({ "id": id, "leaderboards": ["en-25"], "opens": "2026-03-01T00:00:00Z", "dataset": own(id), "final": last,
                    "closes": format!("2026-0{month}-05T00:00:00Z") })
        };
        let challenge =
            json!({ "schema": 1, "title": "t", "rounds": [round("spring", 4), round("summer", 7)] });
        let at = |month: u8| {
            let at = format!("2026-0{month}-05T00:00:00Z");
            shown(&challenge, ("en-25", "spring.final"), b"last", &at).0
        };
        assert_eq!(
            [at(4), at(6), at(7)],
            [Feedback::Score, Feedback::Score, Feedback::Full]
        );
    }

    #[test]
    fn shared_data_stay_hidden_until_all_rounds_close() {
        let round = |id: &str, day: u8, dataset: Option<&[u8]>| {
            let mut round = json!({ "id": id, "opens": format!("2026-03-{day:02}T00:00:00Z"), "closes": format!("2026-03-{:02}T00:00:00Z", day + 5) });
            if let Some(dataset) = dataset {
                round["dataset"] = json!(Digest::compute(dataset));
            }
            round
        };
        let with = |second: Option<&[u8]>| json!({ "schema": 1, "title": "t", "rounds": [round("one", 1, Some(b"a")), round("two", 10, second)] });
        let (between, after) = ("2026-03-07T00:00:00Z", "2026-03-16T00:00:00Z");
        for (second, level) in [
            (Some(&b"a"[..]), Feedback::Score),
            (None, Feedback::Score),
            (Some(&b"b"[..]), Feedback::Full),
        ] {
            for board in ["one", "one.post"] {
                let challenge = with(second);
                assert_eq!(
                    shown(&challenge, ("en-25", board), b"a", between).0,
                    level,
                    "{second:?}"
                );
                assert_eq!(shown(&challenge, ("en-25", board), b"a", after).0, Feedback::Full);
            }
        }
        let unending = json!({ "schema": 1, "title": "t", "rounds": [{ "id": "one", "opens": "2026-03-01T00:00:00Z" }] });
        assert_eq!(
            shown(&unending, ("en-25", "one"), b"a", after),
            (Feedback::Score, false)
        );
    }
}
