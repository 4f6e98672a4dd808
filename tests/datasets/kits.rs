//! Participants' kits: of every benchmark, with all that somebody needs who takes part, and nothing hidden.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use aws_sdk_s3::error::ProvideErrorMetadata;
use dataperf::benchmark::Leaderboard;
use dataperf::dataset::frozen::Manifest;
use dataperf_aws::Clients;
use dataperf_benchmarks::IDS;
use dataperf_local::Identity;
use serde_json::{Value, json};
use ureq::http::Response;

use crate::people::organizer_mistakes::{copy, digest, other_dataset};
use crate::read_api::{ANONYMOUS, Answer, Reading};
use crate::support::project::{
    BENCHMARK, Ran, dataperf, frozen, hosted, ran_as_json as ran, root, text as path_str,
};
use crate::support::world::{World, deployed};

/// Hidden rows of one tensor that are searched for.
const N_SEARCHED: usize = 12;

/// The demo's data set of a benchmark, and its kit.
pub(crate) struct Exported {
    pub(crate) frozen: PathBuf,
    pub(crate) kit: PathBuf,
    pub(crate) manifest: Manifest,
    _scratch: tempfile::TempDir,
}

impl Exported {
    pub(crate) fn new(benchmark: &str) -> Self {
        Self::import(benchmark, &root().join("demo").join(benchmark))
    }

    /// The same of a data set that is imported from somewhere.
    pub(crate) fn import(benchmark: &str, from: &Path) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let [frozen, kit] = ["frozen", "kit"].map(|name| scratch.path().join(name));
        let (from, out) = (path_str(from), path_str(&frozen));
        ran(["dataset", "import", benchmark, "--from", from, "--out", out]);
        ran(["dataset", "show", out, "--public", path_str(&kit)]);
        let manifest = fs::read(frozen.join("manifest.json")).unwrap();
        Self {
            manifest: Manifest::parse(&manifest, benchmark).unwrap(),
            frozen,
            kit,
            _scratch: scratch,
        }
    }

    fn described_boards(&self) -> Vec<Leaderboard> {
        (hosted(&self.manifest.benchmark).leaderboards)(&self.manifest).unwrap()
    }

    fn boards(&self) -> Vec<String> {
        let boards = self.described_boards().into_iter();
        boards.map(|board| board.name).collect()
    }

    /// Every file of the kit with its bytes, by its path in it.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.kit.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap();
                    files.insert(path.strip_prefix(&self.kit).unwrap().to_owned(), bytes);
                }
            }
        }
        files
    }

    fn example(&self, board: &str) -> PathBuf {
        let forms = ["json", "csv", "zip"].map(|form| self.kit.join(format!("examples/{board}.{form}")));
        forms.into_iter().find(|path| path.is_file()).expect("an example")
    }
}

#[test]
fn kits_support_validation_baselines_and_practice_scoring() {
    let mut n_scoring = 0;
    for benchmark in IDS {
        let exported = Exported::new(benchmark);
        let kit = path_str(&exported.kit);
        let shown = ran(["dataset", "show", kit]).json();
        assert!(shown["corrected"].is_null(), "{shown}");
        ran(["dataset", "verify", kit]);
        let readme = fs::read_to_string(exported.kit.join("README.md")).unwrap();
        let can_score = readme.contains("scores on the practice set");
        // an order of `debugging` can't be scored without the right labels, which are hidden
        let has_practice = exported.manifest.files.contains_key("public/eval.npy");
        assert_eq!(
            can_score,
            has_practice && *benchmark != "debugging",
            "{benchmark}"
        );
        n_scoring += usize::from(can_score);
        let listed = ran(["baseline", "list", "--dataset", kit]).json();
        let only: Vec<&String> = listed.as_object().unwrap().keys().collect();
        assert_eq!(only, [benchmark]);
        shows_an_example_of_its_own(&exported, &readme);
        names_the_keys_of_its_examples(&exported);
        for board in exported.boards() {
            let example = exported.example(&board);
            let with = |command: &'static str, file: &str| {
                let args = [
                    command,
                    benchmark,
                    "--dataset",
                    kit,
                    "--leaderboard",
                    &board,
                    file,
                ];
                dataperf(["--format", "json"].iter().chain(&args))
            };
            let valid = with("validate", path_str(&example));
            assert_eq!(valid.json()["status"], "valid", "{benchmark}: {valid:?}");
            let scored = with("score", path_str(&example));
            if can_score {
                assert_eq!(scored.code, 0, "{benchmark}: {scored:?}");
                assert_eq!(scored.json()["metrics"]["eval_set"], "public", "{benchmark}");
            } else {
                assert_eq!(scored.code, 1, "{benchmark}: {scored:?}");
                for message in ["a participants' kit has no", "stay hidden", "Upload the artifact"] {
                    assert!(scored.stderr.contains(message), "{benchmark}: {scored:?}");
                }
            }
            let bad = exported.kit.join("bad.json");
            fs::write(&bad, "{}").unwrap();
            let rejected = with("validate", path_str(&bad));
            assert_eq!(rejected.code, 2, "{benchmark}: {rejected:?}");
            fs::remove_file(bad).unwrap();
        }
        makes_the_same_baselines(benchmark, &exported, can_score);
    }
    assert!(n_scoring > 0);
}

