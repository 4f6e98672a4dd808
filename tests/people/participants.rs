//! A participant with a token and nothing else: no AWS account, no keys, no variables of AWS.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use dataperf_aws::{Clients, Holder, Issued, Table, Token, days_after};
use serde_json::Value;

use crate::support::project::{BENCHMARK, Ran, binary, demo, frozen, good, root};
use crate::support::world::PATIENCE;

/// Runs a command with these variables alone.
fn run_as(home: &Path, args: &[&str], input: &str, variables: &[(&str, &str)]) -> Ran {
    std::fs::create_dir_all(home).unwrap();
    let mut command = Command::new(binary("dataperf"));
    command
        .env_clear()
        .env("HOME", home)
        .env("COLUMNS", "200")
        .envs(variables.iter().copied())
        .current_dir(home)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The cloud on this machine as users start it, with the page.
struct Cloud {
    process: Child,
    addresses: Value,
    dir: tempfile::TempDir,
}

impl Cloud {
    fn start(options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new(binary("dataperf"));
        command.args(["--format", "json", "local", "--data-dir"]);
        command.arg(dir.path().join("cloud")).args(options);
        for port in ["s3", "dynamodb", "lambda", "http", "images"] {
            command.args([format!("--{port}-port"), "0".into()]);
        }
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        for line in BufReader::new(process.stdout.take().unwrap()).lines() {
            text.push_str(&line.unwrap());
            text.push('\n');
            if text.ends_with("\n}\n") {
                break;
            }
        }
        let addresses = serde_json::from_str(&text).unwrap();
        let cloud = Self {
            process,
            addresses,
            dir,
        };
        let frozen = frozen().to_str().unwrap();
        assert_eq!(cloud.organizer(&["dataset", "publish", frozen]).code, 0);
        cloud
    }

    fn at(&self, part: &str) -> &str {
        self.addresses[part].as_str().unwrap()
    }

    /// Runs a command as the organizer, with the keys of the cloud.
    fn organizer(&self, args: &[&str]) -> Ran {
        let cloud = ["--cloud", self.at("page"), "--local-key", "local:local"];
        run_as(&self.home("organizer"), &[args, &cloud].concat(), "", &[])
    }

    fn home(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A participant who has a token.
    fn participant(&self, name: &str) -> Participant<'_> {
        let ran = self.organizer(&["token", "create", "--submitter", name, "--format", "json"]);
        let token = ran.json();
        let text = |member: &str| token[member].as_str().unwrap().to_owned();
        Participant {
            cloud: self,
            home: self.home(name),
            token: text("token"),
            id: text("id"),
        }
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        let id = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().unwrap();
        self.process.wait().unwrap();
    }
}

struct Participant<'a> {
    cloud: &'a Cloud,
    home: PathBuf,
    token: String,
    /// The digits that name the token to the organizer.
    id: String,
}

impl Participant<'_> {
    fn run(&self, args: &[&str]) -> Ran {
        let ran = run_as(&self.home, args, "", &[]);
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!shown.contains(&self.token), "{args:?} shows the token");
        ran
    }

    fn login(&self) -> Ran {
        let login = ["login", self.cloud.at("page"), "--format", "json"];
        run_as(&self.home, &login, &format!("{}\n", self.token), &[])
    }

    /// Writes a file that the participant has.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::create_dir_all(&self.home).unwrap();
        std::fs::write(self.home.join(name), content).unwrap();
    }

    fn submit(&self, file: &str, options: &[&str]) -> Ran {
        let submit = ["submit", BENCHMARK, "--leaderboard", "en-25", file];
        self.run(&[&submit[..], options].concat())
    }
}

fn rejected() -> Vec<u8> {
    std::fs::read(demo().join("submissions/en-25/hasty/bad_unknown_id.json")).unwrap()
}

