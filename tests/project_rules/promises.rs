//! The page on security names tests that there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::project::root;

/// Folders with tests or code in which a name may be defined.
const FOLDERS: [&str; 11] = [
    "audit",
    "cli",
    "closed",
    "datasets",
    "functions",
    "infra",
    "local",
    "page",
    "python",
    "shared",
    "tests",
];

/// The names of all functions in Rust and Python below a directory.
fn functions(directory: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && name != "node_modules" {
                functions(&path, names);
            }
            continue;
        }
        if !matches!(path.extension().and_then(|end| end.to_str()), Some("rs" | "py")) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            let defined = line.split_once("fn ").or_else(|| line.split_once("def "));
            let Some((_, rest)) = defined else { continue };
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let name: String = rest.chars().take_while(|c| is_of_name(*c)).collect();
            names.insert(name);
        }
    }
}

/// The text between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_promise_names_a_test_that_there_is() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let mut defined = BTreeSet::new();
    for folder in FOLDERS {
        functions(&root().join(folder), &mut defined);
    }
    let (_, promises) = page.split_once("## Promises and their tests").unwrap();
    let rows = promises.lines().filter(|line| line.starts_with("| "));
    let (mut n_named, mut missing) = (0, Vec::new());
    for row in rows.skip(1) {
        let tests = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let named: Vec<&str> = quoted(tests).collect();
        assert!(!named.is_empty(), "no test is named: {row}");
        n_named += named.len();
        let is_there = |name: &&str| {
            if name.contains('/') {
                root().join(name).exists()
            } else {
                defined.contains(*name)
            }
        };
        missing.extend(named.into_iter().filter(|name| !is_there(name)));
    }
    // and everywhere else on the page: files, and names that look like a test's
    let is_long = |name: &&str| {
        name.matches('_').count() > 3 && !name.contains(|c: char| !c.is_ascii_lowercase() && c != '_')
    };
    missing.extend(
        quoted(&page)
            .filter(is_long)
            .filter(|name| !defined.contains(*name)),
    );
    let is_file = |name: &&str| {
        let end = Path::new(name).extension().and_then(|end| end.to_str());
        matches!(end, Some("rs" | "py"))
    };
    missing.extend(
        quoted(&page)
            .filter(is_file)
            .filter(|name| !root().join(name).exists()),
    );
    assert!(n_named > 60, "the table is read: {n_named}");
    assert!(
        missing.is_empty(),
        "docs/security.md names what there is not: {missing:?}"
    );
}
