//! The score: macro F1 on the whole eval set, averaged over the seeds.

use std::collections::BTreeMap;

use ndarray::Array2;
use serde_json::{Map, Value, json};

use super::{Checked, Frozen};
use crate::metrics::f1::{f1_per_class, macro_f1};
use crate::metrics::mean;
use crate::verdict::Scorecard;

/// `predicted`: `(n_seeds, n_eval)` classes.
pub(super) fn scorecard(checked: &Checked, frozen: &Frozen, predicted: &Array2<u8>) -> Scorecard {
    let truth = frozen.eval_classes();
    let mut per_seed = Vec::with_capacity(predicted.nrows());
    let mut of_classes = vec![0.0; frozen.words().len() + 1];
    for of_seed in predicted.rows() {
        let of_seed = of_seed.to_vec();
        per_seed.push(macro_f1(truth, &of_seed));
        for (class, f1) in f1_per_class(truth, &of_seed) {
            of_classes[class] += f1 / predicted.nrows() as f64;
        }
    }
    let score = mean(&per_seed);
    let spread = mean(&per_seed.iter().map(|f1| (f1 - score).powi(2)).collect::<Vec<_>>()).sqrt();
    let names = std::iter::once("nontarget").chain(frozen.words().iter().map(String::as_str));
    let f1_of: Map<String, Value> = names
        .zip(&of_classes)
        .map(|(name, f1)| (name.to_owned(), json!(f1)))
        .collect();
    let n_nontargets = checked.classes().iter().filter(|&&class| class == 0).count();
    let metrics = BTreeMap::from([
        ("seeds".to_owned(), json!(frozen.seeds())),
        ("per_seed".to_owned(), json!(per_seed)),
        ("std".to_owned(), json!(spread)),
        ("f1_per_class".to_owned(), Value::Object(f1_of)),
        ("n_clips".to_owned(), json!(checked.rows().len())),
        ("n_nontargets".to_owned(), json!(n_nontargets)),
        ("n_eval".to_owned(), json!(truth.len())),
    ]);
    Scorecard { score, metrics }
}
