//! `dataperf rank`: what the ranks of anybody's results are worth, offline.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use dataperf::offer;
use dataperf_rank::{Draws, Layout, Missing, Options, Pair, Ranking, Test, read};
use serde::Serialize;
use serde_json::json;

use crate::Done;
use crate::output::figure::write_ranks;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{align_right, check_files, line_of, n_of, table, visible};

#[derive(Debug, Args)]
pub(crate) struct RankArgs {
    /// Tables, logs or folders of logs
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// wide, long or systems [default: by the column names]
    #[arg(long, value_enum)]
    layout: Option<TableLayout>,
    /// The column of items' ids
    #[arg(long, value_name = "COLUMN")]
    item: Option<String>,
    /// The column of systems' names
    #[arg(long, value_name = "COLUMN")]
    system: Option<String>,
    /// The column of values, in a table of items and systems
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// The column of clusters: items that depend on each other
    #[arg(long, value_name = "COLUMN")]
    cluster: Option<String>,
    /// The column of weights: how much each item counts
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,
    /// Leave out a column that isn't a system or a task
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,
    /// The metric of lm-evaluation-harness's logs
    #[arg(long)]
    metric: Option<String>,
    /// The filter of lm-evaluation-harness's logs
    #[arg(long)]
    filter: Option<String>,
    /// A file with all instance ids, if results list only resolved ones
    #[arg(long, value_name = "FILE")]
    items: Option<PathBuf>,
    /// Missing values: refuse, drop-items, drop-systems or zero
    #[arg(long, value_enum, default_value_t = MissingValues::Refuse)]
    missing: MissingValues,
    /// Keep columns that don't look like systems or tasks
    #[arg(long)]
    keep_odd: bool,
    /// Smaller values are better
    #[arg(long)]
    lower_is_better: bool,
    /// Compare two systems with each other
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    compare: Vec<String>,
    /// Draw the intervals of scores and ranks
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TableLayout {
    /// A row for each item, a column for each system
    Wide,
    /// A row for each item and system
    Long,
    /// A row for each system, a column for each task
    Systems,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MissingValues {
    /// Refuse the results
    Refuse,
    /// Leave out items that a system lacks
    DropItems,
    /// Leave out systems that lack items
    DropSystems,
    /// Count missing values as 0
    Zero,
}

/// The printed JSON.
#[derive(Debug, Serialize)]
struct Ranked {
    #[serde(flatten)]
    ranking: Ranking,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Pair>,
}

impl RankArgs {
    fn options(&self) -> Options {
        Options {
            layout: self.layout.map(|layout| match layout {
                TableLayout::Wide => Layout::Wide,
                TableLayout::Long => Layout::Long,
                TableLayout::Systems => Layout::Systems,
            }),
            item: self.item.clone(),
            system: self.system.clone(),
            value: self.value.clone(),
            cluster: self.cluster.clone(),
            weight: self.weight.clone(),
            ignored: self.ignore.clone(),
            metric: self.metric.clone(),
            filter: self.filter.clone(),
            items: self.items.clone(),
            missing: match self.missing {
                MissingValues::Refuse => Missing::Refuse,
                MissingValues::DropItems => Missing::DropItems,
                MissingValues::DropSystems => Missing::DropSystems,
                MissingValues::Zero => Missing::Zero,
            },
            keeps_odd: self.keep_odd,
        }
    }
}

pub(crate) fn run(args: &RankArgs, format: RowFormat) -> Result<Done> {
    check_files(&[args.plot.as_deref()])?;
    if args
        .plot
        .as_ref()
        .is_some_and(|path| path.extension().is_none_or(|ending| ending != "svg"))
    {
        bail!("`--plot` draws SVG: name a file that ends with `.svg`");
    }
    let table = read(&args.files, &args.options())?;
    let pair = match &args.compare[..] {
        [first, second] if first == second => bail!("`{first}` appears twice: name two systems"),
        [first, second] => {
            let place = |name: &String| {
                let offered = || {
                    format!(
                        "`{}` is not a system: {}",
                        line_of(name),
                        offer(name, &table.systems)
                    )
                };
                table.place(name).with_context(offered)
            };
            Some((place(first)?, place(second)?))
        }
        [] => None,
        _ => bail!("`--compare` is given twice: compare two systems at a time"),
    };
    let draws = Draws::new(&table, args.lower_is_better);
    let ranked = Ranked {
        ranking: Ranking::new(&table, &draws),
        comparison: pair.map(|(first, second)| Pair::new(&table, &draws, first, second)),
    };
    if let Some(path) = &args.plot {
        write_ranks(&ranked.ranking, path)?;
    }
    let rows = || ranked.ranking.rows.iter().map(|row| json!(row)).collect();
    print_tabled(
        || Ok(&ranked),
        &COLUMNS,
        rows,
        format,
        || {
            print(&ranked, args.lower_is_better);
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}

/// The columns of CSV.
const COLUMNS: [&str; 7] = [
    "system",
    "score",
    "score_low",
    "score_high",
    "rank",
    "rank_low",
    "rank_high",
];
/// The most names of systems in a sentence.
const MAX_NAMED: usize = 12;

fn print(ranked: &Ranked, is_less_better: bool) {
    let Ranked { ranking, comparison } = ranked;
    for note in &ranking.notes {
        println!("{}", note.chars().map(visible).collect::<String>());
    }
    let items = n_of(ranking.n_items, "item", "items");
    let clusters = ranking
        .n_clusters
        .map(|n| format!(" in {}", n_of(n, "cluster", "clusters")));
    let weights = if ranking.is_weighted { ", weighted" } else { "" };
    let direction = if is_less_better {
        "lower is better"
    } else {
        "higher is better"
    };
    println!(
        "{} on {items}{}{weights}; {direction}",
        n_of(ranking.n_systems, "system", "systems"),
        clusters.unwrap_or_default()
    );
    let mut shown = table(&["rank", "ranks", "system", "score", "95 %"]);
    let digits = digits(ranking);
    for row in &ranking.rows {
        let ranks = row
            .rank_low
            .zip(row.rank_high)
            .map(|(low, high)| range(low, high));
        let interval = row.score_low.zip(row.score_high);
        shown.add_row([
            row.rank.to_string(),
            ranks.unwrap_or_default(),
            line_of(&row.system),
            format!("{:.digits$}", row.score),
            interval.map_or_else(String::new, |(low, high)| {
                format!("{low:.digits$} to {high:.digits$}")
            }),
        ]);
    }
    align_right(&mut shown, 0);
    align_right(&mut shown, 3);
    println!("{shown}");
    for sentence in sentences(ranking, digits) {
        println!("{sentence}");
    }
    if let Some(pair) = comparison {
        print_pair(pair, digits);
    }
}

/// So many decimals that scores have four significant digits.
fn digits(ranking: &Ranking) -> usize {
    let largest = ranking.rows.iter().map(|row| row.score.abs()).fold(0.0, f64::max);
    if largest > 1.0 { 2 } else { 4 }
}

fn range(low: u32, high: u32) -> String {
    if low == high {
        low.to_string()
    } else {
        format!("{low} to {high}")
    }
}

/// Remarks on the ranking.
fn sentences(ranking: &Ranking, digits: usize) -> Vec<String> {
    if let Some(why) = ranking.why_none {
        return vec![format!("no intervals: {why}")];
    }
    let mut sentences = Vec::new();
    let best: Vec<String> = (ranking.rows.iter().filter(|row| row.rank_low == Some(1)))
        .map(|row| line_of(&row.system))
        .collect();
    let more = match best.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names = format!("{}{more}", best[..best.len().min(MAX_NAMED)].join(", "));
    sentences.push(match best.len() {
        1 => format!("the best is {names}"),
        n => format!("{n} systems are tied for the best: {names}"),
    });
    let n_pairs = ranking.n_systems - 1;
    let n_apart = ranking.n_neighbours_told_apart.unwrap_or(0);
    sentences.push(format!(
        "{n_apart} of {} of neighbours can be separated",
        n_of(n_pairs, "pair", "pairs")
    ));
    if let Some(resolution) = ranking.resolution {
        sentences.push(format!(
            "resolution {resolution:.digits$}: the smallest difference of two neighbours that these items \
                can separate 80 % of the time"
        ));
    }
    sentences
}

fn print_pair(pair: &Pair, digits: usize) {
    let (first, second) = (line_of(&pair.first), line_of(&pair.second));
    let difference = format!("{first} less {second}: {:+.digits$}", pair.difference);
    match (pair.difference_low, pair.difference_high, pair.why_none) {
        (Some(low), Some(high), _) => {
            println!("\n{difference}, with 95 % confidence {low:+.digits$} to {high:+.digits$}");
            match pair.clearly_better {
                Some(1) => println!("{first} is clearly better"),
                Some(_) => println!("{second} is clearly better"),
                None => {
                    println!("neither is clearly better: other items of this kind may change the order");
                }
            }
        }
        (.., why) => println!(
            "\n{difference}; no interval: {}",
            why.map(|why| why.to_string()).unwrap_or_default()
        ),
    }
    println!(
        "{first} is better on {} and in {:.1} % of 1,000 draws, {second} on {}",
        n_of(pair.n_items_first_better, "item", "items"),
        100.0 * pair.share_first_better,
        n_of(pair.n_items_second_better, "item", "items")
    );
    if let (Some(test), Some(p_value)) = (pair.test, pair.p_value) {
        let test = match test {
            Test::ExactMcnemar => "McNemar's exact test",
            Test::PairedT => "the paired t-test",
        };
        let p_value = if p_value < 1e-4 {
            "< 0.0001".to_owned()
        } else {
            format!("= {p_value:.4}")
        };
        println!("{test}: p {p_value}");
    }
}
