//! Ids that reveal nothing: of sets of images, of images and of pairs.

use crate::common::{SecretKey, digest, id, short};

id! {
    /// A set of images: one for each round, submitter and prompt, so that the same prompt again finds the same set within a round. Another round may
    /// have other services, whose images are another set.
    SetId
}
id! {
    /// An image as participants and raters know it. It can't be worked out from the provider or the other way round.
    ImageId
}
id! {
    /// A submitted pair of a prompt and an image.
    PairId
}

impl SetId {
    /// The id of a set: for a submitter's prompt in `round`. Prompts are compared in their
    /// [canonical form](crate::nibbler::prompts::forms::canonical).
    ///
    /// ```
    /// use dataperf_collections::nibbler::SetId;
    /// assert_eq!(SetId::derive("one", "ada", "a  horse"), SetId::derive("one", "ada", " a horse"));
    /// assert_ne!(SetId::derive("one", "ada", "a horse"), SetId::derive("one", "bob", "a horse"));
    /// assert_ne!(SetId::derive("one", "ada", "a horse"), SetId::derive("two", "ada", "a horse"));
    /// ```
    pub fn derive(round: &str, submitter: &str, prompt: &str) -> Self {
        Self(digest(
            "set",
            &[
                round,
                submitter,
                &crate::nibbler::prompts::forms::canonical(prompt),
            ],
        ))
    }
}

impl ImageId {
    /// The id of the image that `provider` gave as its `index`-th for a set. The order of images by their ids says nothing about providers.
    pub fn derive(key: &SecretKey, set: &SetId, provider: &str, index: usize) -> Self {
        Self(short(
            key.mac("image", &[set.as_str(), provider, &index.to_string()]),
        ))
    }
}

impl PairId {
    /// The id of the pair that an image belongs to: an image has one submitter and one prompt, so submitting it again finds the first pair. The
    /// submitter's name is not part of it, because pairs' ids are public and names can be guessed.
    pub fn derive(image: &ImageId) -> Self {
        Self(digest("pair", &[image.as_str()]))
    }
}
