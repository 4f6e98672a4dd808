//! The function that ends what the evaluators could not: it reads the failures queue, and sweeps on a schedule.

mod finish_mark;
mod misplaced_notes;
mod sweep;

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use dataperf::board::Board;
use dataperf::closing::finishing::FinishRequest;
use dataperf::evaluation::rescoring::Request;
use dataperf::ports::PortError;
use dataperf::programs::Output;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Descriptor, Ending};
use futures_util::FutureExt;
use lambda_runtime::{Context, LambdaEvent, service_fn};
use serde_json::{Value, json};

use crate::Table;
use crate::caretaker::misplaced_notes::Notes;
use crate::caretaker::sweep::{Limits, Sweep, Swept};
use crate::events::failed_event::{GivenUp, given_up};
use crate::events::fault::{Fault, with_causes};
use crate::function::evaluators::Evaluators;
use crate::function::fail_upload::{GiveBack, give_up};
use crate::function::report::outcome;
use crate::function::resources::Resources;
use crate::runtime::metrics::emit;
use crate::runtime::{guarded, seconds, variable};

/// How much of a sweep's time is left free, so that what the sweep has begun can end.
const RESERVE: Duration = Duration::from_secs(20);

/// The task of the event by which boards are compared.
const COMPARE: &str = "compare";
/// The task of the event by which rounds that have closed are finished.
const FINISH: &str = "finish";

struct Caretaker {
    resources: Resources,
    hosted: &'static [Descriptor],
    give_back: GiveBack,
    submissions: String,
    functions_prefix: String,
    limits: Limits,
}

/// Runs the caretaker of everything `hosted` until the host ends it. An SQS event carries records
/// of failures; a schedule's event starts a sweep.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run_caretaker(
    hosted: &'static [Descriptor],
    give_back: GiveBack,
) -> Result<(), lambda_runtime::Error> {
    crate::log_as_json();
    let caretaker = Caretaker {
        resources: Resources::from_environment()?,
        hosted,
        give_back,
        submissions: variable("DATAPERF_SUBMISSIONS_BUCKET")?,
        functions_prefix: variable("DATAPERF_FUNCTION_PREFIX")?,
        limits: Limits {
            quiet_seconds: seconds("DATAPERF_SWEEP_AFTER_SECONDS")?,
            patience_seconds: seconds("DATAPERF_GIVE_UP_AFTER_SECONDS")?,
        },
    };
    let caretaker = &caretaker;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| {
        guarded(handle(caretaker, event)).boxed_local()
    }))
    .await
}

async fn handle(caretaker: &Caretaker, event: LambdaEvent<Value>) -> Result<Value, Fault> {
    let (event, context) = event.into_parts();
    if let Some(records) = event.get("Records").and_then(Value::as_array) {
        return Ok(end_all(caretaker, records, &context).await);
    }
    let source = event.get("source").and_then(Value::as_str);
    match event.get("task").and_then(Value::as_str) {
        Some(COMPARE) => return on_all_boards(caretaker, Task::Compare, &context).await,
        Some(FINISH) => return on_all_boards(caretaker, Task::Finish, &context).await,
        _ => {}
    }
    if matches!(source, Some("aws.events" | "aws.scheduler")) {
        return sweep_all(caretaker, &context).await;
    }
    let problem = "neither records of a queue nor a scheduled event".to_owned();
    Err(Fault::event(problem))
}

/// A request to the benchmarks' functions.
#[derive(Debug, Clone, Copy)]
enum Task {
    /// Compares every board whose changed rows nobody has compared, and continues unfinished runs.
    Compare,
    /// To finish the rounds that have closed: only the benchmarks' functions know which these are.
    Finish,
}

impl Task {
    fn done(self) -> &'static str {
        match self {
            Self::Compare => "compared",
            Self::Finish => "finished",
        }
    }
}

