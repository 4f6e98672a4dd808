//! What the functions share that take verdicts: from the verdicts follow decisions, and from these the scores.

use dataperf::Upload;
use dataperf::workflow::{Ports, Settled, WorkflowError};
use dataperf_aws::{Fault, KmsKey, S3Bucket, Table, now};
use lambda_runtime::Context;
use tokio::sync::Mutex;

use crate::collection::Collection;
use crate::decisions::{Occasion, decide};
use crate::files::{Common, LineFunction, settle_lines};
use crate::rules::Rules;
use crate::scores::{publish, publish_again, step_of_a_score};
use crate::standings::Standings;

/// What a function that takes verdicts keeps between invocations.
pub struct Deciding<C: Collection> {
    /// What every function of the collection keeps.
    pub common: Common<C>,
    /// How submitters stand, as far as this process has read it.
    standings: Mutex<Standings<C>>,
}

impl<C: Collection> Deciding<C> {
    /// By the function's environment.
    ///
    /// # Errors
    /// When it lacks a variable.
    pub fn from_environment() -> Result<Self, lambda_runtime::Error> {
        Ok(Self {
            common: Common::from_environment()?,
            standings: Mutex::default(),
        })
    }

    /// Settles an upload of verdicts by what `function` says of its lines, or completes a step of a score on one of `boards`.
    /// `None` when another run goes on.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn settle<F: LineFunction<Collection = C>>(
        &self,
        function: &F,
        upload: &Upload,
        context: &Context,
        boards: &[&str],
    ) -> Result<Option<Settled>, Fault> {
        let Some(step) = step_of_a_score::<C>(upload, boards) else {
            return settle_lines(function, upload, context).await;
        };
        let resources = &self.common.resources;
        let table = resources.leaderboards().await;
        let (results, signer) = (resources.results().await, resources.signer().await);
        let settled = publish_again::<C>(&table, upload, step, ports(&table, &results, &signer)).await?;
        Ok(Some(settled))
    }

    /// Decides an item after a verdict, and writes the scores that follow.
    ///
    /// # Errors
    /// [`WorkflowError`].
    pub async fn decide(
        &self,
        table: &Table,
        id: &C::Id,
        rules: &Rules<C::Configuration>,
    ) -> Result<(), WorkflowError> {
        let standings = &mut *self.standings.lock().await;
        if let Some(step) = decide(table, id, rules, standings, Occasion::Verdict).await? {
            let resources = &self.common.resources;
            let (results, signer) = (resources.results().await, resources.signer().await);
            publish(&step, ports(table, &results, &signer)).await?;
        }
        Ok(())
    }
}

fn ports<'a>(leaderboards: &'a Table, results: &'a S3Bucket, signer: &'a KmsKey) -> Ports<'a> {
    Ports {
        leaderboards,
        results,
        signer,
        now: &now,
    }
}
