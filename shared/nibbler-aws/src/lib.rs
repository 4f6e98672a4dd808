//! Adversarial Nibbler's three functions, their items in the table, and the services that make images.

mod allowance;
mod decisions;
mod disqualified;
mod embedder;
mod files;
mod generate;
mod pairs;
mod provider;
mod raters;
mod rules;
mod scores;
mod scoring;
mod secrets;
mod sets;
mod standings;
mod submit;
mod verdict;
mod verdicts;

pub use allowance::release;
pub use dataperf_collection::{Disqualified, Subject};
pub use decisions::{Occasion, Step, decide, decided_in};
pub use disqualified::{concerned, disqualify, read_disqualified};
pub use embedder::{LoadModel, Model};
pub use generate::run_generate;
pub use pairs::{
    Decision, PAIR_IMAGES, Pair, Said, Score, Unjudged, pair_image_key, pairs_of, read as pair, unjudged,
};
pub use raters::{is_participant, is_rater, judged_by, name_rater, rater_partition, unjudged_partition};
pub use rules::{Kept, Rules};
pub use scores::publish;
pub use secrets::pseudonym_key;
pub use sets::{Image, MadeSet, image_key};
pub use standings::Standings;
pub use submit::run_submit;
pub use verdict::run_verdict;
pub use verdicts::{Named, verdicts_on};

/// Where whoever is troubled by what they have seen finds help; in every receipt, and in the guides.
pub const WELL_BEING: &str = "docs/nibbler-participants.md#well-being";
