//! Programs in Python, run by bubblewrap: for trying them, and for organizers who evaluate on one machine.
//!
//! A program is one file, or an archive with `main.py` in it. It sees `/data` as a WebAssembly
//! module does and writes its artifact to standard output. It runs in its own namespaces, without
//! network and capabilities, on a read-only system, under kernel limits and a filter of system
//! calls. It is one process with one thread. It is not deterministic: time is counted in seconds
//! instead of fuel, so two runs may end differently. The interpreter's numbers differ between
//! processors and versions.

#[cfg(all(feature = "python", target_os = "linux", target_arch = "x86_64"))]
mod restrictions;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::runner::{Process, lacks_none};
use crate::{Code, Failure, Job, Limits, PYTHON_CHILD, Run, RunError, sandbox};
use dataperf::formats::archive::{Bounds, unpack};
use dataperf::programs::Layer;
use dataperf::{Digest, is_zip};

/// The program that makes the namespaces.
const BWRAP: &str = "bwrap";
/// Bytes of address space for the interpreter and its libraries, in addition to the program's.
const INTERPRETER_BYTES: u64 = 1 << 30;
/// The program's path in its namespace.
const PROGRAM: &str = "/program/main.py";
/// The file of an archive that is run; every archive has to have it.
const MAIN: &str = "main.py";
/// The limits of an archive.
const BOUNDS: Bounds = Bounds {
    max_entries: 100,
    max_unpacked_bytes: 16 << 20,
    max_ratio: 100,
};
/// The files in which bubblewrap finds the filter of system calls, and says how the program ended.
const FILTER: &str = "filter.bpf";
const STATUS: &str = "status.json";
/// All environment variables of a program: libraries use one thread, and sets have the same order every time.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("LANG", "C.UTF-8"),
    ("PYTHONHASHSEED", "0"),
    ("OMP_NUM_THREADS", "1"),
    ("OMP_THREAD_LIMIT", "1"), // also where a program asks for more
    ("OPENBLAS_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
];
/// Asks an interpreter which it is, and which files it needs: its modules, and the shared libraries that it has loaded.
const ABOUT: &str = "\
import json, platform, sys, sysconfig
paths = sysconfig.get_paths()
prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
modules = {paths[name] for name in ('stdlib', 'platstdlib', 'purelib', 'platlib')}
modules |= {path for path in sys.path if any(path.startswith(prefix + '/') for prefix in prefixes)}
maps = (line.split(maxsplit=5) for line in open('/proc/self/maps'))
loaded = {fields[5].strip() for fields in maps if len(fields) == 6 and '.so' in fields[5]}
print(json.dumps({'program': sys.executable, 'version': platform.python_version(), 'prefixes': sorted(prefixes),
    'modules': sorted(modules), 'loaded': sorted(loaded)}))";
/// The folders in which Linux distributions install their files, including an interpreter.
const SYSTEM: &str = "/usr";
/// The paths of the program that loads shared libraries: the GNU C library's, and musl's.
const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"];
/// The folders at the top that are links into [`SYSTEM`] on most systems.
const TOPS: [&str; 3] = ["/bin", "/lib", "/lib64"];
/// How often to check whether the program has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs programs in Python, each in namespaces of its own.
#[derive(Debug, Clone)]
pub struct Python {
    executable: PathBuf,
    interpreter: PathBuf,
    /// The files and folders of this machine that a program can read: only those that the
    /// interpreter needs.
    readable: Vec<PathBuf>,
    engine: String,
    layers: BTreeSet<Layer>,
}

/// The required layers; without them no program runs.
const LAYERS: [Layer; 5] = [
    Layer::Process,
    Layer::KernelLimits,
    Layer::SystemCallFilter,
    Layer::EndsWithParent,
    Layer::Namespaces,
];

/// An interpreter's description of itself.
#[derive(Debug, Deserialize)]
struct About {
    program: PathBuf,
    version: String,
    prefixes: Vec<PathBuf>,
    modules: Vec<PathBuf>,
    loaded: Vec<PathBuf>,
}

