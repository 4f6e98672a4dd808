//! The project's files and programs, as the tests find them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use dataperf::{Benchmark, Descriptor};
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_datasets::{Import, ImportError, Silent, import};
use serde_json::Value;

pub(crate) const BENCHMARK: &str = "speech-selection";

/// A benchmark's description of itself.
pub(crate) fn hosted(id: &str) -> &'static Descriptor {
    dataperf_hosted::hosted(id).expect("it is hosted")
}

/// The project's directory.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A program of this project, as built with these tests.
pub(crate) fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join(name);
    assert!(
        path.is_file(),
        "`{}` is missing: run `cargo test --workspace`, which builds it",
        path.display()
    );
    path
}

/// The demo's data in the reference layout.
pub(crate) fn demo() -> PathBuf {
    root().join("demo").join(BENCHMARK)
}

/// The data set of the demo's folder of a benchmark, imported once. Tests read it and never write there.
pub(crate) fn imported<B: Import>() -> &'static Path {
    static IMPORTED: Mutex<BTreeMap<&str, &OnceLock<PathBuf>>> = Mutex::new(BTreeMap::new());
    let cell = *IMPORTED
        .lock()
        .unwrap()
        .entry(B::ID)
        .or_insert_with(|| Box::leak(Box::default()));
    cell.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("demo-frozen")
            .join(B::ID);
        fs::create_dir_all(out.parent().unwrap()).unwrap();
        let import = || import::<B>(&root().join("demo").join(B::ID), &out, &Silent);
        let mut imported = import();
        if matches!(imported, Err(ImportError::Occupied(_))) {
            fs::remove_dir_all(&out).unwrap(); // an earlier state of the demo
            imported = import();
        }
        imported.unwrap();
        out
    })
}

/// As [`imported`], of the benchmark that has this id.
pub(crate) fn imported_by_id(benchmark: &str) -> &'static Path {
    macro_rules! of_all {
        ($($benchmark:ty,)*) => {
            $(if benchmark == <$benchmark>::ID {
                return imported::<$benchmark>();
            })*
        };
    }
    dataperf_benchmarks::for_each_benchmark!(of_all);
    panic!("no benchmark is called `{benchmark}`")
}

/// The demo's data set of Selection for Speech.
pub(crate) fn frozen() -> &'static Path {
    imported::<SpeechSelection>()
}

/// One of the demo's submissions.
#[derive(Debug, Clone)]
pub(crate) struct Demo {
    pub(crate) path: PathBuf,
    pub(crate) leaderboard: String,
    /// The key it is uploaded under.
    pub(crate) key: String,
    /// scikit-learn's result; `None` if it must be refused.
    pub(crate) expected: Option<Expected>,
}

/// A score by scikit-learn.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub(crate) score: f64,
    pub(crate) per_seed: Vec<f64>,
}

impl Demo {
    fn new(name: &str, expected: Option<Expected>) -> Self {
        let leaderboard = name.split('/').next().unwrap().to_owned();
        let path = demo().join("submissions").join(name);
        Self {
            path,
            leaderboard,
            key: format!("{BENCHMARK}/{name}"),
            expected,
        }
    }
}

/// All of the demo's submissions, the good ones with their expected scores.
pub(crate) fn demo_submissions() -> Vec<Demo> {
    let text = fs::read_to_string(demo().join("expected_scores.json")).unwrap();
    let listed: Value = serde_json::from_str(&text).unwrap();
    let expected = |scores: &Value| Expected {
        score: scores["score"].as_f64().unwrap(),
        per_seed: floats(&scores["per_seed"]),
    };
    let scored = listed["scored"].as_object().unwrap().iter();
    let scored = scored.map(|(name, scores)| Demo::new(name, Some(expected(scores))));
    let refused = listed["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| Demo::new(name.as_str().unwrap(), None));
    scored.chain(refused).collect()
}

/// The numbers of a JSON array.
pub(crate) fn floats(array: &Value) -> Vec<f64> {
    array
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

/// A good submission to `en-25`, a different one for each `n` below 6.
pub(crate) fn good(n: usize) -> Vec<u8> {
    let mut of_board = demo_submissions();
    of_board.retain(|demo| demo.leaderboard == "en-25" && demo.expected.is_some());
    fs::read(&of_board[n % of_board.len()].path).unwrap()
}

/// The result of a run of `dataperf`.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The one JSON document it printed.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// It ended with 1, and this is among what it said.
    #[track_caller]
    pub(crate) fn assert_refused(&self, message: &str) {
        assert!(
            self.code == 1 && self.stderr.contains(message),
            "{message}: {self:?}"
        );
    }
}

/// Runs the command line.
pub(crate) fn dataperf<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Ran {
    let mut command = Command::new(binary("dataperf"));
    command.current_dir(root()); // where the demo is
    command
        .args(args)
        .env_remove("DATAPERF_LOCAL")
        .env_remove("RUST_LOG")
        .env("COLUMNS", "1000"); // where no line wraps
    let output = match tokio::runtime::Handle::try_current() {
        Ok(_) => tokio::task::block_in_place(|| command.output()),
        Err(_) => command.output(),
    };
    let output = output.unwrap();
    Ran {
        code: output.status.code().expect("it ended by itself"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the command line, which ends well.
pub(crate) fn ran<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Ran {
    let ran = dataperf(args);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

/// Runs the command line, which ends well and prints JSON.
pub(crate) fn ran_as_json<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Ran {
    let args = args.into_iter().map(|word| word.as_ref().to_owned());
    ran(["--format", "json"].map(OsString::from).into_iter().chain(args))
}

/// A path as a word of a command.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// `dataperf score` on the demo's data set.
pub(crate) fn score(leaderboard: &str, artifact: &Path) -> Ran {
    judge("score", leaderboard, artifact)
}

/// `dataperf score` or `validate` on the demo's data set.
pub(crate) fn judge(command: &str, leaderboard: &str, artifact: &Path) -> Ran {
    let (dataset, artifact) = (text(frozen()), text(artifact));
    dataperf(words!(
        "--format json {command} {BENCHMARK} --leaderboard {leaderboard} --dataset {dataset} {artifact}"
    ))
}

/// The codes of a verdict's reasons with how often each occurs.
pub(crate) fn codes(verdict: &Value) -> BTreeMap<String, usize> {
    let mut codes = BTreeMap::new();
    for reason in verdict["reasons"].as_array().into_iter().flatten() {
        *codes
            .entry(reason["code"].as_str().unwrap().to_owned())
            .or_insert(0) += 1;
    }
    codes
}
