//! The artifact: `{"Cupcake": {"0002643773a76876": 0, ...}, ...}`, or a zip of `Cupcake.csv`, ... with the columns
//! `ImageID` and `Confidence`.

use crate::archive::{Bounds, Entry, is_zip, unpack};
use crate::json::Json;
use crate::rejection::{Reason, Reasons, Rejection, pointer, quote};

const BOUNDS: Bounds = Bounds {
    max_entries: 1_000,
    max_unpacked_bytes: 1 << 20,
    max_ratio: 200,
};
const ID: &str = "ImageID";
const LABEL: &str = "Confidence";

/// One labelled image.
#[derive(Debug)]
pub(super) struct Example {
    /// Where it stands in the artifact.
    pub(super) at: String,
    pub(super) id: String,
    /// `None` when it is neither 0 nor 1, which has been noted.
    pub(super) label: Option<u8>,
}

/// The examples of one concept, in the order of the artifact: the model is fitted in it.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) at: String,
    pub(super) concept: String,
    pub(super) examples: Vec<Example>,
}

/// A parsed artifact. What is wrong with its form is carried along, so that the rules can add to it.
#[derive(Debug)]
pub struct Submission {
    pub(super) concepts: Vec<Listed>,
    pub(super) reasons: Reasons,
}

impl Submission {
    /// Reads the artifact's form.
    ///
    /// # Errors
    /// A [`Rejection`] when it is neither JSON nor a zip that can be unpacked; a wrong form is reported together with
    /// broken rules.
    pub fn parse(artifact: &[u8]) -> Result<Self, Rejection> {
        let mut reasons = Reasons::default();
        let concepts = if is_zip(artifact) {
            let files = unpack(artifact, BOUNDS)?;
            files
                .iter()
                .filter_map(|file| of_csv(file, &mut reasons))
                .collect()
        } else {
            let concepts = Json::parse(artifact)?.into_members("", &mut reasons).into_iter();
            concepts
                .map(|(concept, labels)| of_json(concept, labels, &mut reasons))
                .collect()
        };
        Ok(Self { concepts, reasons })
    }
}

fn of_json(concept: String, labels: Json, reasons: &mut Reasons) -> Listed {
    let at = pointer("", &concept);
    let mut examples = Vec::new();
    if let Json::Object(members) = labels {
        for (id, label) in members {
            let at = pointer(&at, &id);
            let shown = match &label {
                Json::Number(number) => format!("`{number}`"),
                other => other.kind().to_owned(),
            };
            let label = match label {
                Json::Number(number) => number.as_u64().and_then(|label| u8::try_from(label).ok()),
                _ => None,
            };
            examples.push(Example {
                label: checked(label, &at, &shown, reasons),
                at,
                id,
            });
        }
    } else {
        let message = format!(
            "expected an object of labels by image id here, found {}",
            labels.kind()
        );
        reasons.add(Reason::new("wrong_type", &at, message));
    }
    Listed {
        at,
        concept,
        examples,
    }
}

fn checked(label: Option<u8>, at: &str, shown: &str, reasons: &mut Reasons) -> Option<u8> {
    let label = label.filter(|&label| label <= 1);
    if label.is_none() {
        let message = format!("the label is {shown}: it must be 1 (shows the concept) or 0 (does not)");
        reasons.add(Reason::new("bad_label", at, message));
    }
    label
}

fn of_csv(file: &Entry, reasons: &mut Reasons) -> Option<Listed> {
    let name = &file.name;
    let Some(concept) = name.strip_suffix(".csv") else {
        let message = format!(
            "{} has no meaning here: the zip holds a file `CONCEPT.csv` for each concept",
            quote(name)
        );
        reasons.add(Reason::new("unknown_file", name, message));
        return None;
    };
    Some(Listed {
        at: name.clone(),
        concept: concept.to_owned(),
        examples: read_csv(name, &file.bytes, reasons),
    })
}

/// The images and labels of a training set in the CSV form, in its order. `name` is the file's, for messages.
///
/// # Errors
/// A sentence for each line that is not of this form.
pub fn examples_of_csv(name: &str, bytes: &[u8]) -> Result<Vec<(String, u8)>, Vec<String>> {
    let mut reasons = Reasons::default();
    let examples = read_csv(name, bytes, &mut reasons).into_iter();
    let examples = examples.filter_map(|example| Some((example.id, example.label?)));
    reasons.into_verdict(examples.collect()).map_err(|rejection| {
        let reasons = rejection.reasons().iter();
        reasons
            .map(|reason| format!("`{}`: {}", reason.at, reason.message))
            .collect()
    })
}

fn read_csv(name: &str, bytes: &[u8], reasons: &mut Reasons) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut reader = csv::Reader::from_reader(bytes);
    let columns = reader.headers().ok().and_then(columns);
    let Some((id_idx, label_idx)) = columns else {
        let message = format!(
            "the first line of {} must be `{ID},{LABEL}`, in UTF-8 without a byte order mark",
            quote(name)
        );
        reasons.add(Reason::new("bad_header", format!("{name} line 1"), message));
        return examples;
    };
    for record in reader.records() {
        match record {
            Ok(record) => {
                let at = format!("{name} line {}", record.position().map_or(0, csv::Position::line));
                let label = record[label_idx].trim();
                let label = checked(label.parse().ok(), &at, &quote(label), reasons);
                examples.push(Example {
                    at,
                    id: record[id_idx].trim().to_owned(),
                    label,
                });
            }
            Err(error) => {
                let at = format!("{name} line {}", error.position().map_or(0, csv::Position::line));
                let message = format!("the line is not `{ID},{LABEL}`: it needs two fields, in UTF-8");
                reasons.add(Reason::new("bad_line", at, message));
            }
        }
    }
    examples
}

/// Where the two columns stand, if they are the only ones.
fn columns(header: &csv::StringRecord) -> Option<(usize, usize)> {
    let names: Vec<&str> = header.iter().map(str::trim).collect();
    match names.as_slice() {
        [ID, LABEL] => Some((0, 1)),
        [LABEL, ID] => Some((1, 0)),
        _ => None,
    }
}
