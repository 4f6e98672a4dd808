//! From a benchmark's id on the command line to its type.

use anyhow::{Result, bail};
use dataperf::Direction;
use dataperf::benchmarks::ADVERSARIAL_NIBBLER;
use dataperf_baselines::{Baselines, Method};
use dataperf_datasets::Import;

/// Something to do with a benchmark that is known by its id only when the program runs.
pub(crate) trait Task {
    /// What comes of it.
    type Output;
    /// Does it.
    async fn run<B: Import + Baselines>(self) -> Result<Self::Output>;
}

macro_rules! dispatch {
    ($($benchmark:ty,)*) => {
        /// Does `task` with the benchmark that `id` names.
        pub(crate) async fn with_benchmark<T: Task>(id: &str, task: T) -> Result<T::Output> {
            $(
                if id == <$benchmark as dataperf::Benchmark>::ID {
                    return task.run::<$benchmark>().await;
                }
            )*
            bail!("there is no benchmark `{id}`: choose one of `{}`", dataperf::benchmarks::IDS.join("`, `"))
        }

        /// Each benchmark's baselines.
        pub(crate) fn baselines() -> Vec<(&'static str, &'static [Method])> {
            vec![$((<$benchmark as dataperf::Benchmark>::ID, <$benchmark as Baselines>::METHODS)),*]
        }

        /// What each benchmark's importer expects, for `--help`.
        pub(crate) fn layouts() -> String {
            let layouts = [$((<$benchmark as dataperf::Benchmark>::ID, <$benchmark as Import>::LAYOUT)),*];
            let layouts = layouts.into_iter().chain([(dataperf_nibbler::BENCHMARK, dataperf_datasets::NIBBLER_LAYOUT)]);
            let layouts: Vec<String> = layouts.map(|(id, layout)| format!("{id} expects {layout}.")).collect();
            layouts.join("\n\n")
        }
    };
}
dataperf::for_each_benchmark!(dispatch);

/// Which of a benchmark's scores are better.
pub(crate) async fn direction(id: &str) -> Result<Direction> {
    struct Asked;
    impl Task for Asked {
        type Output = Direction;
        async fn run<B: Import>(self) -> Result<Direction> {
            Ok(B::DIRECTION)
        }
    }
    if id == ADVERSARIAL_NIBBLER {
        return Ok(Direction::HigherIsBetter);
    }
    with_benchmark(id, Asked).await
}
