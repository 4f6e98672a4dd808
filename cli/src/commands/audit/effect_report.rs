//! What a correction does to a board: a table, JSON, Markdown.

use std::fmt::Write as _;

use anyhow::Result;
use dataperf::Digest;
use dataperf::effect::{Effect, Line, Standing, Turned};
use dataperf::frozen::{Corrected, Samples};
use dataperf_numerics::agreement::share_interval;
use serde::Serialize;
use serde_json::{Value, json};

use super::report::cell;
use crate::output::{align_right, score, table};
use crate::rows::{RowFormat, print_tabled};

/// How many labels of an eval set differ.
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
    pub(super) fn of(set: &str, n_items: usize, n_changed: usize, corrected: Option<&Corrected>) -> Self {
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

    /// All eval sets of a board together. An error rate's ends are the means of those of the sets, which hold more than they promise.
    pub(super) fn together(sets: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> usize| sets.iter().map(of).sum();
        let (n_items, n_changed) = (sum(|set| set.n_items), sum(|set| set.n_changed));
        let n_reviewed: Option<usize> = sets.iter().map(|set| set.n_reviewed).sum();
        let is_whole = sets.iter().all(|set| set.interval.is_some());
        let rates: Option<Vec<(f64, Rate)>> = sets
            .iter()
            .map(|set| Some((set.n_items as f64 / n_items as f64, set.error_rate?)))
            .collect();
        let mean = |rates: &[(f64, Rate)], of: fn(&Rate) -> f64| {
            rates.iter().map(|(weight, rate)| weight * of(rate)).sum::<f64>()
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

    /// What is known of the share of wrong labels, in words; empty where nothing is.
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
                "at least: people have looked at {n} of these labels, and not every eval set has a control sample of the others"
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

/// What the report says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Gathered {
    pub(crate) benchmark: String,
    pub(crate) leaderboard: String,
    pub(crate) before: Digest,
    pub(crate) after: Digest,
    /// Labels of the board's eval sets that people have looked at, where the version after says so.
    pub(crate) n_reviewed: Option<usize>,
    /// One for each eval set of the board, and one for all together if there are several.
    pub(crate) errors: Vec<Errors>,
    #[serde(flatten)]
    pub(crate) effect: Effect,
    /// What else differs between the two versions: parameters, such as the model or the metric, and files without labels.
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
pub(crate) fn print(of: &Gathered, format: RowFormat) -> Result<()> {
    let rows = || of.effect.lines.iter().map(row).collect();
    print_tabled(
        || Ok(of),
        &COLUMNS,
        rows,
        format,
        || {
            print_text(of);
            Ok(())
        },
    )
}

/// The same for people.
fn print_text(of: &Gathered) {
    println!(
        "{} {}; nothing is replaced\nbefore: {}\nafter:  {}",
        of.benchmark, of.leaderboard, of.before, of.after
    );
    let mut shown = table(&["rank", "was", "score", "was", "ranks", "were", "submitter"]);
    for line in &of.effect.lines {
        let [now, was] = [&line.after, &line.before].map(cells);
        shown.add_row([&now[0], &was[0], &now[1], &was[1], &now[2], &was[2], &line.name]);
    }
    (0..6).for_each(|column| align_right(&mut shown, column));
    println!("{shown}");
    for sentence in sentences(of) {
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
pub(super) fn markdown(of: &Gathered) -> String {
    let mut text = format!(
        "# What corrected labels change on {} {}\n\nBefore: `{}`\\\nAfter: `{}`\n\nNothing was replaced: scores and data sets are as they \
         were. For the organizer only.\n\n## Labels\n\n| eval set | items | changed | share | wrong labels |\n|---|--:|--:|--:|---|\n",
        of.benchmark, of.leaderboard, of.before, of.after
    );
    // Writing into a text does not fail.
    for errors in &of.errors {
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
    for sentence in sentences(of) {
        let _ = writeln!(text, "- {sentence}");
    }
    let _ = writeln!(
        text,
        "\n## Submissions\n\n| rank | was | moved | score | was | ranks | were | submitter |\n|--:|--:|--:|--:|--:|---|---|---|"
    );
    for line in &of.effect.lines {
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
    for left_out in &of.left_out {
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
        return format!("no order is called clear: {why}");
    }
    let name = |turned: &Turned| format!("{} over {}", turned.before, turned.after);
    let sure: Vec<String> = effect.turned_clearly().map(name).collect();
    let n = effect.turned.len();
    if sure.is_empty() {
        return format!(
            "pairs whose order turned round: {n}, none of them clear before and clear after; {} orders were clear before and {} are after",
            effect.n_sure_before, effect.n_sure_after
        );
    }
    format!(
        "pairs whose order turned round: {n}, {} of them clear before and clear after: {}",
        sure.len(),
        sure.join(", ")
    )
}

/// What the numbers say, in words.
fn sentences(of: &Gathered) -> Vec<String> {
    let effect = &of.effect;
    let mut said = Vec::new();
    if let Some(errors) = of.errors.last() {
        let Errors {
            n_items, n_changed, ..
        } = errors;
        let share = percent(*n_changed as f64 / (*n_items).max(1) as f64);
        let known = match errors.in_words() {
            known if known.is_empty() => known,
            known => format!("; {known}"),
        };
        said.push(format!("{n_changed} of {n_items} labels differ: {share}{known}"));
    }
    let n_ranked = effect.lines.iter().filter(|line| !line.is_baseline).count();
    said.push(format!(
        "{} of {} submissions have another score, {} of {n_ranked} ranked ones another rank; Kendall's tau-b is {}",
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
        said.push(format!("moved: {}", moved.join(", ")));
    }
    if !of.other_differences.is_empty() {
        said.push(format!(
            "the two versions differ in more than labels, so that this is not the effect of corrected labels alone: {}",
            of.other_differences.join(", ")
        ));
    }
    said.push(turned(effect));
    let n = effect.lines.len();
    said.push(match n - of.n_from_evidence {
        0 => "all were scored from stored evidence".to_owned(),
        others => format!(
            "{} of {n} were scored from stored evidence, {others} from artifacts",
            of.n_from_evidence
        ),
    });
    said.extend(
        of.left_out
            .iter()
            .map(|left_out| format!("not compared: {}: {}", left_out.name, left_out.why)),
    );
    said
}
