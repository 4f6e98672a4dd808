//! Faults that a test may switch on: what clouds do on bad days.
//!
//! Kills are counted in requests, not in milliseconds, so that a test hits the same moments on every machine.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Request;
use hyper::service::Service;
use tokio::sync::broadcast;

use crate::faults::exposure::{EventFate, Service as ServiceKind, Shortage};
use crate::faults::injection::Replaceable;
use crate::faults::storm::{Injection, Storm, Storms};
use crate::lock::locked;

/// Identifies the requests of one process: the session token of its credentials, in a header or in
/// the query of a presigned request. A process without rights sends requests that another one
/// signed, and names itself.
const TOKEN_HEADER: &str = "x-amz-security-token";
const TOKEN_PARAMETER: &str = "X-Amz-Security-Token";
const WITHOUT_RIGHTS: &str = "dataperf ";

/// A moment in the runs of a function: the number of its request to S3, `DynamoDB` or Lambda, the
/// first being 1. A read changes nothing, so the moments of the writes cover every state that a
/// kill can leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The request is made and has no effect.
    Before(usize),
    /// The request has its effect, and its answer never arrives.
    After(usize),
    /// As [`Self::Before`], counted in the requests that write.
    BeforeWrite(usize),
    /// As [`Self::After`], counted in the requests that write.
    AfterWrite(usize),
}

impl Moment {
    /// One moment for each state that a kill can leave, without end: before the first write, and after each write. A kill before a
    /// later write leaves the same state as a kill after the preceding write.
    pub fn of_writes() -> impl Iterator<Item = Self> {
        std::iter::once(Self::BeforeWrite(1)).chain((1..).map(Self::AfterWrite))
    }
}

/// Switches for faults; all off at first, and each holds until it is switched back.
#[derive(Debug)]
pub struct Faults {
    refuse_table_writes: AtomicBool,
    n_deliveries: AtomicUsize,
    event_delay_ms: AtomicU64,
    events_held: AtomicBool,
    kill_plans: Mutex<BTreeMap<String, KillPlan>>,
    kills: broadcast::Sender<Kill>,
    storms: Storms,
    shortages: Mutex<BTreeMap<String, Shortage>>,
}

#[derive(Debug)]
struct KillPlan {
    n_requests: usize,
    at: Moment,
    repeats: bool,
}

#[derive(Debug, Clone)]
enum Kill {
    Function(String),
    Process(String),
}

/// The fate of a request.
#[derive(Debug, PartialEq)]
enum Passage {
    Free,
    /// The process is killed before the request has an effect.
    RequestLost(String),
    /// The process is killed after it.
    AnswerLost(String),
    /// A storm injects a fault.
    Injected(Injection),
}

impl Faults {
    pub(crate) fn new() -> Self {
        Self {
            refuse_table_writes: AtomicBool::new(false),
            n_deliveries: AtomicUsize::new(1),
            event_delay_ms: AtomicU64::new(0),
            events_held: AtomicBool::new(false),
            kill_plans: Mutex::new(BTreeMap::new()),
            kills: broadcast::Sender::new(1024),
            storms: Storms::default(),
            shortages: Mutex::default(),
        }
    }

    /// Answers every write to a table with `ProvisionedThroughputExceededException`, which clients retry.
    pub fn refuse_table_writes(&self, refuse: bool) {
        self.refuse_table_writes.store(refuse, Ordering::SeqCst);
    }

    /// Delivers each event of a new object `n_deliveries` times, as separate invocations; 1 is the normal state.
    pub fn duplicate_events(&self, n_deliveries: usize) {
        self.n_deliveries.store(n_deliveries, Ordering::SeqCst);
    }

    /// Delays each event of a new object by `delay`.
    pub fn delay_events(&self, delay: Duration) {
        self.event_delay_ms.store(
            u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            Ordering::SeqCst,
        );
    }

    /// Hands no event out while it holds.
    pub fn hold_events(&self, hold: bool) {
        self.events_held.store(hold, Ordering::SeqCst);
    }

    /// Kills every process of `function` that runs an invocation now.
    pub fn kill_running(&self, function: &str) {
        self.kill(Kill::Function(function.to_owned()));
    }

    /// Kills a process of `function` once, at `moment`, for which the requests of all its processes from now on are counted.
    pub fn kill_at(&self, function: &str, moment: Moment) {
        self.plan(function, moment, false);
    }

    /// Kills a process of `function` at every `n`-th request from now on.
    pub fn kill_at_every(&self, function: &str, n: usize) {
        self.plan(function, Moment::Before(n), true);
    }

    /// Cancels the planned kills of `function`; whether there was a plan with kills still to come.
    pub fn kill_no_more(&self, function: &str) -> bool {
        locked(&self.kill_plans).remove(function).is_some()
    }

    fn plan(&self, function: &str, at: Moment, repeats: bool) {
        let plan = KillPlan {
            n_requests: 0,
            at,
            repeats,
        };
        locked(&self.kill_plans).insert(function.to_owned(), plan);
    }

