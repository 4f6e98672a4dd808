//! Traces: what the real function sends to X-Ray's daemon, which a socket of the test plays.

use std::collections::BTreeMap;
use std::net::UdpSocket;

use serde_json::{Value, json};

use crate::nothing_lost::key;
use crate::project::{BENCHMARK, good};
use crate::world::{PATIENCE, World};

/// What every datagram begins with.
const PREAMBLE: &str = "{\"format\": \"json\", \"version\": 1}\n";

/// The subsegments of one upload, in the order in which they ended; that of the submission itself is the last.
fn subsegments(daemon: &UdpSocket) -> Vec<Value> {
    let mut datagram = vec![0; 65536];
    let mut subsegments = Vec::new();
    loop {
        let n_bytes = daemon.recv(&mut datagram).unwrap();
        let text = std::str::from_utf8(&datagram[..n_bytes]).unwrap();
        let subsegment: Value = serde_json::from_str(text.strip_prefix(PREAMBLE).unwrap()).unwrap();
        subsegments.push(subsegment);
        if subsegments.last().unwrap()["name"] == "submission" {
            return subsegments;
        }
    }
}

fn named<'a>(subsegments: &'a [Value], name: &str) -> &'a Value {
    let found = subsegments.iter().find(|subsegment| subsegment["name"] == name);
    found.unwrap_or_else(|| panic!("no `{name}` in {subsegments:#?}"))
}

/// How often each operation of AWS was called within the subsegment of that name, at any depth.
fn calls_within(subsegments: &[Value], name: &str) -> BTreeMap<String, usize> {
    let outer = &named(subsegments, name)["id"];
    let mut calls = BTreeMap::new();
    for call in subsegments
        .iter()
        .filter(|subsegment| subsegment["namespace"] == "aws")
    {
        let mut around = call;
        while let Some(parent) = subsegments
            .iter()
            .find(|other| other["id"] == around["parent_id"])
        {
            around = parent;
            if around["id"] == *outer {
                *calls
                    .entry(call["aws"]["operation"].as_str().unwrap().to_owned())
                    .or_default() += 1;
                break;
            }
        }
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submission_is_traced_phase_by_phase() {
    let daemon = UdpSocket::bind("127.0.0.1:0").unwrap();
    daemon.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = daemon.local_addr().unwrap().to_string();
    let world = World::with(|config| {
        config.functions[0].concurrency = 1; // so that the second run finds the data set in memory
        config.functions[0]
            .environment
            .insert("AWS_XRAY_DAEMON_ADDRESS".into(), address);
    })
    .await;

    let sent = world.put(&key("ada", 0), good(0)).await;
    let cold = subsegments(&daemon);
    let submission = named(&cold, "submission");
    assert_eq!(
        submission["annotations"],
        json!({"benchmark": BENCHMARK, "submission": sent.id()})
    );
    for name in [
        "read challenge",
        "receive",
        "read artifact",
        "open data set",
        "evaluate",
        "record",
    ] {
        assert_eq!(named(&cold, name)["parent_id"], submission["id"], "{name}");
    }
    let evaluation = named(&cold, "evaluate");
    assert_eq!(named(&cold, "load data set")["parent_id"], evaluation["id"]);
    assert_eq!(
        calls_within(&cold, "receive"),
        [("TransactWriteItems".to_owned(), 1)].into()
    );
    assert_eq!(
        calls_within(&cold, "read artifact"),
        [("GetObject".to_owned(), 1)].into()
    );
    assert!(calls_within(&cold, "load data set")["GetObject"] >= 1);
    assert_eq!(calls_within(&cold, "record")["PutObject"], 1, "the receipt");
    for subsegment in &cold {
        assert_eq!(subsegment["trace_id"], submission["trace_id"]);
        assert!(subsegment["start_time"].as_f64() >= submission["start_time"].as_f64());
        assert!(subsegment["end_time"].as_f64() <= submission["end_time"].as_f64());
    }

    world.settle().await;
    let sent = world.put(&key("ada", 1), good(1)).await;
    let warm = subsegments(&daemon);
    assert_eq!(
        named(&warm, "submission")["annotations"]["submission"],
        json!(sent.id())
    );
    assert_ne!(named(&warm, "submission")["trace_id"], submission["trace_id"]);
    assert_eq!(
        calls_within(&warm, "load data set"),
        BTreeMap::new(),
        "it is in memory"
    );
}
