//! Who stands on a board: the rows that change together with a submission.

use std::collections::BTreeMap;

use dataperf::challenge::Ranking;
use dataperf::comparison::MAX_COUNTED_ROWS;
use dataperf::ladder::Climb;
use dataperf::ports::PortError;
use dataperf::ports::leaderboard::{Board, Entry, Ranked, rank_key_of, standing, with_shared_ranks};
use dataperf::ports::maintenance::{Maintenance as _, Order};
use dataperf::{Digest, Direction, Ending, RankKey};

use crate::items::{self, DATASET, Item, count, row_item, text};
use crate::keys::{Key, history_partition, rows_partition};
use crate::query::Partition;
use crate::reader;
use crate::row_spread::{RowSpread, SPREAD, without_key};
use crate::table::{Change, Condition, Operation, Step, Table};

/// The attribute that counts the changes of a submitter's row, also those that leave another submission standing. Whoever works out anew which one
/// stands can tell by it whether anything has changed meanwhile.
const EDITION: &str = "edition";
/// The attribute that counts a submitter's scored submissions to the board, also those that do not stand on it. Rows of earlier versions don't have
/// it.
const N_SCORED: &str = "n_scored";

/// What may have been before a submission that is scored.
#[derive(Clone, Copy)]
pub(crate) struct Earlier {
    /// It is from before the retirement of its round's data set, so that a later upload may have been scored with the next one.
    pub(crate) may_be_late: bool,
    /// The Ladder may have held earlier ones of its submitter, which have no row.
    pub(crate) may_have_tries: bool,
}

/// The operations on the board when a submission is scored for the first time; its row keeps `spread`. If it `may_be_late`, it does not take the place
/// of a later upload that was scored with the next data set.
pub(crate) async fn scored(
    table: &Table,
    entry: &Entry,
    spread: Option<&RowSpread>,
    order: Order,
    earlier: Earlier,
) -> Result<Vec<Operation>, PortError> {
    let Some(rank) = rank_key_of(entry, order.direction) else {
        return if entry.is_on_board() {
            one_more(table, entry).await // held, without a score to show
        } else {
            Ok(Vec::new())
        };
    };
    if order.ranking == Ranking::Best && entry.climb == Some(Climb::Held) {
        return one_more(table, entry).await; // what climbed before it stands
    }
    if order.ranking == Ranking::All {
        return of_own_row(table, entry, Some(&rank), spread).await;
    }
    let attribute = spread.map(RowSpread::attribute).transpose()?;
    let mut row = row_item(Key::row(entry), entry, &rank);
    row.extend(attribute);
    let found = table.item(Key::row(entry)).await?;
    if let Some(found) = found
        .as_ref()
        .filter(|_| earlier.may_be_late && order.ranking == Ranking::Best)
    {
        let stands = reader::entry(found)?;
        if !is_of_same_dataset(&row, found) && stands.received_at > entry.received_at {
            return one_more(table, entry).await;
        }
    }
    if found.as_ref().map_or(earlier.may_have_tries, |found| {
        !found.contains_key(N_SCORED) || order.ranking == Ranking::Best && !is_of_same_dataset(&row, found)
    }) {
        return changed(table, entry, spread, order).await;
    }
    let stands = found
        .as_ref()
        .is_none_or(|found| stands_before(&row, found, order.ranking));
    let mut change = Change {
        add: vec![(EDITION, 1), (N_SCORED, 1)],
        condition: Some(comparison(&row, order.ranking, stands)),
        ..Change::default()
    };
    if stands {
        change.set = without_key(row);
        change
            .remove
            .extend((!entry.is_baseline).then_some(items::BASELINE));
        change.remove.extend(spread.is_none().then_some(SPREAD));
        change
            .remove
            .extend(entry.climb.is_none().then_some(items::LADDER));
    }
    Ok(vec![(Step::Row, table.update(Key::row(entry), change))])
}

/// The operation that counts a submission which leaves its submitter's row as it is.
async fn one_more(table: &Table, entry: &Entry) -> Result<Vec<Operation>, PortError> {
    let key = Key::row(entry);
    let found = table.item(key.clone()).await?;
    if !found.is_some_and(|found| found.contains_key(N_SCORED)) {
        return Ok(Vec::new()); // readers count the history
    }
    let change = Change {
        add: vec![(EDITION, 1), (N_SCORED, 1)],
        condition: Some(Condition {
            text: "attribute_exists(#n_scored)",
            names: &[N_SCORED],
            values: Vec::new(),
        }),
        ..Change::default()
    };
    Ok(vec![(Step::Row, table.update(key, change))])
}

