//! A simulated campaign: the loop as a whole, with real models.

#![allow(clippy::unwrap_used, clippy::float_cmp)] // helpers of tests are tests

use std::collections::BTreeSet;

use dataperf_collections::text::campaign::{CampaignError, PLAIN, Settings, play};
use dataperf_collections::text::export::{Row, Split, json_lines};
use dataperf_collections::text::models::{
    Labelled, LinearSettings, ModelError, TargetModel, read_linear, train_linear,
};
use dataperf_collections::text::{Task, fooled};

fn train(rows: &[Row]) -> Result<Box<dyn TargetModel>, ModelError> {
    let examples: Vec<Labelled> = rows
        .iter()
        .map(|row| Labelled {
            task: row.task,
            input: row.input(),
            gold: row.gold.clone(),
        })
        .collect();
    read_linear(&train_linear(&examples, &LinearSettings::default()).unwrap())
}

fn small(task: Task) -> Settings {
    Settings {
        task,
        n_rounds: 2,
        n_annotators: 10,
        n_examples: 15,
        n_plain: 200,
        ..Settings::default()
    }
}

#[test]
fn one_seed_gives_the_same_campaign() {
    for task in [Task::Sentiment, Task::Nli] {
        let settings = small(task);
        let one = play(&settings, &train).unwrap();
        let again = play(&settings, &train).unwrap();
        let bytes = |campaign: &dataperf_collections::text::campaign::Campaign| {
            let rows: Vec<&Row> = campaign.exports.iter().flat_map(|export| &export.rows).collect();
            (
                json_lines(&rows).unwrap(),
                serde_json::to_string(&campaign.outcome).unwrap(),
            )
        };
        assert_eq!(bytes(&one), bytes(&again));
        let other = Settings {
            seed: 2,
            ..settings.clone()
        };
        assert_ne!(bytes(&one).0, bytes(&play(&other, &train).unwrap()).0);
        for (round, export) in one.outcome.rounds.iter().zip(&one.exports) {
            let standing = &round.standing;
            assert_eq!(standing.n_submitted + standing.n_duplicates, 150);
            assert_eq!(
                standing.n_pending + standing.n_validated + standing.n_refused,
                standing.n_fooling
            );
            assert_eq!(standing.n_pending, 0, "all verdicts are in");
            assert_eq!(round.fooling.n_found as u64, standing.n_fooling);
            // what fools the model is in the test set, so that its own round's model is wrong about all of it
            let test: Vec<&Row> = export.part(Split::Test).collect();
            assert!(!test.is_empty());
            for row in test {
                assert!(fooled(task, &row.gold, &row.answers[&round.target]));
            }
        }
        let parts = |split| -> BTreeSet<&str> {
            one.exports
                .iter()
                .flat_map(|export| export.part(split))
                .map(|row| row.annotator.as_str())
                .collect()
        };
        assert!(
            parts(Split::Train).is_disjoint(&parts(Split::Test)),
            "over all rounds"
        );
        let cell = |model: &str, round: &str| one.outcome.matrix.cell(task, model, round).unwrap();
        assert_eq!(cell("r1", "round-1").error, 1.0);
        assert_eq!(cell("r2", "round-2").error, 1.0);
        assert!(cell("r1", PLAIN).error < 0.2, "{:?}", cell("r1", PLAIN));
    }
}

#[test]
fn raters_without_errors_let_no_wrong_label_through() {
    let settings = Settings {
        rater_error: 0.0,
        annotator_error: 0.2,
        ..small(Task::Sentiment)
    };
    let played = play(&settings, &train).unwrap();
    for round in &played.outcome.rounds {
        assert_eq!(round.alpha, Some(1.0));
        let quality = &round.quality;
        assert_eq!((quality.let_through.n_found, quality.lost.n_found), (0, 0));
        assert!(quality.fooling.share < Some(1.0) && quality.validated.share == Some(1.0));
        assert!(round.validated.n_found < round.fooling.n_found);
    }
}

#[test]
fn a_campaign_skips_tasks_without_a_grammar() {
    let error = |settings: &Settings| play(settings, &train).unwrap_err();
    assert_eq!(error(&small(Task::Qa)), CampaignError::NoGrammar(Task::Qa));
    let few = Settings {
        n_raters: 4,
        ..small(Task::Nli)
    };
    assert_eq!(
        error(&few).to_string(),
        "`n_raters` is 4, and needs to be at least 5"
    );
}
