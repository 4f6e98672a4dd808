//! Reads tables in Parquet and Feather files, whatever wrote them: each column as texts, as numbers or as lists of numbers.

use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch};
use arrow_ipc::reader::FileReader as FeatherReader;
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use arrow_select::take::take;
use bytes::Bytes;
use dataperf::{kind_of_file, quote};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::file::reader::ChunkReader;
use serde_json::Value;

use crate::npy::instead;

/// Rows decoded at a time: 4 MB of 1024 floats.
const BATCH_ROWS: usize = 1024;
/// The beginning of the names of columns that pandas writes for an index without a name.
const INDEX: &str = "__index_level_";
/// The first bytes of Parquet and Feather files.
const PARQUET: &[u8] = b"PAR1";
const FEATHER: &[u8] = b"ARROW1";
/// The first bytes of a stream of Arrow, which has no footer.
const STREAM: &[u8] = &[0xff; 4];
const IS_STREAM: &str = "it is a stream of Arrow instead of a file: write it as one, \
                         `pyarrow.feather.write_feather(pyarrow.ipc.open_stream(FILE).read_all(), NAME)`";

/// Whether these are the first bytes of a file that [`TableFile`] reads.
pub fn is_table_file(bytes: &[u8]) -> bool {
    bytes.starts_with(PARQUET) || bytes.starts_with(FEATHER)
}

/// A table in a file or in memory.
pub struct TableFile {
    name: String,
    source: Source,
    schema: SchemaRef,
}

enum Source {
    ParquetFile(File, ArrowReaderMetadata),
    ParquetBytes(Bytes, ArrowReaderMetadata),
    FeatherFile(File),
    FeatherBytes(Bytes),
}

/// The type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// Texts, one a row, or categories.
    Texts,
    /// A number or a truth value in each row.
    Numbers(NumberKind),
    /// A list of numbers in each row.
    Lists(NumberKind),
    /// Anything else, in plain words, with the remedy.
    Other(String),
}

/// The type of a column's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberKind {
    /// 16-bit floats.
    F16,
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
    /// Whole numbers.
    Whole,
    /// Truth values.
    Bool,
}

impl TableFile {
    /// Opens a file, which messages call `name`.
    ///
    /// # Errors
    /// A sentence: it can't be read, is damaged, or is another kind of file.
    pub fn open(path: &Path, name: &str) -> Result<Self, Vec<String>> {
        let failed = |error: std::io::Error| vec![format!("`{name}`: {error}")];
        let mut file = File::open(path).map_err(failed)?;
        let mut head = Vec::new();
        (&mut file).take(4096).read_to_end(&mut head).map_err(failed)?;
        file.rewind().map_err(failed)?;
        if head.starts_with(FEATHER) {
            return Self::feather(name, Source::FeatherFile(file));
        }
        let metadata = Self::metadata(name, &head, &file)?;
        let schema = metadata.schema().clone();
        Ok(Self {
            name: name.to_owned(),
            source: Source::ParquetFile(file, metadata),
            schema,
        })
    }

