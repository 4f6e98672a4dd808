//! What is hosted and is no [`Benchmark`](dataperf::Benchmark): what the command line does for it.
//! `registry.rs` has the list of them, `commands/mod.rs` that of their parts in the demo, and other code asks
//! these traits. By name an extension is known only in its own commands (`commands/nibbler/`,
//! `commands/dynamic/`), in the list of commands in `main.rs`, in the demo of rounds of texts, in help, and in
//! the options `--nibbler-keys` of `functions.rs` and `--images-port` of `commands/local.rs`, which are for the
//! service that makes Adversarial Nibbler's images.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
#[cfg(feature = "local")]
use dataperf::Receipt;
use dataperf::dataset::DatasetError;
use dataperf::ports::async_trait;
use dataperf::progress::Progress;
use dataperf::{Descriptor, Digest, SubmitterName, Verdict, offer};
use dataperf_aws::S3Bucket;
#[cfg(feature = "local")]
use dataperf_local::{Config, LocalCloud, OutsideService};

use crate::cloud::Cloud;
#[cfg(feature = "local")]
use crate::functions::FunctionArgs;
use crate::on_disk::Opened;

/// What the service that makes images is called, of those that stand on this machine for services on the
/// Internet.
#[cfg(feature = "local")]
pub(crate) const IMAGES: &str = "image service";

/// Something hosted with kinds of artifacts of its own.
#[async_trait(?Send)]
pub(crate) trait Extension: Sync {
    /// What it says of itself.
    fn descriptor(&self) -> &'static Descriptor;

    /// The command line's command for what is its own.
    fn command(&self) -> &'static str;

    /// What its importer expects, for `--help`.
    fn layout(&self) -> &'static str;

    /// Imports the layout at `from` into a new frozen data set at `out`.
    fn import(&self, from: &Path, out: &Path, progress: &dyn Progress) -> Result<Digest>;

    /// Makes the participants' kit of the data set `opened` in `directory`, and gives the paths of its files: none where the data set has
    /// nothing for participants.
    fn kit(&self, directory: &Path, opened: &Opened, out: &Path) -> Result<Vec<String>>;

    /// Holds a file against the rules of a data set or its kit, as far as they are known there. `of` is a board, or a kind of file.
    fn verdict(&self, directory: &Path, opened: &Opened, of: &str, file: &[u8]) -> Result<Verdict>;

    /// What scores are made of, and why no data set and no kit has it: the end of a sentence.
    fn why_no_score(&self) -> &'static str;

    /// The evaluation data of each board, if the functions can use the data set `pinned`, or the one in force.
    async fn evaluations(
        &self,
        datasets: S3Bucket,
        pinned: Option<Digest>,
    ) -> Result<BTreeMap<String, String>, DatasetError>;

    /// What somebody may upload: as a rater, where it has raters, or as a participant.
    fn uploads(&self, is_rater: bool) -> Uploads;

    /// Names somebody a rater.
    async fn name_rater(&self, cloud: &Cloud, name: &SubmitterName) -> Result<()>;

    /// Adds its functions and their secrets to the cloud on this machine.
    #[cfg(feature = "local")]
    fn configure(&self, config: &mut Config, args: &FunctionArgs) -> Result<()>;

    /// The stand-in on this machine for a service on the Internet, if the extension needs one; `port` 0 takes any free port.
    #[cfg(feature = "local")]
    fn outside(&self, port: u16) -> Option<OutsideService>;
}

/// Why a file can't be held against the rules for `of`, with the names that there are instead.
pub(crate) fn no_such_board<T: AsRef<str>>(of: &str, names: &[T]) -> String {
    let names = names.iter().map(AsRef::as_ref);
    format!(
        "the data set has no leaderboard and no kind of file `{of}`: {}",
        offer(of, names)
    )
}

/// The part of `dataperf demo all` that something hosted beside the benchmarks has.
#[cfg(feature = "local")]
#[async_trait(?Send)]
pub(crate) trait ExtensionDemo {
    /// Whose part it is: the id under which that is hosted.
    fn benchmark(&self) -> &'static str;

    /// What its receipts are called in the demo's JSON.
    fn name(&self) -> &'static str;

    /// Puts the rules of the demo's directory `shipped` in force.
    async fn prepare(&self, cloud: &Cloud, local: &LocalCloud, shipped: &Path, scratch: &Path) -> Result<()>;

    /// Uploads what the demo has of it, and waits for the receipts.
    async fn play(&self, cloud: &Cloud) -> Result<Vec<Receipt>>;

    /// What did not go as planned.
    fn surprises(&self, receipts: &[Receipt]) -> Vec<String>;

    /// Prints the receipts in a few lines.
    fn print(&self, receipts: &[Receipt]);
}

/// What somebody may upload.
#[derive(Debug)]
pub(crate) struct Uploads {
    /// Leaderboards, or kinds of artifacts.
    pub(crate) leaderboards: Vec<String>,
    /// The largest upload.
    pub(crate) max_bytes: u64,
}
