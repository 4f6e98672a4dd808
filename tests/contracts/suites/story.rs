//! The data for the contracts of a table: uploads to one board of a minimal benchmark.

use std::collections::BTreeMap;

use dataperf::Descriptor;
use dataperf::Direction;
use dataperf::Reason;
use dataperf::benchmark::scorecard::{Metrics, Scorecard};
use dataperf::board::{Board, OPEN_ROUND, Order};
use dataperf::challenge::{BASELINE_PREFIX, Ranking, Terms};
use dataperf::rows::facts::Rules;
use dataperf::rows::ranking::Ranked;
use dataperf::submission::{Entry, Submission};
use dataperf::table::leaderboard::{Projected, Recorded};
use dataperf::table::maintenance::Maintenance;
use dataperf::{Digest, Timestamp, Upload};
use dataperf::{Receipt, Verdict};

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The code of a rejection that counts against a submitter's limits.
pub(crate) const COUNTED: &str = "one_label";

/// The description of a story's benchmark, whatever its id: less is better, and one of its
/// rejections counts.
pub(crate) const HOSTED: Descriptor = Descriptor {
    id: "story",
    about: "what a table is tried with",
    direction: Direction::LowerIsBetter,
    score_range: [0.0, 1.0],
    max_artifact_bytes: 1 << 20,
    forms: &["json"],
    metrics: &[],
    has_hidden_data: true,
    counted_rejections: &[COUNTED],
    takes_programs: false,
    only_programs: false,
    kinds: &[],
    max_bytes_of_kind: |_| 1 << 20,
    collects: None,
    columns: &[],
    leaderboards: |_| Ok(Vec::new()),
    is_public: |_| false,
    evaluations: |_| Ok(BTreeMap::new()),
    rules_of_programs: |_| Ok(serde_json::Value::Null),
    function: |_| "story",
    fixed: None,
};

/// Uploads to one board of one table.
pub(crate) struct Story<'a, T> {
    pub(crate) table: &'a T,
    pub(crate) board: Board,
    pub(crate) terms: Terms,
    /// The data set that scores are recorded with.
    pub(crate) dataset: Digest,
}

impl<'a, T: Maintenance> Story<'a, T> {
    pub(crate) fn new(table: &'a T, benchmark: &str, leaderboard: &str, ranking: Ranking) -> Self {
        let board = Board {
            benchmark: benchmark.into(),
            leaderboard: leaderboard.into(),
            round: OPEN_ROUND.into(),
        };
        let terms = Terms {
            ranking,
            ..Terms::outside_any_challenge("")
        };
        Self {
            table,
            board,
            terms,
            dataset: Digest::compute(b"anything"),
        }
    }

    /// Projects the board by its rules as they are now.
    async fn project(&self, changed: Option<&str>) -> Result<(), dataperf::ports::PortError> {
        let rules = Rules {
            order: Order {
                direction: HOSTED.direction,
                ranking: self.terms.ranking,
            },
            dataset: Some(self.dataset),
            hidden_until: None,
            next_change: None,
        };
        let projected = self.table.project(&self.board, &rules, changed).await?;
        assert_eq!(projected, Projected::Current, "nobody else does");
        Ok(())
    }

    /// The ranked rows of the board or its final board, as they follow from all facts.
    pub(crate) async fn ranked(&self, board: &Board) -> Result<Vec<Ranked>, dataperf::ports::PortError> {
        self.project(None).await?;
        self.table.top(board, 100).await
    }

    /// The same, without ranks and in no order.
    pub(crate) async fn rows(&self, board: &Board) -> Result<Vec<Entry>, dataperf::ports::PortError> {
        self.project(None).await?;
        self.table.rows(board).await
    }

    /// Receives an upload, and gives the receipt of a score or, for none, of a rejection.
    pub(crate) async fn receipt(
        &self,
        submitter: &str,
        at: i64,
        score: Option<f64>,
    ) -> Result<Receipt, Box<dyn std::error::Error + Send + Sync>> {
        let Board {
            benchmark,
            leaderboard,
            round,
        } = self.board.clone();
        let upload = Upload {
            bucket: "submissions".into(),
            key: format!("{benchmark}/{leaderboard}/{submitter}/file.json"),
            version: Some(at.to_string()),
            e_tag: None,
            received_at: Timestamp::from_unix_millis(at),
        };
        let is_baseline = submitter.starts_with(BASELINE_PREFIX);
        let received = Submission::new(self.board.clone(), submitter, is_baseline, upload.clone());
        assert_eq!(self.table.receive(&received).await?, received);
        Ok(Receipt {
            schema: Receipt::SCHEMA,
            signature: None,
            submission: upload.id(),
            revision: 1,
            submitter: submitter.into(),
            round,
            bucket: upload.bucket,
            key: upload.key,
            version: upload.version,
            received_at: upload.received_at,
            finished_at: Timestamp::from_unix_millis(at + 1),
            feedback: None,
            withheld_until: None,
            shown_at_first: None,
            ladder: None,
            verdict: self.verdict(score),
        })
    }

    pub(crate) fn verdict(&self, score: Option<f64>) -> Verdict {
        let (benchmark, leaderboard) = (&self.board.benchmark, &self.board.leaderboard);
        let Some(score) = score else {
            return Verdict::rejected(
                benchmark,
                leaderboard,
                None,
                None,
                &Reason::new("x", "", "y").into(),
            );
        };
        let (card, digest) = (
            Scorecard {
                score,
                metrics: Metrics::new(),
            },
            Digest::compute(b"anything"),
        );
        Verdict::scored(benchmark, leaderboard, self.dataset, digest, card)
    }

    pub(crate) async fn end(&self, receipt: &Receipt) -> Result<Recorded, dataperf::ports::PortError> {
        let terms = Terms {
            is_baseline: receipt.submitter.starts_with(BASELINE_PREFIX),
            ..self.terms.clone()
        };
        let recorded = self.table.record(receipt, &HOSTED, &terms).await?;
        self.project(Some(&receipt.submitter)).await?;
        Ok(recorded)
    }

    pub(crate) async fn submit(
        &self,
        submitter: &str,
        at: i64,
        score: Option<f64>,
    ) -> Result<Receipt, Box<dyn std::error::Error + Send + Sync>> {
        let receipt = self.receipt(submitter, at, score).await?;
        assert_eq!(self.end(&receipt).await?, Recorded::Now);
        Ok(receipt)
    }

    /// The board as `rank submitter score`, baselines without a rank.
    pub(crate) async fn top(&self) -> Result<Vec<String>, dataperf::ports::PortError> {
        let top = self.ranked(&self.board).await?;
        let row = |ranked: &dataperf::rows::ranking::Ranked| {
            let rank = ranked
                .shown_rank()
                .map_or("-".to_owned(), |rank| rank.to_string());
            format!(
                "{rank} {} {}",
                ranked.entry.submitter,
                ranked.entry.score.unwrap_or(f64::NAN)
            )
        };
        Ok(top.iter().map(row).collect())
    }

    pub(crate) async fn series(&self) -> Result<Vec<f64>, dataperf::ports::PortError> {
        let series = self.table.series(&self.board).await?;
        Ok(series.iter().filter_map(|line| line.score).collect())
    }
}
