//! `dataperf challenge report`: the closing report of a round.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::board::Board;
use dataperf::challenge::{Challenge, Round};
use dataperf::table::leaderboard::Leaderboards as _;
use serde::Deserialize;
use serde_json::json;

use super::round::published_round;
use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::commands::leaderboard::{Shown, boards_of_round, notes, table_of};
use crate::output::{Format, Table, check_files, n_of, print_json, shown_score, visible};

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The round
    round: String,
    /// Write a file, as HTML if its name ends in .html [default: print Markdown]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What `dataperf audit --format json` printed about the test set
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// A part of the report.
enum Part {
    Title(String),
    Heading(String),
    Paragraph(String),
    Rows(Table),
}

/// The part of an audit's JSON that the report uses.
#[derive(Deserialize)]
struct Audit {
    sets: Vec<AuditedSet>,
}

#[derive(Deserialize)]
struct AuditedSet {
    set: String,
    n_items: usize,
    n_likely: usize,
    n_doubts: usize,
}

pub(super) async fn run(args: ReportArgs, format: Format) -> Result<Done> {
    check_files(&[args.out.as_deref()])?;
    let audit = args.audit.as_ref().map(|path| -> Result<Audit> {
        let about = || format!("can't read `{}` as an audit", path.display());
        serde_json::from_slice(&fs::read(path).with_context(about)?).with_context(about)
    });
    let audit = audit.transpose()?;
    let cloud = args.cloud.connect().await?;
    let (challenge, round) = published_round(&cloud, &args.benchmark, &args.round).await?;
    let parts = parts(&cloud, &args.benchmark, &challenge, &round, audit.as_ref()).await?;
    let is_html = args
        .out
        .as_ref()
        .is_some_and(|path| path.extension().is_some_and(|extension| extension == "html"));
    let text = if is_html { html(&parts) } else { markdown(&parts) };
    match (&args.out, format) {
        (Some(path), _) => {
            fs::write(path, text).with_context(|| format!("can't write `{}`", path.display()))?;
            match format {
                Format::Json => print_json(&json!({ "round": round.id, "out": path }))?,
                Format::Text => println!("The report is in `{}`.", path.display()),
            }
        }
        (None, Format::Json) => print_json(&json!({ "round": round.id, "report": text }))?,
        (None, Format::Text) => print!("{text}"),
    }
    Ok(Done::Fine)
}

async fn parts(
    cloud: &Cloud,
    benchmark: &str,
    challenge: &Challenge,
    round: &Round,
    audit: Option<&Audit>,
) -> Result<Vec<Part>> {
    let title = round.title.as_ref().unwrap_or(&challenge.title);
    let mut parts = vec![Part::Title(format!("{title}: {benchmark}, round {}", round.id))];
    let is_closed = round.is_closed(now());
    let time = match round.closes {
        _ if now() < round.opens => format!("The round opens at {}.", round.opens),
        Some(closes) if is_closed => {
            format!("The round was open from {} to {closes}.", round.opens)
        }
        Some(closes) => format!("The round is open until {closes}: this report is preliminary."),
        None => format!("The round opened at {} and has no end.", round.opens),
    };
    parts.push(Part::Paragraph(time));
    let public = boards_of_round(cloud, benchmark, &round.id).await?;
    let last = boards_of_round(cloud, benchmark, &Board::final_of(&round.id)).await?;
    if public.is_empty() {
        parts.push(Part::Paragraph("No submission has a score.".to_owned()));
    }
    for public in public {
        let of_board = |last: &&Shown| last.board.leaderboard == public.board.leaderboard;
        let shown = last.iter().find(of_board).unwrap_or(&public);
        parts.push(Part::Heading(shown.board.leaderboard.clone()));
        let is_final = |shown: &Shown| {
            shown
                .report
                .as_ref()
                .is_some_and(|report| report.finished_at.is_some())
        };
        let is_complete = is_closed && (round.final_dataset.is_none() || is_final(shown));
        if is_closed && !is_complete {
            let message = "The final data set has not scored all submissions: the order is preliminary.";
            parts.push(Part::Paragraph(message.to_owned()));
        }
        if let Some(until) = challenge.hidden_until(&public.board, now()) {
            let message =
                format!("Participants don't see this board until {until}: keep the report private.");
            parts.push(Part::Paragraph(message));
        }
        let series = cloud.leaderboards().series(&public.board).await?;
        let baselines = shown.top.iter().filter(|row| row.entry.is_baseline);
        let (n_baselines, n_rows) = (baselines.count(), shown.top.len());
        parts.push(Part::Paragraph(format!(
            "{}. {}, {} and {}{}.",
            leaders(shown, is_complete),
            n_of(series.len(), "scored submission", "scored submissions"),
            n_of(n_rows - n_baselines, "submitter", "submitters"),
            n_of(n_baselines, "baseline", "baselines"),
            if shown.board.is_final() {
                "; ranked by the final data set"
            } else {
                ""
            },
        )));
        parts.push(Part::Rows(table_of(shown)));
        parts.extend(notes(shown).into_iter().map(Part::Paragraph));
        if let Some(dataset) = shown.dataset {
            parts.push(Part::Paragraph(format!("Data set: {dataset}.")));
        }
    }
    if let Some(audit) = audit {
        parts.push(Part::Heading("Audit of the test set".to_owned()));
        parts.extend(audit.sets.iter().map(|audited| {
            let AuditedSet {
                set,
                n_items,
                n_likely,
                n_doubts,
            } = audited;
            let (likely, doubts) = (
                n_of(*n_likely, "label", "labels"),
                n_of(*n_doubts, "label", "labels"),
            );
            Part::Paragraph(format!(
                "{set}: of {n_items} items, {doubts} are doubtful and {likely} are likely wrong."
            ))
        }));
    }
    Ok(parts)
}

