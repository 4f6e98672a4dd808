//! The bodies of objects and parts.
//!
//! The index stores a small body of an object in the row that names it, so one flush of the disk
//! makes both durable. All others are files. A body is written to a file whose name ends in
//! `.partial` and flushed to the disk. A row of the index makes it an object or a part. Then,
//! before the client gets an answer, the file loses that ending. So a `.partial` file without a row
//! is an unfinished write. `recovery` removes the leftovers of a crash.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use futures::StreamExt;
use md5::{Digest, Md5};
use s3s::checksum::ChecksumHasher;
use s3s::crypto::Checksum as _;
use s3s::dto::{ChecksumAlgorithm, StreamingBlob};
use s3s::{S3Error, S3ErrorCode, TrailingHeaders, s3_error};
use tokio::io::AsyncWriteExt;

use super::failure::Failure;
use super::headers::Checksums;
use crate::ids;

/// The most bytes of a body that is kept in the index.
pub(crate) const SMALL_BYTES: usize = 32 << 10;
/// How many first letters of a body's name are the name of its directory.
const SHARD_LETTERS: usize = 2;
/// How the name of a file ends until a row names the body.
pub(crate) const UNFINISHED: &str = ".partial";

/// The directory of bodies.
#[derive(Clone, Debug)]
pub(crate) struct Bodies {
    dir: PathBuf,
}

/// The client's announcements about its body.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    pub(crate) checksums: Checksums,
    pub(crate) algorithm: Option<ChecksumAlgorithm>,
    pub(crate) content_md5: Option<String>,
    pub(crate) trailers: Option<TrailingHeaders>,
}

/// A body that goes into the index, or is on the disk and removed again unless it is kept.
#[derive(Debug)]
pub(crate) struct NewBody {
    /// The bytes of a small body, for which there is no file.
    pub(crate) small: Option<Vec<u8>>,
    pub(crate) name: String,
    pub(crate) n_bytes: u64,
    pub(crate) md5: [u8; 16],
    pub(crate) checksums: Checksums,
    dir: Bodies,
    is_kept: bool,
}

impl NewBody {
    /// The MD5 digest in hexadecimal: the `ETag` of a body that was sent in one piece.
    pub(crate) fn etag(&self) -> String {
        hex(&self.md5)
    }

    /// A row of the index names the body now.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
        if self.small.is_some() {
            return;
        }
        // a body whose row was removed meanwhile is gone
        if let Err(error) = self.dir.finish(&self.name)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(name = self.name, %error, "cannot rename a body; the next start does");
        }
    }
}

impl Drop for NewBody {
    fn drop(&mut self) {
        if !self.is_kept && self.small.is_none() {
            remove(&self.dir.unfinished_path(&self.name));
        }
    }
}

impl Bodies {
    /// Makes the directory. Those in it are made for their first files.
    pub(crate) fn open(dir: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        Ok(Self { dir: dir.to_owned() })
    }

    /// The directory of them all.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directories of the files.
    pub(crate) fn shards(&self) -> io::Result<Vec<PathBuf>> {
        let mut shards = Vec::new();
        for entry in std::fs::read_dir(&self.dir)? {
            let entry = entry?;
            if entry.file_name().len() == SHARD_LETTERS && entry.path().is_dir() {
                shards.push(entry.path());
            }
        }
        Ok(shards)
    }

    /// The directory of the body called `name`.
    fn shard(&self, name: &str) -> PathBuf {
        self.dir.join(name.get(..SHARD_LETTERS).unwrap_or_default())
    }

    /// The file of the body called `name`.
    fn path(&self, name: &str) -> PathBuf {
        self.shard(name).join(name)
    }

