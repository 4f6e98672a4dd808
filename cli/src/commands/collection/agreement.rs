//! Measures the agreement of a collection's raters: selects the round, and reads the verdicts.

use anyhow::Result;
use clap::Args;
use dataperf::challenge::Challenge;
use dataperf_collections_aws::common::{Collected, Collection, counted_in};

use super::round_or_latest;
use crate::cloud::CloudArgs;

#[derive(Debug, Args)]
pub(crate) struct AgreementArgs {
    /// The round [default: the one that began last]
    #[arg(long)]
    round: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// The items of a round that count, each with the verdicts that count.
type Counted<C> = Vec<(Collected<C>, Vec<<C as Collection>::Verdict>)>;

impl AgreementArgs {
    /// The round that is asked about, and what its raters said.
    pub(crate) async fn counted<C: Collection>(self) -> Result<(String, Counted<C>)> {
        let cloud = self.cloud.connect().await?;
        let challenge = Challenge::published(&cloud.datasets(), C::DESCRIPTOR.id).await?;
        let round = round_or_latest(self.round.as_deref(), challenge.as_ref())?;
        let counted = counted_in::<C>(&cloud.leaderboards(), &round).await?;
        Ok((round, counted))
    }
}

/// An alpha as people read it.
pub(crate) fn shown(alpha: Option<f64>) -> String {
    alpha.map_or("nothing to compare".to_owned(), |alpha| format!("{alpha:.3}"))
}
