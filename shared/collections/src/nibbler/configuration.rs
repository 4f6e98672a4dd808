//! The organizer's configuration: the file `configuration.json` of the frozen data set, which
//! participants don't see.

use dataperf::benchmark::Leaderboard;
use dataperf::{Reason, Reasons, Rejection, quote};
use serde::{Deserialize, Serialize};

use crate::nibbler::Board;
use crate::nibbler::prompts::embedding::EmbeddingKind;
use crate::nibbler::prompts::filter::PromptRules;
use crate::nibbler::vocabulary::Vocabulary;

/// The configuration's path in the data set. It is not below `public/`: it names the providers and the deny list.
pub const CONFIGURATION_FILE: &str = "configuration.json";

/// The path of the part that participants may see: in the data set's part for them, and in its manifest.
pub const PUBLIC_FILE: &str = "public/rules.json";
/// The directory in the data set with the files of all-MiniLM-L6-v2.
pub const MODEL_DIRECTORY: &str = "minilm";
/// The names of these files, as in the original package.
pub const MODEL_FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

/// The part of a configuration that participants may see. It hides the services and the denied
/// words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The boards.
    pub leaderboards: Vec<Leaderboard>,
    /// The vocabulary of annotations.
    pub vocabulary: Vocabulary,
    /// The fewest characters of a prompt.
    pub min_prompt_chars: usize,
    /// The most characters of a prompt.
    pub max_prompt_chars: usize,
    /// The languages a prompt may be in; all of them when empty.
    pub languages: Vec<String>,
    /// The most sets of images that a participant may have on a day, in UTC.
    pub sets_a_day: u32,
    /// Number of raters of each pair.
    pub raters: usize,
    /// How prompts become vectors.
    pub embedding: EmbeddingKind,
    /// The least similarity of two prompts that are near duplicates.
    pub near_duplicate_from: f64,
    /// Which version of the scores the boards have.
    #[serde(default = "Scoring::unnamed")]
    pub scoring: Scoring,
    /// The most characters of a rewrite or a rater's notes.
    pub max_text_chars: usize,
}

impl Parameters {
    /// The public part of a configuration.
    pub fn from_settings(configuration: &Configuration) -> Self {
        let board = |board: Board| Leaderboard::new(board.as_str(), board.about());
        Self {
            leaderboards: Board::ALL.map(board).to_vec(),
            vocabulary: configuration.vocabulary.clone(),
            min_prompt_chars: configuration.prompt.min_chars,
            max_prompt_chars: configuration.prompt.max_chars,
            languages: configuration.prompt.languages.clone(),
            sets_a_day: configuration.generation.sets_a_day,
            raters: configuration.validation.raters,
            embedding: configuration.embedding,
            near_duplicate_from: configuration.near_duplicate_from,
            scoring: configuration.scoring,
            max_text_chars: configuration.validation.max_text_chars,
        }
    }
}

/// Which version of the scores boards have. A round keeps the version with which it began, so that scores of two are never ranked
/// together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Scoring {
    /// Attacks and groups count as the submitter names them, each validated pair counts, and prompts are compared as they are written.
    First,
    /// Attacks and groups count as raters confirm them, a pair counts for few words of each kind and a prompt once, and prompts are compared in one
    /// spelling of all that a reader takes for the same.
    Second,
}

impl Scoring {
    /// The version of data sets that name none: they are older than the second version.
    fn unnamed() -> Self {
        Self::First
    }
}

impl From<Scoring> for u8 {
    fn from(scoring: Scoring) -> Self {
        match scoring {
            Scoring::First => 1,
            Scoring::Second => 2,
        }
    }
}

impl TryFrom<u8> for Scoring {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            1 => Ok(Self::First),
            2 => Ok(Self::Second),
            _ => Err(format!(
                "there is no version {number} of the scores: choose 1 or 2"
            )),
        }
    }
}

/// Everything an organizer decides. What a document leaves out has the challenge's own value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Configuration {
    /// The vocabulary of annotations.
    pub vocabulary: Vocabulary,
    /// Which prompts are taken.
    pub prompt: PromptRules,
    /// How images are made.
    pub generation: Generation,
    /// How pairs are judged.
    pub validation: Validation,
    /// How prompts become vectors.
    pub embedding: EmbeddingKind,
    /// The least similarity of two prompts that are near duplicates: the share of three-letter sequences that they have in common.
    pub near_duplicate_from: f64,
    /// The version of the boards' scores; an importer writes the latest by default.
    #[serde(default = "Scoring::unnamed")]
    pub scoring: Scoring,
}

