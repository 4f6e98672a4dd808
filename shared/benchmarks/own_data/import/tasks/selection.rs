//! Imports `selection`: a pool of examples and a test set.

use std::collections::BTreeMap;
use std::path::Path;

use crate::own_data::selection::{Board, LabelSource, POOL, Parameters, Selection};
use crate::own_data::table::{FEATURES, ID, LABEL, examples_file, features_file, read as read_table};
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::DatasetError;
use serde_json::json;

use crate::own_data::import::document::Reader;
use crate::own_data::import::examples::ExpectedColumns;
use crate::own_data::import::problems::Problems;
use crate::own_data::import::{
    Draws, Evals, freeze_picture, in_turn, labelled_sets, members, participants_tables, read, refused,
    to_json, too_much_evidence,
};
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf_datasets::DatasetWriter;
use dataperf_datasets::labels::labelled::LabelledAt;
use dataperf_datasets::{Import, ImportError, KitTable, Progress};

const KEYS: &[&str] = &["pool", "labels"];
const BOARD_KEYS: &[&str] = &["name", "about", "max_examples"];
const LABELLED: ExpectedColumns = ExpectedColumns {
    required: &["id", "label"],
    optional: &["group"],
};
const UNLABELLED: ExpectedColumns = ExpectedColumns {
    required: &["id"],
    optional: &["group"],
};

impl Import for Selection {
    const LAYOUT: &'static str = "a directory with `task.yaml`, which names the files of the pool and the test set; \
        `dataperf dataset init selection` writes one with explanations";

    fn guide(manifest: &Manifest) -> Result<String, FrozenError> {
        let guide = match manifest.parameters::<Parameters>()?.labels {
            LabelSource::Pool => include_str!("../../selection/kit/guide.md"),
            LabelSource::Submission => include_str!("../../selection/kit/guide-labels.md"),
        };
        Ok(guide.to_owned())
    }

