//! The benchmarks, one folder each, and the list that registers them.

pub mod data_acquisition;
pub mod own_data;
pub mod speech_selection;
pub mod vision_debugging;
pub mod vision_selection;

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
            $crate::benchmarks::own_data::selection::Selection,
            $crate::benchmarks::own_data::debugging::Debugging,
            $crate::benchmarks::own_data::acquisition::Acquisition,
            $crate::benchmarks::own_data::curation::Curation,
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
