//! Frozen tables whose rows are divided between two parts.

use std::fs;
use std::path::Path;

use dataperf::dataset::encoding::encoding;
use dataperf::dataset::frozen::{Manifest, TensorEntry, row_digests_file};
use dataperf_datasets::{DatasetWriter, ImportError, Planned};
use dataperf_numerics::numbers::Stored;

use crate::own_data::table::{FEATURES, examples_file, features_file};

/// A table that is split.
pub(super) struct Table<'a> {
    from: &'a Path,
    /// The name of the table's files without their endings.
    pub(super) name: &'static str,
    tensor: &'a TensorEntry,
    /// The bytes of the whole file with the features.
    features: Vec<u8>,
    has_digests: bool,
    lines: Lines,
}

/// A CSV file.
pub(super) struct Lines {
    header: csv::StringRecord,
    records: Vec<csv::StringRecord>,
}

impl Lines {
    pub(super) fn read(from: &Path, name: &str) -> Result<Self, ImportError> {
        let path = from.join(name);
        let text = fs::read(&path).map_err(ImportError::io("can't read", &path))?;
        let damaged = |error: csv::Error| ImportError::refused(from, format!("`{name}`: {error}"));
        let mut reader = csv::Reader::from_reader(&text[..]);
        let header = reader.headers().map_err(damaged)?.clone();
        let records: Result<Vec<csv::StringRecord>, csv::Error> = reader.records().collect();
        let records = records.map_err(damaged)?;
        Ok(Self { header, records })
    }

    pub(super) fn column(&self, name: &str) -> Option<Vec<String>> {
        let at = self.header.iter().position(|other| other == name)?;
        let cells = self
            .records
            .iter()
            .map(|record| record.get(at).unwrap_or_default().to_owned());
        Some(cells.collect())
    }

    /// The bytes of a file with these lines only.
    pub(super) fn select(&self, rows: &[usize]) -> Result<Vec<u8>, String> {
        let mut lines = csv::Writer::from_writer(Vec::new());
        let mut records = rows.iter().map(|&row| &self.records[row]);
        let written = lines
            .write_record(&self.header)
            .and_then(|()| records.try_for_each(|record| lines.write_record(record)));
        written.map_err(|error| error.to_string())?;
        lines.into_inner().map_err(|error| error.to_string())
    }
}

impl<'a> Table<'a> {
    /// Reads a table; `None` if the data set has no table of this name.
    pub(super) fn read(
        from: &'a Path,
        manifest: &'a Manifest,
        name: &'static str,
    ) -> Result<Option<Self>, ImportError> {
        let (npy, csv) = (features_file(name), examples_file(name));
        let tensor = manifest
            .files
            .get(&npy)
            .and_then(|file| file.tensors.get(FEATURES));
        let (Some(tensor), true) = (tensor, manifest.files.contains_key(&csv)) else {
            return Ok(None);
        };
        let path = from.join(&npy);
        let features = fs::read(&path).map_err(ImportError::io("can't read", &path))?;
        let lines = Lines::read(from, &csv)?;
        if lines.records.len() != tensor.n_rows() {
            let why = format!(
                "`{csv}`: it has {} lines for {} rows of features",
                lines.records.len(),
                tensor.n_rows()
            );
            return Err(ImportError::refused(from, why));
        }
        Ok(Some(Self {
            from,
            name,
            tensor,
            features,
            has_digests: manifest.files.contains_key(&row_digests_file(&npy)),
            lines,
        }))
    }

    pub(super) fn n_rows(&self) -> usize {
        self.lines.records.len()
    }

    pub(super) fn column(&self, name: &str) -> Option<Vec<String>> {
        self.lines.column(name)
    }

    /// The files of the table, which are written again for each part.
    pub(super) fn files(&self) -> [String; 3] {
        let npy = features_file(self.name);
        [row_digests_file(&npy), npy, examples_file(self.name)]
    }

    fn row(&self, row: usize) -> Option<&[u8]> {
        let (begin, row_bytes) = (
            self.tensor.begin as usize,
            self.tensor.row_bytes().unwrap_or(0) as usize,
        );
        self.features
            .get(begin + row * row_bytes..begin + (row + 1) * row_bytes)
    }

    /// The bytes of each row's features.
    pub(super) fn rows(&self) -> Vec<&[u8]> {
        let rows = (0..self.n_rows()).map(|row| self.row(row).unwrap_or_default());
        rows.collect()
    }

    /// The numbers of some rows, row after row.
    pub(super) fn numbers(&self, rows: &[usize]) -> Result<Vec<f64>, ImportError> {
        let no_floats = || self.refused("it holds no matrix of floats");
        let encoding = encoding(self.tensor.dtype, None).ok_or_else(no_floats)?;
        let mut stored = Stored::with_capacity(encoding, 0);
        for &row in rows {
            stored.extend(self.row(row).ok_or_else(|| self.refused("it is too short"))?);
        }
        Ok(stored.view().to_f64())
    }

    fn refused(&self, why: &str) -> ImportError {
        ImportError::refused(self.from, format!("`{}`: {why}", features_file(self.name)))
    }

    /// Writes a table with these rows only.
    pub(super) fn write(&self, rows: &[usize], writer: &mut DatasetWriter) -> Result<(), ImportError> {
        let npy = features_file(self.name);
        let mut shape = self.tensor.shape.clone();
        shape[0] = rows.len();
        let planned = Planned {
            name: FEATURES,
            dtype: self.tensor.dtype,
            shape,
        };
        writer.npy(&npy, planned, |file| {
            rows.iter().try_for_each(|&row| {
                let bytes = self.row(row).ok_or_else(|| self.refused("it is too short"))?;
                file.write(bytes)
            })
        })?;
        if self.has_digests {
            writer.row_digests(&npy, FEATURES)?;
        }
        let csv = examples_file(self.name);
        let lines = self.lines.select(rows);
        let lines = lines.map_err(|why| ImportError::refused(self.from, format!("`{csv}`: {why}")))?;
        writer.bytes(&csv, &lines)
    }
}
