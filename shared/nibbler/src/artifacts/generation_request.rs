//! A request for a set of images.

use dataperf::Reasons;
use serde::{Deserialize, Serialize};

use super::{Artifact, Fields, LineItem};
use crate::Kind;
use crate::configuration::{Configuration, MAX_REQUESTS};
use crate::prompt_filter;

/// `{"prompt": "…"}`: generate a set of images for this prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationRequest {
    /// The prompt, in its [canonical form](crate::prompt::canonical).
    pub prompt: String,
}

impl Artifact for GenerationRequest {
    const KIND: Kind = Kind::Generate;
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
        let prompt = crate::prompt::canonical(&prompt?);
        reasons.append(prompt_filter::check(&prompt, &at, &configuration.prompt));
        Some(Self { prompt })
    }
}
