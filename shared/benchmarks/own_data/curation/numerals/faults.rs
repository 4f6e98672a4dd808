//! The faults of a third of the start set.

use super::pen::{Chance, Paper, Stroke};
use super::{NUMERALS, SIDE};

/// A fault of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The label is another numeral's: in half of the cases the next or the previous one.
    WrongLabel,
    /// Another line is drawn across the numeral.
    Smudged,
    /// The numeral is partly beyond the edge of the image.
    Cut,
    /// There are scribbles, or the paper is empty.
    NoNumeral,
}

/// The share of each fault among all images.
const SHARES: [(Fault, f64); 4] = [
    (Fault::WrongLabel, 0.2),
    (Fault::Smudged, 0.07),
    (Fault::Cut, 0.05),
    (Fault::NoNumeral, 0.04),
];

impl Fault {
    /// Draws the fault of the next image, if it gets one.
    pub(super) fn draw(chance: &mut Chance) -> Option<Self> {
        let mut left = chance.between(0.0, 1.0);
        for (fault, share) in SHARES {
            if left < share {
                return Some(fault);
            }
            left -= share;
        }
        None
    }

    /// Changes the paper as the fault says.
    pub(super) fn spoil(self, paper: &mut Paper, chance: &mut Chance) {
        match self {
            Self::WrongLabel => {}
            Self::Smudged => scribble(paper, chance),
            Self::Cut => cut(paper, chance),
            Self::NoNumeral => {
                *paper = Paper::new();
                for _ in 0..chance.below(4) {
                    scribble(paper, chance);
                }
            }
        }
    }
}

/// A wrong class: the next or the previous one, as somebody who miscounts strokes would say, or any other.
pub(super) fn mistaken_for(truth: usize, chance: &mut Chance) -> usize {
    let last = NUMERALS.len() - 1;
    if !chance.happens(0.5) {
        return (truth + 1 + chance.below(last)) % NUMERALS.len();
    }
    let is_more = truth == 0 || truth < last && chance.happens(0.5);
    if is_more { truth + 1 } else { truth - 1 }
}

fn scribble(paper: &mut Paper, chance: &mut Chance) {
    let side = SIDE as f64;
    let mut point = || [chance.between(0.0, side), chance.between(0.0, side)];
    let stroke = Stroke([point(), point(), point()]);
    paper.draw(&stroke, chance.between(0.5, 1.4), chance.between(0.4, 1.0));
}

/// Moves the numeral to one side, by a third to a half of the image.
fn cut(paper: &mut Paper, chance: &mut Chance) {
    let by = 10 + chance.below(8);
    let is_left = chance.happens(0.5);
    for row in paper.rows() {
        if is_left {
            row.copy_within(by.., 0);
            row[SIDE - by..].fill(0.0);
        } else {
            row.copy_within(..SIDE - by, by);
            row[..by].fill(0.0);
        }
    }
}
