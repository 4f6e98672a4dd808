//! Zip artifacts, read within bounds and in memory: nothing of an archive ever becomes a path.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::formats::file_kind::{is_zip, kind_of_file};
use crate::rejection::{Reason, Reasons, Rejection, quote};

/// Bytes of a central directory's entry before its name.
const HEADER_BYTES: usize = 46;
const HEADER_SIGNATURE: &[u8] = b"PK\x01\x02";
/// The general purpose bits that say an entry is encrypted, weakly or strongly.
const ENCRYPTED_BITS: u16 = 0x0041;
/// The longest name in bytes, as file systems allow it. Places in a rejection begin with the name.
const MAX_NAME_BYTES: usize = 255;
/// This size means that the entry's zip64 field has the real one, which some programs always write.
const ELSEWHERE: u64 = 0xffff_ffff;
const ZIP64_FIELD: [u8; 2] = [1, 0];
/// The separators of folders: some Windows programs write `\`.
const SEPARATORS: [char; 2] = ['/', '\\'];
/// Entries smaller than this may be compressed as well as they can be: a file of equal lines is no bomb.
const RATIO_FREE_BYTES: u64 = 64 << 10;

/// The limits of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Files in it, at most.
    pub max_entries: usize,
    /// Bytes of all its files unpacked, at most.
    pub max_unpacked_bytes: u64,
    /// The greatest ratio of a file's unpacked size to its packed size.
    pub max_ratio: u64,
}

/// One unpacked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, without folders.
    pub name: String,
    /// The content of the entry.
    pub bytes: Vec<u8>,
}

impl Entry {
    /// The content of a text file, without the byte order mark that spreadsheets write.
    pub fn text_bytes(&self) -> &[u8] {
        without_mark(&self.bytes)
    }
}

/// A text without a byte order mark.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Folders that systems and programs add by themselves, in lower case.
const CLUTTER_FOLDERS: [&str; 12] = [
    "__macosx",
    "__pycache__",
    ".git",
    ".ipynb_checkpoints",
    ".idea",
    ".vscode",
    ".spotlight-v100",
    ".trashes",
    ".fseventsd",
    ".appledouble",
    "$recycle.bin",
    "system volume information",
];
/// Files that systems and programs add by themselves, in lower case.
const CLUTTER_FILES: [&str; 14] = [
    ".ds_store",
    ".localized",
    ".directory",
    ".volumeicon.icns",
    "icon\r",
    "thumbs.db",
    "ehthumbs.db",
    "ehthumbs_vista.db",
    "desktop.ini",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".gitkeep",
    ".keep",
];

/// The files of an archive, in its order. What macOS, Windows, Git and notebooks add by themselves is left out.
///
/// Nothing is unpacked unless the archive's own directory keeps every bound, and then no further than it says.
///
/// # Errors
/// A [`Rejection`] with everything that is wrong: `bad_zip`, `empty_zip`, `too_many_entries`, `nested_name`,
/// `bad_name`, `duplicate_name`, `nested_zip`, `encrypted_entry`, `bad_compression`, `compression_ratio`,
/// `too_large_unpacked`.
pub fn unpack(artifact: &[u8], bounds: Bounds) -> Result<Vec<Entry>, Rejection> {
    unpack_names(artifact, bounds, false)
}

/// The files of an archive in which each lies in one folder: names are `FOLDER/FILE`. Otherwise as [`unpack`].
///
/// # Errors
/// As [`unpack`]; `not_in_a_folder` for a file elsewhere.
pub fn unpack_folders(artifact: &[u8], bounds: Bounds) -> Result<Vec<Entry>, Rejection> {
    unpack_names(artifact, bounds, true)
}

