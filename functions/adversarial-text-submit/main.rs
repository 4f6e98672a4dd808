//! The Lambda function of Adversarial Text: submit.

use dataperf_collections::text::models::{Embed, ModelError, read_encoder, read_linear};
use dataperf_collections_aws::text::targets::{Builtin, Made};
use dataperf_minilm::MiniLm;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let builtin = Builtin {
        linear: read_linear,
        encoder,
    };
    dataperf_collections_aws::text::run_submit(builtin).await
}

/// A head on the vectors of the sentence transformer.
fn encoder(head: &[u8], weights: [&[u8]; 3]) -> Made {
    let model = MiniLm::load(weights).map_err(|error| ModelError::BadFile(error.to_string()))?;
    let embed: Embed = Box::new(move |texts| model.vectors(texts).map_err(|error| error.to_string()));
    read_encoder(head, embed)
}