/// Whether two rows are of one data set, so that their scores can be compared.
fn is_of_same_dataset(new: &Item, found: &Item) -> bool {
    string(new, DATASET) == string(found, DATASET)
}

/// Whether a new row takes the place of the one that is there.
fn stands_before(new: &Item, found: &Item, ranking: Ranking) -> bool {
    let both = |name| (string(new, name), string(found, name));
    match ranking {
        Ranking::Latest => {
            (string(new, "received_at"), string(new, "id"))
                > (string(found, "received_at"), string(found, "id"))
        }
        Ranking::Best | Ranking::All => {
            let (new, found) = both("rank");
            new < found
        }
    }
}

fn string<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name)
        .and_then(|value| value.as_s().ok())
        .map_or("", String::as_str)
}

/// The condition that the row still compares with the new one as it did when it was read.
fn comparison(row: &Item, ranking: Ranking, stands: bool) -> Condition {
    let value = |name| text(string(row, name));
    if ranking == Ranking::Latest {
        return Condition {
            text: if stands {
                "attribute_not_exists(pk) OR #received_at < :at OR (#received_at = :at AND #id < :id)"
            } else {
                "#received_at > :at OR (#received_at = :at AND #id > :id)"
            },
            names: &["received_at", "id"],
            values: vec![("at", value("received_at")), ("id", value("id"))],
        };
    }
    if !row.contains_key(DATASET) {
        return Condition {
            text: if stands {
                "attribute_not_exists(pk) OR (attribute_not_exists(#dataset) AND #rank > :rank)"
            } else {
                "attribute_not_exists(#dataset) AND #rank < :rank"
            },
            names: &["dataset", "rank"],
            values: vec![("rank", value("rank"))],
        };
    }
    Condition {
        text: if stands {
            "attribute_not_exists(pk) OR (#dataset = :dataset AND #rank > :rank)"
        } else {
            "#dataset = :dataset AND #rank < :rank"
        },
        names: &["dataset", "rank"],
        values: vec![("dataset", value(DATASET)), ("rank", value("rank"))],
    }
}

/// The operations on the board of a final data set for what stands on the public board, `public`: its row, of the same kind as its public one, and its
/// point of the series. Where it is against the rules of the final data set (`entry` is `None`), its submitter has no row there, unless each submission
/// has its own. `None` where `public` stands on the public board no more. The edition of the public row counts on, so that whoever is changing that row
/// works it out anew.
pub(crate) async fn of_final(
    table: &Table,
    public: &Entry,
    entry: Option<&Entry>,
    spread: &RowSpread,
    direction: Direction,
) -> Result<Option<Vec<Operation>>, PortError> {
    let last = on_final_board(public);
    let stands = table.item(Key::row(public)).await?;
    let mut operations = Vec::new();
    let key = if stands.is_some_and(|stands| is_of(&stands, public)) {
        let change = Change {
            add: vec![(EDITION, 1)],
            condition: Some(Condition {
                text: "#id = :id",
                names: &["id"],
                values: vec![("id", text(public.id.as_str()))],
            }),
            ..Change::default()
        };
        operations.push((Step::Submission, table.update(Key::row(public), change)));
        let key = Key::row(&last);
        let found = table.item(key.clone()).await?;
        if let Some(found) = found.filter(|found| !is_of(found, public)) {
            operations.push((Step::Other, table.put(kept(found), None)));
            if entry.is_none() {
                operations.push((Step::Row, table.delete(key.clone(), None)));
            }
        }
        key
    } else if table.item(Key::own_row(public)).await?.is_some() {
        Key::own_row(&last)
    } else {
        return Ok(None);
    };
    if let Some((entry, rank)) = entry.and_then(|entry| Some((entry, rank_key_of(entry, direction)?))) {
        let mut row = row_item(key, entry, &rank);
        row.extend([spread.attribute()?]);
        operations.push((Step::Row, table.put(row, None)));
        let point = items::entry_item(Key::series(entry), entry);
        operations.push((Step::Other, table.put(point, None)));
    }
    Ok(Some(operations))
}

