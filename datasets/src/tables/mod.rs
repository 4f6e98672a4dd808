//! Tables of numbers with labels of their rows, in forms that data programs read: `.npy`, CSV and
//! Parquet.

pub mod embeddings;
pub mod lines;
pub mod table_file;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use dataperf::csv_cell;
use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest};
use ndarray::Array2;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::errors::{ImportError, WriteError};
use crate::labels::labelled::RowsAt;
use crate::npy::{header, header_of_records};
use crate::writer::DatasetWriter;

/// How many numbers a row group of Parquet has: 16 MB of 32-bit floats.
const GROUP_NUMBERS: usize = 4 << 20;
/// The longest text, in characters, that is a field of `NumPy`'s records: there each text takes as much room as the longest.
const MOST_CHARS: usize = 64;
/// An element of a list.
const ELEMENT: &str = "element";
/// The column of a row's numbers.
const FEATURES: &str = "features";

/// A table that participants may have.
#[derive(Debug, Clone, PartialEq)]
pub struct KitTable {
    /// Its name, which its files share.
    pub name: String,
    /// Columns about each row, such as ids and labels.
    pub columns: Vec<(String, Values)>,
    /// The rows' numbers, where they have some.
    pub rows: Option<KitRows>,
}

/// The place of the numbers in a table's rows.
#[derive(Debug, Clone, PartialEq)]
pub enum KitRows {
    /// In a file of the data set.
    At(RowsAt),
    /// `(n_rows, n_features)`, read from a file that has another form.
    Read(Array2<f64>, Dtype),
}

impl From<RowsAt> for KitRows {
    fn from(rows: RowsAt) -> Self {
        Self::At(rows)
    }
}

impl KitRows {
    fn shape(&self, manifest: &Manifest) -> Result<(usize, usize), FrozenError> {
        match self {
            Self::At(rows) => rows.shape(manifest),
            Self::Read(numbers, _) => Ok(numbers.dim()),
        }
    }

    /// The file of the data set that has the numbers as `NumPy` reads them.
    fn npy_of_dataset(&self) -> Option<&str> {
        match self {
            Self::At(rows) => rows.file.strip_suffix(".npy"),
            Self::Read(..) => None,
        }
    }

    fn element(&self, manifest: &Manifest) -> Result<Element, FrozenError> {
        match self {
            Self::At(rows) => Element::from_manifest(rows, manifest),
            Self::Read(_, Dtype::U8) => Ok(Element::Byte),
            Self::Read(_, Dtype::F32) => Ok(Element::Narrow),
            Self::Read(..) => Ok(Element::Wide),
        }
    }

    /// All rows, some at a time, to something that can fail.
    fn each_block(
        &self,
        from: &Path,
        manifest: &Manifest,
        mut each: impl FnMut(usize, Array2<f64>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        match self {
            Self::At(rows) => {
                let mut failed = Ok(());
                rows.each_block(from, manifest, &mut |first, block| {
                    if failed.is_ok() {
                        failed = each(first, block);
                    }
                })?;
                failed
            }
            Self::Read(numbers, _) => each(0, numbers.clone()),
        }
    }
}

/// A column's values, `(n_rows,)`.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Words.
    Text(Vec<String>),
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Other numbers.
    Real(Vec<f64>),
    /// Words that some rows lack.
    MaybeText(Vec<Option<String>>),
    /// Whole numbers that some rows lack.
    MaybeWhole(Vec<Option<i64>>),
    /// Other numbers that some rows lack.
    MaybeReal(Vec<Option<f64>>),
    /// Yes or no, if known.
    MaybeFlag(Vec<Option<bool>>),
    /// Several words a row, or none.
    Words(Vec<Vec<String>>),
}

