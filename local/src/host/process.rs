//! A process of a function and the invocations it runs.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use super::HostContext;
use super::leftovers::{OWNER, remove_dir};
use super::log::Log;
use super::runtime_api::{RuntimeApi, Work};
use crate::access::{Callers, Rights};
use crate::arns::{REGION, function_arn};
use crate::config::FunctionSpec;
use crate::database::now_ms;
use crate::faults::exposure::{Shortage, token};
use crate::faults::switches::Faults;
use crate::ids;
use crate::queue::Queued;
use crate::queue::failure_record::FunctionError;

/// How long a process may take until it first asks for work, as in AWS.
const INIT_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait for an answer that was sent before its process ended.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// With its answer, which only a caller that waits for it wants.
    Succeeded(Bytes),
    Failed(FunctionError),
    /// The process was gone before it took the work.
    Undelivered,
    /// The host stops.
    Abandoned,
}

/// A running process.
pub(crate) struct Process {
    id: String,
    spec: Arc<FunctionSpec>,
    callers: Arc<Callers>,
    child: Child,
    api: RuntimeApi,
    log: Log,
    dir: PathBuf,
    started: Instant,
    init_time: Option<Duration>,
    is_ready: bool,
    is_over: bool,
    handed_out_at: Option<Instant>,
}

impl Process {
    /// Starts the binary with the environment that Lambda gives, a working directory and a log of its own.
    pub(crate) async fn start(context: &HostContext, spec: Arc<FunctionSpec>) -> std::io::Result<Self> {
        let id = ids::fresh();
        let api = RuntimeApi::start().await?;
        let dir = context.data_dir.join("functions").join(&spec.name).join(&id);
        std::fs::create_dir_all(&dir)?;
        let log_file = context
            .data_dir
            .join("logs")
            .join(&spec.name)
            .join(format!("{id}.log"));
        let log = Log::create(&log_file, &spec.name, &context.status).inspect_err(|_| remove_dir(&dir))?;
        let secret = ids::fresh();
        let policy = spec.policy.clone().map(Arc::new);
        let rights = policy.map_or(Rights::All, Rights::These);
        context.callers.add(&access_key(&spec.name, &id), &secret, rights);
        let started = Instant::now();
        let shortage = context.faults.shortage_of(&spec.name);
        let mut command = Command::new(&spec.binary);
        command
            .env_clear()
            .envs(environment(context, &spec, &api, &dir, &id, &secret))
            .env(OWNER, &context.data_dir_id)
            .envs(without_reserve(shortage))
            .current_dir(&dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // an interrupt from the terminal is for the host alone, which lets invocations end
            .process_group(0)
            .kill_on_drop(true);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                remove_dir(&dir);
                let _ = std::fs::remove_file(&log_file); // it is empty, and there may be many such tries
                context.callers.end(&access_key(&spec.name, &id));
                return Err(error);
            }
        };
        limit(child.id(), shortage);
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(log.clone().follow(stdout));
        }
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(log.clone().follow(stderr));
        }
        Ok(Self {
            id,
            spec,
            callers: Arc::clone(&context.callers),
            child,
            api,
            log,
            dir,
            started,
            init_time: None,
            is_ready: false,
            is_over: false,
            handed_out_at: None,
        })
    }

    /// Runs one invocation to its end, at the latest at the time limit.
    pub(crate) async fn invoke(&mut self, job: &Queued, faults: &Faults) -> Outcome {
        self.handed_out_at = None;
        let kill = faults.kill_is_due(&self.spec.name, &self.id);
        tokio::pin!(kill);
        if !self.is_ready {
            let exit = tokio::select! {
                biased;
                () = self.api.ready() => None,
                status = self.child.wait() => Some(exit_message(status)),
                () = tokio::time::sleep(INIT_LIMIT) => Some(format!("not ready after {} s", INIT_LIMIT.as_secs())),
                () = &mut kill => Some("signal: killed".to_owned()),
            };
            if let Some(message) = exit {
                self.kill().await;
                let reported = self.api.init_error();
                return Outcome::Failed(reported.unwrap_or_else(|| exit_error(job, &message)));
            }
            self.is_ready = true;
            self.init_time = Some(self.started.elapsed());
        }
        self.log
            .line(&format!("START RequestId: {} Version: $LATEST", job.request_id));
        self.handed_out_at = Some(Instant::now());
        let (answer, mut answered) = oneshot::channel();
        let limit = self.spec.timeout;
        self.api.offer(Work {
            request_id: job.request_id.clone(),
            payload: job.payload.clone(),
            deadline_ms: now_ms().saturating_add(i64::try_from(limit.as_millis()).unwrap_or(i64::MAX)),
            function_arn: function_arn(&self.spec.name),
            answer,
        });
        let failed = tokio::select! {
            biased;
            Ok(outcome) = &mut answered => return outcome.map_or_else(Outcome::Failed, Outcome::Succeeded),
            status = self.child.wait() => exit_error(job, &exit_message(status)),
            () = tokio::time::sleep(limit) => timeout_error(job, limit),
            () = &mut kill => {
                self.kill().await;
                exit_error(job, "signal: killed")
            }
        };
        self.kill().await;
        if self.api.withdraw() {
            return Outcome::Undelivered;
        }
        // an answer that was sent before the end counts
        match tokio::time::timeout(LAST_WORDS, answered).await {
            Ok(Ok(outcome)) => outcome.map_or_else(Outcome::Failed, Outcome::Succeeded),
            _ => Outcome::Failed(failed),
        }
    }

    /// Returns when the process ends by itself.
    pub(crate) async fn ended(&mut self) {
        let _ = self.child.wait().await;
        self.is_over = true;
    }

    /// Ends the process and waits until it is gone.
    pub(crate) async fn kill(&mut self) {
        self.is_over = true;
        if let Err(error) = self.child.kill().await {
            tracing::debug!(function = self.spec.name, %error, "the process was gone already");
        }
    }

    /// Whether the process is gone.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// When the invocation was handed to the process.
    pub(crate) fn handed_out_at(&self) -> Option<Instant> {
        self.handed_out_at
    }

    /// The time from the process's start to its first request for work; only the first call gets it.
    pub(crate) fn take_init_time(&mut self) -> Option<Duration> {
        self.init_time.take()
    }

    /// The most memory that the process held so far; 0 where the system does not tell.
    pub(crate) fn peak_memory_kib(&self) -> u64 {
        let Some(pid) = self.child.id() else { return 0 };
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
            .unwrap_or(0)
    }

    /// Ends the invocation's part of the log, in Lambda's words.
    pub(crate) fn report(&self, job: &Queued, duration: Duration, peak_kib: u64) {
        let id = &job.request_id;
        let ms = duration.as_secs_f64() * 1e3;
        let (limit_mb, peak_mb) = (self.spec.memory_mb, peak_kib.div_ceil(1024));
        self.log.line(&format!("END RequestId: {id}"));
        self.log.line(&format!(
            "REPORT RequestId: {id}\tDuration: {ms:.2} ms\tMemory Size: {limit_mb} MB\tMax Memory Used: {peak_mb} MB"
        ));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.callers.end(&access_key(&self.spec.name, &self.id));
        remove_dir(&self.dir);
    }
}

