//! The platform's side: starts a process for a submitted program, and ends it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::protocol::{self, Answer, COMPILED, Holds, NOT_COMPILED, Request, STARTED};
use crate::{CHILD, Code, ENGINE, Failure, Job, Limits, Run};
use dataperf::Digest;
use dataperf::benchmark::closed::DataFile;
use dataperf::programs::Layer;
use serde::{Deserialize, Serialize};

/// Seconds of processor time until the child has read what it is given: more than it takes anywhere, unless the platform is at fault.
const START_SECONDS: u64 = 120;
/// How often the processor time of a child is checked.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The maximum ratio of clock time to processor time in a phase. Above it the child is given up,
/// because the machine is too busy.
const BUSY_FACTOR: u32 = 20;
/// The maximum bytes of an answer, in addition to output and log.
const MAX_MESSAGE_BYTES: u64 = 64 << 10;

/// Why a program was not run, or not to its end: for the platform to fix.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// This machine can't hold programs.
    #[error("this machine can't run submitted programs: {why}")]
    Refused {
        /// The missing layers.
        why: String,
    },
    /// The process could not be started.
    #[error("can't start the process of a submitted program: {0}")]
    Start(#[from] io::Error),
    /// The machine has too much else to do.
    #[error(
        "the process of a submitted program got {used:.0?} of processor time in {waited:.0?}: this machine is too busy, run it again later"
    )]
    Busy {
        /// How long it was waited for.
        waited: Duration,
        /// How long it was computing.
        used: Duration,
    },
    /// The process ended without an answer, before it looked at the program or after it had compiled it.
    #[error(
        "the process of a submitted program ended without an answer ({status}): this is a fault of the platform"
    )]
    Lost {
        /// How it ended.
        status: ExitStatus,
    },
}

/// The layers that a program's own process asks the kernel for.
const OF_CHILD: [Layer; 4] = [
    Layer::Process,
    Layer::KernelLimits,
    Layer::SystemCallFilter,
    Layer::EndsWithParent,
];

/// A module that does nothing: `(module (memory (export "memory") 1) (func (export "_start")))`.
const IDLE: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x05\x03\x01\0\x01\
    \x07\x13\x02\x06memory\x02\0\x06_start\0\0\x0a\x04\x01\x02\0\x0b";

/// The layers that a machine can confine programs with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The engine's version and settings.
    pub engine: String,
    /// The available layers.
    pub layers: BTreeSet<Layer>,
    /// The missing layers, each with the reason.
    pub missing: BTreeMap<Layer, String>,
    /// The required layers: without one of them no program runs.
    pub required: BTreeSet<Layer>,
    /// Whether programs are run.
    pub runs: bool,
}

/// Runs submitted programs, each in a new process of one executable. Its `main` calls
/// [`child`](crate::child) first.
#[derive(Debug, Clone)]
pub struct Runner {
    executable: PathBuf,
    required: BTreeSet<Layer>,
    around: BTreeSet<Layer>,
    #[cfg(feature = "drills")]
    without: BTreeSet<Layer>,
}

/// The child's bytes, as they arrive.
enum Progress {
    Started(Holds),
    Compiled,
    Answered(io::Result<(Answer, Vec<u8>, Vec<u8>)>),
}