    /// The same for a file in memory.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn read(bytes: Vec<u8>, name: &str) -> Result<Self, Vec<String>> {
        let bytes = Bytes::from(bytes);
        if bytes.starts_with(FEATHER) {
            return Self::feather(name, Source::FeatherBytes(bytes));
        }
        let metadata = Self::metadata(name, &bytes, &bytes)?;
        let schema = metadata.schema().clone();
        Ok(Self {
            name: name.to_owned(),
            source: Source::ParquetBytes(bytes, metadata),
            schema,
        })
    }

    fn metadata<R: ChunkReader>(
        name: &str,
        head: &[u8],
        file: &R,
    ) -> Result<ArrowReaderMetadata, Vec<String>> {
        let read = unless_damaged(|| ArrowReaderMetadata::load(file, ArrowReaderOptions::default()));
        read.map_err(|why| {
            let kind = kind_of_file(head).filter(|_| !head.starts_with(PARQUET));
            let written = "write it with pandas, `frame.to_parquet`";
            let why = kind.map_or(why, |kind| instead(&kind, "a Parquet file", written));
            let why = if head.starts_with(STREAM) {
                IS_STREAM.into()
            } else {
                why
            };
            vec![format!("`{name}`: {why}")]
        })
    }

    fn feather(name: &str, source: Source) -> Result<Self, Vec<String>> {
        let mut table = Self {
            name: name.to_owned(),
            source,
            schema: Arc::new(arrow_schema::Schema::empty()),
        };
        let schema = unless_damaged(|| {
            Ok::<_, ArrowError>(match &table.source {
                Source::FeatherBytes(bytes) => {
                    FeatherReader::try_new(Cursor::new(bytes.clone()), None)?.schema()
                }
                Source::FeatherFile(file) => FeatherReader::try_new_buffered(again(file)?, None)?.schema(),
                Source::ParquetFile(..) | Source::ParquetBytes(..) => table.schema.clone(),
            })
        });
        table.schema = schema.map_err(|why| table.about(why))?;
        Ok(table)
    }

    /// A sentence about the file.
    pub fn about(&self, why: impl std::fmt::Display) -> Vec<String> {
        vec![format!("`{}`: {why}", self.name)]
    }

    /// The names of the columns and what each holds, in the order of the file. The index of a pandas frame is left out, unless `kept` has its
    /// name.
    pub fn columns(&self, kept: &[&str]) -> Vec<(&str, Holds)> {
        let index = self.index();
        let is_index = |name: &str| {
            name.starts_with(INDEX) || index.iter().any(|other| other == name) && !kept.contains(&name)
        };
        let columns = self.schema.fields().iter();
        let columns = columns.filter(|field| !is_index(field.name()));
        columns
            .map(|field| (field.name().as_str(), holds(field.data_type())))
            .collect()
    }

    /// The columns that pandas has written for the frame's index.
    fn index(&self) -> Vec<String> {
        let pandas = self.schema.metadata().get("pandas");
        let pandas: Option<Value> = pandas.and_then(|text| serde_json::from_str(text).ok());
        let names = pandas
            .as_ref()
            .and_then(|pandas| pandas["index_columns"].as_array());
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    fn field(&self, name: &str) -> Result<&Field, Vec<String>> {
        let mut fields = self.schema.fields().iter().filter(|field| field.name() == name);
        match (fields.next(), fields.next()) {
            (Some(field), None) => Ok(field),
            (Some(_), Some(_)) => {
                Err(self.about(format!("two columns have the name {}: rename one", quote(name))))
            }
            (None, _) => {
                let names: Vec<String> = self.schema.fields().iter().map(|f| quote(f.name())).collect();
                Err(self.about(format!("it has no column `{name}`, only {}", names.join(", "))))
            }
        }
    }

    /// The type of a column.
    ///
    /// # Errors
    /// A sentence: there is no such column.
    pub fn holds(&self, name: &str) -> Result<Holds, Vec<String>> {
        Ok(holds(self.field(name)?.data_type()))
    }

    /// Calls `each` for every part of the file, in order, with the number of its first row, from 0, and the named columns in this order.
    ///
    /// # Errors
    /// Messages: the file is damaged, or a column is missing. It includes the messages of `each`.
    fn each_part(&self, names: &[&str], each: &mut EachPart<'_>) -> Result<(), Vec<String>> {
        for name in names {
            self.field(name)?;
        }
        let mut places = Vec::new();
        for (place, field) in self.schema.fields().iter().enumerate() {
            if names.contains(&field.name().as_str()) {
                places.push(place);
            }
        }
        let mut n_read = 0;
        let mut part = |batch: RecordBatch| {
            let columns: Option<Vec<ArrayRef>> = names
                .iter()
                .map(|name| batch.column_by_name(name).cloned())
                .collect();
            let columns = columns.ok_or_else(|| self.about("its parts have different columns"))?;
            let first = n_read;
            n_read += batch.num_rows();
            each(first, &columns)
        };
        let mut batches = self.batches(&places).map_err(|why| self.about(why))?;
        let expected = match &self.source {
            Source::ParquetFile(_, metadata) | Source::ParquetBytes(_, metadata) => {
                usize::try_from(metadata.metadata().file_metadata().num_rows()).ok()
            }
            Source::FeatherFile(_) | Source::FeatherBytes(_) => None,
        };
        while let Some(batch) =
            unless_damaged(|| batches.next().transpose()).map_err(|why| self.about(why))?
        {
            part(batch)?;
        }
        if expected.is_some_and(|expected| expected != n_read) {
            return Err(self.about("it has fewer rows than its metadata say: fetch it again"));
        }
        Ok(())
    }

    fn batches(&self, places: &[usize]) -> Result<Batches, String> {
        unless_damaged(|| {
            Ok::<Batches, ArrowError>(match &self.source {
                Source::ParquetFile(file, metadata) => parquet_batches(again(file)?, metadata, places)?,
                Source::ParquetBytes(bytes, metadata) => parquet_batches(bytes.clone(), metadata, places)?,
                Source::FeatherFile(file) => Box::new(FeatherReader::try_new_buffered(
                    again(file)?,
                    Some(places.to_vec()),
                )?),
                Source::FeatherBytes(bytes) => Box::new(FeatherReader::try_new(
                    Cursor::new(bytes.clone()),
                    Some(places.to_vec()),
                )?),
            })
        })
    }

    /// A column as texts: whole numbers as they are written, truth values as `True` and `False`.
    ///
    /// # Errors
    /// Sentences: the column is missing or of another type, or a value is null.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, Vec<String>> {
        let kind = holds(self.field(name)?.data_type());
        if let Some(why) = no_texts(&kind) {
            return Err(self.about(format!("the column `{name}` is {why}")));
        }
        let mut texts = Vec::new();
        self.each_part(&[name], &mut |first, columns| {
            let part = self.texts_of(name, first, &columns[0])?;
            texts.extend(part);
            Ok(())
        })?;
        Ok(texts)
    }

    fn texts_of(&self, name: &str, first: usize, column: &ArrayRef) -> Result<Vec<String>, Vec<String>> {
        let null = |row: usize| {
            self.about(format!(
                "row {}: a `{name}` is null: fill it in, or leave the row out",
                first + row + 1
            ))
        };
        let column = plain(column).map_err(|why| self.about(why))?;
        if let Some(row) = (0..column.len()).find(|&row| column.is_null(row)) {
            return Err(null(row));
        }
        if let DataType::Boolean = column.data_type() {
            // as pandas and Python write them
            let bools = column.as_boolean().iter().map(|value| value == Some(true));
            return Ok(bools
                .map(|is| if is { "True" } else { "False" }.to_owned())
                .collect());
        }
        if column.data_type().is_floating() {
            let wide = as_floats(&column).map_err(|why| self.about(why))?;
            let whole = |(row, number): (usize, &f64)| {
                if number.fract() == 0.0 && number.abs() < MAX_WHOLE {
                    return Ok(format!("{number:.0}"));
                }
                Err(self.about(format!(
                    "row {}: the `{name}` {number} is neither text nor a whole number: write the column as \
                        text, `frame[\"{name}\"].astype(str)`",
                    first + row + 1
                )))
            };
            return wide.values().iter().enumerate().map(whole).collect();
        }
        as_texts(&column).map_err(|why| self.about(why))
    }

    /// Calls `each` for every row of columns of numbers, in file order, with its number from 0 and its numbers as 64-bit floats, a column
    /// each.
    ///
    /// # Errors
    /// Sentences: a column is missing or of another type, or a value is null.
    pub fn each_numbers(
        &self,
        names: &[&str],
        each: &mut dyn FnMut(usize, &[f64]),
    ) -> Result<(), Vec<String>> {
        let mut problems = Vec::new();
        for name in names {
            let kind = self.holds(name)?;
            if !matches!(kind, Holds::Numbers(_)) {
                let kind = in_words(&kind);
                problems.extend(self.about(format!(
                    "the column `{name}` is {kind}, not numbers: write it as numbers, or leave it out"
                )));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        self.each_part(names, &mut |first, columns| {
            let mut numbers = Vec::with_capacity(columns.len());
            for (name, column) in names.iter().zip(columns) {
                let column = plain(column).map_err(|why| self.about(why))?;
                if let Some(row) = (0..column.len()).find(|&row| column.is_null(row)) {
                    let why = format!(
                        "row {}: a `{name}` is null: fill it in, or leave the row out",
                        first + row + 1
                    );
                    return Err(self.about(why));
                }
                numbers.push(as_floats(&column).map_err(|why| self.about(why))?);
            }
            let numbers: Vec<&[f64]> = numbers.iter().map(|column| &column.values()[..]).collect();
            let mut row = vec![0.0; names.len()];
            for at in 0..numbers.first().map_or(0, |column| column.len()) {
                for (to, column) in row.iter_mut().zip(&numbers) {
                    *to = column[at];
                }
                each(first + at, &row);
            }
            Ok(())
        })
    }

    /// Calls `each` for every row of a column of lists, in file order, with its number from 0 and its numbers as 64-bit floats, or why it
    /// has none.
    ///
    /// # Errors
    /// Messages: the column is missing or has another type. It includes the messages of `each`.
    pub fn each_list(&self, name: &str, each: &mut EachList<'_>) -> Result<(), Vec<String>> {
        self.check_lists(name)?;
        self.each_part(&[name], &mut |first, columns| {
            self.each_row_of_lists(&columns[0], &mut |row, list| each(first + row, list))
        })
    }

    /// Calls `each` for every row with its text and its list, in file order.
    ///
    /// # Errors
    /// As [`texts`](Self::texts) and [`each_list`](Self::each_list).
    pub fn each_text_and_list(
        &self,
        (text, list): (&str, &str),
        each: &mut EachTextAndList<'_>,
    ) -> Result<(), Vec<String>> {
        let kind = self.holds(text)?;
        if let Some(why) = no_texts(&kind) {
            return Err(self.about(format!("the column `{text}` is {why}")));
        }
        self.check_lists(list)?;
        self.each_part(&[text, list], &mut |first, columns| {
            let texts = self.texts_of(text, first, &columns[0])?;
            self.each_row_of_lists(&columns[1], &mut |row, list| each(&texts[row], list))
        })
    }

    fn check_lists(&self, name: &str) -> Result<(), Vec<String>> {
        let kind = self.holds(name)?;
        if matches!(kind, Holds::Lists(_)) {
            return Ok(());
        }
        let kind = in_words(&kind);
        Err(self.about(format!("the column `{name}` is {kind}, not lists of numbers")))
    }

    fn each_row_of_lists(&self, column: &ArrayRef, each: &mut EachList<'_>) -> Result<(), Vec<String>> {
        let column = plain(column).map_err(|why| self.about(why))?;
        let (offsets, values) = match column.data_type() {
            DataType::List(_) => {
                let lists = column.as_list::<i32>();
                let offsets = lists.value_offsets().iter().map(|&offset| offset as usize);
                (offsets.collect::<Vec<usize>>(), lists.values())
            }
            DataType::LargeList(_) => {
                let lists = column.as_list::<i64>();
                let offsets = lists.value_offsets().iter().map(|&offset| offset as usize);
                (offsets.collect(), lists.values())
            }
            DataType::FixedSizeList(..) => {
                let lists = column.as_fixed_size_list();
                let offsets = (0..=lists.len()).map(|row| lists.value_offset_at(row));
                (offsets.collect(), lists.values())
            }
            other => return Err(self.about(format!("{other} can't be read as lists"))),
        };
        let numbers = as_floats(values).map_err(|why| self.about(why))?;
        for (row, ends) in offsets.windows(2).enumerate() {
            let [begin, end] = [ends[0], ends[1]];
            if column.is_null(row) {
                each(row, Err("is null"))?;
            } else if numbers.null_count() > 0 && (begin..end).any(|at| numbers.is_null(at)) {
                each(row, Err("has a null in it"))?;
            } else {
                each(row, Ok(&numbers.values()[begin..end]))?;
            }
        }
        Ok(())
    }
}

/// Up to this magnitude every whole number is exactly a 64-bit float.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Gets the number of a part's first row, and its columns.
type EachPart<'a> = dyn FnMut(usize, &[ArrayRef]) -> Result<(), Vec<String>> + 'a;
/// Gets the number of a row, and its list or why it has none.
type EachList<'a> = dyn FnMut(usize, List<'_>) -> Result<(), Vec<String>> + 'a;
/// Gets the text of a row, and its list or why it has none.
type EachTextAndList<'a> = dyn FnMut(&str, List<'_>) -> Result<(), Vec<String>> + 'a;
/// The numbers of a row, or why it has none.
type List<'a> = Result<&'a [f64], &'static str>;
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

