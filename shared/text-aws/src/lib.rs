//! Adversarial Text's two functions, what the table keeps of examples, and the target models that they are to fool.

mod examples;
mod refusals;
mod submit;
pub mod targets;
mod verdict;

use dataperf::workflow::WorkflowError;
use dataperf_aws::Clients;
use dataperf_collection_aws::Secrets;
use dataperf_text::SecretKey;

pub use examples::{
    Asked, Counted, Examples, FiledExample, Judged, ModelSaid, Unjudged, examples_in, of_queue, unjudged,
};
pub use submit::run_submit;
pub use verdict::run_verdict;

/// Where people find help who are troubled by what they have read; every receipt and the guides name it.
pub const WELL_BEING: &str = "docs/dynamic.md#well-being";

/// The member of the secret that pseudonyms are made with.
const PSEUDONYMS: &str = "pseudonyms";

/// The key that pseudonyms are made with, for whoever may read the secret `name`.
///
/// # Errors
/// [`WorkflowError`] when it can't be read, or has no such key.
pub async fn pseudonym_key(
    clients: &Clients,
    endpoint: Option<&str>,
    name: &str,
) -> Result<SecretKey, WorkflowError> {
    Secrets::read(clients, endpoint, name).await?.key(PSEUDONYMS)
}
