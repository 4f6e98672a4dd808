//! A start accepts its own directories, and refuses others.
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod leftovers;
mod marker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dataperf_local::{LocalCloud, StartError};

/// Everything in a directory: the bytes of a file, the target of a link, nothing for a directory.
fn tree(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let content = if path.is_symlink() {
                path.read_link().unwrap().into_os_string().into_encoded_bytes()
            } else if path.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else {
                std::fs::read(&path).unwrap()
            };
            files.insert(path, content);
        }
    }
    files
}

/// Copies a directory as `cp -r` does.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for (path, content) in tree(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        if path.is_dir() {
            std::fs::create_dir_all(target).unwrap();
        } else {
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            std::fs::write(target, content).unwrap();
        }
    }
}

/// The error of a start in `dir`/cloud, which has changed nothing.
async fn refusal(dir: &Path) -> StartError {
    let before = tree(dir);
    let Err(error) = LocalCloud::start(common::config(dir)).await else {
        panic!("it started")
    };
    assert_eq!(before, tree(dir), "{error}");
    error
}