fn parquet_batches<R: ChunkReader + 'static>(
    file: R,
    metadata: &ArrowReaderMetadata,
    places: &[usize],
) -> Result<Batches, ArrowError> {
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
    let mask = ProjectionMask::roots(reader.parquet_schema(), places.iter().copied());
    let reader = reader.with_projection(mask).with_batch_size(BATCH_ROWS).build()?;
    Ok(Box::new(reader))
}

/// The file with a position of its own.
fn again(file: &File) -> Result<File, ArrowError> {
    let mut file = file.try_clone()?;
    file.rewind()?;
    Ok(file)
}

/// Reads, where the library panics on some damaged files, and on types that it does not know.
fn unless_damaged<T, E: std::fmt::Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    let error = match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => return read.map_err(|error| unknown_or_damaged(&error.to_string())),
        Err(error) => error,
    };
    let text = error.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| error.downcast_ref::<&str>().copied());
    Err(text.map_or_else(|| "it is damaged: fetch it again".into(), unknown_or_damaged))
}

fn unknown_or_damaged(error: &str) -> String {
    if error.contains("bit width of 128") {
        return "it has 128-bit whole numbers: write them as 64-bit ones, `frame.cast({COLUMN: polars.Int64})`".into();
    }
    format!("it is damaged ({error}): fetch it again")
}

