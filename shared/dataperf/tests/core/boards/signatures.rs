//! Receipts are signed in the form that is shown, and any change of one is noticed.

use dataperf::benchmark::scorecard::{MetricValue, Metrics};
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::ports::memory::MemoryBucket;
use dataperf::signature::{Keys, MemorySigner, SignatureError, signed_message};
use dataperf::signed;
use dataperf::{Digest, Feedback, Receipt, Scorecard, SubmissionId, Timestamp, Verdict, write_receipt};
use serde_json::{Value, json};

use crate::tiny;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_millis(seconds * 1000)
}

fn receipt() -> Receipt {
    let card = Scorecard {
        score: 0.1 + 0.2,
        metrics: Metrics::new().with("per_seed", MetricValue::Trials(vec![1e-7, 1.0, 1e21, -0.5])),
    };
    let [dataset, artifact] = [Digest::compute(b"a"), Digest::compute(b"b")];
    Receipt {
        schema: Receipt::SCHEMA,
        submission: SubmissionId::derive(
            "submissions",
            "speech-selection/en-25/ada/é \u{7} \u{1f600}.json",
            "v",
        ),
        revision: 1,
        submitter: "ada".into(),
        round: "open".into(),
        bucket: "submissions".into(),
        key: "speech-selection/en-25/ada/é \u{7} \u{1f600}.json".into(),
        version: Some("v".into()),
        received_at: at(1),
        finished_at: at(2),
        feedback: None,
        withheld_until: None,
        shown_at_first: None,
        ladder: None,
        verdict: Verdict::scored("speech-selection", "en-25", dataset, artifact, card),
        signature: None,
    }
}

fn signer(id: &str) -> MemorySigner {
    MemorySigner::new(id).expect("random bytes")
}

fn keys(signers: &[&MemorySigner]) -> Keys {
    let mut keys = Keys::default();
    for signer in signers {
        keys.add(signer.public_key("speech-selection", at(0)));
    }
    keys
}

fn sign(receipt: Receipt, signer: &MemorySigner, when: Timestamp) -> Value {
    let signed = pollster::block_on(signed(receipt, signer, when)).expect("signed");
    // as it is read from a file: numbers have to come back as they were
    serde_json::from_str(&serde_json::to_string_pretty(&signed).expect("JSON")).expect("JSON")
}

/// Every place in a document, as JSON pointers.
fn places(value: &Value, at: &str, paths: &mut Vec<String>) {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(idx, item)| (idx.to_string(), item))
            .collect(),
        _ => return paths.push(at.to_owned()),
    };
    for (key, value) in parts {
        places(value, &format!("{at}/{key}"), paths);
    }
}

fn changed(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64().expect("a number").next_up()),
        Value::String(text) => {
            // another last character of the same kind, so that times, digests and base64 stay what they are
            let mut chars: Vec<char> = text.chars().collect();
            let place = chars
                .iter()
                .position(char::is_ascii_alphanumeric)
                .expect("a letter");
            chars[place] = if chars[place] == '1' { '0' } else { '1' };
            json!(chars.into_iter().collect::<String>())
        }
        other => json!(format!("not {other}")),
    }
}

#[test]
fn the_signed_line_uses_the_canonical_form() {
    // worked out by hand from RFC 8785: keys in order, no blanks, shortest numbers, only what must be is escaped
    let receipt = json!({
        "signature": { "value": "v", "signed_at": "2026-03-01T12:00:00.000Z", "algorithm": "ECDSA_SHA_256", "key": "k" },
        "score": 1.0, "metrics": { "b": [1e21, 1e-7, 0.3], "a": "é\u{7}\"" }, "\u{e000}": 2, "\u{1f600}": 1,
    });
    let canonical = concat!(
        r#"{"metrics":{"a":"é\u0007\"","b":[1e+21,1e-7,0.3]},"score":1,"#,
        r#""signature":{"algorithm":"ECDSA_SHA_256","signed_at":"2026-03-01T12:00:00.000Z"},"#,
        "\"\u{1f600}\":1,\"\u{e000}\":2}" // by UTF-16 units
    );
    let expected = format!("dataperf-receipt/2 {}", Digest::compute(canonical.as_bytes()));
    assert_eq!(signed_message(&receipt), Ok(expected));
    for none in [json!({}), json!([]), json!({ "signature": "s" })] {
        assert!(
            matches!(signed_message(&none), Err(SignatureError::Malformed(_))),
            "{none}"
        );
    }
}

#[test]
fn a_change_of_any_field_is_noticed() {
    let signer = signer("k1");
    let (keys, receipt) = (keys(&[&signer]), sign(receipt(), &signer, at(3)));
    let signature = keys.check(&receipt).expect("holds");
    assert_eq!((signature.key.as_str(), signature.signed_at), ("k1", at(3)));
    let mut all = Vec::new();
    places(&receipt, "", &mut all);
    assert!(all.len() >= 20, "{all:?}");
    for place in &all {
        let mut other = receipt.clone();
        let value = other.pointer_mut(place).expect("a place");
        *value = changed(value);
        assert!(
            keys.check(&other).is_err(),
            "{place} is {}",
            other.pointer(place).expect("a place")
        );
    }
    for key in receipt.as_object().expect("an object").keys() {
        let mut less = receipt.clone();
        less.as_object_mut().expect("an object").remove(key);
        assert!(keys.check(&less).is_err(), "without `{key}`");
    }
    for more in ["/", "/metrics/", "/signature/"] {
        let mut other = receipt.clone();
        let object = other.pointer_mut(more.trim_end_matches('/')).expect("an object");
        object["unheard_of"] = json!(1);
        assert!(keys.check(&other).is_err(), "with another member at `{more}`");
    }
}

