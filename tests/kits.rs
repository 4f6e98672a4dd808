//! Participants' kits: of every benchmark, with all that somebody needs who takes part, and nothing hidden.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use aws_sdk_s3::error::ProvideErrorMetadata;
use dataperf::frozen::Manifest;
use dataperf_aws::Clients;
use dataperf_benchmarks::IDS;
use dataperf_local::Identity;
use serde_json::{Value, json};
use ureq::http::Response;

use crate::access::deployed;
use crate::organizer::{copy, digest, other_dataset};
use crate::project::{BENCHMARK, Ran, dataperf, frozen, hosted, root};
use crate::read_api::{ANONYMOUS, Answer, Reading};
use crate::world::World;

/// Hidden rows of one tensor that are searched for.
const N_SEARCHED: usize = 12;

fn ran(args: &[&str]) -> Ran {
    let ran = dataperf(["--format", "json"].iter().chain(args));
    assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    ran
}

fn of(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The demo's data set of a benchmark, and its kit.
pub(crate) struct Exported {
    pub(crate) frozen: PathBuf,
    pub(crate) kit: PathBuf,
    pub(crate) manifest: Manifest,
    _scratch: tempfile::TempDir,
}

impl Exported {
    pub(crate) fn new(benchmark: &str) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let [frozen, kit] = ["frozen", "kit"].map(|name| scratch.path().join(name));
        let from = root().join("demo").join(benchmark);
        let (from, out) = (of(&from), of(&frozen));
        ran(&["dataset", "import", benchmark, "--from", from, "--out", out]);
        ran(&["dataset", "show", out, "--public", of(&kit)]);
        let manifest = fs::read(frozen.join("manifest.json")).unwrap();
        Self {
            manifest: Manifest::parse(&manifest, benchmark).unwrap(),
            frozen,
            kit,
            _scratch: scratch,
        }
    }

    fn boards(&self) -> Vec<String> {
        let boards = (hosted(&self.manifest.benchmark).leaderboards)(&self.manifest).unwrap();
        boards.into_iter().map(|board| board.name).collect()
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
fn a_kit_validates_makes_baselines_and_scores_where_it_can() {
    let mut n_scoring = 0;
    for benchmark in IDS {
        let exported = Exported::new(benchmark);
        let kit = of(&exported.kit);
        let shown = ran(&["dataset", "show", kit]).json();
        assert!(shown["corrected"].is_null(), "{shown}");
        ran(&["dataset", "verify", kit]);
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
        let listed = ran(&["baseline", "list", "--dataset", kit]).json();
        let only: Vec<&String> = listed.as_object().unwrap().keys().collect();
        assert_eq!(only, [benchmark]);
        shows_an_example_of_its_own(&exported, &readme);
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
            let valid = with("validate", of(&example));
            assert_eq!(valid.json()["status"], "valid", "{benchmark}: {valid:?}");
            let scored = with("score", of(&example));
            if can_score {
                assert_eq!(scored.code, 0, "{benchmark}: {scored:?}");
                assert_eq!(scored.json()["metrics"]["eval_set"], "public", "{benchmark}");
            } else {
                assert_eq!(scored.code, 1, "{benchmark}: {scored:?}");
                for said in [
                    "it is a participants' kit",
                    "keeps that hidden",
                    "upload the artifact",
                ] {
                    assert!(scored.stderr.contains(said), "{benchmark}: {scored:?}");
                }
            }
            let bad = exported.kit.join("bad.json");
            fs::write(&bad, "{}").unwrap();
            let rejected = with("validate", of(&bad));
            assert_eq!(rejected.code, 2, "{benchmark}: {rejected:?}");
            fs::remove_file(bad).unwrap();
        }
        makes_the_same_baselines(benchmark, &exported, can_score);
    }
    assert!(n_scoring > 0);
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
fn a_kit_whose_files_were_changed_is_refused() {
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
            of(&exported.kit),
            "--leaderboard",
            board,
            of(&example),
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
    let listed = ran(&["baseline", "list"]).json();
    let methods = listed[benchmark].as_array().unwrap();
    let cheap = ["random", "consecutive", "uniform", "as-it-is"];
    let is_cheap = |method: &&Value| cheap.contains(&method["name"].as_str().unwrap());
    let method = methods.iter().find(is_cheap).unwrap()["name"].as_str().unwrap();
    let board = &exported.boards()[0];
    let made = [&exported.frozen, &exported.kit].map(|dataset| {
        let out = exported.frozen.with_extension("artifact");
        let where_ = [
            "--dataset",
            of(dataset),
            "--leaderboard",
            board,
            "--out",
            of(&out),
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
    bytes.windows(part.len()).any(|window| window == part)
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
                let found = files.iter().find(|(_, bytes)| has(bytes, &part));
                assert_eq!(found.map(|(file, _)| file), None, "{benchmark}: of {path}");
            }
        }
    }
    println!("parts of hidden files that are in no kit: {n_searched:?}");
    assert!(
        IDS.iter().all(|benchmark| n_searched[benchmark] > 10),
        "{n_searched:?}"
    );
}

struct Fetched {
    status: u16,
    bytes: Vec<u8>,
    disposition: String,
    location: String,
}

/// What is at an address, without following where it leads.
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

const KIT: &str = "/api/v1/benchmarks/speech-selection/leaderboards/en-25/kit";

fn location(answer: &Answer) -> String {
    assert_eq!(answer.status, 302, "{answer:?}");
    assert_eq!(answer.header("cache-control"), "private, no-store");
    answer.header("location").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishing_stores_the_kit_and_the_page_leads_to_it_and_to_nothing_else() {
    let reading = Reading::of(World::new().await).await;
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
    let refused = world.command(&["dataset", "publish", "--stage", of(&exported.kit)]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("it is a participants' kit; publish the data set that was imported"),
        "{}",
        refused.stderr
    );
    let mut files = exported.files();
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(&archive)).unwrap();
    for at in 0..zip.len() {
        let mut entry = zip.by_index(at).unwrap();
        let path = entry
            .name()
            .strip_prefix("speech-selection-kit/")
            .unwrap()
            .to_owned();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        assert!(files.remove(Path::new(&path)).unwrap() == bytes, "{path}");
    }
    assert!(files.is_empty(), "{:?}", files.keys());

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
    let staged = world.command(&["dataset", "publish", "--stage", of(&hidden)]);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rounds_own_data_set_is_offered_once_it_opens_and_its_final_one_never() {
    let reading = Reading::of(World::new().await).await;
    let world = &reading.world;
    let pinned = other_dataset(world);
    let staged = world.command(&["dataset", "publish", "--stage", of(&pinned)]);
    assert_eq!(staged.code, 0, "{staged:?}");
    let last = world.scratch().join("last");
    copy(&pinned, &last);
    let manifest = fs::read_to_string(last.join("manifest.json")).unwrap();
    fs::write(last.join("manifest.json"), format!("{manifest}\n")).unwrap();
    let staged = world.command(&["dataset", "publish", "--stage", of(&last)]);
    assert_eq!(staged.code, 0, "{staged:?}");
    let (pinned, last, in_force) = (digest(&pinned), digest(&last), digest(frozen()));
    let round = |id: &str, opens: &str, closes: &str, which: &str| {
        let dataset = if which == "final" { last } else { pinned };
        json!({ "id": id, "opens": opens, "closes": closes, which: dataset.to_string() })
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
    let ran = world.command(&["challenge", "publish", of(&document)]);
    assert_eq!(ran.code, 0, "{ran:?}");
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
async fn a_kit_is_stored_once_and_without_one_none_is_offered() {
    let reading = Reading::of(World::new().await).await;
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
async fn the_read_apis_role_reads_kits_and_nothing_hidden() {
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