/// Asks the benchmarks' functions to do a task on all boards for which it is due.
async fn on_all_boards(caretaker: &Caretaker, task: Task, context: &Context) -> Result<Value, Fault> {
    let resources = &caretaker.resources;
    let evaluators = Evaluators::new(
        resources.clients().await.lambda(None),
        &caretaker.functions_prefix,
    );
    let table = resources.leaderboards().await;
    let (mut n_asked, mut fault) = (0, None);
    for hosted in caretaker.hosted {
        // artifacts of several kinds have no evidence that boards could be compared by, and no rounds to finish
        let is_benchmark = hosted.kinds.is_empty();
        let request = match task {
            Task::Compare if is_benchmark => every_minute(&table, &evaluators, hosted).await,
            Task::Compare => project_boards(&table, &evaluators, hosted).await,
            Task::Finish if !is_benchmark => continue,
            Task::Finish => evaluators
                .finish(hosted, &FinishRequest::default())
                .await
                .map(|()| 1),
        };
        match request {
            Ok(n_of_benchmark) => n_asked += n_of_benchmark,
            Err(error) => {
                let (request_id, benchmark) = (&context.request_id, hosted.id);
                let message = with_causes(&error);
                tracing::error!(
                    request_id,
                    benchmark,
                    outcome = "fault",
                    error = message,
                    "not {}",
                    task.done()
                );
                fault.get_or_insert(Fault::from(error));
            }
        }
    }
    fault.map_or_else(|| Ok(json!({ task.done(): n_asked })), Err)
}

/// Asks for the comparisons of a benchmark's boards that are due, and for the end of rounds that a function could not finish in its time.
async fn every_minute(
    table: &Table,
    evaluators: &Evaluators,
    hosted: &Descriptor,
) -> Result<usize, PortError> {
    if let Some(at) = table.marked_to_go_on(hosted.id).await? {
        evaluators.finish(hosted, &FinishRequest::default()).await?;
        table.unmark_to_go_on(hosted.id, at).await?;
    }
    compare_boards(table, evaluators, hosted).await
}

/// Requests the work that is due: comparisons of boards whose rows have changed, projections of
/// boards whose facts have changed but whose writer was killed, and publications of changed boards.
async fn compare_boards(
    table: &Table,
    evaluators: &Evaluators,
    hosted: &Descriptor,
) -> Result<usize, PortError> {
    let mut boards: BTreeSet<Board> = table.boards_to_compare(hosted.id).await?.into_iter().collect();
    boards.extend(table.boards_to_project(hosted.id).await?);
    boards.extend(table.boards_to_publish(hosted.id).await?);
    for board in &boards {
        evaluators.compare(hosted, board).await?;
    }
    Ok(boards.len())
}

async fn project_boards(
    table: &Table,
    evaluators: &Evaluators,
    hosted: &Descriptor,
) -> Result<usize, PortError> {
    let mut boards: BTreeSet<Board> = table.boards_to_project(hosted.id).await?.into_iter().collect();
    boards.extend(table.boards_to_publish(hosted.id).await?);
    for board in &boards {
        evaluators.compare(hosted, board).await?;
    }
    Ok(boards.len())
}

