//! Programs in Python under bubblewrap: what they reach, and how they end. Where there is no bubblewrap, or the kernel gives it no
//! namespaces, nothing is tried, and the tests say so; where `CI` is `true` and bubblewrap is there, they fail instead.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use dataperf_closed::{Code, Job, Limits, Python, Run};
use serde_json::Value;

use crate::common::words;
use crate::{failed, files, limits, stdout};

const INTERPRETER: &str = "python3";

/// Runs Python programs, if the machine can.
fn python() -> Option<Python> {
    let made = Command::new("bwrap")
        .args(["--unshare-all", "--ro-bind", "/", "/", "true"])
        .output();
    let why = match made {
        Ok(made) if made.status.success() => {
            let python = Python::new(env!("CARGO_BIN_EXE_dataperf").into(), INTERPRETER.as_ref());
            return Some(python.unwrap());
        }
        Ok(made) => {
            let why = String::from_utf8_lossy(&made.stderr).into_owned();
            let is_ci = std::env::var_os("CI").is_some_and(|is_ci| is_ci == "true");
            assert!(!is_ci, "bubblewrap is here and can't be used: {why}");
            why
        }
        Err(why) => why.to_string(),
    };
    eprintln!("programs in Python were NOT tried: {why}");
    None
}

fn run(python: &Python, source: &str, limits: Limits) -> Run {
    let files = files();
    let job = Job {
        module: source.as_bytes(),
        files: &files,
        seed: [7; 32],
    };
    python.run(job, limits).unwrap()
}

fn seconds(run_seconds: u64) -> Limits {
    Limits {
        run_seconds,
        ..limits()
    }
}

#[test]
fn it_reads_its_files_and_writes_an_artifact() {
    let Some(python) = python() else { return };
    let source = "
import os, sys
print(sorted(os.listdir('/data')), open('/data/pool.csv').read().split())
print('and this', file=sys.stderr)
";
    let run = run(&python, source, limits());
    assert_eq!(
        stdout(&run),
        "['pool.csv', 'task.json'] ['id,label', '0,a', '1,b']\n"
    );
    assert_eq!(
        (run.log.as_slice(), run.fuel, run.is_log_cut),
        (&b"and this\n"[..], None, false)
    );
    assert!(python.engine().contains("Python 3.") && python.engine().contains("bubblewrap"));
}

/// Each attempt, and the exception that it ends with or what comes of it.
const ATTEMPTS: &str = r#"
import ctypes, json, mmap, os, select, socket, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)

def call(name, *arguments):
    ctypes.set_errno(0)
    answer = getattr(libc, name)(*arguments)
    return answer if answer != -1 else os.strerror(ctypes.get_errno())

def word():
    return ctypes.byref(ctypes.c_uint32(0))

def thread():
    thread = threading.Thread(target=print)
    thread.start()
    thread.join()

attempts = {
    'environment': lambda: sorted(os.environ),
    'descriptors': lambda: [fd for fd in range(256) if is_open(fd)],
    'root': lambda: sorted(os.listdir('/')),
    'home': lambda: os.listdir('/home'),
    'passwords': lambda: open('/etc/passwd').read(),
    'processes': lambda: os.listdir('/proc'),
    'another program': lambda: open('/usr/bin/env', 'rb').read(),
    'what else is below /usr': lambda: os.listdir('/usr/share'),
    'change data': lambda: open('/data/pool.csv', 'w'),
    'add data': lambda: open('/data/new', 'w'),
    'temporary file': lambda: open('/tmp/new', 'w'),
    'change the system': lambda: open('/usr/new', 'w'),
    'a file at the top': lambda: open('/new', 'w'),
    'a file of devices': lambda: open('/dev/new', 'w'),
    'connect': lambda: socket.create_connection(('127.0.0.1', 1)),
    'name': lambda: socket.getaddrinfo('example.org', 80),
    'fork': os.fork,
    'start': lambda: subprocess.run(['/usr/bin/true']),
    'root again': lambda: os.setuid(0),
    'user namespace': lambda: call('unshare', 0x10000000),
    'mount': lambda: call('mount', b'none', b'/data', b'tmpfs', 0, None),
    'trace': lambda: call('ptrace', 16, 1, None, None),
    'host name': lambda: call('sethostname', b'x', 1),
    'lock a file of all': lambda: call('flock', os.open(os.__file__, os.O_RDONLY), 2),
    'wake others': lambda: call('syscall', 202, word(), 1, 1, None, None, 0),
    'wake itself': lambda: call('syscall', 202, word(), 1 | 128, 1, None, None, 0),
    'read what is in memory': lambda: call('syscall', 327, os.open(os.__file__, os.O_RDONLY), None, 0, 0, 0, 0),
    'forget what is in memory': lambda: call('syscall', 221, os.open(os.__file__, os.O_RDONLY), 0, 0, 4),
    'room on the disk': lambda: os.statvfs('/data').f_bfree,
    'pages for all': lambda: call('syscall', 9, None, 1 << 21, 3, 0x40022, -1, 0),
    'memory as usual': lambda: mmap.mmap(-1, 1 << 21)[:2],
    'share equal memory': lambda: mmap.mmap(-1, 1 << 21).madvise(12),
    'flush the disk': lambda: call('syscall', 162),
    'keep in memory': lambda: call('mlock', word(), 4),
    'message queue': lambda: call('mq_open', b'/queue', os.O_RDWR | os.O_CREAT, 0o600, None),
    'message queue by number': lambda: call('syscall', 240, b'queue', os.O_RDWR | os.O_CREAT, 0o600, None),
    'timer': lambda: call('syscall', 222, 1, None, word()),
    'wait for many files': lambda: select.epoll(),
    'pipe': os.pipe,
    'counter': lambda: call('eventfd', 0, 0),
    'a queued signal': lambda: call('syscall', 129, os.getpid(), 40, word()),
    'core scheduling': lambda: call('prctl', 62, 0, 0, 0, word()),
    'its name': lambda: call('prctl', 15, b'selector', 0, 0, 0),
    'limits of another': lambda: call('prlimit', 1, 0, None, None),
    'thread': thread,
    'identity': lambda: [os.getuid(), os.getgid()],
}

