//! Adversarial Nibbler's three functions, what the table keeps of pairs, and the services that make images.
//! What collections share is in [`crate::common`].

mod embedder;
mod generate;
mod pairs;
mod provider;
mod refusals;
mod sets;
mod submit;
mod verdict;

pub use embedder::{LoadModel, Model};
pub use generate::run_generate;
pub use pairs::{Claims, Pair, PairMore, Pairs, Unjudged, pair_image_key, unjudged};
pub use sets::{Image, MadeSet, image_key};
pub use submit::run_submit;
pub use verdict::run_verdict;

/// The member of the secret that images' ids and pseudonyms are made with.
const IMAGE_IDS: &str = "image-ids";