/// Ends the process when nobody waits for it any more.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn end(&mut self) -> io::Result<ExitStatus> {
        let _ = self.0.kill(); // it may have ended
        self.0.wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Runner {
    /// Runs programs in processes of the executable that is running.
    ///
    /// # Errors
    /// When it is not known which that is.
    pub fn of_this_program() -> io::Result<Self> {
        std::env::current_exe().map(Self::new)
    }

    /// Runs programs in processes of another executable. Requires all layers that the machine's
    /// kernel offers for such a process.
    pub fn new(executable: PathBuf) -> Self {
        Self {
            executable,
            required: OF_CHILD.into(),
            around: [Layer::WebAssembly].into(),
            #[cfg(feature = "drills")]
            without: BTreeSet::new(),
        }
    }

    /// Runs programs only where these layers hold, and no other has to.
    #[must_use]
    pub fn requiring(self, required: BTreeSet<Layer>) -> Self {
        Self { required, ..self }
    }

    /// The same machine, where a round demands more layers.
    #[must_use]
    pub fn requiring_also(mut self, more: &BTreeSet<Layer>) -> Self {
        self.required.extend(more);
        self
    }

    /// The same machine, on which these layers hold too that its processes don't see.
    #[must_use]
    pub fn within(mut self, layers: impl IntoIterator<Item = Layer>) -> Self {
        self.around.extend(layers);
        self
    }

    /// Leaves out some of the layers.
    #[cfg(feature = "drills")]
    #[must_use]
    pub fn without(mut self, layers: &[Layer]) -> Self {
        self.without = layers.iter().copied().collect();
        self
    }

    /// Finds out what holds programs here, by running one that does nothing.
    ///
    /// # Errors
    /// [`RunError`] when not even that one is run.
    pub fn probe(&self) -> Result<Probe, RunError> {
        let idle = Job {
            module: IDLE,
            files: &[],
            seed: [0; 32],
        };
        let lenient = self.clone().requiring(BTreeSet::new());
        let (run, missing) = lenient.run_held(idle, Limits::for_artifacts_of(0))?;
        if run.fuel.is_none() {
            let why = format!("a program that does nothing has failed: {:?}", run.output);
            return Err(RunError::Refused { why });
        }
        Ok(Probe {
            engine: ENGINE.to_owned(),
            runs: self.required.is_subset(&run.layers),
            layers: run.layers,
            missing,
            required: self.required.clone(),
        })
    }

    /// Compiles and runs a program. Waits until it has ended, or has been ended.
    ///
    /// # Errors
    /// [`RunError`], which is never the program's fault.
    pub fn run(&self, job: Job<'_>, limits: Limits) -> Result<Run, RunError> {
        Ok(self.run_held(job, limits)?.0)
    }

    /// The run, and why layers are missing that nobody requires.
    fn run_held(&self, job: Job<'_>, limits: Limits) -> Result<(Run, BTreeMap<Layer, String>), RunError> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            let why = "they run only on Linux on x86_64".to_owned();
            return Err(RunError::Refused { why });
        }
        let possible: BTreeSet<Layer> = self.around.iter().copied().chain(OF_CHILD).collect();
        lacks_none(&self.required, &possible)?;
        let n_bytes = job.module.len() as u64;
        let module = Digest::compute(job.module);
        let failed = |failure, layers| Run {
            module,
            fuel: None,
            memory_bytes: None,
            output: Err(failure),
            log: Vec::new(),
            is_log_cut: false,
            layers,
        };
        if n_bytes > limits.max_module_bytes {
            let failure = Failure::module_too_large(&limits, n_bytes);
            return Ok((failed(failure, BTreeSet::new()), BTreeMap::new()));
        }
        let mut process = Process(self.start()?);
        let (stdin, stdout) = (process.0.stdin.take(), process.0.stdout.take());
        let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(io::Error::other("it has no pipes").into());
        };
        thread::scope(|scope| {
            // a child that ends before it has read everything says why elsewhere
            scope.spawn(move || self.send(&mut stdin, job, limits));
            let (sender, progress) = channel();
            scope.spawn(move || {
                let answered = receive(stdout, limits, |progress| drop(sender.send(progress)));
                let _ = sender.send(Progress::Answered(answered));
            });
            let mut holds = Holds::default();
            let ended = wait(&progress, &mut process, limits, &mut holds);
            let _ = process.end(); // which ends the two threads' pipes
            let layers = holds.layers.union(&self.around).copied().collect();
            let run = match ended? {
                Ok((answer, output, log)) => run_of(module, answer, output, log, layers)?,
                Err(failure) => failed(failure, layers),
            };
            Ok((run, holds.missing))
        })
    }

    fn start(&self) -> io::Result<Child> {
        Command::new(&self.executable)
            .arg(CHILD)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
    }

    fn send(&self, to: &mut impl Write, job: Job<'_>, limits: Limits) -> io::Result<()> {
        let file = |file: &DataFile| (file.name.clone(), file.bytes.len() as u64);
        let request = Request {
            limits,
            seed: job.seed,
            n_module_bytes: job.module.len() as u64,
            files: job.files.iter().map(file).collect(),
            required: self.required.clone(),
            #[cfg(feature = "drills")]
            without: self.without.clone(),
        };
        protocol::write(to, &request)?;
        to.write_all(job.module)?;
        for file in job.files {
            to.write_all(&file.bytes)?;
        }
        Ok(())
    }
}

/// Refuses to run a program whose required layers the machine lacks.
pub(crate) fn lacks_none(required: &BTreeSet<Layer>, has: &BTreeSet<Layer>) -> Result<(), RunError> {
    let lacks: Vec<&Layer> = required.difference(has).collect();
    if lacks.is_empty() {
        return Ok(());
    }
    let (lacks, has) = (serde_json::json!(lacks), serde_json::json!(has));
    let why = format!("the layers {lacks} have to confine them, and this machine has {has}");
    Err(RunError::Refused { why })
}

