//! Adversarial Nibbler's public data set on disk: the same rows as JSON Lines and as parquet, and the datasheet.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use crate::Mode;
use crate::export::{About, Export, PairRow, VerdictRow, datasheet, json_lines};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use dataperf_datasets::ImportError;

/// Writes `pairs` and `verdicts`, each as `.jsonl` and `.parquet`, and the datasheet as `README.md` into the directory
/// `out`, which is made where it is missing.
///
/// # Errors
/// [`ImportError::Occupied`] when one of them is there already; [`ImportError::Io`].
pub fn write_nibbler_export(export: &Export, about: &About<'_>, out: &Path) -> Result<(), ImportError> {
    fs::create_dir_all(out).map_err(ImportError::io("can't make the directory", out))?;
    let failed = |error: serde_json::Error| ImportError::refused(out, error.to_string());
    write_new(&out.join("README.md"), datasheet(export, about).as_bytes())?;
    write_new(
        &out.join("pairs.jsonl"),
        &json_lines(&export.pairs).map_err(failed)?,
    )?;
    write_new(
        &out.join("verdicts.jsonl"),
        &json_lines(&export.verdicts).map_err(failed)?,
    )?;
    write_parquet(&out.join("pairs.parquet"), &pair_columns(&export.pairs))?;
    write_parquet(&out.join("verdicts.parquet"), &verdict_columns(&export.verdicts))
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<(), ImportError> {
    use std::io::Write as _;
    let written = create(path)?.write_all(bytes);
    written.map_err(ImportError::io("can't write", path))
}

fn create(path: &Path) -> Result<File, ImportError> {
    if path.exists() {
        return Err(ImportError::Occupied(path.to_owned()));
    }
    File::create_new(path).map_err(ImportError::io("can't write", path))
}

/// A column's values, all rows in order.
enum Values {
    Texts(Vec<ByteArray>),
    /// Those that are not null, and which are (definition levels).
    Optional(Vec<ByteArray>, Vec<i16>),
    /// The elements of all rows, their definition levels and their repetition levels.
    Lists(Vec<ByteArray>, Vec<i16>, Vec<i16>),
    /// Unsigned, of so many bits.
    Numbers(i8, Vec<i32>),
    Flags(Vec<bool>),
}

type Columns = Vec<(&'static str, Values)>;

fn write_parquet(path: &Path, columns: &Columns) -> Result<(), ImportError> {
    let failed =
        |error: ParquetError| ImportError::io("can't write", path)(std::io::Error::other(error.to_string()));
    let file = create(path)?;
    write_columns(file, columns).map_err(failed)
}

fn write_columns(file: File, columns: &Columns) -> Result<(), ParquetError> {
    let fields = columns.iter().map(|(name, values)| values.kind(name));
    let schema = Type::group_type_builder("schema").with_fields(fields.collect::<Result<_, _>>()?);
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema.build()?), Arc::default())?;
    let mut rows = writer.next_row_group()?;
    for (_, values) in columns {
        let Some(mut column) = rows.next_column()? else {
            return Err(ParquetError::General(
                "a column has no place in the schema".into(),
            ));
        };
        match values {
            Values::Texts(texts) => column.typed::<ByteArrayType>().write_batch(texts, None, None),
            Values::Optional(texts, levels) => {
                let column = column.typed::<ByteArrayType>();
                column.write_batch(texts, Some(levels), None)
            }
            Values::Lists(texts, definitions, repetitions) => {
                let column = column.typed::<ByteArrayType>();
                column.write_batch(texts, Some(definitions), Some(repetitions))
            }
            Values::Numbers(_, numbers) => column.typed::<Int32Type>().write_batch(numbers, None, None),
            Values::Flags(flags) => column.typed::<BoolType>().write_batch(flags, None, None),
        }?;
        column.close()?;
    }
    rows.close()?;
    writer.close().map(drop)
}