/// How images are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Generation {
    /// The most sets that a participant may have on a day, in UTC.
    pub sets_a_day: u32,
    /// The fewest images of a set: with fewer, the platform has failed to make it.
    pub min_images: usize,
    /// The services that make images. Each set uses all of them.
    pub providers: Vec<Provider>,
    /// The most seconds of one call.
    pub call_seconds: u64,
    /// The most seconds of a set, with all retries.
    pub set_seconds: u64,
    /// How often a call is made again at most, after a fault that passes.
    pub retries: u32,
    /// The most bytes of one image.
    pub max_image_bytes: u64,
    /// The most pixels of one side of an image.
    pub max_image_side: u32,
}

/// A text-to-image service that speaks `POST /v1/images/generations`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The organizer's name for it, which is revealed only after the round.
    pub name: String,
    /// The service's address, without `/v1/images/generations`.
    pub url: String,
    /// The requested model.
    pub model: String,
    /// The requested number of images.
    #[serde(default = "default_images")]
    pub images: usize,
    /// The size of images as the service names it: `WIDTHxHEIGHT`.
    #[serde(default = "default_size")]
    pub size: String,
    /// The member of the deployment's secret that is its key.
    pub secret: String,
    /// The requested form of images; it may answer in another.
    #[serde(default)]
    pub response_format: ResponseFormat,
    /// The additional hosts of its images, if it answers with addresses; `*.` before a name matches
    /// all names below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_hosts: Vec<String>,
}

impl Provider {
    /// Whether it may have images at a host, which is not its own.
    ///
    /// ```
    /// # use dataperf_collections::nibbler::Provider;
    /// let provider: Provider = serde_json::from_value(serde_json::json!({
    ///     "name": "a", "url": "https://api.example", "model": "b", "secret": "c", "image_hosts": ["img.example", "*.files.example"],
    /// })).unwrap();
    /// assert!(provider.has_images_at("IMG.example") && provider.has_images_at("eu.files.example"));
    /// assert!(!provider.has_images_at("files.example") && !provider.has_images_at("other.img.example"));
    /// ```
    pub fn has_images_at(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.image_hosts
            .iter()
            .any(|allowed| match allowed.strip_prefix('*') {
                Some(below) => host.len() > below.len() && host.ends_with(below),
                None => *allowed == host,
            })
    }
}

/// Whether a name in small letters can be a host on the Internet, with or without `*.`: no address
/// and no name of a local machine.
fn is_public_host(name: &str) -> bool {
    let parts: Vec<&str> = name.strip_prefix("*.").unwrap_or(name).split('.').collect();
    let is_part = |part: &&str| {
        let mut bytes = part.bytes();
        !part.is_empty() && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let is_of_letters = |last: &&str| last.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_local = |last: &&str| ["internal", "local", "localhost"].contains(last);
    parts.len() > 1
        && parts.iter().all(is_part)
        && parts
            .last()
            .is_some_and(|last| is_of_letters(last) && !is_local(last))
}

/// The request's words for the form of the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResponseFormat {
    /// Images in base 64, which most services know.
    #[default]
    #[serde(rename = "b64_json")]
    Base64,
    /// Addresses of images.
    #[serde(rename = "url")]
    Url,
    /// Nothing: to some services the member is unknown, and they refuse it.
    #[serde(rename = "none")]
    LeftOut,
}

fn default_images() -> usize {
    4
}

fn default_size() -> String {
    "512x512".to_owned()
}

/// How pairs are judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Validation {
    /// Number of raters of each pair, which is odd.
    pub raters: usize,
    /// The most characters of a rewrite or a rater's notes.
    pub max_text_chars: usize,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            vocabulary: Vocabulary::default(),
            prompt: PromptRules::default(),
            generation: Generation::default(),
            validation: Validation::default(),
            embedding: EmbeddingKind::default(),
            near_duplicate_from: 0.7,
            scoring: Scoring::Second,
        }
    }
}

impl Default for Generation {
    fn default() -> Self {
        Self {
            sets_a_day: 50,
            min_images: 1,
            providers: Vec::new(),
            call_seconds: 60,
            set_seconds: 120,
            retries: 3,
            max_image_bytes: 8 << 20,
            max_image_side: 4096,
        }
    }
}

