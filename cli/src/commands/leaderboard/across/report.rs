//! Agreement of boards as tables, JSON and Markdown.

use std::fmt::Write as _;

use anyhow::Result;
use dataperf_numerics::agreement::{Method, Sensitivity};
use serde_json::{Value, json};

use super::{Across, Ranking};
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{align_right, table};

pub(super) fn print(set_audit: &Across, format: RowFormat) -> Result<()> {
    let on_boards: Vec<String> = set_audit
        .boards
        .iter()
        .map(|board| format!("rank on {}", board.name))
        .collect();
    let columns: Vec<&str> = RANKINGS
        .into_iter()
        .chain(on_boards.iter().map(String::as_str))
        .collect();
    print_tabled(
        || Ok(document(set_audit)),
        &columns,
        || rankings(set_audit, &on_boards),
        format,
        || {
            print_text(set_audit);
            Ok(())
        },
    )
}

/// The columns of the combined rankings, which precede those of the boards.
const RANKINGS: [&str; 5] = [
    "submitter",
    "rank_by_mean_rank",
    "mean_rank",
    "rank_by_standardized_score",
    "mean_standardized_score",
];

/// The combined rankings, a row for each common submitter in the order of `combined`.
fn rankings(across: &Across, on_boards: &[String]) -> Vec<Value> {
    let [by_rank, by_score] = &across.rankings;
    let row = |place: usize| {
        let mut row = json!({ "submitter": across.common[place],
            "rank_by_mean_rank": by_rank.combined.ranks[place], "mean_rank": by_rank.combined.values[place],
            "rank_by_standardized_score": by_score.combined.ranks[place],
            "mean_standardized_score": by_score.combined.values[place] });
        for (column, ranks) in on_boards.iter().zip(&across.ranks) {
            row[column] = json!(ranks[place]);
        }
        row
    };
    order(across).into_iter().map(row).collect()
}

/// The common submitters, best by the mean of ranks first.
fn order(across: &Across) -> Vec<usize> {
    let [by_rank, by_score] = &across.rankings;
    let mut order: Vec<usize> = (0..across.common.len()).collect();
    order.sort_by_key(|&place| (by_rank.combined.ranks[place], by_score.combined.ranks[place]));
    order
}

fn print_text(across: &Across) {
    for (title, rows) in [
        ("agreement (Kendall's tau-b)", matrix(across)),
        ("combined", combined(across)),
        ("sensitivity", sensitivity(across)),
    ] {
        let header: Vec<&str> = rows[0].iter().map(String::as_str).collect();
        let mut shown = table(&header);
        for row in &rows[1..] {
            shown.add_row(row);
        }
        (1..header.len()).for_each(|column| align_right(&mut shown, column));
        println!("{title}\n{shown}\n");
    }
    for sentence in sentences(across) {
        println!("{sentence}");
    }
}

pub(super) fn markdown(set_audit: &Across) -> String {
    let boards: Vec<String> = set_audit
        .boards
        .iter()
        .map(|board| format!("`{}`", board.name))
        .collect();
    let mut text = format!(
        "# Agreement of {} boards\n\n{}\n\n",
        boards.len(),
        boards.join(", ")
    );
    // Writing into a text does not fail.
    for sentence in sentences(set_audit) {
        let _ = writeln!(text, "- {sentence}");
    }
    for (title, rows) in [
        ("Kendall's tau-b", matrix(set_audit)),
        ("Combined ranking", combined(set_audit)),
        ("Sensitivity", sensitivity(set_audit)),
    ] {
        let _ = writeln!(text, "\n## {title}\n");
        for (idx, row) in rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
            if idx == 0 {
                let _ = writeln!(text, "|---|{}", "--:|".repeat(row.len() - 1));
            }
        }
    }
    text
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

/// A figure with its interval, if it has one.
fn with_interval(value: Option<f64>, interval: Option<(f64, f64)>) -> String {
    let ends = interval.map_or_else(String::new, |(low, high)| format!(" ({low:.2} to {high:.2})"));
    number(value) + &ends
}

/// The header, then a row for each board, with the number of common submitters if it differs from
/// that of all boards.
fn matrix(across: &Across) -> Vec<Vec<String>> {
    let names = across.boards.iter().map(|board| board.name.clone());
    let mut rows = vec![
        std::iter::once(String::new())
            .chain(names)
            .collect::<Vec<String>>(),
    ];
    for (one, board) in across.boards.iter().enumerate() {
        let mut row = vec![board.name.clone()];
        for other in 0..across.boards.len() {
            let (first, second) = (one.min(other), one.max(other));
            let agreement = across
                .agreements
                .iter()
                .find(|across| (across.one, across.other) == (first, second));
            row.push(match agreement {
                None => "1".to_owned(),
                Some(agreement) => {
                    let tau = with_interval(agreement.tau_b, agreement.interval);
                    let is_of_all = agreement.n_common == across.common.len();
                    if is_of_all {
                        tau
                    } else {
                        format!("{tau} (n {})", agreement.n_common)
                    }
                }
            });
        }
        rows.push(row);
    }
    rows
}

