//! What the Ladder has released of each submitter, in the table.

use dataperf::ladder::{Climb, LastReleased, Rung};
use dataperf::ports::PortError;
use dataperf::ports::leaderboard::{Board, Entry};
use dataperf::{Direction, Receipt};

use crate::items::{self, Item, count, number, text};
use crate::keys::{Key, history_partition};
use crate::query::Partition;
use crate::reader::{self, Reader};
use crate::table::{Condition, Operation, Step, Table};

/// The attribute that counts how often a rung has changed.
const N_CHANGES: &str = "n_changes";

fn rung(item: &Item) -> Result<Rung, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    let score: Option<f64> = reader.number("score")?;
    let last = match score {
        None => None,
        Some(score) => Some(LastReleased {
            score,
            submission: reader.parsed("id")?,
            dataset: reader.maybe(items::DATASET)?,
        }),
    };
    Ok(Rung {
        n_changes: reader.number(N_CHANGES)?.unwrap_or(0),
        last,
    })
}

fn item(board: &Board, submitter: &str, rung: &Rung) -> Item {
    let mut item = Key::rung(board, submitter).item();
    item.insert("schema".into(), count(items::SCHEMA.into()));
    item.insert(N_CHANGES.into(), count(rung.n_changes));
    if let Some(last) = &rung.last {
        item.insert("score".into(), number(last.score));
        item.insert("id".into(), text(last.submission.as_str()));
        let dataset = last.dataset.map(|dataset| text(dataset.to_string()));
        item.extend(dataset.map(|dataset| (items::DATASET.to_owned(), dataset)));
    }
    item
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
    pub(crate) async fn rung_of(&self, board: &Board, submitter: &str) -> Result<Rung, PortError> {
        let found = self.item(Key::rung(board, submitter)).await?;
        Ok(found.as_ref().map(rung).transpose()?.unwrap_or_default())
    }

    /// The operation that records a receipt on the rung that its `ladder` was worked out after.
    pub(crate) fn climbing(&self, receipt: &Receipt) -> Option<Operation> {
        let ladder = receipt.ladder.as_ref()?;
        let climb = receipt.climb()?;
        let (board, submitter) = (receipt.board(), &receipt.submitter);
        let condition = unchanged(ladder.rung);
        let operation = match climb {
            Climb::Held => self.check(Key::rung(&board, submitter), condition),
            Climb::Climbed => {
                let rung = Rung {
                    n_changes: ladder.rung + 1,
                    last: Some(LastReleased {
                        score: ladder.score,
                        submission: receipt.submission.clone(),
                        dataset: receipt.verdict.dataset,
                    }),
                };
                self.put(item(&board, submitter, &rung), Some(condition))
            }
        };
        Some((Step::Rung, operation))
    }

    /// The operation by which the rung becomes that of a submission which is back on the board, if it is the best that was released.
    pub(crate) async fn stepping_up(
        &self,
        back: &Entry,
        direction: Direction,
    ) -> Result<Option<Operation>, PortError> {
        if back.climb != Some(Climb::Climbed) {
            return Ok(None);
        }
        let rung = self.rung_of(&back.board, &back.submitter).await?;
        let history = history_partition(&back.board.benchmark, &back.submitter);
        let lines = self.query(&Partition::of(history)).await?;
        let lines: Result<Vec<Entry>, PortError> = lines.iter().map(reader::entry).collect();
        let mut lines = lines?;
        lines.retain(|line| line.id != back.id);
        lines.push(back.clone());
        let dataset = rung.last.as_ref().map_or(back.dataset, |last| last.dataset);
        let last = LastReleased::of_lines(&lines, &back.board, dataset, direction);
        if last == rung.last {
            return Ok(None);
        }
        let n_changes = rung.n_changes + 1;
        let item = item(&back.board, &back.submitter, &Rung { n_changes, last });
        let put = self.put(item, Some(unchanged(rung.n_changes)));
        Ok(Some((Step::Rung, put)))
    }

    /// The operation by which the rung goes back to the best of the others, if it is that of a submission which leaves the board.
    pub(crate) async fn stepping_down(
        &self,
        left: &Entry,
        direction: Direction,
    ) -> Result<Option<Operation>, PortError> {
        let rung = self.rung_of(&left.board, &left.submitter).await?;
        let Some(last) = rung.last.as_ref().filter(|last| last.submission == left.id) else {
            return Ok(None);
        };
        let history = history_partition(&left.board.benchmark, &left.submitter);
        let lines = self.query(&Partition::of(history)).await?;
        let lines: Result<Vec<Entry>, PortError> = lines.iter().map(reader::entry).collect();
        let others = lines?.into_iter().filter(|line| line.id != left.id);
        let others: Vec<Entry> = others.collect();
        let back = Rung {
            n_changes: rung.n_changes + 1,
            last: LastReleased::of_lines(&others, &left.board, last.dataset, direction),
        };
        let item = item(&left.board, &left.submitter, &back);
        let put = self.put(item, Some(unchanged(rung.n_changes)));
        Ok(Some((Step::Rung, put)))
    }
}