/// The values of a column that stores each of them once.
fn plain(column: &ArrayRef) -> Result<ArrayRef, String> {
    let Some(dictionary) = column.as_any_dictionary_opt() else {
        return Ok(column.clone());
    };
    take(dictionary.values(), dictionary.keys(), None).map_err(|error| error.to_string())
}

/// The arm of each type of whole numbers; `arrow-cast` has all casts, and takes a minute to compile.
macro_rules! match_whole {
    ($column:expr, $numbers:ident => $whole:expr, $($other:pat => $value:expr,)*) => {
        match_whole!(@ $column, $numbers => $whole, [Int8Type Int16Type Int32Type Int64Type UInt8Type UInt16Type UInt32Type UInt64Type],
            $($other => $value,)*)
    };
    (@ $column:expr, $numbers:ident => $whole:expr, [$($kind:ident)*], $($other:pat => $value:expr,)*) => {
        match $column.data_type() {
            $(kind if *kind == $kind::DATA_TYPE => {
                let $numbers = $column.as_primitive::<$kind>();
                $whole
            })*
            $($other => $value,)*
        }
    };
}

/// Numbers or truth values as 64-bit floats, to the nearest; nulls stay null.
#[expect(clippy::cast_lossless, reason = "one arm for numbers of 8 to 64 bits")]
fn as_floats(column: &ArrayRef) -> Result<Float64Array, String> {
    Ok(match_whole!(
        column,
        numbers => numbers.unary(|number| number as f64),
        DataType::Float16 => column.as_primitive::<Float16Type>().unary(f64::from),
        DataType::Float32 => column.as_primitive::<Float32Type>().unary(f64::from),
        DataType::Float64 => column.as_primitive::<Float64Type>().clone(),
        DataType::Boolean => {
            let bools = column.as_boolean().iter();
            bools.map(|value| value.map(|is| f64::from(u8::from(is)))).collect()
        },
        other => return Err(format!("{other} can't be read as numbers")),
    ))
}

