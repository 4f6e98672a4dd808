//! Verdicts in the table: beside their pair, one of each rater's, and no more than the pair needs.

use dataperf::SubmissionId;
use dataperf::ports::PortError;
use dataperf_aws::{
    Change, Condition, Item, Key, Partition, Reader, Retry, SCHEMA, Step, Table, count, text,
};
use dataperf_collection::Disqualified;
use dataperf_nibbler::{PairId, Verdict};

use crate::pairs::{UNJUDGED, pair_partition, parsed};
use crate::{pairs, raters};

const VERDICT: Step = Step::Named("verdict");
const PAIR: Step = Step::Named("pair");
const MARK: Step = Step::Named("mark");
const PREFIX: &str = "verdict#";

/// What came of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// It counts.
    Counted {
        /// Whether the pair has as many as it needs.
        is_last: bool,
        /// Whether it counts since this call, and not since an earlier run.
        is_new: bool,
    },
    /// This rater has judged the pair in another upload or line.
    Before,
    /// The pair has as many as it needs.
    Enough { n_raters: u64 },
    /// The organizer has disqualified the pair, or its submitter.
    Disqualified,
    /// There is no such pair.
    NoSuchPair,
}

/// Records a verdict, once, if the pair needs one more.
pub(crate) async fn give(
    table: &Table,
    verdict: &Verdict,
    rater: &str,
    (submission, line): (&SubmissionId, u64),
    disqualified: &Disqualified,
) -> Result<Given, PortError> {
    let what = format!("verdict on pair `{}`", verdict.submission);
    let key = Key::new(pair_partition(&verdict.submission), format!("{PREFIX}{rater}"));
    let json = serde_json::to_string(verdict).map_err(|error| PortError::Malformed {
        what: what.clone(),
        why: error.to_string(),
    })?;
    let mut retry = Retry::of(what);
    loop {
        let Some(pair) = table.item(pairs::key(&verdict.submission)).await? else {
            return Ok(Given::NoSuchPair);
        };
        let reader = Reader { item: &pair };
        let number = |name| reader.number::<u64>(name).map(Option::unwrap_or_default);
        let (n_raters, n_verdicts) = (number("n_raters")?, number("n_verdicts")?);
        let n_counted = n_verdicts.saturating_sub(number("n_disqualified")?);
        if let Some(there) = table.item(key.clone()).await? {
            let there = Reader { item: &there };
            let is_this =
                there.text("submission")? == submission.as_str() && there.number("line")? == Some(line);
            let is_last = n_counted >= n_raters;
            return Ok(if is_this {
                Given::Counted {
                    is_last,
                    is_new: false,
                }
            } else {
                Given::Before
            });
        }
        if disqualified.has_item(verdict.submission.as_str(), reader.text("submitter")?) {
            return Ok(Given::Disqualified);
        }
        if n_counted >= n_raters {
            return Ok(Given::Enough { n_raters });
        }
        let mut item = key.clone().item();
        let mut mark = raters::mark(rater, &verdict.submission).item();
        for item in [&mut item, &mut mark] {
            item.insert("schema".into(), count(SCHEMA.into()));
            item.insert("submission".into(), text(submission.as_str()));
            item.insert("pair".into(), text(verdict.submission.as_str()));
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
            (PAIR, table.update(pairs::key(&verdict.submission), one_more)),
            (MARK, table.put(mark, None)),
        ];
        match table.transact(operations).await {
            Ok(()) => {
                let is_last = n_counted + 1 >= n_raters;
                return Ok(Given::Counted {
                    is_last,
                    is_new: true,
                });
            }
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// A verdict with the rater's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Whose it is: never published.
    pub rater: String,
    /// What it says.
    pub verdict: Verdict,
}

/// The verdicts on a pair, in the order in which they came.
///
/// # Errors
/// [`PortError`].
pub async fn verdicts_on(table: &Table, pair: &PairId) -> Result<Vec<Named>, PortError> {
    let items = table.query(&Partition::of(pair_partition(pair))).await?;
    let is_verdict = |item: &&Item| {
        item.get("sk")
            .and_then(|sk| sk.as_s().ok())
            .is_some_and(|sk| sk.starts_with(PREFIX))
    };
    let mut found = Vec::new();
    for item in items.iter().filter(is_verdict) {
        let reader = Reader { item };
        reader.schema()?;
        let named = Named {
            rater: reader.text("rater")?.into(),
            verdict: parsed(&reader, "verdict")?,
        };
        found.push((reader.number::<u64>("place")?, named));
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, named)| named).collect())
}
