//! Uploads from the page: the real function signs a form, and the form is sent as a browser sends it, or attacked.

mod signing;

use dataperf::Ending;
use dataperf::board::OPEN_ROUND;
use dataperf::table::leaderboard::Leaderboards;
use dataperf_aws::{FormKey, FormRequest, upload_form};
use dataperf_local::{ACCESS_KEY_ID, SECRET_ACCESS_KEY};
use serde_json::{Value, json};

use self::signing::{Form, Signing, agent, question};
use crate::challenges::publish;
use crate::read_api::{ADA, BO, Reading};
use crate::support::project::{BENCHMARK, good};
use crate::support::world::{World, as_deployed, board};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines)] // one table of askers
async fn a_refused_form_explains_the_remedy() {
    let signing = Signing::new(World::with(as_deployed).await).await;
    let own = question(&json!({}));
    let cases = [
        (
            "anonymous",
            own.clone(),
            401,
            "token_needed",
            "dataperf token create",
        ),
        (
            "malformed",
            own.clone(),
            401,
            "bad_token",
            "dataperf token create",
        ),
        ("revoked", own.clone(), 401, "bad_token", "dataperf token create"),
        ("expired", own.clone(), 401, "expired_token", "ask the organizer"),
        ("organizer", own.clone(), 403, "organizers_token", "--submitter"),
        (
            "elsewhere",
            own.clone(),
            403,
            "not_yours",
            "--benchmark speech-selection",
        ),
        (
            "bo",
            question(&json!({ "submitter": "ada" })),
            403,
            "not_yours",
            "upload as `bo`",
        ),
        (
            "ada",
            question(&json!({ "benchmark": "no-such" })),
            404,
            "unknown_benchmark",
            BENCHMARK,
        ),
        (
            "ada",
            question(&json!({ "benchmark": "adversarial-nibbler", "leaderboard": "model-fooling" })),
            404,
            "unknown_kind",
            "`verdict`",
        ),
        (
            "ada",
            question(&json!({ "benchmark": "vision-selection" })),
            404,
            "no_dataset",
            "organizer",
        ),
        (
            "ada",
            question(&json!({ "leaderboard": "en25" })),
            404,
            "unknown_leaderboard",
            "did you mean `en-25`",
        ),
        (
            "ada",
            question(&json!({ "leaderboard": "en-25/bo" })),
            404,
            "unusable_name",
            "slash",
        ),
        (
            "ada",
            question(&json!({ "round": "spring" })),
            409,
            "round_closed",
            "`open`",
        ),
        (
            "ada",
            question(&json!({ "n_bytes": 0 })),
            400,
            "bad_request",
            "empty",
        ),
        (
            "ada",
            question(&json!({ "n_bytes": (1 << 20) + 1 })),
            413,
            "too_large",
            "1048576",
        ),
        (
            "ada",
            question(&json!({ "key": "x" })),
            400,
            "bad_request",
            "unknown field `key`",
        ),
        ("ada", "{".to_owned(), 400, "bad_request", "n_bytes"),
        ("ada", " ".repeat(20_000), 400, "bad_request", "16384 bytes"),
    ];
    for (who, body, status, code, remedy) in cases {
        let (answered, problem) = signing.ask(who, &body);
        assert_eq!(
            (answered, problem["code"].as_str().unwrap()),
            (status, code),
            "{who} {body}: {problem}"
        );
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().unwrap().contains(remedy), "{problem}");
    }
    for (path, status) in [("/api/v1/uploads", 405), ("/api/v1/other", 404)] {
        let answer =
            tokio::task::block_in_place(|| agent().get(format!("{}{path}", signing.base)).call().unwrap());
        assert_eq!(answer.status().as_u16(), status);
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines)] // one table of attacks
async fn a_form_allows_one_key_size_and_bucket() {
    let signing = Signing::new(World::with(as_deployed).await).await;
    let form = signing.form();
    let (key, world) = (form.answer["key"].as_str().unwrap().to_owned(), &signing.world);
    assert!(
        key.starts_with(&format!("{BENCHMARK}/en-25/ada/")) && key.ends_with("/my-selection.json"),
        "{key}"
    );
    assert_eq!(
        (&form.answer["round"], &form.answer["submitter"]),
        (&json!(OPEN_ROUND), &json!("ada"))
    );
    let expires_at: dataperf::Timestamp = form.answer["expires_at"].as_str().unwrap().parse().unwrap();
    let left = expires_at.unix_millis() - dataperf_aws::now().unix_millis();
    assert!((1..=300_000).contains(&left), "{left} ms are left");

    let field = |name: &str| {
        let field = form.fields.iter().find(|(known, _)| known == name);
        field.map(|(_, value)| value.clone()).unwrap()
    };
    let large = vec![b' '; (1 << 20) + 1];
    let file = good(0);
    let twice = |first: &str, second: &str| {
        let mut form = form.clone().without("key");
        form.fields.insert(0, ("key".into(), first.to_owned()));
        form.fields.push(("key".into(), second.to_owned()));
        form
    };
    let elsewhere = |bucket: &str| Form {
        url: form.url.replace("/submissions", bucket),
        ..form.clone()
    };
    let bos = key.replace("/ada/", "/bo/");
    let another = signing.form();
    let attacks: Vec<(&str, Form, &[u8])> = vec![
        ("another's folder", form.clone().with("key", &bos), &file),
        (
            "another file of one's own",
            form.clone().with("key", &format!("{key}.json")),
            &file,
        ),
        (
            "another board",
            form.clone().with("key", &key.replace("en-25", "en-60")),
            &file,
        ),
        (
            "another benchmark",
            form.clone().with("key", &key.replace("speech", "vision")),
            &file,
        ),
        (
            "a name that S3 puts in",
            form.clone()
                .with("key", &key.replace("my-selection.json", "${filename}")),
            &file,
        ),
        ("two keys, the other one last", twice(&key, &bos), &file),
        ("two keys, the other one first", twice(&bos, &key), &file),
        ("the bucket of data sets", elsewhere("/datasets"), &file),
        ("the bucket of results", elsewhere("/results"), &file),
        (
            "another bucket in a field",
            form.clone().with("bucket", "datasets"),
            &file,
        ),
        ("too large", form.clone(), &large),
        ("empty", form.clone(), b""),
        (
            "a changed policy",
            form.clone()
                .with("policy", &field("policy").replacen("ey", "ez", 1)),
            &file,
        ),
        (
            "another form's policy",
            form.clone().with(
                "policy",
                &another
                    .fields
                    .iter()
                    .find(|(name, _)| name == "policy")
                    .unwrap()
                    .1,
            ),
            &file,
        ),
        (
            "another signature",
            form.clone().with("x-amz-signature", &"0".repeat(64)),
            &file,
        ),
        (
            "another signer",
            form.clone().with(
                "x-amz-credential",
                &field("x-amz-credential").replacen(|c: char| c != '/', "x", 1),
            ),
            &file,
        ),
        (
            "another moment",
            form.clone().with("x-amz-date", "20200101T000000Z"),
            &file,
        ),
        ("no policy", form.clone().without("policy"), &file),
        ("no signature", form.clone().without("x-amz-signature"), &file),
        (
            "a redirection",
            form.clone()
                .with("success_action_redirect", "http://elsewhere.example/"),
            &file,
        ),
        (
            "a storage class",
            form.clone().with("x-amz-storage-class", "GLACIER"),
            &file,
        ),
        ("metadata", form.clone().with("x-amz-meta-of", "mine"), &file),
        ("an access list", form.clone().with("acl", "public-read"), &file),
    ];
    for (case, attack, file) in &attacks {
        let status = attack.send(file);
        // two keys may come to the one that was signed
        if !(case.starts_with("two keys") && status == 204) {
            assert!((400..500).contains(&status), "{case}: {status}");
        }
    }
    assert!(
        (400..500).contains(&expired(world, &key).send(&file)),
        "a form of six minutes ago"
    );
    let stored = || async {
        let listed = world
            .clients
            .s3
            .list_object_versions()
            .bucket("submissions")
            .send()
            .await
            .unwrap();
        listed
            .versions()
            .iter()
            .map(|version| version.key().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let before = stored().await;
    assert!(before.iter().all(|stored| *stored == key), "{before:?}");
    assert_eq!(form.send(&file), 204);
    assert_eq!(stored().await.len(), before.len() + 1);
    world.settle().await;
    let series = world.leaderboards().series(&board("en-25")).await.unwrap();
    assert!(
        !series.is_empty() && series.iter().all(|entry| entry.submitter == "ada"),
        "{series:?}"
    );
}

/// A form like the function's, of six minutes ago, with a key that may do everything.
fn expired(world: &World, key: &str) -> Form {
    let url = format!("{}/submissions", world.cloud.s3_endpoint());
    let request = FormRequest {
        url: &url,
        bucket: "submissions",
        key: FormKey::Exactly(key),
        region: "us-east-1",
        max_bytes: 1 << 20,
        valid_seconds: 300,
    };
    let credentials =
        aws_sdk_s3::config::Credentials::new(ACCESS_KEY_ID, SECRET_ACCESS_KEY, None, None, "test");
    let signed = |minutes: i64| {
        let at = dataperf_aws::now().unix_millis() - minutes * 60_000;
        upload_form(&request, &credentials, dataperf::Timestamp::from_unix_millis(at))
    };
    let form = |minutes| Form {
        url: url.clone(),
        fields: signed(minutes).fields,
        answer: Value::Null,
    };
    assert_eq!(form(0).send(&good(1)), 204, "in time it is taken");
    form(6)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_require_an_open_round_and_remaining_limit() {
    let signing = Signing::new(World::with(as_deployed).await).await;
    let rounds = json!([
        { "id": "past", "leaderboards": ["en-25"], "opens": "2020-01-01T00:00:00Z", "closes": "2020-02-01T00:00:00Z" },
        { "id": "now", "leaderboards": ["en-60"], "opens": "2020-01-01T00:00:00Z", "total_limit": 1 },
        { "id": "later", "leaderboards": ["pt-25"], "opens": "2999-01-01T00:00:00Z" },
    ]);
    let ran = publish(&signing.world, &rounds);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ask = |own: &Value| signing.ask("ada", &question(own));
    let (status, problem) = ask(&json!({ "round": "past" }));
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("round_closed")),
        "{problem}"
    );
    let message = problem["detail"].as_str().unwrap();
    assert!(
        message.contains("2020-02-01") && message.contains("`past.post`"),
        "{message}"
    );
    assert_eq!(ask(&json!({ "round": "past.post" })).0, 201);
    let (status, problem) = ask(&json!({ "leaderboard": "pt-25" }));
    assert_eq!((status, &problem["code"]), (409, &json!("not_open")), "{problem}");
    assert!(
        problem["detail"].as_str().unwrap().contains("2999-01-01"),
        "{problem}"
    );

    // asking counts nothing, and is no way round the limit
    let en_60 = json!({ "leaderboard": "en-60", "round": "now" });
    let mut forms = Vec::new();
    for _ in 0..3 {
        let (status, answer) = ask(&en_60);
        assert_eq!(status, 201, "{answer}");
        let fields = answer["fields"].as_array().unwrap().iter();
        let text = |field: &Value, name: &str| field[name].as_str().unwrap().to_owned();
        forms.push(Form {
            url: answer["url"].as_str().unwrap().to_owned(),
            fields: fields
                .map(|field| (text(field, "name"), text(field, "value")))
                .collect(),
            answer,
        });
    }
    for form in &forms {
        assert_eq!(form.send(&good(0)), 204);
    }
    assert_eq!(
        forms[0].send(&good(0)),
        204,
        "twice is another submission, which counts as any other"
    );
    signing.world.settle().await;
    let history = signing
        .world
        .leaderboards()
        .history(BENCHMARK, "ada", 10)
        .await
        .unwrap();
    let scored = history
        .iter()
        .filter(|entry| entry.ending == Some(Ending::Scored))
        .count();
    assert_eq!((history.len(), scored), (4, 1), "{history:?}");
    let (status, problem) = ask(&en_60);
    assert_eq!(
        (status, &problem["code"]),
        (429, &json!("total_limit")),
        "{problem}"
    );
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("limit of the whole round"),
        "{problem}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_submitter_sees_remaining_limits() {
    let world = World::with(as_deployed).await;
    let rounds = json!([
        { "id": "now", "leaderboards": ["en-25", "en-60", "pt-25"], "opens": "2020-01-01T00:00:00Z", "daily_limit": 3, "total_limit": 5 },
        { "id": "later", "leaderboards": ["id-25"], "opens": "2999-01-01T00:00:00Z", "daily_limit": 1 },
    ]);
    assert_eq!(publish(&world, &rounds).code, 0);
    let (file, bad) = (good(0), b"{}".to_vec());
    world
        .put(&format!("{BENCHMARK}/en-25/ada/0.json"), file.clone())
        .await;
    world.put(&format!("{BENCHMARK}/en-60/ada/1.json"), file).await;
    world.put(&format!("{BENCHMARK}/en-25/ada/2.json"), bad).await; // rejected, and not counted
    world.settle().await;
    let reading = Reading::new(world).await;
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/quotas?submitter=ada");
    let answer = reading.ask(ADA, &path).json();
    let quota = |leaderboard: &str| {
        let quotas = answer["leaderboards"].as_array().unwrap();
        let quota = quotas.iter().find(|quota| quota["leaderboard"] == leaderboard);
        quota.unwrap().clone()
    };
    for leaderboard in ["en-25", "en-60"] {
        let quota = quota(leaderboard);
        assert_eq!(
            (&quota["round"], &quota["is_open"]),
            (&json!("now"), &json!(true)),
            "{quota}"
        );
        assert_eq!(quota["together"], json!(["en-25", "en-60"]));
        let day = &quota["day"];
        assert_eq!(
            (&day["limit"], &day["n_used"], &day["n_left"]),
            (&json!(3), &json!(2), &json!(1)),
            "{quota}"
        );
        assert!(
            day["resets_at"].as_str().unwrap().ends_with("T00:00:00.000Z"),
            "{quota}"
        );
        let whole = &quota["round_limit"];
        assert_eq!(
            (&whole["n_left"], &whole["resets_at"]),
            (&json!(3), &Value::Null),
            "{quota}"
        );
    }
    assert_eq!(quota("pt-25")["day"]["n_left"], 3);
    assert_eq!(quota("id-25")["is_open"], false);
    assert_eq!(
        (&quota("pt-60")["day"], &quota("pt-60")["round"]),
        (&Value::Null, &json!(OPEN_ROUND))
    );
    assert_eq!(reading.ask(BO, &path).status, 403);
}
