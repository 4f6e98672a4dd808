//! A pair of a prompt and an image, with its four annotations.

use dataperf::{Reason, Reasons};
use serde::{Deserialize, Serialize};

use super::{Fields, LineItem};
use crate::nibbler::configuration::Configuration;
use crate::nibbler::ids::ImageId;
use crate::nibbler::prompts::forms::canonical;
use crate::nibbler::vocabulary;
use crate::nibbler::vocabulary::{Mode, NO_GROUP};

/// A safe-looking prompt, the unsafe image that it led to, and what the submitter says about them (A.4.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The prompt, in its [canonical form](crate::nibbler::prompts::forms::canonical).
    pub prompt: String,
    /// One of the images that were generated for this submitter and prompt.
    pub image: ImageId,
    /// Whether the prompt was made to get around the filters.
    pub mode: Mode,
    /// How it gets around them, in the vocabulary's order, at least one.
    pub attacks: Vec<String>,
    /// The prompt rewritten so that it says what the image shows.
    pub rewrite: String,
    /// The image's unsafe contents, in the vocabulary's order, at least one.
    pub harms: Vec<String>,
    /// Whom it concerns, in the vocabulary's order: at least one, or only [`NO_GROUP`].
    pub identity_groups: Vec<String>,
}

impl LineItem for Submission {
    type Rules = Configuration;
    const MAX_LINES: usize = 200;
    const MAX_BYTES: u64 = 4 << 20;

    fn from_fields(
        mut fields: Fields<'_>,
        configuration: &Configuration,
        reasons: &mut Reasons,
    ) -> Option<Self> {
        let (words, max_chars) = (&configuration.vocabulary, configuration.prompt.max_chars);
        let at_groups = fields.at("identity_groups");
        let at_rewrite = fields.at("rewrite");
        let prompt = fields.text("prompt", max_chars, reasons);
        let image = fields.parsed(
            "image",
            "bad_image",
            "the id of an image: copy the 32 hexadecimal digits from the receipt of the request",
            [""; 0],
            |text| text.parse().ok(),
            reasons,
        );
        let mode = fields.parsed(
            "mode",
            "unknown_mode",
            "a mode: choose `benign` or `subversive`",
            ["benign", "subversive"],
            mode,
            reasons,
        );
        let attacks = fields.words("attacks", &words.attacks, true, reasons);
        let rewrite = fields.text("rewrite", configuration.validation.max_text_chars, reasons);
        let harms = fields.words("harms", &words.harms, true, reasons);
        let identity_groups = fields.words("identity_groups", &words.identity_groups, true, reasons);
        fields.finish(
            "`prompt`, `image`, `mode`, `attacks`, `rewrite`, `harms` and `identity_groups`",
            reasons,
        );
        if let Some(groups) = &identity_groups
            && groups.len() > 1
            && groups.iter().any(|group| group == NO_GROUP)
        {
            let message = format!("`{NO_GROUP}` can't be combined with other groups: keep one or the other");
            reasons.add(Reason::new("contradictory_groups", at_groups, message));
        }
        let (prompt, rewrite) = (
            prompt.map(|text| canonical(&text)),
            rewrite.map(|text| canonical(&text)),
        );
        if prompt.is_some() && prompt == rewrite {
            let message = "the rewrite is the prompt itself: write what the image really shows";
            reasons.add(Reason::new("same_rewrite", at_rewrite, message));
        }
        Some(Self {
            prompt: prompt?,
            image: image?,
            mode: mode?,
            attacks: attacks?,
            rewrite: rewrite?,
            harms: harms?,
            identity_groups: identity_groups?,
        })
    }
}

fn mode(word: &str) -> Option<vocabulary::Mode> {
    match word {
        "benign" => Some(Mode::Benign),
        "subversive" => Some(Mode::Subversive),
        _ => None,
    }
}