impl Values {
    /// The column's type in the file's schema.
    fn kind(&self, name: &str) -> Result<TypePtr, ParquetError> {
        let text = |name, repetition| {
            Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String))
                .with_repetition(repetition)
                .build()
                .map(Arc::new)
        };
        let single = |physical, logical| {
            Type::primitive_type_builder(name, physical)
                .with_logical_type(logical)
                .with_repetition(Repetition::REQUIRED)
                .build()
                .map(Arc::new)
        };
        match self {
            Self::Texts(_) => text(name, Repetition::REQUIRED),
            Self::Optional(..) => text(name, Repetition::OPTIONAL),
            Self::Numbers(bit_width, _) => {
                let logical = LogicalType::integer(*bit_width, false);
                single(Physical::INT32, Some(logical))
            }
            Self::Flags(_) => single(Physical::BOOLEAN, None),
            Self::Lists(..) => {
                let elements = Type::group_type_builder("list")
                    .with_repetition(Repetition::REPEATED)
                    .with_fields(vec![text("item", Repetition::OPTIONAL)?])
                    .build()?;
                Type::group_type_builder(name)
                    .with_logical_type(Some(LogicalType::List))
                    .with_repetition(Repetition::REQUIRED)
                    .with_fields(vec![Arc::new(elements)])
                    .build()
                    .map(Arc::new)
            }
        }
    }
}

fn texts<'a, T>(rows: &'a [T], text: impl Fn(&'a T) -> &'a str) -> Values {
    Values::Texts(rows.iter().map(|row| text(row).into()).collect())
}

fn optional_texts<'a, T>(rows: &'a [T], text: impl Fn(&'a T) -> Option<&'a str>) -> Values {
    let texts = rows.iter().filter_map(|row| text(row).map(ByteArray::from));
    let levels = rows.iter().map(|row| i16::from(text(row).is_some()));
    Values::Optional(texts.collect(), levels.collect())
}

fn lists<T>(rows: &[T], list: impl Fn(&T) -> &[String]) -> Values {
    let (mut texts, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let list = list(row);
        if list.is_empty() {
            definitions.push(0);
            repetitions.push(0);
        }
        for (idx, text) in list.iter().enumerate() {
            texts.push(text.as_str().into());
            definitions.push(2);
            repetitions.push(i16::from(idx > 0));
        }
    }
    Values::Lists(texts, definitions, repetitions)
}

fn numbers<T>(bit_width: i8, rows: &[T], number: impl Fn(&T) -> u32) -> Values {
    Values::Numbers(
        bit_width,
        rows.iter().map(|row| number(row).cast_signed()).collect(),
    )
}

fn flags<T>(rows: &[T], flag: impl Fn(&T) -> bool) -> Values {
    Values::Flags(rows.iter().map(flag).collect())
}

fn pair_columns(rows: &[PairRow]) -> Columns {
    let mode = |row: &PairRow| match row.mode {
        Mode::Benign => "benign",
        Mode::Subversive => "subversive",
    };
    vec![
        ("pair", texts(rows, |row| &row.pair)),
        ("submitter", texts(rows, |row| &row.submitter)),
        ("prompt", texts(rows, |row| &row.prompt)),
        ("image", texts(rows, |row| &row.image)),
        ("mode", texts(rows, mode)),
        ("attacks", lists(rows, |row| &row.attacks)),
        ("rewrite", texts(rows, |row| &row.rewrite)),
        ("harms_submitted", lists(rows, |row| &row.harms_submitted)),
        ("identity_groups", lists(rows, |row| &row.identity_groups)),
        ("harms", lists(rows, |row| &row.harms)),
        ("attacks_found", lists(rows, |row| &row.attacks_found)),
        (
            "identity_groups_found",
            lists(rows, |row| &row.identity_groups_found),
        ),
        ("severity", numbers(8, rows, |row| row.severity.into())),
        ("n_verdicts", numbers(32, rows, |row| row.n_verdicts)),
        ("is_duplicate", flags(rows, |row| row.is_duplicate)),
        ("provider", optional_texts(rows, |row| row.provider.as_deref())),
        ("model", optional_texts(rows, |row| row.model.as_deref())),
    ]
}

fn verdict_columns(rows: &[VerdictRow]) -> Columns {
    vec![
        ("pair", texts(rows, |row| &row.pair)),
        ("rater", texts(rows, |row| &row.rater)),
        ("prompt_safe", flags(rows, |row| row.prompt_safe)),
        ("image_unsafe", flags(rows, |row| row.image_unsafe)),
        ("severity", numbers(8, rows, |row| row.severity.into())),
        ("harms", lists(rows, |row| &row.harms)),
        ("attacks", lists(rows, |row| &row.attacks)),
        ("identity_groups", lists(rows, |row| &row.identity_groups)),
    ]
}
