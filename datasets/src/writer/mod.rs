//! Writes a frozen data set next to its destination and moves it there when it is complete.

pub(crate) mod new_files;
pub(crate) mod spool;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dataperf::Digest;
use dataperf::dataset::frozen::{
    Corrected, Dtype, FORMAT, FileEntry, FrozenError, MANIFEST, Manifest, ROW_DIGESTS, TensorEntry,
    is_within, row_digest, row_digests_file,
};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::errors::{ImportError, WriteError};
use crate::npy::header;

/// Headers end at a multiple of this, so that mapped tensors are aligned for any vector unit.
const ALIGNMENT: usize = 64;
const COPY_BYTES: usize = 1 << 20;

/// The directories in which data sets are being written. It is locked while a file or a directory
/// is created in one of them, so that [`remove_unfinished`] misses none.
static STAGED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn staged() -> MutexGuard<'static, Vec<PathBuf>> {
    STAGED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes another directory for [`remove_unfinished`] to remove: one with a data set that only this program may have.
pub fn note_unfinished(directory: &Path) {
    staged().push(directory.to_owned());
}

/// Removes the unfinished data sets, because they contain hidden labels. It serves a program that a
/// signal is about to end: other writers wait from then on.
pub fn remove_unfinished() {
    let staged = staged();
    for path in staged.iter() {
        drop(fs::remove_dir_all(path)); // it may have been moved to its destination
    }
    std::mem::forget(staged);
}

/// A data set in the making. Dropped before [`finish`](DatasetWriter::finish), it leaves nothing behind.
pub struct DatasetWriter {
    staging: TempDir,
    out: PathBuf,
    files: BTreeMap<String, FileEntry>,
    /// Files stored with the data set, which the manifest does not list.
    documents: Vec<String>,
}

/// A tensor of a file that is to be written.
pub struct Planned {
    /// Its name.
    pub name: &'static str,
    /// The type of its numbers.
    pub dtype: Dtype,
    /// Its extents, slowest first.
    pub shape: Vec<usize>,
}

impl DatasetWriter {
    /// Starts a data set that will be at `out`, making its parent directories.
    ///
    /// # Errors
    /// [`ImportError::Io`] if nothing can be written next to `out`, [`ImportError::Occupied`] if
    /// something else is there. Both are detected before any reading.
    pub fn create(out: &Path) -> Result<Self, ImportError> {
        if is_occupied(out) {
            return Err(ImportError::Occupied(out.to_owned()));
        }
        let parent = match out.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(ImportError::io("can't make the directory", parent))?;
        let mut all = staged();
        let staging = tempfile::Builder::new().prefix(".dataset-").tempdir_in(parent);
        let staging = staging.map_err(ImportError::io("can't write into", parent))?;
        all.push(staging.path().to_owned());
        drop(all);
        Ok(Self {
            staging,
            out: out.to_owned(),
            files: BTreeMap::new(),
            documents: Vec::new(),
        })
    }

    /// Adds a file for people, which the manifest does not list. Gives its path.
    ///
    /// # Errors
    /// [`ImportError`] when its name is no path within a data set or nothing can be written.
    pub(crate) fn document(
        &mut self,
        path: &str,
        write: impl FnOnce(&File) -> Result<(), WriteError>,
    ) -> Result<String, ImportError> {
        let staged = self.staged(path)?;
        let failed = |error| ImportError::io("can't write", &staged)(error);
        let file = make(&staged, File::options().create_new(true))?;
        write(&file).map_err(|error| match error {
            WriteError::Frozen(error) => error.into(),
            WriteError::Io(error) => failed(error),
            WriteError::Csv(error) => failed(std::io::Error::other(error)),
            WriteError::Parquet(error) => failed(std::io::Error::other(error)),
        })?;
        self.documents.push(path.to_owned());
        Ok(path.to_owned())
    }

    /// The files for people so far.
    pub(crate) fn documents(&self) -> &[String] {
        &self.documents
    }

    /// The place for a file. Its name may come from the source.
    fn staged(&self, path: &str) -> Result<PathBuf, ImportError> {
        if !is_within(path) {
            return Err(ImportError::Name(path.to_owned()));
        }
        Ok(self.staging.path().join(path))
    }

