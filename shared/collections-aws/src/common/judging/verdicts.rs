//! Verdicts in the table: each next to its item, one per rater, and only as many as the item needs.

use dataperf::ports::PortError;
use dataperf::{SubmissionId, Timestamp};
use dataperf_aws::{
    Change, Condition, Item, Key, Partition, Reader, Retry, SCHEMA, Step, Table, count, text,
};
use dataperf_collections::common::Disqualified;

use crate::common::collection::Collection;
use crate::common::items::UNJUDGED;
use crate::common::items::json::{as_json, parsed};
use crate::common::judging::raters;
use crate::common::limits::reservation::SUBMISSION;

const VERDICT: Step = Step::Named("verdict");
const ITEM: Step = Step::Named("item");
const MARK: Step = Step::Named("mark");
const PREFIX: &str = "verdict#";

/// The sort key of the organizer's decision on an item.
pub(crate) const RULING: &str = "ruling";

/// The result of giving a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// It counts.
    Counted {
        /// How many verdicts on the item count, including this one.
        n_counted: u64,
        /// The most verdicts that the item takes.
        n_raters: u64,
        /// Whether this call has recorded it, and not an earlier run.
        is_new: bool,
    },
    /// This rater has judged the item in another upload or line.
    Before,
    /// The item is decided, or has as many verdicts as it takes.
    Enough {
        /// The most verdicts that the item takes.
        n_raters: u64,
    },
    /// The organizer has disqualified the item, or its submitter.
    Disqualified,
    /// The item is the rater's own.
    Own,
    /// There is no such item, or raters don't judge it.
    NoSuchItem,
}

