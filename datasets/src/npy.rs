//! `NumPy`'s `.npy` files: a header that says what the numbers are, then the numbers.
//!
//! Read here and not by a library: the header is one line of a fixed form, and what matters is what is refused.
//!
//! # Source
//! `NumPy` Enhancement Proposal 1 and the module `numpy.lib.format`: the form's versions 1.0 to 3.0.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use dataperf::dataset::frozen::Dtype;
use dataperf::{FileKind, kind_of_file, list_names};
use tempfile::NamedTempFile;
use zip::ZipArchive;

const MAGIC: &[u8] = b"\x93NUMPY";
const ZIP: &[u8] = b"PK";
/// The largest header that is read, in bytes; `NumPy` writes about a hundred.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Headers end at a multiple of this, so that numbers are aligned for any vector unit.
const ALIGNMENT: usize = 64;
/// Numbers decoded at a time.
const BLOCK_NUMBERS: usize = 1 << 17;

/// Whether a file is an archive of arrays, by its first bytes; `None` if it is neither that nor an array.
///
/// # Errors
/// A sentence when the file can't be read.
pub fn is_archive(path: &Path) -> Result<Option<bool>, String> {
    let mut head = Vec::new();
    let file = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    file.map_err(|error| error.to_string())?;
    let begins = |magic: &[u8]| head.starts_with(magic);
    Ok((begins(MAGIC) || begins(ZIP)).then(|| begins(ZIP)))
}

/// Says that a file is of another kind than the ending of its name; `written` is how a file of that kind is written.
pub(crate) fn instead(kind: &FileKind, form: &str, written: &str) -> String {
    // what was downloaded instead of the file, or is around it
    let is_on_the_way = kind.is_text || kind.remedy.starts_with("unpack");
    let remedy = if is_on_the_way { kind.remedy } else { written };
    format!("it is {} instead of {form}: {remedy}", kind.name)
}

/// The type of a file's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 16-bit floats.
    F16,
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
    /// Whole numbers of so many bytes; whether they have a sign.
    Whole(usize, bool),
    /// Booleans, a byte each.
    Bool,
}

impl Kind {
    fn parse(code: &str) -> Option<Self> {
        Some(match code {
            "f2" => Self::F16,
            "f4" => Self::F32,
            "f8" => Self::F64,
            "b1" => Self::Bool,
            _ => {
                let n_bytes = code.get(1..)?.parse().ok().filter(|n| [1, 2, 4, 8].contains(n))?;
                match code.as_bytes()[0] {
                    b'i' => Self::Whole(n_bytes, true),
                    b'u' => Self::Whole(n_bytes, false),
                    _ => return None,
                }
            }
        })
    }

    fn n_bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
            Self::Whole(n_bytes, _) => n_bytes,
            Self::Bool => 1,
        }
    }
}

/// A file's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The type of the numbers.
    pub kind: Kind,
    is_big_endian: bool,
    is_fortran: bool,
    /// The lengths of the axes.
    pub shape: Vec<usize>,
    /// The offset of the numbers.
    begin: u64,
}