    /// The file of the body called `name` until a row names it.
    pub(crate) fn unfinished_path(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}{UNFINISHED}"))
    }

    /// Opens a body that a row names. Its file may be about to be renamed.
    pub(crate) fn read(&self, name: &str) -> io::Result<File> {
        let or = |error: io::Error, path: PathBuf| match error.kind() {
            io::ErrorKind::NotFound => File::open(path),
            _ => Err(error),
        };
        File::open(self.path(name))
            .or_else(|error| or(error, self.unfinished_path(name)))
            .or_else(|error| or(error, self.path(name)))
    }

    /// Renames the file of a body that a row names to its final name.
    pub(crate) fn finish(&self, name: &str) -> io::Result<()> {
        std::fs::rename(self.unfinished_path(name), self.path(name))
    }

    /// Removes the body called `name`, which no row names any more; a failure is logged.
    pub(crate) fn remove(&self, name: &str) {
        // in this order, because its writer may be about to rename it
        remove(&self.unfinished_path(name));
        remove(&self.path(name));
    }

    /// Receives the client's bytes and checks them against its announcement. More than
    /// `most_in_index` bytes are written to the disk.
    pub(crate) async fn receive(
        &self,
        sent: Option<StreamingBlob>,
        announced: Announced,
        most_in_index: usize,
    ) -> Result<NewBody, Failure> {
        let mut body = self.unwritten();
        let mut hasher = hasher_for(&announced);
        let mut md5 = Md5::new();
        let mut in_memory = Vec::new();
        let mut file = None;
        if let Some(mut sent) = sent {
            while let Some(chunk) = sent.next().await {
                let chunk = chunk.map_err(|error| incomplete(&*error))?;
                md5.update(&chunk);
                hasher.update(&chunk);
                body.n_bytes += chunk.len() as u64;
                if file.is_none() && body.n_bytes > most_in_index as u64 {
                    file = Some(self.begin(&body.name, &in_memory).await?);
                }
                match &mut file {
                    Some(file) => file.write_all(&chunk).await?,
                    None => in_memory.extend_from_slice(&chunk),
                }
            }
        }
        if file.is_none() && most_in_index == 0 {
            file = Some(self.begin(&body.name, &in_memory).await?);
        }
        match &mut file {
            Some(file) => {
                file.flush().await?;
                file.sync_all().await?;
            }
            None => body.small = Some(in_memory),
        }
        body.md5 = md5.finalize().into();
        let mut computed = hasher.finalize();
        body.checksums = super::headers::take_checksums!(computed);
        verify(&body, &announced)?;
        Ok(body)
    }

    /// The file of a body, with its first bytes.
    async fn begin(&self, name: &str, first: &[u8]) -> io::Result<tokio::fs::File> {
        tokio::fs::create_dir_all(self.shard(name)).await?;
        let mut file = tokio::fs::File::create_new(self.unfinished_path(name)).await?;
        file.set_max_buf_size(1 << 20);
        file.write_all(first).await?;
        Ok(file)
    }

    /// Writes the bodies called `parts`, one after the other, as one new body. Blocks.
    pub(crate) fn concatenate(&self, parts: &[String]) -> Result<NewBody, Failure> {
        let mut whole = self.unwritten();
        std::fs::create_dir_all(self.shard(&whole.name))?;
        let mut file = File::create_new(self.unfinished_path(&whole.name))?;
        for part in parts {
            whole.n_bytes += io::copy(&mut self.read(part)?, &mut file)?;
        }
        file.sync_all()?;
        Ok(whole)
    }

    fn unwritten(&self) -> NewBody {
        NewBody {
            small: None,
            name: ids::fresh(),
            n_bytes: 0,
            md5: [0; 16],
            checksums: Checksums::default(),
            dir: self.clone(),
            is_kept: false,
        }
    }
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "cannot remove a body; the next start does");
    }
}

fn incomplete(error: &(dyn std::error::Error + Send + Sync + 'static)) -> S3Error {
    s3_error!(
        IncompleteBody,
        "the body could not be read to its end or is not what was signed: {error}"
    )
}

/// A hasher for every checksum that the client sends before or after the body.
fn hasher_for(announced: &Announced) -> ChecksumHasher {
    let named = announced
        .algorithm
        .as_ref()
        .map(ChecksumAlgorithm::as_str)
        .unwrap_or_default();
    let checksums = &announced.checksums;
    let mut hasher = ChecksumHasher::default();
    if checksums.crc32.is_some() || named == ChecksumAlgorithm::CRC32 {
        hasher.crc32 = Some(s3s::crypto::Crc32::new());
    }
    if checksums.crc32c.is_some() || named == ChecksumAlgorithm::CRC32C {
        hasher.crc32c = Some(s3s::crypto::Crc32c::new());
    }
    if checksums.crc64nvme.is_some() || named == ChecksumAlgorithm::CRC64NVME {
        hasher.crc64nvme = Some(s3s::crypto::Crc64Nvme::new());
    }
    if checksums.sha1.is_some() || named == ChecksumAlgorithm::SHA1 {
        hasher.sha1 = Some(s3s::crypto::Sha1::new());
    }
    if checksums.sha256.is_some() || named == ChecksumAlgorithm::SHA256 {
        hasher.sha256 = Some(s3s::crypto::Sha256::new());
    }
    hasher
}

fn verify(body: &NewBody, announced: &Announced) -> Result<(), S3Error> {
    let trailers = announced
        .trailers
        .as_ref()
        .and_then(TrailingHeaders::take)
        .unwrap_or_default();
    let computed = body.checksums.by_header();
    for ((header, before), (_, computed)) in announced.checksums.by_header().into_iter().zip(computed) {
        let after = trailers.get(header).and_then(|value| value.to_str().ok());
        for expected in [before, after].into_iter().flatten() {
            if computed.is_some_and(|computed| computed != expected) {
                let computed = computed.unwrap_or_default();
                return Err(s3_error!(
                    BadDigest,
                    "`{header}` is `{expected}`, the body has `{computed}`"
                ));
            }
        }
    }
    if let Some(expected) = &announced.content_md5 {
        let computed = base64(&body.md5);
        if *expected != computed {
            return Err(S3Error::with_message(
                S3ErrorCode::BadDigest,
                format!("`Content-MD5` is `{expected}`, the body has `{computed}`"),
            ));
        }
    }
    Ok(())
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        })
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_body_stays_readable_before_and_after_renaming() {
        let dir = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(dir.path()).unwrap();
        let name = ids::fresh();
        std::fs::create_dir(bodies.shard(&name)).unwrap();
        std::fs::write(bodies.unfinished_path(&name), "body").unwrap();
        for _ in 0..2 {
            let mut text = String::new();
            bodies.read(&name).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "body");
            let _ = bodies.finish(&name);
        }
        assert!(!bodies.unfinished_path(&name).exists());
        bodies.remove(&name);
        assert_eq!(bodies.read(&name).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_removed_body_does_not_return_after_renaming() {
        let dir = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(dir.path()).unwrap();
        let name = ids::fresh();
        std::fs::create_dir(bodies.shard(&name)).unwrap();
        std::fs::write(bodies.unfinished_path(&name), "body").unwrap();
        bodies.remove(&name);
        assert_eq!(bodies.finish(&name).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(bodies.read(&name).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
