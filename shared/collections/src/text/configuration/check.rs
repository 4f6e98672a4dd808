//! Checks that a configuration can run.

use std::collections::BTreeSet;

use crate::common::filter::is_language;
use dataperf::{Reason, Reasons, offer, pointer, quote};

use super::{Configuration, MODEL_DIRECTORY, Target};

/// The most characters that a document may allow for a text: a line with its explanation has to fit into what is read of a line.
const MOST_CHARS: usize = 2_000;
/// The maximum number of a task's models, all of which answer while somebody waits.
const MOST_TARGETS: usize = 7;
/// The most seconds of a call: it has to end while the function that makes it has time left.
const MOST_SECONDS: u64 = 60;
const MOST_BATCH: usize = 256;
/// The most verdicts that an example may wait for.
const MOST_VERDICTS: usize = 25;

impl Configuration {
    /// Notes everything that is wrong with it.
    pub fn check(&self, reasons: &mut Reasons) {
        self.check_tasks(reasons);
        for (name, target) in &self.targets {
            check_target(name, target, reasons);
        }
        self.check_validation(reasons);
        if !(self.near_duplicate_from > 0.0 && self.near_duplicate_from <= 1.0) {
            let message = "`near_duplicate_from` is out of range: choose a number above 0 and at most 1";
            reasons.add(Reason::new("out_of_range", "/near_duplicate_from", message));
        }
        if self.examples_a_day == 0 {
            let message = "nobody could submit an example: choose 1 or more";
            reasons.add(Reason::new("out_of_range", "/examples_a_day", message));
        }
        let (min, max) = (self.min_chars, self.max_chars);
        if min == 0 || min > max || max > MOST_CHARS {
            let message = format!(
                "`min_chars` is {min} and `max_chars` is {max}: choose both from 1 to {MOST_CHARS}, and `min_chars` not above `max_chars`"
            );
            reasons.add(Reason::new("out_of_range", "/max_chars", message));
        }
        check_languages(&self.languages, "/languages", reasons);
    }

    fn check_tasks(&self, reasons: &mut Reasons) {
        if self.tasks.is_empty() {
            let message =
                "`tasks` is empty: offer at least one of `nli`, `qa`, `sentiment` and `hate-speech`";
            reasons.add(Reason::new("no_tasks", "/tasks", message));
        }
        for (task, rules) in &self.tasks {
            let at = pointer("/tasks", task.as_str());
            let at_targets = format!("{at}/targets");
            let (n, mut seen) = (rules.targets.len(), BTreeSet::new());
            if !(1..=MOST_TARGETS).contains(&n) {
                let message = format!("`{task}` has {n} models to fool: name 1 to {MOST_TARGETS}");
                reasons.add(Reason::over(
                    "out_of_range",
                    &at_targets,
                    MOST_TARGETS as u64,
                    n as u64,
                    message,
                ));
            }
            for (idx, name) in rules.targets.iter().enumerate() {
                let at = format!("{at_targets}/{idx}");
                if !self.targets.contains_key(name) {
                    let known = offer(name, self.targets.keys());
                    let message = format!("there is no model {} below `targets`: {known}", quote(name));
                    reasons.add(Reason::new("unknown_target", at, message));
                } else if !seen.insert(name) {
                    let message = format!("{} appears more than once: keep one", quote(name));
                    reasons.add(Reason::new("duplicate_target", at, message));
                }
            }
            if task.always_needs_context() && rules.needs_context == Some(false) {
                let message = format!("every text of `{task}` needs a context: leave `needs_context` out");
                reasons.add(Reason::new(
                    "needs_context",
                    format!("{at}/needs_context"),
                    message,
                ));
            }
            if let Some(languages) = &rules.languages {
                check_languages(languages, &format!("{at}/languages"), reasons);
            }
        }
    }

    fn check_validation(&self, reasons: &mut Reasons) {
        let validation = &self.validation;
        let (equal, most) = (validation.equal, validation.most);
        if equal == 0 || equal > most || most > MOST_VERDICTS {
            let message = format!(
                "`equal` is {equal} and `most` is {most}: choose both from 1 to {MOST_VERDICTS}, and `equal` not above `most`"
            );
            reasons.add(Reason::new("out_of_range", "/validation/equal", message));
        } else if 2 * equal <= most {
            let message = format!(
                "of {most} verdicts, {equal} can disagree with {equal} others, and both groups would decide: \
                    choose an `equal` above half of `most`"
            );
            reasons.add(Reason::new("two_decisions", "/validation/equal", message));
        }
        if !(0.0..=1.0).contains(&validation.share_of_others) {
            let message = "`share_of_others` is out of range: choose a number from 0 to 1";
            reasons.add(Reason::new(
                "out_of_range",
                "/validation/share_of_others",
                message,
            ));
        }
        if validation.verdicts_a_day == 0 {
            let message = "nobody could judge an example: choose 1 or more";
            reasons.add(Reason::new("out_of_range", "/validation/verdicts_a_day", message));
        }
    }
}

fn check_languages(languages: &[String], at: &str, reasons: &mut Reasons) {
    for (idx, code) in languages
        .iter()
        .enumerate()
        .filter(|(_, code)| !is_language(code))
    {
        let message = format!(
            "{} is not a language that the filter knows: use its ISO 639-3 code, such as `eng`",
            quote(code)
        );
        reasons.add(Reason::new("unknown_language", format!("{at}/{idx}"), message));
    }
}

fn check_target(name: &str, target: &Target, reasons: &mut Reasons) {
    let at = pointer("/targets", name);
    let is_named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !(1..=64).contains(&name.len()) || !name.chars().all(is_named) {
        let message = format!(
            "{} is not a valid name of a model: use 1 to 64 letters, digits, `-`, `_` and `.`",
            quote(name)
        );
        reasons.add(Reason::new("bad_name", &at, message));
    }
    if let Some(file) = target.file() {
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\\');
        let inside = file.strip_prefix(MODEL_DIRECTORY);
        if !inside.is_some_and(|rest| rest.split('/').all(is_plain)) {
            let message = format!(
                "{} is not a file below `{MODEL_DIRECTORY}`: put the model there",
                quote(file)
            );
            reasons.add(Reason::new("bad_file", format!("{at}/file"), message));
        }
    }
    match target {
        Target::Http {
            url,
            secret,
            timeout_seconds,
            batch,
        } => {
            if !["http://", "https://"]
                .iter()
                .any(|scheme| url.starts_with(scheme))
            {
                let message = format!("{} is not an address: begin it with `https://`", quote(url));
                reasons.add(Reason::new("bad_url", format!("{at}/url"), message));
            }
            if secret.as_deref() == Some("") {
                let message =
                    "the key's name is empty: name a member of the deployment's secret, or leave it out";
                reasons.add(Reason::new("bad_secret", format!("{at}/secret"), message));
            }
            range(&at, "timeout_seconds", *timeout_seconds, MOST_SECONDS, reasons);
            range(&at, "batch", *batch as u64, MOST_BATCH as u64, reasons);
        }
        Target::Program { max_fuel, .. } => range(&at, "max_fuel", *max_fuel, u64::MAX, reasons),
        Target::Linear { .. } | Target::Encoder { .. } => {}
    }
}

fn range(at: &str, key: &str, number: u64, most: u64, reasons: &mut Reasons) {
    if !(1..=most).contains(&number) {
        let message = format!("`{key}` is {number}: choose from 1 to {most}");
        reasons.add(Reason::over(
            "out_of_range",
            format!("{at}/{key}"),
            most,
            number,
            message,
        ));
    }
}
