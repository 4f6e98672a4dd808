//! Escape drills: a host that is weakened on purpose gives a program every system call, as if it had escaped from the engine. What holds it
//! then is tried layer by layer: the filters of system calls alone, the limits of the kernel alone, and neither, which shows that the drill is one.

use dataperf::programs::Layer;
use dataperf_closed::{Job, RunError};

use crate::{limits, runner};

const EPERM: i64 = -1;
const EAGAIN: i64 = -11;
const ENOMEM: i64 = -12;
const EMFILE: i64 = -24;

/// Numbers of this processor's system calls, and some behind the last one.
const CALLS: std::ops::Range<i64> = 0..600;
const WRITE: i64 = 1;
const OPEN: i64 = 2;
const MMAP: i64 = 9;
const PIPE: i64 = 22;
const DUP: i64 = 32;
const SOCKET: i64 = 41;
const FORK: i64 = 57;
const FCNTL: i64 = 72;
const SETUID: i64 = 105;
const MEMFD_CREATE: i64 = 319;
/// These end the process, or jump.
const NOT_TRIED: [i64; 3] = [15, 60, 231];
/// The calls that a program's process makes: memory, its own signals, time, random numbers, its
/// number.
const ALLOWED: [i64; 13] = [11, 12, 13, 14, 24, 25, 28, 39, 131, 186, 202, 228, 318];

/// The calls that return from the kernel's own probes: newer kernels let them past every filter,
/// and refuse other callers.
const OF_PROBES: [i64; 2] = [335, 336];

/// Runs a body with `$call`, every system call, and `$tell`, which writes a number of 64 bits to standard output.
fn escaped(without: &[Layer], body: &str) -> Result<Vec<i64>, RunError> {
    let text = format!(
        r#"(module
        (import "drill" "system_call" (func $call (param i64 i64 i64 i64 i64 i64 i64) (result i64)))
        (import "drill" "old_system_call" (func $old_call (param i64) (result i64)))
        (import "drill" "base" (func $base (result i64)))
        (import "drill" "n_variables" (func $n_variables (result i64)))
        (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 1024) "/etc/hostname\00/proc/self/environ\00/proc/self/mem\00")
        (func $tell (param $number i64)
            (i64.store (i32.const 512) (local.get $number))
            (i32.store (i32.const 0) (i32.const 512))
            (i32.store (i32.const 4) (i32.const 8))
            (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
        ;; a call with three arguments
        (func $call3 (param i64 i64 i64 i64) (result i64)
            (call $call (local.get 0) (local.get 1) (local.get 2) (local.get 3) (i64.const 0) (i64.const 0) (i64.const 0)))
        (func $at (param $offset i64) (result i64) (i64.add (call $base) (local.get $offset)))
        (func (export "_start") (local $n i64) (local $answer i64) {body}))"#
    );
    let module = wat::parse_str(text).unwrap();
    let job = Job {
        module: &module,
        files: &[],
        seed: [0; 32],
    };
    let run = runner().without(without).run(job, limits())?;
    let output = run.output.unwrap_or_else(|failure| panic!("{failure:?}"));
    Ok(output
        .as_chunks::<8>()
        .0
        .iter()
        .map(|bytes| i64::from_le_bytes(*bytes))
        .collect())
}

/// The result of every call of a range with -1 for each argument.
fn answers(without: &[Layer], first: i64, n: i64) -> Vec<(i64, i64)> {
    let skips = NOT_TRIED.map(|call| {
        format!("(br_if $next (i64.eq (i64.and (local.get $n) (i64.const 0xfff)) (i64.const {call})))")
    });
    let skipped = skips.concat();
    let body = format!(
        "(local.set $n (i64.const {first}))
        (loop $again
            (block $next {skipped}
                (call $tell (local.get $n))
                (call $tell (call $call (local.get $n) (i64.const -1) (i64.const -1) (i64.const -1) (i64.const -1) (i64.const -1) (i64.const -1))))
            (local.set $n (i64.add (local.get $n) (i64.const 1)))
            (br_if $again (i64.lt_s (local.get $n) (i64.const {}))))",
        first + n
    );
    let shown = escaped(without, &body).unwrap();
    shown
        .as_chunks::<2>()
        .0
        .iter()
        .map(|&[call, answer]| (call, answer))
        .collect()
}

#[test]
fn an_escaped_program_can_make_few_system_calls() {
    for without in [&[][..], &[Layer::KernelLimits]] {
        let answers = answers(without, CALLS.start, CALLS.end);
        assert_eq!(answers.len(), CALLS.count() - NOT_TRIED.len());
        let allowed: Vec<i64> = answers
            .iter()
            .filter(|(call, answer)| *answer != EPERM && !OF_PROBES.contains(call))
            .map(|(call, _)| *call)
            .collect();
        let of_probes = answers.iter().filter(|(call, _)| OF_PROBES.contains(call));
        assert!(
            of_probes.into_iter().all(|(_, answer)| *answer < 0),
            "{answers:?}"
        );
        assert_eq!(allowed, ALLOWED, "without {without:?}");
    }
    // the same calls in the ABI of 32-bit pointers
    let x32 = answers(&[], 0x4000_0000, CALLS.end);
    assert!(x32.iter().all(|(_, answer)| *answer == EPERM), "{x32:?}");
}