impl Header {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// Sentences about the file: no `.npy`, Python objects, another number of bytes than its shape says.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut file = File::open(path).map_err(|error| error.to_string())?;
        let n_bytes = file.metadata().map_err(|error| error.to_string())?.len();
        let mut start = [0; 8];
        let no_npy = "it is not a `.npy` file: write it with `numpy.save`";
        file.read_exact(&mut start).map_err(|_| no_npy)?;
        if !start.starts_with(MAGIC) {
            let mut head = start.to_vec();
            (&mut file)
                .take(4096)
                .read_to_end(&mut head)
                .map_err(|error| error.to_string())?;
            let kind = kind_of_file(&head);
            let why = kind.map(|kind| instead(&kind, "a `.npy` file", "write it with `numpy.save`"));
            return Err(why.unwrap_or_else(|| no_npy.into()));
        }
        let n_length = match start[6] {
            1 => 2,
            2 | 3 => 4,
            other => {
                return Err(format!(
                    "its format has version {other}, and versions 1 to 3 are supported: save it again with NumPy"
                ));
            }
        };
        let mut length = [0; 4];
        file.read_exact(&mut length[..n_length]).map_err(|_| no_npy)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_HEADER_BYTES {
            return Err(format!(
                "its header has {length} bytes, so it holds structured data: save one array of numbers"
            ));
        }
        let mut text = vec![0; length];
        file.read_exact(&mut text)
            .map_err(|_| "it ends within its header: copy it again")?;
        let text = String::from_utf8_lossy(&text);
        let begin = (8 + n_length + length) as u64;
        let header = Self::parse(&text, begin)?;
        let n_numbers = header
            .shape
            .iter()
            .try_fold(1_u64, |n, &extent| n.checked_mul(extent as u64));
        let expected = n_numbers.and_then(|n| n.checked_mul(header.kind.n_bytes() as u64));
        let expected = expected.and_then(|n| n.checked_add(begin));
        if expected != Some(n_bytes) {
            return Err(format!(
                "it has {n_bytes} bytes, and its shape {:?} needs {}: copy it again",
                header.shape,
                expected.map_or("more than there can be".to_owned(), |n| n.to_string())
            ));
        }
        Ok(header)
    }

    fn parse(text: &str, begin: u64) -> Result<Self, String> {
        let no_header = || format!("its header is `{}`, which NumPy does not write", text.trim());
        let value = |key: &str| {
            let (_, rest) = text.split_once(&format!("'{key}':"))?;
            Some(rest.trim_start())
        };
        let descr = value("descr").ok_or_else(no_header)?;
        let Some(descr) = descr.strip_prefix('\'').and_then(|rest| rest.split('\'').next()) else {
            return Err("it holds structured data: save one array of numbers".into());
        };
        let (order, code) = descr.split_at_checked(1).ok_or_else(no_header)?;
        if code.starts_with('O') {
            return Err(
                "it holds Python objects, which are not safe to read: save an array of numbers, \
                `array.astype(\"float64\")`"
                    .into(),
            );
        }
        let kind = Kind::parse(code).ok_or_else(|| {
            format!(
                "its numbers are of the type `{descr}`: save them as `float32`, `float64` or whole numbers"
            )
        })?;
        let is_fortran = match value("fortran_order").ok_or_else(no_header)? {
            rest if rest.starts_with("True") => true,
            rest if rest.starts_with("False") => false,
            _ => return Err(no_header()),
        };
        let shape = value("shape").and_then(|rest| rest.strip_prefix('('));
        let shape = shape
            .and_then(|rest| rest.split(')').next())
            .ok_or_else(no_header)?;
        let extents = shape
            .split(',')
            .map(str::trim)
            .filter(|extent| !extent.is_empty());
        let shape = extents
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|_| no_header())?;
        Ok(Self {
            kind,
            is_big_endian: order == ">",
            is_fortran,
            shape,
            begin,
        })
    }

    /// The rows and columns of a matrix.
    ///
    /// # Errors
    /// A sentence when the file is not of this form.
    pub fn matrix(&self) -> Result<(usize, usize), String> {
        let &[n_rows, n_columns] = self.shape.as_slice() else {
            return Err(format!(
                "its shape is {:?} instead of rows and columns: save `array.reshape(len(array), -1)`",
                self.shape
            ));
        };
        Ok((n_rows, n_columns))
    }

    /// Calls `each` with blocks of whole rows, in order, as 64-bit floats.
    ///
    /// # Errors
    /// A sentence when the file can't be read, and the first of `each`.
    pub fn each_block(
        &self,
        path: &Path,
        each: &mut dyn FnMut(&[f64]) -> Result<(), String>,
    ) -> Result<(), String> {
        let (n_rows, n_columns) = self.matrix()?;
        if n_columns == 0 || n_rows == 0 {
            return Ok(());
        }
        if self.is_fortran {
            return self.each_block_of_columns(path, n_rows, n_columns, each);
        }
        let file = File::open(path).map_err(|error| error.to_string())?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        file.seek(SeekFrom::Start(self.begin))
            .map_err(|error| error.to_string())?;
        let rows_at_once = (BLOCK_NUMBERS / n_columns).max(1);
        let mut bytes = Vec::new();
        let mut n_left = n_rows;
        while n_left > 0 {
            let n = n_left.min(rows_at_once);
            bytes.resize(n * n_columns * self.kind.n_bytes(), 0);
            file.read_exact(&mut bytes).map_err(|error| error.to_string())?;
            each(&self.decoded(&bytes))?;
            n_left -= n;
        }
        Ok(())
    }

    /// As `each_block`, for a file whose columns lie one after another: each block of rows is put together from all of them.
    fn each_block_of_columns(
        &self,
        path: &Path,
        n_rows: usize,
        n_columns: usize,
        each: &mut dyn FnMut(&[f64]) -> Result<(), String>,
    ) -> Result<(), String> {
        use std::os::unix::fs::FileExt;
        let file = File::open(path).map_err(|error| error.to_string())?;
        let size = self.kind.n_bytes();
        let rows_at_once = (8 * BLOCK_NUMBERS / n_columns).max(1);
        let mut first = 0;
        while first < n_rows {
            let n = rows_at_once.min(n_rows - first);
            let mut bytes = vec![0; n * size];
            let mut block = vec![0.0; n * n_columns];
            for column in 0..n_columns {
                let at = self.begin + ((column * n_rows + first) * size) as u64;
                file.read_exact_at(&mut bytes, at)
                    .map_err(|error| error.to_string())?;
                for (row, number) in self.decoded(&bytes).into_iter().enumerate() {
                    block[row * n_columns + column] = number;
                }
            }
            each(&block)?;
            first += n;
        }
        Ok(())
    }

    fn decoded(&self, bytes: &[u8]) -> Vec<f64> {
        let size = self.kind.n_bytes();
        let number = |bytes: &[u8]| {
            let mut little = [0; 8];
            for (to, at) in little.iter_mut().zip(0..size) {
                *to = if self.is_big_endian {
                    bytes[size - 1 - at]
                } else {
                    bytes[at]
                };
            }
            let whole = u64::from_le_bytes(little);
            match self.kind {
                Kind::F64 => f64::from_bits(whole),
                Kind::F32 => f32::from_bits(whole as u32).into(),
                Kind::F16 => half(whole as u16),
                Kind::Bool => f64::from(u8::from(whole != 0)),
                Kind::Whole(_, false) => whole as f64,
                Kind::Whole(size, true) => {
                    let unused = 64 - 8 * size as u32;
                    ((whole << unused).cast_signed() >> unused) as f64
                }
            }
        };
        bytes.chunks_exact(size).map(number).collect()
    }
}

