//! Rounds of the closed division in a challenge's document.

use std::collections::BTreeSet;

use serde::Deserialize as _;
use serde_json::Value;

use super::document::fields::{Object, Reader};
use super::{Challenge, Round};
use crate::Digest;
use crate::benchmark::descriptor::Descriptor;
use crate::programs::{Layer, Programs};
use crate::rejection::{pointer, quote};

/// The division of rounds that take programs.
const CLOSED: &str = "closed";
const FORM: &str = "`programs` names the public data set on which a program has to run first, such as `{public: sha256:...}`; \
    it may also have `max_fuel`, `max_memory_mib`, `max_module_kib`, `max_output_kib`, `daily_failures`, `python: true` and \
    `layers`";

impl Challenge {
    /// Whether a data set is hidden from participants as a whole, its pool included, because programs are to meet it unseen.
    pub fn hides_pool(&self, dataset: Digest) -> bool {
        let hides = |round: &Round| round.programs.is_some() && round.dataset == Some(dataset);
        self.rounds.iter().any(hides)
    }
}

impl Reader {
    pub(super) fn programs(&mut self, object: &Object, at: &str) -> Option<Programs> {
        let (value, at) = (object.get("programs")?, pointer(at, "programs"));
        let Value::Object(_) = value else {
            self.wrong("bad_programs", &at, FORM);
            return None;
        };
        let known = [
            "public",
            "max_fuel",
            "max_memory_mib",
            "max_module_kib",
            "max_output_kib",
            "daily_failures",
            "python",
            "layers",
        ];
        let fields = self.object(value, &at, &known)?;
        if !fields.contains_key("public") {
            self.wrong("missing_key", &pointer(&at, "public"), FORM);
        }
        let mut within = |key: &str, usual: u64, most: u64| {
            let limit = self.limit(fields, &at, key).unwrap_or(usual);
            if limit > most {
                let message = format!(
                    "{limit} is too high: use at most {most}, which the function that runs programs has"
                );
                self.wrong("bad_limit", &pointer(&at, key), message);
            }
            limit
        };
        let max_fuel = within("max_fuel", Programs::MAX_FUEL, Programs::MOST_FUEL);
        let max_memory_mib = within(
            "max_memory_mib",
            Programs::MAX_MEMORY_MIB,
            Programs::MOST_MEMORY_MIB,
        );
        let most_kib = Programs::MAX_MODULE_BYTES >> 10;
        let max_module_kib = fields.contains_key("max_module_kib");
        let max_module_kib = max_module_kib.then(|| within("max_module_kib", most_kib, most_kib));
        let max_output_kib = self.limit(fields, &at, "max_output_kib");
        let daily_failures = self.limit(fields, &at, "daily_failures");
        let python = fields.get("python").map_or(Some(false), Value::as_bool);
        if python.is_none() {
            let message = "set `true` to take programs in Python as well, or leave it out";
            self.wrong("wrong_type", &pointer(&at, "python"), message);
        }
        Some(Programs {
            public: self.parsed::<Digest>(fields, &at, "public")?,
            max_fuel,
            max_memory_mib,
            max_module_kib,
            max_output_kib,
            daily_failures,
            python: python.unwrap_or_default(),
            layers: self.layers(fields, &at),
        })
    }

    /// The layers that a round demands for running its programs.
    fn layers(&mut self, fields: &Object, at: &str) -> BTreeSet<Layer> {
        let Some(value) = fields.get("layers") else {
            return BTreeSet::new();
        };
        let at = pointer(at, "layers");
        let Value::Array(names) = value else {
            let message = "list the sandbox layers that programs need, such as `[system_call_filter]`";
            self.wrong("wrong_type", &at, message);
            return BTreeSet::new();
        };
        let mut layers = BTreeSet::new();
        for (idx, name) in names.iter().enumerate() {
            if let Ok(layer) = Layer::deserialize(name) {
                layers.insert(layer);
                continue;
            }
            let known = serde_json::json!(Layer::ALL);
            let message = format!("{name} is not a sandbox layer: choose from {known}");
            self.wrong("unknown_layer", &format!("{at}/{idx}"), message);
        }
        layers
    }