impl Values {
    /// The number of rows.
    #[allow(clippy::len_without_is_empty)] // a column of nothing is no other case
    pub fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Whole(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::MaybeText(values) => values.len(),
            Self::MaybeWhole(values) => values.len(),
            Self::MaybeReal(values) => values.len(),
            Self::MaybeFlag(values) => values.len(),
            Self::Words(values) => values.len(),
        }
    }

    fn cell(&self, row: usize) -> String {
        match self {
            Self::Text(values) => values[row].clone(),
            Self::Whole(values) => values[row].to_string(),
            Self::Real(values) => values[row].to_string(),
            Self::MaybeText(values) => values[row].clone().unwrap_or_default(),
            Self::MaybeWhole(values) => text(values[row]),
            Self::MaybeReal(values) => text(values[row]),
            Self::MaybeFlag(values) => text(values[row]),
            Self::Words(values) => values[row].join(" "),
        }
    }

    fn is_optional(&self) -> bool {
        !matches!(
            self,
            Self::Text(_) | Self::Whole(_) | Self::Real(_) | Self::Words(_)
        )
    }

    fn physical(&self) -> Physical {
        match self {
            Self::Text(_) | Self::MaybeText(_) | Self::Words(_) => Physical::BYTE_ARRAY,
            Self::Whole(_) | Self::MaybeWhole(_) => Physical::INT64,
            Self::Real(_) | Self::MaybeReal(_) => Physical::DOUBLE,
            Self::MaybeFlag(_) => Physical::BOOLEAN,
        }
    }
}

/// The characters of the longest text; `NumPy` has no empty fields.
fn widest(texts: &[String]) -> usize {
    let n_chars = texts.iter().map(|text| text.chars().count());
    n_chars.max().unwrap_or_default().max(1)
}

/// A value as text; empty for a missing value.
fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Writes columns of one length as CSV. A cell that a spreadsheet would take for a formula begins with a `'`.
///
/// # Errors
/// When nothing can be written.
pub fn write_csv(columns: &[(String, Values)], to: impl Write) -> Result<(), csv::Error> {
    let mut csv = csv::Writer::from_writer(to);
    csv.write_record(columns.iter().map(|(name, _)| name))?;
    let n_rows = columns.first().map_or(0, |(_, values)| values.len());
    for row in 0..n_rows {
        let cells = columns.iter().map(|(_, values)| values.cell(row));
        csv.write_record(cells.map(|cell| csv_cell(&cell).into_owned()))?;
    }
    csv.flush()?;
    Ok(())
}

/// Writes columns of one length as Parquet.
///
/// # Errors
/// When nothing can be written.
pub fn write_parquet(
    columns: &[(String, Values)],
    to: impl Write + Send,
) -> Result<(), parquet::errors::ParquetError> {
    let fields: Vec<TypePtr> = columns.iter().map(field).collect::<ParquetResult<_>>()?;
    let mut parquet = SerializedFileWriter::new(BufWriter::new(to), schema(fields)?, properties())?;
    let n_rows = columns.first().map_or(0, |(_, values)| values.len());
    let mut group = parquet.next_row_group()?;
    for (_, values) in columns {
        write_values(&mut group, values, 0..n_rows)?;
    }
    group.close()?;
    parquet.close()?;
    Ok(())
}

fn properties() -> Arc<WriterProperties> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false);
    Arc::new(properties.build())
}

fn schema(fields: Vec<TypePtr>) -> ParquetResult<TypePtr> {
    Type::group_type_builder("schema")
        .with_fields(fields)
        .build()
        .map(Arc::new)
}

/// A column in a file's schema.
fn field((name, values): &(String, Values)) -> ParquetResult<TypePtr> {
    let is_list = matches!(values, Values::Words(_));
    let is_text = is_list || matches!(values, Values::Text(_) | Values::MaybeText(_));
    let repetition = if values.is_optional() {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    let field = Type::primitive_type_builder(if is_list { ELEMENT } else { name }, values.physical())
        .with_repetition(repetition)
        .with_logical_type(is_text.then_some(LogicalType::String));
    let field = field.build().map(Arc::new)?;
    if is_list { list_of(name, field) } else { Ok(field) }
}

/// A column whose rows have several elements each.
fn list_of(name: &str, element: TypePtr) -> ParquetResult<TypePtr> {
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![element])
        .build()?;
    Type::group_type_builder(name)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(list)])
        .build()
        .map(Arc::new)
}