/// A submission on the board of the final data set.
fn on_final_board(public: &Entry) -> Entry {
    Entry {
        board: public.board.of_final(),
        ..public.clone()
    }
}

fn is_of(row: &Item, entry: &Entry) -> bool {
    string(row, "id") == entry.id.as_str()
}

/// What is done on a final board so that it follows the public one.
#[derive(Default)]
pub(crate) struct FollowingPublic {
    /// The operations, which go with those on the public board.
    pub(crate) operations: Vec<Operation>,
    /// Whether a row of the final board may become another one.
    pub(crate) moves_row: bool,
}

/// The operations on the final board when a submission of the public board is `changed`: it was withdrawn, is no longer, or has another score. Of what the
/// final data set has judged, the submission that stands on the public board has its submitter's row on the final board, whatever the order in which
/// submissions went and came back. Where each submission has its own row, that is there while the submission is on the public board.
pub(crate) async fn following_public(
    table: &Table,
    changed: &Entry,
    order: Order,
) -> Result<FollowingPublic, PortError> {
    let last = on_final_board(changed);
    let Some(run) = table.run(&last.board).await? else {
        return Ok(FollowingPublic::default());
    };
    if table.revision(&last.board, &run.id, &changed.id).await?.is_none() {
        // what is not judged decides nothing, and finishing does not judge it meanwhile
        let key = Key::revision(&last.board, &run.id, &changed.id);
        let check = (Step::Row, table.check(key, Condition::new_item()));
        return Ok(FollowingPublic {
            operations: vec![check],
            moves_row: false,
        });
    }
    let mut of_final = FollowingPublic::default();
    let operations = &mut of_final.operations;
    let of_changed = final_row(table, &last, order.direction).await?;
    if let Some(row) = &of_changed {
        operations.push((Step::Other, table.put(kept(row.clone()), None)));
        let point = if changed.is_on_board() {
            table.put(items::entry_item(Key::series(&last), &reader::entry(row)?), None)
        } else {
            table.delete(Key::series(&last), None)
        };
        operations.push((Step::Other, point));
    }
    let row = match of_changed {
        Some(row) if is_own(&row) => {
            let is_shown = table.item(Key::own_row(&last)).await?.is_some();
            if is_shown == changed.is_on_board() {
                return Ok(of_final);
            }
            if changed.is_on_board() {
                table.put(row, None)
            } else {
                table.delete(Key::own_row(&last), None)
            }
        }
        _ => {
            let mut of_submitter = OfSubmitter::read(table, changed).await?;
            // the best that is judged: what stands above it and is not judged has no final score
            let stands = loop {
                let Some(stands) = of_submitter.standing(changed, order).cloned() else {
                    break None;
                };
                if stands.id == changed.id
                    || table.revision(&last.board, &run.id, &stands.id).await?.is_some()
                {
                    break Some(stands);
                }
                of_submitter.lines.retain(|line| line.id != stands.id);
            };
            let row = match stands {
                Some(stands) => final_row(table, &on_final_board(&stands), order.direction).await?,
                None => None,
            };
            let found = table.item(Key::row(&last)).await?;
            let id = |row: &Option<Item>| row.as_ref().map(|row| string(row, "id").to_owned());
            if row.as_ref().is_some_and(is_own) || id(&row) == id(&found) {
                return Ok(of_final);
            }
            // that of the changed one is kept already
            let left = found.filter(|found| !is_of(found, changed));
            operations.extend(left.map(|left| (Step::Other, table.put(kept(left), None))));
            match row {
                Some(row) => table.put(row, None),
                None => table.delete(Key::row(&last), None),
            }
        }
    };
    operations.push((Step::Row, row));
    of_final.moves_row = true;
    Ok(of_final)
}

/// The row of a submission that the final data set has judged, also where it does not stand on the final board; `None` where there is none.
async fn final_row(table: &Table, last: &Entry, direction: Direction) -> Result<Option<Item>, PortError> {
    for key in [Key::own_row(last), Key::row(last)] {
        if let Some(row) = table.item(key).await?.filter(|row| is_of(row, last)) {
            return Ok(Some(row));
        }
    }
    if let Some(mut row) = table.item(kept_key(last)).await? {
        for (name, kept) in KEPT {
            let value = row.remove(kept);
            row.extend(value.map(|value| (name.to_owned(), value)));
        }
        return Ok(Some(row));
    }
    // of an earlier version, which did not keep the rows of all that did not stand
    let Some(point) = table.item(Key::series(last)).await? else {
        return Ok(None);
    };
    let point = reader::entry(&point)?;
    Ok(rank_key_of(&point, direction).map(|rank| row_item(Key::row(&point), &point, &rank)))
}