#[test]
fn a_kit_without_a_test_set_is_not_audited() {
    for benchmark in ["acquisition", "curation"] {
        let exported = Exported::new(benchmark);
        let ran = dataperf(["audit", path_str(&exported.kit)]);
        assert_eq!(ran.code, 1, "{ran:?}");
        let why = "is a participants' kit without a test set";
        assert!(ran.stderr.contains(why), "{ran:?}");
    }
}

/// The keys of which the page checks a file before an upload are those of the example; every board has a title.
fn names_the_keys_of_its_examples(exported: &Exported) {
    let facts = hosted(&exported.manifest.benchmark);
    for board in exported.described_boards() {
        assert!(board.title.is_some(), "{board:?}");
        let mut expected = Vec::new();
        if facts.forms.contains(&"json") && !facts.only_programs {
            let example = fs::read(exported.example(&board.name)).unwrap();
            let example: BTreeMap<String, Value> = serde_json::from_slice(&example).unwrap();
            expected.extend(example.into_keys());
        }
        let mut keys = board.keys.clone();
        keys.sort();
        assert_eq!(keys, expected, "{board:?}");
    }
}

/// The README's example is the beginning of one in the kit, with ids of the kit.
fn shows_an_example_of_its_own(exported: &Exported, readme: &str) {
    let blocks: Vec<&str> = readme.split("```").collect();
    let (form, shown) = blocks[1].split_once('\n').unwrap();
    let example = exported.example(&exported.boards()[0]);
    assert!(readme.contains(&format!(
        "examples/{}",
        example.file_name().unwrap().to_str().unwrap()
    )));
    let whole = fs::read(&example).unwrap();
    if form == "text" {
        assert!(shown.lines().all(|name| has(&whole, name.as_bytes())), "{readme}");
        return;
    }
    let whole = String::from_utf8(whole).unwrap();
    let words = shown
        .split(|c: char| "{}[]\",:\n".contains(c))
        .map(str::trim)
        .filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    assert!(words.len() > 1, "{readme}");
    for word in words {
        assert!(whole.contains(word), "{word} in {}", example.display());
    }
}

#[test]
fn a_kit_with_changed_files_is_refused() {
    let exported = Exported::new(BENCHMARK);
    let public = exported
        .manifest
        .files
        .iter()
        .filter(|(path, _)| (hosted(BENCHMARK).is_public)(path));
    let (path, _) = public.max_by_key(|(_, entry)| entry.n_bytes).unwrap();
    let file = exported.kit.join(path);
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();
    let board = &exported.boards()[0];
    let example = exported.example(board);
    for command in ["validate", "score"] {
        let args = [
            command,
            BENCHMARK,
            "--dataset",
            path_str(&exported.kit),
            "--leaderboard",
            board,
            path_str(&example),
        ];
        let refused = dataperf(args);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.stderr.contains("is damaged") && refused.stderr.contains(path),
            "{refused:?}"
        );
    }
}

/// A baseline sees what participants see: of the kit it chooses what it chooses of the whole data set.
fn makes_the_same_baselines(benchmark: &str, exported: &Exported, can_score: bool) {
    let listed = ran(["baseline", "list"]).json();
    let methods = listed[benchmark].as_array().unwrap();
    let cheap = ["random", "consecutive", "uniform", "as-it-is"];
    let is_cheap = |method: &&Value| cheap.contains(&method["name"].as_str().unwrap());
    let method = methods.iter().find(is_cheap).unwrap()["name"].as_str().unwrap();
    let board = &exported.boards()[0];
    let made = [&exported.frozen, &exported.kit].map(|dataset| {
        let out = exported.frozen.with_extension("artifact");
        let where_ = [
            "--dataset",
            path_str(dataset),
            "--leaderboard",
            board,
            "--out",
            path_str(&out),
        ];
        let text = dataperf(["baseline", method].into_iter().chain(where_));
        assert_eq!(text.code, 0, "{benchmark}: {text:?}");
        let next = if can_score || dataset == &exported.frozen {
            "dataperf score"
        } else {
            "dataperf validate"
        };
        assert!(text.stdout.contains(next), "{benchmark}: {text:?}");
        fs::read(out).unwrap()
    });
    assert!(made[0] == made[1], "{benchmark} {method}");
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(bytes, part).is_some()
}

