//! Columns of strings, of labels and of float vectors in parquet files, read as they are stored: through arrow's arrays the
//! same would need a dozen more crates.

use std::ops::Range;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::{SchemaDescriptor, Type};

/// The definition levels of a column of lists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListLevels {
    /// A row with a lower level is null.
    list: i16,
    /// A row with a lower level has no numbers.
    slot: i16,
    /// An element with a lower level is null.
    element: i16,
}

/// Where the leaf of the column `name` stands, and the column's type.
///
/// # Errors
/// A sentence: there is no such column, with the names that there are, or it has several parts.
pub(crate) fn find<'a>(
    schema: &'a SchemaDescriptor,
    name: &str,
) -> std::result::Result<(usize, &'a Type), String> {
    let leaves = (0..schema.num_columns()).filter(|&leaf| schema.get_column_root(leaf).name() == name);
    match leaves.collect::<Vec<_>>()[..] {
        [] => {
            let names = schema.root_schema().get_fields().iter();
            let names: Vec<_> = names.map(|field| format!("`{}`", field.name())).collect();
            Err(format!("it has no column `{name}`, only {}", names.join(", ")))
        }
        [leaf] => Ok((leaf, schema.get_column_root(leaf))),
        _ => Err(format!(
            "the column `{name}` is nested: store a plain column of this name, or choose another column"
        )),
    }
}

/// A type for messages.
pub(crate) fn described(kind: &Type) -> String {
    let info = kind.get_basic_info();
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(logical), _) => format!("{logical:?}"),
        (None, ConvertedType::NONE) if kind.is_primitive() => kind.get_physical_type().to_string(),
        (None, ConvertedType::NONE) => "a group".into(),
        (None, converted) => converted.to_string(),
    }
}

fn is_repeated(kind: &Type) -> bool {
    let info = kind.get_basic_info();
    info.has_repetition() && info.repetition() == Repetition::REPEATED
}

/// Whether a column holds strings, one a row.
pub(crate) fn is_text(kind: &Type) -> bool {
    let info = kind.get_basic_info();
    let says = matches!(
        info.logical_type_ref(),
        Some(LogicalType::String | LogicalType::Enum | LogicalType::Json)
    ) || matches!(
        info.converted_type(),
        ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON
    );
    says && kind.is_primitive() && kind.get_physical_type() == Physical::BYTE_ARRAY && !is_repeated(kind)
}

/// Whether a column holds whole numbers, one a row.
pub(crate) fn is_whole(kind: &Type) -> bool {
    let info = kind.get_basic_info();
    let says = match info.logical_type_ref() {
        Some(logical) => matches!(logical, LogicalType::Integer { .. }),
        None => !matches!(
            info.converted_type(),
            ConvertedType::DATE
                | ConvertedType::DECIMAL
                | ConvertedType::TIME_MILLIS
                | ConvertedType::TIME_MICROS
                | ConvertedType::TIMESTAMP_MILLIS
                | ConvertedType::TIMESTAMP_MICROS
        ),
    };
    let is_stored = |kind: &Type| matches!(kind.get_physical_type(), Physical::INT32 | Physical::INT64);
    says && kind.is_primitive() && is_stored(kind) && !is_repeated(kind)
}

/// Whether a column of whole numbers has none below 0.
pub(crate) fn is_unsigned(kind: &Type) -> bool {
    let info = kind.get_basic_info();
    match info.logical_type_ref() {
        Some(logical) => matches!(logical, LogicalType::Integer(whole) if !whole.is_signed),
        None => matches!(
            info.converted_type(),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        ),
    }
}

/// The levels of a column of lists, and the type of the lists' elements. `None` for anything else.
///
/// # Source
/// Apache Parquet, "Logical Types", "Lists" with its rules for older writers.
pub(crate) fn list(kind: &Type) -> Option<(ListLevels, &Type)> {
    if kind.is_primitive() {
        let levels = ListLevels {
            list: 0,
            slot: 1,
            element: 1,
        };
        return is_repeated(kind).then_some((levels, kind));
    }
    let info = kind.get_basic_info();
    let says =
        info.logical_type_ref() == Some(&LogicalType::List) || info.converted_type() == ConvertedType::LIST;
    let [repeated] = kind.get_fields() else {
        return None;
    };
    if !says || is_repeated(kind) || !is_repeated(repeated) {
        return None;
    }
    let list = i16::from(kind.is_optional());
    let slot = list + 1;
    if repeated.is_primitive() {
        return Some((
            ListLevels {
                list,
                slot,
                element: slot,
            },
            repeated,
        ));
    }
    let [element] = repeated.get_fields() else {
        return None;
    };
    let levels = ListLevels {
        list,
        slot,
        element: slot + i16::from(element.is_optional()),
    };
    (!is_repeated(element)).then_some((levels, element))
}

