//! Publishes boards: appends a signed document to the log of a board whose public face has changed, at most once a minute.
//!
//! The results bucket stores the documents by number. Storing a document where there is none claims
//! its number. The table stores how far the log has come. If a writer is killed between the two,
//! the next call treats its document as the last one.

use std::collections::BTreeMap;

use bytes::Bytes;
use dataperf::board::Board;
use dataperf::board_log::{
    BoardDocument, BoardParts, INTERVAL_MILLIS, MAX_DOCUMENT_BYTES, MAX_EARLIER, PublishedBoard,
    canonical_digest,
};
use dataperf::challenge::{Challenge, shown, shown_of_released};
use dataperf::comparison::{Comparison, MAX_ROWS};
use dataperf::ports::PortError;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::ports::signer::Signer;
use dataperf::rows::facts::Rules;
use dataperf::rows::ranking::Ranked;
use dataperf::{Descriptor, Digest, SubmissionId, Timestamp};

use crate::runtime::now;
use crate::table::items::{Item, SCHEMA, count, text};
use crate::table::keys::Key;
use crate::table::reader::Reader;
use crate::table::{Change, Condition};
use crate::{S3Bucket, Table};

/// The largest comparison that is read, in bytes.
const MAX_COMPARISON_BYTES: u64 = 1 << 20;
/// How often one call tries to append while others do.
const TRIES: usize = 3;

const NUMBER: &str = "number";
const EARLIER: &str = "earlier";
const CONTENT: &str = "content";
const PUBLISHED_AT: &str = "published_at";
const VERSION: &str = "version";

/// How far the log of a board has come.
#[derive(Debug, Clone, Default)]
struct LogState {
    /// The number of the last document; 0 if there is none.
    number: u64,
    /// The digests of the last documents, the newest first.
    earlier: Vec<Digest>,
    /// The digest of the board in the last document.
    content: Option<Digest>,
    /// When it was written.
    published_at: Option<Timestamp>,
    /// The version of the board's facts from before its rows were read.
    version: u64,
}

impl LogState {
    fn read(item: &Item) -> Result<Self, PortError> {
        let reader = Reader { item };
        let earlier = reader.optional_text(EARLIER).unwrap_or_default();
        let parse = |digest: &str| digest.parse::<Digest>();
        let earlier = earlier
            .split_ascii_whitespace()
            .map(parse)
            .collect::<Result<_, _>>();
        Ok(Self {
            number: reader.number(NUMBER)?.unwrap_or_default(),
            earlier: earlier.map_err(|error| PortError::Malformed {
                subject: "the log of a board".into(),
                why: error.to_string(),
            })?,
            content: reader.maybe(CONTENT)?,
            published_at: reader.maybe(PUBLISHED_AT)?,
            version: reader.number(VERSION)?.unwrap_or_default(),
        })
    }

    /// The state after one more document.
    fn with(&self, digest: Digest, content: Digest, at: Timestamp, version: u64) -> Self {
        let earlier = [digest].into_iter().chain(self.earlier.iter().copied());
        Self {
            number: self.number + 1,
            earlier: earlier.take(MAX_EARLIER).collect(),
            content: Some(content),
            published_at: Some(at),
            version,
        }
    }
}

/// The resources for publishing a board.
pub struct LogStores<'a> {
    /// The table.
    pub table: &'a Table,
    /// The results bucket, which has the log.
    pub results: &'a S3Bucket,
    /// The datasets bucket, which has the challenge.
    pub datasets: &'a S3Bucket,
    /// The signer of documents.
    pub signer: &'a dyn Signer,
}

/// The rows of a board, as they are published.
pub(crate) struct RowsToPublish<'a> {
    pub(crate) rows: &'a [Ranked],
    /// How many rows the board has.
    pub(crate) n_rows: usize,
    pub(crate) evidence: &'a BTreeMap<SubmissionId, Digest>,
    /// Whether the rows of the board are compared.
    pub(crate) is_compared: bool,
    pub(crate) dataset: Option<Digest>,
    /// The version of the board's facts from before the rows were read.
    pub(crate) version: u64,
}

