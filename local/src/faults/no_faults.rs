//! Replaces faults in a build without the feature `faults`: it injects none.

use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use hyper::service::Service;

use crate::faults::exposure::{EventFate, Service as ServiceKind, Shortage};

/// No faults.
#[derive(Debug)]
pub(crate) struct Faults;

#[expect(clippy::unused_self, reason = "the same calls as with faults")]
impl Faults {
    pub(crate) fn new() -> Self {
        Self
    }

    /// A process has all that the machine has.
    pub(crate) fn shortage_of(&self, _function: &str) -> Shortage {
        Shortage::default()
    }

    /// An event is delivered once and at once.
    pub(crate) fn event_fate(&self) -> EventFate {
        EventFate {
            deliveries: vec![Duration::ZERO],
            skew_ms: 0,
        }
    }

    pub(crate) fn table_writes_are_refused(&self) -> bool {
        false
    }

    pub(crate) fn events_are_held(&self) -> bool {
        false
    }

    /// Never returns.
    pub(crate) fn kill_is_due(&self, _function: &str, _process: &str) -> impl Future<Output = ()> + use<> {
        pending()
    }
}

/// A service with nothing in front.
#[derive(Clone)]
pub(crate) struct Gate<S> {
    service: S,
}

impl<S> Gate<S> {
    pub(crate) fn new(_faults: &Arc<Faults>, _kind: ServiceKind, service: S) -> Self {
        Self { service }
    }
}

impl<R, S: Service<R>> Service<R> for Gate<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, request: R) -> Self::Future {
        self.service.call(request)
    }
}