/// The ending of the arrays in an `.npz`.
const NPY: &str = ".npy";

/// Unpacks the array of an `.npz` into a temporary file.
///
/// # Errors
/// A sentence: it is no `.npz`, or holds another number of arrays than one.
pub fn unpack(path: &Path) -> Result<NamedTempFile, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut head = Vec::new();
    (&file)
        .take(4096)
        .read_to_end(&mut head)
        .map_err(|error| error.to_string())?;
    let other = |kind: FileKind| instead(&kind, "a `.npz` file", "write it with `numpy.savez`");
    let no_npz = |error: zip::result::ZipError| match kind_of_file(&head).filter(|_| !head.starts_with(ZIP)) {
        Some(kind) => other(kind),
        None => format!("it is not a `.npz` file ({error}): write it with `numpy.savez`"),
    };
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(no_npz)?;
    let names: Vec<String> = archive
        .file_names()
        .filter_map(|name| name.strip_suffix(NPY))
        .map(str::to_owned)
        .collect();
    if names.is_empty()
        && let Some(kind) = kind_of_file(&head)
    {
        return Err(other(kind));
    }
    let [name] = names.as_slice() else {
        let is_sparse = ["indices", "indptr", "row", "offsets"]
            .iter()
            .any(|part| names.iter().any(|name| name == part));
        let remedy = if is_sparse {
            "it is a sparse matrix of SciPy: save it whole, `numpy.save(FILE, scipy.sparse.load_npz(FILE).toarray())`"
        } else {
            "save the one that counts, `numpy.save(FILE, arrays[NAME])`"
        };
        return Err(format!(
            "it holds {} arrays, {}, instead of one: {remedy}",
            names.len(),
            list_names(&names)
        ));
    };
    let mut array = archive.by_name(&format!("{name}{NPY}")).map_err(no_npz)?;
    let mut unpacked = NamedTempFile::new().map_err(|error| error.to_string())?;
    std::io::copy(&mut array, &mut unpacked)
        .map_err(|error| format!("it is damaged ({error}): copy it again"))?;
    Ok(unpacked)
}

/// A number of IEEE 754's 16-bit format.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

/// The header of a matrix of bytes or of little-endian floats, row after row, as `NumPy` writes it.
pub fn header(dtype: Dtype, shape: &[usize]) -> Vec<u8> {
    let kind = match dtype {
        Dtype::U8 => "|u1".to_owned(),
        other => format!("<f{}", other.size()),
    };
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    header_of(&format!("'{kind}'"), &extents.join(", "))
}

/// The header of `n_rows` records, each of the named fields of these types, such as `<i8` for a 64-bit whole number.
pub(crate) fn header_of_records(fields: &[(String, String)], n_rows: usize) -> Vec<u8> {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, kind)| format!("('{name}', '{kind}')"))
        .collect();
    header_of(&format!("[{}]", fields.join(", ")), &format!("{n_rows},"))
}

