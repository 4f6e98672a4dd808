//! A person's hand: the way letters are formed, and how one numeral varies from the next.

use super::SIDE;
use super::pen::{Chance, Paper, Point, Stroke};

/// The margin around a numeral that stays empty, in pixels.
const MARGIN: f64 = 1.5;

/// How much hands differ from each other, and numerals of one hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variety {
    /// Standard deviation of the slope of a line of writing, as the tangent of half its angle.
    pub(super) slope: f64,
    /// Standard deviation of the slant of letters: the distance to the right for each downwards.
    pub(super) slant: f64,
    /// The smallest and the largest height of letters, in pixels.
    pub(super) height: [f64; 2],
    /// Standard deviation of the place of a numeral's middle, in pixels.
    pub(super) shift: f64,
    /// Standard deviation of the ends of strokes, in units of a letter's height.
    pub(super) tremor: f64,
}

/// Draws a numeral by a new hand.
pub(super) fn write(numeral: &str, variety: Variety, chance: &mut Chance) -> Paper {
    let strokes = strokes(numeral, variety.tremor, chance);
    let placed = place(strokes, variety, chance);
    let radius = chance.between(0.5, 1.4);
    let darkness = chance.between(0.55, 1.0);
    let mut paper = Paper::new();
    for stroke in placed {
        paper.draw(&stroke, radius * chance.between(0.85, 1.15), darkness);
    }
    paper
}

/// How a hand forms its letters; lengths are in units of a letter's height.
struct Form {
    has_dots: bool,
    has_serifs: bool,
    /// The gap between letters.
    gap: f64,
    v_width: f64,
    x_width: f64,
    /// How far strokes bend, as a share of their length.
    bend: f64,
}

impl Form {
    fn new(chance: &mut Chance) -> Self {
        Self {
            has_dots: chance.happens(0.7),
            has_serifs: chance.happens(0.3),
            gap: chance.between(0.12, 0.38),
            v_width: chance.between(0.5, 0.95),
            x_width: chance.between(0.5, 0.95),
            bend: chance.spread(0.07),
        }
    }

    /// The strokes of a letter, and its width.
    fn letter(&self, letter: char, chance: &mut Chance) -> (Vec<Stroke>, f64) {
        let Self {
            v_width,
            x_width,
            bend,
            ..
        } = *self;
        match letter {
            'v' => {
                let foot = [v_width / 2.0, 1.0];
                let strokes = [
                    Stroke::bent([0.0, 0.0], foot, bend),
                    Stroke::bent(foot, [v_width, 0.0], bend),
                ];
                (strokes.into(), v_width)
            }
            'x' => {
                let falling = Stroke::bent([0.0, 0.0], [x_width, 1.0], bend);
                let rising = Stroke::bent([x_width, 0.0], [0.0, 1.0], -bend);
                (vec![falling, rising], x_width)
            }
            _ => (self.stem(chance), if self.has_serifs { 0.3 } else { 0.06 }),
        }
    }

    /// The strokes of the letter i.
    fn stem(&self, chance: &mut Chance) -> Vec<Stroke> {
        let at = if self.has_serifs { 0.15 } else { 0.03 };
        let top = chance.between(0.0, 0.15);
        let mut strokes = vec![Stroke::bent([at, top], [at, 1.0], self.bend)];
        if self.has_dots {
            let height = chance.between(-0.4, -0.22);
            strokes.push(Stroke::bent([at - 0.02, height], [at + 0.03, height + 0.04], 0.0));
        }
        if self.has_serifs {
            strokes.push(Stroke::bent([at - 0.13, top + 0.03], [at, top], 0.0));
            strokes.push(Stroke::bent([at, 1.0], [at + 0.14, 0.94], 0.0));
        }
        strokes
    }
}

/// The strokes of a numeral, letter after letter to the right, in units of a letter's height.
fn strokes(numeral: &str, tremor: f64, chance: &mut Chance) -> Vec<Stroke> {
    let form = Form::new(chance);
    let mut all = Vec::new();
    let mut right = 0.0;
    for letter in numeral.chars() {
        let (strokes, width) = form.letter(letter, chance);
        let (lift, size) = (chance.spread(0.05), 1.0 + chance.spread(0.07));
        for stroke in strokes {
            all.push(Stroke(stroke.0.map(|[x, y]| {
                let x = right + x * size + chance.spread(tremor);
                [x, lift + y * size + chance.spread(tremor)]
            })));
        }
        right += width * size + form.gap * chance.between(0.7, 1.4);
    }
    all
}

/// Slants, turns, scales and moves strokes onto the paper.
fn place(strokes: Vec<Stroke>, variety: Variety, chance: &mut Chance) -> Vec<Stroke> {
    let strokes = turned(
        strokes,
        chance.spread(variety.slant),
        chance.spread(variety.slope),
    );
    let (low, size) = extent(&strokes);
    let room = SIDE as f64 - 2.0 * MARGIN;
    let wanted = chance.between(variety.height[0], variety.height[1]);
    let narrow = chance.between(0.8, 1.2);
    // a narrow numeral is not widened
    let scale = [
        (wanted * narrow).min(room / size[0].max(0.2)),
        wanted.min(room / size[1]),
    ];
    let mut origin = [0.0; 2];
    for axis in 0..2 {
        let size = size[axis] * scale[axis];
        let middle = SIDE as f64 / 2.0 + chance.spread(variety.shift);
        origin[axis] = (middle - size / 2.0).clamp(MARGIN, (SIDE as f64 - MARGIN - size).max(MARGIN));
    }
    let onto = |[x, y]: Point| {
        [
            origin[0] + (x - low[0]) * scale[0],
            origin[1] + (y - low[1]) * scale[1],
        ]
    };
    strokes
        .into_iter()
        .map(|stroke| Stroke(stroke.0.map(onto)))
        .collect()
}

/// Strokes that are slanted and then turned by twice the angle of the given tangent.
fn turned(strokes: Vec<Stroke>, slant: f64, half_tangent: f64) -> Vec<Stroke> {
    let square = half_tangent * half_tangent;
    let (cosine, sine) = (
        (1.0 - square) / (1.0 + square),
        2.0 * half_tangent / (1.0 + square),
    );
    let turn = |[x, y]: Point| {
        let x = x - slant * (y - 0.5);
        [cosine * x - sine * y, sine * x + cosine * y]
    };
    strokes
        .into_iter()
        .map(|stroke| Stroke(stroke.0.map(turn)))
        .collect()
}

/// The upper left corner of all points of the strokes, and the width and height that they take from there.
fn extent(strokes: &[Stroke]) -> (Point, Point) {
    let mut low = [f64::INFINITY; 2];
    let mut high = [f64::NEG_INFINITY; 2];
    for point in strokes.iter().flat_map(|stroke| stroke.0) {
        for axis in 0..2 {
            low[axis] = low[axis].min(point[axis]);
            high[axis] = high[axis].max(point[axis]);
        }
    }
    (low, [high[0] - low[0], high[1] - low[1]])
}
