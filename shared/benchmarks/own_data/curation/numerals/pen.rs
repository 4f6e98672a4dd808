//! A pen on paper: random numbers, strokes and ink.
//!
//! Only sums, products, quotients and square roots of 64-bit floats are used, so that a seed gives the same bytes everywhere.

use dataperf_numerics::models::mt19937::Mt19937;

use super::SIDE;

/// The number of straight pieces that a stroke is drawn as.
const PIECES: usize = 8;

/// A point: its distance to the right and downwards.
pub(super) type Point = [f64; 2];

/// A stream of random numbers.
pub(super) struct Chance(Mt19937);

impl Chance {
    pub(super) fn new(seed: u32) -> Self {
        Self(Mt19937::new(seed))
    }

    /// A uniform number from `low` to `high`.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (f64::from(self.0.next_u32()) / f64::from(u32::MAX))
    }

    /// A roughly normal number with mean 0 and the given standard deviation, at most 3.5 deviations from 0.
    pub(super) fn spread(&mut self, deviation: f64) -> f64 {
        let sum: f64 = (0..4).map(|_| self.between(-1.0, 1.0)).sum();
        // a uniform number in -1..1 has variance 1/3
        sum * deviation * 0.75_f64.sqrt()
    }

    /// True with probability `share`.
    pub(super) fn happens(&mut self, share: f64) -> bool {
        self.between(0.0, 1.0) < share
    }

    /// A number below `n`, which is at least 1.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0.up_to(n as u32 - 1) as usize
    }

    /// Puts the items into random order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// A quadratic Bézier curve: its start, its control point and its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stroke(pub(super) [Point; 3]);

impl Stroke {
    /// A stroke that bends by `bend` of its length to its left.
    pub(super) fn bent(from: Point, to: Point, bend: f64) -> Self {
        let towards = [
            f64::midpoint(from[0], to[0]) + bend * (to[1] - from[1]),
            f64::midpoint(from[1], to[1]) - bend * (to[0] - from[0]),
        ];
        Self([from, towards, to])
    }

    /// The `PIECES + 1` points that the curve is drawn through.
    fn points(&self) -> [Point; PIECES + 1] {
        let [from, towards, to] = self.0;
        let mut points = [[0.0; 2]; PIECES + 1];
        for (at, point) in points.iter_mut().enumerate() {
            let t = at as f64 / PIECES as f64;
            let s = 1.0 - t;
            for axis in 0..2 {
                point[axis] = s * s * from[axis] + 2.0 * s * t * towards[axis] + t * t * to[axis];
            }
        }
        points
    }
}

/// The ink at each pixel: 0 is none, 1 is black.
#[derive(Debug, Clone)]
pub(super) struct Paper(Vec<f64>);

impl Paper {
    pub(super) fn new() -> Self {
        Self(vec![0.0; SIDE * SIDE])
    }

    /// The paper's rows, from the top.
    pub(super) fn rows(&mut self) -> impl Iterator<Item = &mut [f64]> {
        self.0.chunks_exact_mut(SIDE)
    }

    /// Draws a stroke with a pen of the given radius, in pixels.
    pub(super) fn draw(&mut self, stroke: &Stroke, radius: f64, darkness: f64) {
        let points = stroke.points();
        for pair in points.windows(2) {
            self.draw_piece(pair[0], pair[1], radius, darkness);
        }
    }

    fn draw_piece(&mut self, from: Point, to: Point, radius: f64, darkness: f64) {
        let reach = radius + 1.0;
        let span = |axis: usize| {
            let low = from[axis].min(to[axis]) - reach;
            let high = from[axis].max(to[axis]) + reach;
            low.max(0.0) as usize..(high.max(0.0) as usize + 1).min(SIDE)
        };
        for y in span(1) {
            for x in span(0) {
                let distance = distance([x as f64 + 0.5, y as f64 + 0.5], from, to);
                let ink = darkness * (radius + 0.5 - distance).clamp(0.0, 1.0);
                let pixel = &mut self.0[y * SIDE + x];
                *pixel = pixel.max(ink);
            }
        }
    }

    /// The paper as grey levels: dark ink on light paper, with grain of the given standard deviation, in grey levels.
    pub(super) fn develop(&self, paper: f64, grain: f64, chance: &mut Chance) -> Vec<u8> {
        let ink = self.0.iter();
        ink.map(|ink| (paper * (1.0 - ink) + chance.spread(grain)).clamp(0.0, 255.0) as u8)
            .collect()
    }
}

/// The distance of a point from a straight piece.
fn distance(point: Point, from: Point, to: Point) -> f64 {
    let along = [to[0] - from[0], to[1] - from[1]];
    let offset = [point[0] - from[0], point[1] - from[1]];
    let length = along[0] * along[0] + along[1] * along[1];
    let share = if length > 0.0 {
        ((offset[0] * along[0] + offset[1] * along[1]) / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let rest = [offset[0] - share * along[0], offset[1] - share * along[1]];
    (rest[0] * rest[0] + rest[1] * rest[1]).sqrt()
}