/// Ends the uploads of every record. The records for which that failed go back to the queue, in the form that SQS triggers read.
async fn end_all(caretaker: &Caretaker, records: &[Value], context: &Context) -> Value {
    let mut again = Vec::new();
    for record in records {
        let field = |name| record.get(name).and_then(Value::as_str).unwrap_or_default();
        let message_id = field("messageId");
        let ended = match given_up(field("body")) {
            Ok(given_up) => Box::pin(end(caretaker, &given_up, &context.request_id)).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = ended {
            tracing::error!(
                request_id = context.request_id, message_id, outcome = "fault", error_type = fault.kind.as_str(),
                error = %fault, "a record of failure goes back to the queue"
            );
            again.push(json!({ "itemIdentifier": message_id }));
        }
    }
    json!({ "batchItemFailures": again })
}

/// Ends the uploads of one event as failed.
async fn end(caretaker: &Caretaker, given_up_event: &GivenUp, request_id: &str) -> Result<(), Fault> {
    let resources = &caretaker.resources;
    let (table, results) = (resources.leaderboards().await, resources.results().await);
    let signer = resources.signer().await;
    for upload in &given_up_event.uploads {
        let first = upload.key.split('/').next().unwrap_or_default();
        let Some(hosted) = caretaker.hosted.iter().find(|hosted| hosted.id == first) else {
            let problem = format!("the key `{}` does not begin with a benchmark's id", upload.key);
            return Err(Fault::event(problem));
        };
        let benchmark = hosted.id;
        if upload.is_folder_marker() {
            continue;
        }
        if Request::is_one(benchmark, upload) {
            // A request is no submission: the organizer sees what was not scored again, and asks once more.
            tracing::error!(
                request_id,
                failed_request_id = given_up_event.request_id,
                benchmark,
                key = upload.key,
                outcome = "fault",
                error = given_up_event.error,
                "gave up a request to score again"
            );
            continue;
        }
        let program;
        let upload = match Output::parse_upload(benchmark, upload) {
            None => upload,
            Some(submission) => {
                // the event is about a program's output: the program's upload is given up
                let known = match submission {
                    Some(id) => table.submission(benchmark, &id).await?,
                    None => None,
                };
                let Some(known) = known else { continue };
                program = known.upload;
                &program
            }
        };
        if given_up_event.is_expired {
            // it is evaluated again, and a sweep ends it if that never helps
            let lambda = resources.clients().await.lambda(None);
            let evaluators = Evaluators::new(lambda, &caretaker.functions_prefix);
            evaluators.evaluate(hosted, upload).await?;
            let submission = upload.id();
            let error = &given_up_event.error;
            tracing::warn!(request_id, benchmark, %submission, error, "evaluated again, because it waited too long in the queue");
            continue;
        }
        let reason = (given_up_event.cause).reason(&given_up_event.request_id, hosted.kinds.is_empty());
        let ended = give_up(hosted, upload, reason, &table, &results, &signer).await?;
        let receipt = &ended.receipt;
        // Only extensions with kinds of uploads give anything back. The results that another
        // delivery got meanwhile still count. If this caretaker is ended here, SQS delivers the
        // record again.
        if !hosted.kinds.is_empty() && receipt.verdict.status == Ending::Failed {
            (caretaker.give_back)(&table, benchmark, upload).await?;
        }
        tracing::warn!(
            request_id,
            failed_request_id = given_up_event.request_id,
            benchmark,
            submission = %receipt.submission,
            submitter = receipt.submitter,
            outcome = receipt.verdict.status.as_str(),
            code = given_up_event.cause.code(),
            error = given_up_event.error,
            repeated = !ended.recorded,
            "given up"
        );
        let about = json!({
            "request_id": request_id, "failed_request_id": given_up_event.request_id, "submission": receipt.submission,
            "code": given_up_event.cause.code(),
        });
        emit(&resources.table, Some(benchmark), &outcome(&ended), about);
    }
    Ok(())
}

/// The end of the first of `n` equal shares of the time from `now` to `end`. Asked again for each share, so that the others get what one leaves.
fn share_of(now: SystemTime, end: SystemTime, n: usize) -> SystemTime {
    let left = end.duration_since(now).unwrap_or_default();
    now + left / u32::try_from(n.max(1)).unwrap_or(u32::MAX)
}

/// Sweeps every benchmark, each in its share of the time; all are tried before a fault is reported.
async fn sweep_all(caretaker: &Caretaker, context: &Context) -> Result<Value, Fault> {
    let resources = &caretaker.resources;
    let clients = resources.clients().await;
    let results = resources.results().await;
    let sweep = Sweep {
        s3: &clients.s3,
        submissions: &caretaker.submissions,
        table: resources.leaderboards().await,
        results: &results,
        signer: resources.signer().await,
        give_back: caretaker.give_back,
        evaluators: Evaluators::new(clients.lambda(None), &caretaker.functions_prefix),
        limits: caretaker.limits,
        notes: Notes::new(caretaker.hosted, resources.datasets().await, &results),
        request_id: &context.request_id,
    };
    let mut fault = None;
    let mut swept = serde_json::Map::new();
    let (mut n_unfinished, mut oldest_seconds) = (0, 0.0_f64);
    let end = context.deadline() - RESERVE;
    let misplaced =
        Box::pin(sweep.misplaced(share_of(SystemTime::now(), end, caretaker.hosted.len() + 1))).await;
    swept.insert("misplaced".into(), log_swept(None, &misplaced, context).into());
    for error in misplaced.faults {
        fault.get_or_insert(Fault::from(error));
    }
    // The first benchmark is chosen at random, so that none is always the last.
    let (before, first) = caretaker
        .hosted
        .split_at(fastrand::usize(..caretaker.hosted.len().max(1)));
    for (n_done, hosted) in first.iter().chain(before).enumerate() {
        let benchmark = hosted.id;
        let until = share_of(SystemTime::now(), end, caretaker.hosted.len() - n_done);
        let done = Box::pin(sweep.run(hosted, until)).await;
        log_swept(Some(benchmark), &done, context);
        if done.n_evaluated + done.n_given_up > 0 {
            let metrics = [
                ("EvaluatedAgain", done.n_evaluated as f64),
                ("Failed", done.n_given_up as f64),
            ];
            let about = json!({"request_id": context.request_id});
            emit(&resources.table, Some(benchmark), &metrics, about);
        }
        n_unfinished += done.n_unfinished;
        oldest_seconds = oldest_seconds.max(done.oldest_seconds);
        swept.insert(
            benchmark.into(),
            json!({"evaluated_again": done.n_evaluated, "given_up": done.n_given_up}),
        );
        for error in done.faults {
            fault.get_or_insert(Fault::from(error));
        }
    }
    // One line for the whole of a sweep.
    let metrics = [
        ("Unfinished", n_unfinished as f64),
        ("OldestUnfinishedSeconds", oldest_seconds),
    ];
    emit(
        &resources.table,
        None,
        &metrics,
        json!({"request_id": context.request_id}),
    );
    fault.map_or(Ok(Value::Object(swept)), Err)
}

/// Logs the result of a sweep of one benchmark, or of the keys below none, and the number of notes
/// on misplaced files.
fn log_swept(benchmark: Option<&str>, done: &Swept, context: &Context) -> usize {
    let request_id = &context.request_id;
    tracing::info!(
        request_id,
        benchmark,
        n_unfinished = done.n_unfinished,
        oldest_unfinished_seconds = done.oldest_seconds,
        n_listed = done.n_listed,
        n_evaluated = done.n_evaluated,
        n_given_up = done.n_given_up,
        n_misplaced = done.n_misplaced,
        n_faults = done.n_faults,
        is_complete = done.is_complete,
        "swept"
    );
    for error in &done.faults {
        let error = with_causes(error);
        tracing::error!(request_id, benchmark, outcome = "fault", error, "not swept");
    }
    done.n_misplaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_time_is_shared_among_the_remaining_tasks() {
        let begin = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
        let at = |seconds| begin + Duration::from_secs(seconds);
        let end = at(90);
        assert_eq!(share_of(begin, end, 9), at(10));
        // the first has used its share, and the second none
        assert_eq!(share_of(at(10), end, 8), at(20));
        assert_eq!(share_of(at(10), end, 7), at(10) + Duration::from_secs(80) / 7);
        assert_eq!(share_of(at(50), end, 1), end);
        // one that has used more than its share takes it from all that follow alike
        let mut now = at(45);
        for n in (1..=8).rev() {
            now = share_of(now, end, n);
        }
        assert_eq!(
            now.duration_since(end)
                .or_else(|left| Ok::<_, ()>(left.duration())),
            Ok(Duration::ZERO)
        );
        // if nothing is left, nobody has any
        assert_eq!(share_of(at(91), end, 4), at(91));
        assert_eq!(share_of(begin, end, 0), end);
    }
}
