//! Reports the effect of a correction on a board: as a table, JSON or Markdown.

use std::fmt::Write as _;

use anyhow::Result;
use dataperf::Digest;
use dataperf::comparison::correction::{Effect, Line, Standing, Turned};
use dataperf::dataset::frozen::{Corrected, Samples};
use dataperf_numerics::agreement::share_interval;
use serde::Serialize;
use serde_json::{Value, json};

use super::report::cell;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{align_right, score, table};

/// How many labels of a test set differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Errors {
    pub(crate) set: String,
    pub(crate) n_items: usize,
    pub(crate) n_changed: usize,
    /// How many of its labels people have looked at, where the version after says so.
    pub(crate) n_reviewed: Option<usize>,
    /// The 95 % confidence interval of the share of changed labels; `None` where people have not looked at all of them.
    pub(crate) interval: Option<(f64, f64)>,
    /// The share of wrong labels, those that nobody has looked at included; `None` without a control sample.
    pub(crate) error_rate: Option<Rate>,
}

/// A share of labels with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Rate {
    pub(crate) share: f64,
    pub(crate) interval: (f64, f64),
}

impl Errors {
    /// `corrected`: what the version after says of the labels that people have looked at, if it was made of the version before.
    pub(super) fn count(set: &str, n_items: usize, n_changed: usize, corrected: Option<&Corrected>) -> Self {
        let reviewed = corrected.map(|corrected| &corrected.reviewed);
        let reviewed = reviewed.filter(|reviewed| !reviewed.is_empty());
        let n_reviewed = reviewed.map(|reviewed| reviewed.get(set).copied().unwrap_or(0));
        let samples = corrected.and_then(|corrected| corrected.samples.get(set));
        let error_rate = samples.and_then(Samples::error_rate);
        Self {
            set: set.to_owned(),
            n_items,
            n_changed,
            n_reviewed,
            interval: share_interval(n_changed, n_items).filter(|_| n_reviewed.is_none_or(|n| n >= n_items)),
            error_rate: error_rate.map(|(share, interval)| Rate { share, interval }),
        }
    }

    /// All test sets of a board together. The ends of an error rate's interval are the means over
    /// the sets, which are conservative.
    pub(super) fn together(sets: &[Self]) -> Self {
        let sum = |get: fn(&Self) -> usize| sets.iter().map(get).sum();
        let (n_items, n_changed) = (sum(|set| set.n_items), sum(|set| set.n_changed));
        let n_reviewed: Option<usize> = sets.iter().map(|set| set.n_reviewed).sum();
        let is_whole = sets.iter().all(|set| set.interval.is_some());
        let rates: Option<Vec<(f64, Rate)>> = sets
            .iter()
            .map(|set| Some((set.n_items as f64 / n_items as f64, set.error_rate?)))
            .collect();
        let mean = |rates: &[(f64, Rate)], get: fn(&Rate) -> f64| {
            rates.iter().map(|(weight, rate)| weight * get(rate)).sum::<f64>()
        };
        let rate = |rates: Vec<(f64, Rate)>| Rate {
            share: mean(&rates, |rate| rate.share),
            interval: (
                mean(&rates, |rate| rate.interval.0),
                mean(&rates, |rate| rate.interval.1),
            ),
        };
        Self {
            set: "all".to_owned(),
            n_items,
            n_changed,
            n_reviewed,
            interval: share_interval(n_changed, n_items).filter(|_| is_whole),
            error_rate: rates.map(rate),
        }
    }

    /// The estimated share of wrong labels, in words; empty if unknown.
    fn in_words(&self) -> String {
        let ends = |(low, high): (f64, f64)| format!("{} to {}", percent(low), percent(high));
        match (self.error_rate, self.interval, self.n_reviewed) {
            (Some(Rate { share, interval }), ..) => format!(
                "{} of all labels are wrong, {} with 95 % confidence, by the labels in doubt and the control sample",
                percent(share),
                ends(interval)
            ),
            (None, Some(interval), _) => format!("{} with 95 % confidence", ends(interval)),
            (None, None, Some(n)) => format!(
                "at least: people reviewed {n} of these labels, and not every test set has a control \
                    sample of the others"
            ),
            (None, None, None) => String::new(),
        }
    }
}

