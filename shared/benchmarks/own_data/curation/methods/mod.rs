//! Methods for data sets of images: which images, with which labels, the network is trained on.

mod augmented;
mod balanced;
mod doubts;

pub use augmented::augmented;
pub use balanced::balanced;
pub use doubts::{Doubts, doubts};

/// A training set of grey images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images {
    /// The height of an image in pixels.
    pub height: usize,
    /// The width of an image in pixels.
    pub width: usize,
    /// The number of classes.
    pub n_classes: usize,
    /// `(n_images, height, width)`, grey levels.
    pub pixels: Vec<u8>,
    /// `(n_images,)`, below `n_classes`.
    pub classes: Vec<usize>,
}

impl Images {
    /// The pixels of one image, `(height, width)`.
    pub fn image(&self, row: usize) -> &[u8] {
        &self.pixels[row * self.height * self.width..][..self.height * self.width]
    }

    /// The images of the given rows, in that order; a row may be given more than once.
    #[must_use]
    pub fn rows(&self, rows: &[usize]) -> Self {
        Self {
            pixels: rows.iter().flat_map(|&row| self.image(row)).copied().collect(),
            classes: rows.iter().map(|&row| self.classes[row]).collect(),
            ..*self
        }
    }

    /// The rows of a class.
    fn of_class(&self, class: usize) -> Vec<usize> {
        (0..self.classes.len())
            .filter(|&row| self.classes[row] == class)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::own_data::curation::numerals::{NUMERALS, SIDE, START_SEED, start_set};
    use dataperf::progress::Silent;

    use super::*;
    use dataperf_baselines::random::Random;

    /// The first numerals of the demo's start set.
    fn numerals(n: usize) -> Images {
        let set = &start_set(START_SEED)[..n];
        Images {
            height: SIDE,
            width: SIDE,
            n_classes: NUMERALS.len(),
            pixels: set.iter().flat_map(|numeral| numeral.pixels.clone()).collect(),
            classes: set.iter().map(|numeral| numeral.class).collect(),
        }
    }

    fn n_of_class(images: &Images) -> Vec<usize> {
        (0..images.n_classes)
            .map(|class| images.of_class(class).len())
            .collect()
    }

    #[test]
    fn balanced_repeats_the_rare() {
        let images = numerals(300);
        let largest = n_of_class(&images).into_iter().max().unwrap();
        let same = balanced(&images, 10_000, 5);
        assert_eq!(n_of_class(&same), [largest; 10]);
        // every image occurs, and two images of one class differ by at most one in how often they occur
        for row in 0..300 {
            let of_class = images.of_class(images.classes[row]).len();
            let n = same.pixels.chunks_exact(SIDE * SIDE).zip(&same.classes);
            let n = n
                .filter(|pair| *pair == (images.image(row), &images.classes[row]))
                .count();
            assert!(n >= largest / of_class, "{row}");
        }
        assert_eq!(n_of_class(&balanced(&images, 70, 5)), [7; 10]);
    }

    #[test]
    fn balanced_leaves_out_classes_without_images() {
        let mut images = numerals(50);
        images.n_classes = 12;
        let same = balanced(&images, 10_000, 5);
        assert_eq!(n_of_class(&same)[10..], [0, 0]);
    }

    #[test]
    fn augmented_keeps_the_images_and_adds_others() {
        let images = numerals(40);
        let more = augmented(&images, 100, 5);
        assert_eq!(more.classes.len(), 100);
        assert_eq!(more.pixels[..images.pixels.len()], images.pixels);
        for row in 0..100 {
            assert_eq!(more.classes[row], images.classes[row % 40]);
            let is_same = more.image(row) == images.image(row % 40);
            assert_eq!(is_same, row < 40, "{row}");
        }
        assert_eq!(augmented(&images, 100, 5), more);
        assert_ne!(augmented(&images, 100, 6), more);
        assert_eq!(augmented(&images, 30, 5).classes.len(), 40);
    }

    /// Light or dark upper halves of 16 by 16 pixels, in noise.
    fn halves(n: usize) -> Images {
        let mut random = Random::new(3);
        let classes: Vec<usize> = (0..n).map(|row| row % 2).collect();
        let pixels = classes
            .iter()
            .flat_map(|&class| (0..256).map(move |at| class == at / 128));
        Images {
            height: 16,
            width: 16,
            n_classes: 2,
            pixels: pixels
                .map(|is_light| random.below(100) as u8 + 120 * u8::from(is_light))
                .collect(),
            classes,
        }
    }

    #[test]
    fn doubts_find_wrong_labels() {
        let truth = halves(48);
        let mut images = truth.clone();
        let wrong = [4, 9, 17, 30, 41];
        for row in wrong {
            images.classes[row] = 1 - images.classes[row];
        }
        let doubts = doubts(&images, 1, &Silent).unwrap();
        let flagged: Vec<usize> = (0..48).filter(|&row| doubts.flagged[row]).collect();
        assert_eq!(flagged, wrong);
        assert_eq!(doubts.relabelled(&images), truth);
        let right: Vec<usize> = (0..48).filter(|row| !wrong.contains(row)).collect();
        assert_eq!(doubts.selected(&images), truth.rows(&right));
        let lowest = |rows: &[usize]| rows.iter().map(|&row| doubts.quality[row]).fold(1.0, f64::min);
        let highest = wrong.iter().map(|&row| doubts.quality[row]).fold(0.0, f64::max);
        assert!(highest < lowest(&right));
    }
}