fn unpack_names(artifact: &[u8], bounds: Bounds, in_folders: bool) -> Result<Vec<Entry>, Rejection> {
    let mut archive = ZipArchive::new(Cursor::new(artifact)).map_err(|error| damaged("", &error))?;
    let listed = directory(artifact, archive.central_directory_start());
    if listed.len() < archive.len() {
        return Err(damaged("", &ZipError::InvalidArchive("its directory is cut off".into())).into());
    }
    let mut reasons = Reasons::default();
    let is_folder = |entry: &Listed| entry.name.ends_with('/') && entry.unpacked_bytes == 0 && in_folders;
    let files: Vec<&Listed> = listed
        .iter()
        .filter(|entry| !entry.is_clutter() && !is_folder(entry))
        .collect();
    // entries that are left out are limited as well, or there could be any number of them
    let most_listed = bounds.max_entries.saturating_mul(3).saturating_add(100);
    let (limit, actual) = if files.len() > bounds.max_entries {
        (bounds.max_entries, files.len())
    } else {
        (most_listed, listed.len())
    };
    if actual > limit {
        let message =
            format!("the zip has {actual} entries, the limit is {limit}: pack the submission's files only");
        return Err(Reason::over("too_many_entries", "", limit as u64, actual as u64, message).into());
    }
    if files.is_empty() {
        reasons.add(Reason::new(
            "empty_zip",
            "",
            "the zip has no files: pack the submission's files",
        ));
    }
    check(&files, bounds, in_folders, &mut reasons);
    if !reasons.is_empty() {
        reasons.explain(other_kind(artifact));
        reasons.explain(misplaced(&files, in_folders));
    }
    reasons.into_verdict(())?;
    let mut entries = Vec::with_capacity(files.len());
    let mut reasons = Reasons::default();
    for file in files {
        match read(&mut archive, file) {
            Ok(bytes) if is_zip(&bytes) => {
                let message = format!(
                    "{} is a zip within the zip: pack the files themselves",
                    quote(&file.name)
                );
                reasons.add(Reason::new("nested_zip", &file.name, message));
            }
            Ok(bytes) => entries.push(Entry {
                name: file.name.clone(),
                bytes,
            }),
            Err(error) => reasons.add(damaged(&file.name, &error)),
        }
    }
    reasons.into_verdict(entries)
}

fn damaged(at: &str, error: &ZipError) -> Reason {
    Reason::new(
        "bad_zip",
        at,
        format!("the zip can't be read ({error}): it may be cut off. Pack it again"),
    )
}

/// An entry of the archive's directory. The library drops an entry whose name appears again; this
/// list keeps it.
#[derive(Debug)]
struct Listed {
    name: String,
    is_utf8: bool,
    flags: u16,
    packed_bytes: u64,
    unpacked_bytes: u64,
    method: u16,
}

impl Listed {
    /// Whether a system or a program has added the entry, and not the person who packed the files.
    fn is_clutter(&self) -> bool {
        let name = self.name.to_lowercase();
        let mut parts = name.split(SEPARATORS).rev();
        let last = parts.next().unwrap_or_default();
        // macOS keeps properties of `x` in `._x`
        CLUTTER_FILES.contains(&last)
            || last.starts_with("._")
            || parts.any(|folder| CLUTTER_FOLDERS.contains(&folder))
    }
}

fn directory(artifact: &[u8], begin: u64) -> Vec<Listed> {
    let mut listed = Vec::new();
    let mut rest = artifact.get(begin as usize..).unwrap_or_default();
    while rest.starts_with(HEADER_SIGNATURE) && rest.len() >= HEADER_BYTES {
        let number = |at: usize| u16::from_le_bytes([rest[at], rest[at + 1]]);
        let size = |at: usize| {
            u64::from(u32::from_le_bytes([
                rest[at],
                rest[at + 1],
                rest[at + 2],
                rest[at + 3],
            ]))
        };
        let n_name = usize::from(number(28));
        let n_extra = usize::from(number(30));
        let n_more = n_extra + usize::from(number(32));
        let Some(name) = rest.get(HEADER_BYTES..HEADER_BYTES + n_name) else {
            break;
        };
        let extra = rest.get(HEADER_BYTES + n_name..).unwrap_or_default();
        let extra = extra.get(..n_extra).unwrap_or_default();
        let mut large = zip64_sizes(extra).into_iter();
        let mut size_or_large = |at: usize| match size(at) {
            ELSEWHERE => large.next().unwrap_or(ELSEWHERE),
            size => size,
        };
        listed.push(Listed {
            unpacked_bytes: size_or_large(24),
            packed_bytes: size_or_large(20),
            name: String::from_utf8_lossy(name).into_owned(),
            is_utf8: std::str::from_utf8(name).is_ok(),
            flags: number(8),
            method: number(10),
        });
        rest = rest.get(HEADER_BYTES + n_name + n_more..).unwrap_or_default();
    }
    listed
}

