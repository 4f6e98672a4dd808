//! From an id on the command line to what is hosted under it.

use anyhow::{Context, Result};
use dataperf::benchmark::Leaderboard;
use dataperf::dataset::frozen::Manifest;
use dataperf::{Descriptor, offer};

/// A benchmark's or an extension's description of itself.
///
/// # Errors
/// When nothing has this id: with the most similar ones.
pub(crate) fn descriptor(id: &str) -> Result<&'static Descriptor> {
    let hosted = dataperf_hosted::hosted(id);
    hosted.with_context(|| {
        format!(
            "there is no benchmark `{id}`: {}",
            offer(id, dataperf_hosted::IDS)
        )
    })
}

/// The leaderboards of a data set, of whatever benchmark it is.
pub(crate) fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>> {
    let descriptor = descriptor(&manifest.benchmark)?;
    Ok((descriptor.leaderboards)(manifest)?)
}