#[test]
fn only_the_signing_key_verifies_while_valid() {
    let (old, new) = (signer("old"), signer("new"));
    let receipts = [sign(receipt(), &old, at(10)), sign(receipt(), &new, at(20))];
    let mut rotated = keys(&[&old]);
    rotated.put_in_use(&[new.public_key("speech-selection", at(15))], at(18));
    for receipt in &receipts {
        assert!(rotated.check(receipt).is_ok());
    }
    let late = sign(receipt(), &old, at(18));
    let not_then = SignatureError::NotValidThen {
        key: "old".into(),
        signed_at: at(18),
    };
    assert_eq!(rotated.check(&late), Err(not_then));
    assert!(rotated.check(&sign(receipt(), &old, at(17))).is_ok());
    assert!(
        rotated.check(&sign(receipt(), &new, at(14))).is_err(),
        "before it was valid"
    );

    let unknown = keys(&[&new]).check(&receipts[0]);
    assert_eq!(unknown, Err(SignatureError::UnknownKey { key: "old".into() }));
    let impostor = keys(&[&signer("old")]);
    assert_eq!(impostor.check(&receipts[0]), Err(SignatureError::Mismatch));
    let unsigned = serde_json::to_value(receipt()).expect("JSON");
    assert_eq!(rotated.check(&unsigned), Err(SignatureError::Unsigned));

    let again = rotated.clone();
    rotated.put_in_use(&[new.public_key("speech-selection", at(99))], at(99));
    assert_eq!(rotated, again, "a second time changes nothing");
    let text = serde_json::to_string(&rotated).expect("JSON");
    assert_eq!(serde_json::from_str::<Keys>(&text).expect("keys"), rotated);
}

#[test]
fn key_of_another_benchmark_does_not_fit() {
    let (speech, vision) = (signer("speech"), signer("vision"));
    let mut keys = keys(&[&speech]);
    let own = vision.public_key("vision-selection", at(0));
    keys.put_in_use(&[speech.public_key("speech-selection", at(0)), own], at(9));
    assert!(
        keys.keys.iter().all(|key| key.valid_until.is_none()),
        "both stay in use"
    );
    let forged = SignatureError::OtherBenchmark {
        key: "vision".into(),
        signs: vec!["vision-selection".into()],
        benchmark: "speech-selection".into(),
    };
    assert_eq!(keys.check(&sign(receipt(), &vision, at(1))), Err(forged));
    assert!(keys.check(&sign(receipt(), &speech, at(1))).is_ok());
    // another key signs for the benchmark from now on; what the one before signs later is not valid, although it is in use for others
    let in_use = [
        speech.public_key("debugging", at(0)),
        vision.public_key("speech-selection", at(0)),
    ];
    keys.put_in_use(&in_use, at(5));
    assert!(keys.check(&sign(receipt(), &vision, at(6))).is_ok());
    assert!(keys.check(&sign(receipt(), &speech, at(4))).is_ok());
    assert!(matches!(
        keys.check(&sign(receipt(), &speech, at(5))),
        Err(SignatureError::NotValidThen { .. })
    ));
}

fn stored(results: &MemoryBucket, receipt: &Receipt) -> Value {
    let got = pollster::block_on(results.get(&receipt.object_key(), None, u64::MAX)).expect("a bucket");
    let Got::Object(object) = got else {
        panic!("no receipt")
    };
    serde_json::from_slice(&object.bytes).expect("JSON")
}

#[test]
fn releasing_a_receipt_signs_it_again() {
    let signer = signer("k1");
    let (keys, receipt) = (keys(&[&signer]), receipt());
    let write = |results: &MemoryBucket, level: Feedback, when| {
        pollster::block_on(write_receipt(
            results,
            &signer,
            &receipt,
            &tiny::HOSTED,
            level.into(),
            when,
        ))
        .expect("written");
        stored(results, &receipt)
    };
    let results = MemoryBucket::default();
    let reduced = write(&results, Feedback::Score, at(3));
    assert!(keys.check(&reduced).is_ok() && reduced.get("metrics").is_none());
    let again = write(&results, Feedback::Score, at(4));
    assert_eq!(again, reduced, "the first one stands");
    let whole = write(&results, Feedback::Full, at(5));
    assert_eq!(keys.check(&whole).expect("holds").signed_at, at(5));
    assert_eq!(
        whole["metrics"],
        serde_json::to_value(&receipt.verdict.metrics).expect("JSON")
    );
    assert_eq!(
        write(&results, Feedback::Score, at(6)),
        whole,
        "less never replaces more"
    );

    // as versions before schema 2 wrote it
    for (old, level, is_replaced) in [
        (None, Feedback::Full, true),
        (None, Feedback::Score, false),
        (Some(Feedback::Score), Feedback::Score, true),
    ] {
        let results = MemoryBucket::default();
        let before = Receipt {
            schema: 1,
            feedback: old,
            ..receipt.clone()
        };
        let json = serde_json::to_vec(&before).expect("JSON");
        pollster::block_on(results.put(&receipt.object_key(), json.into())).expect("stored");
        let receipt = write(&results, level, at(7));
        assert_eq!(keys.check(&receipt).is_ok(), is_replaced, "{old:?} {level:?}");
        assert_eq!(receipt["schema"], if is_replaced { 2 } else { 1 });
    }
}
