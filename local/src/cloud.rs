//! Starting, watching and stopping the whole.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::{Admission, Callers, Guard};
use crate::config::{AccessKey, Config, FunctionSpec, OutsideService};
use crate::data_dir::DataDir;
use crate::data_dir::private_files;
use crate::database::Database;
use crate::dynamodb::throttle::Throttling;
use crate::error::{DatabaseError, InvokeError, StartError, WaitError};
use crate::faults::exposure::Service;
use crate::faults::switches::{Faults, Gate};
use crate::host::http_function;
use crate::host::{self, Host, HostContext, Waiting};
use crate::lock::locked;
use crate::queue::Queue;
use crate::queue::failure_record::OnFailureRecord;
use crate::queue::schedule::scheduled_event;
use crate::serve::{Bounds, Port, Ports, serve};
use crate::services::kms::SigningKeys;
use crate::status::{Snapshot, Status};

/// A running local cloud; clones are handles to the same one.
///
/// Without a call of [`Self::shutdown`] it runs until its `tokio` runtime ends.
#[derive(Clone)]
pub struct LocalCloud {
    inner: Arc<Inner>,
}

struct Inner {
    /// Locked until the end, so that no second cloud works on the same directory.
    data_dir: DataDir,
    s3_endpoint: String,
    dynamodb_endpoint: String,
    lambda_endpoint: String,
    /// The addresses of services of others, by their names.
    outside: BTreeMap<&'static str, String>,
    http_endpoint: Option<String>,
    http: Mutex<Option<Port>>,
    organizer: AccessKey,
    queue: Arc<Queue>,
    status: Arc<Status>,
    throttling: Arc<Throttling>,
    #[cfg(feature = "faults")]
    faults: Arc<Faults>,
    host: Host,
    shutdown_grace: Duration,
    stop_servers: CancellationToken,
    servers: Mutex<Vec<JoinHandle<()>>>,
}

impl LocalCloud {
    /// Starts S3, `DynamoDB` and the function host, and resumes what was left on the queue.
    ///
    /// Must run inside a `tokio` runtime.
    ///
    /// # Errors
    /// [`StartError`]: a port or the data directory is in use, the data directory cannot be used, or a bucket or
    /// function is described wrongly. Each says which, and what to change.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        host::check(&config.functions)?;
        let mut owned_dir = DataDir::take(&config.data_dir)?;
        let data_dir = owned_dir.path().to_owned();
        private_files::close_to_others(&data_dir);
        let ports = Ports::open(&config).await?;

        let throttling = Arc::new(Throttling::new(config.table.as_ref()));
        let faults = Arc::new(Faults::new());
        let callers = Arc::new(Callers::new(&config));
        let guard = Guard::new(&callers);
        let status = Arc::new(Status::default());
        let index_path = data_dir.join("index.sqlite");
        let database = Arc::new(Database::open(&index_path, owned_dir.is_set_up())?);
        let queue = Arc::new(Queue::new(
            Arc::clone(&database),
            &config,
            &data_dir,
            Arc::clone(&faults),
        ));
        let store = crate::s3::open(&data_dir.join("objects"), &database, &queue, &config.buckets)?;
        let signing_keys = SigningKeys::open(&data_dir, &config.signing_aliases)?;
        let table_path = data_dir.join("dynamodb.sqlite");
        let tables = crate::dynamodb::open(&table_path, config.table.as_ref(), owned_dir.is_set_up())?;
        owned_dir.set_up()?;

