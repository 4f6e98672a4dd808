//! Reads the model, the metric and the seeds of a document.

use std::collections::BTreeSet;

use crate::own_data::ScoreMetric;
use dataperf::offer;
use dataperf_numerics::learner::{Kernel, Learner};
use serde_json::json;

use super::{MAX_TITLE_CHARS, Members, Reader};
use crate::own_data::import::yaml::{Node, Value};

impl Reader<'_> {
    /// Reads a model of rows, and checks that it can tell that many classes apart.
    pub(crate) fn learner(&mut self, members: Members<'_>, n_classes: Option<usize>) -> Option<Learner> {
        let model = self.required(members, "model").and_then(|node| self.model(node));
        if matches!(model, Some(Learner::GradientBoosting {})) && n_classes.is_some_and(|n| n > 2) {
            self.wrong(
                members.at,
                "`gradient_boosting` needs two classes: choose another model, or two classes",
            );
        }
        model
    }

    fn model(&mut self, node: &Node) -> Option<Learner> {
        const KINDS: &[&str] = &[
            "logistic_regression",
            "svc",
            "soft_voting",
            "gradient_boosting",
            "k_nearest",
            "nearest_centroid",
        ];
        let name = "model";
        if let Value::Text(_) = node.value {
            // a model may be given by its name alone, with default parameters
            let kind = self.choice(node, name, KINDS)?;
            return default_of(kind);
        }
        let members = self.members(node, name)?;
        let kind = self.required(members, "kind")?;
        let kind = self.choice(kind, "kind", KINDS)?;
        let keys: &[&str] = match kind {
            "logistic_regression" => &["kind", "C", "max_iter", "tol"],
            "svc" => &["kind", "kernel", "gamma", "C", "tol"],
            "k_nearest" => &["kind", "k"],
            _ => &["kind"],
        };
        self.object(node, name, keys)?;
        let positive = |number: f64| number > 0.0 && number.is_finite();
        let mut number = |name: &str, default| match members.get(name) {
            None => Some(default),
            Some(node) => self.number(node, name, "above 0", positive),
        };
        match kind {
            "logistic_regression" => {
                let (c, tol) = (number("C", 1.0), number("tol", 1e-4));
                let max_iter = members
                    .get("max_iter")
                    .map_or(Some(100.0), |node| self.whole(node, "max_iter", 1.0, 100_000.0));
                Some(Learner::LogisticRegression {
                    c: c?,
                    max_iter: max_iter? as usize,
                    tol: tol?,
                })
            }
            "svc" => {
                let (c, tol) = (number("C", 1.0), number("tol", 1e-3));
                let kernel = members.get("kernel").map_or(Some("rbf"), |node| {
                    self.choice(node, "kernel", &["rbf", "linear"])
                });
                if let Some(node) = members.get("gamma") {
                    self.choice(node, "gamma", &["scale"]);
                }
                Some(Learner::Svc {
                    kernel: if kernel? == "linear" {
                        Kernel::Linear
                    } else {
                        Kernel::Rbf
                    },
                    c: c?,
                    tol: tol?,
                })
            }
            "k_nearest" => {
                let k = members
                    .get("k")
                    .map_or(Some(5.0), |node| self.whole(node, "k", 1.0, 100_000.0));
                Some(Learner::KNearest { k: k? as usize })
            }
            other => default_of(other),
        }
    }

    pub(crate) fn metric(&mut self, node: &Node, classes: Option<&[String]>) -> Option<ScoreMetric> {
        const KINDS: &[&str] = &[
            "accuracy",
            "balanced_accuracy",
            "f1",
            "macro_f1",
            "worst_group_accuracy",
        ];
        let (kind, class) = if let Value::Map(_) = node.value {
            let members = self.object(node, "metric", &["kind", "class"])?;
            let kind = self.required(members, "kind")?;
            (self.choice(kind, "kind", KINDS)?, members.get("class"))
        } else {
            (self.choice(node, "metric", KINDS)?, None)
        };
        if let Some(class) = class.filter(|_| kind != "f1") {
            self.wrong(
                class.at,
                format!("only the metric `f1` has a `class`, and the metric is `{kind}`: leave it out"),
            );
        }
        Some(match kind {
            "accuracy" => ScoreMetric::Accuracy,
            "balanced_accuracy" => ScoreMetric::BalancedAccuracy,
            "macro_f1" => ScoreMetric::MacroF1,
            "worst_group_accuracy" => ScoreMetric::WorstGroupAccuracy,
            _ => {
                let Some(class) = class else {
                    self.wrong(
                        node.at,
                        "`f1` needs a class: write `metric: {kind: f1, class: NAME}`",
                    );
                    return None;
                };
                let name = self.text(class, "class", MAX_TITLE_CHARS)?;
                let known: Vec<&str> = classes?.iter().map(String::as_str).collect();
                if !known.contains(&name.as_str()) {
                    self.wrong(
                        class.at,
                        format!("`{name}` is not a class: {}", offer(&name, &known)),
                    );
                    return None;
                }
                ScoreMetric::F1 { class: name }
            }
        })
    }

    pub(crate) fn seeds(&mut self, members: Members<'_>, model: Option<&Learner>) -> Option<Vec<u32>> {
        let Some(node) = members.get("seeds") else {
            return Some(vec![0]);
        };
        let mut seeds = Vec::new();
        for item in self.list(node, "seeds")? {
            seeds.push(self.whole(item, "seeds", 0.0, u32::MAX.into())? as u32);
        }
        let is_voting = matches!(model, None | Some(Learner::SoftVoting { .. }));
        let distinct: BTreeSet<&u32> = seeds.iter().collect();
        if seeds.is_empty() || seeds.len() > 100 || distinct.len() != seeds.len() {
            self.wrong(
                node.at,
                format!("there are {} seeds: name 1 to 100 different ones", seeds.len()),
            );
            return None;
        }
        if seeds.len() > 1 && !is_voting {
            self.wrong(
                node.at,
                format!(
                    "only `soft_voting` uses more than one seed, and there are {}: name one seed, or leave \
                        `seeds` out",
                    seeds.len()
                ),
            );
            return None;
        }
        Some(seeds)
    }
}

/// A model with default parameters, as [`Learner`] has them.
fn default_of(kind: &str) -> Option<Learner> {
    serde_json::from_value(json!({ "kind": kind })).ok()
}