def is_open(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False

found = {}
for name, attempt in attempts.items():
    try:
        found[name] = repr(attempt())
    except BaseException as error:
        found[name] = f'{type(error).__name__}: {getattr(error, "strerror", None)}'
json.dump(found, sys.stdout)
"#;

#[test]
fn it_reaches_its_files_and_its_interpreter_alone() {
    let Some(python) = python() else { return };
    // what is open here is not handed on
    let _left_open = fs::File::open("/proc/self/status").unwrap();
    let output: Value = serde_json::from_str(&stdout(&run(&python, ATTEMPTS, limits()))).unwrap();
    let missing = "FileNotFoundError: No such file or directory";
    let read_only = "OSError: Read-only file system";
    let no_call = "OSError: Function not implemented";
    for (attempt, is) in [
        (
            "environment",
            "['LANG', 'MKL_NUM_THREADS', 'OMP_NUM_THREADS', 'OMP_THREAD_LIMIT', 'OPENBLAS_NUM_THREADS', 'PWD', 'PYTHONHASHSEED']",
        ),
        ("descriptors", "[0, 1, 2]"),
        ("home", missing),
        ("passwords", missing),
        ("processes", missing),
        ("another program", missing),
        ("what else is below /usr", missing),
        ("change data", read_only),
        ("add data", read_only),
        ("temporary file", missing),
        ("change the system", read_only),
        ("a file at the top", read_only),
        ("a file of devices", read_only),
        ("connect", no_call),
        ("fork", no_call),
        ("start", no_call),
        ("user namespace", "'Function not implemented'"),
        ("mount", "'Function not implemented'"),
        ("trace", "'Function not implemented'"),
        ("host name", "'Function not implemented'"),
        ("lock a file of all", "'Function not implemented'"),
        ("wake others", "'Function not implemented'"),
        ("wake itself", "0"),
        ("read what is in memory", "'Function not implemented'"),
        ("forget what is in memory", "'Function not implemented'"),
        ("room on the disk", no_call),
        ("pages for all", "'Function not implemented'"),
        ("memory as usual", "b'\\x00\\x00'"),
        ("share equal memory", no_call),
        ("flush the disk", "'Function not implemented'"),
        ("keep in memory", "'Function not implemented'"),
        ("message queue", "'Function not implemented'"),
        ("message queue by number", "'Function not implemented'"),
        ("timer", "'Function not implemented'"),
        ("wait for many files", no_call),
        ("pipe", no_call),
        ("counter", "'Function not implemented'"),
        ("a queued signal", "'Function not implemented'"),
        ("core scheduling", "'Function not implemented'"),
        ("its name", "0"),
        ("limits of another", "'Function not implemented'"),
        ("thread", "RuntimeError: None"),
        ("identity", "[65534, 65534]"),
    ] {
        assert_eq!(output[attempt], is, "{attempt}: {output:#}");
    }
    for attempt in ["name", "root again"] {
        assert!(
            output[attempt].as_str().unwrap().contains("rror: "),
            "{attempt}: {output:#}"
        );
    }
    let top = output["root"].as_str().unwrap();
    for name in ["home", "root", "tmp", "proc", "sys", "var"] {
        let is_of_libraries = INTERPRETER_IS_AT.contains(&name);
        assert!(
            is_of_libraries || !top.contains(&format!("'{name}'")),
            "{name}: {top}"
        );
    }
}

/// A virtual environment, in a folder that also has other files.
fn environment(folder: &Path) -> PathBuf {
    let made = Command::new(INTERPRETER)
        .args(["-m", "venv", "--without-pip"])
        .arg(folder.join("venv"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    folder.join("venv")
}

/// Secret files in places where a program might look for them: next to a virtual environment, in
/// it, and below `/usr` if this process may write there.
#[test]
fn python_reads_no_file_outside_its_interpreter() {
    if python().is_none() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let environment = environment(scratch.path());
    let below_usr = tempfile::tempdir_in("/usr/local/share").ok();
    let mut folders = vec![
        scratch.path().to_path_buf(),
        environment.clone(),
        environment.join("bin"),
    ];
    folders.extend(below_usr.as_ref().map(|folder| folder.path().to_path_buf()));
    let secrets: Vec<PathBuf> = folders.iter().map(|folder| folder.join("secret")).collect();
    let interpreters = [
        environment.join("bin/python"),
        INTERPRETER.into(),
        "/usr/bin/python3".into(),
    ];
    for interpreter in interpreters {
        let Ok(python) = Python::new(env!("CARGO_BIN_EXE_dataperf").into(), interpreter.as_os_str()) else {
            continue; // none below `/usr`
        };
        for secret in &secrets {
            fs::write(secret, "the hidden labels").unwrap();
            let source = format!(
                "import json, ctypes, decimal, random, sqlite3\n\
                 try:\n    print(open({:?}).read())\nexcept FileNotFoundError:\n    print('none')\n",
                secret.to_str().unwrap()
            );
            let is = stdout(&run(&python, &source, limits()));
            assert_eq!(is, "none\n", "{}: {}", interpreter.display(), secret.display());
        }
    }
}

/// Copies a folder with files and folders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, name) = (entry.as_ref().unwrap().path(), entry.unwrap().file_name());
        if from.is_dir() {
            copy(&from, &to.join(name));
        } else {
            fs::copy(&from, to.join(name)).unwrap();
        }
    }
}

#[test]
fn nothing_starts_where_programs_could_read_hidden_data() {
    if python().is_none() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let environment = environment(scratch.path());
    let (interpreter, library) = (environment.join("bin/python"), environment.join("lib"));
    let refused = |subject: &str, below: &Path, ran: std::process::Output| {
        assert_eq!(ran.status.code(), Some(1), "{ran:?}");
        let message = String::from_utf8_lossy(&ran.stderr).into_owned();
        let expected = format!("{subject} `{}` is below `{}`", below.display(), library.display());
        assert!(message.contains(&expected), "{message}");
    };
    let dataset = library.join("frozen");
    copy(Path::new(&crate::command::frozen("selection")), &dataset);
    let program = scratch.path().join("selector.py");
    fs::write(&program, "print()").unwrap();
    let dataperf = || Command::new(env!("CARGO_BIN_EXE_dataperf"));
    let ran = dataperf()
        .args(["closed", "run", "-l", "digits-20", "--python"])
        .args([&interpreter, &program])
        .arg("-d")
        .arg(&dataset)
        .output();
    refused("the data set", &dataset, ran.unwrap());
    // the directory need not be there yet
    let data_dir = library.join("cloud/data");
    let ran = dataperf()
        .args(["local", "--python"])
        .arg(&interpreter)
        .arg("--data-dir")
        .arg(&data_dir)
        .output();
    refused("the data directory", &data_dir, ran.unwrap());
    assert!(!data_dir.exists());
}

/// Possible places of a virtual environment or pyenv, with empty directories above.
const INTERPRETER_IS_AT: [&str; 2] = ["home", "root"];

#[test]
fn each_way_to_end_has_its_code() {
    let Some(python) = python() else { return };
    for (source, code) in [
        ("while True: pass", Code::Deadline),
        ("import time; time.sleep(1000)", Code::Deadline),
        ("x = [bytearray(1 << 28) for _ in range(100)]", Code::OutOfMemory),
        (
            "import sys\nwhile True: sys.stdout.write('x' * 100_000)",
            Code::OutputTooLarge,
        ),
        ("", Code::NoOutput),
        ("print('{}'); raise SystemExit(3)", Code::ExitStatus),
        ("this is no Python", Code::ExitStatus),
        ("import os; os.abort()", Code::Trap),
        ("import ctypes; ctypes.string_at(0)", Code::Trap),
        ("import os\nwhile True: os.fork()", Code::ExitStatus),
        (
            "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
            Code::ExitStatus,
        ),
    ] {
        let within = match code {
            Code::Deadline => 2,
            _ => 120,
        };
        let run = run(&python, source, seconds(within));
        let is = run.output.as_ref().unwrap_err();
        assert_eq!(is.code, code, "{source}: {run:?}");
    }
}

/// A limit of processor time that no other test has.
const SECONDS: u64 = 3;

#[test]
fn ignored_signals_do_not_extend_a_programs_deadline() {
    let Some(python) = python() else { return };
    let source = "
import signal, threading
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
import time
time.sleep(1000)
";
    let began = Instant::now();
    assert_eq!(failed(&run(&python, source, seconds(SECONDS))).0, Code::Deadline);
    assert!(began.elapsed() < Duration::from_mins(5));
    let is_it = |status: &std::path::Path| {
        let read = |name: &str| fs::read_to_string(status.join(name)).unwrap_or_default();
        let allowed = read("limits");
        let line = allowed.lines().find(|line| line.starts_with("Max cpu time"));
        let soft = line.and_then(|line| line.split_whitespace().nth(3));
        read("cmdline").contains("main.py") && soft == Some(&SECONDS.to_string())
    };
    // the kernel ends it with bubblewrap, a moment later
    for _ in 0..500 {
        let mut processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        if !processes.any(|process| is_it(&process)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it is still running");
}

#[test]
fn of_its_log_the_beginning_is_kept() {
    let Some(python) = python() else { return };
    let source = "import sys\nfor _ in range(100): sys.stderr.write('y' * 100_000)\nprint('{}')";
    let run = run(&python, source, limits());
    assert_eq!(stdout(&run), "{}\n");
    assert_eq!(
        (run.log.len() as u64, run.is_log_cut),
        (limits().max_log_bytes, true)
    );
}

/// `dataperf closed run` on a program in Python.
fn command(source: &str, more: &[&str]) -> std::process::Output {
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("selector.py");
    fs::write(&program, source).unwrap();
    let dataset = crate::command::frozen("selection");
    let mut words = words!(
        "--format json closed run {} -l digits-20 -d {dataset}",
        program.display()
    );
    words.extend(more.iter().map(ToString::to_string));
    crate::common::run(words)
}

#[test]
fn python_output_is_judged_like_any_artifact() {
    let Some(python) = python() else { return };
    let source = "
import csv, json, sys
rows = list(csv.DictReader(open('/data/pool.csv')))
by_label = {}
for row in rows:
    by_label.setdefault(row['label'], []).append(row['id'])
json.dump({'ids': [ids[n] for n in range(2) for ids in by_label.values()]}, sys.stdout)
print('some words', file=sys.stderr)
";
    let ran = command(source, &["--log"]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let verdict: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(verdict["status"], "scored");
    let run = &verdict["run"];
    assert_eq!(run["engine"], python.engine());
    assert_eq!(run["log"], "some words\n");
    assert!(run["fuel"].is_null() && run["max_fuel"].is_null(), "{run}");
    // the same pool in the same order as a module has it
    let again: Value = serde_json::from_slice(&command(source, &[]).stdout).unwrap();
    assert_eq!(again["artifact"], verdict["artifact"]);
    let unknown = command("print('{\"ids\": [\"700\"]}')", &[]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    assert!(String::from_utf8_lossy(&unknown.stdout).contains("unknown_id"));
}

#[test]
fn without_bubblewrap_or_python_nothing_is_run() {
    let none = command("print()", &["--python", "/nowhere/python3"]);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    let output = String::from_utf8_lossy(&none.stderr);
    assert!(
        output.contains("there is no Python at `/nowhere/python3`"),
        "{output}"
    );
    let other = command("print()", &["--python", "/bin/echo"]);
    let output = String::from_utf8_lossy(&other.stderr);
    assert!(output.contains("does not answer as Python 3 does"), "{output}");
}

/// A zip of files, stored as they are.
fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(*name, options).unwrap();
        std::io::Write::write_all(&mut zip, text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_program_may_be_a_zip_archive() {
    let Some(python) = python() else { return };
    let run = |files: &[(&str, &str)]| {
        let archive = zipped(files);
        let data = crate::files();
        let job = Job {
            module: &archive,
            files: &data,
            seed: [7; 32],
        };
        python.run(job, limits()).unwrap()
    };
    let main = (
        "main.py",
        "import helper\nprint(helper.WORD, open('/program/words.txt').read())",
    );
    let whole = [main, ("helper.py", "WORD = 'one'"), ("words.txt", "two")];
    assert_eq!(stdout(&run(&whole)), "one two\n");
    let without = run(&whole[1..]);
    let (code, message) = failed(&without);
    assert!(
        code == Code::InvalidModule && message.contains("no `main.py`"),
        "{message}"
    );
    // a name that leaves the folder is none
    let outside = run(&[main, ("../helper.py", "WORD = 'one'")]);
    assert_eq!(failed(&outside).0, Code::InvalidModule);
}
