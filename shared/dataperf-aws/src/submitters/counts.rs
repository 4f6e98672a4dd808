//! Counts against a submitter's limits. A submission that obeys the rules is counted before its
//! evaluation, so that uploads beyond the limit are never computed. The count is undone if there is
//! no score; a failed program stays counted until a retry. An artifact whose evaluation timed out
//! or crashed counts among the day's failures until a retry.

use dataperf::board::Board;
use dataperf::challenge::{Limits, OverLimit, Reserved, Terms};
use dataperf::ports::PortError;
use dataperf::submission::{Entry, Submission};
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Descriptor, Ending, Receipt, SubmissionId, Timestamp};
use serde::{Deserialize, Serialize};

use aws_sdk_dynamodb::types::AttributeValue;

use crate::sdk::retry::Retry;
use crate::table::items::{self, Item, count, text};
use crate::table::keys::Key;
use crate::table::{Cancelled, Change, Condition, Operation, Step, Table};

/// The attribute of a submission for the place of its count.
const COUNTED: &str = "counted";

/// The place of a submission's count, in the days and rounds of its submitter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counted {
    leaderboard: String,
    round: String,
    /// Whether the submission is a program to run on hidden data. Even a failed run may reveal
    /// something about the data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_of_program: bool,
}

impl Counted {
    fn by(terms: &Terms, board: &Board) -> Self {
        let counter = terms.counter(board);
        Self {
            leaderboard: counter.leaderboard,
            round: counter.round,
            is_of_program: terms.programs.is_some(),
        }
    }

    /// The place of a failure's count, which is separate from the days and rounds of scores.
    fn by_failures(terms: &Terms, board: &Board) -> Self {
        let Board {
            leaderboard, round, ..
        } = terms.failures(board);
        Self {
            leaderboard,
            round,
            is_of_program: terms.programs.is_some(),
        }
    }

    /// Whether both are counted in the same days and rounds.
    fn is_with(&self, other: &Self) -> bool {
        (&self.leaderboard, &self.round) == (&other.leaderboard, &other.round)
    }

    fn text(&self) -> Result<String, PortError> {
        serde_json::to_string(self).map_err(|error| PortError::Malformed {
            subject: format!("the count of `{}`", self.leaderboard),
            why: error.to_string(),
        })
    }

    fn board(&self, benchmark: &str) -> Board {
        Board {
            benchmark: benchmark.to_owned(),
            leaderboard: self.leaderboard.clone(),
            round: self.round.clone(),
        }
    }
}

/// The place where a submission that is about to be recorded should count now, according to its
/// receipt.
pub(crate) fn expected(receipt: &Receipt, entry: &Entry, terms: &Terms) -> Option<Counted> {
    let is_reserved = receipt.verdict.status == Ending::Scored && terms.reserved().is_some();
    is_reserved.then(|| Counted::by(terms, &entry.board))
}

/// The condition that a submission is unfinished and is counted where `counted` says, or nowhere without it.
pub(crate) fn unended(counted: Option<&Counted>) -> Result<Condition, PortError> {
    let mut condition = Condition {
        text: "#status = :received AND attribute_not_exists(#counted)",
        names: &["status", COUNTED],
        values: vec![("received", text(items::RECEIVED))],
    };
    if let Some(counted) = counted {
        condition.text = "#status = :received AND #counted = :counted";
        condition.values.push(("counted", text(counted.text()?)));
    }
    Ok(condition)
}

/// The place of a submission's count according to its item.
fn counted(item: &Item, id: &SubmissionId) -> Result<Option<Counted>, PortError> {
    let counted = string(item, COUNTED).map(serde_json::from_str).transpose();
    counted.map_err(|error| PortError::Malformed {
        subject: format!("submission `{id}`"),
        why: format!("`{COUNTED}`: {error}"),
    })
}

/// The change of a submission's count when the submission ends.
pub(crate) struct Recount {
    /// The operations on counts.
    pub(crate) operations: Vec<Operation>,
    /// The attribute to set, where the submission is counted elsewhere from now on.
    pub(crate) set: Option<(String, AttributeValue)>,
    /// The attribute to remove if it is no longer counted.
    pub(crate) remove: Option<&'static str>,
}

/// The submitter and upload that a count belongs to.
struct Owner<'a> {
    benchmark: &'a str,
    submitter: &'a str,
    received_at: Timestamp,
}

impl Table {
    /// Adds `n`, 1 or -1, to the counts of a round and of a day, if none of their limits is reached.
    fn counting(&self, owner: &Owner<'_>, counted: &Counted, n: i64, limits: Limits) -> [Operation; 2] {
        let board = &counted.board(owner.benchmark);
        let one = |key, limit: Option<u64>| {
            let below = limit.map(|limit| Condition {
                text: "attribute_not_exists(#n_scored) OR #n_scored < :limit",
                names: &["n_scored"],
                values: vec![("limit", count(limit))],
            });
            let change = Change {
                set: vec![("schema".into(), count(items::SCHEMA.into()))],
                add: vec![("n_scored", n)],
                condition: below,
                ..Change::default()
            };
            self.update(key, change)
        };
        let day = Key::day_count(board, owner.submitter, &owner.received_at.day());
        let total = Key::total_count(board, owner.submitter);
        [
            (Step::TotalCount, one(total, limits.total)),
            (Step::DayCount, one(day, limits.daily)),
        ]
    }