impl Default for Validation {
    fn default() -> Self {
        Self {
            raters: 3,
            max_text_chars: 1000,
        }
    }
}

impl Configuration {
    /// Reads a configuration and holds it against everything that is needed to run with it.
    ///
    /// # Errors
    /// A [`Rejection`] with everything that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rejection> {
        Self::read(bytes)?.check()
    }

    /// Reads a configuration for a new data set, and checks it also against the memory and the time that a function has. Data sets that exist keep
    /// what they have.
    ///
    /// # Errors
    /// A [`Rejection`] with everything that is wrong.
    pub fn parse_new(bytes: &[u8]) -> Result<Self, Rejection> {
        let parsed = Self::read(bytes)?;
        let mut reasons = Reasons::default();
        parsed.note(&mut reasons);
        parsed.generation.check_limits(&mut reasons);
        parsed.check_receipts(&mut reasons);
        reasons.into_verdict(parsed)
    }

    /// Notes images and prompts of which a file's receipt would be too large for the table.
    fn check_receipts(&self, reasons: &mut Reasons) {
        let (n_images, n_chars) = (self.generation.n_images(), self.prompt.max_chars);
        let of_a_line = n_images
            .saturating_mul(IMAGE_BYTES)
            .saturating_add(n_chars.saturating_mul(CHAR_BYTES));
        let n_bytes = of_a_line.saturating_mul(MAX_REQUESTS);
        if n_bytes > MAX_RECEIPT_BYTES {
            let message = format!(
                "the receipt of a file of {MAX_REQUESTS} prompts of {n_chars} characters with {n_images} images \
                 each may have {n_bytes} bytes, more than the table takes: ask for fewer images, or allow shorter \
                 prompts"
            );
            let (limit, n) = (MAX_RECEIPT_BYTES as u64, n_bytes as u64);
            let at = "/generation/providers";
            reasons.add(Reason::over("out_of_range", at, limit, n, message));
        }
    }

    fn read(bytes: &[u8]) -> Result<Self, Reason> {
        serde_json::from_slice(bytes).map_err(|error| {
            let message = format!("the configuration can't be read: {error}");
            Reason::new("bad_configuration", "", message)
        })
    }

    /// This configuration when nothing is wrong with it.
    ///
    /// # Errors
    /// A [`Rejection`] with everything that is wrong.
    pub fn check(self) -> Result<Self, Rejection> {
        let mut reasons = Reasons::default();
        self.note(&mut reasons);
        reasons.into_verdict(self)
    }

    fn note(&self, reasons: &mut Reasons) {
        self.vocabulary.check("/vocabulary", reasons);
        self.prompt.check(reasons);
        self.generation.check(reasons);
        let raters = self.validation.raters;
        if raters.is_multiple_of(2) {
            let message = format!("{raters} raters can be evenly split: choose an odd number");
            reasons.add(Reason::new("even_raters", "/validation/raters", message));
        }
        if !(self.near_duplicate_from > 0.0 && self.near_duplicate_from <= 1.0) {
            let message = "`near_duplicate_from` is out of range: choose a number above 0 and at most 1";
            reasons.add(Reason::new("out_of_range", "/near_duplicate_from", message));
        }
    }
}

/// The most requests of one file.
pub(crate) const MAX_REQUESTS: usize = 20;
/// The most images of a set: they are noted in one transaction, which the table bounds.
const MAX_IMAGES_A_SET: usize = 90;
/// The most bytes of the receipt of a file of requests, of which the table takes 400 KB with what is around it.
const MAX_RECEIPT_BYTES: usize = 380_000;
/// The bytes that an image has in a receipt, with the longest name of a submitter, at most.
const IMAGE_BYTES: usize = 280;
/// The bytes of a character of a prompt, at most.
const CHAR_BYTES: usize = 4;
/// The most seconds of a set: a function has fifteen minutes, and needs some of them for what comes before and after.
const MAX_SET_SECONDS: u64 = 600;
/// The most retries of a call: each is a call that may have to be paid for.
const MAX_RETRIES: u32 = 10;
/// The maximum bytes of a set's images. All of them may be in the function's memory at once, as
/// base 64, together with the decoded ones.
const MAX_SET_BYTES: u64 = 384 << 20;
const MAX_IMAGE_SIDE: u32 = 8192;

impl Generation {
    /// The number of images of a set if all providers deliver.
    pub fn n_images(&self) -> usize {
        let images = self.providers.iter().map(|provider| provider.images);
        images.fold(0, usize::saturating_add)
    }

