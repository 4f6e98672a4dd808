//! The benchmarks' functions, started with an event as S3 starts them.

use dataperf::board::Board;
use dataperf::closing::finishing::FinishRequest;
use dataperf::ports::PortError;
use dataperf::programs::ProgramRequest;
use dataperf::{Descriptor, Upload};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::boards::comparisons::CompareRequest;
use crate::bucket::signed::Addresses;
use crate::events::fault::Fault;
use crate::events::s3_event::announcement;
use crate::sdk::port_error::port_error;
use crate::sdk::service::{Post, Service};

/// The name of the function that runs programs, without the prefix that the names of all functions of a deployment share.
pub(crate) const PROGRAMS: &str = "closed";

/// The member of an event that has the request to run a program.
const PROGRAM: &str = "program";

/// The member of an event that asks what holds programs.
pub const PROBE: &str = "probe";

/// All but the characters that RFC 3986 leaves unreserved, which the SDK's clients leave as they are too.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The functions of one deployment.
#[derive(Debug, Clone)]
pub struct Evaluators {
    lambda: Service,
    prefix: String,
}

impl Evaluators {
    /// The functions whose names are `prefix` followed by what [`Descriptor::function_of`] says.
    pub fn new(lambda: Service, prefix: impl Into<String>) -> Self {
        Self {
            lambda,
            prefix: prefix.into(),
        }
    }

    /// Hands the event of an upload to its benchmark's function, which evaluates the upload unless
    /// it has ended. Returns when Lambda has accepted the event; retries and failures are handled
    /// as for every event.
    ///
    /// # Errors
    /// [`PortError`] when Lambda does not take it.
    pub async fn evaluate(&self, hosted: &Descriptor, upload: &Upload) -> Result<(), PortError> {
        announce(&self.lambda, &self.function_of(hosted, &upload.key), upload).await
    }

    /// Asks the benchmark's function to write and compare a board's rows.
    ///
    /// # Errors
    /// [`PortError`] when Lambda does not take it.
    pub async fn compare(&self, hosted: &Descriptor, board: &Board) -> Result<(), PortError> {
        let request = CompareRequest {
            leaderboard: board.leaderboard.clone(),
            round: board.round.clone(),
        };
        let event = serde_json::json!({ "compare": request });
        let function = self.function_of(hosted, &format!("{}/{}/", hosted.id, board.leaderboard));
        invoke(&self.lambda, &function, event).await
    }

    /// Asks a benchmark's function to finish rounds that have closed.
    ///
    /// # Errors
    /// [`PortError`] when Lambda does not take it.
    pub async fn finish(&self, hosted: &Descriptor, request: &FinishRequest) -> Result<(), PortError> {
        let event = serde_json::json!({ "finish": request });
        let function = self.function_of(hosted, &format!("{}/", hosted.id));
        invoke(&self.lambda, &function, event).await
    }

    /// Asks the function that runs programs which layers confine them, and waits for its answer.
    ///
    /// # Errors
    /// [`PortError`] when there is no such function, or it does not answer.
    pub async fn probe_programs(&self) -> Result<serde_json::Value, PortError> {
        let function = format!("{}{PROGRAMS}", self.prefix);
        let subject = || format!("asking the function `{function}`");
        let request = Post {
            operation: "Invoke",
            path: path_of(&function),
            headers: vec![("x-amz-invocation-type", "RequestResponse")],
            body: serde_json::json!({ PROBE: true }).to_string(),
        };
        let answer = self.lambda.post(request).await;
        let answer = answer.map_err(|error| port_error(subject(), error))?;
        serde_json::from_slice(&answer).map_err(|error| PortError::Malformed {
            subject: subject(),
            why: error.to_string(),
        })
    }

    fn function_of(&self, hosted: &Descriptor, key: &str) -> String {
        format!("{}{}", self.prefix, hosted.function_of(key))
    }
}

/// Hands the event of an upload to a function. Returns when Lambda has taken it.
pub(crate) async fn announce(lambda: &Service, function: &str, upload: &Upload) -> Result<(), PortError> {
    invoke(lambda, function, announcement(upload)).await
}

/// Requests a run of an upload from the function that runs programs. The event extends the upload's
/// event by the request and the addresses to read and write. A run that is given up is therefore
/// recognized as the upload's. Returns when Lambda has accepted it.
pub(crate) async fn ask_for_run(
    lambda: &Service,
    function: &str,
    upload: &Upload,
    request: &ProgramRequest,
    addresses: &Addresses,
) -> Result<(), PortError> {
    let mut event = announcement(upload);
    event[PROGRAM] = serde_json::json!(request);
    event[Addresses::EVENT] = addresses.packed()?.into();
    invoke(lambda, function, event).await
}

/// The request in an event to run a program; `None` if the event has none.
///
/// # Errors
/// [`Fault`] of a request of another form.
pub fn program_request(event: &serde_json::Value) -> Result<Option<ProgramRequest>, Fault> {
    let request = event.get(PROGRAM);
    let request = request.map(|request| serde_json::from_value(request.clone()));
    request
        .transpose()
        .map_err(|error| Fault::event(error.to_string()))
}

async fn invoke(lambda: &Service, function: &str, event: serde_json::Value) -> Result<(), PortError> {
    let invoke = Post {
        operation: "Invoke",
        path: path_of(function),
        headers: vec![
            ("content-type", "application/octet-stream"),
            ("x-amz-invocation-type", "Event"),
        ],
        body: event.to_string(),
    };
    let invoked = lambda.post(invoke).await;
    invoked
        .map(drop)
        .map_err(|error| port_error(format!("invoking the function `{function}`"), error))
}

/// The endpoint that invokes a function.
fn path_of(function: &str) -> String {
    let function = utf8_percent_encode(function, RESERVED);
    format!("/2015-03-31/functions/{function}/invocations")
}
