//! Adversarial Nibbler's three functions, what the table keeps of pairs, and the services that make images.
//! What collections share is in
//! `dataperf-collection-aws`.

mod embedder;
mod generate;
mod pairs;
mod provider;
mod refusals;
mod sets;
mod submit;
mod verdict;

use dataperf::workflow::WorkflowError;
use dataperf_aws::Clients;
use dataperf_collection_aws::Secrets;
use dataperf_nibbler::SecretKey;

pub use embedder::{LoadModel, Model};
pub use generate::run_generate;
pub use pairs::{PAIR_IMAGES, Pair, PairMore, Pairs, Said, Unjudged, pair_image_key, unjudged};
pub use sets::{Image, MadeSet, image_key};
pub use submit::run_submit;
pub use verdict::run_verdict;

/// Where people find help who are troubled by what they have seen; every receipt and the guides name it.
pub const WELL_BEING: &str = "docs/nibbler-participants.md#well-being";

/// The member of the secret that images' ids and pseudonyms are made with.
const IMAGE_IDS: &str = "image-ids";

/// The key that pseudonyms are made with, for whoever may read the secret `name`.
///
/// # Errors
/// [`WorkflowError`] when it can't be read, or has no such key.
pub async fn pseudonym_key(
    clients: &Clients,
    endpoint: Option<&str>,
    name: &str,
) -> Result<SecretKey, WorkflowError> {
    Secrets::read(clients, endpoint, name).await?.key(IMAGE_IDS)
}
