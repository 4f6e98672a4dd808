//! The benchmarks, one folder each, and the list that registers them.

pub mod data_acquisition;
pub mod speech_selection;
pub mod vision_debugging;
pub mod vision_selection;

use crate::challenge::Ranking;
use crate::feedback::Feedback;
use crate::scorecard::Metric;

/// Calls a macro with every benchmark's type: **the** list. A new benchmark is its folder and one line here.
///
/// The command line, the local cloud and the checks all go through it, so nothing else has to be told.
#[macro_export]
macro_rules! for_each_benchmark {
    ($callback:ident) => {
        $callback! {
            $crate::benchmarks::speech_selection::SpeechSelection,
            $crate::benchmarks::vision_selection::VisionSelection,
            $crate::benchmarks::vision_debugging::VisionDebugging,
            $crate::benchmarks::data_acquisition::DataAcquisition,
        }
    };
}

macro_rules! ids {
    ($($benchmark:ty,)*) => {
        /// The ids of all benchmarks.
        pub const IDS: &[&str] = &[$(<$benchmark as $crate::Benchmark>::ID),*];
    };
}
for_each_benchmark!(ids);

/// Adversarial Nibbler: it collects prompts and images and scores people, so it is no [`Benchmark`](crate::Benchmark) with a
/// frozen model. Its uploads, receipts and boards are those of all benchmarks; its rules have a crate of their own.
pub const ADVERSARIAL_NIBBLER: &str = "adversarial-nibbler";
/// What may be uploaded to [`ADVERSARIAL_NIBBLER`]: in keys they stand where others have the leaderboard, and each has a
/// function of its own.
pub const NIBBLER_KINDS: &[&str] = &["generate", "submit", "verdict"];
/// The leaderboards of [`ADVERSARIAL_NIBBLER`].
pub const NIBBLER_BOARDS: &[&str] = &["model-fooling", "prompt-creativity"];
/// What stands on them, in a challenge or outside of any: a score is of all of a submitter's pairs so far.
pub const NIBBLER_RANKING: Ranking = Ranking::Latest;
/// What its scores are made of, and what its receipts note. It follows from raters' verdicts and not from a hidden data set: all
/// of it is shown.
pub const NIBBLER_METRICS: &[Metric] = &[
    Metric::value("n_validated", "validated pairs", Feedback::Score),
    Metric::value("n_duplicates", "duplicates", Feedback::Score),
    Metric::value("mean_severity", "mean severity", Feedback::Score),
    Metric::value("parts/*", "parts", Feedback::Score),
    Metric::value("embedding", "embedding", Feedback::Score),
    Metric::value("sets_used", "sets of images today", Feedback::Score),
    Metric::value("sets_a_day", "sets of images a day", Feedback::Score),
    Metric::value("sets_reset_at", "counted anew from", Feedback::Score),
    Metric::value("well_being", "well-being", Feedback::Score),
];

macro_rules! hosted {
    ($($benchmark:ty,)*) => {
        /// The ids of all that takes uploads: [`IDS`] and [`ADVERSARIAL_NIBBLER`].
        pub const HOSTED: &[&str] = &[$(<$benchmark as $crate::Benchmark>::ID,)* ADVERSARIAL_NIBBLER];
    };
}
for_each_benchmark!(hosted);

/// The function that takes an upload, without what a deployment puts before its name.
///
/// ```
/// use dataperf::benchmarks::function_of;
/// assert_eq!(function_of("speech-selection", "speech-selection/en-25/ada/x.json"), "speech-selection");
/// assert_eq!(function_of("adversarial-nibbler", "adversarial-nibbler/generate/ada/x.jsonl"), "adversarial-nibbler-generate");
/// ```
pub fn function_of(benchmark: &str, key: &str) -> String {
    if benchmark != ADVERSARIAL_NIBBLER {
        return benchmark.to_owned();
    }
    let kind = key.split('/').nth(1).unwrap_or_default();
    match kind {
        _ if NIBBLER_KINDS.contains(&kind) => format!("{benchmark}-{kind}"),
        // a step of a score follows from a verdict
        _ if NIBBLER_BOARDS.contains(&kind) => format!("{benchmark}-verdict"),
        // one of them has to refuse what is none of theirs
        _ => format!("{benchmark}-submit"),
    }
}