/// Parts of a hidden file that nobody may find in a kit: rows of its matrices, all labels together, lines of its tables.
fn hidden_parts(exported: &Exported, path: &str) -> Vec<Vec<u8>> {
    let bytes = fs::read(exported.frozen.join(path)).unwrap();
    let entry = &exported.manifest.files[path];
    let mut parts = Vec::new();
    for tensor in entry.tensors.values() {
        let begin = tensor.begin as usize;
        let width = tensor.row_bytes().unwrap() as usize;
        let whole = &bytes[begin..begin + width * tensor.n_rows()];
        if width < 8 {
            parts.push(whole.to_vec());
            continue;
        }
        let step = tensor.n_rows().div_ceil(N_SEARCHED).max(1);
        parts.extend(whole.chunks_exact(width).step_by(step).map(<[u8]>::to_vec));
    }
    if Path::new(path).extension().is_some_and(|end| end == "csv") {
        parts.push(bytes);
    }
    parts
}

#[test]
fn nothing_hidden_is_in_any_kit() {
    let mut n_searched = BTreeMap::new();
    for benchmark in IDS {
        let exported = Exported::new(benchmark);
        let files = exported.files();
        let is_public = hosted(benchmark).is_public;
        let listed: Value = serde_json::from_slice(&files[Path::new("manifest.json")]).unwrap();
        let listed = listed["files"].as_object().unwrap();
        for path in exported.manifest.files.keys() {
            let is_there = files.contains_key(Path::new(path)) || listed.contains_key(path);
            assert_eq!(is_there, is_public(path), "{benchmark}: {path}");
        }
        for path in exported.manifest.files.keys().filter(|path| !is_public(path)) {
            for part in hidden_parts(&exported, path) {
                // the same numbers may be public, as where the organizer's own public rows have them
                let public = exported.manifest.files.keys().filter(|path| is_public(path));
                let mut public = public.map(|path| fs::read(exported.frozen.join(path)).unwrap());
                if public.any(|bytes| has(&bytes, &part)) {
                    continue;
                }
                *n_searched.entry(*benchmark).or_insert(0) += 1;
                let leak = files.iter().find(|(_, bytes)| has(bytes, &part));
                assert_eq!(leak.map(|(file, _)| file), None, "{benchmark}: of {path}");
            }
        }
    }
    println!("parts of hidden files that are in no kit: {n_searched:?}");
    assert!(
        IDS.iter().all(|benchmark| n_searched[benchmark] > 10),
        "{n_searched:?}"
    );
}

/// A round of Adversarial Text with all tasks, whose model is a service that only the organizer knows.
pub(crate) fn texts() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let tasks: BTreeMap<&str, Value> = ["nli", "qa", "sentiment", "hate-speech"]
        .into_iter()
        .map(|task| (task, json!({ "targets": ["far"] })))
        .collect();
    let rules = json!({
        "tasks": tasks,
        "targets": { "far": { "kind": "http", "url": "https://hidden.example/answer", "secret": "HIDDEN_KEY" } },
        "examples_a_day": 77, "deny": ["hiddenword"],
    });
    let contexts = [
        json!({ "id": "barn-7", "task": "nli", "text": "The \"red\" barn, an old one, stands by the road. A horse is in it." }),
        json!({ "id": "mill-2", "task": "qa", "text": "The mill stands by the green river." }),
    ];
    fs::write(scratch.path().join("configuration.json"), rules.to_string()).unwrap();
    let contexts = contexts.map(|context| format!("{context}\n")).concat();
    fs::write(scratch.path().join("contexts.jsonl"), contexts).unwrap();
    scratch
}

/// Checks a file with the rules in a kit.
pub(crate) fn validated(kit: &Path, benchmark: &str, board: &str, file: &Path) -> Ran {
    let args = [
        "validate",
        benchmark,
        "--dataset",
        path_str(kit),
        "--leaderboard",
        board,
        path_str(file),
    ];
    dataperf(["--format", "json"].iter().chain(&args))
}