#[test]
fn calls_of_32_bit_programs_end_the_process() {
    let ended = escaped(&[], "(call $tell (call $old_call (i64.const 20)))");
    let Err(RunError::Lost { status }) = ended else {
        panic!("{ended:?}");
    };
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    let of_filter = rustix::process::Signal::SYS.as_raw();
    assert!(signal == Some(of_filter), "{status}");
}

#[test]
fn an_unconfined_drill_reaches_the_machine() {
    let both = [Layer::SystemCallFilter, Layer::KernelLimits];
    let opened = escaped(&both, &three(OPEN, "(call $at (i64.const 1024))", 0, 0)).unwrap();
    assert_eq!(opened, [3], "the first descriptor that is free");
    let socket = escaped(&both, &three(SOCKET, "(i64.const 2)", 1, 0)).unwrap();
    assert_eq!(socket, [3]);
}

/// A call whose result is printed.
fn three(call: i64, first: &str, second: i64, third: i64) -> String {
    format!("(call $tell (call $call3 (i64.const {call}) {first} (i64.const {second}) (i64.const {third})))")
}

#[test]
fn an_escaped_program_sees_three_descriptors_only() {
    let body = format!(
        "(call $tell (call $n_variables))
        (loop $again
            (local.set $answer (call $call3 (i64.const {FCNTL}) (local.get $n) (i64.const 1) (i64.const 0)))
            (if (i64.ge_s (local.get $answer) (i64.const 0)) (then (call $tell (local.get $n))))
            (local.set $n (i64.add (local.get $n) (i64.const 1)))
            (br_if $again (i64.lt_s (local.get $n) (i64.const 4096))))"
    );
    let shown = escaped(&[Layer::SystemCallFilter, Layer::KernelLimits], &body).unwrap();
    assert_eq!(
        shown,
        [0, 0, 1, 2],
        "the number of variables, then the descriptors"
    );
}

#[test]
fn limits_alone_prevent_files_sockets_and_processes() {
    let alone = [Layer::SystemCallFilter];
    let path = |offset: i64| format!("(call $at (i64.const {offset}))");
    for (case, call, first, second, answer) in [
        ("open a file", OPEN, path(1024), 0, EMFILE),
        ("read the environment", OPEN, path(1038), 0, EMFILE),
        ("write to its memory", OPEN, path(1057), 1, EMFILE),
        ("a socket", SOCKET, "(i64.const 2)".into(), 1, EMFILE),
        ("a pipe", PIPE, path(2048), 0, EMFILE),
        ("another descriptor", DUP, "(i64.const 1)".into(), 0, EMFILE),
        ("a file in memory", MEMFD_CREATE, path(1024), 0, EMFILE),
    ] {
        let shown = escaped(&alone, &three(call, &first, second, 0)).unwrap();
        assert_eq!(shown, [answer], "{case}");
    }
    // root's processes are not counted; the filter protects whoever runs programs as root
    let body = format!(
        "(drop (call $call3 (i64.const {SETUID}) (i64.const 65534) (i64.const 0) (i64.const 0)))
        (local.set $answer (call $call3 (i64.const {FORK}) (i64.const 0) (i64.const 0) (i64.const 0)))
        (if (i64.eqz (local.get $answer)) (then unreachable))
        (call $tell (local.get $answer))"
    );
    assert_eq!(escaped(&alone, &body).unwrap(), [EAGAIN], "a process");
}

#[test]
fn the_limits_alone_bound_memory() {
    // a GiB again and again, of which nothing is used
    let body = format!(
        "(loop $again
            (local.set $answer (call $call (i64.const {MMAP}) (i64.const 0) (i64.const 1073741824) (i64.const 3) (i64.const 0x4022)
                (i64.const -1) (i64.const 0)))
            (local.set $n (i64.add (local.get $n) (i64.const 1)))
            (br_if $again (i32.and (i64.gt_s (local.get $answer) (i64.const 0)) (i64.lt_s (local.get $n) (i64.const 100)))))
        (call $tell (local.get $n)) (call $tell (local.get $answer))"
    );
    let shown = escaped(&[Layer::SystemCallFilter], &body).unwrap();
    assert_eq!(shown[1], ENOMEM);
    assert!(shown[0] <= 3, "{shown:?}");
}

/// It can only write to standard output. The platform takes no more bytes than from an answer, and
/// judges them.
#[test]
fn output_of_an_escaped_program_is_no_answer() {
    let flood = format!(
        "(loop $again
            (local.set $answer (call $call3 (i64.const {WRITE}) (i64.const 1) (call $at (i64.const 0)) (i64.const 65536)))
            (br_if $again (i64.gt_s (local.get $answer) (i64.const 0))))"
    );
    let ended = escaped(&[], &flood);
    assert!(matches!(ended, Err(RunError::Lost { .. })), "{ended:?}");
}
