//! The function of a collection that takes raters' verdicts. It counts each verdict once, and
//! decides its item if it was the last missing one.

pub(crate) mod deciding;
pub(crate) mod decisions;
pub(crate) mod raters;
pub(crate) mod redecide;
pub(crate) mod verdicts;

use std::collections::BTreeMap;

use dataperf::evaluation::workflow::{Settled, WorkflowError};
use dataperf::{Reason, Rejection, Upload, quote};
use dataperf_aws::{Fault, Function, LogStores, Resources, compare_request};
use dataperf_collections::common::{Disqualified, Line, LineItem};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use lambda_runtime::Context;
use serde_json::{Value, json};

use crate::common::collection::Collection;
use crate::common::disqualified::no_more;
use crate::common::files::{Case, Common, Judged, LineFunction, settle_lines};
use crate::common::judging::deciding::Deciding;
use crate::common::judging::verdicts::{Given, give};
use crate::common::scores::places::Places;
use crate::common::scores::{publish_again, step_of_a_score};

/// The collection-specific part of handling raters' verdicts.
pub trait Judging: Collection {
    /// A line of a file of verdicts.
    type Line: LineItem<Rules = Self::Configuration>;
    /// The member of a line that names the item.
    const MEMBER: &'static str;
    /// The command that shows a rater the next item.
    const NEXT: &'static str;
    /// Whether fewer verdicts than an item takes may decide it.
    const FEWER_DECIDE: bool;

    /// The message, after its name, for an item that takes no further verdicts; it took at most
    /// `n_raters`.
    fn enough(n_raters: u64) -> String;

    /// The outcome of each line of a file of verdicts.
    fn judge(
        deciding: &Deciding<Self>,
        case: &Case<'_, Self>,
        lines: Vec<Line<Self::Line>>,
    ) -> impl Future<Output = Result<Judged, WorkflowError>>;
}

struct JudgeFunction<C: Collection>(Deciding<C>);

/// Runs the function that takes a collection's verdicts until the host ends it.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run_verdict<C: Judging>() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::log_as_json();
    dataperf_aws::serve(JudgeFunction::<C>(Deciding::from_environment()?)).await
}

impl<C: Judging> JudgeFunction<C> {
    /// Settles an upload of verdicts, or completes a step of a score. `None` if another run
    /// continues.
    async fn settle_one(&self, upload: &Upload, context: &Context) -> Result<Option<Settled>, Fault> {
        let Some(step) = step_of_a_score::<C>(upload) else {
            return settle_lines(self, upload, context).await;
        };
        let places = self.0.common.places().await;
        let settled = publish_again::<C>(&places, upload, step).await?;
        Ok(Some(settled))
    }
}

impl<C: Judging> JudgeFunction<C> {
    /// Projects the rows of the board that an event names; `None` for any other event.
    async fn project(&self, event: &Value) -> Result<Option<Value>, Fault> {
        let Some(request) = compare_request(event)? else {
            return Ok(None);
        };
        let (board, places) = (request.board(C::SPACE.benchmark), self.0.common.places().await);
        let Places {
            table,
            datasets,
            results,
            signer,
            ..
        } = &places;
        table.project_now(&board, C::DESCRIPTOR, datasets).await?;
        let stores = LogStores {
            table,
            results,
            datasets,
            signer,
        };
        stores.publish_rows(&board, C::DESCRIPTOR).await?;
        Ok(Some(json!({ "projected": request })))
    }
}

impl<C: Judging> Function for JudgeFunction<C> {
    fn benchmark(&self) -> &'static str {
        C::SPACE.benchmark
    }

    fn resources(&self) -> &Resources {
        &self.0.common.resources
    }

    fn settle<'a>(
        &'a self,
        upload: &'a Upload,
        context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<Settled>, Fault>> {
        self.settle_one(upload, context).boxed_local()
    }

    fn answer<'a>(
        &'a self,
        event: &'a Value,
        _context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<Value>, Fault>> {
        self.project(event).boxed_local()
    }
}

impl<C: Judging> LineFunction for JudgeFunction<C> {
    type Collection = C;
    type Line = C::Line;
    const KIND: &'static str = "verdict";

