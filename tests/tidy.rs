//! The project keeps its own conventions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dataperf_benchmarks::IDS;
use dataperf_nibbler::{BENCHMARK as ADVERSARIAL_NIBBLER, DESCRIPTOR};

use crate::project::root;

/// Functions that are no benchmark's.
const SERVANTS: [&str; 2] = ["caretaker", "leaderboards"];

/// `speech-selection` as `SpeechSelection`.
fn pascal_case(id: &str) -> String {
    let capitalised = |part: &str| part[..1].to_uppercase() + &part[1..];
    id.split('-').map(capitalised).collect()
}

/// What the trial before publishing holds contests to is half of what their function has.
fn the_trial_knows_what_the_function_has(id: &str, template: &str) {
    let trial = fs::read_to_string(root().join("cli/src/commands/dataset/trial.rs")).unwrap();
    let (_, block) = template
        .split_once(&format!("  {}Function:", pascal_case(id)))
        .unwrap();
    let number = |key: &str| {
        let (_, rest) = block.split_once(&format!("      {key}: ")).unwrap();
        rest.split_whitespace().next().unwrap().to_owned()
    };
    for line in [
        format!("const FUNCTION_SECONDS: f64 = {}.0;", number("Timeout")),
        format!("const FUNCTION_MB: u64 = {};", number("MemorySize")),
    ] {
        assert!(trial.contains(&line), "the trial has no `{line}`");
    }
}

#[test]
fn every_benchmark_has_one_name_everywhere() {
    let template = fs::read_to_string(root().join("template.yaml")).unwrap();
    for id in IDS {
        for path in [
            format!("functions/{id}/Cargo.toml"),
            format!("functions/{id}/src/main.rs"),
            format!("functions/{id}/tests/starts.rs"),
            format!("events/{id}.json"),
            format!("demo/{id}"),
        ] {
            assert!(root().join(&path).exists(), "`{id}` has no `{path}`");
        }
        let own = format!("shared/benchmarks/own_data/{id}");
        if root().join(&own).is_dir() {
            assert!(root().join(format!("{own}/mod.rs")).is_file(), "`{id}`");
            let document = format!("demo/{id}/task.yaml");
            assert!(root().join(&document).is_file(), "`{id}` has no `{document}`");
            the_trial_knows_what_the_function_has(id, &template);
        } else {
            for file in [
                "mod",
                "submission",
                "validation",
                "model",
                "metric",
                "import",
                "baselines",
            ] {
                let path = format!("shared/benchmarks/{}/{file}.rs", id.replace('-', "_"));
                assert!(root().join(&path).is_file(), "`{id}` has no `{path}`");
            }
        }
        let name = pascal_case(id);
        for line in [
            format!("  {name}Function:"),
            format!("        Binary: {id}"),
            format!("        Benchmark: {id}"),
            format!("                    Value: {id}/"),
        ] {
            assert!(
                template.lines().any(|found| found == line),
                "template.yaml has no line `{line}`"
            );
        }
        let dashboard = fs::read_to_string(root().join("infra/observability.yaml")).unwrap();
        assert!(
            dashboard.contains(&format!("${{Name}}-{id}\"")),
            "the dashboard in infra/observability.yaml does not show `{id}`"
        );
        let event = fs::read_to_string(root().join(format!("events/{id}.json"))).unwrap();
        assert!(
            event.contains(&format!("\"key\": \"{id}/")),
            "events/{id}.json is not an upload to `{id}`"
        );
    }
    for kind in DESCRIPTOR.kinds {
        let id = format!("{ADVERSARIAL_NIBBLER}-{kind}");
        let event = fs::read_to_string(root().join(format!("events/{id}.json"))).unwrap();
        let prefix = format!("{ADVERSARIAL_NIBBLER}/{kind}/");
        assert!(
            event.contains(&format!("\"key\": \"{prefix}")),
            "events/{id}.json"
        );
        assert!(
            root().join(format!("functions/{id}/tests/starts.rs")).exists(),
            "`{id}`"
        );
        for line in [
            format!("        Binary: {id}"),
            format!("        Kind: {kind}"),
            format!("                    Value: {prefix}"),
        ] {
            assert!(
                template.lines().any(|found| found == line),
                "template.yaml has no line `{line}`"
            );
        }
    }
    let of_nibbler = DESCRIPTOR
        .kinds
        .iter()
        .map(|kind| format!("{ADVERSARIAL_NIBBLER}-{kind}"));
    let others = IDS.iter().copied().chain(SERVANTS).map(str::to_owned);
    let mut known: Vec<String> = others.chain(of_nibbler).collect();
    known.sort_unstable();
    assert_eq!(
        functions(),
        known,
        "each function is a registered benchmark's, or serves all of them"
    );
}