    /// An unnamed file next to the destination, for data that is too large for memory.
    ///
    /// # Errors
    /// [`ImportError::Io`].
    pub fn temporary_file(&self) -> Result<File, ImportError> {
        tempfile::tempfile_in(&self.staging).map_err(ImportError::io("can't write into", self.staging.path()))
    }

    /// Adds a file of text lines.
    ///
    /// # Errors
    /// [`ImportError::Name`], [`ImportError::Io`].
    pub fn lines(&mut self, path: &str, lines: &[String]) -> Result<(), ImportError> {
        let mut file = Hashing::create(&self.staged(path)?)?;
        for line in lines {
            file.write(line.as_bytes())?;
            file.write(b"\n")?;
        }
        self.files.insert(path.to_owned(), file.finish(BTreeMap::new())?);
        Ok(())
    }

    /// Adds a file of these bytes.
    ///
    /// # Errors
    /// [`ImportError::Name`], [`ImportError::Io`].
    pub fn bytes(&mut self, path: &str, bytes: &[u8]) -> Result<(), ImportError> {
        self.copy(path, bytes)
    }

    /// Adds a file of everything that `source` has.
    ///
    /// # Errors
    /// [`ImportError::Name`], [`ImportError::Io`].
    pub fn copy(&mut self, path: &str, mut source: impl Read) -> Result<(), ImportError> {
        let staged = self.staged(path)?;
        let mut file = Hashing::create(&staged)?;
        let mut buffer = vec![0; COPY_BYTES];
        loop {
            let n = source
                .read(&mut buffer)
                .map_err(ImportError::io("can't read what is to become", &staged))?;
            if n == 0 {
                break;
            }
            file.write(&buffer[..n])?;
        }
        self.files.insert(path.to_owned(), file.finish(BTreeMap::new())?);
        Ok(())
    }

    /// Adds a file of another data set, with its tensors.
    ///
    /// # Errors
    /// [`ImportError::Frozen`] when `source` is not what `entry` says; as [`copy`](Self::copy).
    pub fn copy_entry(
        &mut self,
        path: &str,
        entry: &FileEntry,
        source: impl Read,
    ) -> Result<(), ImportError> {
        self.copy(path, source)?;
        if self
            .files
            .get(path)
            .is_none_or(|copied| copied.digest != entry.digest)
        {
            return Err(FrozenError::damaged(path, "its digest differs from the manifest's").into());
        }
        self.files.insert(path.to_owned(), entry.clone());
        Ok(())
    }

    /// Writes a file again that has been added, with other bytes and the same tensors.
    ///
    /// # Errors
    /// As [`copy`](Self::copy).
    pub(crate) fn replace(&mut self, path: &str, bytes: &[u8]) -> Result<(), ImportError> {
        let before = self.files.get(path).map(|entry| entry.tensors.clone());
        self.copy(path, bytes)?;
        if let (Some(tensors), Some(entry)) = (before, self.files.get_mut(path)) {
            entry.tensors = tensors;
        }
        Ok(())
    }

    /// Adds a safetensors file with the given tensors, whose bytes `fill` writes one after another.
    ///
    /// # Errors
    /// [`ImportError`] of `fill`, or when it wrote another number of bytes than the shapes say.
    pub fn tensors(
        &mut self,
        path: &str,
        planned: &[Planned],
        fill: impl FnOnce(&mut Hashing) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let (header, tensors, n_bytes) = layout(planned);
        self.with_header(path, &header, tensors, n_bytes, fill)
    }

    /// Adds a `.npy` file with one matrix of floats or bytes, whose bytes `fill` writes, row after row.
    ///
    /// # Errors
    /// [`ImportError`] of `fill`, or when it wrote another number of bytes than the shape says.
    pub fn npy(
        &mut self,
        path: &str,
        planned: Planned,
        fill: impl FnOnce(&mut Hashing) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let header = header(planned.dtype, &planned.shape);
        let entry = TensorEntry {
            dtype: planned.dtype,
            begin: header.len() as u64,
            shape: planned.shape,
        };
        let n_rows = entry.n_rows() as u64;
        let n_bytes = header.len() as u64 + entry.row_bytes().unwrap_or(0) * n_rows;
        let tensors = BTreeMap::from([(planned.name.to_owned(), entry)]);
        self.with_header(path, &header, tensors, n_bytes, fill)
    }