    /// The operations that move a submission's count from its old place to its new one.
    fn recounting(
        &self,
        owner: &Owner<'_>,
        from: Option<&Counted>,
        to: Option<(&Counted, Limits)>,
    ) -> Vec<Operation> {
        let is_same = match (from, to) {
            (Some(from), Some((to, _))) => from.is_with(to),
            (from, to) => from.is_none() && to.is_none(),
        };
        if is_same {
            return Vec::new();
        }
        let less = from.map(|from| self.counting(owner, from, -1, Limits::default()));
        let more = to.map(|(to, limits)| self.counting(owner, to, 1, limits));
        less.into_iter().chain(more).flatten().collect()
    }

    /// Counts a submission before it is evaluated: the table's [`Leaderboards::reserve`].
    pub(crate) async fn count_in(
        &self,
        submission: &Submission,
        terms: &Terms,
    ) -> Result<Reserved, PortError> {
        let Some(limits) = terms.reserved() else {
            return Ok(Reserved::Unlimited);
        };
        let mut entry = submission.entry();
        entry.board.round.clone_from(&terms.round);
        let owner = Owner {
            benchmark: &entry.board.benchmark,
            submitter: &entry.submitter,
            received_at: entry.received_at,
        };
        let to = Counted::by(terms, &entry.board);
        let mut from = None;
        let mut retry = Retry::new(format!("submission `{}`", entry.id));
        loop {
            let counted = Change {
                set: vec![(COUNTED.to_owned(), text(to.text()?))],
                condition: Some(unended(from.as_ref())?),
                ..Change::default()
            };
            let key = Key::submission(owner.benchmark, &entry.id);
            let mut operations = vec![(Step::Submission, self.update(key, counted))];
            operations.extend(self.recounting(&owner, from.as_ref(), Some((&to, limits))));
            match self.transact(operations).await {
                Ok(()) => {
                    return Ok(if from.is_none() {
                        Reserved::Now
                    } else {
                        Reserved::Before
                    });
                }
                Err(Cancelled::Condition(Step::Submission)) => {
                    match self.unfinished_count(owner.benchmark, &entry.id).await? {
                        // an earlier delivery has counted it
                        Some(Some(there)) if there.is_with(&to) => return Ok(Reserved::Before),
                        Some(there) => from = there,
                        // it has ended, which recording finds
                        None => return Ok(Reserved::Before),
                    }
                    retry.changed().await?;
                }
                Err(Cancelled::Condition(Step::DayCount | Step::TotalCount)) => {
                    if let Some(over) = self.over_limit(&entry, terms).await? {
                        return Ok(Reserved::OverLimit(over));
                    }
                    retry.changed().await?;
                }
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    /// The place of an unfinished submission's count; `None` if there is no such submission.
    pub(crate) async fn unfinished_count(
        &self,
        benchmark: &str,
        id: &SubmissionId,
    ) -> Result<Option<Option<Counted>>, PortError> {
        let item = self.item(Key::submission(benchmark, id)).await?;
        let Some(item) = item.filter(|item| string(item, "status") == Some(items::RECEIVED)) else {
            return Ok(None);
        };
        counted(&item, id).map(Some)
    }

    /// The change of the count of a submission that is `counted` so far, when it ends.
    pub(crate) fn ending_count(
        &self,
        receipt: &Receipt,
        hosted: &Descriptor,
        entry: &Entry,
        terms: &Terms,
        counted: Option<&Counted>,
    ) -> Result<Recount, PortError> {
        let has_failed = receipt.verdict.status == Ending::Failed;
        if has_failed && counted.is_some_and(|counted| counted.is_of_program) {
            return Ok(Recount {
                operations: Vec::new(), // until it is tried again
                set: None,
                remove: None,
            });
        }
        let owner = Owner {
            benchmark: &entry.board.benchmark,
            submitter: &entry.submitter,
            received_at: entry.received_at,
        };
        let limits = terms.limits.filter(|_| receipt.verdict.is_counted(hosted));
        let (here, failures) = (
            Counted::by(terms, &entry.board),
            Counted::by_failures(terms, &entry.board),
        );
        // collections return their counts themselves
        let is_failure = hosted.kinds.is_empty() && receipt.verdict.is_counted_failure();
        let to = limits
            .map(|limits| (&here, limits))
            .or(is_failure.then_some((&failures, Limits::default())));
        // only submissions that can be retried need a record of where they are counted
        let set = (has_failed && is_failure)
            .then(|| Ok::<_, PortError>((COUNTED.to_owned(), text(failures.text()?))));
        let set = set.transpose()?;
        Ok(Recount {
            operations: self.recounting(&owner, counted, to),
            remove: (counted.is_some() && limits.is_none() && set.is_none()).then_some(COUNTED),
            set,
        })
    }

    /// The operations by which a submission that has failed is no longer counted among the failures, and the attribute to remove from it. A program
    /// stays counted.
    pub(crate) fn reopening_count(
        &self,
        entry: &Entry,
        item: &Item,
    ) -> Result<(Vec<Operation>, Option<&'static str>), PortError> {
        let from = counted(item, &entry.id)?.filter(|counted| !counted.is_of_program);
        let owner = Owner {
            benchmark: &entry.board.benchmark,
            submitter: &entry.submitter,
            received_at: entry.received_at,
        };
        let operations = self.recounting(&owner, from.as_ref(), None);
        Ok((operations, from.map(|_| COUNTED)))
    }

    /// The limit of a submission's terms that is used up, if one is.
    pub(crate) async fn over_limit(
        &self,
        entry: &Entry,
        terms: &Terms,
    ) -> Result<Option<OverLimit>, PortError> {
        let usage = self
            .usage(&terms.counter(&entry.board), &entry.submitter, entry.received_at)
            .await?;
        Ok(terms.over_limit(usage))
    }
}

fn string<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}
