//! Adversarial Text as the command line knows it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use dataperf::dataset::DatasetError;
use dataperf::ports::async_trait;
use dataperf::progress::Progress;
use dataperf::{Descriptor, Digest, SubmitterName, Verdict};
use dataperf_aws::S3Bucket;
use dataperf_collection_aws::{Kept, name_rater};
use dataperf_datasets::export_lines_kit;
use dataperf_text::{
    DESCRIPTOR, Example, Kind, LineItem as _, TEXT_LAYOUT, Verdict as RaterVerdict, import_text, known_rules,
    text_kit,
};
use dataperf_text_aws::Examples;

use crate::cloud::{Cloud, now};
use crate::extension::{Extension, Uploads, no_such_board};
use crate::on_disk::Opened;

/// Adversarial Text.
pub(crate) struct Text;

#[async_trait(?Send)]
impl Extension for Text {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn command(&self) -> &'static str {
        "dynamic"
    }

    fn layout(&self) -> &'static str {
        TEXT_LAYOUT
    }

    fn import(&self, from: &Path, out: &Path, progress: &dyn Progress) -> Result<Digest> {
        Ok(import_text(from, out, progress)?)
    }

    fn kit(&self, directory: &Path, opened: &Opened, out: &Path) -> Result<Vec<String>> {
        let kit = text_kit(directory, &opened.manifest, opened.digest)?;
        Ok(export_lines_kit(directory, &opened.manifest, &kit, out)?)
    }

    fn verdict(&self, directory: &Path, opened: &Opened, of: &str, file: &[u8]) -> Result<Verdict> {
        let known = known_rules(directory, &opened.manifest, opened.digest)?;
        let verdict = known.verdict(of, file);
        verdict.with_context(|| no_such_board(of, &known.names()))
    }

    fn why_no_score(&self) -> &'static str {
        "A score is the number of somebody's examples that fooled the round's models and were found right by raters: the models stay with \
         the organizer, because texts could be fitted to them, and people judge in the cloud"
    }

    /// A board for each task that the data set offers; an error if functions can't use the data set.
    async fn evaluations(
        &self,
        datasets: S3Bucket,
        pinned: Option<Digest>,
    ) -> Result<BTreeMap<String, String>, DatasetError> {
        let rules = Kept::<Examples>::default().rules(datasets, pinned).await?;
        let tasks = rules.configuration.configuration.tasks.keys();
        Ok(tasks
            .map(|task| (task.as_str().to_owned(), task.as_str().to_owned()))
            .collect())
    }

    /// A rater sends verdicts, and examples of its own; a participant examples. Both read how their scores change. A rater
    /// reads the queue too, and what it has judged already.
    fn uploads(&self, is_rater: bool) -> Uploads {
        let kinds: &[Kind] = if is_rater { &Kind::ALL } else { &[Kind::Submit] };
        Uploads {
            leaderboards: kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
            max_bytes: Example::MAX_BYTES.max(RaterVerdict::MAX_BYTES),
        }
    }

    /// Names a rater. Annotators may judge examples too, but not their own.
    async fn name_rater(&self, cloud: &Cloud, name: &SubmitterName) -> Result<()> {
        Ok(name_rater::<Examples>(&cloud.leaderboards(), name.as_str(), now()).await?)
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
    fn outside(&self, _port: u16) -> Option<dataperf_local::OutsideService> {
        None
    }
}