/// A table's files, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableFiles {
    /// The table's name.
    pub name: String,
    /// The number of rows.
    pub n_rows: usize,
    /// Numbers of a row, if it has some.
    pub n_features: Option<usize>,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The paths.
    pub paths: Vec<String>,
}

impl KitTable {
    /// Writes the table's files into `data/` of the data set being written, without listing them in
    /// the manifest. Tables that the data set has as `.npy` with a CSV file are not written again.
    ///
    /// # Errors
    /// [`ImportError`] when the data set is not what its manifest says, or nothing can be written.
    pub(crate) fn write(
        &self,
        from: &Path,
        manifest: &Manifest,
        writer: &mut DatasetWriter,
    ) -> Result<TableFiles, ImportError> {
        let n_rows = self.columns.first().map_or(0, |(_, values)| values.len());
        let n_features = match &self.rows {
            Some(rows) => {
                let (n_rows_there, n_features) = rows.shape(manifest)?;
                if self
                    .columns
                    .iter()
                    .any(|(_, values)| values.len() != n_rows_there)
                {
                    let why = format!("it has {n_rows_there} rows, and its table has {n_rows}");
                    return Err(FrozenError::damaged(&self.name, why).into());
                }
                Some(n_features)
            }
            None => None,
        };
        let mut paths = Vec::new();
        let rows = self.rows.as_ref();
        if let Some(stem) = rows.and_then(KitRows::npy_of_dataset) {
            paths.extend([format!("{stem}.npy"), format!("{stem}.csv")]);
        } else {
            if let Some(rows) = rows {
                let path = format!("data/{}.npy", self.name);
                paths.push(writer.document(&path, |file| npy(rows, from, manifest, file))?);
            } else if let Some(fields) = self.fields() {
                let path = format!("data/{}.npy", self.name);
                paths.push(writer.document(&path, |file| self.records(&fields, n_rows, file))?);
            }
            let path = format!("data/{}.csv", self.name);
            paths.push(writer.document(&path, |file| self.csv(n_rows, file))?);
        }
        paths.push(writer.document(&format!("data/{}.parquet", self.name), |file| {
            self.parquet(n_rows, from, manifest, file)
        })?);
        Ok(TableFiles {
            name: self.name.clone(),
            n_rows,
            n_features,
            columns: self.columns.iter().map(|(name, _)| name.clone()).collect(),
            paths,
        })
    }

    /// The columns as the fields of `NumPy`'s records, where each has a value in every row and none is a long text.
    fn fields(&self) -> Option<Vec<(String, String)>> {
        let field = |(name, values): &(String, Values)| {
            let kind = match values {
                Values::Whole(_) => "<i8".to_owned(),
                Values::Real(_) => "<f8".to_owned(),
                Values::Text(texts) => {
                    let width = widest(texts);
                    (width <= MOST_CHARS).then(|| format!("<U{width}"))?
                }
                Values::MaybeText(_)
                | Values::MaybeWhole(_)
                | Values::MaybeReal(_)
                | Values::MaybeFlag(_)
                | Values::Words(_) => return None,
            };
            Some((name.clone(), kind))
        };
        self.columns.iter().map(field).collect()
    }

    /// The columns as `NumPy`'s records: `numpy.load` gives an array whose fields have the columns' names.
    fn records(&self, fields: &[(String, String)], n_rows: usize, file: &File) -> Result<(), WriteError> {
        let mut file = BufWriter::new(file);
        file.write_all(&header_of_records(fields, n_rows))?;
        for row in 0..n_rows {
            for (_, values) in &self.columns {
                match values {
                    Values::Whole(values) => file.write_all(&values[row].to_le_bytes())?,
                    Values::Real(values) => file.write_all(&values[row].to_le_bytes())?,
                    Values::Text(texts) => {
                        let chars = texts[row].chars().map(u32::from);
                        let filled = chars.chain(std::iter::repeat(0)).take(widest(texts));
                        for char in filled {
                            file.write_all(&char.to_le_bytes())?;
                        }
                    }
                    _ => {} // `fields` gives none
                }
            }
        }
        file.flush()?;
        Ok(())
    }

