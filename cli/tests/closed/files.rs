//! A program reaches only its files through WASI.

use dataperf_closed::Code;

use crate::{failed, run, stdout};

/// A program that calls a function and writes its answer, a number below 100, as two digits.
fn answer(name: &str, parameters: &str, arguments: &str) -> String {
    let text = format!(
        r#"(module
        (import "wasi_snapshot_preview1" "{name}" (func $f (param {parameters}) (result i32)))
        (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 1024) "../etc/passwd\00/etc/passwd\00task.json\00made-up\00./pool.csv\00")
        (func (export "_start") (local $answer i32)
            (local.set $answer (call $f {arguments}))
            (i32.store8 (i32.const 512) (i32.add (i32.const 48) (i32.div_u (local.get $answer) (i32.const 10))))
            (i32.store8 (i32.const 513) (i32.add (i32.const 48) (i32.rem_u (local.get $answer) (i32.const 10))))
            (i32.store (i32.const 0) (i32.const 512))
            (i32.store (i32.const 4) (i32.const 2))
            (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#
    );
    stdout(&run(&text))
}

/// Opens so many bytes of path from a place in memory on, with these flags and rights.
fn open(begin: i32, n_bytes: i32, flags: i32, rights: i64) -> String {
    let arguments = format!(
        "(i32.const 3) (i32.const 0) (i32.const {begin}) (i32.const {n_bytes}) (i32.const {flags}) (i64.const {rights}) (i64.const 0) \
         (i32.const 0) (i32.const 600)"
    );
    answer("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32", &arguments)
}

#[test]
fn only_given_files_open_and_only_for_reading() {
    const READ: i64 = 2;
    const WRITE: i64 = 64;
    for (case, actual, errno) in [
        ("a file", open(1050, 9, 0, READ), "00"),
        ("a file by another path", open(1068, 10, 0, READ), "00"),
        ("above the directory", open(1024, 13, 0, READ), "76"),
        ("an absolute path", open(1038, 11, 0, READ), "76"),
        ("what is not there", open(1060, 7, 0, READ), "44"),
        ("to create", open(1060, 7, 1, READ), "69"),
        ("to truncate", open(1050, 9, 8, READ), "69"),
        ("to write", open(1050, 9, 0, WRITE), "69"),
        ("a file as a directory", open(1050, 9, 2, READ), "54"),
        ("a path beyond memory", open(65530, 100, 0, READ), "21"),
    ] {
        assert_eq!(actual, errno, "{case}");
    }
}

#[test]
fn nothing_can_be_changed_connected_or_inherited() {
    for (name, parameters, arguments, errno) in [
        (
            "path_unlink_file",
            "i32 i32 i32",
            "(i32.const 3) (i32.const 1050) (i32.const 9)",
            "69",
        ),
        (
            "path_create_directory",
            "i32 i32 i32",
            "(i32.const 3) (i32.const 1060) (i32.const 7)",
            "69",
        ),
        (
            "fd_filestat_set_size",
            "i32 i64",
            "(i32.const 3) (i64.const 0)",
            "69",
        ),
        (
            "sock_accept",
            "i32 i32 i32",
            "(i32.const 3) (i32.const 0) (i32.const 600)",
            "57",
        ),
        ("sock_shutdown", "i32 i32", "(i32.const 0) (i32.const 3)", "57"),
        ("fd_prestat_get", "i32 i32", "(i32.const 3) (i32.const 600)", "00"),
        ("fd_prestat_get", "i32 i32", "(i32.const 4) (i32.const 600)", "08"), // one directory, no other descriptor
        ("fd_close", "i32", "(i32.const -1)", "08"),
        ("proc_raise", "i32", "(i32.const 9)", "58"),
        (
            "fd_seek",
            "i32 i64 i32 i32",
            "(i32.const 1) (i64.const 0) (i32.const 0) (i32.const 600)",
            "70",
        ),
        ("random_get", "i32 i32", "(i32.const 65530) (i32.const 100)", "21"),
        ("args_get", "i32 i32", "(i32.const -4) (i32.const -8)", "21"),
    ] {
        assert_eq!(answer(name, parameters, arguments), errno, "{name}");
    }
}

/// A program that calls one function and writes some bytes of its memory.
fn bytes_after(imports: &str, call: &str, begin: i32, n_bytes: i32) -> Vec<u8> {
    let text = format!(
        r#"(module {imports}
        (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 1024) "pool.csv")
        (func (export "_start")
            {call}
            (i32.store (i32.const 0) (i32.const {begin}))
            (i32.store (i32.const 4) (i32.const {n_bytes}))
            (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#
    );
    run(&text).output.unwrap()
}

#[test]
fn there_is_no_environment_and_one_argument() {
    let imports = r#"(import "wasi_snapshot_preview1" "environ_sizes_get" (func $f (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "args_sizes_get" (func $g (param i32 i32) (result i32)))"#;
    let call =
        "(drop (call $f (i32.const 600) (i32.const 604))) (drop (call $g (i32.const 608) (i32.const 612)))";
    let sizes = bytes_after(imports, call, 600, 16);
    assert_eq!(sizes, [0u32, 0, 1, 8].map(u32::to_le_bytes).concat());
}

#[test]
fn a_read_continues_after_the_last_read() {
    let imports = r#"(import "wasi_snapshot_preview1" "path_open"
            (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_seek" (func $seek (param i32 i64 i32 i32) (result i32)))"#;
    let call = "(drop (call $open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 8) (i32.const 0) (i64.const 2) (i64.const 0)
            (i32.const 0) (i32.const 600)))
        (i32.store (i32.const 16) (i32.const 2000)) (i32.store (i32.const 20) (i32.const 3))
        (i32.store (i32.const 24) (i32.const 2003)) (i32.store (i32.const 28) (i32.const 6))
        (drop (call $read (i32.load (i32.const 600)) (i32.const 16) (i32.const 2) (i32.const 604)))
        (drop (call $seek (i32.load (i32.const 600)) (i64.const -4) (i32.const 2) (i32.const 608)))
        (i32.store (i32.const 16) (i32.const 2009)) (i32.store (i32.const 20) (i32.const 100))
        (drop (call $read (i32.load (i32.const 600)) (i32.const 16) (i32.const 1) (i32.const 2020)))";
    let read = bytes_after(imports, call, 2000, 24);
    assert_eq!(&read[..13], b"id,label\n1,b\n");
    assert_eq!(&read[20..], 4u32.to_le_bytes());
}

#[test]
fn host_functions_without_memory_return_an_error() {
    let text = r#"(module (import "wasi_snapshot_preview1" "sched_yield" (func $f (result i32)))
        (memory (export "memory") 1)
        (func $early (if (i32.ne (call $f) (i32.const 21)) (then unreachable)))
        (start $early)
        (func (export "_start")))"#;
    assert_eq!(failed(&run(text)).0, Code::NoOutput);
}

