//! Which cloud a command speaks to, in which form it answers, and what it says of a file that is none.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::sync::mpsc::{Receiver, channel};

use common::{text, words};

fn run(args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = common::command(args);
    command.envs(variables.iter().copied()).output().unwrap()
}

/// A server that claims to be the whole cloud, and refuses all other requests. It records its
/// requests.
fn cloud() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (heard, wanted) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut request, mut length) = (String::new(), 0);
            if reader.read_line(&mut request).is_err() {
                continue;
            }
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap_or_default();
                let lower = line.to_lowercase();
                if let Some(message) = lower.strip_prefix("content-length:") {
                    length = message.trim().parse().unwrap();
                }
                if let Some(message) = lower.strip_prefix("x-amz-target:") {
                    request.push_str(message.trim());
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            request.push_str(&String::from_utf8_lossy(&body));
            let (status, body) = if request.starts_with("GET /cloud.json ") {
                let ports = format!("{{\"s3\":{port},\"dynamodb\":{port},\"lambda\":{port}}}");
                ("200 OK", ports)
            } else {
                let refusal = "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ValidationException\",\"message\":\"no\"}";
                ("400 Bad Request", refusal.to_owned())
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\ncontent-type: application/x-amz-json-1.0\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(format!("{answer}{body}").as_bytes());
            let _ = heard.send(request);
        }
    });
    (format!("http://127.0.0.1:{port}"), wanted)
}

#[test]
fn a_local_cloud_is_discovered_from_its_page() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("clouds.yaml");
    let (url, wanted) = cloud();
    std::fs::write(&file, format!("laboratory: {{url: \"{url}\", table: other}}\n")).unwrap();
    let file = file.to_str().unwrap();
    for message in [url.as_str(), "laboratory"] {
        let ran = run(
            &["status", "speech-selection", "--cloud", message],
            &[("DATAPERF_CLOUDS", file)],
        );
        assert_eq!(ran.status.code(), Some(1), "it refuses: {ran:?}");
        let requests: Vec<String> = wanted.try_iter().collect();
        assert!(requests[0].starts_with("GET /cloud.json "), "{requests:?}");
        assert!(
            requests
                .iter()
                .any(|request| request.contains("dynamodb_20120810.query")),
            "{requests:?}"
        );
    }
    // from the variable, which an option overrides
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let elsewhere = format!("http://{closed}");
    let ran = run(
        &["status", "speech-selection", "--dynamodb-endpoint", &elsewhere],
        &[("DATAPERF_CLOUDS", file), ("DATAPERF_CLOUD", "laboratory")],
    );
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        text(&ran.stderr).contains("nothing answers at this address"),
        "{ran:?}"
    );
    assert!(
        wanted
            .try_iter()
            .all(|request| request.starts_with("GET /cloud.json "))
    );
}

/// The names of two installations are never mixed: an option overrides `--cloud`, and that
/// overrides variables.
#[test]
fn options_override_the_cloud_and_then_the_environment() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("clouds.yaml");
    let (url, wanted) = cloud();
    let profiles = format!("laboratory: {{url: \"{url}\", table: of-profile}}\nplain: {{url: \"{url}\"}}\n");
    std::fs::write(&file, profiles).unwrap();
    let variables = [
        ("DATAPERF_CLOUDS", file.to_str().unwrap()),
        ("DATAPERF_CLOUD", "plain"),
        ("DATAPERF_TABLE", "of-variable"),
    ];
    let endpoint = ["--dynamodb-endpoint", url.as_str()];
    for (options, expected) in [
        (&["--cloud", "laboratory"][..], "of-profile"),
        (&["--cloud", "laboratory", "--table", "of-option"], "of-option"),
        (
            &["--cloud", "laboratory", "--table", "of-variable"],
            "of-variable",
        ),
        (&[], "dataperf"),
        (&["--local", endpoint[0], endpoint[1]], "dataperf"),
    ] {
        let ran = run(&[&["status", "speech-selection"], options].concat(), &variables);
        assert_eq!(ran.status.code(), Some(1), "it refuses: {ran:?}");
        let requests: Vec<String> = wanted.try_iter().collect();
        let named = format!("\"TableName\":\"{expected}\"");
        let of_table = requests.iter().filter(|request| request.contains("TableName"));
        assert!(
            of_table.clone().count() > 0 && of_table.into_iter().all(|request| request.contains(&named)),
            "{options:?}: {requests:?}"
        );
    }
    // an option of the command overrides the variable for another cloud
    let ran = run(
        &["status", "speech-selection", "--cloud", "plain"],
        &[variables[0], ("DATAPERF_LOCAL", "true")],
    );
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    assert!(
        wanted.try_iter().any(|request| request.contains("TableName")),
        "{ran:?}"
    );
}