/// Records a verdict, once, if the item needs one more.
///
/// # Errors
/// [`PortError`].
pub(crate) async fn give<C: Collection>(
    table: &Table,
    verdict: &C::Verdict,
    rater: &str,
    (submission, line): (&SubmissionId, u64),
    disqualified: &Disqualified,
) -> Result<Given, PortError> {
    let id = C::judged(verdict).to_string();
    let subject = format!("verdict on {}", C::SPACE.describe(&id));
    let key = key::<C>(&id, rater);
    let json = as_json(&subject, verdict)?;
    let mut retry = Retry::new(subject);
    loop {
        let Some(stored) = table.item(C::SPACE.item_key(&id)).await? else {
            return Ok(Given::NoSuchItem);
        };
        let reader = Reader { item: &stored };
        let number = |name| reader.number::<u64>(name).map(Option::unwrap_or_default);
        let (n_raters, n_verdicts) = (number("n_raters")?, number("n_verdicts")?);
        let n_counted = n_verdicts.saturating_sub(number("n_disqualified")?);
        if let Some(there) = table.item(key.clone()).await? {
            return Ok(if is_by(&there, (submission, line))? {
                Given::Counted {
                    n_counted,
                    n_raters,
                    is_new: false,
                }
            } else {
                Given::Before
            });
        }
        if n_raters == 0 {
            return Ok(Given::NoSuchItem); // nobody has been shown it
        }
        let submitter = reader.text("submitter")?;
        if submitter == rater {
            return Ok(Given::Own);
        }
        if disqualified.has_item(&id, submitter) {
            return Ok(Given::Disqualified);
        }
        if n_counted >= n_raters || reader.text("status")? != UNJUDGED {
            return Ok(Given::Enough { n_raters });
        }
        let mut item = key.clone().item();
        let mut mark = raters::mark::<C>(rater, &id).item();
        for item in [&mut item, &mut mark] {
            item.insert("schema".into(), count(SCHEMA.into()));
            item.insert(SUBMISSION.into(), text(submission.as_str()));
            item.insert(C::SPACE.item.into(), text(&id));
        }
        item.insert("line".into(), count(line));
        item.insert("rater".into(), text(rater));
        item.insert("verdict".into(), text(&json));
        item.insert("place".into(), count(n_verdicts));
        let one_more = Change {
            set: vec![("n_verdicts".into(), count(n_verdicts + 1))],
            condition: Some(Condition {
                text: "#status = :unjudged AND #n_verdicts = :seen",
                names: &["status", "n_verdicts"],
                values: vec![("unjudged", text(UNJUDGED)), ("seen", count(n_verdicts))],
            }),
            ..Change::default()
        };
        let operations = vec![
            (VERDICT, table.put(item, Some(Condition::new_item()))),
            (ITEM, table.update(C::SPACE.item_key(&id), one_more)),
            (MARK, table.put(mark, None)),
        ];
        match table.transact(operations).await {
            Ok(()) => {
                return Ok(Given::Counted {
                    n_counted: n_counted + 1,
                    n_raters,
                    is_new: true,
                });
            }
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// Whether an earlier run has recorded a verdict from this line of this upload.
///
/// # Errors
/// [`PortError`].
pub async fn is_given<C: Collection>(
    table: &Table,
    id: &C::Id,
    rater: &str,
    by: (&SubmissionId, u64),
) -> Result<bool, PortError> {
    let there = table.item(key::<C>(&id.to_string(), rater)).await?;
    there.map_or(Ok(false), |there| is_by(&there, by))
}

fn is_by(verdict: &Item, (submission, line): (&SubmissionId, u64)) -> Result<bool, PortError> {
    let reader = Reader { item: verdict };
    Ok(reader.text(SUBMISSION)? == submission.as_str() && reader.number("line")? == Some(line))
}

fn key<C: Collection>(id: &str, rater: &str) -> Key {
    Key::new(C::SPACE.item_partition(id), format!("{PREFIX}{rater}"))
}

/// A verdict with the rater's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<V> {
    /// The rater's name, which is never published.
    pub rater: String,
    /// The verdict.
    pub verdict: V,
}

/// The verdicts and the organizer's decision on an item.
#[derive(Debug)]
pub(crate) struct Judged<C: Collection> {
    /// The verdicts, in the order in which they came.
    pub(crate) verdicts: Vec<Named<C::Verdict>>,
    /// The organizer's decision.
    pub(crate) ruling: Option<C::Consensus>,
}

/// The verdicts and the organizer's decision on an item.
pub(crate) async fn read_judged<C: Collection>(table: &Table, id: &C::Id) -> Result<Judged<C>, PortError> {
    let partition = C::SPACE.item_partition(&id.to_string());
    let (mut placed, mut ruling) = (Vec::new(), None);
    for item in table.query(&Partition::new(partition)).await? {
        let reader = Reader { item: &item };
        let place = reader.text("sk")?;
        if place == RULING {
            reader.schema()?;
            ruling = Some(parsed(&reader, RULING)?);
        } else if place.starts_with(PREFIX) {
            reader.schema()?;
            let named = Named {
                rater: reader.text("rater")?.into(),
                verdict: parsed(&reader, "verdict")?,
            };
            placed.push((reader.number::<u64>("place")?, named));
        }
    }
    placed.sort_by_key(|(place, _)| *place);
    let verdicts = placed.into_iter().map(|(_, named)| named).collect();
    Ok(Judged { verdicts, ruling })
}

/// The verdicts on an item, in the order in which they came.
///
/// # Errors
/// [`PortError`].
pub async fn verdicts_on<C: Collection>(
    table: &Table,
    id: &C::Id,
) -> Result<Vec<Named<C::Verdict>>, PortError> {
    Ok(read_judged::<C>(table, id).await?.verdicts)
}

/// Notes what the organizer decides about an item, whatever raters say of it, and why. The caller then has the item decided again.
///
/// # Errors
/// [`PortError`].
pub async fn rule<C: Collection>(
    table: &Table,
    id: &C::Id,
    ruling: &C::Consensus,
    at: Timestamp,
    reason: &str,
) -> Result<(), PortError> {
    let subject = format!("ruling on {}", C::SPACE.describe(&id.to_string()));
    let mut item = Key::new(C::SPACE.item_partition(&id.to_string()), RULING).item();
    item.insert("schema".into(), count(SCHEMA.into()));
    item.insert(RULING.into(), text(as_json(&subject, ruling)?));
    item.insert("at".into(), text(at.to_string()));
    item.insert("reason".into(), text(reason));
    let mut retry = Retry::new(subject);
    loop {
        let put = table.put(item.clone(), None);
        match table.transact(vec![(Step::Named(RULING), put)]).await {
            Ok(()) => return Ok(()),
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}
