//! A submitted program's view of own data: the participants' files, with rows in another order and
//! numbers for ids.

use super::PUBLIC_EVAL;
use super::table::{Examples, FEATURES, ID, LABEL, features_file, shape};
use crate::closed::{Stored, csv_file};
use dataperf::benchmark::closed::{DataFile, Seed};
use dataperf::dataset::{DatasetError, Files};

/// The name under which a program gets the public test set.
const VALIDATION: &str = "validation";

/// Adds a table to the program's files under a name. Returns the ids of its rows, in the program's
/// order.
pub(super) async fn table(
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

/// Adds the public test set to the program's files, if there is one.
pub(super) async fn validation(
    files: &Files<'_>,
    seed: Seed,
    given: &mut Vec<DataFile>,
) -> Result<(), DatasetError> {
    if files.has(&features_file(PUBLIC_EVAL)) {
        table(files, PUBLIC_EVAL, VALIDATION, seed, given).await?;
    }
    Ok(())
}