#[test]
fn an_unknown_cloud_suggests_the_nearest_name() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("clouds.yaml");
    let variables = [("DATAPERF_CLOUDS", file.to_str().unwrap())];
    let message = |name: &str| {
        let ran = run(&["status", "--cloud", name], &variables);
        assert_eq!(ran.status.code(), Some(1), "{ran:?}");
        text(&ran.stderr)
    };
    assert!(message("locale").contains("did you mean `local`"));
    assert!(
        message("autumn").contains("\n\nautumn:\n  url: http://127.0.0.1:8080\n"),
        "the lines to write"
    );
    std::fs::write(&file, "spring: {table: spring}\n").unwrap();
    assert!(message("sprig").contains("did you mean `spring`"));
    assert!(message("http://127.0.0.1:1").contains("does not answer like a cloud"));
    for (profile, expected) in [
        ("spring: {secret: x}\n", "DATAPERF_LOCAL_KEY"),
        ("spring: {tabel: x}\n", "tabel"),
        ("spring\n", "is not a file of profiles"),
    ] {
        std::fs::write(&file, profile).unwrap();
        let message = message("spring");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn an_unsupported_output_format_is_refused() {
    for (args, expected) in [
        (&["completions", "bash", "--format", "csv"][..], 1),
        (&["baseline", "list", "--format", "csv"], 0),
        (&["baseline", "list", "--format", "yaml"], 1),
        (&["dataset", "verify", "nowhere", "--format", "csv"], 1),
    ] {
        let ran = run(args, &[]);
        assert_eq!(ran.status.code(), Some(expected), "{args:?}: {ran:?}");
    }
    let csv = text(&run(&["baseline", "list", "--format", "csv"], &[]).stdout);
    assert!(csv.starts_with("benchmark,method,about,source\n"), "{csv}");
    assert!(csv.lines().count() > 10, "{csv}");
}

#[test]
fn help_guides_users_by_their_goal() {
    let help = text(&run(&["--help"], &[]).stdout);
    let places: Vec<usize> = [
        "\nGetting started:\n",
        "\nSubmit:\n",
        "\nOrganize:\n",
        "\nResults:\n",
        "\nOptions:\n",
    ]
    .iter()
    .map(|heading| help.find(heading).unwrap_or_else(|| panic!("{heading}: {help}")))
    .collect();
    assert!(places.is_sorted(), "{help}");
    let of_submit = &help[places[1]..places[2]];
    assert!(
        of_submit.contains("\n  submit ") && of_submit.contains("\n  validate "),
        "{help}"
    );
    assert!(help.contains("Exit codes"), "{help}");
}

/// One mistake in many ids is reported once, before the complete list of reasons.
#[test]
fn one_cause_leads_twenty_reasons() {
    let demo = common::demo("speech-selection");
    let scratch = tempfile::tempdir().unwrap();
    let frozen = scratch.path().join("frozen");
    let (demo, frozen) = (demo.to_str().unwrap(), frozen.to_str().unwrap());
    let ran = common::run(words!(
        "dataset import speech-selection --from {demo} --out {frozen}"
    ));
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let good = std::fs::read_to_string(format!("{demo}/submissions/en-25/coin-flip/random.json")).unwrap();
    let mut artifact: serde_json::Value = serde_json::from_str(&good).unwrap();
    let mut n = 0;
    let mut strip = |list: &mut serde_json::Value| {
        for id in list.as_array_mut().unwrap() {
            let whole = id.as_str().unwrap().to_owned();
            *id = whole.rsplit('/').next().unwrap().into();
            n += 1;
        }
    };
    artifact["targets"]
        .as_object_mut()
        .unwrap()
        .values_mut()
        .for_each(&mut strip);
    strip(&mut artifact["nontargets"]);
    let file = scratch.path().join("stripped.json");
    std::fs::write(&file, artifact.to_string()).unwrap();
    let judge = |file: &Path, board: &str, format: &str| {
        let score = format!("score speech-selection --leaderboard {board} --dataset {frozen}");
        common::run(words!("--format {format} {score} {}", file.display()))
    };
    let ran = judge(&file, "en-25", "json");
    assert_eq!(ran.status.code(), Some(2));
    let verdict: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(verdict["reasons"].as_array().unwrap().len(), n, "{verdict}");
    assert_eq!(verdict["cause"]["code"], "unknown_clip");
    let message = verdict["cause"]["message"].as_str().unwrap();
    assert!(message.contains("each lacks its folder"), "{message}");
    let shown = text(&judge(&file, "en-25", "text").stdout);
    let (cause, first) = (shown.find(message).unwrap(), shown.find("unknown_clip").unwrap());
    assert!(cause < first, "{shown}");

    // another language's file
    let good = Path::new(demo).join("submissions/en-25/coin-flip/random.json");
    let verdict: serde_json::Value = serde_json::from_slice(&judge(&good, "pt-25", "json").stdout).unwrap();
    assert!(
        verdict["cause"]["message"]
            .as_str()
            .unwrap()
            .contains("another leaderboard"),
        "{verdict}"
    );

    // files that are no JSON
    let utf_16: Vec<u8> = artifact
        .to_string()
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (bytes, kind) in [
        (&b"\x1f\x8b\x08\0\0"[..], "gzip"),
        (b"PK\x03\x04 and so on", "zip archive"),
        (&[&[0xff, 0xfe], utf_16.as_slice()].concat(), "UTF-16"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let shown = text(&judge(&file, "en-25", "text").stdout);
        assert!(shown.contains(kind), "{kind}: {shown}");
    }
}
