//! The way of one upload, from the `main` of a function to the receipt, stays short enough to be read at one go.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::project::{code, root, sources};

/// A reader of the way meets so many types of this project at most.
const MAX_TYPES: usize = 45;

/// The functions that an upload of an artifact goes through in which it gets a score, in the order of ARCHITECTURE.md. What they ask other
/// types to do (a bucket to read, a challenge for its terms, a benchmark to score, the Ladder to release a score) is read where it is of
/// interest.
const WAY: [(&str, &[&str]); 10] = [
    ("functions/speech-selection/src/main.rs", &["main"]),
    (
        "shared/dataperf-aws/src/function.rs",
        &["run", "settle", "upload_of", "evaluate", "evaluated", "scoring"],
    ),
    (
        "shared/dataperf-aws/src/serve.rs",
        &["serve", "serve_any", "each_upload"],
    ),
    (
        "shared/dataperf-aws/src/resources.rs",
        &["from_environment", "settle"],
    ),
    (
        "shared/dataperf/src/workflow.rs",
        &["settle", "record", "release", "settled", "write_shown"],
    ),
    (
        "shared/dataperf/src/artifact_judge.rs",
        &[
            "terms",
            "judge",
            "refusal",
            "evaluated",
            "read_artifact",
            "rejected",
        ],
    ),
    (
        "shared/dataperf/src/admission.rs",
        &["limited", "refusal", "place", "name_refusal"],
    ),
    ("shared/dataperf/src/in_force.rs", &["read", "scoring"]),
    (
        "shared/dataperf/src/evaluate.rs",
        &["evaluate_to_compare", "scored", "gather_admitted", "checked"],
    ),
    (
        "shared/dataperf/src/receipts.rs",
        &["receipt_level", "write_receipt", "signed"],
    ),
];

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The program of a file without comments, tests and texts.
fn without_texts(path: &str) -> String {
    let mut kept = String::new();
    let mut is_text = false;
    let code = code(&root().join(path));
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if is_text => drop(chars.next()),
            '"' => is_text = !is_text,
            _ if is_text => {}
            c => kept.push(c),
        }
    }
    let lines = kept
        .lines()
        .map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    lines.collect::<Vec<_>>().join("\n")
}

/// The functions of this name, each from its `fn` to the end of its body.
fn functions<'a>(code: &'a str, name: &str) -> Vec<&'a str> {
    let begins = [format!("fn {name}("), format!("fn {name}<")];
    let starts = begins.iter().flat_map(|begin| code.match_indices(begin.as_str()));
    let whole = starts.map(|(start, _)| {
        let mut depth = 0_usize;
        for (offset, c) in code[start..].char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 1 => return &code[start..=start + offset],
                '}' => depth -= 1,
                _ => {}
            }
        }
        panic!("`{name}` has no end")
    });
    whole.collect()
}

/// The names that begin with a capital, each with what stands before it in its path.
fn capitalised(code: &str) -> impl Iterator<Item = (&str, &str)> {
    let paths = code.split(|c: char| !is_of_a_name(c) && c != ':');
    let names = paths.flat_map(|path| {
        let parts: Vec<&str> = path.split("::").map(|part| part.trim_matches(':')).collect();
        (0..parts.len())
            .map(|idx| (if idx == 0 { "" } else { parts[idx - 1] }, parts[idx]))
            .collect::<Vec<_>>()
    });
    let is_capital = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase());
    // `Ending::Scored` and `B::Frozen` name the first only
    names.filter(move |(before, name)| is_capital(name) && !is_capital(before))
}

/// The types of this project's shared crates and functions.
fn declared() -> BTreeSet<String> {
    let mut files = Vec::new();
    for folder in ["shared", "functions"] {
        sources(&root().join(folder), &mut files);
    }
    let mut declared = BTreeSet::new();
    for path in files {
        let text = fs::read_to_string(path).unwrap();
        for line in text.lines().filter(|line| !line.starts_with(char::is_whitespace)) {
            let words: Vec<&str> = line.split(|c| !is_of_a_name(c)).collect();
            let found = words
                .iter()
                .position(|word| ["struct", "enum", "trait", "type"].contains(word));
            declared.extend(
                found
                    .and_then(|at| words.get(at + 1))
                    .map(|&name| name.to_owned()),
            );
        }
    }
    declared
}

/// The names that a file takes from crates that are not this project's.
fn foreign(code: &str) -> BTreeSet<&str> {
    let uses = code
        .split(';')
        .filter_map(|part| part.trim().strip_prefix("use "));
    let foreign = uses.filter(|path| {
        let own = ["crate", "super", "self", "dataperf"];
        !own.iter().any(|own| path.starts_with(own))
    });
    foreign
        .flat_map(|path| path.split(|c| !is_of_a_name(c)))
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn the_way_of_one_upload_has_few_types() {
    let declared = declared();
    assert!(declared.len() > 400, "{}", declared.len());
    let mut met: BTreeMap<&str, &str> = BTreeMap::new();
    let codes = WAY.map(|(path, names)| (path, names, without_texts(path)));
    for (path, names, code) in &codes {
        let foreign = foreign(code);
        for name in *names {
            let found = functions(code, name);
            assert!(!found.is_empty(), "`{path}` has no function `{name}`");
            for (before, name) in found.into_iter().flat_map(capitalised) {
                let is_ours = declared.contains(name) && !foreign.contains(name);
                if is_ours && !foreign.contains(before) && before != "lambda_runtime" {
                    met.entry(name).or_insert(path);
                }
            }
        }
    }
    for known in ["SpeechSelection", "Settled", "Judge", "Benchmark", "Receipt"] {
        assert!(met.contains_key(known), "`{known}` is on the way");
    }
    let n_types = met.len();
    assert!(
        n_types <= MAX_TYPES,
        "the way of one upload has {n_types} types: {met:#?}"
    );
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let said = format!("{n_types} types");
    assert!(
        architecture.contains(&said),
        "ARCHITECTURE.md does not say `{said}`"
    );
}

#[test]
fn no_function_on_the_way_has_more_than_two_type_parameters() {
    let mut n_generic = 0;
    for (path, names) in WAY {
        let code = without_texts(path);
        for (name, function) in names.iter().flat_map(|name| {
            let found = functions(&code, name).into_iter();
            found.map(move |function| (name, function))
        }) {
            let (signature, _) = function.split_once('{').unwrap();
            let n_anonymous = signature.matches(": &impl ").count() + signature.matches(": impl ").count();
            let generics = signature.strip_prefix(&format!("fn {name}<")).map_or("", |rest| {
                let end = rest.find(">(").unwrap_or_else(|| panic!("{path}: {signature}"));
                &rest[..end]
            });
            let parameters = generics.split(',').map(str::trim);
            let n_named = parameters
                .filter(|parameter| parameter.starts_with(|c: char| c.is_ascii_uppercase()))
                .count();
            n_generic += usize::from(n_named + n_anonymous > 0);
            assert!(n_named + n_anonymous <= 2, "{path}: `{name}`");
        }
    }
    assert!(n_generic > 3, "{n_generic}");
}
