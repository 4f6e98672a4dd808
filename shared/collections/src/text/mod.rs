//! Adversarial Text's pure core: people write texts that fool the models of a round, other people say what is right about them, and
//! the next round's models are trained on what came of it.
//!
//! The loop is Dynabench's (Kiela et al. 2021, *Dynabench: Rethinking Benchmarking in NLP*), with
//! its [four tasks](Task). Two kinds of artifact arrive as JSON Lines: [examples](Example) and
//! raters' [verdicts](Verdict). This module defines their form, the refused texts, when models are
//! fooled, decisions, standings of annotators, and the export of a round. Like the crate
//! `dataperf`, it uses no cloud, no clock, no environment and no file system.

mod allowances;
pub mod campaign;
pub mod compare;
mod configuration;
pub mod duplicates;
pub mod export;
mod hosted;
mod ids;
#[cfg(feature = "import")]
mod import;
mod judging;
#[cfg(feature = "import")]
mod kit;
mod lines;
pub mod matrix;
pub mod models;
mod offline;
mod task;
pub mod texts;

pub use crate::common::{InvalidId, Line, LineItem, SecretKey, WeakKey, all_rejected, read};
pub use allowances::{EXAMPLES, VERDICTS};
pub use configuration::{
    CONFIGURATION_FILE, CONTEXTS_FILE, Configuration, MODEL_DIRECTORY, PUBLIC_FILE, Parameters, PublicTask,
    Target, TaskRules, Validation,
};
pub use duplicates::Duplicate;
#[cfg(feature = "import")]
pub use export::files::{PROVENANCE, write_text_export};
pub use hosted::{ABOUT, BENCHMARK, DESCRIPTOR, Kind, METRICS, RANKING};
pub use ids::{ExampleId, is_validated_by_chance};
#[cfg(feature = "import")]
pub use import::{TEXT_LAYOUT, import_text};
pub use judging::agreement::{Agreement, agreement};
pub use judging::decision::{Decision, decide};
pub use judging::standing::{ErrorRate, Standing, State};
#[cfg(feature = "import")]
pub use kit::{known_rules, text_kit};
pub use lines::{Example, Judgement, MAX_WHY_CHARS, RaterFinding, Rules, Verdict};
pub use offline::KnownRules;
pub use task::Task;
pub use texts::answers::{Answer, FOOLED_BELOW_F1, Gold, Input, Span, fooled, is_fooling, is_wrong};
pub use texts::contexts::{Context, Contexts, MAX_CONTEXT_CHARS, MAX_CONTEXTS, MAX_CONTEXTS_BYTES};
