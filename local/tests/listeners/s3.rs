//! S3: signed requests, addresses that carry their signature, and forms.

use std::time::Duration;

use dataperf_local::MAX_FORM_FILE_BYTES;

use crate::common::{PATIENCE, get, put, s3};
use crate::wire::{FOREIGN_ORIGIN, FormSignature, PUBLIC, Request, authority, form, presigned, rebound};
use crate::{assert_closed_to_browsers, start};

async fn keys(cloud: &dataperf_local::LocalCloud) -> Vec<String> {
    let listed = s3(cloud).list_objects_v2().bucket("submissions").send().await;
    let listed = listed.unwrap();
    let keys = listed.contents().iter();
    keys.map(|object| object.key().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_requests_come_from_programs_only() {
    let (_dir, cloud) = start().await;
    let put = |host: &str| {
        Request::new("PUT", "/submissions/a")
            .body("forged")
            .signed("s3", host)
    };
    assert_closed_to_browsers(cloud.s3_endpoint(), put).await;
    assert!(keys(&cloud).await.is_empty());
    let endpoint = cloud.s3_endpoint();
    assert_eq!(put(authority(endpoint)).send(endpoint).await.status, 200);
    let other_name = authority(endpoint).replace("127.0.0.1", "localhost");
    let answer = put(&other_name).send_as(endpoint, &other_name).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let forged = put(authority(endpoint)).body("other bytes");
    assert_ne!(forged.send(endpoint).await.status, 200);
    assert_eq!(keys(&cloud).await, ["a"]);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_explains_the_remedy() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.s3_endpoint();
    let host = format!(
        "submissions.{}",
        authority(endpoint).replace("127.0.0.1", "localhost")
    );
    let answer = Request::new("GET", "/a").send_as(endpoint, &host).await;
    assert_eq!(answer.status, 403);
    assert!(answer.body.contains("<Code>AccessDenied</Code>"), "{answer:?}");
    assert!(answer.body.contains("--allow-host"), "{answer:?}");
    let answer = Request::new("GET", "/a").send_as(endpoint, "<script>").await;
    assert_eq!(answer.status, 403);
    assert!(!answer.body.contains("<script>"), "{answer:?}");
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_of_foreign_pages_store_nothing() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.s3_endpoint();
    for signature in [FormSignature::Of(PUBLIC), FormSignature::Version2] {
        let form = |_: &str| form("echo/forged", "{}", signature);
        assert_closed_to_browsers(endpoint, form).await;
    }
    assert!(keys(&cloud).await.is_empty());
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_are_taken_with_a_valid_signature_only() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.s3_endpoint();
    for signature in [
        FormSignature::Of("guessed"),
        FormSignature::PolicyOnly,
        FormSignature::Nothing,
    ] {
        let answer = form("plain/forged", "{}", signature).send(endpoint).await;
        assert_eq!(answer.status, 403, "{signature:?}: {answer:?}");
    }
    assert!(keys(&cloud).await.is_empty());
    for (key, signature) in [
        ("plain/4", FormSignature::Of(PUBLIC)),
        ("plain/2", FormSignature::Version2),
    ] {
        let answer = form(key, "{}", signature).send(endpoint).await;
        assert_eq!(answer.status, 204, "{signature:?}: {answer:?}");
    }
    assert_eq!(keys(&cloud).await, ["plain/2", "plain/4"]);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_may_carry_the_largest_upload() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.s3_endpoint();
    let most = usize::try_from(MAX_FORM_FILE_BYTES).unwrap();
    let (largest, larger) = ("x".repeat(most), "x".repeat(most + 1));
    for signature in [FormSignature::Nothing, FormSignature::Of(PUBLIC)] {
        let answer = form("plain/larger", &larger, signature).send(endpoint).await;
        assert_eq!(answer.status, 400, "{signature:?}: {answer:?}");
        assert!(answer.body.contains("EntityTooLarge"), "{answer:?}");
    }
    let fields = "x".repeat((1 << 20) + 1);
    let answer = form(&fields, "{}", FormSignature::Nothing).send(endpoint).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(keys(&cloud).await.is_empty());
    let answer = form("plain/largest", &largest, FormSignature::Of(PUBLIC))
        .send(endpoint)
        .await;
    assert_eq!(answer.status, 204, "{answer:?}");
    assert_eq!(keys(&cloud).await, ["plain/largest"]);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_forms_make_room_for_others() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.s3_endpoint();
    let endless = form("plain/endless", &"x".repeat(1000), FormSignature::Nothing);
    let mut open = Vec::new();
    for _ in 0..8 {
        open.push(endless.send_half(endpoint).await); // as many as are read at once
    }
    let whole = form("plain/whole", "{}", FormSignature::Of(PUBLIC));
    let mut waiting = None;
    for _ in 0..60 {
        let mut sent = Box::pin(whole.send(endpoint));
        let Ok(answer) = tokio::time::timeout(Duration::from_secs(1), &mut sent).await else {
            waiting = Some(sent);
            break;
        };
        assert_eq!(answer.status, 204, "those before are not read yet");
    }
    drop(open.pop());
    let answer = tokio::time::timeout(PATIENCE, waiting.expect("it waits for one of them")).await;
    assert_eq!(answer.unwrap().status, 204);
    drop(open);
    assert_eq!(keys(&cloud).await, ["plain/whole"]);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_may_upload_and_read() {
    let (_dir, cloud) = start().await;
    let (endpoint, origin) = (cloud.s3_endpoint(), cloud.http_endpoint().unwrap());
    let from_page = form("plain/page", "{}", FormSignature::Of(PUBLIC))
        .with("origin", origin)
        .with("sec-fetch-site", "same-site");
    let answer = from_page.send(endpoint).await;
    assert_eq!(answer.status, 204, "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some(origin));
    assert_eq!(answer.header("vary"), Some("origin"));
    let asks_before = Request::new("OPTIONS", "/submissions/plain/page")
        .with("origin", origin)
        .with("access-control-request-method", "PUT")
        .with("access-control-request-headers", "x-amz-date,content-type");
    let answer = asks_before.send(endpoint).await;
    assert_eq!(answer.status, 204, "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some(origin));
    assert_eq!(
        answer.header("access-control-allow-headers"),
        Some("x-amz-date,content-type")
    );
    assert_eq!(keys(&cloud).await, ["plain/page"]);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_pages_run_nothing_and_keep_their_bytes() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.s3_endpoint();
    let client = s3(&cloud);
    let page = "<script>fetch('/datasets/hidden')</script>";
    for (key, content_type) in [
        ("a.html", "text/html"),
        ("a.svg", "image/svg+xml"),
        ("a.xml", "application/xml"),
    ] {
        let object = client.put_object().bucket("submissions").key(key);
        let object = object
            .content_type(content_type)
            .body(page.as_bytes().to_vec().into());
        object.send().await.unwrap();
        let target = presigned("GET", &format!("/submissions/{key}"), authority(endpoint));
        // the address is typed in, or a program asks for it
        for site in [Some("none"), None] {
            let mut request = Request::new("GET", &target);
            if let Some(site) = site {
                request = request.with("sec-fetch-site", site);
            }
            let answer = request.send(endpoint).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!(answer.header("content-type"), Some(content_type));
            assert_eq!(answer.body, page);
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            let policy = answer.header("content-security-policy").unwrap();
            assert!(policy.split(';').any(|rule| rule.trim() == "sandbox"), "{policy}");
            assert!(policy.contains("default-src 'none'"), "{policy}");
        }
        // what an SDK sees is what was stored
        let read = client
            .get_object()
            .bucket("submissions")
            .key(key)
            .send()
            .await
            .unwrap();
        assert_eq!(read.content_type(), Some(content_type));
        assert_eq!(read.content_disposition(), None);
        assert_eq!(get(&client, "submissions", key).await, page.as_bytes());
    }
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_addresses_do_not_open_for_foreign_pages() {
    let (_dir, cloud) = start().await;
    put(&s3(&cloud), "submissions", "hidden", "labels").await;
    let endpoint = cloud.s3_endpoint();
    let read = |host: &str| Request::new("GET", &presigned("GET", "/submissions/hidden", host));
    assert_closed_to_browsers(endpoint, read).await;
    // as an image, a script or a frame of a page of another port of this machine, which says no origin
    for site in ["same-site", "same-origin"] {
        let request = read(authority(endpoint)).with("sec-fetch-site", site);
        let answer = request.send(endpoint).await;
        assert_eq!(answer.status, 403, "{site}: {answer:?}");
    }
    let answer = read(authority(endpoint)).send(endpoint).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "labels"));
    // errors are documents of this origin too
    let answer = Request::new("GET", "/submissions/hidden").send(endpoint).await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert!(answer.header("content-security-policy").is_some(), "{answer:?}");
    let rebound = rebound(endpoint);
    let answer = Request::new("GET", &presigned("GET", "/submissions/hidden", &rebound));
    let answer = answer
        .with("referer", FOREIGN_ORIGIN)
        .send_as(endpoint, &rebound)
        .await;
    assert_eq!(answer.status, 403);
    assert!(!answer.body.contains("labels"));
    cloud.shutdown().await;
}

/// What a link of the page to an object that is signed for comes as, and what comes from elsewhere or without a signature.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_link_opens_only_signed_objects() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.s3_endpoint();
    put(&s3(&cloud), "submissions", "a", "linked").await;
    let signed = presigned("GET", "/submissions/a", authority(endpoint));
    let link = |target: &str, site: &str, mode: &str, dest: &str| {
        Request::new("GET", target)
            .with("sec-fetch-site", site)
            .with("sec-fetch-mode", mode)
            .with("sec-fetch-dest", dest)
    };
    let followed = link(&signed, "same-site", "navigate", "document")
        .send(endpoint)
        .await;
    assert_eq!(
        (followed.status, followed.body.as_str()),
        (200, "linked"),
        "{followed:?}"
    );
    assert!(
        followed
            .header("content-security-policy")
            .unwrap()
            .contains("sandbox")
    );
    assert!(!followed.is_readable_elsewhere());
    for (target, site, mode, dest) in [
        (signed.as_str(), "cross-site", "navigate", "document"),
        (signed.as_str(), "same-site", "navigate", "iframe"),
        (signed.as_str(), "same-site", "no-cors", "image"),
        (signed.as_str(), "same-site", "cors", "empty"),
        ("/submissions/a", "same-site", "navigate", "document"),
    ] {
        let answer = link(target, site, mode, dest).send(endpoint).await;
        assert_eq!(answer.status, 403, "{target} {site} {mode} {dest}: {answer:?}");
        assert!(!answer.is_readable_elsewhere());
    }
    // half of a signature is a request that can't be understood
    let unsigned = link(
        "/submissions/a?X-Amz-Signature=0",
        "same-site",
        "navigate",
        "document",
    );
    assert_eq!(unsigned.send(endpoint).await.status, 400);
    let named = format!("{signed}&response-content-disposition=attachment");
    let forged = link(&named, "same-site", "navigate", "document")
        .send(endpoint)
        .await;
    assert_eq!(forged.status, 403, "the signature is of other parameters");
    cloud.shutdown().await;
}
