//! The sets of images that were made: what their submitter may know of them, and what only the organizer may.

use crate::common::Allowance;
use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::ports::PortError;
use dataperf::{Digest, SubmissionId, Timestamp};
use dataperf_aws::{Cancelled, Item, Key, Operation, Reader, Retry, SCHEMA, Step, Table, count, text};
use dataperf_collections::nibbler::{BENCHMARK, ImageId, SetId};
use serde::{Deserialize, Serialize};

const IMAGE: Step = Step::Named("image");

/// An image as its submitter knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its id, which does not reveal who made it.
    pub id: ImageId,
    /// Its key in the results bucket.
    pub key: String,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// A set as its submitter knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeSet {
    /// The images in the order of their ids, which does not reveal who made them.
    pub images: Vec<Image>,
    /// How many more a provider has made black, or refused to make.
    pub n_blocked: usize,
}

/// Facts about an image that only the organizer sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) image: ImageId,
    pub(crate) provider: String,
    pub(crate) model: String,
}

/// The facts about an image, read by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) submitter: String,
    /// The round in which its set was requested.
    pub(crate) round: String,
    /// The prompt, in its canonical form.
    pub(crate) prompt: String,
    pub(crate) key: String,
    pub(crate) digest: Digest,
    pub(crate) provider: String,
    pub(crate) model: String,
}

/// The key of an image in the results bucket: below its submitter's receipts, which nobody else may read.
pub fn image_key(submitter: &str, image: &ImageId) -> String {
    format!("{BENCHMARK}/generate/{submitter}/images/{image}.png")
}

fn item_key(image: &ImageId) -> Key {
    Key::new(format!("{BENCHMARK}#image#{image}"), "image")
}

/// The daily allowance of sets.
pub(crate) fn allowance(table: &Table) -> Allowance<'_> {
    Allowance {
        table,
        benchmark: BENCHMARK,
    }
}

/// Reads the set that the item of a made set holds.
pub(crate) fn made(item: &Item) -> Result<MadeSet, PortError> {
    let reader = Reader { item };
    serde_json::from_str(reader.text("images")?)
        .map_err(|error| reader.malformed(format!("`images`: {error}")))
}

/// A set that is to be recorded.
pub(crate) struct Making<'a> {
    pub(crate) id: &'a SetId,
    /// The round in which it was requested.
    pub(crate) round: &'a str,
    pub(crate) submitter: &'a str,
    pub(crate) prompt: &'a str,
    /// The submitter whose allowance it used.
    pub(crate) taken_by: &'a SubmissionId,
    pub(crate) made_at: Timestamp,
}

/// Records a set with the origin of its images, which are in the bucket by now. `false` when the set was given back meanwhile.
pub(crate) async fn record(
    table: &Table,
    making: &Making<'_>,
    set: &MadeSet,
    origins: &[Origin],
) -> Result<bool, PortError> {
    let subject = format!("set `{}`", making.id);
    let json = serde_json::to_string(set).map_err(|error| PortError::Malformed {
        subject: subject.clone(),
        why: error.to_string(),
    })?;
    let mut retry = Retry::new(subject);
    loop {
        let attributes: Vec<(String, AttributeValue)> = vec![
            ("images".into(), text(&json)),
            ("prompt".into(), text(making.prompt)),
            ("made_at".into(), text(making.made_at.to_string())),
        ];
        let mut operations: Vec<Operation> =
            allowance(table).made(making.id.as_str(), making.taken_by, attributes);
        for (image, origin) in set
            .images
            .iter()
            .filter_map(|image| Some((image, origins.iter().find(|origin| origin.image == image.id)?)))
        {
            operations.push((IMAGE, table.put(image_item(making, image, origin), None)));
        }
        match table.transact(operations).await {
            Ok(()) => return Ok(true),
            Err(Cancelled::Condition(_)) => return Ok(false),
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

fn image_item(making: &Making<'_>, image: &Image, origin: &Origin) -> Item {
    let mut item = item_key(&image.id).item();
    item.insert("schema".into(), count(SCHEMA.into()));
    let attributes = [
        ("submitter", making.submitter),
        ("set", making.id.as_str()),
        ("round", making.round),
        ("prompt", making.prompt),
        ("key", &image.key),
        ("provider", &origin.provider),
        ("model", &origin.model),
    ];
    item.extend(attributes.map(|(name, value)| (name.to_owned(), text(value))));
    item.insert("digest".into(), text(image.digest.to_string()));
    item.insert("made_at".into(), text(making.made_at.to_string()));
    item
}

/// Reads the facts about an image; `None` if no image has this id.
pub(crate) async fn known(table: &Table, image: &ImageId) -> Result<Option<Known>, PortError> {
    let Some(item) = table.item(item_key(image)).await? else {
        return Ok(None);
    };
    let reader = Reader { item: &item };
    reader.schema()?;
    Ok(Some(Known {
        submitter: reader.text("submitter")?.into(),
        round: reader.text("round")?.into(),
        prompt: reader.text("prompt")?.into(),
        key: reader.text("key")?.into(),
        digest: reader.parsed("digest")?,
        provider: reader.text("provider")?.into(),
        model: reader.text("model")?.into(),
    }))
}
