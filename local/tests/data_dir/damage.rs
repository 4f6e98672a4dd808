//! Databases that are lost, damaged or of another time stop the start, and no object goes.

use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf_local::{LocalCloud, StartError};

use crate::common::{config, dynamodb, get, put, s3};
use crate::{copy, refusal, tree};

const ID: &str = "0123456789abcdef0123456789abcdef";

/// Bytes of no meaning, the same in every run.
fn noise(n_bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..n_bytes).map(|_| next()).collect()
}

/// The content of an object, which is too large for the index.
fn kept() -> String {
    "kept".repeat(10_000)
}

/// Writes a file, in a directory that may be missing.
fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A stopped cloud with `n_objects` objects and an item for each.
async fn filled(dir: &Path, n_objects: usize) {
    let cloud = LocalCloud::start(config(dir)).await.unwrap();
    for n in 0..n_objects {
        put(&s3(&cloud), "results", &format!("key-{n}"), &kept()).await;
        let item = ["pk", "sk", "board", "rank"]
            .map(|name| (name.to_owned(), AttributeValue::S(format!("{name}-{n}"))));
        let put = dynamodb(&cloud).put_item().table_name("dataperf");
        put.set_item(Some(item.into())).send().await.unwrap();
    }
    cloud.shutdown().await;
}

async fn holds_all(dir: &Path, n_objects: usize) {
    let cloud = LocalCloud::start(config(dir)).await.unwrap();
    for n in 0..n_objects {
        assert_eq!(
            get(&s3(&cloud), "results", &format!("key-{n}")).await,
            kept().as_bytes()
        );
    }
    let scan = dynamodb(&cloud)
        .scan()
        .table_name("dataperf")
        .send()
        .await
        .unwrap();
    assert_eq!(usize::try_from(scan.count()).unwrap(), n_objects);
    cloud.shutdown().await;
}

