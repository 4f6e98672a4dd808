//! Commits that wait for the disk at the same time share one flush.
//!
//! A flush takes longer than the work before it, and makes everything written so far durable. So
//! `SQLite` commits to its `-wal` file without a flush (`synchronous = NORMAL`: the file stays
//! consistent after any crash). A caller that needs its commit on the disk waits here.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lock::locked;

/// The `-wal` file of a database that commits without a flush.
pub(crate) struct Flush {
    wal: File,
    /// The number of commits that wait for the disk.
    n_commits: AtomicU64,
    /// How many of these commits are on the disk. Locked during a flush: the next holder sees its
    /// own commit flushed, or flushes all.
    n_flushed: Mutex<u64>,
    n_flushes: AtomicU64,
}

impl Flush {
    /// Opens the `-wal` file of `database`, an open database in WAL mode.
    ///
    /// # Errors
    /// When its `-wal` file can't be opened.
    pub(crate) fn open(database: &Path) -> io::Result<Self> {
        let mut wal = database.as_os_str().to_owned();
        wal.push("-wal");
        Ok(Self {
            wal: File::open(wal)?,
            n_commits: AtomicU64::new(0),
            n_flushed: Mutex::new(0),
            n_flushes: AtomicU64::new(0),
        })
    }

    /// Returns when all that was committed before this call is on the disk. Blocks.
    ///
    /// # Errors
    /// If the flush fails: then no caller may report its commit as successful.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let mine = self.n_commits.fetch_add(1, Ordering::SeqCst) + 1;
        let mut n_flushed = locked(&self.n_flushed);
        if *n_flushed >= mine {
            return Ok(());
        }
        std::thread::yield_now(); // another commit that is about to come shares the flush
        let all = self.n_commits.load(Ordering::SeqCst); // all commits so far are in the file
        self.wal.sync_data()?;
        self.n_flushes.fetch_add(1, Ordering::Relaxed);
        *n_flushed = all;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn waiting_writers_share_one_flush() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("db-wal"), "").unwrap();
        let flush = Flush::open(&dir.path().join("db")).unwrap();
        let n_flushes = || flush.n_flushes.load(Ordering::SeqCst);
        std::thread::scope(|scope| {
            let disk_works = locked(&flush.n_flushed);
            for _ in 0..8 {
                scope.spawn(|| flush.wait().unwrap());
            }
            while flush.n_commits.load(Ordering::SeqCst) < 8 {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(
                (*disk_works, n_flushes()),
                (0, 0),
                "nobody goes on before the disk has it"
            );
            drop(disk_works);
        });
        assert_eq!((*locked(&flush.n_flushed), n_flushes()), (8, 1));
        flush.wait().unwrap();
        assert_eq!((*locked(&flush.n_flushed), n_flushes()), (9, 2));
    }
}
