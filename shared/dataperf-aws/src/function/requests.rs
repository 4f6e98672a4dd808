//! Requests to a benchmark's function besides uploads: comparing the rows of a board, and finishing
//! rounds.

use dataperf::board::Board;
use dataperf::closing::finishing::{FinishRequest, Finished};
use dataperf::evaluation::artifact_judge::Evaluator as _;
use lambda_runtime::Context;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::BenchmarkFunction;
use crate::boards::comparisons::{CompareRequest, Stores};
use crate::boards::log::LogStores;
use crate::events::fault::Fault;
use crate::function::finish::finish;

impl BenchmarkFunction {
    /// The answer to an event that is such a request; `None` for any other event.
    pub(super) async fn answer_request(
        &self,
        event: &Value,
        context: &Context,
    ) -> Result<Option<Value>, Fault> {
        if let Some(request) = compare_request(event)? {
            return self.compare(&request).await.map(Some);
        }
        match request(event, "finish")? {
            Some(request) => self.finish(&request, context).await.map(Some),
            None => Ok(None),
        }
    }

    async fn compare(&self, request: &CompareRequest) -> Result<Value, Fault> {
        let board = request.board(self.hosted().id);
        let (table, results) = (
            self.resources.leaderboards().await,
            self.resources.results().await,
        );
        let datasets = &self.resources.datasets().await;
        let stores = Stores {
            table: &table,
            results: &results,
            datasets,
        };
        self.comparer.compare(&board, self.hosted(), &stores).await?;
        let stores = LogStores {
            table: &table,
            results: &results,
            datasets,
            signer: &self.resources.signer().await,
        };
        self.comparer.publish(&board, self.hosted(), &stores).await?;
        Ok(json!({ "compared": request }))
    }

    /// Finishes rounds that have closed, as far as there is time for it. Says what was done on each board.
    async fn finish(&self, request: &FinishRequest, context: &Context) -> Result<Value, Fault> {
        let mut documents = Vec::new();
        let done = finish(self, &self.resources, request, context).await?;
        for (board, finished) in done.boards {
            if finished.n_lifted + finished.n_rescored > 0 {
                self.compare_after(&board, false).await?;
            }
            if finished.n_scored > 0 {
                self.compare_after(&board.of_final(), false).await?;
            }
            documents.push(report(&board, &finished, &context.request_id));
        }
        match done.failed {
            Some(error) => Err(error.into()),
            None => Ok(json!({ "finished": documents })),
        }
    }
}

/// The request of an event to have the rows of a board follow from its facts and compared; `None` where the event has none.
///
/// # Errors
/// [`Fault`] of a request of another form.
pub fn compare_request(event: &Value) -> Result<Option<CompareRequest>, Fault> {
    request(event, "compare")
}

/// The request that an event has under `name`, if it has one.
fn request<T: DeserializeOwned>(event: &Value, name: &str) -> Result<Option<T>, Fault> {
    let request = event.get(name).cloned().map(serde_json::from_value);
    request
        .transpose()
        .map_err(|error| Fault::event(error.to_string()))
}

/// The result for a board, as a line of the log and as a document.
fn report(board: &Board, finished: &Finished, request_id: &str) -> Value {
    let Board {
        benchmark,
        leaderboard,
        round,
    } = board;
    let Finished {
        n_lifted,
        n_scored,
        n_rescored,
        n_released,
        is_complete,
    } = finished;
    tracing::info!(
        request_id,
        benchmark,
        leaderboard,
        round,
        n_lifted,
        n_scored,
        n_rescored,
        n_released,
        is_complete,
        "finishing a round"
    );
    json!({ "leaderboard": leaderboard, "round": round, "lifted": n_lifted, "scored": n_scored, "released": n_released,
            "complete": is_complete })
}