    fn with_header(
        &mut self,
        path: &str,
        header: &[u8],
        tensors: BTreeMap<String, TensorEntry>,
        n_bytes: u64,
        fill: impl FnOnce(&mut Hashing) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let mut file = Hashing::create(&self.staged(path)?)?;
        file.write(header)?;
        fill(&mut file)?;
        if file.n_bytes != n_bytes {
            let source = std::io::Error::other(format!("{} bytes were written of {n_bytes}", file.n_bytes));
            return Err(ImportError::Io {
                action: "can't write",
                path: file.path,
                source,
            });
        }
        self.files.insert(path.to_owned(), file.finish(tensors)?);
        Ok(())
    }

    /// Adds the digests of the rows of a tensor that has been written, so that readers of single rows notice damage.
    ///
    /// # Errors
    /// [`ImportError::Name`], [`ImportError::Io`].
    pub fn row_digests(&mut self, path: &str, tensor: &str) -> Result<(), ImportError> {
        let staged = self.staged(path)?;
        let unreadable = || ImportError::io("can't read", &staged);
        let absent = || std::io::Error::other(format!("it has no tensor `{tensor}`"));
        let entry = self
            .files
            .get(path)
            .and_then(|file| file.tensors.get(tensor))
            .cloned();
        let entry = entry.ok_or_else(absent).map_err(unreadable())?;
        let mut rows = File::open(&staged).map(BufReader::new).map_err(unreadable())?;
        rows.seek(SeekFrom::Start(entry.begin)).map_err(unreadable())?;
        let mut row = vec![0; entry.row_bytes().unwrap_or(0) as usize];
        let planned = Planned {
            name: ROW_DIGESTS,
            dtype: Dtype::U8,
            shape: vec![entry.n_rows(), 8],
        };
        self.tensors(&row_digests_file(path), &[planned], |file| {
            (0..entry.n_rows()).try_for_each(|_| {
                rows.read_exact(&mut row)
                    .map_err(ImportError::io("can't read", &staged))?;
                file.write(&row_digest(&row))
            })
        })
    }

    /// Adds a safetensors file with one tensor, whose rows `fill` writes in any order.
    ///
    /// # Errors
    /// [`ImportError`] of `fill`, or when it wrote another number of rows than the shape says.
    pub fn scattered(
        &mut self,
        path: &str,
        planned: Planned,
        fill: impl FnOnce(&mut Scattered) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let n_rows = planned.shape.first().copied().unwrap_or(0);
        let (header, tensors, n_bytes) = layout(&[planned]);
        let staged = self.staged(path)?;
        drop(Hashing::create(&staged)?);
        let failed = || ImportError::io("can't write", &staged);
        let file = File::options().write(true).open(&staged).map_err(failed())?;
        file.set_len(n_bytes)
            .and_then(|()| file.write_all_at(&header, 0))
            .map_err(failed())?;
        let mut rows = Scattered {
            path: staged.clone(),
            file,
            begin: header.len() as u64,
            n_rows: 0,
        };
        fill(&mut rows)?;
        if rows.n_rows != n_rows {
            let source = std::io::Error::other(format!("{} rows were written of {n_rows}", rows.n_rows));
            return Err(ImportError::Io {
                action: "can't write",
                path: staged,
                source,
            });
        }
        let digest = digest_of(&staged).map_err(failed())?;
        self.files.insert(
            path.to_owned(),
            FileEntry {
                n_bytes,
                digest,
                tensors,
            },
        );
        Ok(())
    }

    /// Writes the manifest and moves the data set to its place. If the same data set is there
    /// already, damaged files are replaced.
    ///
    /// # Errors
    /// [`ImportError::Occupied`] when something else is there; [`ImportError::Io`].
    pub fn finish(self, benchmark: &str, parameters: serde_json::Value) -> Result<Digest, ImportError> {
        self.finish_corrected(benchmark, parameters, None)
    }

