//! What submitted programs see of the tasks of own data: the participants' files, with rows in another order and numbers for ids.

use serde_json::{Value, json};

use super::table::{Examples, FEATURES, ID, LABEL, features_file, shape};
use super::{PUBLIC_EVAL, acquisition, debugging, selection};
use crate::closed::{Ids, Stored, csv_file, document};
use crate::data_acquisition::closed::summary;
use dataperf::closed::{ClosedTask, DataFile, Seed, each_member};
use dataperf::dataset::{DatasetError, Files};

/// The name under which a program gets the public eval set.
const VALIDATION: &str = "validation";

/// Gives the program a table under a name. Returns the ids of its rows, in the order in which they are given.
async fn table(
    files: &Files<'_>,
    table: &str,
    name: &str,
    seed: Seed,
    given: &mut Vec<DataFile>,
) -> Result<Vec<String>, DatasetError> {
    let path = features_file(table);
    let (n_rows, n_cols, _) = shape(files.manifest(), table)?;
    let stored = Stored {
        bytes: files.tensor(&path, FEATURES).await?,
        dtype: files.manifest().any_tensor(&path, FEATURES)?.dtype,
        n_rows,
        n_cols,
    };
    let examples = Examples::read(files, table, n_rows).await?;
    let order = seed.order(name, n_rows);
    given.push(stored.npy(name, &order, &path)?);
    let labels = examples.column(LABEL);
    let header: &[&str] = if labels.is_some() {
        &["id", "label"]
    } else {
        &["id"]
    };
    let lines = order.iter().enumerate().map(|(number, &row)| {
        let label = labels.map(|labels| labels[row].clone());
        std::iter::once(number.to_string()).chain(label).collect()
    });
    given.push(csv_file(name, header, lines)?);
    let ids = examples.column(ID).unwrap_or_default();
    Ok(order
        .into_iter()
        .filter_map(|row| ids.get(row).cloned())
        .collect())
}

/// Gives the program the public eval set, if there is one.
async fn validation(files: &Files<'_>, seed: Seed, given: &mut Vec<DataFile>) -> Result<(), DatasetError> {
    if files.has(&features_file(PUBLIC_EVAL)) {
        table(files, PUBLIC_EVAL, VALIDATION, seed, given).await?;
    }
    Ok(())
}

pub(super) async fn selection(
    files: &Files<'_>,
    leaderboard: &str,
    seed: Seed,
) -> Result<ClosedTask, DatasetError> {
    let parameters: selection::Parameters = files.manifest().parameters()?;
    let asked = json!({
        "max_examples": parameters.board(leaderboard)?.max_examples, "labels": parameters.labels,
        "classes": parameters.scoring.classes, "model": parameters.scoring.model, "metric": parameters.scoring.metric,
    });
    let mut given = vec![document::<selection::Selection>(leaderboard, asked)];
    let ids = table(files, selection::POOL, "pool", seed, &mut given).await?;
    validation(files, seed, &mut given).await?;
    let ids = Ids::new("pool.csv", ids);
    Ok(ClosedTask {
        files: given,
        translate: Box::new(move |artifact, reasons| {
            each_member(artifact, "", |key, value, at| match key {
                "ids" => ids.list(value, at, reasons),
                "labels" => ids.keys(value, at, reasons),
                _ => value,
            })
        }),
    })
}

pub(super) async fn debugging(
    files: &Files<'_>,
    leaderboard: &str,
    seed: Seed,
) -> Result<ClosedTask, DatasetError> {
    let parameters: debugging::Parameters = files.manifest().parameters()?;
    let asked = json!({
        "target_share": parameters.target_share, "classes": parameters.scoring.classes,
        "model": parameters.scoring.model, "metric": parameters.scoring.metric,
    });
    let mut given = vec![document::<debugging::Debugging>(leaderboard, asked)];
    let ids = table(files, debugging::TRAIN, "train", seed, &mut given).await?;
    validation(files, seed, &mut given).await?;
    let ids = Ids::new("train.csv", ids);
    Ok(ClosedTask {
        files: given,
        translate: Box::new(move |artifact, reasons| {
            each_member(artifact, "", |key, value, at| match key {
                "order" => ids.list(value, at, reasons),
                _ => value,
            })
        }),
    })
}

pub(super) async fn acquisition(
    files: &Files<'_>,
    leaderboard: &str,
    seed: Seed,
) -> Result<ClosedTask, DatasetError> {
    let parameters: acquisition::Parameters = files.manifest().parameters()?;
    let order = seed.order("sellers", parameters.sellers.len());
    let (mut lines, mut sellers) = (Vec::new(), Vec::new());
    for (number, &idx) in order.iter().enumerate() {
        let mut summary = summary(files, &acquisition::summary_file(idx)).await?;
        if let Value::Object(said) = &mut summary {
            said.insert("seller".into(), number.to_string().into()); // it says the seller's name
        }
        sellers.push(summary);
        let seller = &parameters.sellers[idx];
        lines.push(vec![
            number.to_string(),
            seller.n_rows.to_string(),
            seller.price.to_string(),
        ]);
    }
    let asked = json!({
        "budget": parameters.budget, "n_trials": parameters.n_trials, "classes": parameters.scoring.classes,
        "model": parameters.scoring.model, "metric": parameters.scoring.metric, "sellers": sellers,
    });
    let given = vec![
        document::<acquisition::Acquisition>(leaderboard, asked),
        csv_file("sellers", &["seller", "n_rows", "price"], lines.into_iter())?,
    ];
    let names = order.iter().map(|&idx| parameters.sellers[idx].name.clone());
    let names = Ids::new("sellers.csv", names.collect());
    Ok(ClosedTask {
        files: given,
        translate: Box::new(move |artifact, reasons| {
            each_member(artifact, "", |key, value, at| match key {
                "counts" => names.keys(value, at, reasons),
                _ => value,
            })
        }),
    })
}
