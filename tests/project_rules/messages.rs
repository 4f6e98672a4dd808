//! The messages of rejections side by side, in `docs/messages.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::Path;

use dataperf::challenge::{Challenge, OverLimit, Terms};
use dataperf::dataset::active::no_leaderboard;
use dataperf::formats::archive::{Bounds, unpack};
use dataperf::formats::json::Json;
use dataperf::ports::Unreadable;
use dataperf::receipt::fault::Cause;
use dataperf::{Reason, Rejection, UploadKey};
use dataperf_benchmarks::IDS;
use dataperf_collections_aws::common::{no_more, no_such_item};
use dataperf_collections_aws::nibbler::Pairs;
use dataperf_collections_aws::text::Examples;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

use crate::datasets::kits::{Exported, texts, validated};
use crate::support::project::{Ran, dataperf, root};

const PAGE: &str = "docs/messages.md";
const HEAD: &str = "# Messages\n\n\
    Rejections by example: the code, the place in the file, the message. The last two sections\n\
    list codes without an example.\n\
    `INSTA_UPDATE=always cargo test --workspace --test all messages::` rewrites this page.\n";
/// Pages that document codes.
const DOCUMENTS: [&str; 2] = ["docs/wire-formats.md", "docs/closed-division.md"];
/// Folders of the code that rejects, and of the challenge documents that it checks with the same type.
const SOURCES: [&str; 4] = ["shared", "closed/src", "functions", "cli/src"];
const MAX_COLUMNS: usize = 100;

/// An example of each code.
type Messages = BTreeMap<String, String>;

/// A text in which `@N:TEXT@` means `TEXT` N times, with the number of each time for `#`.
fn expand(text: &str) -> String {
    let parts = text.split('@').enumerate();
    let expand = |(n, part): (usize, &str)| match part.split_once(':').filter(|_| n % 2 == 1) {
        Some((times, text)) => {
            let numbers = 0..times.parse::<usize>().unwrap();
            numbers
                .map(|number| text.replace('#', &number.to_string()))
                .collect()
        }
        None => part.to_owned(),
    };
    parts.map(expand).collect()
}

fn zip<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(expand(text).as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The bad files in `tests/messages`, each with its board: JSON, `lines` of JSON, the files of a `zip`, or a text.
fn bad_files(benchmark: &str) -> Vec<(String, Vec<u8>)> {
    let document = fs::read(root().join(format!("tests/messages/{benchmark}.json"))).unwrap();
    let boards: BTreeMap<String, Vec<Value>> = serde_json::from_slice(&document).unwrap();
    let bytes = |file: Value| {
        if let Some(files) = file.get("zip") {
            let files = files.as_object().unwrap();
            return zip(files
                .iter()
                .map(|(name, text)| (name.as_str(), text.as_str().unwrap())));
        }
        let text = match (file.get("lines").and_then(Value::as_array), file.as_str()) {
            (Some(lines), _) => lines
                .iter()
                .map(|line| format!("{line}\n"))
                .collect::<Vec<_>>()
                .concat(),
            (_, Some(text)) => text.to_owned(),
            _ => file.to_string(),
        };
        expand(&text).into_bytes()
    };
    let of_board = |(board, files): (String, Vec<Value>)| {
        files.into_iter().map(move |file| (board.clone(), bytes(file)))
    };
    boards.into_iter().flat_map(of_board).collect()
}

/// Programs that end badly, as WebAssembly text.
const PROGRAMS: [&str; 8] = [
    "(module)",
    r#"(module (import "env" "f" (func)) (memory (export "memory") 1) (func (export "_start")))"#,
    r#"(module (memory (export "memory") 1) (func (export "_start")))"#,
    r#"(module (memory (export "memory") 1) (func (export "_start") unreachable))"#,
    r#"(module (memory (export "memory") 1) (func (export "_start") (loop (br 0))))"#,
    r#"(module (memory (export "memory") 1) (func (export "_start") (drop (memory.grow (i32.const 60000))) unreachable))"#,
    r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1) (func (export "_start") (call $exit (i32.const 3))))"#,
    r#"(module (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1) (func (export "_start") (i32.store (i32.const 4) (i32.const 65536))
            (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#,
];

