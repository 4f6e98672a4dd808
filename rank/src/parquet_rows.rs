//! Rows of Parquet files, of which only the columns that are needed are read.

use std::borrow::Cow;
use std::fs::File;

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::cell::Cell;

/// Rows that are read at once.
const AT_ONCE: usize = 8_192;
/// The most pages without a row that are passed over one after the other, at each of which the library stops.
const MAX_EMPTY_PAGES: usize = 16;

/// A file whose header has been read.
pub(crate) struct ParquetRows {
    reader: SerializedFileReader<File>,
    /// The names of the columns, and for each the leaf that holds it, if it is one of single values.
    pub(crate) header: Vec<String>,
    leaves: Vec<Option<usize>>,
}

/// Whether cells of a column are single values.
fn is_single(column: &ColumnDescriptor) -> bool {
    let is_decimal = matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. }))
        || column.converted_type() == ConvertedType::DECIMAL;
    column.max_rep_level() == 0 && column.path().parts().len() == 1 && !is_decimal
}

impl ParquetRows {
    pub(crate) fn open(file: File) -> Result<Self> {
        let reader = SerializedFileReader::new(file)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let roots = schema.root_schema().get_fields();
        let header: Vec<String> = roots.iter().map(|root| root.name().to_owned()).collect();
        let leaf_of = |name: &String| {
            (0..schema.num_columns()).find(|&leaf| {
                schema.column(leaf).path().parts()[0] == *name && is_single(&schema.column(leaf))
            })
        };
        let leaves = header.iter().map(leaf_of).collect();
        Ok(Self {
            reader,
            header,
            leaves,
        })
    }

    /// Gives each row to `each`, with its number; columns that are not wanted are [`Cell::Nested`]. Ends where `each` gives false.
    pub(crate) fn each_row(
        &self,
        wanted: &dyn Fn(usize) -> bool,
        mut each: impl FnMut(usize, &[Cell<'_>]) -> bool,
    ) -> Result<()> {
        let (mut row, mut cells) = (0, vec![Cell::Nested; self.header.len()]);
        for group in 0..self.reader.num_row_groups() {
            let group = self.reader.get_row_group(group)?;
            let mut readers = Vec::new();
            for (place, leaf) in self.leaves.iter().enumerate() {
                if let Some(leaf) = leaf.filter(|_| wanted(place)) {
                    let is_optional = group.metadata().column(leaf).column_descr().max_def_level() > 0;
                    readers.push((place, group.get_column_reader(leaf)?, is_optional));
                }
            }
            let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            while left > 0 {
                let n = left.min(AT_ONCE);
                let mut columns = Vec::with_capacity(readers.len());
                for (place, reader, is_optional) in &mut readers {
                    columns.push((*place, next(reader, n, *is_optional)?.into_iter()));
                }
                for _ in 0..n {
                    for (place, column) in &mut columns {
                        cells[*place] = column.next().unwrap_or(Cell::Missing);
                    }
                    row += 1;
                    if !each(row, &cells) {
                        return Ok(());
                    }
                }
                left -= n;
            }
        }
        Ok(())
    }
}

/// The next `n` cells of a column.
fn next(reader: &mut ColumnReader, n: usize, is_optional: bool) -> Result<Vec<Cell<'static>>> {
    let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => Cell::Text(Cow::Owned(text.to_owned())),
        Err(_) => Cell::Nested,
    };
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            read(reader, n, is_optional, |value| Cell::Whole((*value).into()))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            read(reader, n, is_optional, |value| Cell::Whole((*value).into()))
        }
        ColumnReader::Int64ColumnReader(reader) => read(reader, n, is_optional, |value| Cell::Whole(*value)),
        ColumnReader::FloatColumnReader(reader) => {
            read(reader, n, is_optional, |value| Cell::Number((*value).into()))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            read(reader, n, is_optional, |value| Cell::Number(*value))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            read(reader, n, is_optional, |value| text(value.data()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => read(reader, n, is_optional, |_| Cell::Nested),
        ColumnReader::Int96ColumnReader(reader) => read(reader, n, is_optional, |_| Cell::Nested),
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    n: usize,
    is_optional: bool,
    cell: impl Fn(&T::T) -> Cell<'static>,
) -> Result<Vec<Cell<'static>>> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (mut n_read, mut n_empty) = (0, 0);
    while n_read < n && n_empty < MAX_EMPTY_PAGES {
        let levels = is_optional.then_some(&mut levels);
        let (n_more, _, _) = reader.read_records(n - n_read, levels, None, &mut values)?;
        n_read += n_more;
        n_empty = if n_more == 0 { n_empty + 1 } else { 0 };
    }
    let mut values = values.iter();
    if !is_optional {
        return Ok(values.map(cell).collect());
    }
    // a null has a level and no value
    let of_level = |level: &i16| {
        let value = if *level > 0 { values.next() } else { None };
        value.map_or(Cell::Missing, &cell)
    };
    Ok(levels.iter().map(of_level).collect())
}
