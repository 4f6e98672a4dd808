//! The benchmarks, one folder each, and the list that registers them.
//!
//! A folder has everything of its benchmark: the form of artifacts, the rules, the frozen part and its model, the score, and
//! behind features the importer (`import`) and the baselines (`baselines`). A function asks for no feature, so that no reader
//! of Parquet and no learner is linked into it. The models are in `dataperf-numerics`, which knows no benchmark; what
//! importers share is in `dataperf-datasets`, and what baselines share in `dataperf-baselines`.

pub mod adversarial_text_models;
mod closed;
pub mod data_acquisition;
pub mod own_data;
pub mod speech_selection;
pub mod vision_debugging;
pub mod vision_selection;

/// Calls a macro with every benchmark's type: **the** list. All Rust that goes through benchmarks goes through it.
///
/// docs/new-benchmark.md lists the other parts of a new benchmark.
#[macro_export]
macro_rules! for_each_benchmark {
    ($callback:ident) => {
        $callback! {
            $crate::speech_selection::SpeechSelection,
            $crate::vision_selection::VisionSelection,
            $crate::vision_debugging::VisionDebugging,
            $crate::data_acquisition::DataAcquisition,
            $crate::own_data::selection::Selection,
            $crate::own_data::debugging::Debugging,
            $crate::own_data::acquisition::Acquisition,
            $crate::own_data::curation::Curation,
            $crate::adversarial_text_models::AdversarialTextModels,
        }
    };
}

/// A number of things: `1 task`, `4 tasks`.
fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

macro_rules! ids {
    ($($benchmark:ty,)*) => {
        /// The ids of all benchmarks.
        pub const IDS: &[&str] = &[$(<$benchmark as dataperf::Benchmark>::ID),*];
    };
}
for_each_benchmark!(ids);
