//! The artifact: `{"Cupcake": {"0002643773a76876": 0, ...}, ...}`, or a zip of `Cupcake.csv`, ... with the columns
//! `ImageID` and `Confidence`.

use dataperf::formats::archive::{Bounds, Entry, unpack};
use dataperf::formats::delimited::text_of;
use dataperf::formats::json::Json;
use dataperf::{LineNumbers, Reason, Reasons, Rejection, explain_every, is_zip, pointer, quote};

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
    /// The example's line in a CSV file, from 1; `None` for JSON, where the id tells the place.
    line: Option<u32>,
    pub(super) id: String,
    /// The label; `None` if it is neither 0 nor 1, which has been noted.
    pub(super) label: Option<u8>,
}

/// The examples of one concept, in the artifact's order, in which the model is fitted to them.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) at: String,
    pub(super) concept: String,
    /// The examples; `None` if their form can't be read, which has been noted.
    pub(super) examples: Option<Vec<Example>>,
}

impl Listed {
    /// The place of an example in the artifact. Computed on demand, because an artifact may have
    /// 250,000 examples.
    pub(super) fn at(&self, example: &Example) -> String {
        match example.line {
            Some(line) => line_of(&self.at, line),
            None => pointer(&self.at, &example.id),
        }
    }
}

fn line_of(file: &str, line: u32) -> String {
    format!("{file} line {line}")
}

/// The label of each image of a concept.
type Labels = Vec<(String, Option<u8>)>;

/// A parsed artifact, with the mistakes in its form, to which the rules add theirs.
#[derive(Debug)]
pub struct Artifact {
    pub(super) concepts: Vec<Listed>,
    pub(super) reasons: Reasons,
}

impl Artifact {
    /// Reads the artifact's form.
    ///
    /// # Errors
    /// A [`Rejection`] when it is neither JSON nor a zip that can be unpacked; a wrong form is reported together with
    /// broken rules.
    pub fn parse(artifact: &[u8]) -> Result<Self, Rejection> {
        let mut reasons = Reasons::default();
        let concepts: Vec<Listed> = if is_zip(artifact) {
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
        let labels = concepts
            .iter()
            .flat_map(|listed: &Listed| listed.examples.iter().flatten());
        let n_labels = labels.clone().count();
        let n_wrong = labels.filter(|example| example.label.is_none()).count();
        reasons.explain(explain_every("bad_label", n_wrong, n_labels, || {
            format!("none of the {n_labels} labels is 0 or 1: write 1 if an image shows the concept, else 0")
        }));
        Ok(Self { concepts, reasons })
    }

    /// The labels by concept and image, sorted.
    pub(super) fn into_sorted(self) -> Vec<(String, Labels)> {
        let concepts = self.concepts.into_iter().map(|listed| {
            let examples = listed.examples.into_iter().flatten();
            let mut examples: Vec<_> = examples.map(|example| (example.id, example.label)).collect();
            examples.sort();
            (listed.concept, examples)
        });
        let mut concepts: Vec<_> = concepts.collect();
        concepts.sort();
        concepts
    }

    /// The ids of all concepts in their order.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        let examples = self
            .concepts
            .iter()
            .flat_map(|listed| listed.examples.iter().flatten());
        examples.map(|example| example.id.as_str())
    }

    /// The number of labelled images in all concepts together.
    pub(super) fn n_examples(&self) -> usize {
        let listed = self.concepts.iter();
        listed
            .map(|listed| listed.examples.as_ref().map_or(0, Vec::len))
            .sum()
    }
}

fn of_json(concept: String, labels: Json, reasons: &mut Reasons) -> Listed {
    let at = pointer("", &concept);
    let examples = if let Json::Object(members) = labels {
        let mut examples = Vec::with_capacity(members.len());
        for (id, label) in members {
            let shown = match &label {
                Json::Number(number) => format!("`{number}`"),
                other => other.kind().to_owned(),
            };
            let label = match label {
                Json::Number(number) => number.as_u64().and_then(|label| u8::try_from(label).ok()),
                _ => None,
            };
            examples.push(Example {
                label: checked(label, || pointer(&at, &id), &shown, reasons),
                line: None,
                id,
            });
        }
        Some(examples)
    } else {
        let message = format!(
            "expected an object of labels by image id here, found {}",
            labels.kind()
        );
        reasons.add(Reason::new("wrong_type", &at, message));
        None
    };
    Listed {
        at,
        concept,
        examples,
    }
}

fn checked(label: Option<u8>, at: impl FnOnce() -> String, shown: &str, reasons: &mut Reasons) -> Option<u8> {
    let label = label.filter(|&label| label <= 1);
    if label.is_none() {
        let message = format!("the label is {shown}: write 1 if the image shows the concept, else 0");
        reasons.add(Reason::new("bad_label", at(), message));
    }
    label
}

