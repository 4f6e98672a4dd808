//! The audit as a Markdown document.

use std::fmt::Write as _;

use dataperf::Digest;
use dataperf_audit::{Audit, Leaks, Pairs, SetAudit};
use dataperf_numerics::agreement::share_interval;

use super::{notes, work_list_line};

/// Pairs that a list names.
const MAX_PAIRS: usize = 50;

/// The whole audit. Written for the organizer: it names hidden labels.
pub(super) fn markdown(benchmark: &str, dataset: Digest, audited: &Audit) -> String {
    let mut text = format!(
        "# Audit of {benchmark}\n\nData set `{dataset}`. For the organizer only: it names hidden labels.\n\n\
         Labels are in doubt that contradict a learner which has not seen them, by confident learning; what both learners \
         contradict is a likely error. People decide.\n"
    );
    for set_audit in &audited.sets {
        set(&mut text, set_audit);
    }
    text
}

// Writing into a text does not fail.
fn set(text: &mut String, set_audit: &SetAudit) {
    let name = &set_audit.set.at.name;
    let (n, n_likely, n_doubts) = (
        set_audit.set.labels.len(),
        set_audit.n_likely(),
        set_audit.doubts().len(),
    );
    let _ = writeln!(
        text,
        "\n## {name}\n\n{n} items, {n_likely} likely errors{}, {n_doubts} labels in doubt{}.\n",
        share(n_likely, n, set_audit),
        share(n_doubts, n, set_audit)
    );
    for sentence in notes(set_audit) {
        let _ = writeln!(text, "- {sentence}");
    }
    let _ = writeln!(text, "\n| class | items |\n|---|--:|");
    for class in &set_audit.classes {
        let _ = writeln!(text, "| {} | {} |", cell(&class.class), class.n_items);
    }
    twice(text, "Rows that are there twice", &set_audit.duplicates, None);
    for leaks in &set_audit.leaks {
        let Leaks { file, pairs, ids } = leaks;
        twice(
            text,
            &format!("Rows that are in `{file}` as well"),
            pairs,
            ids.as_deref(),
        );
    }
    if set_audit.doubts().is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n### Labels in doubt\n\n| row | id | given | suggested | margin | flagged by | likely |\n|--:|---|---|---|--:|---|---|"
    );
    for doubt in set_audit.doubts() {
        let [_, fields @ ..] = work_list_line(set_audit, doubt);
        let _ = writeln!(text, "| {} |", fields.map(|field| cell(&field)).join(" | "));
    }
}

/// A share of the items in percent, with the interval for other items of this kind; empty if no
/// labels were inspected.
fn share(n_found: usize, n: usize, set_audit: &SetAudit) -> String {
    let interval = set_audit
        .doubts
        .is_ok()
        .then(|| share_interval(n_found, n))
        .flatten();
    interval.map_or_else(String::new, |(low, high)| {
        let [share, low, high] = [n_found as f64 / n as f64, low, high].map(|share| 100.0 * share);
        format!(" ({share:.1} %; in other items of this kind {low:.1} to {high:.1} % with 95 % confidence)")
    })
}

fn twice(text: &mut String, title: &str, pairs: &Pairs, ids: Option<&[String]>) {
    let n = pairs.exact.len() + pairs.near.len();
    if n == 0 {
        return;
    }
    let _ = writeln!(
        text,
        "\n### {title}\n\n| row | other | similarity |\n|--:|---|--:|"
    );
    let exact = pairs
        .exact
        .iter()
        .map(|(row, other)| (row, other, "equal".to_owned()));
    let near = pairs
        .near
        .iter()
        .map(|(row, other, similarity)| (row, other, format!("{similarity:.5}")));
    for (row, other, similarity) in exact.chain(near).take(MAX_PAIRS) {
        let other = ids.map_or_else(|| other.to_string(), |ids| cell(&ids[*other]));
        let _ = writeln!(text, "| {row} | {other} | {similarity} |");
    }
    if n > MAX_PAIRS {
        let _ = writeln!(text, "\n{} more; `--format json` has all.", n - MAX_PAIRS);
    }
}

/// A text in a table's cell.
pub(super) fn cell(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace(['\n', '\r'], " ")
        .replace('<', "&lt;")
}