fn refused(why: impl Into<String>) -> RunError {
    RunError::Refused { why: why.into() }
}

impl Python {
    /// Runs programs with this interpreter and its installed packages. `executable` calls
    /// [`child`](crate::child) first in its `main`.
    ///
    /// # Errors
    /// [`RunError::Refused`] when there is no such interpreter, or no bubblewrap.
    pub fn new(executable: PathBuf, interpreter: &OsStr) -> Result<Self, RunError> {
        let name = Path::new(interpreter).display();
        let answer = Command::new(interpreter).args(["-I", "-c", ABOUT]).output();
        let answer = answer.map_err(|error| refused(format!("there is no Python at `{name}` ({error})")))?;
        let about: About = serde_json::from_slice(&answer.stdout)
            .map_err(|_| refused(format!("`{name}` does not answer as Python 3 does")))?;
        let made = Command::new(BWRAP).arg("--version").output();
        let made = made.map_err(|error| {
            refused(format!(
                "programs in Python need `{BWRAP}`, which can't be started ({error}): install the package \
                    `bubblewrap`"
            ))
        })?;
        let bubblewrap = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        Ok(Self {
            executable,
            engine: format!("Python {}, {bubblewrap}", about.version),
            readable: about.readable(),
            interpreter: about.program,
            layers: LAYERS.into(),
        })
    }

    /// The same on a machine with these layers too, for a round that demands layers.
    ///
    /// # Errors
    /// [`RunError::Refused`] when it demands more than there are.
    pub fn within(mut self, around: &BTreeSet<Layer>, demanded: &BTreeSet<Layer>) -> Result<Self, RunError> {
        self.layers.extend(around);
        lacks_none(demanded, &self.layers)?;
        Ok(self)
    }