    /// Notes what the function has neither memory nor time for, and what may cost too much.
    fn check_limits(&self, reasons: &mut Reasons) {
        let n = self.n_images();
        let n_bytes = (n as u64).saturating_mul(self.max_image_bytes);
        if n_bytes > MAX_SET_BYTES {
            let message = format!(
                "{n} images of a set may have {n_bytes} bytes together, more than the function's memory: \
                    allow smaller images, or ask for fewer"
            );
            let at = "/generation/max_image_bytes";
            reasons.add(Reason::over("out_of_range", at, MAX_SET_BYTES, n_bytes, message));
        }
        let limits: [(&str, u64, u64, &str); 3] = [
            (
                "retries",
                self.retries.into(),
                MAX_RETRIES.into(),
                "each call may cost money",
            ),
            (
                "set_seconds",
                self.set_seconds,
                MAX_SET_SECONDS,
                "the function can wait no longer",
            ),
            (
                "max_image_side",
                self.max_image_side.into(),
                MAX_IMAGE_SIDE.into(),
                "a larger image takes too much memory to decode",
            ),
        ];
        for (key, actual, limit, why) in limits {
            if actual > limit {
                let (at, message) = (
                    format!("/generation/{key}"),
                    format!("`{key}` is {actual}: choose at most {limit}, because {why}"),
                );
                reasons.add(Reason::over("out_of_range", at, limit, actual, message));
            }
        }
    }

    fn check(&self, reasons: &mut Reasons) {
        let at = "/generation/providers";
        if self.providers.is_empty() {
            let message = "`providers` is empty: name at least one service that makes images";
            reasons.add(Reason::new("no_providers", at, message));
        }
        let mut names = std::collections::BTreeSet::new();
        for (idx, provider) in self.providers.iter().enumerate() {
            let at = format!("{at}/{idx}");
            if !names.insert(&provider.name) {
                let message = format!(
                    "two providers have the name {}: rename one",
                    quote(&provider.name)
                );
                reasons.add(Reason::new("duplicate_provider", &at, message));
            }
            if !(1..=10).contains(&provider.images) {
                let message = "a provider makes 1 to 10 images of a set: choose from 1 to 10";
                reasons.add(Reason::over(
                    "out_of_range",
                    format!("{at}/images"),
                    10,
                    provider.images as u64,
                    message,
                ));
            }
            if !["http://", "https://"]
                .iter()
                .any(|scheme| provider.url.starts_with(scheme))
            {
                let message = format!(
                    "{} is not an address: begin it with `https://`",
                    quote(&provider.url)
                );
                reasons.add(Reason::new("bad_url", format!("{at}/url"), message));
            }
            for (nth, host) in provider.image_hosts.iter().enumerate() {
                if !is_public_host(host) {
                    let message = format!(
                        "{} is not a valid image host: write a lower-case name such as \
                            `images.example.com` or `*.example.com`, without `https://`, port and path, no IP \
                            address and no local name",
                        quote(host)
                    );
                    reasons.add(Reason::new("bad_url", format!("{at}/image_hosts/{nth}"), message));
                }
            }
        }
        let (min, n) = (self.min_images, self.n_images());
        if n > MAX_IMAGES_A_SET {
            let message = format!(
                "all providers together make {n} images of a set, the limit is {MAX_IMAGES_A_SET}: ask for fewer"
            );
            let (limit, n) = (MAX_IMAGES_A_SET as u64, n as u64);
            reasons.add(Reason::over("out_of_range", at, limit, n, message));
        }
        if !self.providers.is_empty() && !(1..=n).contains(&min) {
            let message = format!(
                "`min_images` is {min}: choose from 1 to {n}, the images that the providers make of a set"
            );
            reasons.add(Reason::over(
                "out_of_range",
                "/generation/min_images",
                n as u64,
                min as u64,
                message,
            ));
        }
        for (key, number) in [
            ("sets_a_day", u64::from(self.sets_a_day)),
            ("call_seconds", self.call_seconds),
            ("set_seconds", self.set_seconds),
            ("max_image_bytes", self.max_image_bytes),
            ("max_image_side", self.max_image_side.into()),
        ] {
            if number == 0 {
                reasons.add(Reason::new(
                    "out_of_range",
                    format!("/generation/{key}"),
                    format!("`{key}` is 0: choose 1 or more"),
                ));
            }
        }
    }
}
