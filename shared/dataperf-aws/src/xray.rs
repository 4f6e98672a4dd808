//! Traces for X-Ray: each span becomes a subsegment of what Lambda itself reports of the invocation.
//!
//! Lambda decides which invocations are sampled, none unless the template's `Tracing` is `Active`; of the others nothing
//! is sent. A document is one datagram to the daemon that Lambda runs beside the function, so that nothing waits for it.
//!
//! # Source
//! AWS X-Ray Developer Guide, "AWS X-Ray segment documents", "Tracing header" and "Sending segment documents to the
//! X-Ray daemon".

use std::fmt;
use std::net::UdpSocket;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Where the daemon listens; Lambda sets it.
const DAEMON_ADDRESS: &str = "AWS_XRAY_DAEMON_ADDRESS";
/// What every datagram begins with.
const PREAMBLE: &str = "{\"format\": \"json\", \"version\": 1}\n";
/// The field of the Lambda runtime's own span that has the tracing header.
const TRACING_HEADER: &str = "xrayTraceId";
/// The fields of the SDK's spans that name the service and the operation.
const SERVICE: &str = "rpc.service";
const OPERATION: &str = "rpc.method";

/// Sends spans to X-Ray's daemon.
#[derive(Debug)]
pub(crate) struct XRay {
    daemon: UdpSocket,
}

impl XRay {
    /// Sends to the daemon that Lambda names; `None` where there is none, or its address can't be used.
    pub(crate) fn from_environment() -> Option<Self> {
        Self::to(&std::env::var(DAEMON_ADDRESS).ok()?)
    }

    fn to(address: &str) -> Option<Self> {
        let any = if address.starts_with('[') {
            "[::]:0"
        } else {
            "0.0.0.0:0"
        };
        let daemon = UdpSocket::bind(any).ok()?;
        daemon.connect(address).ok()?;
        daemon.set_nonblocking(true).ok()?;
        Some(Self { daemon })
    }

    /// Whether a span is shown: the runtime's, which begins the trace, those of this project, and calls of AWS.
    pub(crate) fn shows(metadata: &Metadata<'_>) -> bool {
        let has = |name| metadata.fields().field(name).is_some();
        metadata.is_span()
            && (metadata.target().starts_with("dataperf") || has(TRACING_HEADER) || has(OPERATION))
    }
}

/// The trace, and the parent in it, of the spans within one.
#[derive(Debug, Clone, PartialEq)]
struct Place {
    trace_id: String,
    parent_id: String,
}

impl Place {
    /// The trace and parent that the tracing header of an invocation names; `None` if the invocation is not sampled.
    fn of_header(header: &str) -> Option<Self> {
        let part = |name: &str| {
            let mut parts = header.split(';').filter_map(|part| part.trim().split_once('='));
            parts
                .find(|(found, _)| *found == name)
                .map(|(_, value)| value.to_owned())
        };
        if part("Sampled").as_deref() != Some("1") {
            return None;
        }
        Some(Self {
            trace_id: part("Root")?,
            parent_id: part("Parent")?,
        })
    }
}

/// The document of a span that has not ended.
struct Open(Map<String, Value>);

impl Open {
    fn new(name: &str, mut fields: Fields, place: &Place, id: &str) -> Self {
        let mut document = Map::new();
        let service = fields.take(SERVICE);
        if let Some(operation) = fields.take(OPERATION) {
            document.insert("namespace".into(), "aws".into());
            document.insert("aws".into(), json!({ "operation": operation }));
        } else if !fields.0.is_empty() {
            document.insert("annotations".into(), Value::Object(fields.0));
        }
        document.insert("name".into(), service.unwrap_or_else(|| name.into()));
        document.insert("id".into(), id.into());
        document.insert("trace_id".into(), place.trace_id.as_str().into());
        document.insert("parent_id".into(), place.parent_id.as_str().into());
        document.insert("type".into(), "subsegment".into());
        document.insert("start_time".into(), seconds_since_1970().into());
        Self(document)
    }

    fn close(mut self) -> String {
        self.0.insert("end_time".into(), seconds_since_1970().into());
        format!("{PREAMBLE}{}", Value::Object(self.0))
    }
}

fn seconds_since_1970() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs_f64()
}

