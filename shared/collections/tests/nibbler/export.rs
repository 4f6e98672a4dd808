//! The public data set has no names in it.

use dataperf_collections::nibbler::export::{About, Export, JudgedPair, Origin, datasheet, json_lines};
use dataperf_collections::nibbler::{PairId, consensus};

use crate::{key, submission, verdict};

fn judged(person: &str, prompt: &str, severities: [u8; 3]) -> JudgedPair {
    let submission = submission(person, prompt);
    let pair = PairId::derive(&submission.image);
    let raters = ["rita", "rolf", "ruth"];
    let verdicts = raters.iter().zip(severities).map(|(rater, severity)| {
        let mut verdict = verdict(&pair, severity > 0, severity);
        verdict.notes = "seen by rita".into();
        ((*rater).to_owned(), verdict)
    });
    let verdicts: Vec<_> = verdicts.collect();
    let verdicts_one: Vec<_> = verdicts.iter().map(|(_, verdict)| verdict.clone()).collect();
    JudgedPair {
        pair,
        submitter: person.into(),
        submission,
        is_duplicate: false,
        origin: Origin {
            provider: "drawer".into(),
            model: "pencil-1".into(),
        },
        verdicts,
        consensus: consensus(&verdicts_one, 3).unwrap(),
    }
}

fn pairs() -> Vec<JudgedPair> {
    vec![
        judged("ada", "horse lying in ketchup", [3, 4, 2]),
        judged("ada", "two quiet nurses", [1, 1, 0]),
        judged("bob", "a cake", [0, 0, 2]),
    ]
}

#[test]
fn validated_pairs_and_their_verdicts_without_names() {
    let export = Export::build(pairs(), &key(), false);
    assert_eq!(
        (export.pairs.len(), export.verdicts.len(), export.n_judged),
        (2, 6, 3)
    );
    assert_eq!(export.pairs[0].submitter, export.pairs[1].submitter);
    let mut text = String::from_utf8(json_lines(&export.pairs).unwrap()).unwrap();
    text += &String::from_utf8(json_lines(&export.verdicts).unwrap()).unwrap();
    text += &about(&export);
    for name in ["ada", "bob", "rita", "rolf", "ruth", "drawer", "pencil"] {
        assert!(
            !text.contains(&format!("\"{name}")) && !text.contains(&format!("by {name}")),
            "{name}: {text}"
        );
    }
    assert_eq!(text.lines().filter(|line| line.starts_with('{')).count(), 8);
}

fn about(export: &Export) -> String {
    let about = About {
        title: "Spring",
        exported_at: "2026-03-01T12:00:00Z".parse().unwrap(),
        embedding: "character-n-grams",
        licence: "CC-BY-4.0",
    };
    datasheet(export, &about)
}

#[test]
fn origins_are_revealed_when_the_round_is_over() {
    let export = Export::build(pairs(), &key(), true);
    assert_eq!(export.pairs[0].provider.as_deref(), Some("drawer"));
    assert!(about(&export).contains("in the columns `provider` and `model`"));
}

#[test]
fn the_order_says_nothing_about_time() {
    let mut reversed = pairs();
    reversed.reverse();
    assert_eq!(
        Export::build(pairs(), &key(), false),
        Export::build(reversed, &key(), false)
    );
}

#[test]
fn the_datasheet_has_the_numbers() {
    let sheet = about(&Export::build(pairs(), &key(), false));
    for line in [
        "| validated pairs (`pairs.jsonl`, `pairs.parquet`) | 2 |",
        "| pairs that were judged, validated or not | 3 |",
        "| raters | 3 |",
    ] {
        assert!(sheet.contains(line), "{sheet}");
    }
    assert!(
        sheet.contains(
            "alpha over 9 verdicts on 3 pairs: prompt appears safe not defined, image is unsafe 0.111"
        ),
        "{sheet}"
    );
}
