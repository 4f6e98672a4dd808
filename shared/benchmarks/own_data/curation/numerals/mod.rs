//! The demo's images: lower-case Roman numerals from i to x, as if written by hand.
//!
//! There are a start set that needs work, a hidden set, and a label book that shows what each class looks like. The images are
//! drawn from a seed instead of being stored: every stroke is a curve of our own, and every image has its own hand, paper and pen.

mod contest;
mod faults;
mod hand;
mod pen;
mod zipped;

pub use contest::write_contest;
pub use faults::Fault;
use hand::{Variety, write};
use pen::{Chance, Paper};
pub use zipped::zip_of_images;

/// The height and width of an image in pixels.
pub const SIDE: usize = 32;
/// The numerals, in the order of the classes.
pub const NUMERALS: [&str; 10] = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"];
/// The number of images of each class in the hidden set: 52, as in the Data-Centric AI competition.
pub const HIDDEN_PER_CLASS: usize = 52;
/// The number of images of each class in the label book.
pub const BOOK_PER_CLASS: usize = 5;

/// The seed of the demo's start set.
pub const START_SEED: u32 = 1;
/// The seed of the demo's hidden set.
pub const HIDDEN_SEED: u32 = 2;
/// The seed of the demo's label book.
pub const BOOK_SEED: u32 = 3;

/// The number of images of each class in the start set: 3,000 in all, with more than four times as many of one class as of another.
const START: [usize; 10] = [520, 420, 310, 180, 460, 260, 170, 120, 150, 410];
/// The share of the start set that careful hands have written: large, upright and in the middle.
const CAREFUL_SHARE: f64 = 0.8;

/// How the hands of a few people who write alike vary.
const CAREFUL: Variety = Variety {
    slope: 0.03,
    slant: 0.08,
    height: [15.0, 21.0],
    shift: 1.2,
    tremor: 0.025,
};
/// How the hands of all sorts of people vary.
const EVERYBODY: Variety = Variety {
    slope: 0.09,
    slant: 0.22,
    height: [10.0, 24.0],
    shift: 3.0,
    tremor: 0.05,
};

/// An image with its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numeral {
    /// `(SIDE, SIDE)`, grey: dark ink on light paper.
    pub pixels: Vec<u8>,
    /// The label that the image has in its set, as an index into [`NUMERALS`].
    pub class: usize,
    /// The numeral that the image shows or was meant to show, as an index into [`NUMERALS`].
    pub truth: usize,
    /// The image's problem, if it has one.
    pub fault: Option<Fault>,
}

/// The set that participants begin with, in random order: unbalanced, mostly by careful hands, and with faults in a third of it.
pub fn start_set(seed: u32) -> Vec<Numeral> {
    let mut chance = Chance::new(seed);
    let mut set = Vec::new();
    for (truth, &n) in START.iter().enumerate() {
        for _ in 0..n {
            set.push(start_image(truth, &mut chance));
        }
    }
    chance.shuffle(&mut set);
    set
}

fn start_image(truth: usize, chance: &mut Chance) -> Numeral {
    let is_careful = chance.happens(CAREFUL_SHARE);
    let variety = if is_careful { CAREFUL } else { EVERYBODY };
    let mut paper = write(NUMERALS[truth], variety, chance);
    let fault = Fault::draw(chance);
    let mut class = truth;
    match fault {
        Some(Fault::WrongLabel) => class = faults::mistaken_for(truth, chance),
        Some(fault) => fault.spoil(&mut paper, chance),
        None => {}
    }
    Numeral {
        pixels: developed(&paper, chance),
        class,
        truth,
        fault,
    }
}

/// Numerals without faults, by all sorts of people: the same number of each class, class by class.
///
/// The demo's hidden set is `clean_set(HIDDEN_PER_CLASS, HIDDEN_SEED)`, its label book `clean_set(BOOK_PER_CLASS, BOOK_SEED)`.
pub fn clean_set(n_per_class: usize, seed: u32) -> Vec<Numeral> {
    let mut chance = Chance::new(seed);
    let truths = (0..NUMERALS.len()).flat_map(|truth| std::iter::repeat_n(truth, n_per_class));
    let image = |truth: usize| {
        let paper = write(NUMERALS[truth], EVERYBODY, &mut chance);
        Numeral {
            pixels: developed(&paper, &mut chance),
            class: truth,
            truth,
            fault: None,
        }
    };
    truths.map(image).collect()
}

/// A picture of the paper, whose greyness and grain differ from picture to picture.
fn developed(paper: &Paper, chance: &mut Chance) -> Vec<u8> {
    let (light, grain) = (chance.between(185.0, 255.0), chance.between(0.0, 14.0));
    paper.develop(light, grain, chance)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    fn digest(set: &[Numeral]) -> String {
        let mut sha = Sha256::new();
        for numeral in set {
            sha.update(&numeral.pixels);
            sha.update([numeral.class as u8, numeral.truth as u8]);
        }
        dataperf::Digest::from_hasher(sha).hex()
    }

    #[test]
    fn start_set_is_unbalanced_and_faulty() {
        let set = start_set(START_SEED);
        assert_eq!(set.len(), 3000);
        let n_with = |fault: Option<Fault>| set.iter().filter(|numeral| numeral.fault == fault).count();
        let shares = [
            (None, 1800..2040),
            (Some(Fault::WrongLabel), 540..660),
            (Some(Fault::Smudged), 160..260),
            (Some(Fault::Cut), 110..190),
            (Some(Fault::NoNumeral), 85..155),
        ];
        for (fault, expected) in shares {
            assert!(expected.contains(&n_with(fault)), "{fault:?}: {}", n_with(fault));
        }
        for numeral in &set {
            assert_eq!(numeral.pixels.len(), SIDE * SIDE);
            let is_wrong = numeral.class != numeral.truth;
            assert_eq!(is_wrong, numeral.fault == Some(Fault::WrongLabel));
        }
    }

    /// All ink of an image is on the paper, and there is enough of it.
    #[test]
    fn clean_numerals_are_whole() {
        for numeral in clean_set(HIDDEN_PER_CLASS, HIDDEN_SEED) {
            let row = |y: usize| &numeral.pixels[y * SIDE..][..SIDE];
            let lightest = f64::from(*numeral.pixels.iter().max().unwrap());
            let n_dark = numeral
                .pixels
                .iter()
                .filter(|&&pixel| f64::from(pixel) < 0.7 * lightest);
            assert!(n_dark.count() >= 6, "{}", numeral.truth);
            for edge in [row(0), row(SIDE - 1)] {
                let mean = edge.iter().map(|&pixel| f64::from(pixel)).sum::<f64>() / SIDE as f64;
                assert!(mean > 0.6 * lightest, "{}", numeral.truth);
            }
        }
    }

    /// A seed gives the same bytes on every machine, because boards and figures of the demo depend on them.
    #[test]
    fn bytes_are_frozen() {
        assert_eq!(
            digest(&start_set(START_SEED)),
            "26f862e18145fdf6129faf46bb5b0fee0cb815b8758f2de6820332b441c54d34"
        );
        assert_eq!(
            digest(&clean_set(BOOK_PER_CLASS, BOOK_SEED)),
            "aaa862c9b0d68bf8e9d0fddb7ebc2bf9cc4014df9f1b8a4eff3d9fdca65a8290"
        );
        assert_ne!(start_set(START_SEED), start_set(4));
    }
}