/// A submission that could not be compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LeftOut {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// The contents of the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Gathered {
    pub(crate) benchmark: String,
    pub(crate) leaderboard: String,
    pub(crate) before: Digest,
    pub(crate) after: Digest,
    /// Labels of the board's test sets that people have looked at, where the version after says so.
    pub(crate) n_reviewed: Option<usize>,
    /// One for each test set of the board, and one for all together if there are several.
    pub(crate) errors: Vec<Errors>,
    #[serde(flatten)]
    pub(crate) effect: Effect,
    /// Other differences between the two versions: parameters, such as the model or the metric, and
    /// files without labels.
    pub(crate) other_differences: Vec<String>,
    /// How many were scored from stored evidence; the others were evaluated from their artifacts.
    pub(crate) n_from_evidence: usize,
    pub(crate) left_out: Vec<LeftOut>,
}

/// The columns of submissions on both versions.
const COLUMNS: [&str; 11] = [
    "name",
    "submission",
    "is_baseline",
    "rank",
    "rank_before",
    "score",
    "score_before",
    "rank_first",
    "rank_last",
    "rank_first_before",
    "rank_last_before",
];

fn row(line: &Line) -> Value {
    let Line { before, after, .. } = line;
    let first = |standing: &Standing| standing.rank_interval.map(|ranks| ranks.0);
    let last = |standing: &Standing| standing.rank_interval.map(|ranks| ranks.1);
    json!({ "name": line.name, "submission": line.submission, "is_baseline": line.is_baseline,
            "rank": after.rank, "rank_before": before.rank, "score": after.score, "score_before": before.score,
            "rank_first": first(after), "rank_last": last(after),
            "rank_first_before": first(before), "rank_last_before": last(before) })
}

/// Prints the effect.
pub(crate) fn print(set_audit: &Gathered, format: RowFormat) -> Result<()> {
    let rows = || set_audit.effect.lines.iter().map(row).collect();
    print_tabled(
        || Ok(set_audit),
        &COLUMNS,
        rows,
        format,
        || {
            print_text(set_audit);
            Ok(())
        },
    )
}

/// The same for people.
fn print_text(gathered: &Gathered) {
    println!(
        "{} {}; this report changes nothing\nbefore: {}\nafter:  {}",
        gathered.benchmark, gathered.leaderboard, gathered.before, gathered.after
    );
    let mut shown = table(&["rank", "was", "score", "was", "ranks", "were", "submitter"]);
    for line in &gathered.effect.lines {
        let [now, was] = [&line.after, &line.before].map(cells);
        shown.add_row([&now[0], &was[0], &now[1], &was[1], &now[2], &was[2], &line.name]);
    }
    (0..6).for_each(|column| align_right(&mut shown, column));
    println!("{shown}");
    for sentence in sentences(gathered) {
        println!("{sentence}");
    }
}

/// Rank, score and rank interval.
fn cells(standing: &Standing) -> [String; 3] {
    let rank = standing.rank.map(|rank| rank.to_string());
    let interval = standing.rank_interval.map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first} to {last}")
        }
    });
    [
        rank.unwrap_or_default(),
        score(standing.score),
        interval.unwrap_or_default(),
    ]
}