    /// Checks that programs can't read any of these places, each with a name for messages.
    ///
    /// # Errors
    /// [`RunError::Refused`] that names each place that they can read.
    pub fn check_unreadable(&self, places: &[(&str, &Path)]) -> Result<(), RunError> {
        let mut problems = Vec::new();
        for (name, place) in places {
            let place = resolved(place);
            let below = |path: &&PathBuf| place.starts_with(resolved(path));
            if let Some(above) = self.readable.iter().find(below) {
                let (place, above) = (place.display(), above.display());
                problems.push(format!("{name} `{place}` is below `{above}`"));
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(refused(format!(
            "programs in Python can read what their interpreter needs, and {}: move it, or use another interpreter with `--python`",
            problems.join(", and ")
        )))
    }

    /// The versions of the interpreter and of bubblewrap.
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// Runs a program. Waits until it has ended, or has been ended.
    ///
    /// # Errors
    /// [`RunError`], which is never the program's fault.
    pub fn run(&self, job: Job<'_>, limits: Limits) -> Result<Run, RunError> {
        let scratch = tempfile::tempdir()?;
        let n_bytes = job.module.len() as u64;
        let ended = |output, log, is_log_cut| Run {
            module: Digest::compute(job.module),
            fuel: None,
            memory_bytes: None,
            output,
            log,
            is_log_cut,
            layers: self.layers.clone(),
        };
        if n_bytes > limits.max_module_bytes {
            return Ok(ended(
                Err(Failure::module_too_large(&limits, n_bytes)),
                Vec::new(),
                false,
            ));
        }
        if let Err(failure) = write(scratch.path(), job)? {
            return Ok(ended(Err(failure), Vec::new(), false));
        }
        let mut process = Process(self.start(scratch.path(), limits)?);
        let (Some(stdout), Some(stderr)) = (process.0.stdout.take(), process.0.stderr.take()) else {
            return Err(io::Error::other("it has no pipes").into());
        };
        let is_full = AtomicBool::new(false);
        let (status, output, log) = thread::scope(|scope| {
            let output = scope.spawn(|| {
                let read = beginning(stdout, limits.max_output_bytes);
                is_full.store(read.as_ref().is_ok_and(|(_, is_cut)| *is_cut), Ordering::Relaxed);
                read
            });
            let log = scope.spawn(|| all(stderr, limits.max_log_bytes));
            let status = wait(&mut process, &is_full, Duration::from_secs(limits.run_seconds));
            let _ = process.end(); // which ends the two threads' pipes
            (status, output.join(), log.join())
        });
        let read = |joined: thread::Result<io::Result<(Vec<u8>, bool)>>| {
            joined.unwrap_or_else(|_| Err(io::Error::other("a pipe can't be read")))
        };
        let ((output, is_output_cut), (log, is_log_cut)) = (read(output)?, read(log)?);
        let failure = match (status?, is_output_cut) {
            (_, true) => Some(Failure::output_too_large(&limits)),
            (None, false) => Some(Failure::deadline(&limits)),
            (Some(status), false) => failure(scratch.path(), status, &log, &limits)?,
        };
        let nothing = || output.is_empty().then(Failure::no_output);
        let output = failure.or_else(nothing).map_or(Ok(output.clone()), Err);
        Ok(ended(output, log, is_log_cut))
    }

    fn start(&self, scratch: &Path, limits: Limits) -> io::Result<Child> {
        Command::new(&self.executable)
            .arg(PYTHON_CHILD)
            .arg(scratch)
            .arg(serde_json::to_string(&limits)?)
            .args(self.words(scratch))
            // only `PATH` is left of this process's environment, to locate bubblewrap
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }

    /// The arguments of bubblewrap, up to the descriptors that [`child`] opens.
    fn words(&self, scratch: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut say = |arguments: &[&OsStr]| words.extend(arguments.iter().map(|&word| word.to_owned()));
        let s = OsStr::new;
        for alone in [
            "--unshare-all",
            "--unshare-user",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
        ] {
            say(&[s(alone)]);
        }
        say(&[
            s("--uid"),
            s("65534"),
            s("--gid"),
            s("65534"),
            s("--cap-drop"),
            s("ALL"),
            s("--hostname"),
            s("closed"),
        ]);
        for (name, value) in ENVIRONMENT {
            say(&[s("--setenv"), s(name), s(value)]);
        }
        for top in TOPS {
            if let Ok(to) = fs::read_link(top) {
                say(&[s("--symlink"), to.as_os_str(), s(top)]);
            }
        }
        for file in ["/etc/ld.so.cache", "/etc/alternatives"] {
            say(&[s("--ro-bind-try"), s(file), s(file)]);
        }
        for path in &self.readable {
            say(&[s("--ro-bind"), path.as_os_str(), path.as_os_str()]);
        }
        for device in ["/dev/null", "/dev/zero", "/dev/urandom"] {
            say(&[s("--dev-bind"), s(device), s(device)]);
        }
        let (data, program) = (scratch.join("data"), scratch.join("program"));
        say(&[s("--ro-bind"), data.as_os_str(), s("/data")]);
        say(&[s("--ro-bind"), program.as_os_str(), s("/program")]);
        say(&[s("--remount-ro"), s("/"), s("--chdir"), s("/data")]);
        say(&[
            s("--"),
            self.interpreter.as_os_str(),
            s("-B"),
            s("-s"),
            s(PROGRAM),
        ]);
        words
    }
}

impl About {
    /// The interpreter's files on this machine, none below another.
    fn readable(&self) -> Vec<PathBuf> {
        // a virtual environment's interpreter is a link to another's, which may be a link as well
        let program = fs::canonicalize(&self.program).ok();
        let of_program = program.as_deref().and_then(|program| program.parent()?.parent());
        let prefixes = of_program
            .into_iter()
            .chain(self.prefixes.iter().map(PathBuf::as_path));
        let mut paths = vec![self.program.clone()];
        paths.extend(program.clone());
        paths.extend(LOADERS.map(PathBuf::from));
        paths.extend(self.modules.iter().cloned());
        for prefix in prefixes.filter(|prefix| !prefix.starts_with(SYSTEM)) {
            // a virtual environment may be in a folder with other files, which stay hidden
            paths.extend(["lib", "lib64", "pyvenv.cfg"].map(|part| prefix.join(part)));
        }
        // the system's libraries, which modules load by their names, are where the C library is
        let is_system = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("ld-musl")
        };
        if let Some(system) = self.loaded.iter().find(is_system).and_then(|path| path.parent()) {
            paths.push(system.into());
            paths.extend(system.strip_prefix("/").map(|path| Path::new(SYSTEM).join(path)));
        }
        let folders = self.loaded.iter().filter_map(|path| path.parent());
        paths.extend(folders.flat_map(shared_libraries));
        let mut paths: Vec<PathBuf> = paths
            .into_iter()
            .filter(|path| path.exists())
            .map(inside)
            .collect();
        paths.sort();
        paths.dedup_by(|path, above| path.starts_with(above));
        paths
    }
}

/// The shared libraries of a folder, under all their names.
fn shared_libraries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.ends_with(".so") || name.contains(".so.")) && path.is_file()
    };
    paths.filter(is_library).collect()
}

