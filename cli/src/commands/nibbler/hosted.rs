//! Adversarial Nibbler in a cloud.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use dataperf::dataset::DatasetError;
use dataperf::ports::async_trait;
use dataperf::{Digest, SubmitterName};
use dataperf_aws::S3Bucket;
use dataperf_collections::nibbler::{
    Board, GenerationRequest, Kind, LineItem as _, Submission as Pair, Verdict as RaterVerdict,
};
use dataperf_collections_aws::common::{Kept, is_participant, name_rater};
use dataperf_collections_aws::nibbler::Pairs;

use crate::cloud::{Cloud, now};
use crate::extension::{HostedExtension, Nibbler, Uploads};

#[async_trait(?Send)]
impl HostedExtension for Nibbler {
    /// The boards are the same for every data set, but functions must be able to use the data set.
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
        args: &crate::local::functions::FunctionArgs,
    ) -> Result<()> {
        super::local::configure(config, args)
    }

    #[cfg(feature = "local")]
    fn outside(&self, port: u16) -> Option<dataperf_local::OutsideService> {
        Some(super::local::images(port))
    }
}