/// The packages of the functions, ascending.
fn functions() -> Vec<String> {
    let mut functions: Vec<String> = fs::read_dir(root().join("functions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    functions.sort();
    functions
}

/// Asks cargo what it knows without a network: on a machine that has only built the project, that is of this target alone.
fn cargo(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(args)
        .arg("--offline")
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_pure_crates_know_no_cloud_and_no_runtime() {
    for package in [
        "dataperf",
        "dataperf-benchmarks",
        "dataperf-numerics",
        "dataperf-nibbler",
    ] {
        assert_pure(package);
    }
}

/// Fails if a crate of the cloud or of an asynchronous runtime is among what `package` needs.
fn assert_pure(package: &str) {
    let tree = cargo(&[
        "tree",
        "--package",
        package,
        "--edges",
        "normal",
        "--all-features",
        "--prefix",
        "none",
    ]);
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&package) && names.contains(&"thiserror"), "{tree}");
    for name in names {
        let foreign = ["aws", "tokio", "lambda", "hyper", "reqwest", "async-std", "smol"]
            .iter()
            .find(|word| name.starts_with(**word));
        assert_eq!(foreign, None, "`{name}` is in the tree of `{package}`");
    }
}

/// The crates that `package` is compiled with, without those of its tests.
fn needed(package: &str) -> BTreeSet<String> {
    let tree = cargo(&[
        "tree",
        "--package",
        package,
        "--edges",
        "normal",
        "--prefix",
        "none",
    ]);
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    assert!(names.contains(package), "{tree}");
    names
}

/// The crates of this project that `package` is compiled with.
fn ours(package: &str) -> Vec<String> {
    let names = needed(package).into_iter();
    names.filter(|name| name.starts_with("dataperf")).collect()
}

/// The core needs the models, and benchmarks need both; the models need no crate of this project. What importers and baselines
/// share knows no benchmark.
#[test]
fn what_is_shared_knows_no_benchmark() {
    assert_eq!(ours("dataperf-numerics"), ["dataperf-numerics"]);
    assert_eq!(ours("dataperf"), ["dataperf", "dataperf-numerics"]);
    assert_eq!(
        ours("dataperf-benchmarks"),
        ["dataperf", "dataperf-benchmarks", "dataperf-numerics"]
    );
    for shared in ["dataperf-datasets", "dataperf-baselines"] {
        let known = ["dataperf", "dataperf-numerics", shared];
        assert!(
            ours(shared).iter().all(|name| known.contains(&name.as_str())),
            "{shared}"
        );
    }
}

/// Who scores offline compiles no cloud, and a release can inject no faults.
#[test]
fn the_command_line_is_built_without_a_cloud_and_without_faults() {
    let arguments = [
        "tree",
        "--package",
        "dataperf-cli",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ];
    let offline = cargo(&[&arguments[..], &["--no-default-features"]].concat());
    for foreign in ["dataperf-local", "rusqlite", "s3s", "axum"] {
        let is_it = |line: &str| line.starts_with(&format!("{foreign} "));
        assert!(
            !offline.lines().any(is_it),
            "`{foreign}` is in the command line for offline use"
        );
    }
    let whole = cargo(&[&arguments[..], &["--format", "{p} features:{f}"]].concat());
    let local = whole.lines().find(|line| line.starts_with("dataperf-local "));
    assert!(local.is_some_and(|line| !line.contains("faults")), "{local:?}");
}

/// A function evaluates artifacts: no importer, no reader of Parquet and no learner of a baseline is compiled into it.
#[test]
fn functions_import_nothing_and_have_no_baselines() {
    for function in functions() {
        let needed = needed(&function);
        for foreign in [
            "parquet",
            "serde-saphyr",
            "smartcore",
            "linfa",
            "dataperf-audit",
            "dataperf-datasets",
            "dataperf-baselines",
        ] {
            assert!(
                !needed.contains(foreign),
                "`{function}` is compiled with `{foreign}`"
            );
        }
    }
}

fn manifests() -> Vec<PathBuf> {
    let metadata: serde_json::Value =
        serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--no-deps"])).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| package["manifest_path"].as_str().unwrap().into())
        .collect()
}

#[test]
fn every_crate_has_the_lints() {
    let manifests = manifests();
    assert!(manifests.len() >= 7, "{manifests:?}");
    for manifest in manifests {
        let text = fs::read_to_string(&manifest).unwrap();
        let has = |line: &str| text.lines().any(|found| found == line);
        let inherits = has("[lints]") && has("workspace = true");
        let has_its_own = has("[lints.rust]") && has("[lints.clippy]") && has("unwrap_used = \"warn\"");
        assert!(inherits || has_its_own, "`{}` has no lints", manifest.display());
    }
}

/// The project's own Rust files.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn nothing_is_left_undone() {
    // Split, so that this file does not find itself.
    let undone = ["todo", "unimplemented"]
        .map(|name| format!("{name}!("))
        .into_iter()
        .chain([["#[ig", "nore]"].concat()]);
    let undone: Vec<String> = undone
        .chain(["TO", "FIX"].map(|start| format!("{start}{}", if start == "TO" { "DO" } else { "ME" })))
        .collect();
    let mut files = Vec::new();
    sources(root(), &mut files);
    assert!(files.len() > 80, "{}", files.len());
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        for word in &undone {
            assert!(!text.contains(word), "`{}` has `{word}`", path.display());
        }
    }
}

/// What is hosted has one seam, its descriptor: whoever knows Adversarial Nibbler by name is Adversarial Nibbler, or registers
/// it.
#[test]
fn only_the_registration_knows_adversarial_nibbler() {
    let registration = "functions/leaderboards/Cargo.toml";
    let mut n_files = 0;
    for folder in [
        "shared/dataperf/src",
        "shared/dataperf-aws/src",
        "functions/leaderboards/src",
        "local/src",
    ] {
        let mut files = Vec::new();
        sources(&root().join(folder), &mut files);
        n_files += files.len();
        for path in files {
            let text = fs::read_to_string(&path).unwrap().to_lowercase();
            let line = text.lines().position(|line| line.contains("nibbler"));
            assert_eq!(line.map(|line| line + 1), None, "`{}`", path.display());
        }
    }
    assert!(n_files > 150, "{n_files}");
    let manifest = fs::read_to_string(root().join(registration)).unwrap();
    assert!(!manifest.contains("nibbler"), "`{registration}`");
    let hosted = fs::read_to_string(root().join("shared/hosted/src/lib.rs")).unwrap();
    assert!(hosted.contains("dataperf_nibbler::DESCRIPTOR"));
}

#[test]
fn the_compiler_is_not_pinned_twice() {
    assert!(!root().join("rust-toolchain.toml").exists() && !root().join("rust-toolchain").exists());
}
