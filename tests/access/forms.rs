//! Signed forms, with which somebody without credentials uploads.

use std::process::Command;

use dataperf::table::leaderboard::Leaderboards;
use dataperf_hosted::HOSTED;
use dataperf_local::MAX_FORM_FILE_BYTES;

use crate::support::project::{BENCHMARK, good};
use crate::support::world::{PATIENCE, World, as_deployed, board};

/// The real program's answer.
pub(crate) fn curl(args: &[&str]) -> String {
    let output =
        tokio::task::block_in_place(|| Command::new("curl").args(["-sS"]).args(args).output().unwrap());
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The command that `submitter add` prints, with another file and, perhaps, another field.
fn send_form(command: &str, file: &std::path::Path, from: &str, to: &str) -> String {
    let command = command.replace("@FILE", &format!("@{}", file.display()));
    assert!(command.contains(from), "{command}");
    let command = command
        .replace(from, to)
        .replace("--fail-with-body", "-sS -w '%{http_code}'");
    let output =
        tokio::task::block_in_place(|| Command::new("bash").args(["-c", &command]).output().unwrap());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn local_forms_allow_the_largest_upload() {
    let largest = HOSTED.iter().map(|hosted| hosted.max_artifact_bytes).max();
    assert_eq!(largest, Some(MAX_FORM_FILE_BYTES));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_allows_one_folder_size_and_time() {
    let world = World::with(as_deployed).await;
    let cloud = [
        "--s3-endpoint",
        world.cloud.s3_endpoint(),
        "--dynamodb-endpoint",
        world.cloud.dynamodb_endpoint(),
    ];
    let args = [
        "submitter",
        "add",
        "ada",
        BENCHMARK,
        "-l",
        "en-25",
        "--hours",
        "1",
    ];
    let printed = crate::support::project::dataperf(args.iter().chain(&cloud));
    assert_eq!(printed.code, 0, "{printed:?}");
    let command = printed
        .stdout
        .lines()
        .find(|line| line.starts_with("curl"))
        .unwrap();
    let (file, large) = (
        world.scratch().join("good.json"),
        world.scratch().join("large.json"),
    );
    std::fs::write(&file, good(0)).unwrap();
    std::fs::write(&large, vec![b' '; (1 << 20) + 1]).unwrap();

    let sent = send_form(command, &file, "submission'", "my first try.json'");
    assert!(sent.ends_with("204"), "{sent}");
    for (case, file, from, to) in [
        ("another's folder", &file, "/ada/submission", "/bo/submission"),
        (
            "another benchmark",
            &file,
            "key=speech-selection",
            "key=vision-selection",
        ),
        ("another bucket", &file, "/submissions'", "/datasets'"),
        ("too large", &large, "submission'", "large.json'"),
        ("a changed policy", &file, "policy=ey", "policy=ez"),
        (
            "another signature",
            &file,
            "x-amz-signature=",
            "x-amz-signature=0",
        ),
        (
            "another signer",
            &file,
            "x-amz-credential=local",
            "x-amz-credential=ada",
        ),
    ] {
        let sent = send_form(command, file, from, to);
        assert!(sent.ends_with("400") || sent.ends_with("403"), "{case}: {sent}");
    }
    world.cloud.wait_idle(PATIENCE).await.unwrap();
    let series = world.leaderboards().series(&board("en-25")).await.unwrap();
    assert_eq!(
        series
            .iter()
            .map(|entry| entry.submitter.as_str())
            .collect::<Vec<_>>(),
        ["ada"]
    );
    let unknown = world.command(["submitter", "add", "ada", BENCHMARK, "-l", "nowhere"]);
    unknown.assert_refused("`en-25`");
    for name in [
        "a/b",
        "*",
        "a'b",
        "_",
        "..",
        "a$b",
        "Ada",
        "ada ",
        "аda",
        "ada\u{200b}",
        "baseline-ada",
    ] {
        let commands: [&[&str]; 2] = [
            &["submitter", "add", name, BENCHMARK],
            &["token", "create", "--submitter", name],
        ];
        for command in &commands[..if name == "baseline-ada" { 1 } else { 2 }] {
            let ran = world.command(*command);
            assert!(
                ran.code != 0 && ran.stderr.contains("can't be a submitter's name"),
                "{ran:?}"
            );
        }
    }
}
