//! From a benchmark's id on the command line to its type.

use anyhow::{Result, bail};
use dataperf::offer;
use dataperf_baselines::{Baselines, Method};
use dataperf_datasets::Import;

use crate::commands::dynamic::Text;
use crate::commands::nibbler::Nibbler;
use crate::extension::Extension;

/// What is hosted beside the benchmarks.
pub(crate) const EXTENSIONS: &[&dyn Extension] = &[&Nibbler, &Text];

/// What is hosted beside the benchmarks under an id.
pub(crate) fn extension(id: &str) -> Option<&'static dyn Extension> {
    let mut extensions = EXTENSIONS.iter().copied();
    extensions.find(|extension| extension.descriptor().id == id)
}

/// Refuses the id of what collects lines, of which no artifact is scored or made.
///
/// # Errors
/// With what is missing and why, and the commands that there are for it.
pub(crate) fn takes_artifacts(id: &str) -> Result<()> {
    if let Some(extension) = extension(id) {
        let command = extension.command();
        bail!(
            "`{id}` is a collection: its files have a JSON object on each line, which people judge, so that \
             there is no model here that scores a file, and no baseline that makes one. {}. `dataperf \
             validate {id}` checks a file against the rules offline, and `dataperf {command} --help` lists \
             the commands that upload",
            extension.why_no_score()
        );
    }
    Ok(())
}

/// Something to do with a benchmark that is known by its id only when the program runs.
pub(crate) trait Action {
    /// What comes of it.
    type Output;
    /// Does it.
    async fn run<B: Import + Baselines>(self) -> Result<Self::Output>;
}

macro_rules! dispatch {
    ($($benchmark:ty,)*) => {
        /// Does `action` with the benchmark that `id` names.
        pub(crate) async fn with_benchmark<A: Action>(id: &str, action: A) -> Result<A::Output> {
            $(
                if id == <$benchmark as dataperf::Benchmark>::ID {
                    return action.run::<$benchmark>().await;
                }
            )*
            takes_artifacts(id)?;
            bail!("there is no benchmark `{id}`: {}", offer(id, dataperf_benchmarks::IDS))
        }

        /// Each benchmark's baselines.
        pub(crate) fn baselines() -> Vec<(&'static str, &'static [Method])> {
            vec![$((<$benchmark as dataperf::Benchmark>::ID, <$benchmark as Baselines>::METHODS)),*]
        }

        /// What each benchmark's importer expects, for `--help`.
        pub(crate) fn layouts() -> String {
            let layouts = [$((<$benchmark as dataperf::Benchmark>::ID, <$benchmark as Import>::LAYOUT)),*];
            let others = EXTENSIONS.iter().map(|extension| (extension.descriptor().id, extension.layout()));
            let layouts = layouts.into_iter().chain(others);
            let layouts: Vec<String> = layouts.map(|(id, layout)| format!("{id} expects {layout}.")).collect();
            layouts.join("\n\n")
        }
    };
}
dataperf_benchmarks::for_each_benchmark!(dispatch);