/// The numbers in an entry's zip64 field that replace those that are [`ELSEWHERE`], in order.
fn zip64_sizes(mut extra: &[u8]) -> Vec<u64> {
    while let Some((head, rest)) = extra.split_at_checked(4) {
        let (id, n) = (
            [head[0], head[1]],
            usize::from(u16::from_le_bytes([head[2], head[3]])),
        );
        let (field, others) = rest.split_at(n.min(rest.len()));
        if id == ZIP64_FIELD {
            let numbers = field.as_chunks().0.iter();
            return numbers.map(|&eight| u64::from_le_bytes(eight)).collect();
        }
        extra = others;
    }
    Vec::new()
}

fn check(files: &[&Listed], bounds: Bounds, in_folders: bool, reasons: &mut Reasons) {
    let mut first_of: BTreeMap<String, usize> = BTreeMap::new();
    let mut unpacked_bytes: u64 = 0;
    for (idx, file) in files.iter().enumerate() {
        if in_folders {
            check_name_in_folder(file, reasons);
        } else {
            check_name(file, reasons);
        }
        // a folder is a class, and classes may differ in upper and lower case alone
        let name = if in_folders {
            file.name.clone()
        } else {
            file.name.to_lowercase()
        };
        if first_of.insert(name, idx).is_some() {
            let message = format!("the zip has more than one file {}: keep one", quote(&file.name));
            reasons.add(Reason::new("duplicate_name", &file.name, message));
        }
        if file.flags & ENCRYPTED_BITS != 0 {
            let message = format!("{} is encrypted: pack it without a password", quote(&file.name));
            reasons.add(Reason::new("encrypted_entry", &file.name, message));
        }
        if ![0, 8].contains(&file.method) {
            let message = format!(
                "{} is compressed with method {}: pack it with `store` or `deflate`",
                quote(&file.name),
                file.method
            );
            reasons.add(Reason::over(
                "bad_compression",
                &file.name,
                8,
                file.method.into(),
                message,
            ));
        }
        unpacked_bytes = unpacked_bytes.saturating_add(file.unpacked_bytes);
        let ratio = file.unpacked_bytes / file.packed_bytes.max(1);
        if file.unpacked_bytes > RATIO_FREE_BYTES && ratio > bounds.max_ratio {
            let message = format!(
                "{} unpacks to {ratio} times its size, the limit is {}: pack it with `store`",
                quote(&file.name),
                bounds.max_ratio
            );
            reasons.add(Reason::over(
                "compression_ratio",
                &file.name,
                bounds.max_ratio,
                ratio,
                message,
            ));
        }
    }
    let limit = bounds.max_unpacked_bytes;
    if unpacked_bytes > limit {
        let message = format!(
            "the zip unpacks to {unpacked_bytes} bytes, the limit is {limit}: pack the submission's files only"
        );
        reasons.add(Reason::over(
            "too_large_unpacked",
            "",
            limit,
            unpacked_bytes,
            message,
        ));
    }
}

/// Files that are zip archives but not archives of a submission's files, such as workbooks.
fn other_kind(artifact: &[u8]) -> Option<Reason> {
    let zip = kind_of_file(b"PK\x03\x04\x14\0\0\0");
    let kind = kind_of_file(artifact).filter(|kind| Some(kind) != zip.as_ref());
    kind.map(|kind| Reason::new("bad_zip", "", format!("the file is {kind}")))
}