/// Runs a kit's starter for a board, if Python is installed, and returns the file that it names.
fn started(kit: &Path, board: &str) -> Option<PathBuf> {
    let program = fs::read_to_string(kit.join("starter.py")).unwrap();
    let line = |line: &str| match line.strip_prefix("LEADERBOARD = ") {
        Some(_) => format!("LEADERBOARD = {board:?}\n"),
        None => format!("{line}\n"),
    };
    let program: String = program.lines().map(line).collect();
    let mut python = Command::new("python3");
    let ran = match python
        .args(["-W", "error", "-c", &program])
        .current_dir(kit)
        .output()
    {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let _ = writeln!(std::io::stderr(), "no `python3`: the starter was NOT tried");
            return None;
        }
        ran => ran.unwrap(),
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let output = String::from_utf8(ran.stdout).unwrap();
    let (_, wrote) = output.split_once("wrote ").unwrap();
    Some(kit.join(wrote.split_once(':').unwrap().0))
}

/// The kit of a collection.
struct Lines {
    exported: Exported,
    boards: &'static [&'static str],
    /// The names for its examples and its starter: boards, or kinds of files.
    files_for: &'static [&'static str],
    /// A number of the data set's own in the README.
    number: &'static str,
    /// A wrong line, and the codes of all that is wrong with it, ascending.
    wrong: (&'static str, &'static [&'static str]),
}

impl Lines {
    fn of_texts() -> Self {
        Self {
            exported: Exported::import("adversarial-text", texts().path()),
            boards: &["hate-speech", "nli", "qa", "sentiment"],
            files_for: &["nli", "qa", "sentiment", "hate-speech"],
            number: "77 examples a day",
            wrong: (
                r#"{"task": "nli", "context_id": "shed", "text": "no", "label": "true"}"#,
                &["text_too_short", "unknown_context", "unknown_label"],
            ),
        }
    }

    fn of_pictures() -> Self {
        Self {
            exported: Exported::new("adversarial-nibbler"),
            boards: &["model-fooling", "prompt-creativity"],
            files_for: &["generate"],
            number: "50 sets of images a day",
            wrong: (
                r#"{"prompt": "x", "image": "y"}"#,
                &["prompt_too_short", "unknown_key"],
            ),
        }
    }

    fn id(&self) -> &str {
        &self.exported.manifest.benchmark
    }

    fn kit(&self) -> &Path {
        &self.exported.kit
    }

    /// Checks a file against the rules, for a board or a kind.
    fn validated(&self, of_files: &str, file: &Path) -> Ran {
        validated(self.kit(), self.id(), of_files, file)
    }

    /// A file in the kit with these lines.
    fn file(&self, lines: &str) -> PathBuf {
        let path = self.kit().join("lines.jsonl");
        fs::write(&path, lines).unwrap();
        path
    }
}

#[test]
fn a_collection_kit_contains_valid_example_lines() {
    for lines in [Lines::of_texts(), Lines::of_pictures()] {
        let kit = lines.kit();
        let shown = ran(["dataset", "show", path_str(kit)]).json();
        let shown = shown["leaderboards"].as_array().unwrap().iter();
        let mut shown: Vec<&str> = shown.map(|board| board["name"].as_str().unwrap()).collect();
        shown.sort_unstable();
        assert_eq!(shown, lines.boards);
        ran(["dataset", "verify", path_str(kit)]);
        let readme = fs::read_to_string(kit.join("README.md")).unwrap();
        assert!(readme.contains(lines.number), "{readme}");
        for board in lines.files_for {
            let mut files = vec![kit.join(format!("examples/{board}.jsonl"))];
            files.extend(started(kit, board));
            for file in files {
                let valid = lines.validated(board, &file);
                assert_eq!(valid.code, 0, "{} {}: {valid:?}", lines.id(), file.display());
                let verdict = valid.json();
                assert_eq!(verdict["status"], "accepted");
                let unknown = verdict["metrics"]["not_checked"].as_array().unwrap();
                assert!(unknown.len() > 2, "{verdict}");
            }
        }
    }
}

#[test]
fn a_kit_checks_lines_and_names_unknowns_offline() {
    for lines in [Lines::of_texts(), Lines::of_pictures()] {
        let of_files = lines.files_for[0];
        let (wrong, codes) = lines.wrong;
        // one wrong line among good ones: all that is wrong with it, and the exit code says so
        let example = lines.kit().join(format!("examples/{of_files}.jsonl"));
        let good = fs::read_to_string(example).unwrap();
        let file = lines.file(&format!("{good}{wrong}\n"));
        let mixed = lines.validated(of_files, &file);
        let verdict = mixed.json();
        assert_eq!(
            (mixed.code, &verdict["status"]),
            (2, &json!("accepted")),
            "{mixed:?}"
        );
        let outcomes = verdict["lines"].as_array().unwrap();
        let (last, before) = outcomes.split_last().unwrap();
        assert!(
            before.iter().all(|line| line["status"] == "accepted"),
            "{verdict}"
        );
        let reasons = last["reasons"].as_array().unwrap().iter();
        let mut actual: Vec<&str> = reasons.map(|reason| reason["code"].as_str().unwrap()).collect();
        actual.sort_unstable();
        assert_eq!(actual, codes);
        let where_ = [
            "--dataset",
            path_str(lines.kit()),
            "--leaderboard",
            of_files,
            path_str(&file),
        ];
        let text = dataperf(["validate", lines.id()].iter().chain(&where_));
        for message in ["would be rejected", "not known here:"] {
            assert!(text.stdout.contains(message), "{text:?}");
        }
        let file = lines.file(wrong);
        let rejected = lines.validated(of_files, &file);
        assert_eq!(
            (rejected.code, rejected.json()["status"].clone()),
            (2, json!("rejected"))
        );
        // with the whole data set the same code knows what is denied
        let unknown = |dataset: &Path| {
            let verdict = validated(dataset, lines.id(), of_files, &file).json();
            verdict["metrics"]["not_checked"].to_string()
        };
        assert!(unknown(lines.kit()).contains("denies"));
        assert!(!unknown(&lines.exported.frozen).contains("denies"));
    }
}

#[test]
fn a_collection_kit_explains_unsupported_commands() {
    for (lines, other) in [
        (Lines::of_texts(), "adversarial-nibbler"),
        (Lines::of_pictures(), "adversarial-text"),
    ] {
        let of_files = lines.files_for[0];
        let file = lines.file(lines.wrong.0);
        let nowhere = lines.validated("nowhere", &file);
        assert!(
            nowhere.code == 1
                && nowhere
                    .stderr
                    .contains("no leaderboard and no kind of file `nowhere`"),
            "{nowhere:?}"
        );
        let mistaken = validated(lines.kit(), other, of_files, &file);
        assert!(
            mistaken.code == 1
                && mistaken
                    .stderr
                    .contains("name a data set or a kit of that benchmark"),
            "{mistaken:?}"
        );
        let where_ = ["--dataset", path_str(lines.kit()), "--leaderboard", of_files];
        let score = dataperf(
            ["score", lines.id()]
                .iter()
                .chain(&where_)
                .chain(&[path_str(&file)]),
        );
        let out = ["--out", path_str(&file)];
        let baseline = dataperf(["baseline", "random"].iter().chain(&where_).chain(&out));
        let listed = dataperf(["baseline", "list", "--dataset", path_str(lines.kit())]);
        for refused in [score, baseline, listed] {
            assert_eq!(refused.code, 1, "{refused:?}");
            for message in [
                "no model here scores a file",
                "no baseline",
                "A score",
                "dataperf validate",
            ] {
                assert!(refused.stderr.contains(message), "{refused:?}");
            }
        }
        // the message names the limit of the kind of file, even if no kind takes as much
        let large = lines.file(&" ".repeat(5 << 20));
        let kind = lines.files_for[0];
        let most = (hosted(lines.id()).max_bytes_of_kind)(kind);
        let too_large = lines.validated(kind, &large);
        assert!(
            too_large.code == 2 && too_large.stdout.contains(&format!("the limit is {most}")),
            "{too_large:?}"
        );
        // a file that was changed on its way is noticed
        fs::write(lines.kit().join("public/rules.json"), b"{}").unwrap();
        let damaged = lines.validated(of_files, &file);
        damaged.assert_refused("is damaged");
    }
}

#[test]
fn a_collection_kit_contains_nothing_hidden() {
    let texts = texts();
    let pictures = root().join("demo/adversarial-nibbler");
    for (benchmark, from, hidden) in [
        (
            "adversarial-text",
            texts.path(),
            &["hidden.example", "HIDDEN_KEY", "hiddenword"][..],
        ),
        (
            "adversarial-nibbler",
            &pictures,
            &["127.0.0.1", "drawer", "pencil-1", "swastika"],
        ),
    ] {
        let exported = Exported::import(benchmark, from);
        let configuration = fs::read(exported.frozen.join("configuration.json")).unwrap();
        let files = exported.files();
        for word in hidden {
            assert!(has(&configuration, word.as_bytes()), "{word}");
            let leak = files.iter().find(|(_, bytes)| has(bytes, word.as_bytes()));
            assert_eq!(leak.map(|(file, _)| file), None, "{benchmark}: {word}");
        }
        assert!(!files.contains_key(Path::new("configuration.json")));
        let manifest = fs::read(exported.kit.join("manifest.json")).unwrap();
        let manifest = Manifest::parse(&manifest, benchmark).unwrap();
        assert!(manifest.files.keys().all(|path| path.starts_with("public/")));
    }
}

struct Fetched {
    status: u16,
    bytes: Vec<u8>,
    disposition: String,
    location: String,
}

/// The answer at an address, without following redirects.
fn fetched(url: &str) -> Fetched {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0);
    let agent: ureq::Agent = config.build().into();
    tokio::task::block_in_place(|| {
        let mut answer: Response<ureq::Body> = agent.get(url).call().unwrap();
        let bytes = answer
            .body_mut()
            .with_config()
            .limit(1 << 30)
            .read_to_vec()
            .unwrap();
        let header = |name: &str| {
            let value = answer.headers().get(name);
            value.map_or("", |value| value.to_str().unwrap()).to_owned()
        };
        Fetched {
            status: answer.status().as_u16(),
            disposition: header("content-disposition"),
            location: header("location"),
            bytes,
        }
    })
}