        warn_of_strangers(&queue, &data_dir).await?;
        let stop_servers = CancellationToken::new();
        let table = crate::dynamodb::router(tables, &faults, &throttling, &status, guard.clone());
        let page = ports.http.as_ref().map(|port| port.hosts.clone());
        let s3_endpoint = ports.s3.endpoint.clone();
        let dynamodb_endpoint = ports.dynamodb.endpoint.clone();
        let mut servers = vec![
            tokio::spawn(serve(
                ports.s3.listener,
                Bounds::OPEN,
                Admission::s3(ports.s3.hosts, page),
                Gate::new(&faults, Service::S3, crate::s3::service(store, &callers)),
                stop_servers.clone(),
            )),
            spawn(
                ports.dynamodb,
                Some(Service::Table),
                table,
                &faults,
                &stop_servers,
            ),
        ];
        let waiting = Waiting::default();
        let lambda = crate::host::invoke::router(Arc::clone(&queue), waiting.clone(), guard.clone())
            .merge(crate::services::post::router(config.secrets, signing_keys, guard));
        let lambda_endpoint = ports.lambda.endpoint.clone();
        servers.push(spawn(
            ports.lambda,
            Some(Service::Lambda),
            lambda,
            &faults,
            &stop_servers,
        ));
        let others = ports.outside.into_iter().zip(config.outside);
        let outside = spawn_outside(others, &mut servers, &faults, &stop_servers);
        let context = HostContext {
            queue: Arc::clone(&queue),
            faults: Arc::clone(&faults),
            callers,
            status: Arc::clone(&status),
            data_dir,
            data_dir_id: owned_dir.id().to_owned(),
            s3_endpoint: s3_endpoint.clone(),
            dynamodb_endpoint: dynamodb_endpoint.clone(),
            lambda_endpoint: lambda_endpoint.clone(),
            idle_timeout: config.idle_timeout,
            stop: CancellationToken::new(),
            kill: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let inner = Inner {
            data_dir: owned_dir,
            s3_endpoint,
            dynamodb_endpoint,
            lambda_endpoint,
            outside,
            http_endpoint: ports.http.as_ref().map(|port| port.endpoint.clone()),
            http: Mutex::new(ports.http),
            organizer: config.organizer,
            queue,
            status,
            throttling,
            #[cfg(feature = "faults")]
            faults,
            host: Host::start(context, config.functions, config.schedules, &waiting),
            shutdown_grace: config.shutdown_grace,
            stop_servers,
            servers: Mutex::new(servers),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The URL of S3, such as `http://127.0.0.1:9000`.
    pub fn s3_endpoint(&self) -> &str {
        &self.inner.s3_endpoint
    }

    /// The URL of `DynamoDB`.
    pub fn dynamodb_endpoint(&self) -> &str {
        &self.inner.dynamodb_endpoint
    }

    /// The key that may do everything.
    pub fn organizer(&self) -> &AccessKey {
        &self.inner.organizer
    }

    /// The URL of a service of others, without its path; `None` when [`Config::outside`] has none of this name.
    pub fn outside(&self, name: &str) -> Option<&str> {
        self.inner.outside.get(name).map(String::as_str)
    }

    /// The URL of Lambda, of which there is Invoke, and of Secrets Manager and KMS.
    pub fn lambda_endpoint(&self) -> &str {
        &self.inner.lambda_endpoint
    }

    /// The URL of the web page, if [`Config::http_port`] is set.
    pub fn http_endpoint(&self) -> Option<&str> {
        self.inner.http_endpoint.as_deref()
    }

    /// The directory that holds all state.
    pub fn data_dir(&self) -> &Path {
        self.inner.data_dir.path()
    }

    /// The switches for faults.
    #[cfg(feature = "faults")]
    pub fn faults(&self) -> &Faults {
        &self.inner.faults
    }

    /// Lets each partition of the table and of its indexes take `units_per_second` of writes, as `DynamoDB` does with 1,000;
    /// `None` ends it. What is above is refused as `DynamoDB` refuses it.
    pub fn throttle_table(&self, units_per_second: Option<u32>) {
        self.inner.throttling.set(units_per_second);
    }

    /// How many requests to the table were refused because a partition had taken all it may.
    pub fn n_throttled(&self) -> usize {
        self.inner.throttling.n_throttled()
    }

    /// Serves `page` on the web page's port. `/metrics.json` has the version, or the counters and
    /// the functions' metrics for callers with the organizer's secret (`Authorization: Bearer
    /// SECRET`). Returns whether there was such a port without a page.
    pub fn serve_page(&self, page: Router) -> bool {
        let Some(port) = locked(&self.inner.http).take() else {
            return false;
        };
        let cloud = self.clone();
        let metrics = move |headers: HeaderMap| async move { cloud.metrics(&headers).await };
        let server = serve(
            port.listener,
            Bounds::OPEN,
            Admission::page(port.hosts),
            TowerToHyperService::new(page.route("/metrics.json", axum::routing::get(metrics))),
            self.inner.stop_servers.clone(),
        );
        locked(&self.inner.servers).push(tokio::spawn(server));
        true
    }

    /// Answers a request for `/metrics.json`. How long functions work and how much they read reveals something of hidden data and of others'
    /// submissions, and that one works reveals when; so only the organizer gets the metrics.
    async fn metrics(&self, headers: &HeaderMap) -> Response {
        let Some(sent) = headers.get(AUTHORIZATION) else {
            return axum::Json(json!({ "version": env!("CARGO_PKG_VERSION") })).into_response();
        };
        if !is_bearer(sent, &self.inner.organizer.secret) {
            let message = "only the organizer can read metrics: send `Authorization: Bearer SECRET` with the secret of \
                the cloud's key";
            let scheme = [(WWW_AUTHENTICATE, "Bearer")];
            return (StatusCode::UNAUTHORIZED, scheme, message).into_response();
        }
        match self.snapshot().await {
            Ok(snapshot) => axum::Json(snapshot).into_response(),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        }
    }

    /// A service that answers HTTP requests with a function, as API Gateway does. No trigger calls
    /// this function; it is not one of [`Config::functions`].
    ///
    /// # Errors
    /// [`StartError::Function`] when it could never run.
    pub fn http_function(&self, spec: FunctionSpec) -> Result<Router, StartError> {
        host::check(std::slice::from_ref(&spec))?;
        Ok(http_function::router(self.inner.host.synchronous(spec)))
    }

    /// Queues an invocation of `function` with `event`, as S3 does with its own; its request id.
    ///
    /// # Errors
    /// When no such function is configured, or the queue cannot be written.
    pub async fn invoke(&self, function: &str, event: &Value) -> Result<String, InvokeError> {
        if !self.inner.queue.has_function(function) {
            return Err(InvokeError::NoSuchFunction {
                function: function.to_owned(),
            });
        }
        Ok(self
            .inner
            .queue
            .invoke(function.to_owned(), event.to_string())
            .await?)
    }

    /// Queues the event of a schedule for `function` now; its request id.
    ///
    /// # Errors
    /// As [`Self::invoke`].
    pub async fn tick(&self, function: &str) -> Result<String, InvokeError> {
        self.invoke(function, &scheduled_event()).await
    }

    /// The invocations that failed for good, oldest first; each is also a file in `on-failure` of the data directory.
    ///
    /// # Errors
    /// When the queue cannot be read.
    pub async fn on_failure(&self) -> Result<Vec<OnFailureRecord>, DatabaseError> {
        self.inner.queue.on_failure().await
    }

    /// Counters and times as they are now.
    ///
    /// # Errors
    /// When the queue cannot be read.
    pub async fn snapshot(&self) -> Result<Snapshot, DatabaseError> {
        Ok(self.inner.status.snapshot(self.inner.queue.n_open().await?))
    }

    /// Waits until no invocation waits or runs, retries and delayed events included.
    ///
    /// # Errors
    /// [`WaitError::Timeout`] with what is left after `timeout`.
    pub async fn wait_idle(&self, timeout: Duration) -> Result<(), WaitError> {
        let began = Instant::now();
        let mut changes = self.inner.queue.subscribe();
        loop {
            changes.mark_unchanged();
            let n_open = self.inner.queue.n_open().await?;
            let n_running = self.inner.status.n_running();
            if n_open == 0 && n_running == 0 {
                return Ok(());
            }
            let left = timeout.saturating_sub(began.elapsed());
            if left.is_zero() {
                let n_waiting = n_open.saturating_sub(n_running);
                return Err(WaitError::Timeout {
                    n_waiting,
                    n_running,
                    seconds: timeout.as_secs_f64(),
                });
            }
            let _ = tokio::time::timeout(left, changes.changed()).await;
        }
    }

    /// Stops: hands out no more work, lets what runs end for a while, closes all ports, and frees the data directory.
    ///
    /// Unfinished work stays on the queue and runs after the next start.
    pub async fn shutdown(&self) {
        self.inner.host.stop(self.inner.shutdown_grace).await;
        self.inner.stop_servers.cancel();
        let servers = std::mem::take(&mut *locked(&self.inner.servers));
        for server in servers {
            // an error is a panic of the server, which is in the log
            let _ = server.await;
        }
        locked(&self.inner.http).take();
        self.inner.data_dir.unlock();
    }
}

/// Whether `Bearer` and `secret` were sent. Digests are compared, so that the time that it takes tells nothing of the secret.
fn is_bearer(sent: &HeaderValue, secret: &str) -> bool {
    let sent = sent.to_str().ok().and_then(|sent| sent.split_once(' '));
    sent.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .is_some_and(|(_, sent)| Sha256::digest(sent.trim()) == Sha256::digest(secret))
}

/// Serves services of others, and gives their addresses by their names. Storms don't reach them, because they are not part of the cloud.
fn spawn_outside(
    others: impl Iterator<Item = ((&'static str, Port), OutsideService)>,
    servers: &mut Vec<JoinHandle<()>>,
    faults: &Arc<Faults>,
    stop: &CancellationToken,
) -> BTreeMap<&'static str, String> {
    let mut endpoints = BTreeMap::new();
    for ((name, port), service) in others {
        endpoints.insert(name, port.endpoint.clone());
        servers.push(spawn(port, None, service.router, faults, stop));
    }
    endpoints
}

/// Serves a router to programs. `service` is the name under which faults may be injected into it; `None` lets no fault in.
fn spawn(
    port: Port,
    service: Option<Service>,
    router: Router,
    faults: &Arc<Faults>,
    stop: &CancellationToken,
) -> JoinHandle<()> {
    let (router, stop) = (TowerToHyperService::new(router), stop.clone());
    let (listener, admission) = (port.listener, Admission::programs(port.hosts));
    match service {
        Some(service) => tokio::spawn(serve(
            listener,
            Bounds::OPEN,
            admission,
            Gate::new(faults, service, router),
            stop,
        )),
        None => tokio::spawn(serve(listener, Bounds::OPEN, admission, router, stop)),
    }
}

/// Warns of queued invocations that nobody runs, because their function is not configured.
async fn warn_of_strangers(queue: &Queue, data_dir: &Path) -> Result<(), StartError> {
    let left = queue.n_by_function().await;
    let left = left.map_err(|source| StartError::Index {
        path: data_dir.join("index.sqlite"),
        source,
    })?;
    for (function, n_invocations) in left.iter().filter(|(function, _)| !queue.has_function(function)) {
        tracing::warn!(
            function,
            n_invocations,
            "invocations wait for a function that is not configured"
        );
    }
    Ok(())
}