    fn common(&self) -> &Common<C> {
        &self.0.common
    }

    fn held_against(configuration: &C::Configuration) -> &C::Configuration {
        configuration
    }

    fn refused(&self, disqualified: &Disqualified, name: &str) -> Option<Reason> {
        no_more(disqualified.has_rater(name), name, "verdicts")
    }

    async fn judge(&self, case: &Case<'_, C>, lines: Vec<Line<C::Line>>) -> Result<Judged, WorkflowError> {
        C::judge(&self.0, case, lines).await
    }
}

impl<C: Judging> Deciding<C> {
    /// Records a line's verdict, and decides its item if this may complete the verdicts. Returns
    /// the receipt's entry for the line, or why the verdict does not count. `n_new` counts the
    /// verdicts that this run recorded.
    ///
    /// # Errors
    /// [`WorkflowError`].
    pub async fn take(
        &self,
        case: &Case<'_, C>,
        line: usize,
        verdict: &C::Verdict,
        n_new: &mut usize,
    ) -> Result<Result<BTreeMap<String, Value>, Rejection>, WorkflowError> {
        let (id, item) = (C::judged(verdict), C::SPACE.item);
        let (rater, place) = (&case.submission.submitter, (&case.submission.id, line as u64));
        let named = format!("the {item} {}", quote(&id.to_string()));
        let refuse = |code: &str, message: String| Ok(Err(refusal::<C>(code, line, message)));
        match give::<C>(case.table, verdict, rater, place, &case.disqualified).await? {
            Given::NoSuchItem => Ok(Err(no_such_item::<C>(line, id))),
            Given::Before => {
                let message =
                    format!("you judged {named} before, and your first verdict counts: leave it out");
                refuse("judged_before", message)
            }
            Given::Enough { n_raters } => {
                // who gave the last verdict may not have come to it
                self.decide(case, id).await?;
                let message = format!("{named} {}", C::enough(n_raters));
                refuse("enough_verdicts", message)
            }
            // whose own it is was refused before
            Given::Disqualified | Given::Own => {
                let message = format!(
                    "{named} does not count any more: leave it out. Nothing is wrong with your verdict"
                );
                refuse(&format!("disqualified_{item}"), message)
            }
            Given::Counted {
                n_counted,
                n_raters,
                is_new,
            } => {
                *n_new += usize::from(is_new);
                if C::FEWER_DECIDE || n_counted >= n_raters {
                    self.decide(case, id).await?;
                }
                // Hide the other raters' verdicts and the submitter's claim, because the next rater
                // could hear of them.
                Ok(Ok(BTreeMap::from([(item.to_owned(), json!(id))])))
            }
        }
    }
}

/// The refusal of a verdict for what its line says of an item.
pub fn refusal<C: Judging>(code: &str, line: usize, message: String) -> Rejection {
    Reason::new(code, format!("line {line} /{}", C::MEMBER), message).into()
}

/// The refusal of a verdict on an item that there is not, or that goes to no rater.
pub fn no_such_item<C: Judging>(line: usize, id: &C::Id) -> Rejection {
    let (item, next) = (C::SPACE.item, C::NEXT);
    let id = quote(&id.to_string());
    let message = format!("there is no {item} {id}: copy its id from `{next}`");
    refusal::<C>(&format!("unknown_{item}"), line, message)
}

/// The result of a line; `None` if its item, such as `an example`, can't be decided. The file's
/// other lines continue. The first such fault stays in `first` and fails the file in the end. Its
/// verdicts are counted, and whoever fixes the cause has the file judged again.
///
/// # Errors
/// A fault that the other lines would have too.
pub fn unless_noted<T>(
    made: Result<T, WorkflowError>,
    (line, an_item): (usize, &str),
    first: &mut Option<WorkflowError>,
) -> Result<Option<T>, WorkflowError> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(WorkflowError::Port(error)) if !error.is_transient() => {
            tracing::error!(line, %error, "{an_item} can't be decided, the file's others can");
            *first = first.take().or(Some(WorkflowError::Port(error)));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
