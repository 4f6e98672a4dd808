//! The project keeps its own conventions.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use dataperf_benchmarks::IDS;
use dataperf_hosted::deployment::SHARED_FUNCTIONS;
use dataperf_hosted::lists::TEMPLATES;
use dataperf_hosted::{HOSTED, functions_of};

use crate::support::project::root;

#[test]
fn every_benchmark_has_a_demo() {
    for id in IDS {
        assert!(root().join("demo").join(id).is_dir(), "`{id}` has no demo");
    }
}

/// A program writes the lists of hosted parts in the templates of `infra/`.
#[test]
fn the_templates_list_all_hosted_parts() {
    for template in &TEMPLATES {
        let text = fs::read_to_string(root().join(template.path)).unwrap();
        let wanted = template.with_lists(&text).unwrap();
        let mut lines = text.lines().zip(wanted.lines());
        assert!(
            text == wanted,
            "the lists in `{}` are not those that follow from what is hosted; this command writes them: \
             `cargo run -p dataperf-hosted --example infra-lists`. The first line that differs, and what it should be: {:?}",
            template.path,
            lines.find(|(actual, wanted)| actual != wanted)
        );
    }
}

/// Each function's parts in the template, the local cloud's rights and the list of packages follow
/// from the hosted parts.
#[test]
fn everything_deployed_is_hosted() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let (template, policies) = (read("template.yaml"), read("infra/policies.json"));
    let mut known: Vec<&str> = SHARED_FUNCTIONS.into();
    assert!(IDS.iter().all(|id| dataperf_hosted::hosted(id).is_some()));
    for hosted in HOSTED {
        for (function, prefix) in functions_of(hosted) {
            assert!(
                root().join(format!("functions/{function}/main.rs")).exists(),
                "`{function}`"
            );
            let event = read(&format!("events/{function}.json"));
            assert!(
                event.contains(&format!("\"key\": \"{prefix}")),
                "events/{function}.json is no upload to `{prefix}`"
            );
            for line in [
                format!("        Binary: {function}"),
                format!("        Benchmark: {}", hosted.id),
                format!("                    Value: {prefix}"),
            ] {
                let has_line = template.lines().any(|other| other == line);
                assert!(has_line, "template.yaml has no line `{line}`");
            }
            assert!(
                policies.contains(&format!("\n \"{function}\": {{")),
                "infra/policies.json has no rights of `{function}`"
            );
            known.push(function);
        }
    }
    // forms are signed for what is hosted, and for nothing else
    let signed: Vec<&str> = HOSTED.iter().map(|hosted| hosted.id).collect();
    let signer = read("infra/signer.yaml");
    let allowed = signer
        .lines()
        .filter_map(|line| line.split_once("-submissions-${AWS::AccountId}-${AWS::Region}/"))
        .filter(|(_, prefix)| *prefix != "*/_/*"); // which is denied
    let allowed: Vec<&str> = allowed.map(|(_, prefix)| prefix.trim_end_matches("/*")).collect();
    assert_eq!(allowed, signed, "infra/signer.yaml");
    known.sort_unstable();
    assert_eq!(
        functions(),
        known,
        "each function is of something hosted, or serves all of it"
    );
}

/// The functions, ascending: folders with a `main.rs`.
fn functions() -> Vec<String> {
    let mut functions: Vec<String> = fs::read_dir(root().join("functions"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("main.rs").is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
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
fn pure_crates_depend_on_no_cloud_or_runtime() {
    for package in [
        "dataperf",
        "dataperf-benchmarks",
        "dataperf-closed",
        "dataperf-collections",
        "dataperf-numerics",
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
fn shared_crates_depend_on_no_benchmark() {
    assert_eq!(ours("dataperf-numerics"), ["dataperf-numerics"]);
    assert_eq!(ours("dataperf"), ["dataperf", "dataperf-numerics"]);
    assert_eq!(
        ours("dataperf-benchmarks"),
        [
            "dataperf",
            "dataperf-benchmarks",
            "dataperf-collections", // the models of Adversarial Text compete
            "dataperf-numerics",
        ]
    );
    for shared in ["dataperf-closed", "dataperf-datasets", "dataperf-baselines"] {
        let known = ["dataperf", "dataperf-numerics", shared];
        assert!(
            ours(shared).iter().all(|name| known.contains(&name.as_str())),
            "{shared}"
        );
    }
}

/// Offline scoring compiles no cloud, and a release can inject no faults.
#[test]
fn the_command_line_builds_without_cloud_and_faults() {
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
    for foreign in [
        "aws-",
        "dataperf-aws",
        "dataperf-local",
        "hyper",
        "rusqlite",
        "rustls",
        "s3s",
        "wasmtime",
    ] {
        let is_it = |line: &str| line.starts_with(foreign);
        assert!(
            !offline.lines().any(is_it),
            "`{foreign}` is in the command line for offline use"
        );
    }
    let whole = cargo(&[&arguments[..], &["--format", "{p} features:{f}"]].concat());
    let local = whole.lines().find(|line| line.starts_with("dataperf-local "));
    assert!(local.is_some_and(|line| !line.contains("faults")), "{local:?}");
    let closed = whole.lines().find(|line| line.starts_with("dataperf-closed "));
    assert!(
        closed.is_some_and(|line| line.contains("python") && !line.contains("drills")),
        "{closed:?}"
    );
}

/// A host that is weakened for drills is for tests only. A deployed one has no interpreter
/// variable, without which it runs no Python.
#[test]
fn the_aws_program_function_excludes_drills_and_python() {
    let arguments = [
        "tree",
        "--package",
        "dataperf-functions",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ];
    let whole = cargo(&[&arguments[..], &["--format", "{p} features:{f}"]].concat());
    let closed = whole.lines().find(|line| line.starts_with("dataperf-closed "));
    let has_none = |line: &str| !line.contains("drills");
    assert!(closed.is_some_and(has_none), "{closed:?}");
    let variable = "DATAPERF_PYTHON";
    let function = fs::read_to_string(root().join("functions/closed/main.rs")).unwrap();
    assert!(
        function.contains(&format!("\"{variable}\"")),
        "it has another name"
    );
    let mut templates = vec![root().join("template.yaml"), root().join("samconfig.toml")];
    templates.extend(
        fs::read_dir(root().join("infra"))
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    for template in templates.iter().filter(|path| path.is_file()) {
        let text = fs::read_to_string(template).unwrap();
        assert!(!text.contains(variable), "`{}` sets it", template.display());
    }
}

/// A function evaluates artifacts: no importer, no reader of Parquet and no learner of a baseline is compiled into it.
#[test]
fn functions_import_nothing_and_have_no_baselines() {
    let needed = needed("dataperf-functions");
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
            "functions are compiled with `{foreign}`"
        );
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
        let has = |line: &str| text.lines().any(|other| other == line);
        let inherits = has("[lints]") && has("workspace = true");
        let has_its_own = has("[lints.rust]") && has("[lints.clippy]") && has("unwrap_used = \"warn\"");
        assert!(inherits || has_its_own, "`{}` has no lints", manifest.display());
    }
}
