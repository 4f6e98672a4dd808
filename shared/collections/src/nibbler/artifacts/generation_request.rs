//! A request for a set of images.

use dataperf::Reasons;
use serde::{Deserialize, Serialize};

use super::{Fields, LineItem};
use crate::nibbler::configuration::{Configuration, MAX_REQUESTS};
use crate::nibbler::prompts::filter;

/// `{"prompt": "…"}`: generate a set of images for this prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationRequest {
    /// The prompt, in its [canonical form](crate::nibbler::prompts::forms::canonical).
    pub prompt: String,
}

impl LineItem for GenerationRequest {
    type Rules = Configuration;
    const MAX_LINES: usize = MAX_REQUESTS;
    const MAX_BYTES: u64 = 1 << 20;

    fn from_fields(
        mut fields: Fields<'_>,
        configuration: &Configuration,
        reasons: &mut Reasons,
    ) -> Option<Self> {
        let at = fields.at("prompt");
        let prompt = fields.text("prompt", configuration.prompt.max_chars, reasons);
        fields.finish("`prompt`", reasons);
        let prompt = crate::nibbler::prompts::forms::canonical(&prompt?);
        reasons.append(filter::check(&prompt, &at, &configuration.prompt));
        Some(Self { prompt })
    }
}