    /// [`finish`](Self::finish), saying what the data set is a correction of.
    pub(crate) fn finish_corrected(
        self,
        benchmark: &str,
        parameters: serde_json::Value,
        corrected: Option<Corrected>,
    ) -> Result<Digest, ImportError> {
        let manifest = Manifest {
            format: FORMAT.into(),
            benchmark: benchmark.into(),
            parameters,
            files: self.files,
            corrected,
        };
        let bytes = manifest.to_bytes()?;
        let digest = Digest::compute(&bytes);
        let path = self.staging.path().join(MANIFEST);
        let mut file = make(&path, File::options().create_new(true))?;
        file.write_all(&bytes)
            .map_err(ImportError::io("can't write", &path))?;
        drop(file);
        if fs::read(self.out.join(MANIFEST)).is_ok_and(|there| there == bytes) {
            repair(self.staging.path(), &self.out, &manifest)?;
            add_missing(self.staging.path(), &self.out, &self.documents)?;
            return Ok(digest);
        }
        let mode = mode_for(&self.out, self.staging.path())?;
        let _held = staged();
        // A rename replaces an empty directory and nothing else.
        if fs::rename(self.staging.path(), &self.out).is_err() {
            if self.out.exists() {
                return Err(ImportError::Occupied(self.out));
            }
            fs::rename(self.staging.path(), &self.out)
                .map_err(ImportError::io("can't move the data set to", &self.out))?;
        }
        drop(self.staging.keep()); // it is not at its old path any more: there is nothing to remove
        make_readable(&self.out, mode)?;
        Ok(digest)
    }
}

/// Whether something is at `out` that is neither an empty directory nor a data set, which may be the same one.
fn is_occupied(out: &Path) -> bool {
    match fs::read_dir(out) {
        Ok(mut entries) => entries.next().is_some() && !out.join(MANIFEST).exists(),
        Err(_) => out.exists(),
    }
}

/// Moves every file that is missing or damaged at `out` there from `staging`.
fn repair(staging: &Path, out: &Path, manifest: &Manifest) -> Result<(), ImportError> {
    for (path, entry) in &manifest.files {
        let there = out.join(path);
        if digest_of(&there).is_ok_and(|digest| digest == entry.digest) {
            continue;
        }
        if let Some(parent) = there.parent() {
            fs::create_dir_all(parent).map_err(ImportError::io("can't make the directory", parent))?;
        }
        fs::rename(staging.join(path), &there).map_err(ImportError::io("can't replace", &there))?;
    }
    Ok(())
}

/// Moves the files for people there that are missing; those that are there may have been changed on purpose.
fn add_missing(staging: &Path, out: &Path, documents: &[String]) -> Result<(), ImportError> {
    for path in documents {
        let there = out.join(path);
        if there.exists() {
            continue;
        }
        if let Some(parent) = there.parent() {
            fs::create_dir_all(parent).map_err(ImportError::io("can't make the directory", parent))?;
        }
        fs::rename(staging.join(path), &there).map_err(ImportError::io("can't write", &there))?;
    }
    Ok(())
}

/// The digest of a file.
pub(crate) fn digest_of(path: &Path) -> std::io::Result<Digest> {
    Ok(Digest::of_all(File::open(path)?)?.0)
}

/// The permissions for the directory: those of the directory that it replaces, or of a newly made
/// one.
#[cfg(unix)]
fn mode_for(out: &Path, scratch: &Path) -> Result<fs::Permissions, ImportError> {
    if let Ok(there) = out.metadata() {
        return Ok(there.permissions());
    }
    let fresh = scratch.join(".fresh");
    fs::create_dir(&fresh).map_err(ImportError::io("can't make the directory", &fresh))?;
    let metadata = fresh.metadata().map_err(ImportError::io("can't read", &fresh))?;
    fs::remove_dir(&fresh).map_err(ImportError::io("can't remove", &fresh))?;
    Ok(metadata.permissions())
}