/// Whether a row is a submission's own, on a board on which each has one.
fn is_own(row: &Item) -> bool {
    string(row, "sk").ends_with(&format!("#{}", string(row, "id")))
}

/// Attributes of a row, and what they are called where it is kept, on no board.
const KEPT: [(&str, &str); 3] = [("pk", "row_pk"), ("sk", "row_sk"), ("board", "row_board")];

/// Where the row of a submission on a final board is kept, for when it stands there again.
fn kept_key(entry: &Entry) -> Key {
    Key::new(kept_partition(&entry.board.benchmark), entry.id.as_str())
}

fn kept_partition(benchmark: &str) -> String {
    format!("{benchmark}#withdrawn")
}

fn kept(mut row: Item) -> Item {
    let benchmark = string(&row, "pk").split('#').next().unwrap_or_default();
    let key = Key::new(kept_partition(benchmark), string(&row, "id"));
    for (name, kept) in KEPT {
        let value = row.remove(name);
        row.extend(value.map(|value| (kept.to_owned(), value)));
    }
    row.extend(key.item());
    row
}

/// What a submitter has on a board once one of their submissions is changed.
struct OfSubmitter {
    /// The row, as it was before.
    found: Option<Item>,
    /// The lines of the history that are of the board, in which the change is made.
    lines: Vec<Entry>,
    /// The data set whose scores are compared.
    dataset: Option<Digest>,
}

impl OfSubmitter {
    async fn read(table: &Table, changed: &Entry) -> Result<Self, PortError> {
        let found = table.item(Key::row(changed)).await?; // before the history is read
        let history = history_partition(&changed.board.benchmark, &changed.submitter);
        let mut lines: Vec<Entry> = Vec::new();
        let mut is_reinstated = false;
        for item in table.query(&Partition::of(history)).await? {
            let line = reader::entry(&item)?;
            is_reinstated |= line.id == changed.id && line.withdrawn_at.is_some() && changed.is_on_board();
            lines.push(if line.id == changed.id {
                changed.clone()
            } else {
                line
            });
        }
        lines.retain(|line| line.board == changed.board);
        let lines = table.with_datasets(lines).await?;
        // taken from the line, since rows of earlier versions have no data set
        let stood = found.as_ref().map(|found| string(found, "id"));
        let stood = lines.iter().find(|line| Some(line.id.as_str()) == stood);
        let stood = stood.and_then(|line| line.dataset);
        let dataset = match (changed.is_on_board(), is_reinstated) {
            (true, false) => changed.dataset,
            // the board may have got another data set meanwhile
            (true, true) => stood.or(changed.dataset),
            (false, _) => stood,
        };
        Ok(Self {
            found,
            lines,
            dataset,
        })
    }

    fn standing(&self, changed: &Entry, order: Order) -> Option<&Entry> {
        standing(
            &self.lines,
            &changed.board,
            order.ranking,
            order.direction,
            self.dataset,
        )
    }
}

/// The operations on the board when a submission that was scored before is `changed`, so that another one of its submitter may stand now. The row of
/// the changed one keeps `spread`.
pub(crate) async fn changed(
    table: &Table,
    changed: &Entry,
    spread: Option<&RowSpread>,
    order: Order,
) -> Result<Vec<Operation>, PortError> {
    if order.ranking == Ranking::All {
        let rank = rank_key_of(changed, order.direction);
        return of_own_row(table, changed, rank.as_ref(), spread).await;
    }
    let of_submitter = OfSubmitter::read(table, changed).await?;
    let seen = reader::edition(of_submitter.found.as_ref())?;
    let stands = of_submitter.standing(changed, order);
    let keyed = stands.and_then(|line| rank_key_of(line, order.direction).map(|rank| (line, rank)));
    let key = Key::row(changed);
    let row = match keyed {
        Some((line, rank)) => {
            let mut row = row_item(key, line, &rank);
            row.insert(EDITION.into(), count(seen.unwrap_or(0) + 1));
            row.insert(N_SCORED.into(), count(n_scored(&of_submitter.lines)));
            if line.id == changed.id {
                row.extend(spread.map(RowSpread::attribute).transpose()?);
            }
            table.put(row, Some(unchanged(seen)))
        }
        None => table.delete(key, Some(unchanged(seen))),
    };
    let mut operations = vec![(Step::Row, row)];
    // from when each submission had its row
    let own_rows = [Some(changed), stands.filter(|line| line.id != changed.id)];
    operations.extend(
        own_rows
            .into_iter()
            .flatten()
            .map(|line| (Step::Other, table.delete(Key::own_row(line), None))),
    );
    Ok(operations)
}

