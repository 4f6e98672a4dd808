//! Makes a new data set with some corrected test labels; the original stays.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use dataperf::Digest;
use dataperf::dataset::frozen::{CORRECTIONS, Corrected, Dtype, FrozenError, MANIFEST, Manifest};

use crate::errors::ImportError;
use crate::labels::labelled::{Labelled, LabelsAt, whole};
use crate::labels::verdicts::{Edit, Verdicts};
use crate::writer::DatasetWriter;

/// Makes a data set at `out` of the one in `from` by putting labels right. Its manifest names the digest of the one that it was
/// made of, and by its digest the hidden file [`CORRECTIONS`], which has every edit of this step.
///
/// # Errors
/// [`ImportError`] when no label would change, a file of `from` is damaged, or there is something else at `out`.
pub fn correct(
    from: &Path,
    manifest: &Manifest,
    sets: &[Labelled],
    verdicts: &Verdicts,
    out: &Path,
) -> Result<Digest, ImportError> {
    if verdicts.edits.is_empty() {
        let why =
            "no verdict changes a label, so the data set would stay the same: check the column `verdict`";
        return Err(ImportError::refused(from, why));
    }
    let parent = Digest::compute(&whole(from, MANIFEST)?);
    let mut edits_of: BTreeMap<&str, Vec<&Edit>> = BTreeMap::new();
    for edit in &verdicts.edits {
        edits_of
            .entry(sets[edit.set].at.labels.file())
            .or_default()
            .push(edit);
    }
    let mut writer = DatasetWriter::create(out)?;
    for (path, entry) in &manifest.files {
        if path == CORRECTIONS {
            continue; // those of the step before are in its own data set
        }
        let source = from.join(path);
        let file = File::open(&source).map_err(ImportError::io("can't read", &source))?;
        writer.copy_entry(path, entry, file)?;
    }
    for (path, edits) in edits_of {
        let bytes = edited(whole(from, path)?, manifest, &sets[edits[0].set], &edits)?;
        writer.replace(path, &bytes)?;
    }
    writer.bytes(CORRECTIONS, &document(sets, verdicts))?;
    let corrected = Corrected {
        parent,
        edits: CORRECTIONS.to_owned(),
        n_edits: verdicts.edits.len(),
        n_reviewed: verdicts.n_reviewed(),
        reviewed: verdicts.reviewed.clone(),
        samples: verdicts.samples.clone(),
    };
    writer.finish_corrected(&manifest.benchmark, manifest.parameters.clone(), Some(corrected))
}

/// A file of labels with some of them changed.
fn edited(
    mut bytes: Vec<u8>,
    manifest: &Manifest,
    set: &Labelled,
    edits: &[&Edit],
) -> Result<Vec<u8>, FrozenError> {
    match &set.at.labels {
        LabelsAt::Bytes { file, tensor } => {
            let begin = manifest.tensor(file, tensor, Dtype::U8, 1)?.begin as usize;
            for edit in edits {
                let too_short = || FrozenError::damaged(file, "it ends before its labels do");
                *bytes.get_mut(begin + edit.row).ok_or_else(too_short)? = edit.right as u8;
            }
            Ok(bytes)
        }
        LabelsAt::Column { file, column } => {
            let right = |edit: &&Edit| (edit.row, set.at.classes[edit.right].as_str());
            with_fields(&bytes, column, &edits.iter().map(right).collect())
                .map_err(|error| FrozenError::damaged(file, error.to_string()))
        }
    }
}

/// A CSV with some fields of a column changed, by row.
fn with_fields(bytes: &[u8], column: &str, right: &BTreeMap<usize, &str>) -> Result<Vec<u8>, csv::Error> {
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader.headers()?.clone();
    let mut writer = csv::Writer::from_writer(Vec::with_capacity(bytes.len()));
    writer.write_record(&header)?;
    for (row, record) in reader.records().enumerate() {
        let record = record?;
        let edit = right.get(&row).copied();
        let field = |(name, field)| edit.filter(|_| name == column).unwrap_or(field);
        writer.write_record(header.iter().zip(&record).map(field))?;
    }
    writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))
}

/// The edits, a line each.
fn document(sets: &[Labelled], verdicts: &Verdicts) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // writing into memory does not fail
    drop(writer.write_record(["set", "row", "id", "given", "right"]));
    for Edit {
        set,
        row,
        given,
        right,
    } in &verdicts.edits
    {
        let of_set = &sets[*set];
        let (row, id) = (
            row.to_string(),
            of_set.ids.as_ref().map_or("", |ids| ids[*row].as_str()),
        );
        let (given, right) = (&of_set.at.classes[*given], &of_set.at.classes[*right]);
        drop(writer.write_record([of_set.at.name.as_str(), &row, id, given, right]));
    }
    writer.into_inner().unwrap_or_default()
}
