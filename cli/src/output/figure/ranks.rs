//! Ranks with their intervals, a line a system: scores on the left, ranks on the right.

use std::path::Path;

use anyhow::Result;
use dataperf_rank::{Ranking, Row};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{CURVE, drawing, write_svg};
use crate::output::visible;

/// The most systems in one picture.
const MAX_SYSTEMS: usize = 50;
const NAME_POINTS: u32 = 250;
const PANEL_POINTS: u32 = 330;
const LINE_POINTS: u32 = 17;
/// Above and below the lines, for titles and numbers.
const MARGIN_POINTS: u32 = 36;
const FONT_POINTS: u32 = 12;
const MAX_NAME_CHARS: usize = 38;
const OTHERS: RGBColor = RGBColor(110, 110, 110);

/// A system's values in one panel: the figure and its interval.
type Figures = fn(&Row) -> (f64, Option<(f64, f64)>);

fn score(row: &Row) -> (f64, Option<(f64, f64)>) {
    (row.score, row.score_low.zip(row.score_high))
}

fn rank(row: &Row) -> (f64, Option<(f64, f64)>) {
    let interval = row.rank_low.zip(row.rank_high);
    (
        row.rank.into(),
        interval.map(|(low, high)| (low.into(), high.into())),
    )
}

/// Writes an SVG file with the first [`MAX_SYSTEMS`] systems; those that may be the best are in colour.
pub(crate) fn write_ranks(ranking: &Ranking, path: &Path) -> Result<()> {
    let rows = &ranking.rows[..ranking.rows.len().min(MAX_SYSTEMS)];
    let height = 2 * MARGIN_POINTS + LINE_POINTS * rows.len() as u32;
    write_svg(path, (NAME_POINTS + 2 * PANEL_POINTS, height), |root| {
        let (_, panels) = root.split_horizontally(NAME_POINTS);
        let (scores, ranks) = panels.split_horizontally(PANEL_POINTS);
        let heights = panel(&scores, rows, "score, with 95 % confidence", score)?;
        panel(&ranks, rows, "rank, with 95 % confidence", rank)?;
        let style = ("sans-serif", FONT_POINTS).into_font().color(&BLACK);
        let style = style.pos(Pos::new(HPos::Right, VPos::Center));
        for (row, height) in rows.iter().zip(heights) {
            let mut name: String = row.system.chars().take(MAX_NAME_CHARS).map(visible).collect();
            if row.system.chars().nth(MAX_NAME_CHARS).is_some() {
                name.push('…');
            }
            let text = Text::new(name, (NAME_POINTS.cast_signed() - 8, height), style.clone());
            root.draw(&text).map_err(drawing)?;
        }
        Ok(())
    })
}

/// Draws one panel, and gives the height in the picture at which each row is.
fn panel<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    rows: &[Row],
    title: &str,
    figures: Figures,
) -> Result<Vec<i32>> {
    let ends = rows.iter().map(figures).flat_map(|(figure, interval)| {
        let (low, high) = interval.unwrap_or((figure, figure));
        [low, high]
    });
    let (least, most) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), end| {
        (least.min(end), most.max(end))
    });
    let room = 0.04 * (most - least).max(1e-9);
    let font = ("sans-serif", FONT_POINTS).into_font();
    let mut chart = ChartBuilder::on(area)
        .margin_right(14)
        .margin_left(6)
        .caption(title, font.clone())
        .x_label_area_size(MARGIN_POINTS)
        .margin_top(MARGIN_POINTS - FONT_POINTS - 6)
        .build_cartesian_2d(least - room..most + room, rows.len() as f64..0.0)
        .map_err(drawing)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(WHITE)
        .x_labels(6)
        .x_label_formatter(&|x| {
            if most - least < 2.0 {
                format!("{x:.2}")
            } else {
                format!("{x:.0}")
            }
        })
        .label_style(font)
        .draw()
        .map_err(drawing)?;
    let mut heights = Vec::with_capacity(rows.len());
    for (place, row) in rows.iter().enumerate() {
        let (y, (figure, interval)) = (place as f64 + 0.5, figures(row));
        heights.push(chart.backend_coord(&(figure, y)).1);
        let color = if row.rank_low == Some(1) { CURVE } else { OTHERS };
        if let Some((low, high)) = interval {
            let line = LineSeries::new([(low, y), (high, y)], color.stroke_width(3));
            chart.draw_series(line).map_err(drawing)?;
        }
        let dot = Circle::new((figure, y), 4, color.filled());
        chart.draw_series([dot]).map_err(drawing)?;
    }
    Ok(heights)
}
