//! Checks the files of bodies at a start. It removes the leftovers of a crash, and refuses an index
//! that belongs to other files.

use std::collections::BTreeSet;
use std::io;

use rusqlite::Connection;

use super::bodies::{Bodies, UNFINISHED};
use super::index as rows;
use crate::database::Database;
use crate::error::{DatabaseError, StartError};
use crate::ids;

/// How many of the files that the index does not know an error names.
const N_NAMED: usize = 10;

/// The index's information about bodies.
struct Index {
    /// Bodies that a row names.
    named: BTreeSet<String>,
    /// Bodies without rows, which have to be removed.
    removed: BTreeSet<String>,
    /// The number of bodies that are named and in no file.
    n_small: usize,
}

/// The files by the names of their bodies.
#[derive(Default)]
struct Files {
    /// Written and named, but not renamed.
    unrenamed: Vec<String>,
    /// Written or half written, and never named: no client has heard of them.
    unfinished: Vec<String>,
    /// Whole, and neither named nor removed, with their number of bytes.
    unknown: Vec<(String, u64)>,
    n_named: usize,
}

/// Clears up what a crash left of writes and of deletions.
///
/// # Errors
/// [`StartError::UnknownObjects`] when there are whole bodies that the index does not know: it is not the index that was
/// written with them, and nothing is changed. [`StartError::DataDir`] and [`StartError::Index`].
pub(super) fn recover(bodies: &Bodies, database: &Database) -> Result<(), StartError> {
    let index_failed = |source| StartError::Index {
        path: database.path().to_owned(),
        source,
    };
    let index = database.read_now(read_index).map_err(index_failed)?;
    let files_failed = |source| StartError::DataDir {
        path: bodies.dir().to_owned(),
        source,
    };
    let files = look(bodies, &index).map_err(files_failed)?;
    if !files.unknown.is_empty() {
        return Err(refusal(bodies, &files.unknown));
    }
    for name in &files.unfinished {
        std::fs::remove_file(bodies.unfinished_path(name)).map_err(files_failed)?;
    }
    for name in &files.unrenamed {
        bodies.finish(name).map_err(files_failed)?;
    }
    for name in &index.removed {
        bodies.remove(name);
    }
    if !index.removed.is_empty() {
        let forget = |transaction: &rusqlite::Transaction<'_>| {
            for name in &index.removed {
                rows::remove_body(transaction, name)?;
            }
            transaction.execute("DELETE FROM removed_body", [])?; // those that are named again
            Ok(())
        };
        database
            .write_now::<_, DatabaseError>(forget)
            .map_err(index_failed)?;
    }
    let n_missing = index.named.len().saturating_sub(files.n_named + index.n_small);
    if n_missing > 0 {
        tracing::error!(n_missing, "files of objects are missing; reading one is an error");
    }
    tracing::info!(
        n_unfinished = files.unfinished.len(),
        n_unrenamed = files.unrenamed.len(),
        n_removed = index.removed.len(),
        "looked through the files of objects"
    );
    Ok(())
}

fn read_index(connection: &Connection) -> Result<Index, DatabaseError> {
    let names = |sql: &str| -> rusqlite::Result<BTreeSet<String>> {
        connection
            .prepare(sql)?
            .query_map([], |row| row.get(0))?
            .collect()
    };
    let named = names("SELECT body FROM version WHERE body <> '' UNION SELECT body FROM part")?;
    let mut removed = names("SELECT name FROM removed_body")?;
    // an object that was copied onto itself lost a row and got another
    removed.retain(|name| !named.contains(name));
    let sql = "SELECT count(*) FROM small_body WHERE name IN (SELECT body FROM version)";
    let n_small = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(Index {
        named,
        removed,
        n_small,
    })
}

/// Sorts the files of bodies; files of other names are not ours and stay.
fn look(bodies: &Bodies, index: &Index) -> io::Result<Files> {
    let mut files = Files::default();
    for shard in bodies.shards()? {
        for file in std::fs::read_dir(shard)? {
            let file = file?;
            let Ok(name) = file.file_name().into_string() else {
                continue;
            };
            let (name, is_partial) = match name.strip_suffix(UNFINISHED) {
                Some(name) => (name.to_owned(), true),
                None => (name, false),
            };
            if !ids::is_one(&name) {
                continue;
            }
            let is_named = index.named.contains(&name);
            files.n_named += usize::from(is_named);
            match (is_named, is_partial) {
                (true, true) => files.unrenamed.push(name),
                (true, false) => {}
                (false, true) => files.unfinished.push(name),
                (false, false) if index.removed.contains(&name) => {}
                (false, false) => files.unknown.push((name, file.metadata()?.len())),
            }
        }
    }
    Ok(files)
}

fn refusal(bodies: &Bodies, unknown: &[(String, u64)]) -> StartError {
    let mut named: Vec<String> = unknown
        .iter()
        .take(N_NAMED)
        .map(|(name, _)| format!("`{}/{name}`", &name[..2]))
        .collect();
    if unknown.len() > N_NAMED {
        named.push(format!("{} more", unknown.len() - N_NAMED));
    }
    StartError::UnknownObjects {
        path: bodies.dir().to_owned(),
        n_files: unknown.len(),
        n_bytes: unknown.iter().map(|(_, n_bytes)| n_bytes).sum(),
        names: named.join(", "),
    }
}