/// The reader of one column of a row group.
fn reader<T: DataType>(group: &dyn RowGroupReader, leaf: usize) -> Result<ColumnReaderImpl<T>> {
    T::get_column_reader(group.get_column_reader(leaf)?).ok_or_else(|| {
        ParquetError::General("a column of a row group has another type than the file says".into())
    })
}

/// Reads a column of single values.
pub(crate) struct Singles<T: DataType> {
    reader: ColumnReaderImpl<T>,
    is_optional: bool,
}

impl<T: DataType> Singles<T> {
    pub(crate) fn new(group: &dyn RowGroupReader, leaf: usize) -> Result<Self> {
        Ok(Self {
            reader: reader(group, leaf)?,
            is_optional: group.metadata().column(leaf).column_descr().max_def_level() > 0,
        })
    }

    /// The values of the next `n` rows, fewer at the end, and how many of these rows are null, which have no value.
    pub(crate) fn next(&mut self, n: usize) -> Result<(Vec<T::T>, usize)> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let n_rows = past_empty_pages(n, |n| {
            let levels = self.is_optional.then_some(&mut levels);
            self.reader.read_records(n, levels, None, &mut values)
        })?;
        let n_null = n_rows.saturating_sub(values.len());
        Ok((values, n_null))
    }
}

/// The most pages without a row that are passed over one after the other.
const MAX_EMPTY_PAGES: usize = 16;

/// Reads until there are `n` rows or no more, and gives their number. pyarrow writes a page without a row now and then, at which the library stops.
fn past_empty_pages(n: usize, mut read: impl FnMut(usize) -> Result<(usize, usize, usize)>) -> Result<usize> {
    let (mut n_rows, mut n_empty) = (0, 0);
    while n_rows < n && n_empty < MAX_EMPTY_PAGES {
        let (n_read, _, _) = read(n - n_rows)?;
        n_rows += n_read;
        n_empty = if n_read == 0 { n_empty + 1 } else { 0 };
    }
    Ok(n_rows)
}

/// Reads a column of lists.
pub(crate) struct Lists<T: DataType> {
    reader: ColumnReaderImpl<T>,
    levels: ListLevels,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    values: Vec<T::T>,
}

/// One row of a column of lists: where its values are, or why it has none.
pub(crate) type Row = std::result::Result<Range<usize>, &'static str>;

impl<T: DataType> Lists<T> {
    pub(crate) fn new(group: &dyn RowGroupReader, leaf: usize, levels: ListLevels) -> Result<Self> {
        Ok(Self {
            reader: reader(group, leaf)?,
            levels,
            definitions: Vec::new(),
            repetitions: Vec::new(),
            values: Vec::new(),
        })
    }

    /// The next `n` rows, fewer at the end.
    pub(crate) fn next(&mut self, n: usize) -> Result<Vec<Row>> {
        self.definitions.clear();
        self.repetitions.clear();
        self.values.clear();
        let (definitions, repetitions) = (&mut self.definitions, &mut self.repetitions);
        let values = &mut self.values;
        past_empty_pages(n, |n| {
            let levels = (Some(&mut *definitions), Some(&mut *repetitions));
            self.reader.read_records(n, levels.0, levels.1, values)
        })?;
        let mut rows: Vec<Row> = Vec::new();
        let mut end = 0;
        for (&definition, &repetition) in definitions.iter().zip(repetitions.iter()) {
            if repetition == 0 {
                rows.push(if definition < self.levels.list {
                    Err("is null")
                } else {
                    Ok(end..end)
                });
            }
            let Some(row) = rows.last_mut().filter(|_| definition >= self.levels.slot) else {
                continue;
            };
            if definition < self.levels.element {
                *row = Err("has a null in it");
                continue;
            }
            end += 1;
            if let Ok(range) = row {
                range.end = end;
            }
        }
        if end != self.values.len() {
            let why = "the file is damaged, since lists and their values don't agree: fetch it again";
            return Err(ParquetError::General(why.into()));
        }
        Ok(rows)
    }

    /// The values of the rows that [`Self::next`] gave last.
    pub(crate) fn values(&self) -> &[T::T] {
        &self.values
    }
}
