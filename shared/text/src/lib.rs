//! Adversarial Text's pure core: people write texts that fool the models of a round, other people say what is right about them, and
//! the next round's models are trained on what came of it.
//!
//! The loop is Dynabench's (Kiela et al. 2021, *Dynabench: Rethinking Benchmarking in NLP*), with its [four tasks](Task). Two kinds of
//! artifact arrive as JSON Lines: [examples](Example) and raters' [verdicts](Verdict). Here is what they must look like, which texts
//! are refused, when models are fooled, how verdicts become a decision, how annotators stand, and what a round leaves behind. Like the crate
//! `dataperf`, it knows no cloud, no clock, no environment and no file system.

mod agreement;
mod allowances;
mod answers;
pub mod campaign;
pub mod compare;
mod configuration;
mod contexts;
mod decision;
pub mod duplicates;
pub mod export;
#[cfg(feature = "import")]
mod export_files;
pub mod filter;
mod hosted;
mod ids;
#[cfg(feature = "import")]
mod import;
#[cfg(feature = "import")]
mod kit;
mod lines;
pub mod matrix;
pub mod models;
mod offline;
pub mod squad;
mod standing;
mod task;

pub use agreement::{Agreement, agreement};
pub use allowances::{EXAMPLES, VERDICTS};
pub use answers::{Answer, FOOLED_BELOW_F1, Gold, Input, Span, fooled, is_fooling, is_wrong};
pub use configuration::{
    CONFIGURATION_FILE, CONTEXTS_FILE, Configuration, MODEL_DIRECTORY, PUBLIC_FILE, Parameters, PublicTask,
    Target, TaskRules, Validation,
};
pub use contexts::{Context, Contexts, MAX_CONTEXT_CHARS, MAX_CONTEXTS, MAX_CONTEXTS_BYTES};
pub use dataperf_collection::{InvalidId, Line, LineItem, SecretKey, WeakKey, all_rejected, read};
pub use decision::{Decision, decide};
pub use duplicates::Duplicate;
#[cfg(feature = "import")]
pub use export_files::{PROVENANCE, write_text_export};
pub use hosted::{ABOUT, BENCHMARK, DESCRIPTOR, Kind, METRICS, RANKING, UnknownKind};
pub use ids::{ExampleId, is_validated_by_chance};
#[cfg(feature = "import")]
pub use import::{TEXT_LAYOUT, import_text};
#[cfg(feature = "import")]
pub use kit::{known_rules, text_kit};
pub use lines::{Example, Found, MAX_WHY_CHARS, Rules, Said, Verdict};
pub use offline::KnownRules;
pub use standing::{ErrorRate, Standing, State};
pub use task::{Task, UnknownTask};
