//! The benchmarks' functions, started with an event as S3 starts them.

use aws_sdk_lambda::Client;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use dataperf::ports::PortError;
use dataperf::{Descriptor, Upload};

use crate::event::announcement;
use crate::fault::port_error;

/// The functions of one deployment.
#[derive(Debug, Clone)]
pub struct Evaluators {
    client: Client,
    prefix: String,
}

impl Evaluators {
    /// Functions are called `prefix` and what [`Descriptor::function_of`] says.
    pub fn new(client: Client, prefix: impl Into<String>) -> Self {
        Self {
            client,
            prefix: prefix.into(),
        }
    }

    /// Hands the event of an upload to its benchmark's function, which has it evaluated unless it has ended. Returns when
    /// Lambda has taken the event; its retries and its destination for failures are those of every event.
    ///
    /// # Errors
    /// [`PortError`] when Lambda does not take it.
    pub async fn evaluate(&self, hosted: &Descriptor, upload: &Upload) -> Result<(), PortError> {
        let function = format!("{}{}", self.prefix, hosted.function_of(&upload.key));
        let request = self
            .client
            .invoke()
            .function_name(&function)
            .invocation_type(InvocationType::Event)
            .payload(Blob::new(announcement(upload).to_string()));
        let invoked = request.send().await;
        invoked
            .map(drop)
            .map_err(|error| port_error(format!("invoking the function `{function}`"), error))
    }
}