/// The operations on a board where each submission has its own row, when a submission is scored or changed: its row, unless it has no `rank` any more,
/// and that of its submitter from when a submitter had one, which becomes that submission's own.
async fn of_own_row(
    table: &Table,
    changed: &Entry,
    rank: Option<&RankKey>,
    spread: Option<&RowSpread>,
) -> Result<Vec<Operation>, PortError> {
    let key = Key::own_row(changed);
    let own = match rank {
        Some(rank) => {
            let mut row = row_item(key, changed, rank);
            row.extend(spread.map(RowSpread::attribute).transpose()?);
            table.put(row, None)
        }
        None => table.delete(key, None),
    };
    let mut operations = vec![(Step::Row, own)];
    if let Some(mut found) = table.item(Key::row(changed)).await? {
        // another change may be moving it
        let as_found = Condition {
            text: "#id = :id AND #rank = :rank",
            names: &["id", "rank"],
            values: vec![
                ("id", text(string(&found, "id"))),
                ("rank", text(string(&found, "rank"))),
            ],
        };
        operations.push((Step::Row, table.delete(Key::row(changed), Some(as_found))));
        if !is_of(&found, changed) {
            found.extend(Key::own_row(&reader::entry(&found)?).item());
            found.retain(|name, _| ![EDITION, N_SCORED].contains(&name.as_str()));
            operations.push((Step::Other, table.put(found, None)));
        }
    }
    Ok(operations)
}

fn n_scored(lines: &[Entry]) -> u64 {
    let scored = lines.iter().filter(|line| line.ending == Some(Ending::Scored));
    scored.count() as u64
}

/// The first rows of a board, and how many submissions to it were scored of each of their submitters.
pub(crate) async fn with_n_scored(
    table: &Table,
    board: &Board,
    max_rows: usize,
) -> Result<(Vec<Ranked>, BTreeMap<String, u64>), PortError> {
    let mut items = table.query_first(&Partition::ranking(board), max_rows).await?;
    if items.len() <= MAX_COUNTED_ROWS {
        // the index may be behind by any time, the rows themselves are not
        items = table.query(&Partition::of(rows_partition(board))).await?;
        items.sort_by(|one, other| string(one, "rank").cmp(string(other, "rank")));
        items.truncate(max_rows);
    }
    let mut of_submitters = BTreeMap::new();
    for item in &items {
        let submitter = string(item, "submitter");
        let n = if string(item, "sk") != submitter {
            of_submitters.get(submitter).copied().unwrap_or(0) + 1 // all rank: a row for each submission
        } else if item.contains_key(N_SCORED) {
            reader::counted(Some(item))?
        } else {
            let history = Partition::of(history_partition(&board.benchmark, submitter));
            let lines = table.query(&history).await?;
            let lines: Result<Vec<Entry>, PortError> = lines.iter().map(reader::entry).collect();
            let mut lines = lines?;
            // on a final board stands what was uploaded to the public one
            let uploaded_to = board.public().unwrap_or_else(|| board.clone());
            lines.retain(|line| line.board == uploaded_to);
            n_scored(&lines)
        };
        of_submitters.insert(submitter.to_owned(), n);
    }
    let entries: Result<Vec<Entry>, PortError> = items.iter().map(reader::entry).collect();
    let entries = table.with_datasets(entries?).await?;
    Ok((with_shared_ranks(entries, None), of_submitters))
}

fn unchanged(seen: Option<u64>) -> Condition {
    let names: &[&str] = &[EDITION];
    match seen {
        None => Condition {
            text: "attribute_not_exists(#edition)",
            names,
            values: Vec::new(),
        },
        Some(seen) => Condition {
            text: "#edition = :seen",
            names,
            values: vec![("seen", count(seen))],
        },
    }
}
