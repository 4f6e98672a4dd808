//! Adversarial Nibbler's frozen data set: what an organizer decides, checked before anybody depends on it.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::fs;
use std::path::{Path, PathBuf};

use dataperf::frozen::Manifest;
use dataperf_datasets::{ImportError, Silent, export_public, import_nibbler};
use dataperf_nibbler::{
    BENCHMARK, CONFIGURATION_FILE, Configuration, EmbeddingKind, MODEL_DIRECTORY, MODEL_FILES, PUBLIC_FILE,
    Parameters,
};
use tempfile::TempDir;

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../demo/adversarial-nibbler")
}

fn manifest(frozen: &Path) -> Manifest {
    Manifest::parse(&fs::read(frozen.join("manifest.json")).unwrap(), BENCHMARK).unwrap()
}

/// A directory with this configuration in it.
fn layout(configuration: &str) -> TempDir {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("configuration.yaml"), configuration).unwrap();
    scratch
}

const MINILM: &str = "embedding: all-MiniLM-L6-v2\n\
    generation: { providers: [{ name: a, url: 'https://images.example', model: m, secret: a }] }\n";

#[test]
fn the_sample_is_frozen_and_participants_see_their_part_of_it() {
    let scratch = tempfile::tempdir().unwrap();
    let (one, two) = (scratch.path().join("one"), scratch.path().join("two"));
    let digest = import_nibbler(&sample(), &one, &Silent).unwrap();
    assert_eq!(
        import_nibbler(&sample(), &two, &Silent).unwrap(),
        digest,
        "the same source, the same bytes"
    );
    let manifest = manifest(&one);
    let parameters: Parameters = manifest.parameters().unwrap();
    let boards: Vec<&str> = parameters
        .leaderboards
        .iter()
        .map(|board| board.name.as_str())
        .collect();
    assert_eq!(boards, ["model-fooling", "prompt-creativity"]);
    let configuration = Configuration::parse(&fs::read(one.join(CONFIGURATION_FILE)).unwrap()).unwrap();
    assert_eq!(Parameters::of(&configuration), parameters);
    assert_eq!(configuration.generation.n_images(), 4);
    let shown = scratch.path().join("shown");
    assert_eq!(export_public(&one, &manifest, &shown).unwrap(), ["rules.json"]);
    for text in [
        fs::read_to_string(shown.join("rules.json")).unwrap(),
        manifest.parameters.to_string(),
    ] {
        for secret in ["drawer", "pencil", "127.0.0.1", "swastika"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    assert!(manifest.files.contains_key(PUBLIC_FILE));
}

#[test]
fn everything_that_is_wrong_is_said_at_once_and_nothing_is_left_behind() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("frozen");
    let problems = |configuration: &str| {
        let from = layout(configuration);
        match import_nibbler(from.path(), &out, &Silent).unwrap_err() {
            ImportError::Refused { problems, .. } => problems,
            other => panic!("{other}"),
        }
    };
    let found = problems("validation: { raters: 4 }\nprompt: { languages: [english] }\n");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found
            .iter()
            .any(|problem| problem.starts_with("/validation/raters: 4 raters")),
        "{found:?}"
    );
    assert!(problems("[")[0].contains("is no YAML"));
    assert!(problems("providers: []")[0].contains("unknown field `providers`"));
    let found = problems(MINILM);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("there is no `config.json`"), "{found:?}");
    let empty = tempfile::tempdir().unwrap();
    let error = import_nibbler(empty.path(), &out, &Silent).unwrap_err();
    assert!(error.to_string().contains("it has no configuration"), "{error}");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn weights_are_taken_byte_for_byte() {
    let from = layout(MINILM);
    fs::create_dir(from.path().join("model")).unwrap();
    let weights = vec![7; 3 << 20]; // more than one buffer
    for (name, bytes) in MODEL_FILES.iter().zip([&b"{}"[..], b"{\"a\": 1}", &weights]) {
        fs::write(from.path().join("model").join(name), bytes).unwrap();
    }
    let out = from.path().join("frozen");
    import_nibbler(from.path(), &out, &Silent).unwrap();
    let manifest = manifest(&out);
    let entry = manifest
        .file(&format!("{MODEL_DIRECTORY}/model.safetensors"))
        .unwrap();
    assert_eq!(
        (entry.n_bytes, entry.digest),
        (3 << 20, dataperf::Digest::of(&weights))
    );
    assert_eq!(fs::read(out.join("minilm/model.safetensors")).unwrap(), weights);
    let parameters: Parameters = manifest.parameters().unwrap();
    assert_eq!(parameters.embedding, EmbeddingKind::MiniLm);
}