/// Texts or whole numbers without nulls, as texts.
fn as_texts(column: &ArrayRef) -> Result<Vec<String>, String> {
    fn owned<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<String> {
        texts.map(|text| text.unwrap_or_default().to_owned()).collect()
    }
    Ok(match_whole!(
        column,
        numbers => numbers.values().iter().map(ToString::to_string).collect(),
        DataType::Utf8 => owned(column.as_string::<i32>().iter()),
        DataType::LargeUtf8 => owned(column.as_string::<i64>().iter()),
        DataType::Utf8View => owned(column.as_string_view().iter()),
        other => return Err(format!("{other} can't be read as texts")),
    ))
}

fn number_kind(kind: &DataType) -> Option<NumberKind> {
    Some(match kind {
        DataType::Float16 => NumberKind::F16,
        DataType::Float32 => NumberKind::F32,
        DataType::Float64 => NumberKind::F64,
        DataType::Boolean => NumberKind::Bool,
        kind if kind.is_integer() => NumberKind::Whole,
        _ => return None,
    })
}

fn holds(kind: &DataType) -> Holds {
    if let Some(kind) = number_kind(kind) {
        return Holds::Numbers(kind);
    }
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Holds::Texts,
        DataType::Dictionary(_, values) => holds(values),
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            match number_kind(element.data_type()) {
                Some(kind) => Holds::Lists(kind),
                None => Holds::Other(format!("lists of {}", in_words(&holds(element.data_type())))),
            }
        }
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            Holds::Other("decimal numbers, which have to be cast (`frame[COLUMN].astype(\"float64\")` or `.astype(\"int64\")`)".into())
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Holds::Other("bytes, which have to be decoded (`frame[COLUMN].str.decode(\"utf-8\")`)".into())
        }
        DataType::ListView(_) | DataType::LargeListView(_) => {
            Holds::Other("list views, which have to be lists (`column.cast(pyarrow.list_(pyarrow.float32()))`)".into())
        }
        DataType::RunEndEncoded(..) => {
            Holds::Other("run-end encoded, which has to be decoded (`pyarrow.compute.run_end_decode(column)`)".into())
        }
        DataType::Null => Holds::Other("empty in all rows".into()),
        DataType::Struct(_) | DataType::Map(..) => Holds::Other("nested, which has to be flattened into columns of its own".into()),
        kind if kind.is_temporal() => {
            Holds::Other("dates or times, which have to be texts (`frame[COLUMN].astype(str)`) or numbers".into())
        }
        kind => Holds::Other(kind.to_string()),
    }
}