/// The databases, each with what nobody knows without it.
fn databases(dir: &Path) -> [(PathBuf, &'static str); 2] {
    [
        (dir.join("cloud/index.sqlite"), "the objects have no names"),
        (
            dir.join("cloud/dynamodb.sqlite"),
            "no board or submission is known",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_database_stops_startup_and_keeps_objects() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 3).await;
    for (path, loss) in databases(dir.path()) {
        let content = std::fs::read(&path).unwrap();
        for is_there in [false, true] {
            std::fs::remove_file(&path).unwrap();
            if is_there {
                std::fs::write(&path, "").unwrap();
            }
            let before = tree(dir.path());
            let Err(error) = LocalCloud::start(config(dir.path())).await else {
                panic!("it started without `{}`", path.display())
            };
            assert!(matches!(error, StartError::Lost { .. }), "{error}");
            let message = error.to_string();
            for part in [
                &*path.canonicalize().unwrap_or(path.clone()).display().to_string(),
                loss,
                "--data-dir",
            ] {
                assert!(message.contains(part), "{message}");
            }
            let objects = dir.path().join("cloud/objects");
            let of_objects = |tree: std::collections::BTreeMap<PathBuf, Vec<u8>>| -> Vec<_> {
                tree.into_iter()
                    .filter(|(path, _)| path.starts_with(&objects))
                    .collect()
            };
            assert_eq!(of_objects(before), of_objects(tree(dir.path())));
            std::fs::write(&path, &content).unwrap();
        }
    }
    holds_all(dir.path(), 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_database_stops_startup_and_keeps_objects() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 200).await;
    let other = dir.path().join("other.sqlite");
    let connection = rusqlite::Connection::open(&other).unwrap();
    connection
        .execute_batch("CREATE TABLE recipe (name TEXT) STRICT")
        .unwrap();
    drop(connection);
    let other = std::fs::read(other).unwrap();
    for (path, _) in databases(dir.path()) {
        let content = std::fs::read(&path).unwrap();
        assert!(content.len() > 5 * 4096, "{}", content.len());
        let middle = content.len() / 4096 / 2 * 4096;
        let mut hit = content.clone();
        hit[middle..middle + 4096].copy_from_slice(&noise(4096));
        let mut zeros = content.clone();
        zeros[middle..middle + 4096].fill(0);
        for damaged in [
            noise(content.len()),
            noise(100),
            hit,
            zeros,
            content[..middle].to_vec(),
            other.clone(),
        ] {
            std::fs::write(&path, damaged).unwrap();
            let Err(error) = LocalCloud::start(config(dir.path())).await else {
                panic!("it started with a damaged `{}`", path.display())
            };
            assert!(matches!(error, StartError::Damaged { .. }), "{error}");
            assert!(error.to_string().contains("--data-dir"), "{error}");
        }
        std::fs::write(&path, &content).unwrap();
    }
    holds_all(dir.path(), 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_overwritten_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 200).await;
    let path = dir.path().join("cloud/dynamodb.sqlite");
    let content = std::fs::read(&path).unwrap();
    // within JSON a key follows a quotation mark; no index holds that
    let key = b"board-117";
    let places: Vec<usize> = (1..content.len() - key.len())
        .filter(|&at| content[at..].starts_with(key) && content[at - 1] != b'"')
        .collect();
    assert!(places.len() >= 2, "a row and the index on it: {places:?}");
    for at in places {
        let mut damaged = content.clone();
        damaged[at..at + key.len()].copy_from_slice(&noise(key.len()));
        std::fs::write(&path, damaged).unwrap();
        let Err(error) = LocalCloud::start(config(dir.path())).await else {
            panic!("the board at {at} would be empty")
        };
        assert!(matches!(error, StartError::Damaged { .. }), "{error}");
    }
    std::fs::write(&path, &content).unwrap();
    holds_all(dir.path(), 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outdated_or_foreign_index_is_refused() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    filled(dir.path(), 1).await;
    copy(dir.path(), other.path());
    filled(dir.path(), 3).await;
    let (index, older) = (
        dir.path().join("cloud/index.sqlite"),
        other.path().join("cloud/index.sqlite"),
    );
    let content = std::fs::read(&index).unwrap();
    std::fs::copy(older, &index).unwrap();
    // an orphan that alone would be cleared away stays too
    let unfinished = dir.path().join(format!("cloud/objects/01/{ID}.partial"));
    write(&unfinished, "half");

    let error = refusal(dir.path()).await;
    let StartError::UnknownObjects { n_files, n_bytes, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(
        (n_files, n_bytes),
        (3, 120_000),
        "the first object was replaced, two are new"
    );
    std::fs::write(&index, content).unwrap();
    holds_all(dir.path(), 3).await;
    assert!(!unfinished.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_missing_from_the_index_can_be_moved() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 1).await;
    let unknown = dir.path().join("cloud/objects/01").join(ID);
    write(&unknown, "whole");
    let error = refusal(dir.path()).await;
    assert!(error.to_string().contains(&format!("`01/{ID}`")), "{error}");
    std::fs::rename(&unknown, dir.path().join(ID)).unwrap();
    holds_all(dir.path(), 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn startup_clears_leftovers_of_interrupted_writes_and_deletions() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 2).await;
    let objects = dir.path().join("cloud/objects");
    let named: Vec<PathBuf> = tree(&objects).into_keys().filter(|path| path.is_file()).collect();
    assert_eq!(named.len(), 2);
    // committed, and cut off before the file was renamed
    std::fs::rename(&named[0], named[0].with_extension("partial")).unwrap();
    // cut off before the commit
    write(&objects.join("01").join(format!("{ID}.partial")), "half");
    // deleted, and cut off before the file was
    let removed = ID.replace('0', "f");
    write(&objects.join("f1").join(&removed), "deleted");
    let index = rusqlite::Connection::open(dir.path().join("cloud/index.sqlite")).unwrap();
    let name = named[1].file_name().unwrap().to_str().unwrap();
    for body in [&*removed, name] {
        index
            .execute("INSERT INTO removed_body (name) VALUES (?)", [body])
            .unwrap();
    }
    drop(index);
    // nobody's
    write(&objects.join("ab/notes"), "somebody's");

    holds_all(dir.path(), 2).await;
    let left: Vec<PathBuf> = tree(&objects).into_keys().filter(|path| path.is_file()).collect();
    let mut expected = named;
    expected.push(objects.join("ab/notes"));
    expected.sort();
    assert_eq!(left, expected);
    holds_all(dir.path(), 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaging_a_served_table_causes_an_error() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 200).await;
    let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
    let path = dir.path().join("cloud/dynamodb.sqlite");
    let content = std::fs::read(&path).unwrap();
    // in place, as a failing disk does
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &noise(content.len()), 0).unwrap();
    let client = dynamodb(&cloud);
    let query = client
        .query()
        .table_name("dataperf")
        .index_name("ranking")
        .key_condition_expression("board = :board")
        .expression_attribute_values(":board", AttributeValue::S("board-7".into()));
    let answer = query.send().await;
    assert!(answer.is_err(), "{answer:?}");
    cloud.shutdown().await;
}