/// Adds the reasons of a verdict and of its lines. The first message of a code stays.
fn collect(ran: &Ran, messages: &mut Messages) {
    assert_eq!(ran.code, 2, "{ran:?}");
    let verdict = ran.json();
    let lines = verdict["lines"].as_array().into_iter().flatten();
    let reasons = [&verdict]
        .into_iter()
        .chain(lines)
        .filter_map(|part| part["reasons"].as_array());
    for reason in reasons.flatten() {
        add(messages, &serde_json::from_value(reason.clone()).unwrap());
    }
}

fn add(messages: &mut Messages, reason: &Reason) {
    let place = if reason.at.is_empty() {
        String::new()
    } else {
        format!(" at `{}`", reason.at)
    };
    let text = format!("{place}: {}", reason.message.replace('\n', " "));
    messages.entry(reason.code.clone()).or_insert(text);
}

/// What `dataperf validate` says of a benchmark's bad files.
fn of_files(benchmark: &str) -> Messages {
    let exported = match benchmark {
        "adversarial-text" => Exported::import(benchmark, texts().path()),
        _ => Exported::new(benchmark),
    };
    let file = exported.kit.join("bad");
    let mut messages = Messages::new();
    for (board, bytes) in bad_files(benchmark) {
        fs::write(&file, bytes).unwrap();
        collect(
            &validated(&exported.frozen, benchmark, &board, &file),
            &mut messages,
        );
    }
    messages
}

fn of_programs() -> Messages {
    let mut messages = Messages::new();
    let exported = Exported::new("selection");
    let program = exported.kit.join("program.wasm");
    let wasm = PROGRAMS.map(|text| wat::parse_str(text).unwrap());
    for bytes in wasm.into_iter().chain([b"x".to_vec(), vec![0; 2 << 10]]) {
        fs::write(&program, bytes).unwrap();
        let (program, kit) = (program.to_str().unwrap(), exported.kit.to_str().unwrap());
        let limits = [
            "--max-fuel=1000000",
            "--max-memory=64",
            "--max-output=1",
            "--max-module=1",
        ];
        let run = [
            "--format=json",
            "closed",
            "run",
            program,
            "--dataset",
            kit,
            "--leaderboard=digits-20",
        ];
        collect(&dataperf(run.iter().chain(&limits)), &mut messages);
    }
    messages
}

fn of_forms() -> Messages {
    let bounds = Bounds {
        max_entries: 2,
        max_unpacked_bytes: 100 << 10,
        max_ratio: 200,
    };
    let mut locked = zip([("a.csv", "1")]);
    let entry = locked.windows(4).position(|bytes| bytes == b"PK\x01\x02");
    let entry = entry.unwrap();
    (locked[entry + 8], locked[entry + 10]) = (1, 12);
    let bad = [
        locked,
        zip([]),
        zip([("a.csv", "1"), ("b.csv", "1"), ("c.csv", "1")]),
        zip([("a.csv", "@200000:0@")]),
        zip([("a/b.csv", "1"), ("b\u{7}.csv", "1")]),
        zip([("a.csv", "1"), ("A.csv", "1")]),
        zip([("more.zip", "PK\u{3}\u{4}")]),
        b"PK\x03\x04".to_vec(),
    ];
    let zips = bad.map(|bytes| unpack(&bytes, bounds).expect_err("a bad zip"));
    listed(
        zips.into_iter()
            .chain([Json::parse(b"\xff").expect_err("bad JSON")]),
    )
}

/// What the platform says of uploads that it does not read.
fn of_uploads() -> Messages {
    let at = "2026-03-02T10:00:00.000Z".parse().unwrap();
    let round = json!({ "id": "spring", "leaderboards": ["en-25"], "opens": "2026-04-01T00:00:00.000Z" });
    let challenge = json!({ "schema": 1, "title": "t", "rounds": [round] });
    let challenge: Challenge = serde_json::from_value(challenge).unwrap();
    let early = Terms::resolve(Some(&challenge), "en-25", "ada", at);
    let terms = Terms::outside_any_challenge("ada");
    let day = OverLimit {
        limit: 5,
        count: 5,
        is_daily: true,
    };
    let round = OverLimit {
        is_daily: false,
        ..day
    };
    let id = json!("0".repeat(32));
    let key = |key: &str| UploadKey::parse("speech-selection", key).expect_err("a bad key");
    listed([
        key("en-25/ada/my.json"),
        key("speech-selection/en-25/Ada Lovelace/my.json"),
        no_leaderboard("speech-selection").into(),
        Unreadable::Archived.into(),
        Unreadable::Encrypted.into(),
        early.refusal.unwrap().into(),
        terms.failures_reason(20, "en-25", at).unwrap().into(),
        terms.limit_reason(day, "en-25", at).into(),
        terms.limit_reason(round, "en-25", at).into(),
        no_more(true, "ada", "pairs").unwrap().into(),
        no_such_item::<Pairs>(1, &serde_json::from_value(id.clone()).unwrap()),
        no_such_item::<Examples>(1, &serde_json::from_value(id).unwrap()),
    ])
}

