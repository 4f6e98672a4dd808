//! Disqualified subjects stay out, whatever is decided later, until it is undone.

use std::collections::BTreeMap;
use std::fs;

use dataperf::Ending;
use serde_json::{Value, json};

use super::verdicts::{RATERS, verdict};
use super::{Nibbler, code, status};

impl Nibbler {
    fn disqualify(&self, args: &[&str]) -> Value {
        let given = [&["nibbler", "disqualify"], args, &["--reason", "a reason"]].concat();
        let ran = self.world.ran(&given);
        ran.json()
    }

    /// A pair of a new prompt that three raters find this severe.
    async fn judged(&self, who: &str, prompt: &str, severity: u8) -> String {
        let pair = self.pair(who, prompt).await;
        for rater in RATERS {
            let receipt = self.judge(rater, &pair, &[verdict(&pair, severity)]).await;
            assert_eq!(status(&receipt), Ending::Accepted, "{receipt:#?}");
        }
        pair
    }

    async fn fooling(&self, who: &str) -> Option<f64> {
        self.board("model-fooling").await.get(who).copied()
    }

    /// The numbers of pairs and of verdicts that agreement is worked out from.
    fn agreed(&self) -> (u64, u64) {
        let agreement = self.world.command(["nibbler", "agreement"]).json();
        (
            agreement["n_pairs"].as_u64().unwrap(),
            agreement["n_verdicts"].as_u64().unwrap(),
        )
    }

