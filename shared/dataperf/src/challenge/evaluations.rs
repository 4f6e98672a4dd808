//! Names of evaluation data that no two data sets share.

use std::collections::{BTreeMap, BTreeSet};

use super::Round;
use crate::Digest;

/// Stands in a name between a data set's own name for some evaluation data and the data set's digest.
const OF: char = '@';
/// How many hexadecimal digits of the data set's digest are in a name.
const N_DIGITS: usize = 16;

/// The evaluation data of a data set's boards, each by a name that includes the data set: two data sets may use the same name, and their scores are
/// not counted together.
pub fn named_by_dataset(evaluations: BTreeMap<String, String>, dataset: Digest) -> BTreeMap<String, String> {
    let tag = tag(dataset);
    let named = |(board, evaluation)| (board, format!("{evaluation}{OF}{tag}"));
    evaluations.into_iter().map(named).collect()
}

/// The name that the data set itself has for some evaluation data, which its successors keep.
pub(super) fn without_dataset(evaluation: &str) -> &str {
    evaluation
        .rsplit_once(OF)
        .map_or(evaluation, |(evaluation, _)| evaluation)
}

fn tag(dataset: Digest) -> String {
    let mut digits = dataset.hex();
    digits.truncate(N_DIGITS);
    digits
}

impl Round {
    /// Whether some of its boards may be scored with `dataset`, according to the active data sets
    /// at the time of publication. If none was noted, any data set may be used.
    pub(super) fn may_use(&self, dataset: Option<Digest>) -> bool {
        let Some(dataset) = dataset else { return true };
        if self.retire.is_some_and(|retire| retire.dataset == dataset) {
            return true;
        }
        if let Some(pinned) = self.dataset {
            return pinned == dataset;
        }
        let tag = tag(dataset);
        let is_of = |evaluation: &String| match evaluation.rsplit_once(OF) {
            Some((_, used)) => used == tag,
            None => true,
        };
        let mut own = self.evaluations.iter().filter(|(board, _)| self.has(board));
        self.evaluations.is_empty() || own.any(|(_, evaluation)| is_of(evaluation))
    }

    /// Whether some boards of both rounds may be scored with one data set, as far as it was known when the challenge was published.
    pub(crate) fn may_use_data_of(&self, other: &Self) -> bool {
        let tags = |round: &Self| -> BTreeSet<String> {
            let own = round.evaluations.iter().filter(|(board, _)| round.has(board));
            let tags = own.filter_map(|(_, evaluation)| evaluation.rsplit_once(OF));
            tags.map(|(_, tag)| tag.to_owned()).collect()
        };
        match (self.dataset, other.dataset) {
            (_, Some(_)) => self.may_use(other.dataset),
            (Some(_), None) => other.may_use(self.dataset),
            (None, None) => self.shares_boards(other) || !tags(self).is_disjoint(&tags(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn round(fields: &serde_json::Value) -> Round {
        let mut round = json!({ "id": "r", "opens": "2026-03-01T00:00:00Z" });
        for (name, value) in fields.as_object().expect("an object") {
            round[name] = value.clone();
        }
        serde_json::from_value(round).expect("a round")
    }

    #[test]
    fn equally_named_data_sets_share_no_evaluation_data() {
        let names = || BTreeMap::from([("a".to_owned(), "main".to_owned()), ("b".into(), "main".into())]);
        let (one, two) = (Digest::compute(b"one"), Digest::compute(b"two"));
        let (of_one, of_two) = (named_by_dataset(names(), one), named_by_dataset(names(), two));
        assert_eq!(of_one["a"], of_one["b"]);
        assert_ne!(of_one["a"], of_two["a"]);
        assert_eq!(without_dataset(&of_one["a"]), "main");
        assert_eq!(without_dataset(&of_two["a"]), "main");
        assert_eq!(without_dataset("main"), "main");
    }

    #[test]
    fn a_round_may_use_its_boards_earlier_data() {
        let (one, two) = (Digest::compute(b"one"), Digest::compute(b"two"));
        let mut evaluations = named_by_dataset([("a".to_owned(), "main".to_owned())].into(), one);
        evaluations.extend(named_by_dataset(
            [("b".to_owned(), "main".to_owned())].into(),
            two,
        ));
        let of_a = round(&json!({ "leaderboards": ["a"], "evaluations": evaluations }));
        assert!(of_a.may_use(Some(one)) && !of_a.may_use(Some(two)) && of_a.may_use(None));
        let of_all = round(&json!({ "evaluations": evaluations }));
        assert!(of_all.may_use(Some(one)) && of_all.may_use(Some(two)));
        let pinned = round(&json!({ "dataset": two, "evaluations": evaluations }));
        assert!(!pinned.may_use(Some(one)) && pinned.may_use(Some(two)));
        for unknown in [json!({}), json!({ "evaluations": { "a": "main" } })] {
            assert!(round(&unknown).may_use(Some(one)), "{unknown}");
        }
    }
}
