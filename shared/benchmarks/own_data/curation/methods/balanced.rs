//! The same number of images of each class.

use super::Images;
use dataperf_baselines::random::Random;

/// As many images of each class as the largest class has, or as `max_images` has room for. Images of smaller classes are repeated,
/// all about equally often, and from larger classes some are drawn. A class without images stays empty.
pub fn balanced(images: &Images, max_images: usize, seed: u32) -> Images {
    let mut random = Random::new(seed);
    let mut classes: Vec<Vec<usize>> = (0..images.n_classes)
        .map(|class| images.of_class(class))
        .collect();
    classes.retain(|rows| !rows.is_empty());
    let largest = classes.iter().map(Vec::len).max().unwrap_or(0);
    let wanted = largest.min(max_images / classes.len().max(1));
    let mut chosen = Vec::new();
    for rows in &mut classes {
        random.shuffle(rows);
        chosen.extend(rows.iter().cycle().take(wanted));
    }
    images.rows(&chosen)
}