fn of_csv(file: &Entry, reasons: &mut Reasons) -> Option<Listed> {
    let name = &file.name;
    let Some(concept) = name.strip_suffix(".csv") else {
        let message = format!(
            "{} is not part of a submission: the zip holds a file `CONCEPT.csv` for each concept",
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

/// The images and labels of a training set in CSV form, in the file's order. `name` is the file's name in messages.
///
/// # Errors
/// A sentence for each line that does not have this form.
pub fn examples_of_csv(name: &str, bytes: &[u8]) -> Result<Vec<(String, u8)>, Vec<String>> {
    let mut reasons = Reasons::default();
    let examples = read_csv(name, bytes, &mut reasons).unwrap_or_default();
    let examples = examples
        .into_iter()
        .filter_map(|example| Some((example.id, example.label?)));
    reasons.into_verdict(examples.collect()).map_err(|rejection| {
        let reasons = rejection.reasons().iter();
        reasons
            .map(|reason| format!("`{}`: {}", reason.at, reason.message))
            .collect()
    })
}

fn read_csv(name: &str, bytes: &[u8], reasons: &mut Reasons) -> Option<Vec<Example>> {
    let (dialect, text) = match text_of(bytes) {
        Ok(read) => read,
        Err(reason) => {
            let message = format!("{}: {}", quote(name), reason.message);
            reasons.add(Reason::new("bad_header", format!("{name} line 1"), message));
            return None;
        }
    };
    let bytes = text.as_bytes();
    let mut lines = LineNumbers::new(bytes);
    let mut line_at = |position: Option<&csv::Position>| {
        let begin = position.map_or(0, csv::Position::byte) as usize;
        u32::try_from(lines.number(begin)).unwrap_or(u32::MAX)
    };
    let mut examples = Vec::new();
    let mut reader = dialect.strict_reader(bytes);
    let columns = reader.headers().ok().and_then(columns);
    let Some((id_idx, label_idx)) = columns else {
        let message = format!(
            "the first line of {} has to be `{ID},{LABEL}`, in UTF-8",
            quote(name)
        );
        reasons.add(Reason::new("bad_header", format!("{name} line 1"), message));
        return None;
    };
    for record in reader.records() {
        match record {
            Ok(record) => {
                let line = line_at(record.position());
                let label = record[label_idx].trim();
                let label = checked(label.parse().ok(), || line_of(name, line), &quote(label), reasons);
                examples.push(Example {
                    line: Some(line),
                    id: record[id_idx].trim().to_owned(),
                    label,
                });
            }
            Err(error) => {
                let at = line_of(name, line_at(error.position()));
                let message = format!("the line is not `{ID},{LABEL}`: it needs two fields, in UTF-8");
                reasons.add(Reason::new("bad_line", at, message));
            }
        }
    }
    Some(examples)
}

/// The places of the two columns; `None` if the header has other columns.
fn columns(header: &csv::StringRecord) -> Option<(usize, usize)> {
    let names: Vec<&str> = header.iter().map(str::trim).collect();
    // pandas writes a column without a name that numbers the rows
    let is_index = |name: &str| name.is_empty() || name.starts_with("Unnamed: ");
    let place = |wanted: &str| {
        let mut places = names.iter().enumerate().filter(|(_, name)| **name == wanted);
        places
            .next()
            .filter(|_| places.next().is_none())
            .map(|(place, _)| place)
    };
    let is_ours = |name: &&str| [ID, LABEL].contains(name) || is_index(name);
    Some((place(ID)?, place(LABEL)?)).filter(|_| names.iter().all(is_ours))
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn parsed(csv: &str) -> Artifact {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer
            .start_file("Hawk.csv", SimpleFileOptions::default())
            .expect("a name");
        writer.write_all(csv.as_bytes()).expect("memory");
        Artifact::parse(writer.finish().expect("memory").get_ref()).expect("a zip of the form")
    }

    #[test]
    fn lines_are_those_that_an_editor_shows() {
        for (end, csv) in [("\\n", "\n"), ("\\r\\n", "\r\n"), ("\\r", "\r")] {
            let text = [
                "ImageID,Confidence",
                "a,1",
                "",
                "",
                "b,7",
                "\"c",
                "d\",7",
                "e",
                "f,0",
                "g,7",
            ]
            .join(csv);
            for text in [text.clone(), format!("{text}{csv}"), format!("\u{feff}{text}")] {
                let artifact = parsed(&text);
                let examples = artifact.concepts[0].examples.as_ref().expect("a header");
                let listed = &artifact.concepts[0];
                let places: Vec<String> = examples.iter().map(|example| listed.at(example)).collect();
                let lines = [2, 5, 6, 9, 10].map(|line| format!("Hawk.csv line {line}"));
                assert_eq!(places, lines, "{end}");
                let rejection = artifact.reasons.into_verdict(()).expect_err("bad labels");
                let places: Vec<&str> = rejection
                    .reasons()
                    .iter()
                    .map(|reason| reason.at.as_str())
                    .collect();
                let lines = [5, 6, 8, 10].map(|line| format!("Hawk.csv line {line}"));
                assert_eq!(places, lines, "{end}");
            }
        }
    }

    #[test]
    fn a_file_without_header_reports_only_the_header() {
        let artifact = parsed("id,label\na,1\n");
        assert!(artifact.concepts[0].examples.is_none());
        let rejection = artifact.reasons.into_verdict(()).expect_err("refused");
        assert_eq!(rejection.reasons()[0].code, "bad_header");
    }
}