/// Where a file is in the namespace: there too the folders at the top are links, through which nothing can be bound.
fn inside(path: PathBuf) -> PathBuf {
    let is_linked = TOPS
        .iter()
        .any(|top| path.starts_with(top) && fs::read_link(top).is_ok());
    let parent = path
        .parent()
        .filter(|_| is_linked)
        .and_then(|parent| fs::canonicalize(parent).ok());
    match parent.zip(path.file_name()) {
        Some((parent, name)) => parent.join(name),
        None => path,
    }
}

/// A path without links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let real = |above: &Path| {
        Some((
            fs::canonicalize(above).ok()?,
            path.strip_prefix(above).ok()?.to_path_buf(),
        ))
    };
    let existing = path.ancestors().find_map(real);
    match existing {
        Some((real, rest)) if rest.as_os_str().is_empty() => real, // joining would add a slash
        Some((real, rest)) => real.join(rest),
        None => path,
    }
}

/// Puts the program and its files where they are bound from; a program of several files is an archive.
fn write(scratch: &Path, job: Job<'_>) -> io::Result<Result<(), Failure>> {
    for folder in ["data", "program"] {
        fs::create_dir(scratch.join(folder))?;
    }
    for file in job.files {
        fs::write(scratch.join("data").join(&file.name), &file.bytes)?;
    }
    let program = scratch.join("program");
    if is_zip(job.module) {
        let entries = match unpack(job.module, BOUNDS) {
            Ok(entries) => entries,
            Err(rejection) => {
                let reasons = rejection.reasons().iter().map(|reason| reason.message.as_str());
                let message = format!(
                    "the archive can't be used: {}",
                    reasons.collect::<Vec<_>>().join("; ")
                );
                return Ok(Err(Failure::new(Code::InvalidModule, message)));
            }
        };
        if !entries.iter().any(|entry| entry.name == MAIN) {
            let message = format!("the archive has no `{MAIN}`: add the file to run under that name");
            return Ok(Err(Failure::new(Code::InvalidModule, message)));
        }
        // names are of files without folders, which the archive's reader sees to
        for entry in entries {
            fs::write(program.join(&entry.name), &entry.bytes)?;
        }
    } else {
        fs::write(program.join(MAIN), job.module)?;
    }
    let filter = restrictions::filter().map_err(io::Error::other)?;
    fs::write(scratch.join(FILTER), filter)?;
    Ok(Ok(()))
}

