//! `dataperf dataset import`: the same bytes every time, or every problem at once and nothing left behind.

use std::fs;
use std::path::Path;

use crate::support::project::{BENCHMARK, Ran, dataperf, demo, root};
use crate::support::small_language::{Layout, everything_in, manifest};
use safetensors::SafeTensors;

fn import(from: &Path, out: &Path) -> Ran {
    let words = ["--format", "json", "dataset", "import", BENCHMARK, "--from"].map(str::as_ref);
    dataperf(
        words
            .into_iter()
            .chain([from.as_os_str(), "--out".as_ref(), out.as_os_str()]),
    )
}

/// One thing that is wrong with a layout, or several: the change, and what the message has to name.
struct Wrong {
    about: &'static str,
    change: fn(&mut Layout),
    afterwards: fn(&Path),
    named: &'static [&'static str],
}

impl Wrong {
    const fn layout(about: &'static str, change: fn(&mut Layout), named: &'static [&'static str]) -> Self {
        Self {
            about,
            change,
            afterwards: |_| (),
            named,
        }
    }

    const fn files(about: &'static str, afterwards: fn(&Path), named: &'static [&'static str]) -> Self {
        Self {
            about,
            change: |_| (),
            afterwards,
            named,
        }
    }
}

fn remove(path: impl AsRef<Path>) {
    fs::remove_file(path).unwrap();
}

const WRONG: &[Wrong] = &[
    Wrong::files(
        "parquet files are missing",
        |root| {
            remove(root.join("train_embeddings/job.parquet"));
            remove(root.join("train_embeddings/about.parquet"));
            remove(root.join("eval_embeddings/route.parquet"));
        },
        &[
            "train_embeddings/job.parquet",
            "train_embeddings/about.parquet",
            "eval_embeddings/route.parquet",
        ],
    ),
    Wrong::files(
        "a list is missing",
        |root| remove(root.join("eval.yaml")),
        &["eval.yaml"],
    ),
    Wrong::files(
        "a list is no YAML and the other is of another form",
        |root| {
            fs::write(root.join("eval.yaml"), "targets: [unclosed").unwrap();
            fs::write(root.join("allowed_training_set.yaml"), "targets: 7\n").unwrap();
        },
        &["eval.yaml", "allowed_training_set.yaml"],
    ),
    Wrong::files(
        "a list is empty",
        |root| fs::write(root.join("eval.yaml"), "").unwrap(),
        &["eval.yaml"],
    ),
    Wrong::files(
        "parquet files are cut off or no parquet",
        |root| {
            let path = root.join("train_embeddings/job.parquet");
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
            fs::write(root.join("eval_embeddings/house.parquet"), "not parquet").unwrap();
        },
        &["train_embeddings/job.parquet", "eval_embeddings/house.parquet"],
    ),
    Wrong::layout(
        "listed ids have no row",
        |layout| {
            layout
                .train
                .targets
                .get_mut("job")
                .unwrap()
                .push("job/nowhere.wav".into());
            layout.eval.nontargets.push("about/nowhere.wav".into());
        },
        &["`job/nowhere.wav`", "`about/nowhere.wav`"],
    ),
    Wrong::layout(
        "numbers are not finite",
        |layout| {
            layout.train.table("job").vectors[1].as_mut().unwrap()[3] = f64::NAN;
            layout.eval.table("about").vectors[2].as_mut().unwrap()[0] = f64::NEG_INFINITY;
        },
        &[
            "`job/common_voice_en_001.wav`",
            "NaN",
            "`about/common_voice_en_502.wav`",
            "inf",
        ],
    ),
    Wrong::layout(
        "vectors differ in length",
        |layout| {
            layout.train.table("route").vectors[0].as_mut().unwrap().pop();
            layout.eval.table("house").vectors[3] = Some(vec![]);
        },
        &[
            "`route/common_voice_en_000.wav` has 5 numbers instead of 6",
            "`house/common_voice_en_503.wav` has 0 numbers",
        ],
    ),
    Wrong::layout(
        "a vector is null",
        |layout| layout.train.table("job").vectors[2] = None,
        &["`job/common_voice_en_002.wav`", "null"],
    ),
    Wrong::layout(
        "a number needs more than 32 bits",
        |layout| {
            let table = layout.train.table("job");
            table.is_wide = true;
            table.vectors[0].as_mut().unwrap()[0] = 0.1;
        },
        &["`job/common_voice_en_000.wav`", "0.1", "32-bit"],
    ),
    Wrong::layout(
        "lists name ids twice",
        |layout| {
            let first = layout.train.targets["job"][0].clone();
            layout.train.targets.get_mut("job").unwrap().push(first);
            let first = layout.eval.nontargets[0].clone();
            layout.eval.nontargets.push(first);
        },
        &[
            "`allowed_training_set.yaml` lists `job/common_voice_en_000.wav` twice",
            "`eval.yaml` lists `about/common_voice_en_500.wav` twice",
        ],
    ),
    Wrong::layout(
        "a file has a clip twice",
        |layout| {
            let table = layout.eval.table("route");
            table.ids[1] = table.ids[0].clone();
            layout.eval.targets.get_mut("route").unwrap().remove(1);
        },
        &["route.parquet", "`route/common_voice_en_500.wav` twice"],
    ),
    Wrong::layout(
        "a target word is in one list only",
        |layout| {
            layout.eval.targets.remove("job");
            layout.train.targets.remove("route");
        },
        &["`job`", "`route`"],
    ),
    Wrong::layout(
        "there are no nontargets",
        |layout| layout.eval.nontargets.clear(),
        &["`eval.yaml` lists no nontargets"],
    ),
    Wrong::layout(
        "a column has another name",
        |layout| layout.train.table("job").id_column = "ClipId",
        &["job.parquet", "`clip_id`", "`ClipId`"],
    ),
    Wrong::layout(
        "a word is a path",
        |layout| {
            let ids = layout.train.nontargets[0].clone();
            layout.train.nontargets[0] = ids.replace("about/", "../");
        },
        &["`..`"],
    ),
];

#[test]
fn a_failed_import_names_every_problem() {
    for Wrong {
        about,
        change,
        afterwards,
        named,
    } in WRONG
    {
        let scratch = tempfile::tempdir().unwrap();
        let mut layout = Layout::default();
        change(&mut layout);
        let root = layout.write(scratch.path());
        afterwards(&root);
        let before = everything_in(scratch.path());
        let ran = import(&root, &scratch.path().join("out"));
        assert_eq!(ran.code, 1, "{about}: {ran:?}");
        assert_eq!(ran.stdout, "", "{about}");
        for name in *named {
            assert!(
                ran.stderr.contains(name),
                "{about}: `{name}` is not named in {}",
                ran.stderr
            );
        }
        assert_eq!(
            everything_in(scratch.path()),
            before,
            "{about}: something was left behind"
        );
    }
}

#[test]
fn a_source_that_is_none() {
    let scratch = tempfile::tempdir().unwrap();
    let (empty, file, out) = (
        scratch.path().join("empty"),
        scratch.path().join("file"),
        scratch.path().join("out"),
    );
    fs::create_dir(&empty).unwrap();
    fs::write(&file, "").unwrap();
    for (from, message) in [
        (&empty, "allowed_training_set.yaml"),
        (&file, "not a directory"),
        (&scratch.path().join("nowhere"), "nowhere"),
    ] {
        let ran = import(from, &out);
        ran.assert_refused(message);
        assert!(!out.exists());
    }
}

#[test]
fn existing_destination_files_stay_unchanged() {
    let scratch = tempfile::tempdir().unwrap();
    let root = Layout::default().write(scratch.path());
    let directory = scratch.path().join("directory");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("thesis.tex"), "years of work").unwrap();
    let file = scratch.path().join("file");
    fs::write(&file, "a file").unwrap();
    let before = everything_in(scratch.path());
    for out in [&directory, &file] {
        let ran = import(&root, out);
        ran.assert_refused("exists already");
    }
    assert_eq!(everything_in(scratch.path()), before);
    assert_eq!(
        fs::read_to_string(directory.join("thesis.tex")).unwrap(),
        "years of work"
    );
    assert_eq!(fs::read_to_string(file).unwrap(), "a file");

    let empty = scratch.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(import(&root, &empty).code, 0, "an empty directory is a place");
}

#[test]
fn the_same_source_gives_the_same_data_set() {
    let scratch = tempfile::tempdir().unwrap();
    let out = |name: &str| scratch.path().join(name);
    let layout = Layout::default();
    let root = layout.write(scratch.path());
    let digest = |ran: &Ran| {
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()["dataset"].as_str().unwrap().to_owned()
    };
    let first = digest(&import(&root, &out("first")));
    assert_eq!(digest(&import(&root, &out("second"))), first);
    assert_eq!(
        digest(&import(&root, &out("first"))),
        first,
        "again into the same directory"
    );
    assert_eq!(digest(&import(&root, &out("deep/er"))), first, "parents are made");

    let mut wide = layout.clone();
    wide.train
        .tables
        .values_mut()
        .for_each(|table| table.is_wide = true);
    let root = wide.write(&out("wide"));
    assert_eq!(
        digest(&import(&root, &out("third"))),
        first,
        "the same numbers in 64 bits"
    );
    assert_eq!(
        digest(&import(&out("wide"), &out("fourth"))),
        first,
        "a directory of languages"
    );

    let mut other = layout;
    other.eval.table("job").vectors[0].as_mut().unwrap()[0] += 1.0;
    let root = other.write(&out("changed"));
    assert_ne!(digest(&import(&root, &out("fifth"))), first);
}

#[test]
fn the_files_are_safetensors() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("frozen");
    assert_eq!(import(&demo(), &out).code, 0);
    let manifest = manifest(&out);
    let mut n_tensors = 0;
    for (name, file) in manifest["files"].as_object().unwrap() {
        let bytes = fs::read(out.join(name)).unwrap();
        assert_eq!(file["n_bytes"], bytes.len());
        if !name.ends_with(".safetensors") {
            continue;
        }
        let opened = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(opened.len(), file["tensors"].as_object().unwrap().len());
        for (tensor, entry) in file["tensors"].as_object().unwrap() {
            let stored = opened.tensor(tensor).unwrap();
            assert_eq!(entry["dtype"], format!("{:?}", stored.dtype()));
            assert_eq!(entry["shape"], serde_json::json!(stored.shape()));
            let begin = entry["begin"].as_u64().unwrap() as usize;
            assert!(
                bytes[begin..].starts_with(stored.data()),
                "`{tensor}` of `{name}` begins where the manifest says"
            );
            n_tensors += 1;
        }
    }
    assert_eq!(
        n_tensors, 12,
        "train embeddings and their digests, test embeddings and classes of three languages"
    );
}

