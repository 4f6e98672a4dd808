//! The Ladder's released scores of each submitter, in the table.

use dataperf::ladder::{LastReleased, Rung};
use dataperf::ports::PortError;
use dataperf::receipt::released_score::Climb;
use dataperf::submission::Entry;
use dataperf::{Direction, Receipt};
use serde::{Deserialize, Serialize};

use crate::table::items::{self, Item, count, text};
use crate::table::keys::{Key, history_partition};
use crate::table::query::Partition;
use crate::table::reader::{self, Reader};
use crate::table::{Condition, Operation, Step, Table};

/// The attribute that counts how often a rung has changed.
const N_CHANGES: &str = "n_changes";
/// The attribute with what was released last on each board, as JSON.
const RELEASED: &str = "released";

/// The last released score of a board.
#[derive(Serialize, Deserialize)]
struct OnBoard {
    leaderboard: String,
    round: String,
    #[serde(flatten)]
    last: LastReleased,
}

fn rung(item: &Item, evaluation: &str) -> Result<Rung, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    let released: Vec<OnBoard> = serde_json::from_str(reader.text(RELEASED)?)
        .map_err(|error| reader.malformed(format!("`{RELEASED}`: {error}")))?;
    let released = released.into_iter();
    Ok(Rung {
        evaluation: evaluation.to_owned(),
        n_changes: reader.number(N_CHANGES)?.unwrap_or(0),
        released: released
            .map(|rung_key| ((rung_key.leaderboard, rung_key.round), rung_key.last))
            .collect(),
    })
}

fn item(key: Key, rung: &Rung) -> Result<Item, PortError> {
    let released = rung.released.iter().map(|((leaderboard, round), last)| OnBoard {
        leaderboard: leaderboard.clone(),
        round: round.clone(),
        last: last.clone(),
    });
    let released: Vec<OnBoard> = released.collect();
    let json = serde_json::to_string(&released).map_err(|error| PortError::Malformed {
        subject: format!("the rung `{}`", rung.evaluation),
        why: error.to_string(),
    })?;
    let mut item = key.item();
    item.insert("schema".into(), count(items::SCHEMA.into()));
    item.insert(N_CHANGES.into(), count(rung.n_changes));
    item.insert(RELEASED.into(), text(json));
    Ok(item)
}

/// The condition that a submitter's rung has changed `n_changes` times, and not since.
fn unchanged(n_changes: u64) -> Condition {
    if n_changes == 0 {
        return Condition::new_item();
    }
    Condition {
        text: "#n_changes = :n_changes",
        names: &[N_CHANGES],
        values: vec![(N_CHANGES, count(n_changes))],
    }
}

impl Table {
    pub(crate) async fn rung_of(
        &self,
        benchmark: &str,
        evaluation: &str,
        submitter: &str,
    ) -> Result<Rung, PortError> {
        let item = self.item(Key::rung(benchmark, evaluation, submitter)).await?;
        item.map_or_else(|| Ok(Rung::new(evaluation)), |item| rung(&item, evaluation))
    }

    /// The operation that records a receipt on the rung that its `ladder` was worked out after.
    pub(crate) async fn climbing(
        &self,
        receipt: &Receipt,
        direction: Direction,
    ) -> Result<Option<Operation>, PortError> {
        let (Some(climb), Some((key, mut rung))) = (receipt.climb(), self.rung_of_receipt(receipt).await?)
        else {
            return Ok(None);
        };
        let ladder_rung = receipt.ladder.as_ref().map_or(0, |ladder| ladder.rung);
        let condition = unchanged(ladder_rung);
        let operation = match climb {
            Climb::Held => self.check(key, condition),
            Climb::Climbed => {
                rung.climb(receipt, direction);
                self.put(item(key, &rung)?, Some(condition))
            }
        };
        Ok(Some((Step::Rung, operation)))
    }

    /// The operation that restores the rung of a submission that returns to the board, if its
    /// released score is the best there.
    pub(crate) async fn stepping_up(
        &self,
        back: &Entry,
        receipt: &Receipt,
        direction: Direction,
    ) -> Result<Option<Operation>, PortError> {
        let step = |rung: &mut Rung, lines: &[Entry]| rung.step_up(back, lines, direction);
        self.stepping(back, receipt, step).await
    }

    /// The operation that returns the rung to the best of the others when the submission that set
    /// it leaves the board. `receipt` is its receipt on the board.
    pub(crate) async fn stepping_down(
        &self,
        left: &Entry,
        receipt: &Receipt,
        direction: Direction,
    ) -> Result<Option<Operation>, PortError> {
        let step = |rung: &mut Rung, lines: &[Entry]| rung.step_down(left, lines, direction);
        self.stepping(left, receipt, step).await
    }

    async fn stepping(
        &self,
        entry: &Entry,
        receipt: &Receipt,
        step: impl FnOnce(&mut Rung, &[Entry]) -> bool,
    ) -> Result<Option<Operation>, PortError> {
        let Some((key, mut rung)) = self.rung_of_receipt(receipt).await? else {
            return Ok(None);
        };
        let n_changes = rung.n_changes;
        let history = history_partition(&entry.board.benchmark, &entry.submitter);
        let lines = self.query(&Partition::new(history)).await?;
        let lines: Result<Vec<Entry>, PortError> = lines.iter().map(reader::entry).collect();
        if !step(&mut rung, &lines?) {
            return Ok(None);
        }
        let put = self.put(item(key, &rung)?, Some(unchanged(n_changes)));
        Ok(Some((Step::Rung, put)))
    }

    /// The rung that a receipt was recorded after, as it is now, and its key; `None` where no Ladder has released the receipt's score.
    async fn rung_of_receipt(&self, receipt: &Receipt) -> Result<Option<(Key, Rung)>, PortError> {
        let ladder = receipt.ladder.as_ref();
        let Some(evaluation) = ladder.and_then(|ladder| ladder.evaluation.as_deref()) else {
            return Ok(None);
        };
        let (benchmark, submitter) = (&receipt.verdict.benchmark, &receipt.submitter);
        let rung = self.rung_of(benchmark, evaluation, submitter).await?;
        Ok(Some((Key::rung(benchmark, evaluation, submitter), rung)))
    }
}