#[test]
fn sleeping_returns_at_once_and_advances_time() {
    let imports = r#"(import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
        (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))"#;
    // an hour by the clock that counts from the beginning, then until a day after 2020 began by the other
    let call =
        "(i32.store (i32.const 116) (i32.const 1)) (i64.store (i32.const 124) (i64.const 3600000000000))
        (drop (call $poll (i32.const 100) (i32.const 300) (i32.const 1) (i32.const 400)))
        (drop (call $time (i32.const 1) (i64.const 1) (i32.const 2000)))
        (i32.store (i32.const 116) (i32.const 0)) (i64.store (i32.const 124) (i64.const 1577923200000000000))
        (i32.store8 (i32.const 140) (i32.const 1))
        (drop (call $poll (i32.const 100) (i32.const 300) (i32.const 1) (i32.const 400)))
        (drop (call $time (i32.const 0) (i64.const 1) (i32.const 2008)))";
    let times = bytes_after(imports, call, 2000, 16);
    let time = |at: usize| u64::from_le_bytes(times[at..at + 8].try_into().unwrap());
    let a_moment = 100_000;
    assert!(
        (3_600_000_000_000..3_600_000_000_000 + a_moment).contains(&time(0)),
        "{}",
        time(0)
    );
    let day = 1_577_923_200_000_000_000;
    assert!((day..day + a_moment).contains(&time(8)), "{}", time(8));
}