/// A token shows what the organizer's keys show, in the open round, which hides nothing from a submitter.
#[test]
#[allow(clippy::too_many_lines)] // one participant's way
fn a_token_is_enough_for_everything() {
    let cloud = Cloud::start(&[]);
    let (ada, bo) = (cloud.participant("ada"), cloud.participant("bo"));
    let ran = ada.login();
    assert_eq!(ran.code, 0, "{ran:?}");
    let login = ran.json();
    assert_eq!(
        (&login["submitter"], &login["role"]),
        (&"ada".into(), &"submitter".into())
    );
    let stored = PathBuf::from(login["file"].as_str().unwrap());
    assert_eq!(stored, ada.home.join(".config/dataperf/tokens.json"));
    assert_eq!(stored.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    bo.file("token.txt", &bo.token);
    let ran = bo.run(&["login", cloud.at("page"), "--token-file", "token.txt"]);
    assert!(ran.code == 0 && ran.stdout.contains("signed in as bo"), "{ran:?}");

    ada.file("good.json", good(0));
    ada.file("bad.json", rejected());
    bo.file("other.json", good(1));
    let ran = ada.submit("good.json", &["--receipt", "receipt.json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.contains("scored 0.") && ran.stdout.contains("round open: rank 1 "),
        "{ran:?}"
    );
    assert!(ada.submit("bad.json", &[]).stdout.contains("rejected"));
    let ran = ada.submit("bad.json", &["--format", "json"]);
    assert_eq!(
        (ran.code, &ran.json()["status"]),
        (2, &"rejected".into()),
        "{ran:?}"
    );
    let ran = bo.submit("other.json", &["--submitter", "bo", "--format", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.json()["rank"].as_u64().is_some(), "{ran:?}");
    let ran = bo.submit("other.json", &["--no-wait", "--format", "json"]);
    assert!(ran.code == 0 && ran.json()["submission"].is_null(), "{ran:?}");

    // keys give the same data, including what the round hides, once the last upload is scored and
    // compared
    let shown = |ran: &Ran| {
        let mut document = ran.json();
        if let Value::Object(receipt) = &mut document {
            for hidden in ["signature", "feedback", "shown_at_first", "metrics"] {
                receipt.remove(hidden);
            }
        }
        if let Some(resolution) = document.pointer_mut("/0/comparison/resolution") {
            *resolution = Value::Null;
        }
        document
    };
    let begin = Instant::now();
    let same = |args: &[&str]| loop {
        let (own, keys) = (ada.run(args), cloud.organizer(args));
        assert_eq!(own.code, keys.code, "{own:?} {keys:?}");
        let [own, keys] = [own, keys].map(|ran| shown(&ran));
        if own == keys {
            break own;
        }
        assert!(begin.elapsed() < PATIENCE, "{args:?}: {own:#} {keys:#}");
    };
    let history = same(&["status", BENCHMARK, "--submitter", "ada", "--format", "json"]);
    let all = ada.run(&["status", "--format", "json"]).json();
    assert_eq!(
        all[0]["submission"], history[0]["submission"],
        "without a name they are one's own"
    );
    let statuses: Vec<&Value> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["status"])
        .collect();
    assert_eq!(statuses, ["rejected", "rejected", "scored"]);
    let ids = |line: usize| history[line]["submission"].as_str().unwrap();
    for id in [ids(0), ids(2)] {
        same(&["status", BENCHMARK, id, "--format", "json"]);
    }
    let board = same(&["leaderboard", BENCHMARK, "en-25", "--format", "json"]);
    assert_eq!(board[0]["places"].as_array().unwrap().len(), 2, "{board}");
    let mine = ada
        .run(&["leaderboard", BENCHMARK, "--mine", "--format", "json"])
        .json();
    let places = mine[0]["places"].as_array().unwrap();
    assert!(places.len() == 1 && places[0]["submission"] == ids(2), "{mine}");
    let ran = ada.run(&["leaderboard", BENCHMARK, "en-26"]);
    assert!(ran.stderr.contains("did you mean `en-25`"), "{ran:?}");

    // the receipt by the first digits of its id
    let ran = ada.run(&["receipt", BENCHMARK, &ids(2)[..8], "--out", "again.json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let [first, again] =
        ["receipt.json", "again.json"].map(|name| std::fs::read(ada.home.join(name)).unwrap());
    assert_eq!(first, again);
    let by_keys = cloud.organizer(&["receipt", BENCHMARK, ids(2)]).json();
    assert_eq!(by_keys, serde_json::from_slice::<Value>(&first).unwrap());
    let keys = ureq::get(format!("{}/api/v1/keys", cloud.at("page"))).call();
    ada.file("keys.json", keys.unwrap().body_mut().read_to_vec().unwrap());
    let ran = ada.run(&["verify", "receipt.json", "--keys", "keys.json"]);
    assert_eq!(ran.code, 0, "{ran:?}");

    // what is somebody else's
    let ran = ada.run(&[
        "receipt",
        BENCHMARK,
        board[0]["places"][0]["submission"].as_str().unwrap(),
    ]);
    let first_is_ada = board[0]["places"][0]["submitter"] == "ada";
    assert_eq!(ran.code == 0, first_is_ada, "{ran:?}");
    let ran = bo.run(&["receipt", BENCHMARK, ids(2)]);
    ran.assert_refused("use the token of that submitter");
    let ran = ada.run(&["status", "--failed"]);
    ran.assert_refused("only the organizer");

    let ran = ada.run(&["cloud"]);
    assert!(
        ran.stdout.contains(cloud.at("page")) && ran.stdout.contains("your token"),
        "{ran:?}"
    );
    assert_eq!(ada.run(&["logout"]).code, 0);
    let ran = ada.run(&["status"]);
    ran.assert_refused("no AWS");
}

#[test]
fn files_that_can_not_count_are_not_uploaded() {
    let cloud = Cloud::start(&[]);
    let ada = cloud.participant("ada");
    assert_eq!(ada.login().code, 0);
    ada.file("good.json", good(0));
    ada.file("large.json", vec![b' '; (1 << 20) + 1]);
    ada.file("packed.json", b"\x1f\x8b\x08\0\0");
    let ran = ada.run(&["submit", BENCHMARK, "--leaderboard", "en25", "good.json"]);
    ran.assert_refused("did you mean `en-25`");
    let ran = ada.submit("good.json", &["--submitter", "bo"]);
    ran.assert_refused("the token is `ada`'s");
    let ran = ada.submit("large.json", &[]);
    assert!(ran.code == 2 && ran.stdout.contains("1048576"), "{ran:?}");
    let ran = ada.submit("packed.json", &[]);
    assert!(ran.code == 2 && ran.stdout.contains("gzip"), "{ran:?}");
    let ran = ada.submit("good.json", &["--receipt", "good.json"]);
    ran.assert_refused("exists already");
    let ran = ada.run(&["status", BENCHMARK]);
    assert!(
        ran.code == 0 && ran.stdout.contains("`ada` has submitted nothing"),
        "{ran:?}"
    );
    let ran = ada.run(&["leaderboard", BENCHMARK, "--mine"]);
    assert!(
        ran.code == 0 && ran.stdout.contains("you are on no leaderboard yet"),
        "{ran:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_token_explains_the_remedy() {
    let cloud = Cloud::start(&[]);
    let ada = cloud.participant("ada");
    let expired = Token::from_random([7; 32]);
    let now = dataperf_aws::now();
    let clients = Clients::at(cloud.at("s3"), cloud.at("dynamodb"), "local", "local").await;
    let issued = Issued {
        digest: expired.digest(),
        holder: Holder::Submitter("ada".parse().unwrap()),
        benchmarks: Vec::new(),
        issued_at: now,
        expires_at: days_after(now, 0),
    };
    Table::new(clients.dynamodb, cloud.at("table"))
        .issue(&issued)
        .await
        .unwrap();
    let unknown = Token::from_random([8; 32]);
    let revoked = cloud.participant("bo");
    assert_eq!(cloud.organizer(&["token", "revoke", &revoked.id]).code, 0);

    let page = ("DATAPERF_CLOUD", cloud.at("page"));
    let status = |variables: &[(&str, &str)]| run_as(&ada.home, &["status", BENCHMARK], "", variables);
    for (token, expected) in [
        (
            expired.secret(),
            "the token has expired: ask the organizer for a new one",
        ),
        (
            unknown.secret(),
            "does not know this token: check that you copied all of it",
        ),
        (&revoked.token, "does not know this token"),
        ("pa55word", "this is not a token"),
    ] {
        let ran = status(&[page, ("DATAPERF_TOKEN", token)]);
        ran.assert_refused(expected);
        assert!(!ran.stderr.contains(token), "{ran:?}");
        let ran = run_as(&ada.home, &["login", page.1], token, &[]);
        assert!(ran.code == 1 && !ran.stderr.contains(token), "{ran:?}");
        assert!(!ada.home.join(".config").exists(), "it is not stored");
    }
    assert_eq!(status(&[page, ("DATAPERF_TOKEN", &ada.token)]).code, 0);
    let ran = status(&[("DATAPERF_TOKEN", &ada.token)]);
    ran.assert_refused("add `--cloud https://PAGE`");
    let ran = run_as(&ada.home, &["login"], &ada.token, &[]);
    ran.assert_refused("name the page");
    let ran = run_as(
        &ada.home,
        &["login", "http://ada:pa55word@127.0.0.1:1"],
        &ada.token,
        &[],
    );
    ran.assert_refused("leave the name and the password out");
}

#[test]
fn tokens_for_many_are_written_to_a_file() {
    let cloud = Cloud::start(&[]);
    let home = cloud.home("organizer");
    let invite = |names: &str| {
        std::fs::write(home.join("names.csv"), names).unwrap();
        cloud.organizer(&["submitter", "invite", "names.csv", "--out", "tokens.csv"])
    };
    let ran = invite("mail,submitter\nbo@x.org,Bo Smith\nada@x.org,ada\na@x.org,ada\nx\n");
    for expected in [
        "line 2: ",
        "bo-smith",
        "line 4: `ada` is or looks like `ada`",
        "line 5 has 1 cells",
    ] {
        ran.assert_refused(expected);
    }
    let ran = invite("mail;name\nbo@x.org;bo\n");
    ran.assert_refused("has no column `submitter`");
    cloud.participant("mary-l");
    let ran = invite("ada\nmary-1\nbaseline_x\n");
    for expected in [
        "`mary-1` looks like `mary-l`",
        "`baseline_x` looks like a name that begins with `baseline-`",
    ] {
        ran.assert_refused(expected);
    }
    let n_tokens = || {
        cloud
            .organizer(&["token", "list", "--format", "json"])
            .json()
            .as_array()
            .unwrap()
            .len()
    };
    assert!(!home.join("tokens.csv").exists());
    assert_eq!(n_tokens(), 2, "the organizer's, and that of `mary-l`");

    let ran = invite("\u{feff}mail;submitter\nbo@x.org;bo\nada@x.org;ada\n");
    assert!(
        ran.code == 0 && ran.stdout.contains("2 tokens in `tokens.csv`"),
        "{ran:?}"
    );
    let path = home.join("tokens.csv");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let rows: Vec<BTreeMap<String, String>> = csv::Reader::from_path(&path)
        .unwrap()
        .deserialize()
        .map(Result::unwrap)
        .collect();
    for (row, name) in rows.iter().zip(["bo", "ada"]) {
        assert!(!ran.stdout.contains(&row["token"]), "{ran:?}");
        assert_eq!(
            (&row["submitter"], &row["mail"]),
            (&name.to_owned(), &format!("{name}@x.org"))
        );
        assert_eq!(
            row["link"],
            format!("{}/#token={}", cloud.at("page"), row["token"])
        );
        let login = ["login", cloud.at("page"), "--format", "json"];
        let ran = run_as(&cloud.home(name), &login, &row["token"], &[]);
        assert_eq!(ran.json()["submitter"], name, "{ran:?}");
    }
    assert_eq!((rows.len(), n_tokens()), (2, 4));
    let ran = invite("cy\n");
    ran.assert_refused("exists already");
}

/// A proxy that tunnels to this machine, whatever host is named, for who sends the right password. It reports each target.
fn proxy() -> (String, Receiver<(String, bool)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (report, targets) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut client = stream.unwrap();
            let mut reader = BufReader::new(client.try_clone().unwrap());
            let (mut request, mut line) = (String::new(), String::new());
            while reader.read_line(&mut line).unwrap() > 2 {
                request.push_str(&line);
                line.clear();
            }
            let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
            // user:pa55word
            let may = request
                .to_lowercase()
                .contains(&"proxy-authorization: basic dXNlcjpwYTU1d29yZA==".to_lowercase());
            report.send((target.clone(), may)).unwrap();
            if !may {
                client
                    .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
                    .unwrap();
                continue;
            }
            let port = target.rsplit(':').next().unwrap();
            let server = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            for (mut from, mut to) in [
                (client.try_clone().unwrap(), server.try_clone().unwrap()),
                (server, client),
            ] {
                std::thread::spawn(move || {
                    let mut block = [0; 1 << 14];
                    while let Ok(n @ 1..) = from.read(&mut block) {
                        if to.write_all(&block[..n]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    (address, targets)
}

#[test]
fn proxies_are_used_and_passwords_never_shown() {
    const HOST: &str = "contest.example";
    let cloud = Cloud::start(&["--allow-host", HOST]);
    let ada = cloud.participant("ada");
    ada.file("good.json", good(0));
    let (proxy, targets) = proxy();
    let port = |part: &str| cloud.at(part).rsplit(':').next().unwrap().to_owned();
    let page = format!("http://{HOST}:{}", port("page"));
    let run = |variables: &[(&str, &str)]| {
        let submit = [
            "submit",
            BENCHMARK,
            "--leaderboard",
            "en-25",
            "good.json",
            "--cloud",
            &page,
        ];
        let token = [("DATAPERF_TOKEN", ada.token.as_str()), ("RUST_LOG", "trace")];
        let ran = run_as(&ada.home, &submit, "", &[&token, variables].concat());
        for secret in [&ada.token, "pa55word", "wr0ng", "dXNlcjpwYTU1d29yZA"] {
            assert!(!format!("{ran:?}").contains(secret), "{ran:?}");
        }
        ran
    };
    let right = format!("http://user:pa55word@{proxy}");
    let ran = run(&[("HTTPS_PROXY", &right)]);
    assert!(ran.code == 0 && ran.stdout.contains("scored 0."), "{ran:?}");
    let seen: BTreeMap<String, bool> = targets.try_iter().collect();
    for part in ["page", "s3"] {
        assert_eq!(
            seen.get(&format!("{HOST}:{}", port(part))),
            Some(&true),
            "{seen:?}"
        );
    }
    let wrong = format!("http://user:wr0ng@{proxy}");
    let ran = run(&[("HTTPS_PROXY", &wrong)]);
    ran.assert_refused("407");
    assert!(targets.try_iter().all(|(_, may)| !may));
    let ran = run(&[("HTTPS_PROXY", &right), ("NO_PROXY", HOST)]);
    assert!(
        ran.code == 1 && ran.stderr.contains("does not answer"),
        "no name server knows it: {ran:?}"
    );
    // this machine is reached without a proxy
    let status = ["status", "--cloud", cloud.at("page")];
    let variables = [
        ("DATAPERF_TOKEN", ada.token.as_str()),
        ("HTTPS_PROXY", right.as_str()),
    ];
    assert_eq!(run_as(&ada.home, &status, "", &variables).code, 0);
    assert_eq!(targets.try_iter().count(), 0);
}

#[test]
fn a_receipt_is_kept_when_output_is_closed() {
    let cloud = Cloud::start(&[]);
    let ada = cloud.participant("ada");
    ada.file("good.json", good(0));
    let mut submit = Command::new(binary("dataperf"));
    submit
        .args([
            "submit",
            BENCHMARK,
            "--leaderboard",
            "en-25",
            "good.json",
            "--receipt",
            "receipt.json",
        ])
        .env_clear()
        .env("HOME", &ada.home)
        .env("DATAPERF_CLOUD", cloud.at("page"))
        .env("DATAPERF_TOKEN", &ada.token)
        .current_dir(&ada.home)
        .stdout(Stdio::piped());
    let mut process = submit.spawn().unwrap();
    drop(process.stdout.take());
    process.wait().unwrap();
    let receipt = std::fs::read(ada.home.join("receipt.json")).unwrap();
    let receipt: Value = serde_json::from_slice(&receipt).unwrap();
    assert_eq!(receipt["status"], "scored", "{receipt}");
    assert!(receipt["signature"].is_object(), "{receipt}");
}

/// The commands of docs/submit.md for who has curl alone, word for word.
#[test]
fn the_documented_lines_of_curl_upload_a_file() {
    let cloud = Cloud::start(&[]);
    let ada = cloud.participant("ada");
    ada.file("my-selection.json", good(0));
    let text = std::fs::read_to_string(root().join("docs/submit.md")).unwrap();
    let mut blocks = text
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap());
    let block = blocks.find(|block| block.contains("curl ")).unwrap();
    assert_eq!(
        block.lines().filter(|line| line.contains("curl ")).count(),
        3,
        "{block}"
    );
    let shell = |commands: &str| {
        let mut shell = Command::new("bash");
        shell.args(["-ec", commands]).current_dir(&ada.home);
        shell.env("PAGE", cloud.at("page")).env("TOKEN", &ada.token);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    shell(block);
    let history = loop {
        let last = block.lines().rfind(|line| line.contains("curl ")).unwrap();
        let history: Value = serde_json::from_str(&shell(last)).unwrap();
        match history["submissions"][0]["status"].as_str() {
            None | Some("received") => std::thread::sleep(Duration::from_millis(100)),
            Some(_) => break history,
        }
    };
    assert_eq!(history["submissions"][0]["status"], "scored", "{history}");
}