#[cfg(not(unix))]
fn mode_for(_: &Path, _: &Path) -> Result<(), ImportError> {
    Ok(())
}

/// Temporary directories are private; a data set is as readable as any other directory.
#[cfg(unix)]
fn make_readable(out: &Path, permissions: fs::Permissions) -> Result<(), ImportError> {
    fs::set_permissions(out, permissions).map_err(ImportError::io("can't make readable", out))
}

#[cfg(not(unix))]
fn make_readable(_: &Path, (): ()) -> Result<(), ImportError> {
    Ok(())
}

/// The safetensors header, where each tensor begins, and the size of the whole file.
fn layout(planned: &[Planned]) -> (Vec<u8>, BTreeMap<String, TensorEntry>, u64) {
    let (mut header, mut tensors, mut end) = (serde_json::Map::new(), BTreeMap::new(), 0);
    for Planned { name, dtype, shape } in planned {
        let begin = end;
        end += dtype.size() * shape.iter().map(|&n| n as u64).product::<u64>();
        let entry = serde_json::json!({ "dtype": dtype, "shape": shape, "data_offsets": [begin, end] });
        header.insert((*name).to_owned(), entry);
        tensors.insert(
            (*name).to_owned(),
            TensorEntry {
                dtype: *dtype,
                shape: shape.clone(),
                begin,
            },
        );
    }
    let mut json = serde_json::Value::Object(header).to_string().into_bytes();
    json.resize((json.len() + 8).next_multiple_of(ALIGNMENT) - 8, b' ');
    let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
    bytes.extend(json);
    for tensor in tensors.values_mut() {
        tensor.begin += bytes.len() as u64;
    }
    let n_bytes = bytes.len() as u64 + end;
    (bytes, tensors, n_bytes)
}

/// A tensor whose rows arrive in another order than they are stored.
pub struct Scattered {
    path: PathBuf,
    file: File,
    begin: u64,
    n_rows: usize,
}

impl Scattered {
    /// Writes one row. Each must be written once.
    ///
    /// # Errors
    /// [`ImportError::Io`].
    pub fn write(&mut self, row: usize, bytes: &[u8]) -> Result<(), ImportError> {
        self.n_rows += 1;
        let at = self.begin + row as u64 * bytes.len() as u64;
        self.file
            .write_all_at(bytes, at)
            .map_err(ImportError::io("can't write", &self.path))
    }
}

/// A file that is hashed while it is written.
pub struct Hashing {
    path: PathBuf,
    file: BufWriter<File>,
    hasher: Sha256,
    n_bytes: u64,
}

/// Makes the file at `path` and the directories that it is in.
fn make(path: &Path, how: &mut OpenOptions) -> Result<File, ImportError> {
    let _held = staged();
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(ImportError::io("can't make the directory", parent))?;
    }
    how.write(true)
        .open(path)
        .map_err(ImportError::io("can't write", path))
}

impl Hashing {
    fn create(path: &Path) -> Result<Self, ImportError> {
        let file = make(path, File::options().create(true).truncate(true))?;
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(1 << 20, file),
            hasher: Sha256::new(),
            n_bytes: 0,
        })
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// [`ImportError::Io`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        self.hasher.update(bytes);
        self.n_bytes += bytes.len() as u64;
        self.file
            .write_all(bytes)
            .map_err(ImportError::io("can't write", &self.path))
    }

    /// Appends numbers, little-endian.
    ///
    /// # Errors
    /// [`ImportError::Io`].
    pub fn write_f32(&mut self, numbers: &[f32]) -> Result<(), ImportError> {
        if cfg!(target_endian = "little") {
            return self.write(bytemuck::cast_slice(numbers));
        }
        numbers
            .iter()
            .try_for_each(|number| self.write(&number.to_le_bytes()))
    }

    fn finish(mut self, tensors: BTreeMap<String, TensorEntry>) -> Result<FileEntry, ImportError> {
        self.file
            .flush()
            .map_err(ImportError::io("can't write", &self.path))?;
        Ok(FileEntry {
            n_bytes: self.n_bytes,
            digest: Digest::from_hasher(self.hasher),
            tensors,
        })
    }
}