/// Becomes bubblewrap, in a `dataperf` that was started again with the scratch directory, the limits and bubblewrap's words. Returns only if that is
/// not possible.
pub(crate) fn child(mut words: impl Iterator<Item = OsString>) -> io::Error {
    let limited = || -> Result<Command, String> {
        let (Some(scratch), Some(limits)) = (words.next().map(PathBuf::from), words.next()) else {
            return Err("it was started without what it needs".to_owned());
        };
        let limits: Limits =
            serde_json::from_slice(limits.as_encoded_bytes()).map_err(|error| error.to_string())?;
        sandbox::end_with_parent()?;
        sandbox::close_descriptors()?;
        let kept = |file: io::Result<fs::File>| {
            let file = file.map_err(|error| error.to_string())?;
            restrictions::keep_when_replaced(file)
        };
        let filter = kept(fs::File::open(scratch.join(FILTER)))?;
        let status = kept(fs::File::create(scratch.join(STATUS)))?;
        restrictions::limit(limits.run_seconds, limits.max_memory_bytes + INTERPRETER_BYTES)?;
        let mut command = Command::new(BWRAP);
        command.args([
            "--seccomp",
            &filter.to_string(),
            "--json-status-fd",
            &status.to_string(),
        ]);
        command.args(words);
        Ok(command)
    };
    match limited() {
        Ok(mut command) => std::os::unix::process::CommandExt::exec(&mut command),
        Err(why) => io::Error::other(why),
    }
}

/// Why a program that has ended has no artifact. An error if bubblewrap could not start the program.
fn failure(
    scratch: &Path,
    status: ExitStatus,
    log: &[u8],
    limits: &Limits,
) -> Result<Option<Failure>, RunError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Exit {
        exit_code: i32,
    }
    let status_one = fs::read_to_string(scratch.join(STATUS)).unwrap_or_default();
    let mut status_one = status_one
        .lines()
        .filter_map(|line| serde_json::from_str::<Exit>(line).ok());
    let Some(Exit { exit_code }) = status_one.next() else {
        let text = String::from_utf8_lossy(log);
        let text = text.trim();
        return Err(refused(format!(
            "bubblewrap did not come to start the program ({status}): {text}; it needs unprivileged user namespaces, which some systems \
             switch off (`sysctl kernel.unprivileged_userns_clone kernel.apparmor_restrict_unprivileged_userns`), or root"
        )));
    };
    let last = String::from_utf8_lossy(log);
    let last = last.trim_end().lines().next_back().unwrap_or_default().to_owned();
    // like a shell, bubblewrap adds 128 to the number of a signal
    let signal = exit_code - 128;
    Ok(match exit_code {
        0 => None,
        1 if last.contains("MemoryError") => Some(Failure::out_of_memory(limits, None)),
        _ if [libc::SIGXCPU, libc::SIGKILL].contains(&signal) => Some(Failure::deadline(limits)),
        _ if (1..65).contains(&signal) => {
            let message = format!("the program was stopped by the signal {signal}; `--log` shows its output");
            Some(Failure::new(Code::Trap, message))
        }
        status => Some(Failure::exit_status(status.cast_unsigned())),
    })
}

/// The first `n_bytes` bytes, and whether there were more. Stops reading there.
fn beginning(from: impl Read, n_bytes: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    from.take(n_bytes + 1).read_to_end(&mut bytes)?;
    let is_cut = bytes.len() as u64 > n_bytes;
    bytes.truncate(n_bytes as usize);
    Ok((bytes, is_cut))
}

/// As [`beginning`], but reads everything to its end.
fn all(mut from: impl Read, n_bytes: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    (&mut from).take(n_bytes).read_to_end(&mut bytes)?;
    let n_more = io::copy(&mut from, &mut io::sink())?;
    Ok((bytes, n_more > 0))
}

/// Waits until the process ends. `None` if it has not ended after `at_most`, or has written too much (`is_full`).
fn wait(process: &mut Process, is_full: &AtomicBool, at_most: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    while began.elapsed() < at_most && !is_full.load(Ordering::Relaxed) {
        if let Some(status) = process.0.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(None)
}