/// The header, then a row for each common submitter, best by the mean of ranks first.
fn combined(across: &Across) -> Vec<Vec<String>> {
    let [by_rank, by_score] = &across.rankings;
    let header = [
        "submitter",
        "by mean rank",
        "mean rank",
        "by standardized score",
        "mean",
    ]
    .map(str::to_owned);
    let names = across
        .boards
        .iter()
        .map(|board| format!("rank on {}", board.name));
    let row = |place: usize| {
        let both = [by_rank, by_score].into_iter().flat_map(|ranking| {
            [
                ranking.combined.ranks[place].to_string(),
                format!("{:.3}", ranking.combined.values[place]),
            ]
        });
        let on_boards = across.ranks.iter().map(|ranks| ranks[place].to_string());
        std::iter::once(across.common[place].clone())
            .chain(both)
            .chain(on_boards)
            .collect()
    };
    std::iter::once(header.into_iter().chain(names).collect())
        .chain(order(across).into_iter().map(row))
        .collect()
}

fn title(method: Method) -> &'static str {
    match method {
        Method::MeanRank => "mean rank",
        Method::MeanStandardized => "standardized score",
    }
}

/// The header, then for each method a row for each change.
fn sensitivity(across: &Across) -> Vec<Vec<String>> {
    let mut rows = vec![
        [
            "change",
            "ranking by",
            "largest change of rank",
            "mean change",
            "tau-b",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let row = |case: String, method: Method, sensitivity: &Sensitivity, interval: Option<(f64, f64)>| {
        let (largest, mean) = (
            sensitivity.largest_change.to_string(),
            format!("{:.3}", sensitivity.mean_change),
        );
        let tau = with_interval(sensitivity.tau_b, interval);
        vec![case, title(method).to_owned(), largest, mean, tau]
    };
    for ranking in &across.rankings {
        let left_out = ranking.left_out.iter().zip(&ranking.left_out_intervals);
        for (board, (left_out, interval)) in across.boards.iter().zip(left_out) {
            let case = format!("without {}", board.name);
            rows.push(row(case, ranking.method, left_out, *interval));
        }
        if let Some((like, worst)) = ranking.worst_weak() {
            let case = format!("with a weak entry like {}", across.common[*like]);
            rows.push(row(case, ranking.method, worst, None));
        }
    }
    rows
}

fn sentences(across: &Across) -> Vec<String> {
    let mut sentences_one = vec![format!(
        "{} submitters are on all {} boards; Kendall's W is {} (1: all boards have the same order, 0: no agreement)",
        across.common.len(),
        across.boards.len(),
        with_interval(across.w, across.w_interval)
    )];
    sentences_one.push(across.why_none().map_or_else(
        || {
            "in brackets what the figures can be with 95 % confidence, because only orders that are clear on a board's test set count: noise of \
             small test sets looks like disagreement"
                .to_owned()
        },
        |why| format!("pairs with this board have no intervals: {why}"),
    ));
    sentences_one.push(if across.is_differing() {
        "the mean of ranks and the mean of standardized scores give different orders: neither is the ranking"
            .to_owned()
    } else {
        "the mean of ranks and the mean of standardized scores give one order".to_owned()
    });
    for ranking in &across.rankings {
        let largest = ranking
            .left_out
            .iter()
            .map(|across| across.largest_change)
            .max()
            .unwrap_or(0);
        let (n, n_changing) = (ranking.weak.len(), ranking.n_changing());
        let most = ranking.worst_weak().map_or(String::new(), |(like, worst)| {
            format!(
                ", by up to {} places (one like {})",
                worst.largest_change, across.common[*like]
            )
        });
        sentences_one.push(format!(
            "by {}: leaving out one board moves a submitter by up to {largest} places; {n_changing} of {n} weak entries change the \
             order of the others{most}",
            title(ranking.method)
        ));
    }
    sentences_one
}

fn document(across: &Across) -> Value {
    let names: Vec<&str> = across.boards.iter().map(|board| board.name.as_str()).collect();
    let agreement = |agreement: &super::Agreement| json!({ "boards": [names[agreement.one], names[agreement.other]], "n_common": agreement.n_common, "tau_b": agreement.tau_b, "interval": agreement.interval });
    let change = |of_change: &Sensitivity| {
        let ranks: serde_json::Map<String, Value> = across
            .common
            .iter()
            .zip(&of_change.ranks)
            .map(|(name, rank)| (name.clone(), json!(rank)))
            .collect();
        json!({ "largest_change": of_change.largest_change, "mean_change": of_change.mean_change, "tau_b": of_change.tau_b, "ranks": ranks })
    };
    let with = |key: &str, name: &str, of_change: &Sensitivity| {
        let mut document = change(of_change);
        document[key] = json!(name);
        document
    };
    let ranking = |ranking: &Ranking| {
        let rows = across.common.iter().enumerate().map(|(place, name)| {
            json!({ "submitter": name, "rank": ranking.combined.ranks[place], "value": ranking.combined.values[place] })
        });
        let left_out: Vec<Value> = names
            .iter()
            .zip(ranking.left_out.iter().zip(&ranking.left_out_intervals))
            .map(|(name, (of_change, interval))| {
                let mut document = with("board", name, of_change);
                document["interval"] = json!(interval);
                document
            })
            .collect();
        let weak: Vec<Value> = ranking
            .weak
            .iter()
            .map(|(like, of_change)| with("like", &across.common[*like], of_change))
            .collect();
        json!({ "by": title(ranking.method), "rows": rows.collect::<Vec<Value>>(), "without_board": left_out, "with_weak_entry": weak })
    };
    json!({
        "boards": names, "n_common": across.common.len(), "agreements": across.agreements.iter().map(agreement).collect::<Vec<Value>>(),
        "kendalls_w": across.w, "kendalls_w_interval": across.w_interval, "why_no_intervals": across.why_none(), "rankings": across.rankings.iter().map(ranking).collect::<Vec<Value>>(), "rankings_differ": across.is_differing(),
    })
}