    fn csv(&self, n_rows: usize, file: &File) -> Result<(), WriteError> {
        let mut csv = csv::Writer::from_writer(BufWriter::new(file));
        csv.write_record(self.columns.iter().map(|(name, _)| name))?;
        for row in 0..n_rows {
            csv.write_record(self.columns.iter().map(|(_, values)| values.cell(row)))?;
        }
        csv.flush()?;
        Ok(())
    }

    fn parquet(
        &self,
        n_rows: usize,
        from: &Path,
        manifest: &Manifest,
        file: &File,
    ) -> Result<(), WriteError> {
        let element = self
            .rows
            .as_ref()
            .map(|rows| rows.element(manifest))
            .transpose()?;
        let mut parquet =
            SerializedFileWriter::new(BufWriter::new(file), self.schema(element)?, properties())?;
        let mut group = |rows: Range<usize>, numbers: &[f64]| -> ParquetResult<()> {
            let mut group = parquet.next_row_group()?;
            for (_, values) in &self.columns {
                write_values(&mut group, values, rows.clone())?;
            }
            if let Some(element) = element {
                write_lists(&mut group, element, rows.len(), numbers)?;
            }
            group.close()?;
            Ok(())
        };
        match &self.rows {
            None => group(0..n_rows, &[])?,
            Some(rows) => {
                let (mut first, mut held) = (0, Vec::new());
                rows.each_block(from, manifest, |begin, block| {
                    let end = begin + block.nrows();
                    held.extend(block);
                    if held.len() >= GROUP_NUMBERS || end == n_rows {
                        group(first..end, &held)?;
                        held.clear();
                        first = end;
                    }
                    Ok(())
                })?;
            }
        }
        parquet.close()?;
        Ok(())
    }

    fn schema(&self, element: Option<Element>) -> ParquetResult<TypePtr> {
        let mut fields: Vec<TypePtr> = self.columns.iter().map(field).collect::<ParquetResult<_>>()?;
        if let Some(element) = element {
            let number = Type::primitive_type_builder(ELEMENT, element.physical())
                .with_repetition(Repetition::REQUIRED)
                .build()?;
            fields.push(list_of(FEATURES, Arc::new(number))?);
        }
        schema(fields)
    }
}

/// The type of the rows' numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Byte,
    Narrow,
    Wide,
}

impl Element {
    fn from_manifest(rows: &RowsAt, manifest: &Manifest) -> Result<Self, FrozenError> {
        let dtype = manifest.any_tensor(&rows.file, rows.tensor)?.dtype;
        Ok(match (dtype, rows.id_bytes) {
            (Dtype::U8, None) => Self::Byte,
            (Dtype::U8, Some(_)) | (Dtype::F32, _) => Self::Narrow,
            _ => Self::Wide,
        })
    }

    fn dtype(self) -> Dtype {
        match self {
            Self::Byte => Dtype::U8,
            Self::Narrow => Dtype::F32,
            Self::Wide => Dtype::F64,
        }
    }

    fn physical(self) -> Physical {
        match self {
            Self::Byte => Physical::INT32,
            Self::Narrow => Physical::FLOAT,
            Self::Wide => Physical::DOUBLE,
        }
    }
}

/// The numbers as `NumPy` reads them, in the precision that they have.
fn npy(rows: &KitRows, from: &Path, manifest: &Manifest, file: &File) -> Result<(), WriteError> {
    let element = rows.element(manifest)?;
    let (n_rows, n_features) = rows.shape(manifest)?;
    let mut file = BufWriter::with_capacity(1 << 20, file);
    file.write_all(&header(element.dtype(), &[n_rows, n_features]))?;
    rows.each_block(from, manifest, |_, block| {
        for &number in &block {
            match element {
                Element::Byte => file.write_all(&[number as u8])?,
                Element::Narrow => file.write_all(&(number as f32).to_le_bytes())?,
                Element::Wide => file.write_all(&number.to_le_bytes())?,
            }
        }
        Ok(())
    })?;
    file.flush()?;
    Ok(())
}