/// The one mistake that puts several files where they are not looked for: `\` between folders, or a folder around all of them.
fn misplaced(files: &[&Listed], in_folders: bool) -> Option<Reason> {
    let (code, n_parts, form) = if in_folders {
        ("not_in_a_folder", 2, "`CLASS/NAME`")
    } else {
        ("nested_name", 1, "`NAME`, in no folder")
    };
    let parts = |file: &Listed| file.name.split(SEPARATORS).count();
    let misplaced = files
        .iter()
        .filter(|file| file.name.split('/').count() != n_parts);
    let misplaced: Vec<&&Listed> = misplaced.collect();
    let first = *misplaced.first()?;
    let n = files.len();
    if misplaced
        .iter()
        .all(|file| file.name.contains('\\') && parts(file) == n_parts)
    {
        let message = format!(
            "{} of {n} names separate folders with `\\`, such as {}. Pack the files again with `/`, for \
                example with `python -m zipfile -c FILE.zip FOLDERS` or 7-Zip",
            misplaced.len(),
            quote(&first.name)
        );
        return Some(Reason::new(code, "", message));
    }
    // files next to the ones that count, such as a README at the top, are no reason against the cause
    let around = |file: &Listed| {
        let names: Vec<&str> = file.name.split(SEPARATORS).collect();
        let n_around = names.len().checked_sub(n_parts).filter(|n| *n > 0)?;
        Some(names[..n_around].join("/"))
    };
    let mut n_around: BTreeMap<String, usize> = BTreeMap::new();
    for folder in misplaced.iter().filter_map(|file| around(file)) {
        *n_around.entry(folder).or_insert(0) += 1;
    }
    let (folder, n_in) = n_around.iter().max_by_key(|(_, n)| **n)?;
    let message = match n_around.len() {
        1 if *n_in + 1 >= misplaced.len() => format!(
            "{n_in} of {n} files are in the folder {}: pack the contents of that folder, so that names are {form}",
            quote(&format!("{folder}/"))
        ),
        n_folders if n_around.values().sum::<usize>() + 1 >= misplaced.len() => format!(
            "{} of {n} files are in {n_folders} unexpected folders, such as {}: pack the contents of one \
                of them, so that names are {form}",
            n_around.values().sum::<usize>(),
            quote(&format!("{folder}/"))
        ),
        _ => return None,
    };
    Some(Reason::new(code, "", message))
}

fn check_name(file: &Listed, reasons: &mut Reasons) {
    let name = &file.name;
    let shown = quote(name);
    if name.contains(['/', '\\']) {
        let message =
            format!("{shown} is a folder or is in one: pack the files themselves, at the top of the zip");
        reasons.add(Reason::new("nested_name", name, message));
    } else if !file.is_utf8
        || name.is_empty()
        || [".", ".."].contains(&name.as_str())
        || name.contains(char::is_control)
    {
        let message = format!("{shown} is not a valid file name: use letters, digits, `-`, `_` and `.`");
        reasons.add(Reason::new("bad_name", name, message));
    } else if name.len() > MAX_NAME_BYTES {
        let n = name.len();
        let message = format!("the name of {shown} has {n} bytes, the limit is {MAX_NAME_BYTES}: shorten it");
        reasons.add(Reason::over(
            "bad_name",
            name,
            MAX_NAME_BYTES as u64,
            n as u64,
            message,
        ));
    }
}

fn check_name_in_folder(file: &Listed, reasons: &mut Reasons) {
    let parts: Vec<&str> = file.name.split('/').collect();
    let is_part = |part: &&str| {
        !part.is_empty()
            && ![".", ".."].contains(part)
            && !part.contains('\\')
            && !part.contains(char::is_control)
    };
    if parts.len() != 2 || !parts.iter().all(is_part) || !file.is_utf8 || file.name.len() > MAX_NAME_BYTES {
        let message = format!(
            "{} is not a file in a class's folder: pack files as `CLASS/NAME`, with at most \
                {MAX_NAME_BYTES} bytes for both",
            quote(&file.name)
        );
        reasons.add(Reason::new("not_in_a_folder", &file.name, message));
    }
}

/// Unpacks one file: exactly as much as the directory says, or it is an error.
fn read(archive: &mut ZipArchive<Cursor<&[u8]>>, file: &Listed) -> Result<Vec<u8>, ZipError> {
    let mut entry = archive.by_name(&file.name)?;
    if !matches!(
        entry.compression(),
        CompressionMethod::Stored | CompressionMethod::Deflated
    ) {
        return Err(ZipError::UnsupportedArchive("another compression"));
    }
    let mut bytes = Vec::with_capacity(file.unpacked_bytes as usize);
    entry
        .by_ref()
        .take(file.unpacked_bytes + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 == file.unpacked_bytes {
        return Ok(bytes);
    }
    Err(ZipError::InvalidArchive(
        "an entry has another size than the directory says".into(),
    ))
}

#[cfg(test)]
mod tests;
