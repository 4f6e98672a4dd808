//! Labels in doubt, found by confident learning with the frozen network itself.

use dataperf::progress::Progress;
use dataperf_numerics::network::{Network, train};
use ndarray::Array2;

use super::Images;
use dataperf_baselines::BaselineError;
use dataperf_baselines::speech::confident_learning::{flagged, label_quality};
use dataperf_baselines::splits::stratified_folds;

/// The number of folds of the out-of-sample probabilities; the network is trained once for each.
const N_FOLDS: usize = 5;

/// The network's out-of-fold probabilities for each image.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubts {
    /// Whether each label is likely wrong, `(n_images,)`.
    pub flagged: Vec<bool>,
    /// The likeliest class of each image, `(n_images,)`.
    pub likeliest: Vec<usize>,
    /// How far each label can be trusted, `(n_images,)` in `[0, 1]`.
    pub quality: Vec<f64>,
}

impl Doubts {
    /// The images, each with a doubted label getting its likeliest class instead.
    pub fn relabelled(&self, images: &Images) -> Images {
        let labels = images.classes.iter().zip(&self.likeliest).zip(&self.flagged);
        let labels = labels.map(|((&given, &likeliest), &flag)| if flag { likeliest } else { given });
        Images {
            classes: labels.collect(),
            ..images.clone()
        }
    }

    /// The images whose labels are not in doubt.
    pub fn selected(&self, images: &Images) -> Images {
        let rows: Vec<usize> = (0..images.classes.len())
            .filter(|&row| !self.flagged[row])
            .collect();
        images.rows(&rows)
    }
}

/// Trains the network on four fifths of the images and has it predict the others, five times.
///
/// # Errors
/// [`BaselineError`] when no class has an image for each fold, or the network can't be trained.
///
/// # Source
/// As of [`dataperf_baselines::speech::confident_learning`].
pub fn doubts(images: &Images, seed: u32, progress: &dyn Progress) -> Result<Doubts, BaselineError> {
    let n_images = images.classes.len();
    let folds = stratified_folds(&images.classes, N_FOLDS, seed)?;
    let network = Network {
        height: images.height,
        width: images.width,
        n_classes: images.n_classes,
        seed,
    };
    let mut probabilities = Array2::zeros((n_images, images.n_classes));
    progress.begin("training folds", N_FOLDS as u64);
    for fold in 0..N_FOLDS {
        let (tested, trained): (Vec<usize>, Vec<usize>) = (0..n_images).partition(|&row| folds[row] == fold);
        let set = images.rows(&trained);
        let model = train(&set.pixels, &set.classes, &network, &mut || {})?;
        let predicted = model.probabilities(&images.rows(&tested).pixels);
        for (&row, predicted) in tested.iter().zip(predicted.chunks_exact(images.n_classes)) {
            probabilities.row_mut(row).assign(&ndarray::aview1(predicted));
        }
        progress.advance(1);
    }
    let likeliest = probabilities.outer_iter().map(|row| {
        let better = |best: usize, class: usize| if row[class] > row[best] { class } else { best };
        (1..images.n_classes).fold(0, better)
    });
    Ok(Doubts {
        likeliest: likeliest.collect(),
        flagged: flagged(&images.classes, probabilities.view()),
        quality: label_quality(&images.classes, probabilities.view()),
    })
}
