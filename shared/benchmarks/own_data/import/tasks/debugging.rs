//! Imports `debugging`: a training set with given and right labels, and a test set.

use std::path::Path;

use crate::own_data::Board;
use crate::own_data::debugging::{Debugging, Extent, Parameters, TARGET_SHARE, TRAIN, TRUTH};
use crate::own_data::table::{ID, examples_file, read as read_table};
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::DatasetError;
use serde_json::json;

use crate::own_data::import::document::Reader;
use crate::own_data::import::examples::ExpectedColumns;
use crate::own_data::import::problems::Problems;
use crate::own_data::import::{
    Evals, freeze_picture, labelled_sets, members, participants_tables, read, refused, to_json,
    too_much_evidence,
};
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf_datasets::DatasetWriter;
use dataperf_datasets::labels::labelled::LabelledAt;
use dataperf_datasets::{Import, ImportError, KitTable, Progress};

const KEYS: &[&str] = &["train", "target_share", "curve"];
const BOARD_KEYS: &[&str] = &["name", "about"];
const LABELLED: ExpectedColumns = ExpectedColumns {
    required: &["id", "given", "truth"],
    optional: &["group"],
};
/// The most predictions that the whole course of fixes of one submission may need.
const MAX_PREDICTIONS: usize = 256 << 20;

impl Import for Debugging {
    const LAYOUT: &'static str = "a directory with `task.yaml`, which names the files of the training set, with the labels `given` \
        and `truth`, and of the test set; `dataperf dataset init debugging` writes one with explanations";

    fn guide(_manifest: &Manifest) -> Result<String, FrozenError> {
        Ok(include_str!("../../debugging/kit/guide.md").to_owned())
    }

    const STARTER: &'static str = include_str!("../../debugging/kit/starter.py");

    fn tables(directory: &Path, manifest: &Manifest) -> Result<Vec<KitTable>, FrozenError> {
        participants_tables(directory, manifest, &[(TRAIN, "train")])
    }

    fn labelled(manifest: &Manifest) -> Result<Vec<LabelledAt>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        Ok(labelled_sets(manifest, &parameters.scoring.classes, &[TRAIN]))
    }

    fn import(
        from: &Path,
        writer: &mut DatasetWriter,
        progress: &dyn Progress,
    ) -> Result<serde_json::Value, ImportError> {
        let document = read(from)?;
        let mut problems = Problems::default();
        let mut reader = Reader {
            problems: &mut problems,
        };
        let members = members(&mut reader, &document, KEYS, from)?;
        let target_share = members.get("target_share").map_or(Some(TARGET_SHARE), |node| {
            reader.number(node, "target_share", "above 0 and at most 1", |share| {
                share > 0.0 && share <= 1.0
            })
        });
        let curve = members.get("curve").map_or(Some(Extent::Whole), |node| {
            let curve = reader.choice(node, "curve", &["whole", "until_target"])?;
            Some(if curve == "whole" {
                Extent::Whole
            } else {
                Extent::UntilTarget
            })
        });
        let train = reader
            .required(members, "train")
            .and_then(|node| reader.source(node, "train"));
        let boards = reader.boards(members, BOARD_KEYS).into_iter();
        let leaderboards: Vec<Board> = boards.map(|(name, about, _)| Board { name, about }).collect();
        let mut common = reader.common(members, "debugging", false);
        progress.begin("reading own data", 0);
        let evals = Evals::open(from, common.as_mut(), &mut problems);
        let eval = evals.as_ref().and_then(Evals::named);
        let train = train.and_then(|train| train.open(from, &LABELLED, eval, &mut problems));
        let (Some(mut common), Some(evals)) = (common, evals) else {
            return Err(refused(from, problems));
        };
        let mut notes = Vec::new();
        let scoring = &common.scoring;
        if let Some(train) = &train {
            let examples = &train.examples;
            problems.extend(examples.check_ids());
            for column in ["given", "truth"] {
                problems.extend(examples.check_classes(column, &scoring.classes));
            }
            problems.extend(examples.check_every_class("truth", &scoring.classes));
            if let Err(why) =
                scoring
                    .model
                    .check(examples.n_rows, train.scanned.n_features, scoring.classes.len())
            {
                problems.add(format!(
                    "`{}`: the model can't be trained on it: {why}",
                    examples.name
                ));
            }
            let labels = examples.required("given").iter().zip(examples.required("truth"));
            let n_wrong = labels.filter(|(given, truth)| given != truth).count();
            if n_wrong == 0 {
                problems.add(format!(
                    "`{}`: every `given` label equals its `truth`, so there is nothing to find",
                    examples.name
                ));
            }
            let n_items = evals.hidden.as_ref().map_or(0, |eval| eval.scanned.n_rows);
            if (n_wrong + 1).saturating_mul(n_items) > MAX_PREDICTIONS {
                problems.add(format!(
                    "{n_wrong} wrong labels and {n_items} test items need too many predictions, the limit \
                        is {MAX_PREDICTIONS}: use fewer of either"
                ));
            }
            problems.extend(too_much_evidence(n_wrong + 1, n_items, scoring.classes.len()));
            evals.check_numbers(&[train], &scoring.model, &mut problems);
            evals.check(&[train], common.allow_duplicates, &mut problems, &mut notes);
        }
        common.about.picture = freeze_picture(from, common.picture.as_ref(), &mut problems, writer)?;
        let Some(train) = train.filter(|_| problems.is_empty()) else {
            return Err(refused(from, problems));
        };
        evals.tell(&[&train], &notes, progress);
        train.features.freeze(TRAIN, &train.scanned, writer)?;
        let given = [("id", "id"), ("label", "given"), ("group", "group")];
        writer.bytes(&examples_file(TRAIN), &train.examples.to_csv(&given))?;
        let truth = [("id", "id"), ("label", "truth")];
        writer.bytes(&examples_file(TRUTH), &train.examples.to_csv(&truth))?;
        evals.freeze(writer)?;
        to_json(
            from,
            &Parameters {
                about: common.about,
                scoring: common.scoring,
                target_share: target_share.unwrap_or(TARGET_SHARE),
                curve: curve.unwrap_or(Extent::Whole),
                leaderboards,
            },
        )
    }

    /// With `until_target` the order decides how many models are fitted, and with `whole` all of them are.
    fn prolong(parameters: &mut serde_json::Value) {
        parameters["curve"] = json!(Extent::Whole);
    }

    /// The training set's order reversed: any order is as much work, because every wrong label costs one model.
    async fn largest_artifact(dataset: &Dataset<Self>, _: &str) -> Result<Option<Vec<u8>>, DatasetError> {
        let train = read_table(&dataset.files(), TRAIN).await?;
        let order: Vec<&String> = train.examples.required(ID)?.iter().rev().collect();
        Ok(Some(json!({ "order": order }).to_string().into_bytes()))
    }
}
