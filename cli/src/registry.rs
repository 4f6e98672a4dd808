//! From a benchmark's id on the command line to its type.

use anyhow::{Result, bail};
use dataperf::offer;
use dataperf_baselines::{Baselines, Method};
use dataperf_datasets::Import;

#[cfg(feature = "cloud")]
use crate::extension::HostedExtension;
use crate::extension::{Extension, Nibbler, Text};

/// The collections.
const EXTENSIONS: &[&dyn Extension] = &[&Nibbler, &Text];

/// The collection with an id.
pub(crate) fn extension(id: &str) -> Option<&'static dyn Extension> {
    let mut extensions = EXTENSIONS.iter().copied();
    extensions.find(|extension| extension.descriptor().id == id)
}

/// The extensions in a cloud.
#[cfg(feature = "cloud")]
pub(crate) const HOSTED_EXTENSIONS: &[&dyn HostedExtension] = &[&Nibbler, &Text];

/// The extension with an id, in a cloud.
#[cfg(feature = "cloud")]
pub(crate) fn hosted_extension(id: &str) -> Option<&'static dyn HostedExtension> {
    let mut extensions = HOSTED_EXTENSIONS.iter().copied();
    extensions.find(|extension| extension.descriptor().id == id)
}

/// Refuses the id of a collection, because it has no artifacts to score or make.
///
/// # Errors
/// If `id` is a collection. The message names the commands for it.
pub(crate) fn takes_artifacts(id: &str) -> Result<()> {
    if let Some(extension) = extension(id) {
        let command = extension.command();
        bail!(
            "people judge the lines of `{id}`'s files, so no model here scores a file and no baseline makes one. {}. `dataperf \
                validate {id}` checks a file against the rules offline, and `dataperf {command} --help` lists the commands that \
                upload",
            extension.why_no_score()
        );
    }
    Ok(())
}

/// Something to do with a benchmark that is known by its id only when the program runs.
pub(crate) trait Action {
    /// The result.
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

        /// The files that each benchmark's importer expects, for `--help`.
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
