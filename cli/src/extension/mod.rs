//! Collections: hosted by the command line without a [`Benchmark`](dataperf::Benchmark). `registry.rs` lists them; other code uses these
//! traits.

#[cfg(feature = "cloud")]
mod hosted;
mod nibbler;
mod text;

use std::path::Path;

use anyhow::Result;
use dataperf::progress::Progress;
use dataperf::{Descriptor, Digest, Verdict, offer};
use dataperf_datasets::Kit;

use crate::on_disk::Opened;

#[cfg(feature = "local")]
pub(crate) use hosted::IMAGES;
#[cfg(feature = "cloud")]
pub(crate) use hosted::{HostedExtension, Uploads};
pub(crate) use nibbler::Nibbler;
pub(crate) use text::Text;

/// Something hosted with kinds of artifacts of its own.
pub(crate) trait Extension: Sync {
    /// Its description.
    fn descriptor(&self) -> &'static Descriptor;

    /// The command line's command for what is its own.
    fn command(&self) -> &'static str;

    /// The files that its importer expects, for `--help`.
    fn layout(&self) -> &'static str;

    /// Imports the layout at `from` into a new frozen data set at `out`.
    fn import(&self, from: &Path, out: &Path, progress: &dyn Progress) -> Result<Digest>;

    /// Makes the participants' kit of the data set `opened` in `directory`; `None` if the data set
    /// has nothing for participants.
    fn kit(&self, directory: &Path, opened: &Opened, out: &Path) -> Result<Option<Kit>>;

    /// Checks a file against the rules of a data set or its kit, as far as they are known there. `name` is a board, or a kind of file.
    fn verdict(&self, directory: &Path, opened: &Opened, name: &str, file: &[u8]) -> Result<Verdict>;

    /// The source of scores, and why no data set and no kit has it: the end of a sentence.
    fn why_no_score(&self) -> &'static str;
}

/// Why a file can't be checked as a file for `name`, with the known names.
pub(crate) fn no_such_board<T: AsRef<str>>(name: &str, names: &[T]) -> String {
    let names = names.iter().map(AsRef::as_ref);
    format!(
        "the data set has no leaderboard and no kind of file `{name}`: {}",
        offer(name, names)
    )
}