fn in_words(kind: &Holds) -> String {
    match kind {
        Holds::Texts => "texts".into(),
        Holds::Numbers(kind) => words_of(*kind).into(),
        Holds::Lists(kind) => format!("lists of {}", words_of(*kind)),
        Holds::Other(kind) => kind.clone(),
    }
}

fn words_of(kind: NumberKind) -> &'static str {
    match kind {
        NumberKind::F16 => "16-bit floats",
        NumberKind::F32 => "32-bit floats",
        NumberKind::F64 => "64-bit floats",
        NumberKind::Whole => "whole numbers",
        NumberKind::Bool => "truth values",
    }
}

/// Why a column can't be texts.
fn no_texts(kind: &Holds) -> Option<String> {
    match kind {
        Holds::Texts | Holds::Numbers(_) => None,
        other => Some(format!("{}, not texts or whole numbers", in_words(other))),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{ListViewBuilder, StringRunBuilder};
    use arrow_array::{Int32Array, Int64Array, RunArray};
    use arrow_ipc::writer::{FileWriter, StreamWriter};

    use super::*;

    fn batch(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("c", column)]).expect("a table")
    }

    fn feather(column: ArrayRef) -> Vec<u8> {
        let batch = batch(column);
        let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).expect("a file");
        writer.write(&batch).expect("written");
        writer.into_inner().expect("finished")
    }

    fn why_not(bytes: Vec<u8>) -> String {
        TableFile::read(bytes, "t").err().expect("refused").join(" ")
    }

    #[test]
    fn another_file_is_named() {
        let batch = batch(Arc::new(Int64Array::from(vec![1, 2])));
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a stream");
        writer.write(&batch).expect("written");
        let stream = writer.into_inner().expect("finished");
        for (bytes, why) in [
            (
                stream,
                "`t`: it is a stream of Arrow instead of a file: write it as one",
            ),
            (
                b"\x80\x04\x95\x10".to_vec(),
                "`t`: it is a Python pickle instead of a Parquet file: write it with pandas",
            ),
        ] {
            let message = why_not(bytes);
            assert!(message.starts_with(why), "{message}");
        }
    }

    #[test]
    fn unusual_types_are_named() {
        let mut runs = StringRunBuilder::<arrow_array::types::Int32Type>::new();
        runs.extend([Some("a"), Some("a"), Some("b")]);
        let runs: RunArray<_> = runs.finish();
        let mut lists = ListViewBuilder::new(Int32Array::builder(2));
        lists.append_value([Some(1), Some(2)]);
        let columns: [(ArrayRef, &str); 2] = [
            (Arc::new(runs), "is run-end encoded, which has to be decoded"),
            (Arc::new(lists.finish()), "is list views, which have to be lists"),
        ];
        for (column, why) in columns {
            let table = TableFile::read(feather(column), "t").expect("a table");
            let message = table.texts("c").expect_err("refused").join(" ");
            assert!(
                message.starts_with(&format!("`t`: the column `c` {why}")),
                "{message}"
            );
        }
    }

    #[test]
    fn wide_whole_numbers_are_named() {
        let mut bytes = feather(Arc::new(Int64Array::from(vec![1, 2])));
        // the type's width, in bits, where it is given in the footer
        let widths: Vec<usize> = (0..bytes.len() - 4)
            .filter(|&at| bytes[at..at + 4] == [64, 0, 0, 0])
            .collect();
        let messages = widths.into_iter().map(|at| {
            bytes[at] = 128;
            let message = TableFile::read(bytes.clone(), "t")
                .err()
                .unwrap_or_default()
                .join(" ");
            bytes[at] = 64;
            message
        });
        let messages: Vec<String> = messages.collect();
        assert!(
            messages
                .iter()
                .any(|message| message.starts_with("`t`: it has 128-bit whole numbers")),
            "{messages:?}"
        );
    }
}
