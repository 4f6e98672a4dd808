//! Makes a frozen data set from the files that an importer reads.

use std::path::Path;

use anyhow::Result;
use dataperf::Digest;
use dataperf_datasets::Import;

use crate::output::progress::PhaseBars;
use crate::registry::Action;

/// Imports the layout at `from` into `out`.
pub(crate) struct ImportSource<'a> {
    pub(crate) from: &'a Path,
    pub(crate) out: &'a Path,
}

impl Action for ImportSource<'_> {
    type Output = Digest;

    async fn run<B: Import>(self) -> Result<Digest> {
        let bars = PhaseBars::default();
        let digest = dataperf_datasets::import::<B>(self.from, self.out, &bars)?;
        bars.finish();
        Ok(digest)
    }
}