fn listed(rejections: impl IntoIterator<Item = Rejection>) -> Messages {
    let mut messages = Messages::new();
    for rejection in rejections {
        rejection
            .reasons()
            .iter()
            .for_each(|reason| add(&mut messages, reason));
    }
    messages
}

/// The codes in the tables of `docs/wire-formats.md`, section "Artifacts".
fn documented() -> BTreeSet<String> {
    let page = fs::read_to_string(root().join(DOCUMENTS[0])).unwrap();
    let (_, artifacts) = page.split_once("\n## Artifacts").unwrap();
    let artifacts = artifacts.split("\n## ").next().unwrap();
    let rows = artifacts.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split(" |").next().unwrap().replace('`', ""));
    cells
        .flat_map(|cell| cell.split(", ").map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// The codes that code outside tests makes a `Reason` with, where they are written there.
fn in_sources(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            in_sources(&path, codes);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap();
            let text = text.replace("Reason::over(", "Reason::new(");
            let calls = text.split("Reason::new(").skip(1);
            let literals = calls.filter_map(|call| call.trim_start().strip_prefix('"'));
            codes.extend(literals.map(|code| code.split('"').next().unwrap().to_owned()));
        }
    }
}

/// Breaks a line of Markdown where it would be too long.
fn wrap(text: &str, page: &mut String) {
    let mut n = 0;
    for word in text.split(' ') {
        let n_word = word.chars().count();
        if n > 0 && n + 1 + n_word > MAX_COLUMNS {
            page.push_str("\n  ");
            n = 2;
        } else if n > 0 {
            page.push(' ');
            n += 1;
        }
        page.push_str(word);
        n += n_word;
    }
    page.push('\n');
}

#[test]
fn the_page_of_messages_is_current() {
    let benchmarks = IDS.iter().chain(&["adversarial-nibbler", "adversarial-text"]);
    let mut areas: Vec<_> = benchmarks.map(|id| (*id, of_files(id))).collect();
    areas.push(("Programs", of_programs()));
    areas.push(("JSON and zip archives", of_forms()));
    areas.push(("Keys, names, limits and people", of_uploads()));
    let documented = documented();
    let faults = documented.iter().filter_map(|code| Cause::of_code(code));
    let faults = faults.map(|cause| cause.reason("0123456789abcdef", true).into());
    areas.push(("Failures of the platform", listed(faults)));
    let (mut page, mut shown) = (HEAD.to_owned(), BTreeSet::new());
    for (area, messages) in areas {
        page.extend(["\n## ", area, "\n\n"]);
        for (code, message) in messages {
            wrap(&format!("- `{code}`{message}"), &mut page);
            shown.insert(code);
        }
    }
    let mut known = documented;
    for folder in SOURCES {
        in_sources(&root().join(folder), &mut known);
    }
    let documents = DOCUMENTS
        .map(|page| fs::read_to_string(root().join(page)).unwrap())
        .concat();
    let is_documented = |code: &&String| documents.contains(&format!("`{code}`"));
    let undocumented: Vec<_> = shown.iter().filter(|code| !is_documented(code)).collect();
    assert!(
        undocumented.is_empty(),
        "{undocumented:?} are in none of {DOCUMENTS:?}"
    );
    let (submissions, others): (Vec<_>, Vec<_>) = known.difference(&shown).partition(is_documented);
    for (title, codes) in [
        ("Without an example", submissions),
        ("Of challenges and configurations", others),
    ] {
        page.extend(["\n## ", title, "\n\n"]);
        wrap(
            &codes
                .iter()
                .map(|code| format!("`{code}`"))
                .collect::<Vec<_>>()
                .join(", "),
            &mut page,
        );
    }
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        fs::write(root().join(PAGE), &page).unwrap();
    }
    assert_eq!(
        fs::read_to_string(root().join(PAGE)).unwrap_or_default(),
        page,
        "{PAGE} is not current"
    );
}
