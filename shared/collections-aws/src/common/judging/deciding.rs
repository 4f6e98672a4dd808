//! Code shared by the functions that take verdicts: decisions follow from verdicts, and scores from
//! decisions.

use std::sync::Arc;

use dataperf::challenge::Challenge;
use dataperf::evaluation::workflow::WorkflowError;
use tokio::sync::Mutex;

use crate::common::collection::Collection;
use crate::common::files::{Case, Common};
use crate::common::items;
use crate::common::judging::decisions::Occasion;
use crate::common::judging::redecide::decide_and_publish;
use crate::common::rules::Rules;
use crate::common::scores::standings::Standings;

/// The state of a function that takes verdicts, kept between invocations.
pub struct Deciding<C: Collection> {
    /// The state of every function of the collection.
    pub common: Common<C>,
    /// The standings of submitters, as far as this process has read them.
    standings: Mutex<Standings<C>>,
}

impl<C: Collection> Deciding<C> {
    /// Reads the function's environment.
    ///
    /// # Errors
    /// When it lacks a variable.
    pub fn from_environment() -> Result<Self, lambda_runtime::Error> {
        Ok(Self {
            common: Common::from_environment()?,
            standings: Mutex::default(),
        })
    }

    /// Decides an item after a verdict, by the rules by which it was taken, and writes the scores that follow.
    ///
    /// # Errors
    /// [`WorkflowError`].
    pub async fn decide(&self, case: &Case<'_, C>, id: &C::Id) -> Result<(), WorkflowError> {
        let item = items::there::<C>(case.table, id).await?;
        let of_round = self.rules_of(case, &item.round).await?;
        let (places, kept) = (self.common.places().await, &self.common.kept);
        let standings = &mut *self.standings.lock().await;
        decide_and_publish(&places, &item, &of_round, kept, standings, Occasion::Verdict).await?;
        Ok(())
    }

    /// The rules of a round, whichever round is open now: from the round's pinned data set, or else
    /// from the active one.
    ///
    /// # Errors
    /// [`WorkflowError`].
    pub async fn rules_of(
        &self,
        case: &Case<'_, C>,
        round: &str,
    ) -> Result<Arc<Rules<C::Configuration>>, WorkflowError> {
        if round == case.round {
            return Ok(case.rules.clone());
        }
        let datasets = self.common.resources.datasets().await;
        let challenge = Challenge::published(&datasets, C::DESCRIPTOR.id).await?;
        let kept = &self.common.kept;
        Ok(kept.of_round(&datasets, challenge.as_ref(), round).await?)
    }
}