    /// A round that takes programs is of the closed division and has a hidden data set of its own, which is scored with once.
    pub(super) fn programs_fit(&mut self, rounds: &[(String, Round)]) {
        for (at, round) in rounds {
            let is_closed = round.division.as_deref() == Some(CLOSED);
            let Some(programs) = &round.programs else {
                if is_closed {
                    let message = format!(
                        "`division: closed` needs `programs`: {FORM}; or leave `division: closed` out"
                    );
                    self.wrong("takes_artifacts", &pointer(at, "division"), message);
                }
                continue;
            };
            if !is_closed {
                let message = "`programs` needs `division: closed`: add it";
                self.wrong("not_closed", &pointer(at, "division"), message);
            }
            match round.dataset {
                None => {
                    let message =
                        "a round that takes programs names its hidden data set: `dataset: sha256:...`";
                    self.wrong("missing_key", &pointer(at, "dataset"), message);
                }
                Some(dataset) if dataset == programs.public => {
                    let message = "`public` is also the round's hidden `dataset`, and results on `public` are shown in \
                        full: name another data set";
                    self.wrong("not_hidden", &pointer(at, "programs/public"), message);
                }
                Some(dataset) => self.keeps_unseen(dataset, (at, round), rounds),
            }
            for (key, is_there) in [
                ("final", round.final_dataset.is_some()),
                ("retire", round.retire.is_some()),
                ("ladder", round.ladder),
            ] {
                if is_there {
                    let message =
                        format!("a round that takes programs hides its data anyway: leave `{key}` out");
                    self.wrong("not_with_programs", &pointer(at, key), message);
                }
            }
        }
    }

    /// No other round of the document has artifacts scored with the data set that programs of this one meet unseen, or shows it.
    fn keeps_unseen(&mut self, dataset: Digest, (own, round): (&str, &Round), rounds: &[(String, Round)]) {
        for (at, other) in rounds.iter().filter(|(at, _)| at != own) {
            let begins_before = round.closes.is_none_or(|closes| other.opens < closes);
            if !begins_before {
                continue;
            }
            let unseen = format!(
                "the round {} keeps this data set unseen for programs until it closes",
                quote(&round.id)
            );
            match &other.programs {
                None if other.dataset == Some(dataset) => {
                    let message = format!("{unseen}: name another data set, or open this round afterwards");
                    self.wrong("takes_artifacts", &pointer(at, "dataset"), message);
                }
                Some(programs) if programs.public == dataset => {
                    let message =
                        format!("{unseen}, and results on public data are shown: name another data set");
                    self.wrong("not_hidden", &pointer(at, "programs/public"), message);
                }
                _ => {}
            }
        }
    }

    /// Programs are for benchmarks that have something to give them.
    pub(super) fn takes_programs(&mut self, challenge: &Challenge, hosted: Option<&Descriptor>, at: &str) {
        let refuses = hosted.is_some_and(|hosted| !hosted.takes_programs);
        for (idx, _) in challenge
            .rounds
            .iter()
            .enumerate()
            .filter(|(_, round)| refuses && round.programs.is_some())
        {
            let at = format!("{at}/rounds/{idx}/programs");
            self.wrong(
                "not_of_this_benchmark",
                &at,
                "this benchmark takes no programs: leave `programs` out",
            );
        }
        let needs = hosted.is_some_and(|hosted| hosted.only_programs);
        let rounds = challenge.rounds.iter().enumerate();
        for (idx, _) in rounds.filter(|(_, round)| needs && round.programs.is_none()) {
            let message =
                format!("this benchmark scores only programs: set `division: closed` and `programs`. {FORM}");
            self.wrong("programs_only", &format!("{at}/rounds/{idx}"), message);
        }
        let python = |round: &Round| round.programs.as_ref().is_some_and(|programs| programs.python);
        let rounds = challenge.rounds.iter().enumerate();
        for (idx, _) in rounds.filter(|(_, round)| needs && python(round)) {
            self.wrong(
                "not_measured",
                &format!("{at}/rounds/{idx}/programs/python"),
                "this benchmark scores what a run takes, which can't be counted in Python: leave `python` out",
            );
        }
        let Some(most) = hosted.map(|hosted| hosted.max_artifact_bytes >> 10) else {
            return;
        };
        for (idx, round) in challenge.rounds.iter().enumerate() {
            let limit = round
                .programs
                .as_ref()
                .and_then(|programs| programs.max_output_kib);
            if let Some(limit) = limit.filter(|&limit| limit > most) {
                let at = format!("{at}/rounds/{idx}/programs/max_output_kib");
                let message = format!(
                    "{limit} is more than an artifact of this benchmark may have: use at most {most}"
                );
                self.wrong("bad_limit", &at, message);
            }
        }
    }
}