    /// Lets a storm begin, or end with `None`.
    pub fn storm(&self, storm: Option<Storm>) {
        self.storms.set(storm);
    }

    /// Makes memory or disk short for the processes of `function` that start from now on.
    pub fn shortage(&self, function: &str, shortage: Shortage) {
        locked(&self.shortages).insert(function.to_owned(), shortage);
    }

    pub(crate) fn shortage_of(&self, function: &str) -> Shortage {
        let drawn = self.storms.shortage();
        drawn.unwrap_or_else(|| locked(&self.shortages).get(function).copied().unwrap_or_default())
    }

    /// How many faults of each kind storms have injected.
    pub fn injected(&self) -> BTreeMap<&'static str, usize> {
        self.storms.injected()
    }

    /// The fate of the next event of a new object.
    pub(crate) fn event_fate(&self) -> EventFate {
        self.storms.fate().unwrap_or_else(|| EventFate {
            deliveries: vec![self.event_delay(); self.n_deliveries()],
            skew_ms: 0,
        })
    }

    pub(crate) fn table_writes_are_refused(&self) -> bool {
        self.refuse_table_writes.load(Ordering::SeqCst)
    }

    fn n_deliveries(&self) -> usize {
        self.n_deliveries.load(Ordering::SeqCst)
    }

    fn event_delay(&self) -> Duration {
        Duration::from_millis(self.event_delay_ms.load(Ordering::SeqCst))
    }

    pub(crate) fn events_are_held(&self) -> bool {
        self.events_held.load(Ordering::SeqCst)
    }

    /// Returns when `process` of `function` is to be killed; never if no fault asks for it. Listens from this call on.
    pub(crate) fn kill_is_due(&self, function: &str, process: &str) -> impl Future<Output = ()> + use<> {
        let mut kills = self.kills.subscribe();
        let (function, process) = (function.to_owned(), process.to_owned());
        async move {
            loop {
                match kills.recv().await {
                    Ok(Kill::Function(killed)) if killed == function => return,
                    Ok(Kill::Process(killed)) if killed == process => return,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
                }
            }
        }
    }

    fn kill(&self, kill: Kill) {
        // sending fails only when no process runs
        let _ = self.kills.send(kill);
    }

    /// Counts a request by its session token, and says what becomes of it.
    fn passage(&self, token: Option<&str>, kind: ServiceKind, writes: bool) -> Passage {
        let Some((function, process)) = token.and_then(|token| token.split_once('/')) else {
            return Passage::Free;
        };
        match self.storms.injection(kind) {
            Some(Injection::KillBefore) => return Passage::RequestLost(process.to_owned()),
            Some(Injection::KillAfter) => return Passage::AnswerLost(process.to_owned()),
            Some(injection) => return Passage::Injected(injection),
            None => {}
        }
        let mut plans = locked(&self.kill_plans);
        let Some(plan) = plans.get_mut(function) else {
            return Passage::Free;
        };
        let (n, counts) = match plan.at {
            Moment::Before(n) | Moment::After(n) => (n, true),
            Moment::BeforeWrite(n) | Moment::AfterWrite(n) => (n, writes),
        };
        plan.n_requests += usize::from(counts);
        if !counts || plan.n_requests != n {
            return Passage::Free;
        }
        let passage = match plan.at {
            Moment::Before(_) | Moment::BeforeWrite(_) => Passage::RequestLost(process.to_owned()),
            Moment::After(_) | Moment::AfterWrite(_) => Passage::AnswerLost(process.to_owned()),
        };
        if plan.repeats {
            plan.n_requests = 0;
        } else {
            plans.remove(function);
        }
        passage
    }
}

/// The session token that a request comes with.
fn token_of<B>(request: &Request<B>) -> Option<Cow<'_, str>> {
    let header = request.headers().get(TOKEN_HEADER);
    if let Some(token) = header.and_then(|token| token.to_str().ok()) {
        return Some(token.into());
    }
    let agent = request.headers().get(http::header::USER_AGENT);
    let agent = agent.and_then(|agent| agent.to_str().ok()?.strip_prefix(WITHOUT_RIGHTS));
    if let Some(agent) = agent {
        return Some(agent.into());
    }
    let query = request.uri().query()?.as_bytes();
    let mut parameters = form_urlencoded::parse(query);
    parameters
        .find(|(name, _)| name == TOKEN_PARAMETER)
        .map(|(_, token)| token)
}

/// Whether a request is one that may change what is stored.
fn writes<B>(request: &Request<B>, kind: ServiceKind) -> bool {
    const READS: [&str; 5] = ["GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"];
    match kind {
        ServiceKind::S3 => !request.method().is_safe(),
        ServiceKind::Lambda => true,
        ServiceKind::Table => {
            let target = request.headers().get("x-amz-target");
            let operation = target
                .and_then(|target| target.to_str().ok())
                .and_then(|target| target.rsplit_once('.'));
            operation.is_none_or(|(_, operation)| !READS.contains(&operation))
        }
    }
}