/// The access key of one process. It outlives the process for a while.
fn access_key(function: &str, id: &str) -> String {
    format!("{function}.{id}")
}

/// Keeps the allocator of a process from reserving 1 GiB before its memory is limited.
fn without_reserve(shortage: Shortage) -> Option<(&'static str, &'static str)> {
    shortage.memory_bytes.map(|_| ("MIMALLOC_ARENA_RESERVE", "0"))
}

/// Makes what the process may use as short as a fault says.
#[cfg(all(feature = "faults", target_os = "linux"))]
fn limit(pid: Option<u32>, shortage: Shortage) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let limits = [
        (Resource::Data, shortage.memory_bytes),
        (Resource::Fsize, shortage.file_bytes),
    ];
    for (resource, bytes) in limits {
        if let (Some(pid), Some(bytes)) = (pid, bytes) {
            let limit = Rlimit {
                current: Some(bytes),
                maximum: Some(bytes),
            };
            if let Err(error) = prlimit(Some(pid), resource, limit) {
                tracing::warn!(%error, ?resource, "cannot limit a process");
            }
        }
    }
}

/// Other systems cannot limit another process, and without faults nothing is short.
#[cfg(not(all(feature = "faults", target_os = "linux")))]
fn limit(_pid: Option<u32>, _shortage: Shortage) {}

/// The variables of a function; the caller's come last.
fn environment(
    context: &HostContext,
    spec: &FunctionSpec,
    api: &RuntimeApi,
    dir: &Path,
    id: &str,
    secret: &str,
) -> Vec<(String, String)> {
    let task_root = spec
        .binary
        .parent()
        .unwrap_or(Path::new("/"))
        .display()
        .to_string();
    let dir = dir.display().to_string();
    let lambda = [
        ("AWS_LAMBDA_RUNTIME_API", api.url.clone()),
        ("AWS_LAMBDA_FUNCTION_NAME", spec.name.clone()),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", spec.memory_mb.to_string()),
        ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".to_owned()),
        ("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{}", spec.name)),
        ("AWS_LAMBDA_LOG_STREAM_NAME", id.to_owned()),
        ("AWS_ENDPOINT_URL_S3", context.s3_endpoint.clone()),
        ("AWS_ENDPOINT_URL_DYNAMODB", context.dynamodb_endpoint.clone()),
        ("AWS_ENDPOINT_URL_LAMBDA", context.lambda_endpoint.clone()),
        ("AWS_ENDPOINT_URL_KMS", context.lambda_endpoint.clone()),
        (
            "AWS_ENDPOINT_URL_SECRETS_MANAGER",
            context.lambda_endpoint.clone(),
        ),
        ("AWS_ACCESS_KEY_ID", access_key(&spec.name, id)),
        ("AWS_SECRET_ACCESS_KEY", secret.to_owned()),
        ("AWS_SESSION_TOKEN", token(&spec.name, id)),
        ("AWS_REGION", REGION.to_owned()),
        ("AWS_DEFAULT_REGION", REGION.to_owned()),
        ("_HANDLER", "bootstrap".to_owned()),
        ("LAMBDA_TASK_ROOT", task_root),
        ("TMPDIR", dir),
        ("TZ", ":UTC".to_owned()),
        ("LANG", "en_US.UTF-8".to_owned()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
    ];
    let own = spec
        .environment
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()));
    lambda
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .chain(own)
        .collect()
}

fn exit_message(status: std::io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    }
}

fn exit_error(job: &Queued, message: &str) -> FunctionError {
    let message = format!(
        "RequestId: {} Error: Runtime exited with error: {message}",
        job.request_id
    );
    FunctionError::new("Runtime.ExitError", &message)
}

fn timeout_error(job: &Queued, limit: Duration) -> FunctionError {
    let seconds = limit.as_secs_f64();
    let message = format!(
        "RequestId: {} Error: Task timed out after {seconds:.2} seconds",
        job.request_id
    );
    FunctionError::new("Sandbox.Timedout", &message)
}