    const STARTER: &'static str = concat!(
        include_str!("../../selection/kit/starter.py"),
        include_str!("../../kit/score.py")
    );

    fn tables(directory: &Path, manifest: &Manifest) -> Result<Vec<KitTable>, FrozenError> {
        participants_tables(directory, manifest, &[(POOL, "pool")])
    }

    fn labelled(manifest: &Manifest) -> Result<Vec<LabelledAt>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        Ok(labelled_sets(manifest, &parameters.scoring.classes, &[POOL]))
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
        let labels = members.get("labels").map_or(Some(LabelSource::Pool), |node| {
            let labels = reader.choice(node, "labels", &["pool", "submission"])?;
            Some(if labels == "pool" {
                LabelSource::Pool
            } else {
                LabelSource::Submission
            })
        });
        let pool = reader
            .required(members, "pool")
            .and_then(|node| reader.source(node, "pool"));
        let mut leaderboards = Vec::new();
        for (name, about, board) in reader.boards(members, BOARD_KEYS) {
            let max_examples = reader.required(board, "max_examples");
            let max_examples = max_examples.and_then(|node| reader.whole(node, "max_examples", 1.0, 1e6));
            leaderboards.extend(max_examples.map(|max_examples| Board {
                name,
                about,
                max_examples: max_examples as usize,
            }));
        }
        let mut common = reader.common(members, "selection", true);
        progress.begin("reading own data", 0);
        let labels = labels.unwrap_or_default();
        let wanted = if labels == LabelSource::Pool {
            &LABELLED
        } else {
            &UNLABELLED
        };
        let evals = Evals::open(from, common.as_mut(), &mut problems);
        let eval = evals.as_ref().and_then(Evals::named);
        let pool = pool.and_then(|pool| pool.open(from, wanted, eval, &mut problems));
        let (Some(mut common), Some(evals)) = (common, evals) else {
            return Err(refused(from, problems));
        };
        let mut notes = Vec::new();
        let classes = &common.scoring.classes;
        if let Some(pool) = &pool {
            problems.extend(pool.examples.check_ids());
            if labels == LabelSource::Pool {
                problems.extend(pool.examples.check_classes("label", classes));
                problems.extend(pool.examples.check_every_class("label", classes));
            }
            for board in &leaderboards {
                let (n, least) = (board.max_examples, classes.len());
                if n < least {
                    problems.add(format!("the leaderboard `{}` allows {n} examples of {least} classes: allow at least one of each", board.name));
                }
                let size = n.min(pool.examples.n_rows);
                if let Err(why) = common.scoring.model.check(size, pool.scanned.n_features, least) {
                    problems.add(format!(
                        "the leaderboard `{}`: the model can't be trained on {size} examples: {why}",
                        board.name
                    ));
                }
            }
            evals.check_groups(&mut problems);
            evals.check_numbers(&[pool], &common.scoring.model, &mut problems);
            let n_items = evals.hidden.as_ref().map_or(0, |eval| eval.scanned.n_rows);
            let n_models = common.scoring.seeds.len();
            problems.extend(too_much_evidence(n_models, n_items, common.scoring.classes.len()));
            evals.check(&[pool], common.allow_duplicates, &mut problems, &mut notes);
        }
        common.about.picture = freeze_picture(from, common.picture.as_ref(), &mut problems, writer)?;
        let Some(pool) = pool.filter(|_| problems.is_empty()) else {
            return Err(refused(from, problems));
        };
        evals.tell(&[&pool], &notes, progress);
        pool.features.freeze(POOL, &pool.scanned, writer)?;
        writer.row_digests(&features_file(POOL), FEATURES)?;
        let columns: &[(&str, &str)] = match labels {
            LabelSource::Pool => &[("id", "id"), ("label", "label"), ("group", "group")],
            LabelSource::Submission => &[("id", "id"), ("group", "group")],
        };
        writer.bytes(&examples_file(POOL), &pool.examples.to_csv(columns))?;
        evals.freeze(writer)?;
        to_json(
            from,
            &Parameters {
                about: common.about,
                scoring: common.scoring,
                labels,
                leaderboards,
            },
        )
    }

    /// The first ids of the pool, up to the board's limit, with each class in turn.
    async fn largest_artifact(
        dataset: &Dataset<Self>,
        leaderboard: &str,
    ) -> Result<Option<Vec<u8>>, DatasetError> {
        let parameters: Parameters = dataset.manifest().parameters()?;
        let board = parameters
            .leaderboards
            .iter()
            .find(|board| board.name == leaderboard);
        let n = board.map_or(0, |board| board.max_examples);
        let pool = read_table(&dataset.files(), POOL).await?;
        let (ids, classes) = (pool.examples.required(ID)?, &parameters.scoring.classes);
        if parameters.labels == LabelSource::Submission {
            let labels: BTreeMap<&str, &str> = ids
                .iter()
                .take(n)
                .zip(classes.iter().cycle())
                .map(|(id, class)| (id.as_str(), class.as_str()))
                .collect();
            return Ok(Some(json!({ "labels": labels }).to_string().into_bytes()));
        }
        let labels = pool.examples.required(LABEL)?;
        // examples of each class in turn: few examples of a class would be less work for most models
        let of_class = |class: &String| -> Vec<usize> {
            let rows = labels.iter().enumerate().filter(|(_, label)| *label == class);
            rows.map(|(row, _)| row).collect()
        };
        let by_class: Vec<Vec<usize>> = classes.iter().map(of_class).collect();
        let rows = in_turn(by_class).into_iter().take(n);
        let chosen: Vec<&str> = rows.map(|row| ids[row].as_str()).collect();
        Ok(Some(json!({ "ids": chosen }).to_string().into_bytes()))
    }

    /// Random labels, where the submission gives them.
    async fn hardest_artifact(
        dataset: &Dataset<Self>,
        leaderboard: &str,
    ) -> Result<Option<Vec<u8>>, DatasetError> {
        let parameters: Parameters = dataset.manifest().parameters()?;
        let boards = &parameters.leaderboards;
        let board = boards.iter().find(|board| board.name == leaderboard);
        let Some(board) = board.filter(|_| parameters.labels == LabelSource::Submission) else {
            return Ok(None);
        };
        let pool = read_table(&dataset.files(), POOL).await?;
        let ids = pool.examples.required(ID)?.iter().take(board.max_examples);
        let (classes, mut draws) = (&parameters.scoring.classes, Draws(0));
        let labels: BTreeMap<&str, &str> = ids
            .enumerate()
            .map(|(row, id)| {
                let class = draws.class_of(row, classes.len());
                (id.as_str(), classes[class].as_str())
            })
            .collect();
        Ok(Some(json!({ "labels": labels }).to_string().into_bytes()))
    }
}