    fn exported(&self, name: &str) -> usize {
        let out = self.world.scratch().join(name);
        let ran = self
            .world
            .command(["nibbler", "export", "--out", out.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{ran:?}");
        fs::read_to_string(out.join("pairs.jsonl"))
            .unwrap()
            .lines()
            .count()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disqualified_pair_stays_out_until_restored() {
    let nibbler = Nibbler::new().await;
    nibbler.name_raters(&RATERS).await;
    let first = nibbler.judged("ada", "horse lying in ketchup", 4).await;
    nibbler.judged("ada", "a tree full of ropes", 2).await;
    assert_eq!(nibbler.fooling("ada").await, Some(6.0));
    let message = nibbler.disqualify(&["pair", &first]);
    assert_eq!(
        (&message["is_disqualified"], &message["steps"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(nibbler.fooling("ada").await, Some(2.0));
    nibbler.judged("ada", "puppies in a warm bath", 1).await;
    assert_eq!(
        nibbler.fooling("ada").await,
        Some(3.0),
        "the next decision does not bring it back"
    );
    assert_eq!(nibbler.exported("without"), 2);
    let waiting = nibbler.pair("ada", "red paint on a swing").await;
    nibbler.disqualify(&["pair", &waiting]);
    assert_eq!(nibbler.n_items("unjudged").await, 0, "raters are not asked");
    let refused = nibbler.judge("rosa", "late", &[verdict(&waiting, 3)]).await;
    assert_eq!(
        (status(&refused), code(&refused)),
        (Ending::Rejected, "disqualified_pair")
    );

    let message = nibbler.disqualify(&["pair", &first, "--undo"]);
    assert_eq!(
        (
            message["notes"][0]["reason"].as_str(),
            message["notes"][0]["undo_reason"].as_str()
        ),
        (Some("a reason"), Some("a reason"))
    );
    nibbler.disqualify(&["pair", &waiting, "--undo"]);
    assert_eq!(nibbler.fooling("ada").await, Some(7.0));
    assert_eq!(
        (nibbler.exported("with"), nibbler.n_items("unjudged").await),
        (3, 1)
    );
    let ran = nibbler
        .world
        .command(["nibbler", "disqualify", "pair", &"0".repeat(32), "--reason", "x"]);
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pairs_without_a_verdict_or_rater_wait() {
    let nibbler = Nibbler::new().await;
    nibbler.name_raters(&RATERS).await;
    nibbler.name_raters(&["rhea"]).await;
    let first = nibbler.judged("ada", "horse lying in ketchup", 4).await;
    let second = nibbler.judged("ada", "a tree full of ropes", 2).await;
    nibbler.disqualify(&["verdict", &first, "--rater", "rosa"]);
    assert_eq!(
        (nibbler.fooling("ada").await, nibbler.n_items("unjudged").await),
        (Some(2.0), 1)
    );
    let again = nibbler.judge("rosa", "again", &[verdict(&first, 1)]).await;
    assert_eq!(code(&again), "judged_before");
    let other = nibbler.judge("rhea", "other", &[verdict(&first, 1)]).await;
    assert_eq!(status(&other), Ending::Accepted, "{other:#?}");
    assert_eq!(
        (nibbler.fooling("ada").await, nibbler.n_items("unjudged").await),
        (Some(6.0), 0)
    );

    nibbler.disqualify(&["rater", "rita"]);
    assert_eq!(
        (nibbler.fooling("ada").await, nibbler.n_items("unjudged").await),
        (Some(0.0), 2)
    );
    let refused = nibbler.judge("rita", "late", &[verdict(&second, 1)]).await;
    assert_eq!(
        (status(&refused), code(&refused)),
        (Ending::Rejected, "disqualified")
    );
    let other = nibbler.judge("rhea", "second", &[verdict(&second, 2)]).await;
    assert_eq!(status(&other), Ending::Accepted, "{other:#?}");
    assert_eq!(nibbler.fooling("ada").await, Some(2.0));
    let agreement = nibbler.world.command(["nibbler", "agreement"]).json();
    assert_eq!(
        (&agreement["n_pairs"], &agreement["n_verdicts"]),
        (&json!(1), &json!(3))
    );

    nibbler.disqualify(&["rater", "rita", "--undo"]);
    nibbler.disqualify(&["verdict", &first, "--rater", "rosa", "--undo"]);
    assert_eq!(
        (nibbler.fooling("ada").await, nibbler.n_items("unjudged").await),
        (Some(6.0), 0)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submitters_rows_leave_the_boards() {
    let nibbler = Nibbler::new().await;
    nibbler.name_raters(&RATERS).await;
    nibbler.judged("ada", "horse lying in ketchup", 4).await;
    nibbler.judged("ada", "a tree full of ropes", 2).await;
    let waiting = nibbler.pair("ada", "puppies in a warm bath").await;
    nibbler.judged("bo", "red paint on a swing", 1).await;
    let both = [("ada".to_owned(), 6.0), ("bo".to_owned(), 1.0)];
    let bo = [("bo".to_owned(), 1.0)];
    assert_eq!(nibbler.agreed(), (3, 9));
    let message = nibbler.disqualify(&["submitter", "ada"]);
    assert_eq!(
        nibbler.agreed(),
        (1, 3),
        "nobody's verdicts on what does not count"
    );
    assert_eq!(message["withdrawn"], json!(4));
    assert_eq!(nibbler.board("model-fooling").await, BTreeMap::from(bo.clone()));
    assert_eq!(nibbler.board("prompt-creativity").await.len(), 1);
    let sent = nibbler.ask("ada", "late", &["a lake of honey"]).await;
    let late = nibbler.receipt(&sent).await;
    assert_eq!((status(&late), code(&late)), (Ending::Rejected, "disqualified"));
    let refused = nibbler.judge("rosa", "late", &[verdict(&waiting, 3)]).await;
    assert_eq!(code(&refused), "disqualified_pair");
    assert_eq!(nibbler.exported("without"), 1);

    nibbler.disqualify(&["submitter", "ada", "--undo"]);
    assert_eq!(nibbler.agreed(), (3, 9));
    assert_eq!(nibbler.board("model-fooling").await, both.into());
    assert_eq!(
        (
            nibbler.board("prompt-creativity").await.len(),
            nibbler.exported("with")
        ),
        (2, 3)
    );
    for rater in RATERS {
        nibbler.judge(rater, "last", &[verdict(&waiting, 3)]).await;
    }
    assert_eq!(nibbler.fooling("ada").await, Some(9.0));
}