/// Copies the shipped layout of a benchmark.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn importers_of_public_layouts_name_other_files() {
    const PAGE: &[u8] = b"<!DOCTYPE html><title>Sign in</title>";
    const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    let scratch = tempfile::tempdir().unwrap();
    for (benchmark, ending, bytes, named) in [
        ("vision-debugging", "csv", PAGE, "a web page"),
        ("vision-selection", "csv", POINTER, "a pointer of Git LFS"),
        ("data-acquisition", "csv", PAGE, "a web page"),
        (
            "data-acquisition",
            "txt",
            &b"\x1f\x8b\x08\0\0\0\0\0"[..],
            "compressed with gzip",
        ),
        (
            "speech-selection",
            "yaml",
            &b"PK\x03\x04\x14\0\0\0"[..],
            "a zip archive",
        ),
        ("selection", "yaml", PAGE, "a web page"),
    ] {
        let from = scratch.path().join(format!("{benchmark}-{ending}"));
        copied(&root().join("demo").join(benchmark), &from);
        let all = everything_in(&from);
        let is_replaced =
            |path: &&String| path.ends_with(&format!(".{ending}")) && !path.starts_with("submissions/");
        let replaced: Vec<&String> = all.iter().filter(is_replaced).collect();
        assert!(!replaced.is_empty(), "{benchmark}: no `.{ending}`");
        for path in replaced {
            fs::write(from.join(path), bytes).unwrap();
        }
        let words = ["dataset", "import", benchmark, "--from"].map(str::as_ref);
        let out = scratch.path().join("frozen");
        let words = words.into_iter();
        let ran = dataperf(words.chain([from.as_os_str(), "--out".as_ref(), out.as_os_str()]));
        assert_eq!(ran.code, 1, "{benchmark}: {ran:?}");
        assert!(ran.stderr.contains(named), "{benchmark}, `.{ending}`: {ran:?}");
    }
}