/// A text without control characters.
fn visible_text(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// The submitters with rank 1 and their score. They are winners once the board is complete.
fn leaders(shown: &Shown, is_complete: bool) -> String {
    let first = shown.top.iter().filter(|row| row.shown_rank() == Some(1));
    let first: Vec<_> = first.collect();
    let names: Vec<String> = first
        .iter()
        .map(|row| visible_text(&row.entry.submitter))
        .collect();
    let score = first.first().and_then(|row| row.entry.score);
    let score = score
        .map(|score| shown_score(score, shown.digits))
        .unwrap_or_default();
    let title = match (is_complete, names.len()) {
        (_, 0) => return "No submission has a rank".to_owned(),
        (true, 1) => "Winner",
        (true, _) => "Winners",
        (false, 1) => "Leader",
        (false, _) => "Leaders",
    };
    format!("{title}: {}, with {score}", names.join(", "))
}

fn markdown(parts: &[Part]) -> String {
    let cell = |cell: &String| visible_text(cell).replace('|', "\\|");
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(cell).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let part = |part: &Part| match part {
        Part::Title(text) => format!("# {}\n", visible_text(text)),
        Part::Heading(text) => format!("## {}\n", visible_text(text)),
        Part::Paragraph(text) => format!("{text}\n"),
        Part::Rows(table) => {
            let (heads, rows) = table.filled();
            let dashes = vec!["---".to_owned(); heads.len()];
            let rows = rows.iter().map(|cells| row(cells));
            [row(&heads), row(&dashes)].into_iter().chain(rows).collect()
        }
    };
    parts.iter().map(part).collect::<Vec<_>>().join("\n")
}

fn html(parts: &[Part]) -> String {
    let safe = |text: &str| {
        let text = visible_text(text).replace('&', "&amp;");
        text.replace('<', "&lt;").replace('>', "&gt;")
    };
    let row = |tag: &str, cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| safe(cell)).collect();
        let between = format!("</{tag}><{tag}>");
        format!("<tr><{tag}>{}</{tag}></tr>\n", cells.join(&between))
    };
    let part = |part: &Part| match part {
        Part::Title(text) => format!("<h1>{}</h1>\n", safe(text)),
        Part::Heading(text) => format!("<h2>{}</h2>\n", safe(text)),
        Part::Paragraph(text) => format!("<p>{}</p>\n", safe(text)),
        Part::Rows(table) => {
            let (heads, rows) = table.filled();
            let rows: String = rows.iter().map(|cells| row("td", cells)).collect();
            format!("<table>\n{}{rows}</table>\n", row("th", &heads))
        }
    };
    let title = parts.iter().find_map(|part| match part {
        Part::Title(text) => Some(safe(text)),
        _ => None,
    });
    let body: String = parts.iter().map(part).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{}</title>\n\
         <style>body {{ font-family: sans-serif; max-width: 60rem; margin: 2rem auto }} \
         th, td {{ text-align: left; padding: .2rem .8rem .2rem 0 }}</style>\n{body}</html>\n",
        title.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::table;

    fn parts() -> Vec<Part> {
        let mut rows = table(&["rank", "submitter", "empty"]);
        rows.add_row(["1", "a|<b>", ""]);
        vec![
            Part::Title("Digits & more".to_owned()),
            Part::Rows(rows),
            Part::Paragraph("Fine.".to_owned()),
        ]
    }

    #[test]
    fn markdown_escapes_bars_and_omits_empty_columns() {
        let expected = "# Digits & more\n\n| rank | submitter |\n| --- | --- |\n| 1 | a\\|<b> |\n\nFine.\n";
        assert_eq!(markdown(&parts()), expected);
    }

    #[test]
    fn html_escapes_markup() {
        let page = html(&parts());
        assert!(page.contains("<title>Digits &amp; more</title>"), "{page}");
        assert!(page.contains("<tr><td>1</td><td>a|&lt;b&gt;</td></tr>"), "{page}");
    }
}
