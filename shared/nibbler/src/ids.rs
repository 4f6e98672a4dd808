//! Ids that reveal nothing: of sets of images, of images and of pairs.

use dataperf_collection::{SecretKey, digest, id, short};

id! {
    /// A set of images: one for each submitter and prompt, so that the same prompt again finds the same set.
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
    /// The id of the set of a submitter's prompt, which is compared in its [canonical form](crate::prompt::canonical).
    ///
    /// ```
    /// use dataperf_nibbler::SetId;
    /// assert_eq!(SetId::of("ada", "a  horse"), SetId::of("ada", " a horse"));
    /// assert_ne!(SetId::of("ada", "a horse"), SetId::of("bob", "a horse"));
    /// ```
    pub fn of(submitter: &str, prompt: &str) -> Self {
        Self(digest("set", &[submitter, &crate::prompt::canonical(prompt)]))
    }
}

impl ImageId {
    /// The id of the image that `provider` gave as its `index`-th for a set. The order of images by their ids says nothing about providers.
    pub fn of(key: &SecretKey, set: &SetId, provider: &str, index: usize) -> Self {
        Self(short(
            key.mac("image", &[set.as_str(), provider, &index.to_string()]),
        ))
    }
}

impl PairId {
    /// The id of the pair that an image belongs to: an image has one submitter and one prompt, so submitting it again finds the first pair. The
    /// submitter's name is not part of it, because pairs' ids are public and names can be guessed.
    pub fn of(image: &ImageId) -> Self {
        Self(digest("pair", &[image.as_str()]))
    }
}
