//! Listing keys and versions in byte order, with prefix, delimiter and continuation.

use rusqlite::{Connection, params};

use crate::s3::failure::Failure;
use crate::s3::index::{VERSION_COLUMNS, Version, versioning};

/// The parameters of a listing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pub(crate) bucket: String,
    pub(crate) prefix: String,
    pub(crate) delimiter: String,
    /// The place after which to begin.
    pub(crate) after: Position,
    pub(crate) max_keys: usize,
    /// All versions and delete markers, newest first within a key, instead of current objects.
    pub(crate) all_versions: bool,
}

/// A place in the order of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Position {
    /// Before the first key.
    #[default]
    Start,
    /// After a key and all its versions, or after a group and all its keys.
    After(String),
    /// After one version of a key.
    AfterVersion {
        /// The key.
        key: String,
        /// The version's id.
        version_id: String,
    },
}

/// A part of a listing.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) versions: Vec<Version>,
    /// The groups of keys that share what is up to the delimiter.
    pub(crate) common_prefixes: Vec<String>,
    /// The last entry, if there is more behind it.
    pub(crate) truncated_at: Option<Position>,
}

/// How many rows are read at a time.
const N_ROWS: usize = 256;

/// The place in the index to read from.
struct Cursor {
    from_key: String,
    /// Rows of `from_key` with this number or more were listed before.
    before_seq: i64,
}

/// Lists one page.
pub(crate) fn list(connection: &Connection, query: &Query) -> Result<Page, Failure> {
    versioning(connection, &query.bucket)?;
    let mut page = Page::default();
    let Some(mut cursor) = first(connection, query)? else {
        return Ok(page);
    };
    if query.max_keys == 0 {
        return Ok(page);
    }
    let mut last = Position::Start;
    'rows: loop {
        let rows = read(connection, query, &cursor)?;
        let n_read = rows.len();
        for version in rows {
            if !version.key.starts_with(&query.prefix) {
                return Ok(page); // keys are ordered: none with the prefix follows
            }
            let group = group_of(&version.key, query);
            if page.versions.len() + page.common_prefixes.len() == query.max_keys {
                page.truncated_at = Some(last);
                return Ok(page);
            }
            if let Some(group) = group {
                let group = group.to_owned();
                page.common_prefixes.push(group.clone());
                last = Position::After(group.clone());
                match successor(&group) {
                    Some(from_key) => {
                        cursor = Cursor {
                            from_key,
                            before_seq: i64::MAX,
                        }
                    }
                    None => return Ok(page),
                }
                continue 'rows;
            }
            cursor = Cursor {
                from_key: version.key.clone(),
                before_seq: version.seq,
            };
            last = Position::AfterVersion {
                key: version.key.clone(),
                version_id: version.id.clone(),
            };
            page.versions.push(version);
        }
        if n_read < N_ROWS {
            return Ok(page);
        }
    }
}

/// The key up to the first delimiter after the prefix.
fn group_of<'a>(key: &'a str, query: &Query) -> Option<&'a str> {
    if query.delimiter.is_empty() {
        return None;
    }
    let rest = key.get(query.prefix.len()..)?;
    let at = rest.find(&query.delimiter)?;
    key.get(..query.prefix.len() + at + query.delimiter.len())
}

/// The first key, or `None` if nothing can follow.
fn first(connection: &Connection, query: &Query) -> Result<Option<Cursor>, Failure> {
    let start = |from_key: String| {
        let from_key = if from_key < query.prefix {
            query.prefix.clone()
        } else {
            from_key
        };
        Some(Cursor {
            from_key,
            before_seq: i64::MAX,
        })
    };
    Ok(match &query.after {
        Position::Start => start(String::new()),
        Position::After(key) if group_of(key, query) == Some(key) => successor(key).and_then(start),
        Position::After(key) => start(just_after(key)),
        Position::AfterVersion { key, version_id } => {
            let sql = "SELECT seq FROM version WHERE bucket = ? AND key = ? AND version_id = ?";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(params![query.bucket, key, version_id])?;
            match rows.next()? {
                Some(row) => Some(Cursor {
                    from_key: key.clone(),
                    before_seq: row.get(0)?,
                }),
                None => start(just_after(key)), // the version was deleted meanwhile
            }
        }
    })
}

fn read(connection: &Connection, query: &Query, cursor: &Cursor) -> rusqlite::Result<Vec<Version>> {
    let filter = if query.all_versions {
        ""
    } else {
        "AND is_latest AND NOT is_delete_marker"
    };
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM version WHERE bucket = ?1 AND key >= ?2 AND (key > ?2 OR seq < ?3) {filter}
         ORDER BY key, seq DESC LIMIT {N_ROWS}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(
        params![query.bucket, cursor.from_key, cursor.before_seq],
        Version::from_row,
    )?;
    rows.collect()
}

/// The first string behind `key` in byte order.
fn just_after(key: &str) -> String {
    format!("{key}\0")
}

/// The first string after all that begin with `prefix`, in byte order; `None` if there is none.
fn successor(prefix: &str) -> Option<String> {
    let mut kept = prefix.to_owned();
    while let Some(last) = kept.pop() {
        // surrogates are no characters: the next after U+D7FF is U+E000
        let next = if last == '\u{D7FF}' {
            Some('\u{E000}')
        } else {
            char::from_u32(u32::from(last) + 1)
        };
        if let Some(next) = next {
            kept.push(next);
            return Some(kept);
        }
    }
    None
}

/// A key as a continuation token.
pub(crate) fn url_encoded(key: &str) -> String {
    crate::queue::events::percent_encoded(key, "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successor_is_the_smallest_string_behind_a_prefix() {
        assert_eq!(successor("a/").as_deref(), Some("a0"));
        assert_eq!(successor("a\u{10FFFF}").as_deref(), Some("b"));
        assert_eq!(successor("\u{D7FF}").as_deref(), Some("\u{E000}"));
        assert_eq!(successor("\u{10FFFF}"), None);
        assert!("a/\u{10FFFF}\u{10FFFF}" < successor("a/").unwrap().as_str());
    }

    #[test]
    fn groups_end_at_the_first_delimiter_after_prefix() {
        let query = Query {
            prefix: "a/".into(),
            delimiter: "/".into(),
            ..Query::default()
        };
        assert_eq!(group_of("a/b/c", &query), Some("a/b/"));
        assert_eq!(group_of("a/b", &query), None);
    }
}