/// A service with the faults in front.
#[derive(Clone)]
pub(crate) struct Gate<S> {
    faults: Arc<Faults>,
    kind: ServiceKind,
    service: S,
}

impl<S> Gate<S> {
    pub(crate) fn new(faults: &Arc<Faults>, kind: ServiceKind, service: S) -> Self {
        Self {
            faults: Arc::clone(faults),
            kind,
            service,
        }
    }
}

impl<S, B> Service<Request<B>> for Gate<S>
where
    S: Service<Request<B>>,
    S::Future: Send + 'static,
    S::Response: Replaceable + Send,
    S::Error: Send,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn call(&self, request: Request<B>) -> Self::Future {
        let faults = Arc::clone(&self.faults);
        let kind = self.kind;
        let passage = faults.passage(token_of(&request).as_deref(), kind, writes(&request, kind));
        let answer = self.service.call(request);
        Box::pin(async move {
            let killed = match passage {
                Passage::Free => return answer.await,
                Passage::Injected(injection) => {
                    return crate::faults::injection::inject(injection, kind, answer).await;
                }
                Passage::RequestLost(process) => process,
                Passage::AnswerLost(process) => {
                    let _ = answer.await;
                    process
                }
            };
            faults.kill(Kill::Process(killed));
            // the connection ends with the process
            std::future::pending().await
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn passage(faults: &Faults, token: &str) -> Passage {
        faults.passage(Some(token), ServiceKind::S3, true)
    }

    #[test]
    fn a_kill_hits_only_its_planned_request() {
        let faults = Faults::new();
        faults.kill_at("f", Moment::After(2));
        assert_eq!(passage(&faults, "f/1"), Passage::Free);
        assert_eq!(passage(&faults, "other/1"), Passage::Free);
        assert_eq!(faults.passage(None, ServiceKind::S3, true), Passage::Free);
        assert_eq!(passage(&faults, "f/2"), Passage::AnswerLost("2".into()));
        assert_eq!(passage(&faults, "f/1"), Passage::Free);
        assert!(!faults.kill_no_more("f"), "it came to its end");
    }

    #[test]
    fn moments_of_writes_are_counted_in_writes() {
        let faults = Faults::new();
        faults.kill_at("f", Moment::BeforeWrite(2));
        for writes in [true, false, false] {
            assert_eq!(
                faults.passage(Some("f/1"), ServiceKind::S3, writes),
                Passage::Free
            );
        }
        let killed = faults.passage(Some("f/1"), ServiceKind::S3, true);
        assert_eq!(killed, Passage::RequestLost("1".into()));
        let first: Vec<Moment> = Moment::of_writes().take(3).collect();
        assert_eq!(
            first,
            [
                Moment::BeforeWrite(1),
                Moment::AfterWrite(1),
                Moment::AfterWrite(2)
            ]
        );
    }

    #[test]
    fn reads_are_recognized_by_method_or_operation() {
        for (method, is_write) in [
            ("GET", false),
            ("HEAD", false),
            ("PUT", true),
            ("POST", true),
            ("DELETE", true),
        ] {
            let request = Request::builder().method(method).body(()).unwrap();
            assert_eq!(writes(&request, ServiceKind::S3), is_write, "{method}");
        }
        for (operation, is_write) in [
            ("Query", false),
            ("GetItem", false),
            ("TransactWriteItems", true),
            ("UpdateItem", true),
        ] {
            let target = format!("DynamoDB_20120810.{operation}");
            let request = Request::post("/")
                .header("x-amz-target", target)
                .body(())
                .unwrap();
            assert_eq!(writes(&request, ServiceKind::Table), is_write, "{operation}");
        }
    }

    #[test]
    fn presigned_requests_are_known_by_their_query() {
        let signed = Request::builder().header(TOKEN_HEADER, "f/1").body(()).unwrap();
        assert_eq!(token_of(&signed).as_deref(), Some("f/1"));
        let presigned = Request::get("/b/k?x-id=GetObject&X-Amz-Security-Token=f%2F1&X-Amz-Signature=0");
        assert_eq!(token_of(&presigned.body(()).unwrap()).as_deref(), Some("f/1"));
        let by_another = Request::get("/b/k?X-Amz-Security-Token=f%2F1").header("user-agent", "dataperf g/2");
        assert_eq!(token_of(&by_another.body(()).unwrap()).as_deref(), Some("g/2"));
        assert_eq!(token_of(&Request::get("/b/k").body(()).unwrap()), None);
    }

    #[test]
    fn repeated_kills_continue_until_revoked() {
        let faults = Faults::new();
        faults.kill_at_every("f", 2);
        let lost = (0..6)
            .filter(|_| passage(&faults, "f/1") == Passage::RequestLost("1".into()))
            .count();
        assert_eq!(lost, 3);
        assert!(faults.kill_no_more("f"));
        assert_eq!(passage(&faults, "f/1"), Passage::Free);
    }
}
