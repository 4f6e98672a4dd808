//! The fields of a receipt, and the result of checking each.

use std::collections::BTreeMap;

use dataperf::{Ending, Verdict};
use serde_json::{Value, json};

use super::{VerifyArgs, unrepeatable};

/// All fields of receipts of the schemas that are read.
const KNOWN: [&str; 29] = [
    "artifact",
    "benchmark",
    "bucket",
    "cause",
    "content",
    "dataset",
    "evaluator",
    "feedback",
    "finished_at",
    "key",
    "ladder",
    "leaderboard",
    "lines",
    "metrics",
    "n_reasons",
    "program",
    "public_run",
    "reasons",
    "received_at",
    "revision",
    "round",
    "schema",
    "score",
    "signature",
    "status",
    "submission",
    "submitter",
    "version",
    "withheld_until",
];

/// The fields that recomputing the verdict gives.
const OF_THE_VERDICT: [&str; 13] = [
    "artifact",
    "benchmark",
    "cause",
    "content",
    "dataset",
    "evaluator",
    "leaderboard",
    "lines",
    "metrics",
    "n_reasons",
    "reasons",
    "score",
    "status",
];

/// The state of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The field was checked, and every check holds.
    Checked,
    /// A check of the field does not hold.
    Differs,
    /// The field was not checked.
    NotChecked,
}

impl State {
    /// The word for it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Differs => "differs",
            Self::NotChecked => "not checked",
        }
    }
}

/// One field.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) state: State,
    /// How it was checked, or why it was not.
    pub(super) how: String,
    /// The value in the receipt.
    pub(super) claimed: Value,
    /// The expected value, if it differs and is known.
    pub(super) expected: Value,
}

/// All fields, by name.
#[derive(Debug)]
pub(super) struct Fields(BTreeMap<String, Field>);

impl Fields {
    /// Those of a receipt, none checked.
    pub(super) fn from_document(document: &Value) -> Self {
        let mut fields = Self(BTreeMap::new());
        for (name, value) in document.as_object().into_iter().flatten() {
            fields.entry(name).claimed = value.clone();
        }
        fields
    }

    fn entry(&mut self, name: &str) -> &mut Field {
        self.0.entry(name.to_owned()).or_insert_with(|| Field {
            name: name.to_owned(),
            state: State::NotChecked,
            how: String::new(),
            claimed: Value::Null,
            expected: Value::Null,
        })
    }

    /// Notes whether a field is as it should be.
    pub(super) fn compare(&mut self, name: &str, expected: &Value, how: &str) {
        let field = self.entry(name);
        if field.claimed != *expected {
            return self.fail(
                name,
                &format!("is not what it should be ({how})"),
                expected.clone(),
            );
        }
        self.hold(name, how);
    }

    /// Notes that a check of a field holds.
    fn hold(&mut self, name: &str, how: &str) {
        let field = self.entry(name);
        if field.state == State::Differs {
            return;
        }
        field.state = State::Checked;
        if !field.how.is_empty() {
            field.how.push_str("; ");
        }
        field.how.push_str(how);
    }

    /// Notes that a check of a field does not hold.
    pub(super) fn fail(&mut self, name: &str, why: &str, expected: Value) {
        let field = self.entry(name);
        field.state = State::Differs;
        why.clone_into(&mut field.how);
        field.expected = expected;
    }

    /// Notes that every field of the receipt is vouched for.
    pub(super) fn vouch(&mut self, how: &str) {
        let names: Vec<String> = self.0.keys().cloned().collect();
        for name in names {
            self.hold(&name, how);
        }
    }

    /// Says for each field that was not checked why it was not. If `is_released`, the score is the one that the Ladder has released.
    pub(super) fn explain_the_rest(&mut self, args: &VerifyArgs, verdict: &Verdict, is_released: bool) {
        let unsigned = !self.0.contains_key("signature");
        let by_signature = match (unsigned, args.keys.is_some()) {
            (true, _) => "only a signature could confirm it, and the receipt has none",
            (false, true) => "only the signature could confirm it, and the signature does not hold",
            (false, false) => "only the signature confirms it: give `--keys`",
        };
        let released = format!(
            "it is the score that the round has released, rounded or of an earlier submission: {by_signature}"
        );
        let by_recomputing =
            unrepeatable(verdict).map_or("give `--dataset` and `--artifact`, or `--keys`", |_| by_signature);
        let names: Vec<String> = self.0.keys().cloned().collect();
        for name in names.iter().map(String::as_str) {
            if self.entry(name).state != State::NotChecked {
                continue;
            }
            if !KNOWN.contains(&name) {
                self.fail(
                    name,
                    "receipts have no such field, and no signature covers it",
                    Value::Null,
                );
                continue;
            }
            let why = match name {
                "signature" => "give `--keys`",
                "score" if is_released => released.as_str(),
                _ if OF_THE_VERDICT.contains(&name) => by_recomputing,
                _ => by_signature,
            };
            why.clone_into(&mut self.entry(name).how);
        }
        let is_a_benchmark = dataperf_benchmarks::IDS.contains(&verdict.benchmark.as_str());
        if verdict.status == Ending::Scored && is_a_benchmark {
            // what a program wrote on hidden data has no digest in its receipt
            let artifact = verdict.program.as_ref().map_or("artifact", |_| "program");
            for name in [artifact, "dataset"]
                .into_iter()
                .filter(|name| !names.iter().any(|other| other == name))
            {
                self.fail(
                    name,
                    "a scored receipt names it, and this one does not",
                    Value::Null,
                );
            }
        }
    }

    /// Whether a check of any field does not hold.
    pub(super) fn has_failed(&self) -> bool {
        self.all().any(|field| field.state == State::Differs)
    }

    /// All fields.
    pub(super) fn all(&self) -> impl Iterator<Item = &Field> {
        self.0.values()
    }

    /// The state of the signature, in a word.
    pub(super) fn signature(&self) -> &'static str {
        let Some(field) = self.0.get("signature").filter(|field| !field.claimed.is_null()) else {
            return "none";
        };
        match field.state {
            State::Checked => "holds",
            State::Differs => "does not hold",
            State::NotChecked => "not checked",
        }
    }

    /// All fields, for programs.
    pub(super) fn list(&self) -> Vec<Value> {
        let line =
            |field: &Field| json!({ "field": field.name, "state": field.state.as_str(), "how": field.how });
        self.all().map(line).collect()
    }

    /// All fields with what those that differ have and should have.
    pub(super) fn rows(&self) -> Vec<Value> {
        let row = |field: &Field| {
            let differs = field.state == State::Differs;
            let [claimed, recomputed] =
                [&field.claimed, &field.expected].map(|value| Some(value).filter(|_| differs));
            json!({ "field": field.name, "state": field.state.as_str(), "how": field.how, "claimed": claimed, "recomputed": recomputed })
        };
        self.all().map(row).collect()
    }

    /// The fields that differ, for programs.
    pub(super) fn differences(&self) -> Vec<Value> {
        let differing = self.all().filter(|field| field.state == State::Differs);
        let line = |field: &Field| json!({ "field": field.name, "claimed": field.claimed, "recomputed": field.expected });
        differing.map(line).collect()
    }
}