/// One column of a row group: what `write` writes into the next one.
macro_rules! next_column {
    ($group:expr, $kind:ty, $values:expr, $levels:expr) => {{
        if let Some(mut column) = $group.next_column()? {
            let (definitions, repetitions): (Option<&[i16]>, Option<&[i16]>) = $levels;
            column
                .typed::<$kind>()
                .write_batch($values, definitions, repetitions)?;
            column.close()?;
        }
    }};
}

fn write_values<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &Values,
    rows: Range<usize>,
) -> ParquetResult<()> {
    match values {
        Values::Text(values) => {
            let texts: Vec<ByteArray> = values[rows]
                .iter()
                .map(|text| ByteArray::from(text.as_str()))
                .collect();
            next_column!(group, ByteArrayType, &texts, (None, None));
        }
        Values::Whole(values) => next_column!(group, Int64Type, &values[rows], (None, None)),
        Values::Real(values) => next_column!(group, DoubleType, &values[rows], (None, None)),
        Values::MaybeText(values) => {
            let (texts, there) = split(&values[rows], |text| ByteArray::from(text.as_str()));
            next_column!(group, ByteArrayType, &texts, (Some(&there[..]), None));
        }
        Values::MaybeWhole(values) => {
            let (numbers, there) = split(&values[rows], |number| *number);
            next_column!(group, Int64Type, &numbers, (Some(&there[..]), None));
        }
        Values::MaybeReal(values) => {
            let (numbers, there) = split(&values[rows], |number| *number);
            next_column!(group, DoubleType, &numbers, (Some(&there[..]), None));
        }
        Values::MaybeFlag(values) => {
            let (flags, there) = split(&values[rows], |flag| *flag);
            next_column!(group, BoolType, &flags, (Some(&there[..]), None));
        }
        Values::Words(values) => {
            let (mut words, mut there, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
            for row in &values[rows] {
                words.extend(row.iter().map(|word| ByteArray::from(word.as_str())));
                let n_levels = row.len().max(1); // a row without words has a level as well
                there.extend(std::iter::repeat_n(i16::from(!row.is_empty()), n_levels));
                repetitions.extend((0..n_levels).map(|idx| i16::from(idx > 0)));
            }
            next_column!(
                group,
                ByteArrayType,
                &words,
                (Some(&there[..]), Some(&repetitions[..]))
            );
        }
    }
    Ok(())
}

/// The existing values, and for each row 1 or, without a value, 0: Parquet's definition levels.
fn split<T, U>(values: &[Option<T>], get: impl Fn(&T) -> U) -> (Vec<U>, Vec<i16>) {
    let there = values.iter().map(|value| i16::from(value.is_some())).collect();
    (values.iter().flatten().map(get).collect(), there)
}

/// A list of numbers a row, all as long as each other.
fn write_lists<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    element: Element,
    n_rows: usize,
    numbers: &[f64],
) -> ParquetResult<()> {
    let width = numbers.len() / n_rows.max(1);
    let definitions = vec![1; numbers.len()];
    let repetitions: Vec<i16> = (0..numbers.len()).map(|at| i16::from(at % width != 0)).collect();
    let levels = (Some(&definitions[..]), Some(&repetitions[..]));
    match element {
        Element::Byte => {
            let numbers: Vec<i32> = numbers.iter().map(|&number| number as i32).collect();
            next_column!(group, Int32Type, &numbers, levels);
        }
        Element::Narrow => {
            let numbers: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
            next_column!(group, FloatType, &numbers, levels);
        }
        Element::Wide => next_column!(group, DoubleType, numbers, levels),
    }
    Ok(())
}
