//! An [`Extension`] in a cloud.

use std::collections::BTreeMap;

use anyhow::Result;
use dataperf::dataset::DatasetError;
use dataperf::ports::async_trait;
use dataperf::{Digest, SubmitterName};
use dataperf_aws::S3Bucket;
#[cfg(feature = "local")]
use dataperf_local::{Config, OutsideService};

use super::Extension;
use crate::cloud::Cloud;
#[cfg(feature = "local")]
use crate::local::functions::FunctionArgs;

/// The name of the service that makes images, among the local stand-ins for services on the
/// Internet.
#[cfg(feature = "local")]
pub(crate) const IMAGES: &str = "image service";

/// An extension with its functions.
#[async_trait(?Send)]
pub(crate) trait HostedExtension: Extension {
    /// The evaluation data of each board, if the functions can use the data set `pinned`, or the
    /// active one.
    async fn evaluations(
        &self,
        datasets: S3Bucket,
        pinned: Option<Digest>,
    ) -> Result<BTreeMap<String, String>, DatasetError>;

    /// The uploads that somebody may make, as a rater (if it has raters) or as a participant.
    fn uploads(&self, is_rater: bool) -> Uploads;

    /// Names somebody a rater.
    async fn name_rater(&self, cloud: &Cloud, name: &SubmitterName) -> Result<()>;

    /// Adds its functions and their secrets to the cloud on this machine.
    #[cfg(feature = "local")]
    fn configure(&self, config: &mut Config, args: &FunctionArgs) -> Result<()>;

    /// The stand-in on this machine for a service on the Internet, if the extension needs one; `port` 0 takes any free port.
    #[cfg(feature = "local")]
    fn outside(&self, _port: u16) -> Option<OutsideService> {
        None
    }
}

/// The uploads that somebody may make.
#[derive(Debug)]
pub(crate) struct Uploads {
    /// Leaderboards, or kinds of artifacts.
    pub(crate) leaderboards: Vec<String>,
    /// The largest upload.
    pub(crate) max_bytes: u64,
}
