//! What the rest of the command line does for Adversarial Nibbler.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use dataperf::dataset::DatasetError;
use dataperf::ports::async_trait;
use dataperf::progress::Progress;
use dataperf::{Descriptor, Digest, SubmitterName, Verdict};
use dataperf_aws::S3Bucket;
use dataperf_collection_aws::{Kept, is_participant, name_rater};
use dataperf_datasets::export_lines_kit;
use dataperf_nibbler::{
    Board, DESCRIPTOR, GenerationRequest, Kind, KnownRules, LineItem as _, NIBBLER_LAYOUT, PUBLIC_FILE,
    Submission as Pair, Verdict as RaterVerdict, import_nibbler, known_rules, nibbler_kit,
};
use dataperf_nibbler_aws::Pairs;

use crate::cloud::{Cloud, now};
use crate::extension::{Extension, Uploads, no_such_board};
use crate::on_disk::Opened;

/// Adversarial Nibbler.
pub(crate) struct Nibbler;

#[async_trait(?Send)]
impl Extension for Nibbler {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn command(&self) -> &'static str {
        "nibbler"
    }

    fn layout(&self) -> &'static str {
        NIBBLER_LAYOUT
    }

    fn import(&self, from: &Path, out: &Path, progress: &dyn Progress) -> Result<Digest> {
        Ok(import_nibbler(from, out, progress)?)
    }

    fn kit(&self, directory: &Path, opened: &Opened, out: &Path) -> Result<Vec<String>> {
        let has_rules = opened.manifest.files.contains_key(PUBLIC_FILE);
        if !has_rules {
            return Ok(Vec::new());
        }
        let kit = nibbler_kit(directory, &opened.manifest, opened.digest)?;
        Ok(export_lines_kit(directory, &opened.manifest, &kit, out)?)
    }

    fn verdict(&self, directory: &Path, opened: &Opened, of: &str, file: &[u8]) -> Result<Verdict> {
        let known = known_rules(directory, &opened.manifest, opened.digest)?;
        let verdict = known.verdict(of, file);
        verdict.with_context(|| no_such_board(of, &KnownRules::names()))
    }

    fn why_no_score(&self) -> &'static str {
        "A score follows from the images that prompts lead to, which are made in the cloud, and from what raters find in them"
    }

    /// The boards are the same whatever the data set says, which has to be one that functions can use.
    async fn evaluations(
        &self,
        datasets: S3Bucket,
        pinned: Option<Digest>,
    ) -> Result<BTreeMap<String, String>, DatasetError> {
        Kept::<Pairs>::default().rules(datasets, pinned).await?;
        let boards = Board::ALL.map(|board| (board.as_str().to_owned(), board.as_str().to_owned()));
        Ok(BTreeMap::from(boards))
    }

    /// A rater sends verdicts, a participant everything else and reads how the scores change. A rater reads the queue too, and what
    /// was judged already.
    fn uploads(&self, is_rater: bool) -> Uploads {
        let (kinds, max_bytes): (&[Kind], u64) = if is_rater {
            (&[Kind::Verdict], RaterVerdict::MAX_BYTES)
        } else {
            let kinds = &[Kind::Generate, Kind::Submit];
            (kinds, Pair::MAX_BYTES.max(GenerationRequest::MAX_BYTES))
        };
        Uploads {
            leaderboards: kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
            max_bytes,
        }
    }

    async fn name_rater(&self, cloud: &Cloud, name: &SubmitterName) -> Result<()> {
        let table = cloud.leaderboards();
        if is_participant::<Pairs>(&table, name.as_str()).await? {
            bail!("`{name}` has submitted pairs, and participants may not judge pairs: name another rater");
        }
        Ok(name_rater::<Pairs>(&table, name.as_str(), now()).await?)
    }

    #[cfg(feature = "local")]
    fn configure(
        &self,
        config: &mut dataperf_local::Config,
        args: &crate::functions::FunctionArgs,
    ) -> Result<()> {
        super::local::configure(config, args)
    }

    #[cfg(feature = "local")]
    fn outside(&self, port: u16) -> Option<dataperf_local::OutsideService> {
        Some(super::local::images(port))
    }
}