/// The report as a document.
pub(super) fn markdown(set_audit: &Gathered) -> String {
    let mut text = format!(
        "# What corrected labels change on {} {}\n\nBefore: `{}`\\\nAfter: `{}`\n\nThis report changes no \
            score and no data set. For the organizer only.\n\n## Labels\n\n| test set | items | changed | \
            share | wrong labels |\n|---|--:|--:|--:|---|\n",
        set_audit.benchmark, set_audit.leaderboard, set_audit.before, set_audit.after
    );
    // Writing into a text does not fail.
    for errors in &set_audit.errors {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            cell(&errors.set),
            errors.n_items,
            errors.n_changed,
            percent(errors.n_changed as f64 / errors.n_items.max(1) as f64),
            errors.in_words()
        );
    }
    let _ = writeln!(text, "\n## Order\n");
    for sentence in sentences(set_audit) {
        let _ = writeln!(text, "- {sentence}");
    }
    let _ = writeln!(
        text,
        "\n## Submissions\n\n| rank | was | moved | score | was | ranks | were | submitter |\n|--:|--:|--:|--:|--:|---|---|---|"
    );
    for line in &set_audit.effect.lines {
        let [now, was] = [&line.after, &line.before].map(cells);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            now[0],
            was[0],
            moved(line),
            now[1],
            was[1],
            now[2],
            was[2],
            cell(&line.name)
        );
    }
    for left_out in &set_audit.left_out {
        let _ = writeln!(
            text,
            "\nNot compared: {}: {}",
            cell(&left_out.name),
            cell(&left_out.why)
        );
    }
    text
}

fn moved(line: &Line) -> String {
    match line.moved_up() {
        Some(places) if places != 0 => format!("{places:+}"),
        _ => String::new(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Which orders turned round.
fn turned(effect: &Effect) -> String {
    if let Some(why) = &effect.why_none {
        return format!("no order is clear: {why}");
    }
    let name = |turned: &Turned| format!("{} over {}", turned.before, turned.after);
    let sure: Vec<String> = effect.turned_clearly().map(name).collect();
    let n = effect.turned.len();
    if sure.is_empty() {
        return format!(
            "pairs that changed their order: {n}, none of them clear both before and after; {} orders were \
                clear before and {} are clear after",
            effect.n_sure_before, effect.n_sure_after
        );
    }
    format!(
        "pairs that changed their order: {n}, {} of them clear both before and after: {}",
        sure.len(),
        sure.join(", ")
    )
}

/// Explains the numbers in words.
fn sentences(gathered: &Gathered) -> Vec<String> {
    let effect = &gathered.effect;
    let mut sentences_one = Vec::new();
    if let Some(errors) = gathered.errors.last() {
        let Errors {
            n_items, n_changed, ..
        } = errors;
        let share = percent(*n_changed as f64 / (*n_items).max(1) as f64);
        let known = match errors.in_words() {
            known if known.is_empty() => known,
            known => format!("; {known}"),
        };
        sentences_one.push(format!("{n_changed} of {n_items} labels differ: {share}{known}"));
    }
    let n_ranked = effect.lines.iter().filter(|line| !line.is_baseline).count();
    sentences_one.push(format!(
        "{} of {} submissions change their score, {} of {n_ranked} ranked ones their rank; Kendall's tau-b is {}",
        effect.n_changed,
        effect.lines.len(),
        effect.n_moved,
        effect.tau_b.map_or("not defined".to_owned(), |tau| format!("{tau:.3}"))
    ));
    let moved: Vec<String> = effect
        .lines
        .iter()
        .filter(|line| line.moved_up().is_some_and(|places| places != 0))
        .map(|line| {
            let rank = |rank: Option<usize>| rank.map(|rank| rank.to_string()).unwrap_or_default();
            format!(
                "{} from {} to {}",
                line.name,
                rank(line.before.rank),
                rank(line.after.rank)
            )
        })
        .collect();
    if !moved.is_empty() {
        sentences_one.push(format!("moved: {}", moved.join(", ")));
    }
    if !gathered.other_differences.is_empty() {
        sentences_one.push(format!(
            "the two versions differ in more than labels, so this is not only the effect of corrected labels: {}",
            gathered.other_differences.join(", ")
        ));
    }
    sentences_one.push(turned(effect));
    let n = effect.lines.len();
    sentences_one.push(match n - gathered.n_from_evidence {
        0 => "all were scored from stored evidence".to_owned(),
        others => format!(
            "{} of {n} were scored from stored evidence, {others} from artifacts",
            gathered.n_from_evidence
        ),
    });
    sentences_one.extend(
        gathered
            .left_out
            .iter()
            .map(|left_out| format!("not compared: {}: {}", left_out.name, left_out.why)),
    );
    sentences_one
}
