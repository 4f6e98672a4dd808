//! Adversarial Text in a cloud.

use std::collections::BTreeMap;

use anyhow::Result;
use dataperf::dataset::DatasetError;
use dataperf::ports::async_trait;
use dataperf::{Digest, SubmitterName};
use dataperf_aws::S3Bucket;
use dataperf_collections::text::{Example, Kind, LineItem as _, Verdict as RaterVerdict};
use dataperf_collections_aws::common::{Kept, name_rater};
use dataperf_collections_aws::text::Examples;

use crate::cloud::{Cloud, now};
use crate::extension::{HostedExtension, Text, Uploads};

#[async_trait(?Send)]
impl HostedExtension for Text {
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

    /// A rater sends verdicts and its own examples; a participant sends examples. Both read how
    /// their scores change. A rater also reads the queue and its own verdicts.
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
        args: &crate::local::functions::FunctionArgs,
    ) -> Result<()> {
        super::local::configure(config, args)
    }
}
