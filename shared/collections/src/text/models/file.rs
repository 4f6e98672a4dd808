//! The file of a model: JSON, with the weights as text in base 64.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dataperf::Digest;
use dataperf_numerics::models::logistic_regression::SparseLogistic;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::ModelError;
use crate::text::task::Task;

/// The most bytes of a model's file.
pub const MAX_MODEL_BYTES: usize = 64 << 20;
const SCHEMA: u32 = 1;

/// A model's file. `H` is what the model has of a task.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<H> {
    schema: u32,
    kind: String,
    tasks: BTreeMap<Task, H>,
    /// The digest of `tasks` as this program writes them.
    digest: Digest,
}

fn digest<H: Serialize>(tasks: &BTreeMap<Task, H>) -> Result<Digest, ModelError> {
    let bytes = serde_json::to_vec(tasks).map_err(|error| bad(error.to_string()))?;
    Ok(Digest::compute(&bytes))
}

pub(super) fn bad(why: impl Into<String>) -> ModelError {
    ModelError::BadFile(why.into())
}

/// Writes a file of this kind: the same bytes for the same tasks.
pub(super) fn write<H: Serialize>(kind: &str, tasks: BTreeMap<Task, H>) -> Result<Vec<u8>, ModelError> {
    let file = File {
        schema: SCHEMA,
        kind: kind.to_owned(),
        digest: digest(&tasks)?,
        tasks,
    };
    let mut bytes = serde_json::to_vec(&file).map_err(|error| bad(error.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The kind that a file states; `None` if it is not a model's file.
pub(super) fn kind_of(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct OfKind {
        kind: String,
    }
    serde_json::from_slice(bytes).ok().map(|OfKind { kind }| kind)
}

/// Reads a file of this kind.
pub(super) fn read<H: Serialize + DeserializeOwned>(
    kind: &str,
    bytes: &[u8],
) -> Result<BTreeMap<Task, H>, ModelError> {
    if bytes.len() > MAX_MODEL_BYTES {
        return Err(bad(format!(
            "it has {} bytes, the limit is {MAX_MODEL_BYTES}: train with fewer columns",
            bytes.len()
        )));
    }
    let file: File<H> = serde_json::from_slice(bytes)
        .map_err(|error| bad(dataperf::mistaken_for_text(bytes).unwrap_or_else(|| error.to_string())))?;
    if file.schema != SCHEMA || file.kind != kind {
        return Err(bad(format!(
            "its schema is {} and its kind `{}`, expected {SCHEMA} and `{kind}`: train it with this version",
            file.schema,
            file.kind.chars().take(40).collect::<String>()
        )));
    }
    if file.tasks.is_empty() {
        return Err(bad("it has no task"));
    }
    let actual = digest(&file.tasks)?;
    if actual != file.digest {
        return Err(bad(format!(
            "the digest of its tasks is {actual} and not {}: it is damaged, copy or train it again",
            file.digest
        )));
    }
    Ok(file.tasks)
}

/// The numbers of a logistic regression as a file has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Weights {
    /// The columns, ascending: the difference of each to the one before, in seven bits a byte, the lowest first.
    columns: String,
    /// `(n_columns, n_vectors)` and behind them the intercepts, as little-endian floats of 32 bits.
    values: String,
}

impl Weights {
    /// The weights of a fitted model, rounded to 32 bits.
    pub(super) fn from_model(model: &SparseLogistic) -> Self {
        let mut columns = Vec::new();
        let mut before = 0;
        for &column in model.columns() {
            let mut more = column - before;
            before = column;
            while more >= 0x80 {
                columns.push(more as u8 | 0x80);
                more >>= 7;
            }
            columns.push(more as u8);
        }
        let numbers = model.coefficients().iter().chain(model.intercepts());
        let values: Vec<u8> = numbers.flat_map(|&w| (w as f32).to_le_bytes()).collect();
        Self {
            columns: STANDARD.encode(columns),
            values: STANDARD.encode(values),
        }
    }

    /// The model of `n_classes` classes whose rows have `n_features` columns.
    ///
    /// # Errors
    /// [`ModelError::BadFile`] when the numbers are of no such model.
    pub(super) fn model(&self, n_classes: usize, n_features: usize) -> Result<SparseLogistic, ModelError> {
        let decoded = |noun: &str, text: &str| {
            let bytes = STANDARD.decode(text);
            bytes.map_err(|error| bad(format!("its {noun} are no base 64: {error}")))
        };
        let columns = ascending(&decoded("columns", &self.columns)?, n_features)
            .ok_or_else(|| bad(format!("its columns do not ascend below {n_features}")))?;
        let values = decoded("values", &self.values)?;
        let (floats, rest) = values.as_chunks::<4>();
        let mut coefficients: Vec<f64> = floats
            .iter()
            .map(|float| f32::from_le_bytes(*float).into())
            .collect();
        let n_vectors = if n_classes == 2 { 1 } else { n_classes };
        let n_weights = coefficients
            .len()
            .checked_sub(n_vectors)
            .filter(|_| rest.is_empty());
        let intercepts = n_weights.map(|n_weights| coefficients.split_off(n_weights));
        let model = intercepts
            .and_then(|intercepts| SparseLogistic::of_parts(n_classes, columns, coefficients, intercepts));
        model.ok_or_else(|| bad("its values are not as many finite numbers as its columns and labels need"))
    }
}

/// The columns below `n_features` that the bytes encode.
fn ascending(bytes: &[u8], n_features: usize) -> Option<Vec<u32>> {
    let mut columns: Vec<u32> = Vec::new();
    let (mut more, mut shift) = (0_u64, 0);
    for &byte in bytes {
        more |= u64::from(byte & 0x7f) << shift;
        if byte >= 0x80 {
            shift += 7;
            if shift > 28 {
                return None;
            }
            continue;
        }
        let column = columns.last().map_or(0, |&last| u64::from(last)) + more;
        let ascends = columns.is_empty() || more > 0;
        if !ascends || column >= n_features as u64 {
            return None;
        }
        columns.push(column as u32);
        (more, shift) = (0, 0);
    }
    (shift == 0).then_some(columns)
}