impl LogStores<'_> {
    /// Appends a document to a board's log, unless the last one has the same board, is of the last minute, or the board is hidden. Says whether the
    /// log has the board as it is now, as far as anybody may see it.
    ///
    /// # Errors
    /// [`PortError`]; the board is published by a later call.
    pub(crate) async fn publish(
        &self,
        board: &Board,
        hosted: &Descriptor,
        rules: &Rules,
        rows: &RowsToPublish<'_>,
    ) -> Result<bool, PortError> {
        let at = now();
        let key = Key::log(board);
        for _ in 0..TRIES {
            let item = self.table.item(key.clone()).await?;
            let state = item.as_ref().map(LogState::read).transpose()?.unwrap_or_default();
            let is_hidden = rules.hidden_until.is_some_and(|until| at < until);
            if is_hidden || rows.rows.is_empty() && state.number == 0 {
                return Ok(true);
            }
            let next = state.published_at.map_or(i64::MIN, |last| {
                last.unix_millis().saturating_add(INTERVAL_MILLIS)
            });
            let published = self.published(board, hosted, rules, rows, at).await?;
            let content = published.digest()?;
            if state.content == Some(content) {
                return Ok(true);
            }
            if at.unix_millis() < next || rows.version < state.version {
                return Ok(false);
            }
            let new = (published, content, rows.version);
            if self.append(board, &key, &state, new, at).await? {
                return Ok(true);
            }
        }
        Err(PortError::Transient {
            subject: format!("publishing `{}`", board.leaderboard),
            source: "others published it at the same time".into(),
        })
    }

    /// Publishes a board whose rows are not compared.
    ///
    /// # Errors
    /// [`PortError`]; it is published by a later call.
    pub async fn publish_rows(&self, board: &Board, hosted: &Descriptor) -> Result<(), PortError> {
        let version = self.table.version(board).await?;
        let rules = self.table.rules(board, hosted, self.datasets).await?;
        let (rows, n_rows) = self.table.all_rows(board, MAX_ROWS).await?;
        let rows = RowsToPublish {
            rows: &rows,
            n_rows,
            evidence: &BTreeMap::new(),
            is_compared: false,
            dataset: rules.dataset,
            version,
        };
        if self.publish(board, hosted, &rules, &rows).await? {
            self.table.note_published(board, version).await?;
        }
        Ok(())
    }

    async fn published(
        &self,
        board: &Board,
        hosted: &Descriptor,
        rules: &Rules,
        rows: &RowsToPublish<'_>,
        at: Timestamp,
    ) -> Result<PublishedBoard, PortError> {
        let comparison = if rows.is_compared {
            let key = Comparison::key(board);
            match self.results.get(&key, None, MAX_COMPARISON_BYTES).await? {
                Got::Object(object) => Comparison::from_bytes(&object.bytes).ok(),
                Got::Missing | Got::TooLarge { .. } => None,
            }
        } else {
            None
        };
        let challenge = Challenge::published(self.datasets, &board.benchmark).await;
        let challenge = challenge.map_err(|error| PortError::Malformed {
            subject: format!("the challenge of `{}`", board.benchmark),
            why: error.to_string(),
        })?;
        let is_of_released = comparison
            .as_ref()
            .is_some_and(|comparison_one| comparison_one.summary.is_of_released_scores());
        let shown_of = if is_of_released { shown_of_released } else { shown };
        let level = shown_of(challenge.as_ref(), board, rows.dataset, at).level;
        let round = challenge
            .as_ref()
            .and_then(|challenge| challenge.round(&board.round));
        let parts = BoardParts {
            rows: rows.rows,
            n_rows: rows.n_rows,
            comparison: comparison.as_ref(),
            evidence: rows.evidence,
            direction: rules.order.direction,
            ranking: hosted.ranking(rules.order.ranking),
            dataset: rows.dataset,
            is_closed: round.is_some_and(|round| round.is_closed(at)),
        };
        Ok(PublishedBoard::new(&parts, level))
    }

    /// Appends the next document, unless somebody else has appended one. Says whether it did.
    async fn append(
        &self,
        board: &Board,
        key: &Key,
        state: &LogState,
        (published, content, version): (PublishedBoard, Digest, u64),
        at: Timestamp,
    ) -> Result<bool, PortError> {
        let number = state.number + 1;
        let (json, digest) =
            BoardDocument::sign(board, number, state.earlier.clone(), published, self.signer, at).await?;
        let bytes = serde_json::to_vec(&json).map_err(|error| malformed(board, &error))?;
        let place = BoardDocument::key(board, number);
        if self.results.put_if_absent(&place, Bytes::from(bytes)).await? {
            self.note(board, key, state, &state.with(digest, content, at, version))
                .await?;
            return Ok(true);
        }
        // its writer was killed, or is about to note it
        let Got::Object(object) = self.results.get(&place, None, MAX_DOCUMENT_BYTES).await? else {
            return Ok(false);
        };
        let stored: serde_json::Value =
            serde_json::from_slice(&object.bytes).map_err(|error| malformed(board, &error))?;
        let digest = canonical_digest(&stored)?;
        let stored: BoardDocument =
            serde_json::from_value(stored).map_err(|error| malformed(board, &error))?;
        let after = state.with(digest, stored.board.digest()?, stored.published_at, version);
        self.note(board, key, state, &after).await?;
        Ok(false)
    }

    /// Notes how far the log has come, unless somebody else has noted it.
    async fn note(
        &self,
        board: &Board,
        key: &Key,
        before: &LogState,
        after: &LogState,
    ) -> Result<(), PortError> {
        let earlier: Vec<String> = after.earlier.iter().map(ToString::to_string).collect();
        let mut set = vec![
            ("schema".to_owned(), count(SCHEMA.into())),
            ("benchmark".to_owned(), text(&board.benchmark)),
            ("leaderboard".to_owned(), text(&board.leaderboard)),
            ("round".to_owned(), text(&board.round)),
            (NUMBER.to_owned(), count(after.number)),
            (VERSION.to_owned(), count(after.version)),
            (EARLIER.to_owned(), text(earlier.join(" "))),
        ];
        set.extend(
            after
                .content
                .map(|content| (CONTENT.to_owned(), text(content.to_string()))),
        );
        set.extend(
            after
                .published_at
                .map(|at| (PUBLISHED_AT.to_owned(), text(at.to_string()))),
        );
        let condition = if before.number == 0 {
            Condition {
                text: "attribute_not_exists(#number)",
                names: &[NUMBER],
                values: Vec::new(),
            }
        } else {
            Condition {
                text: "#number = :number",
                names: &[NUMBER],
                values: vec![("number", count(before.number))],
            }
        };
        let change = Change {
            set,
            condition: Some(condition),
            ..Change::default()
        };
        self.table.update_if(key.clone(), change).await.map(drop)
    }
}

fn malformed(board: &Board, error: &dyn std::fmt::Display) -> PortError {
    PortError::Malformed {
        subject: format!("the log of `{}`", board.leaderboard),
        why: error.to_string(),
    }
}

impl Table {
    /// The number of the last document of a board's log; `None` if the log is empty.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn last_published(&self, board: &Board) -> Result<Option<u64>, PortError> {
        let item = self.item(Key::log(board)).await?;
        let state = item.as_ref().map(LogState::read).transpose()?;
        Ok(state.map(|state| state.number).filter(|number| *number > 0))
    }
}