fn header_of(descr: &str, shape: &str) -> Vec<u8> {
    let dictionary = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({shape}), }}");
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    let n_whole = (header.len() + 2 + dictionary.len() + 1).next_multiple_of(ALIGNMENT);
    header.extend(((n_whole - header.len() - 2) as u16).to_le_bytes());
    header.extend(dictionary.as_bytes());
    header.resize(n_whole - 1, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(descr: &str, fortran: &str, shape: &str, numbers: &[u8]) -> tempfile::NamedTempFile {
        let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(numbers);
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(&file, bytes).expect("written");
        file
    }

    fn rows(file: &tempfile::NamedTempFile) -> Result<Vec<f64>, String> {
        let mut all = Vec::new();
        Header::read(file.path())?.each_block(file.path(), &mut |block| {
            all.extend_from_slice(block);
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn every_number_type_and_byte_order_is_read() {
        assert_eq!(
            rows(&file(
                "<f2",
                "False",
                "(1, 4)",
                &[0, 0x3c, 0, 0xc0, 1, 0, 0, 0x7c]
            )),
            Ok(vec![1.0, -2.0, 2_f64.powi(-24), f64::INFINITY])
        );
        assert_eq!(
            rows(&file(">f4", "False", "(1, 1)", &1.5_f32.to_be_bytes())),
            Ok(vec![1.5])
        );
        assert_eq!(
            rows(&file("|i1", "False", "(2, 1)", &[0xff, 5])),
            Ok(vec![-1.0, 5.0])
        );
        assert_eq!(
            rows(&file("<u2", "False", "(1, 1)", &[0xff, 0xff])),
            Ok(vec![65535.0])
        );
        assert_eq!(
            rows(&file(">i2", "False", "(1, 1)", &[0xff, 0xfe])),
            Ok(vec![-2.0])
        );
        assert_eq!(rows(&file("|b1", "False", "(1, 2)", &[0, 1])), Ok(vec![0.0, 1.0]));
        // columns first: the matrix is [[1, 3, 5], [2, 4, 6]]
        assert_eq!(
            rows(&file("|u1", "True", "(2, 3)", &[1, 2, 3, 4, 5, 6])),
            Ok(vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0])
        );
    }

    #[test]
    fn a_non_numeric_matrix_is_refused() {
        for (descr, shape, bytes, why) in [
            ("|O", "(1, 1)", vec![0; 8], "Python objects"),
            ("<f4", "(2, 1)", vec![0; 4], "copy it again"),
            ("<f4", "(1,)", vec![0; 4], "rows and columns"),
            ("<c8", "(1, 1)", vec![0; 8], "float32"),
            ("<U5", "(1, 1)", vec![0; 20], "float32"),
            (
                "<f8",
                "(99999999999, 99999999999)",
                vec![],
                "more than there can be",
            ),
        ] {
            let error = rows(&file(descr, "False", shape, &bytes)).expect_err(descr);
            assert!(error.contains(why), "{descr}: {error}");
        }
        let text = tempfile::NamedTempFile::new().expect("a file");
        fs::write(&text, "1,2\n3,4\n").expect("written");
        assert!(Header::read(text.path()).is_err_and(|why| why.contains("numpy.save")));
    }

    #[test]
    fn another_file_says_what_it_is_and_how_to_write_it() {
        let path = tempfile::NamedTempFile::new().expect("a file");
        for (bytes, of_array, of_archive) in [
            (
                &b"\x80\x04\x95\x10\0\0\0\0\0\0\0"[..],
                "it is a Python pickle instead of a `.npy` file: write it with `numpy.save`",
                "it is a Python pickle instead of a `.npz` file: write it with `numpy.savez`",
            ),
            (
                b"FEA1\0\0\0\0",
                "it is a Feather file of version 1 instead of a `.npy` file: write it with `numpy.save`",
                "it is a Feather file of version 1 instead of a `.npz` file: write it with `numpy.savez`",
            ),
            (
                b"version https://git-lfs.github.com/spec/v1\n",
                "`git lfs pull`",
                "`git lfs pull`",
            ),
        ] {
            fs::write(&path, bytes).expect("written");
            let array = Header::read(path.path()).expect_err("no array");
            assert!(array.ends_with(of_array), "{array}");
            let archive = unpack(path.path()).expect_err("no archive");
            assert!(archive.ends_with(of_archive), "{archive}");
            assert_eq!(is_archive(path.path()), Ok(None));
        }
    }

    #[test]
    fn the_header_that_is_written_is_read() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut bytes = header(Dtype::F32, &[2, 1]);
        assert_eq!(bytes.len() % ALIGNMENT, 0);
        bytes.extend([1.0_f32, 2.0].iter().flat_map(|number| number.to_le_bytes()));
        fs::write(&file, bytes).expect("written");
        assert_eq!(rows(&file), Ok(vec![1.0, 2.0]));
    }
}
