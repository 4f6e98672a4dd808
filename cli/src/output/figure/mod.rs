//! Pictures. Here accuracy against fixes, a panel a task, as the public challenge draws it: in the terminal or as an SVG file.

mod braille;
mod ranks;

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use dataperf::Verdict;
use dataperf::receipt::figures::{Curve, Figures};
use plotters::coord::Shift;
use plotters::prelude::*;

use braille::Canvas;

pub(crate) use ranks::write_ranks;

/// Characters of a panel in the terminal.
const PANEL_CHARS: (u32, u32) = (56, 12);
/// Points of a panel in a file.
const PANEL_POINTS: (u32, u32) = (460, 300);
const PANELS_A_ROW: usize = 2;

const CURVE: RGBColor = RGBColor(31, 119, 180);
const BEFORE: RGBColor = RGBColor(110, 110, 110);
const TARGET: RGBColor = RGBColor(214, 39, 40);

/// The curves of a verdict's tasks.
pub(crate) struct Figure {
    curves: Vec<Curve>,
}

fn title(curve: &Curve) -> String {
    let place = curve.place.rsplit(" / ").next().unwrap_or_default();
    match curve.reached {
        Some(reached) => {
            let percent = 100.0 * reached as f64 / curve.n_steps.max(1) as f64;
            format!("{place}: {percent:.1} % of the {}", curve.x_title)
        }
        None => place.to_owned(),
    }
}

/// The differences between a terminal and a file.
struct Style {
    font: u32,
    margin: u32,
    labels: (u32, u32),
    n_labels: (usize, usize),
    dash: i32,
    stroke: u32,
    is_framed: bool,
}

impl Figure {
    /// `None` when the benchmark has no curves.
    pub(crate) fn from_verdict(verdict: &Verdict) -> Option<Self> {
        let hosted = dataperf_hosted::hosted(&verdict.benchmark)?;
        let curves = Figures::from_verdict(verdict, hosted.metrics).curves;
        (!curves.is_empty()).then_some(Self { curves })
    }

    fn n_rows(&self) -> usize {
        self.curves.len().div_ceil(PANELS_A_ROW)
    }

    fn size(&self, panel: (u32, u32)) -> (u32, u32) {
        let n_columns = PANELS_A_ROW.min(self.curves.len());
        (panel.0 * n_columns as u32, panel.1 * self.n_rows() as u32)
    }

    /// Writes an SVG file.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let style = Style {
            font: 13,
            margin: 10,
            labels: (34, 48),
            n_labels: (7, 6),
            dash: 6,
            stroke: 2,
            is_framed: true,
        };
        write_svg(path, self.size(PANEL_POINTS), |root| self.draw(root, &style))
    }

    /// Draws with Braille dots.
    pub(crate) fn text(&self) -> Result<String> {
        let mut canvas = Canvas::new(self.size(PANEL_CHARS));
        let style = Style {
            font: 4,
            margin: 2,
            labels: (4, 12),
            n_labels: (5, 4),
            dash: 3,
            stroke: 1,
            is_framed: false,
        };
        self.draw(&(&mut canvas).into_drawing_area(), &style)?;
        Ok(canvas.to_string())
    }

    fn draw<B: DrawingBackend>(&self, root: &DrawingArea<B, Shift>, style: &Style) -> Result<()> {
        let n_columns = PANELS_A_ROW.min(self.curves.len());
        let panels = root.split_evenly((self.n_rows(), n_columns));
        for (curve, panel) in self.curves.iter().zip(&panels) {
            panel_of(curve, panel, style)?;
        }
        root.present().map_err(drawing)
    }
}

fn panel_of<B: DrawingBackend>(curve: &Curve, panel: &DrawingArea<B, Shift>, style: &Style) -> Result<()> {
    let every = || curve.y.iter().copied().chain(curve.before).chain(curve.target);
    let (least, most) = (every().fold(1.0, f64::min), every().fold(0.0, f64::max));
    let (bottom, top) = (
        (least * 20.0 - 0.2).floor() / 20.0,
        ((most * 20.0 + 0.2).ceil() / 20.0).min(1.0),
    );
    let n_images = curve.n_steps as f64;
    let font = ("sans-serif", style.font).into_font();
    let mut chart = ChartBuilder::on(panel)
        .margin(style.margin)
        .caption(title(curve), font.clone())
        .x_label_area_size(style.labels.0)
        .y_label_area_size(style.labels.1)
        .build_cartesian_2d(0.0..n_images, bottom..top)
        .map_err(drawing)?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh()
        .x_labels(style.n_labels.0)
        .y_labels(style.n_labels.1)
        .x_label_formatter(&|fixes| format!("{fixes:.0}"))
        .y_label_formatter(&|accuracy| format!("{accuracy:.2}"))
        .label_style(font.clone());
    if style.is_framed {
        mesh.x_desc(curve.x_title).y_desc(curve.title);
    } else {
        mesh.set_all_tick_mark_size(0);
    }
    mesh.draw().map_err(drawing)?;
    for (height, color) in [(curve.before, BEFORE), (curve.target, TARGET)] {
        let Some(height) = height else { continue };
        let ends = [(0.0, height), (n_images, height)];
        let line = DashedLineSeries::new(ends, style.dash, style.dash, color.stroke_width(1));
        chart.draw_series(line).map_err(drawing)?;
    }
    let steps = curve.y.iter().enumerate();
    let points = steps.map(|(step, &accuracy)| ((step + 1) as f64, accuracy));
    let start = curve.before.map(|before| (0.0, before));
    let line = LineSeries::new(start.into_iter().chain(points), CURVE.stroke_width(style.stroke));
    chart.draw_series(line).map_err(drawing)?;
    if style.is_framed {
        let reached = curve
            .reached
            .and_then(|step| Some((step as f64 + 1.0, *curve.y.get(step)?)));
        let circle = reached.map(|at| Circle::new(at, 4, TARGET.filled()));
        chart.draw_series(circle).map_err(drawing)?;
        let legend = [
            ("before cleaning", curve.before, BEFORE),
            ("target", curve.target, TARGET),
        ];
        let texts = legend.into_iter().filter_map(|(text, height, color)| {
            Some(Text::new(
                text,
                (n_images * 0.8, height?),
                font.clone().color(&color),
            ))
        });
        chart.draw_series(texts).map_err(drawing)?;
    }
    Ok(())
}

/// Draws on white and writes an SVG file.
fn write_svg(
    path: &Path,
    size: (u32, u32),
    draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Result<()>,
) -> Result<()> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(drawing)?;
        draw(&root)?;
        root.present().map_err(drawing)?;
    }
    std::fs::write(path, svg).with_context(|| format!("can't write the figure `{}`", path.display()))
}

/// The library's message; its errors borrow from its backends.
fn drawing(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("can't draw the figure: {error}")
}