/// An archive has what the command makes, in one folder.
fn is_the_kit(archive: &[u8], exported: &Exported) {
    let folder = format!("{}-kit/", exported.manifest.benchmark);
    let mut files = exported.files();
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap();
    for at in 0..zip.len() {
        let mut entry = zip.by_index(at).unwrap();
        let path = entry.name().strip_prefix(&folder).unwrap().to_owned();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        assert!(files.remove(Path::new(&path)).unwrap() == bytes, "{path}");
    }
    assert!(files.is_empty(), "{:?}", files.keys());
}

const KIT: &str = "/api/v1/benchmarks/speech-selection/leaderboards/en-25/kit";

fn location(answer: &Answer) -> String {
    assert_eq!(answer.status, 302, "{answer:?}");
    assert_eq!(answer.header("cache-control"), "private, no-store");
    answer.header("location").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_links_only_to_the_published_kit() {
    let reading = Reading::new(World::new().await).await;
    let world = &reading.world;
    let board = reading.ask(ANONYMOUS, KIT.trim_end_matches("/kit")).json();
    assert_eq!(board["kit"], KIT);
    let published = digest(frozen());
    let key = dataperf::dataset::kit_key(BENCHMARK, published);
    let link = location(&reading.ask(ANONYMOUS, KIT));
    let kit = fetched(&link);
    let expected = "attachment; filename=\"speech-selection-kit.zip\"";
    assert_eq!((kit.status, kit.disposition.as_str()), (200, expected));
    let archive = kit.bytes;
    // it is the kit that the command makes, and is not published as if it were the data set
    let exported = Exported::new(BENCHMARK);
    let refused = world.command(["dataset", "publish", "--stage", path_str(&exported.kit)]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("it is a participants' kit; publish the data set that was imported"),
        "{}",
        refused.stderr
    );
    is_the_kit(&archive, &exported);

    // by the name of this machine that the page is opened by, S3 is reached as well
    let by_name = reading.base.replace("127.0.0.1", "localhost");
    assert_ne!(by_name, reading.base);
    let led = fetched(&format!("{by_name}{KIT}"));
    assert!(led.location.starts_with("http://localhost:"), "{}", led.location);
    assert!(fetched(&led.location).bytes == archive);

    // the address is good for this object, for reading, and for some minutes
    assert!(link.contains("X-Amz-Expires=300"), "{link}");
    let prefix = dataperf::dataset::dataset_prefix(BENCHMARK, published);
    for other in [
        "en/eval.safetensors",
        "en/train.safetensors",
        "manifest.json",
        "kit.zip/../en/eval.safetensors",
    ] {
        let forged = link.replace(&key, &format!("{prefix}{other}"));
        assert_ne!(forged, link);
        assert_eq!(fetched(&forged).status, 403, "{other}");
    }
    assert_eq!(fetched(&link.replace("/datasets/", "/submissions/")).status, 403);
    assert_eq!(fetched(link.split('?').next().unwrap()).status, 403, "unsigned");
    assert_eq!(
        fetched(&link.replace("X-Amz-Expires=300", "X-Amz-Expires=3000")).status,
        403
    );

    // nothing of a request's path becomes part of a key
    let hidden = other_dataset(world);
    let staged = world.command(["dataset", "publish", "--stage", path_str(&hidden)]);
    assert_eq!(
        staged.json()["kit"],
        json!(dataperf::dataset::kit_key(BENCHMARK, digest(&hidden)))
    );
    let hex = digest(&hidden).hex();
    for path in [
        KIT.replace("en-25", &hex),
        KIT.replace("en-25", "nowhere"),
        KIT.replace("en-25", "..%2f..%2fen-25"),
        KIT.replace("en-25", &format!("..%2F{hex}")),
        KIT.replace("speech-selection", &format!("speech-selection%2f{hex}")),
        KIT.replace("speech-selection", ".."),
        KIT.replace("speech-selection", "vision-selection"),
        KIT.replace("speech-selection", "adversarial-nibbler"),
        format!("{KIT}/en/eval.safetensors"),
        format!("{KIT}%2F..%2Fen%2Feval.safetensors"),
        format!("{KIT}/"),
        format!("{KIT}?dataset={}", digest(&hidden)),
        format!("{KIT}?round=open&round=x"),
        format!("{KIT}?key=manifest.json"),
    ] {
        let answer = reading.ask(ANONYMOUS, &path);
        assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
    }
    // a round that is none, or has other characters, leads nowhere
    for round in ["nowhere", "..", "%2e%2e%2f", "a%2fb", &hex] {
        let answer = reading.ask(ANONYMOUS, &format!("{KIT}?round={round}"));
        assert_eq!(answer.status, 404, "{round}: {answer:?}");
    }
}

/// In a collection, a round has the kit of its own rules once it opens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_kits_of_collections_are_offered_as_well() {
    let reading = Reading::new(World::without_dataset(|_| ()).await).await;
    let world = &reading.world;
    let id = "adversarial-text";
    let (first, second) = (texts(), texts());
    let path = second.path().join("configuration.json");
    let other = fs::read_to_string(&path).unwrap().replace("77", "78");
    fs::write(path, other).unwrap();
    let [in_force, pinned] = [&first, &second].map(|from| Exported::import(id, from.path()));
    let published = world.publish(&in_force.frozen);
    assert_eq!(
        published["kit"],
        dataperf::dataset::kit_key(id, digest(&in_force.frozen))
    );
    world.ran(["dataset", "publish", "--stage", path_str(&pinned.frozen)]);
    let refused = world.command(["dataset", "publish", "--stage", path_str(&in_force.kit)]);
    assert!(
        refused.stderr.contains("it is a participants' kit"),
        "{refused:?}"
    );
    let round = |id: &str, opens: &str, closes: &str| json!({ "id": id, "opens": opens, "closes": closes, "dataset": digest(&pinned.frozen).to_string() });
    let rounds = [
        round("now", "2020-01-01T00:00:00Z", "2190-01-01T00:00:00Z"),
        round("later", "2190-01-01T00:00:00Z", "2191-01-01T00:00:00Z"),
    ];
    let challenge = json!({ "schema": 1, "title": "Rounds", "benchmarks": { id: { "rounds": rounds } } });
    let document = world.scratch().join("challenge.yaml");
    fs::write(&document, challenge.to_string()).unwrap();
    world.ran(["challenge", "publish", path_str(&document)]);
    for board in ["nli", "hate-speech"] {
        let page = format!("/api/v1/benchmarks/{id}/leaderboards/{board}");
        let kit = format!("{page}/kit");
        assert_eq!(reading.ask(ANONYMOUS, &page).json()["kit"], json!(kit));
        for (round, expected) in [("now", &pinned), ("later", &in_force), ("open", &in_force)] {
            let link = location(&reading.ask(ANONYMOUS, &format!("{kit}?round={round}")));
            assert!(link.contains(&digest(&expected.frozen).hex()), "{round}: {link}");
        }
        let fetched = fetched(&location(&reading.ask(ANONYMOUS, &kit)));
        assert_eq!(
            fetched.disposition,
            "attachment; filename=\"adversarial-text-kit.zip\""
        );
        is_the_kit(&fetched.bytes, &in_force);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_opened_round_offers_only_its_public_kit() {
    let reading = Reading::new(World::new().await).await;
    let world = &reading.world;
    let pinned = other_dataset(world);
    world.ran(["dataset", "publish", "--stage", path_str(&pinned)]);
    let last = world.scratch().join("last");
    copy(&pinned, &last);
    let manifest = fs::read_to_string(last.join("manifest.json")).unwrap();
    fs::write(last.join("manifest.json"), format!("{manifest}\n")).unwrap();
    world.ran(["dataset", "publish", "--stage", path_str(&last)]);
    let (pinned, last, in_force) = (digest(&pinned), digest(&last), digest(frozen()));
    let round = |id: &str, opens: &str, closes: &str, kind: &str| {
        let dataset = if kind == "final" { last } else { pinned };
        json!({ "id": id, "opens": opens, "closes": closes, kind: dataset.to_string() })
    };
    let rounds = [
        round("past", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "dataset"),
        round(
            "future",
            "2190-01-01T00:00:00Z",
            "2191-01-01T00:00:00Z",
            "dataset",
        ),
        round("ends", "2100-01-01T00:00:00Z", "2101-01-01T00:00:00Z", "final"),
    ];
    let challenge =
        json!({ "schema": 1, "title": "Rounds", "benchmarks": { BENCHMARK: { "rounds": rounds } } });
    let document = world.scratch().join("challenge.yaml");
    fs::write(&document, challenge.to_string()).unwrap();
    world.ran(["challenge", "publish", path_str(&document)]);
    for (round, expected) in [
        ("past", pinned),
        ("past.post", pinned),
        ("future", in_force),
        ("ends", in_force),
        ("ends.final", in_force),
        ("open", in_force),
    ] {
        let link = location(&reading.ask(ANONYMOUS, &format!("{KIT}?round={round}")));
        assert!(link.contains(&expected.hex()), "{round}: {link}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishing_stores_a_kit_only_once() {
    let reading = Reading::new(World::new().await).await;
    let world = &reading.world;
    let key = dataperf::dataset::kit_key(BENCHMARK, digest(frozen()));
    let kit = world.clients.s3.get_object().bucket("datasets").key(&key);
    let before = kit.clone().send().await.unwrap();
    let again = world.publish(frozen());
    assert_eq!(
        (&again["uploaded_files"], &again["kit"]),
        (&json!(0), &json!(key))
    );
    assert_eq!(kit.send().await.unwrap().last_modified(), before.last_modified());
    let delete = world.clients.s3.delete_object().bucket("datasets").key(&key);
    delete.send().await.unwrap();
    let answer = reading.ask(ANONYMOUS, KIT);
    assert_eq!(
        (answer.status, &answer.json()["code"]),
        (404, &json!("no_kit")),
        "{answer:?}"
    );
    let board = reading.ask(ANONYMOUS, KIT.trim_end_matches("/kit")).json();
    assert!(board["kit"].is_null(), "{board}");
    world.publish(frozen());
    location(&reading.ask(ANONYMOUS, KIT));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_read_api_reads_kits_and_nothing_hidden() {
    let mut world = World::new().await;
    world
        .change(|config| {
            config.identities = vec![Identity {
                access_key: "reader".into(),
                secret: "secret of reader".into(),
                policy: deployed("leaderboards"),
            }];
        })
        .await;
    let [s3, dynamodb] = [world.cloud.s3_endpoint(), world.cloud.dynamodb_endpoint()];
    let reader = Clients::at(s3, dynamodb, "reader", "secret of reader").await.s3;
    let published = digest(frozen());
    let prefix = dataperf::dataset::dataset_prefix(BENCHMARK, published);
    let get = async |key: String| reader.get_object().bucket("datasets").key(key).send().await;
    assert!(
        get(dataperf::dataset::kit_key(BENCHMARK, published))
            .await
            .is_ok()
    );
    world
        .put_into("datasets", &format!("{prefix}en/kit.zip"), b"hidden".to_vec())
        .await;
    for hidden in [
        "en/eval.safetensors",
        "en/train.safetensors",
        "en/train_ids.txt",
        "en/kit.zip",
        "kit.zip.bak",
    ] {
        let refused = get(format!("{prefix}{hidden}")).await.unwrap_err();
        assert_eq!(refused.code(), Some("AccessDenied"), "{hidden}: {refused:?}");
    }
    let kit = dataperf::dataset::kit_key(BENCHMARK, published);
    let put = reader
        .put_object()
        .bucket("datasets")
        .key(&kit)
        .send()
        .await
        .unwrap_err();
    let delete = reader
        .delete_object()
        .bucket("datasets")
        .key(&kit)
        .send()
        .await
        .unwrap_err();
    assert_eq!(
        (put.code(), delete.code()),
        (Some("AccessDenied"), Some("AccessDenied"))
    );
}
