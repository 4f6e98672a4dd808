//! Which data sets have one and the same test set: by the digests of the files with their hidden items.

use std::collections::BTreeMap;

use anyhow::Result;
use dataperf::benchmark::PUBLIC;
use dataperf::dataset::frozen::Manifest;
use dataperf::{Descriptor, Digest};
use dataperf_datasets::Import;

use crate::registry::{Action, extension, with_benchmark};

/// The files with the items of a data set's test sets, by the name of the set, each with its digest.
pub(crate) type EvalFiles = BTreeMap<String, Option<Digest>>;

struct Labelled<'a>(&'a Manifest);

impl Action for Labelled<'_> {
    type Output = EvalFiles;

    async fn run<B: Import>(self) -> Result<Self::Output> {
        let sets = B::labelled(self.0)?.into_iter().map(|set| {
            let file = self.0.files.get(&set.rows.file).map(|file| file.digest);
            (set.name, file)
        });
        Ok(sets.filter(|(name, _)| !name.starts_with(PUBLIC)).collect())
    }
}

/// The test files of a data set; empty if it belongs to no benchmark.
///
/// # Errors
/// If the manifest's parameters are not the benchmark's.
pub(crate) async fn eval_files(descriptor: &Descriptor, manifest: &Manifest) -> Result<EvalFiles> {
    if extension(descriptor.id).is_some() {
        return Ok(EvalFiles::new());
    }
    with_benchmark(descriptor.id, Labelled(manifest)).await
}

/// The test sets of one data set that share items with a test set of the other.
pub(crate) fn shared<'a>(of_one: &'a EvalFiles, of_other: &EvalFiles) -> Vec<&'a str> {
    let is_shared = |file: &Option<Digest>| file.is_some() && of_other.values().any(|other| other == file);
    let sets = of_one.iter().filter(|(_, file)| is_shared(file));
    sets.map(|(set, _)| set.as_str()).collect()
}
