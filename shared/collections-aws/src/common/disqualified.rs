//! Whom and what the organizer has disqualified: noted in the table with reasons, and observed by everything that is decided later.

use dataperf::ports::PortError;
use dataperf::submission::Withdrawal;
use dataperf::{Reason, Timestamp, quote};
use dataperf_aws::{Condition, Item, Key, Partition, Reader, Retry, SCHEMA, Step, Table, count, text};
use dataperf_collections::common::{Disqualified, Subject};

use crate::common::collection::Collection;
use crate::common::items::json::{as_json, parsed};
use crate::common::space::Space;

const NOTE: Step = Step::Named("note");

fn key<C: Collection>(subject: &Subject) -> Key {
    Key::new(C::SPACE.disqualified_partition(), subject.to_string())
}

/// Everything that is disqualified, as it is now.
///
/// # Errors
/// [`PortError`].
pub async fn read_disqualified(table: &Table, space: Space) -> Result<Disqualified, PortError> {
    let items = table
        .query(&Partition::new(space.disqualified_partition()))
        .await?;
    let noted = items.iter().filter(|item| item.contains_key("since"));
    noted
        .map(|item| Ok(Reader { item }.text("sk")?.to_owned()))
        .collect()
}

/// Why a person's lines are refused, if the person is disqualified in that role.
pub fn no_more(is_disqualified: bool, name: &str, noun: &str) -> Option<Reason> {
    is_disqualified.then(|| {
        let name = quote(name);
        let message =
            format!("the organizer has disqualified {name} and takes no more {noun}: ask the organizer why");
        Reason::new("disqualified", "", message)
    })
}

/// Notes a disqualification, or, with `undo`, its end; returns all notes about the subject, the
/// newest last. Nothing is noted if it is so already.
///
/// # Errors
/// [`PortError`].
pub async fn disqualify<C: Collection>(
    table: &Table,
    subject: &Subject,
    at: Timestamp,
    reason: &str,
    undo: bool,
) -> Result<Vec<Withdrawal>, PortError> {
    let mut retry = Retry::new(format!("disqualification of `{subject}`"));
    loop {
        let there = table.item(key::<C>(subject)).await?;
        let (mut notes, is_so, n_changes) = read_notes(there.as_ref())?;
        if is_so != undo {
            return Ok(notes);
        }
        match notes.last_mut().filter(|_| undo) {
            Some(last) => {
                last.undone_at = Some(at);
                last.undo_reason = Some(reason.to_owned());
            }
            None => notes.push(Withdrawal {
                at,
                reason: Some(reason.to_owned()),
                undone_at: None,
                undo_reason: None,
            }),
        }
        let mut item = key::<C>(subject).item();
        item.insert("schema".into(), count(SCHEMA.into()));
        item.insert("n_changes".into(), count(n_changes + 1));
        let json = as_json(&subject.to_string(), &notes)?;
        item.insert("notes".into(), text(json));
        if !undo {
            item.insert("since".into(), text(at.to_string()));
        }
        let same = Condition {
            text: "attribute_not_exists(#n_changes) OR #n_changes = :seen",
            names: &["n_changes"],
            values: vec![("seen", count(n_changes))],
        };
        match table.transact(vec![(NOTE, table.put(item, Some(same)))]).await {
            Ok(()) => return Ok(notes),
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// The notes about a subject, whether it is disqualified, and how often that has changed.
fn read_notes(item: Option<&Item>) -> Result<(Vec<Withdrawal>, bool, u64), PortError> {
    let Some(item) = item else {
        return Ok((Vec::new(), false, 0));
    };
    let reader = Reader { item };
    reader.schema()?;
    let n_changes = reader.number("n_changes")?.unwrap_or_default();
    Ok((parsed(&reader, "notes")?, item.contains_key("since"), n_changes))
}