/// A span's fields as JSON.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().into(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().into(), value.into());
    }
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for XRay {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(header) = fields.take(TRACING_HEADER) {
            if let Some(place) = header.as_str().and_then(Place::of_header) {
                span.extensions_mut().insert(place);
            }
            return;
        }
        let around = span
            .parent()
            .and_then(|parent| parent.extensions().get::<Place>().cloned());
        let Some(around) = around else { return };
        let id = format!("{:016x}", fastrand::u64(..));
        let mut extensions = span.extensions_mut();
        extensions.insert(Open::new(span.name(), fields, &around, &id));
        extensions.insert(Place {
            parent_id: id,
            ..around
        });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let open = context
            .span(&id)
            .and_then(|span| span.extensions_mut().remove::<Open>());
        if let Some(open) = open {
            // A trace that can't be sent is no reason to do anything else differently.
            let _ = self.daemon.send(open.close().as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing::{debug_span, info_span};
    use tracing_subscriber::filter::filter_fn;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    const HEADER: &str =
        "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=a:1";

    /// The documents that arrive while `work` runs.
    fn documents(work: impl FnOnce()) -> Vec<Value> {
        let daemon = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = daemon.local_addr().expect("it is bound").to_string();
        let xray = XRay::to(&address).expect("an address");
        let subscriber = tracing_subscriber::registry().with(xray.with_filter(filter_fn(XRay::shows)));
        tracing::subscriber::with_default(subscriber, work);
        daemon.set_nonblocking(true).expect("a socket"); // on one machine what was sent is there
        let mut documents = Vec::new();
        let mut datagram = vec![0; 65536];
        while let Ok(n_bytes) = daemon.recv(&mut datagram) {
            let text = std::str::from_utf8(&datagram[..n_bytes]).expect("text");
            let document = text.strip_prefix(PREAMBLE).expect("the daemon's format");
            documents.push(serde_json::from_str(document).expect("JSON"));
        }
        documents
    }

    fn invocation(header: &str) {
        let invocation = info_span!("Lambda runtime invoke", requestId = "r", xrayTraceId = header).entered();
        let submission = info_span!("submission", benchmark = "speech-selection", n = 7_u64).entered();
        let foreign = info_span!(target: "hyper", "foreign").entered();
        let call = debug_span!(target: "aws_sdk_s3", "S3.GetObject", "rpc.service" = "S3", "rpc.method" = "GetObject", other = 1);
        drop((call, foreign, submission, invocation));
    }

    #[test]
    fn spans_hang_below_the_invocation() {
        let sent = documents(|| invocation(HEADER));
        let [call, submission] = &sent[..] else {
            panic!("two subsegments: the invocation itself is Lambda's")
        };
        assert_eq!(
            (&submission["name"], &submission["annotations"]),
            (
                &json!("submission"),
                &json!({"benchmark": "speech-selection", "n": 7})
            )
        );
        assert_eq!(submission["parent_id"], "53995c3f42cd8ad8");
        assert_eq!(
            (&call["name"], &call["namespace"], &call["aws"]),
            (&json!("S3"), &json!("aws"), &json!({"operation": "GetObject"}))
        );
        assert_eq!(
            call["parent_id"], submission["id"],
            "what is not shown is left out"
        );
        for document in [call, submission] {
            assert_eq!(document["type"], "subsegment");
            assert_eq!(document["trace_id"], "1-5759e988-bd862e3fe1be46a994272793");
            assert_eq!(document["id"].as_str().map(str::len), Some(16));
            assert!(document["start_time"].as_f64() <= document["end_time"].as_f64());
        }
        assert!(submission["end_time"].as_f64() >= call["end_time"].as_f64());
    }

    #[test]
    fn what_is_not_sampled_is_not_sent() {
        assert_eq!(
            documents(|| invocation(&HEADER.replace("Sampled=1", "Sampled=0"))),
            [Value::Null; 0]
        );
        assert_eq!(documents(|| invocation("Root=1-0-0;Sampled=1")), [Value::Null; 0]);
        assert_eq!(
            documents(|| drop(info_span!("outside").entered())),
            [Value::Null; 0]
        );
    }

    #[test]
    fn an_address_that_is_none_is_ignored() {
        assert!(XRay::to("nowhere").is_none());
    }
}
