//! A directory that plays a bucket: its files are mapped, not read, so that scoring starts at once.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use dataperf::ports::bucket::{Bucket, Got, Object};
use dataperf::ports::{PortError, async_trait};
use memmap2::Mmap;

/// Files below a directory, by their relative path. There are no versions.
#[derive(Debug, Clone)]
pub struct DirectoryBucket {
    root: PathBuf,
}

impl DirectoryBucket {
    /// The bucket whose objects are the files below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn path(&self, key: &str) -> Result<PathBuf, PortError> {
        let key_path = Path::new(key);
        if key_path
            .components()
            .all(|step| matches!(step, Component::Normal(_)))
        {
            return Ok(self.root.join(key_path));
        }
        Err(PortError::Malformed {
            subject: key.to_owned(),
            why: "a key must stay below its directory".into(),
        })
    }
}

fn failed(path: &Path, source: std::io::Error) -> PortError {
    PortError::Refused {
        subject: format!("`{}`", path.display()),
        source: Box::new(source),
    }
}

/// `None` when there is no such file.
fn open(path: &Path) -> Result<Option<File>, PortError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => Ok(None),
        Err(error) => Err(failed(path, error)),
    }
}

/// Parts of a file are copied, and not mapped, if together they are less than this fraction (one in so many) of its bytes.
const SPARSE: u64 = 16;

/// Copies of parts of a file: where they are far from each other, mapping a page for each costs twice as much.
#[cfg(unix)]
fn copied(file: &File, ranges: &[Range<u64>], n_wanted: u64) -> std::io::Result<Vec<Bytes>> {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; n_wanted as usize];
    let mut left = bytes.as_mut_slice();
    for range in ranges {
        let (part, rest) = left.split_at_mut((range.end - range.start) as usize);
        file.read_exact_at(part, range.start)?;
        left = rest;
    }
    let mut bytes = Bytes::from(bytes);
    let part = |range: &Range<u64>| bytes.split_to((range.end - range.start) as usize);
    Ok(ranges.iter().map(part).collect())
}

/// A file's bytes, which are read as they are looked at.
fn mapped(file: &File, n_bytes: u64) -> std::io::Result<Bytes> {
    if n_bytes == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: frozen files are never changed in place: writers rename whole files and directories. Should somebody
    // truncate one all the same, this process ends; it never computes with torn numbers.
    #[expect(
        unsafe_code,
        reason = "mapping 126 MB instead of reading it is a third of a score's time"
    )]
    let map = unsafe { Mmap::map(file) }?;
    Ok(Bytes::from_owner(map))
}

#[async_trait]
impl Bucket for DirectoryBucket {
    async fn get(&self, key: &str, version: Option<&str>, max_bytes: u64) -> Result<Got, PortError> {
        let path = self.path(key)?;
        let Some(file) = open(&path)?.filter(|_| version.is_none()) else {
            return Ok(Got::Missing);
        };
        let n_bytes = file.metadata().map_err(|error| failed(&path, error))?.len();
        if n_bytes > max_bytes {
            return Ok(Got::TooLarge { n_bytes });
        }
        Ok(Got::Object(Object {
            bytes: mapped(&file, n_bytes).map_err(|error| failed(&path, error))?,
            stored_at: None,
            tag: None,
        }))
    }

    fn gap_bytes(&self) -> u64 {
        4 << 10
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Option<Vec<Bytes>>, PortError> {
        let path = self.path(key)?;
        let Some(file) = open(&path)? else { return Ok(None) };
        let n_bytes = file.metadata().map_err(|error| failed(&path, error))?.len();
        if let Some(beyond) = ranges
            .iter()
            .find(|range| range.start > range.end || range.end > n_bytes)
        {
            return Err(PortError::Malformed {
                subject: format!("`{}`", path.display()),
                why: format!(
                    "bytes {} to {} were asked for, it has {n_bytes}",
                    beyond.start, beyond.end
                ),
            });
        }
        let n_wanted: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        #[cfg(unix)]
        if n_wanted < n_bytes / SPARSE {
            return copied(&file, ranges, n_wanted)
                .map(Some)
                .map_err(|error| failed(&path, error));
        }
        let whole = mapped(&file, n_bytes).map_err(|error| failed(&path, error))?;
        let part = |range: &Range<u64>| whole.slice(range.start as usize..range.end as usize);
        Ok(Some(ranges.iter().map(part).collect()))
    }

    async fn put(&self, key: &str, bytes: Bytes) -> Result<(), PortError> {
        let path = self.path(key)?;
        let staged = stage(&path, &bytes).map_err(|error| failed(&path, error))?;
        staged
            .persist(&path)
            .map(drop)
            .map_err(|error| failed(&path, error.error))
    }

    async fn put_if_absent(&self, key: &str, bytes: Bytes) -> Result<bool, PortError> {
        let path = self.path(key)?;
        let staged = stage(&path, &bytes).map_err(|error| failed(&path, error))?;
        match staged.persist_noclobber(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(failed(&path, error.error)),
        }
    }
}

/// The bytes, in a separate file next to `path`.
fn stage(path: &Path, bytes: &[u8]) -> std::io::Result<tempfile::NamedTempFile> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let mut staged = tempfile::Builder::new().prefix(".put-").tempfile_in(parent)?;
    staged.write_all(bytes)?;
    Ok(staged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_has_empty_parts() {
        let root = tempfile::tempdir().expect("a temporary directory");
        fs::write(root.path().join("empty"), []).expect("a file");
        let bucket = DirectoryBucket::new(root.path());
        let parts = pollster::block_on(bucket.get_ranges("empty", std::slice::from_ref(&(0..0))))
            .expect("no port error");
        assert_eq!(parts, Some(vec![Bytes::new()]));
    }

    #[test]
    fn parts_are_the_same_near_and_far() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        fs::write(root.path().join("file"), &bytes).expect("a file");
        let bucket = DirectoryBucket::new(root.path());
        let far = [99_990..100_000, 7..8, 500..500, 40_000..40_300, 7..8];
        let near = [0..60_000, 99_990..100_000];
        for ranges in [&far[..], &near[..]] {
            let parts = pollster::block_on(bucket.get_ranges("file", ranges)).expect("no port error");
            let expected: Vec<Bytes> = ranges
                .iter()
                .map(|range| Bytes::copy_from_slice(&bytes[range.start as usize..range.end as usize]))
                .collect();
            assert_eq!(parts, Some(expected));
        }
    }

    #[test]
    fn stays_below_its_directory() {
        let root = tempfile::tempdir().expect("a temporary directory");
        for key in ["../x", "/etc/passwd", "a/../../x", "./x"] {
            let got = pollster::block_on(DirectoryBucket::new(root.path()).get(key, None, 1));
            assert!(got.is_err(), "{key}");
        }
    }
}