/// Reads everything that the child says. It may be any bytes: the child has run what somebody uploaded.
fn receive(
    from: impl Read,
    limits: Limits,
    tell: impl Fn(Progress),
) -> io::Result<(Answer, Vec<u8>, Vec<u8>)> {
    let mut from = from.take(MAX_MESSAGE_BYTES + limits.max_output_bytes + limits.max_log_bytes);
    let mut is_first = true;
    loop {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        match byte[0] {
            // only once: the clock of compiling begins with it
            STARTED if is_first => tell(Progress::Started(protocol::read(&mut from)?)),
            COMPILED => {
                tell(Progress::Compiled);
                break;
            }
            NOT_COMPILED => break,
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
        is_first = false;
    }
    let answer = protocol::read(&mut from)?;
    let (n_output, n_log) = match &answer {
        Answer::Ended {
            n_output_bytes,
            n_log_bytes,
            ..
        } => (*n_output_bytes, *n_log_bytes),
        Answer::Refused { .. } => (0, 0),
    };
    let output = protocol::exactly(&mut from, n_output)?;
    let log = protocol::exactly(&mut from, n_log)?;
    Ok((answer, output, log))
}

type Ended = Result<(Answer, Vec<u8>, Vec<u8>), Failure>;

/// The phase of the process.
#[derive(Clone, Copy)]
enum Phase {
    Starting,
    Compiling,
    Running,
}

/// Waits for the answer, and lets the process take no more processor time in a phase than the limits say; on a busy machine a phase lasts longer.
fn wait(
    progress: &Receiver<Progress>,
    process: &mut Process,
    limits: Limits,
    holds: &mut Holds,
) -> Result<Ended, RunError> {
    let mut phase = Phase::Starting;
    let (mut began, mut used_before) = (Instant::now(), Duration::ZERO);
    loop {
        let allowed = Duration::from_secs(match phase {
            Phase::Starting => START_SECONDS,
            Phase::Compiling => limits.compile_seconds,
            Phase::Running => limits.run_seconds,
        });
        let next = progress.recv_timeout(LOOK_EVERY.min(allowed));
        if matches!(next, Err(RecvTimeoutError::Timeout)) {
            let used = processor_time(process.0.id())?.saturating_sub(used_before);
            if used < allowed && began.elapsed() < BUSY_FACTOR * allowed {
                continue;
            }
            if used < allowed {
                return Err(RunError::Busy {
                    waited: began.elapsed(),
                    used,
                });
            }
        }
        phase = match (next, phase) {
            (Ok(Progress::Answered(Ok(answer))), _) => return Ok(Ok(answer)),
            (Ok(Progress::Started(held)), _) => {
                *holds = held;
                Phase::Compiling
            }
            (Ok(Progress::Compiled), _) => Phase::Running,
            // a compiler that runs out of memory ends without an answer
            (Err(_) | Ok(Progress::Answered(Err(_))), Phase::Compiling) => {
                return Ok(Err(not_compiled(limits)));
            }
            (Err(RecvTimeoutError::Timeout), Phase::Running) => return Ok(Err(Failure::deadline(&limits))),
            (Err(_) | Ok(Progress::Answered(Err(_))), Phase::Starting | Phase::Running) => {
                let status = process.end()?;
                return Err(RunError::Lost { status });
            }
        };
        (began, used_before) = (Instant::now(), processor_time(process.0.id())?);
    }
}

/// Elsewhere no program runs: the layers that confine it are missing.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn processor_time(_process: u32) -> io::Result<Duration> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The processor time that a process has taken, of its own and of the kernel's.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn processor_time(process: u32) -> io::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // the second field is the program's name, in brackets, which may hold anything
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let mut times = fields.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let (Some(Ok(user)), Some(Ok(system))) = (times.next(), times.next()) else {
        return Err(io::Error::other(
            "the kernel does not say how much processor time a process has taken",
        ));
    };
    Ok(Duration::from_millis(
        (user + system) * 1_000 / rustix::param::clock_ticks_per_second(),
    ))
}

fn not_compiled(limits: Limits) -> Failure {
    let message = format!(
        "compiling the module takes more than {} seconds of processor time or too much memory: make its \
            functions smaller",
        limits.compile_seconds
    );
    Failure::new(Code::CompileLimit, message)
}

fn run_of(
    module: Digest,
    answer: Answer,
    output: Vec<u8>,
    log: Vec<u8>,
    layers: BTreeSet<Layer>,
) -> Result<Run, RunError> {
    match answer {
        Answer::Refused { why } => Err(RunError::Refused { why }),
        Answer::Ended {
            failure,
            fuel,
            memory_bytes,
            is_log_cut,
            ..
        } => Ok(Run {
            module,
            fuel,
            memory_bytes,
            output: failure.map_or(Ok(output), Err),
            log,
            is_log_cut,
            layers,
        }),
    }
}
