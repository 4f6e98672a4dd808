//! What the three functions do alike: they read the rules and the file, have each line judged, and write the receipt.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataperf::benchmarks::NIBBLER_RANKING;
use dataperf::challenge::{Challenge, Terms};
use dataperf::failure::settle;
use dataperf::pipeline::{Outlets, PipelineError, artifact};
use dataperf::ports::leaderboard::Submission;
use dataperf::{Digest, LineOutcome, Reason, Rejection, Upload, UploadKey, Verdict};
use dataperf_aws::{DynamoLeaderboards, Fault, Handled, Invocation, Station, now};
use dataperf_nibbler::{Artifact, BENCHMARK, Board, Kind, Line, read};
use serde_json::{Value, json};

use crate::WELL_BEING;
use crate::rules::{Kept, Rules};

/// What a function keeps between invocations, whichever of the three it is.
pub(crate) struct Office {
    pub(crate) station: Station,
    kept: Kept,
}

/// One upload that is being judged.
pub(crate) struct Case<'a> {
    pub(crate) rules: Arc<Rules>,
    /// The round it counts in.
    pub(crate) round: String,
    pub(crate) table: &'a DynamoLeaderboards,
    pub(crate) submission: &'a Submission,
    pub(crate) invocation: &'a Invocation,
}

/// What is worth saying of an upload beside its lines.
pub(crate) type Notes = BTreeMap<String, Value>;

impl Office {
    pub(crate) fn from_environment() -> Result<Self, lambda_runtime::Error> {
        Ok(Self {
            station: Station::from_environment()?,
            kept: Kept::default(),
        })
    }

    /// Brings an upload to its end. `judge` says what becomes of the lines; a file that has none, or that is another kind's,
    /// does not come to it.
    pub(crate) async fn end<T: Artifact>(
        &self,
        upload: &Upload,
        invocation: &Invocation,
        judge: impl AsyncFnOnce(Case<'_>, Vec<Line<T>>) -> Result<Judged, Fault>,
    ) -> Result<Handled, Fault> {
        let station = &self.station;
        // Also when the challenge can't be read: nobody's upload is unknown because of a mistake in it.
        let (challenge, fault) = match Challenge::published(&station.datasets().await, BENCHMARK).await {
            Ok(challenge) => (challenge, None),
            Err(error) => (None, Some(Fault::from(PipelineError::Challenge(error)))),
        };
        let terms = |submitter: &str| terms(challenge.as_ref(), submitter, upload);
        let table = station.leaderboards().await;
        let outlets = Outlets {
            leaderboards: &table,
            results: &station.results().await,
        };
        let work = async |submission: &Submission| -> Result<Verdict, Fault> {
            let kind = &submission.board.leaderboard;
            let terms = terms(&submission.submitter);
            if let Some(fault) = fault {
                return Err(fault);
            }
            let rejected =
                |digest, rejection: &Rejection| Verdict::rejected(BENCHMARK, kind, None, digest, rejection);
            let refused = UploadKey::parse(BENCHMARK, &upload.key).err();
            let refused = refused
                .or_else(|| wrong_kind::<T>(kind))
                .or(terms.refusal.map(Into::into));
            if let Some(refused) = refused {
                return Ok(rejected(None, &refused));
            }
            let submissions = station.submissions(upload).await;
            let bytes = match artifact(upload, &submissions, T::MAX_BYTES).await? {
                Ok(bytes) => bytes,
                Err(rejection) => return Ok(rejected(None, &rejection)),
            };
            let rules = self.kept.rules(station.datasets().await, terms.dataset).await;
            let rules = rules.map_err(PipelineError::Dataset)?;
            let digest = Digest::of(&bytes);
            let lines = match read::<T>(&bytes, &rules.configuration) {
                Ok(lines) => lines,
                Err(rejection) => return Ok(rejected(Some(digest), &rejection)),
            };
            let dataset = rules.dataset;
            let case = Case {
                rules,
                round: terms.round,
                table: &table,
                submission,
                invocation,
            };
            Ok(match judge(case, lines).await? {
                Judged::Refused(rejection) => rejected(Some(digest), &rejection),
                Judged::Lines(lines, mut notes) => {
                    notes.insert("well_being".into(), json!(WELL_BEING));
                    Verdict::of_lines(BENCHMARK, kind, dataset, digest, lines, notes)
                }
            })
        };
        let settled = settle(BENCHMARK, upload, terms, &outlets, work, now).await?;
        Ok(Handled::Delivered(settled))
    }
}

/// What a function says of a file.
pub(crate) enum Judged {
    /// It is refused as a whole.
    Refused(Rejection),
    /// Each line has its outcome.
    Lines(Vec<LineOutcome>, Notes),
}

/// The round that counts is that of the first board: both are of one challenge. Nothing is counted against its limits, which
/// are about scores.
pub(crate) fn terms(challenge: Option<&Challenge>, submitter: &str, upload: &Upload) -> Terms {
    let board = Board::ALL[0].as_str();
    Terms {
        limits: None,
        ranking: NIBBLER_RANKING,
        ..Terms::of(challenge, board, submitter, upload.received_at)
    }
}

fn wrong_kind<T: Artifact>(kind: &str) -> Option<Rejection> {
    if kind == T::KIND.as_str() {
        return None;
    }
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    let message = format!(
        "there is nothing called {}: upload to one of `{}`",
        dataperf::quote(kind),
        kinds.join("`, `")
    );
    Some(Reason::new("unknown_kind", "", message).into())
}
