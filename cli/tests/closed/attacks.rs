//! Programs that take more than they may, or end otherwise than they should: each with its code, and the host as it was.

use dataperf_closed::{Code, Limits};

use crate::{failed, limits, program, run, run_module, stdout};

#[test]
fn a_program_writes_an_artifact() {
    let run = run(&program("hello", "(call $say (i32.const 1) (i32.const 5))"));
    assert_eq!(stdout(&run), "hello");
    assert!(run.fuel.unwrap() > 0 && run.fuel.unwrap() < 10_000, "{run:?}");
    assert!(run.log.is_empty() && !run.is_log_cut);
}

#[test]
fn a_program_reports_its_peak_memory() {
    const PAGE: u64 = 64 << 10;
    let peak = |body: &str| {
        let body = format!("{body} (call $say (i32.const 1) (i32.const 5))");
        let run = run(&program("hello", &body));
        assert_eq!(stdout(&run), "hello");
        run.memory_bytes.unwrap()
    };
    let small = peak("");
    assert!(small >= PAGE && small.is_multiple_of(PAGE), "{small}");
    assert_eq!(peak("(drop (memory.grow (i32.const 7)))"), small + 7 * PAGE);
    let never_ran = run_module(b"no module", limits());
    assert_eq!(never_ran.memory_bytes, None);
}

#[test]
fn an_endless_loop_ends_with_its_fuel() {
    let run = run(&program("", "(loop $again (br $again))"));
    assert_eq!(failed(&run).0, Code::OutOfFuel);
    assert_eq!(run.fuel, Some(limits().max_fuel));
}

#[test]
fn endless_host_calls_run_out_of_fuel() {
    // each asks for a megabyte of nothing, of time, or of random numbers
    for (import, call) in [
        (
            "fd_prestat_get\" (func $f (param i32 i32)",
            "(call $f (i32.const 99) (i32.const 0))",
        ),
        (
            "random_get\" (func $f (param i32 i32)",
            "(call $f (i32.const 0) (i32.const 65536))",
        ),
        (
            "random_get\" (func $f (param i32 i32)",
            "(call $f (i32.const 0) (i32.const -1))",
        ),
    ] {
        let text = format!(
            r#"(module (import "wasi_snapshot_preview1" "{import} (result i32)))
            (memory (export "memory") 1)
            (func (export "_start") (loop $again (drop {call}) (br $again))))"#
        );
        assert_eq!(failed(&run(&text)).0, Code::OutOfFuel, "{import}");
    }
}

#[test]
fn bulk_memory_operations_cost_fuel_per_byte() {
    let body = "(loop $again (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br $again))";
    let run = run(&program("", body));
    assert_eq!(failed(&run).0, Code::OutOfFuel);
}

#[test]
fn a_failing_call_still_costs_fuel() {
    let fuel = |import: &str, call: &str| {
        let text = format!(
            r#"(module (import "wasi_snapshot_preview1" "{import} (result i32)))
            (memory (export "memory") 2) (table $table 1 funcref)
            (func (export "_start") (drop {call})))"#
        );
        run(&text).fuel.unwrap()
    };
    let four = "fd_write\" (func $write (param i32 i32 i32 i32)";
    let poll = "poll_oneoff\" (func $poll (param i32 i32 i32 i32)";
    let path = "path_filestat_get\" (func $stat (param i32 i32 i32 i32 i32)";
    for (case, fuel, at_least) in [
        (
            "1,024 empty buffers",
            fuel(
                four,
                "(call $write (i32.const 2) (i32.const 16384) (i32.const 1024) (i32.const 0))",
            ),
            8 * 1024,
        ),
        (
            "1,024 events, and no place for their number",
            fuel(
                poll,
                "(call $poll (i32.const 0) (i32.const 65536) (i32.const 1024) (i32.const -1))",
            ),
            (9 + 32) * 1024,
        ),
        (
            "a long path of nothing",
            fuel(
                path,
                "(call $stat (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 4096) (i32.const 0))",
            ),
            4096,
        ),
        (
            "growing a memory by nothing",
            fuel(four, "(memory.grow (i32.const 0))"),
            100,
        ),
        (
            "growing a table by nothing",
            fuel(four, "(table.grow $table (ref.null func) (i32.const 0))"),
            100,
        ),
    ] {
        assert!(fuel >= at_least, "{case}: {fuel}");
        assert!(fuel < 2 * at_least + 200, "{case}: {fuel}");
    }
}

#[test]
fn more_memory_than_there_is_ends_a_program() {
    let grows = run(&program(
        "",
        "(loop $again (drop (memory.grow (i32.const 16))) (br $again))",
    ));
    assert_eq!(failed(&grows).0, Code::OutOfMemory);
    let failure = grows.output.unwrap_err();
    assert_eq!(failure.actual, Some(1025 * 65536)); // it began with 1 of 1,024 pages, and takes 16 more each time
    let begins = run(r#"(module (memory (export "memory") 65536) (func (export "_start")))"#);
    assert_eq!(failed(&begins).0, Code::OutOfMemory);
}

#[test]
fn a_large_table_is_refused() {
    let run =
        run(r#"(module (memory (export "memory") 1) (table 100000000 funcref) (func (export "_start")))"#);
    assert_eq!(failed(&run).0, Code::InvalidModule);
}

#[test]
fn webassembly_traps_stop_a_program() {
    for (name, body) in [
        ("gives up", "unreachable"),
        (
            "divides by zero",
            "(drop (i32.div_s (i32.const 1) (i32.const 0)))",
        ),
        ("reads beyond memory", "(drop (i32.load (i32.const -1)))"),
        ("calls itself", "(call $deep)"),
    ] {
        let text =
            program("", body).replace("(func $say", "(func $deep (call $deep) (call $deep)) (func $say");
        let run = run(&text);
        assert_eq!(failed(&run).0, Code::Trap, "{name}");
        assert!(!run.log.is_empty(), "{name}: nothing says where");
    }
}

#[test]
fn a_status_other_than_0_is_no_artifact() {
    let body =
        |status: i32| format!("(call $say (i32.const 1) (i32.const 5)) (call $exit (i32.const {status}))");
    assert_eq!(stdout(&run(&program("hello", &body(0)))), "hello");
    let run = run(&program("hello", &body(3)));
    assert_eq!(failed(&run).0, Code::ExitStatus);
    assert_eq!(run.output.unwrap_err().actual, Some(3));
}

#[test]
fn nothing_written_is_no_artifact() {
    assert_eq!(failed(&run(&program("", ""))).0, Code::NoOutput);
}

#[test]
fn huge_output_is_cut_at_the_limit() {
    let flood = |fd: i32, n: i32| {
        format!(
            "(local $n i32) (local.set $n (i32.const {n})) (loop $again (call $say (i32.const {fd}) (i32.const 60000))
            (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br_if $again (local.get $n)))"
        )
    };
    let more_fuel = Limits {
        max_fuel: 10_000_000_000,
        ..limits()
    };
    let run = |text: String| run_module(&wat::parse_str(text).unwrap(), more_fuel);
    let output = run(program("x", &flood(1, 1_700)));
    assert_eq!(failed(&output).0, Code::OutputTooLarge);
    // the beginning of standard error is kept, and the program continues
    let log = run(program(
        "x",
        &format!("{} (call $say (i32.const 1) (i32.const 1))", flood(2, 1_700)),
    ));
    assert_eq!(stdout(&log), "x");
    assert_eq!(
        (log.log.len() as u64, log.is_log_cut),
        (limits().max_log_bytes, true)
    );
}

#[test]
fn a_module_that_imports_anything_else_is_refused() {
    for import in [
        r#"(import "env" "system" (func (param i32) (result i32)))"#,
        r#"(import "wasi" "thread-spawn" (func (param i32) (result i32)))"#,
        r#"(import "wasix_32v1" "proc_fork" (func (param i32 i32) (result i32)))"#,
        r#"(import "wasi_snapshot_preview1" "proc_fork" (func (param i32 i32) (result i32)))"#,
        r#"(import "wasi_snapshot_preview1" "sock_open" (func (param i32 i32 i32) (result i32)))"#,
        r#"(import "wasi_unstable" "fd_write" (func (param i32 i32 i32 i32) (result i32)))"#,
        r#"(import "wasi_snapshot_preview1" "fd_write" (global i32))"#,
    ] {
        let run = run(&format!(
            r#"(module {import} (memory (export "memory") 1) (func (export "_start")))"#
        ));
        assert_eq!(failed(&run).0, Code::ForeignImport, "{import}");
    }
    let of_another_type = r#"(module (import "wasi_snapshot_preview1" "fd_close" (func (param i64) (result i32)))
        (memory (export "memory") 1) (func (export "_start")))"#;
    assert_eq!(failed(&run(of_another_type)).0, Code::InvalidModule);
}

#[test]
fn a_non_command_module_is_refused() {
    for text in [
        r#"(module (memory (export "memory") 1))"#,
        r#"(module (func (export "_start")))"#,
        r#"(module (memory (export "memory") 1) (func (export "_start") (param i32)))"#,
        r#"(module (memory (export "_start") 1) (func (export "memory")))"#,
        "(module)",
    ] {
        assert_eq!(failed(&run(text)).0, Code::NotACommand, "{text}");
    }
}

#[test]
fn files_that_are_no_module_are_refused() {
    let whole = wat::parse_str(program("hello", "(call $say (i32.const 1) (i32.const 5))")).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..].fill(0xff);
    let text = program("", "").into_bytes();
    let own_executable = std::fs::read("/proc/self/exe").unwrap()[..1 << 16].to_vec();
    for (name, module) in [
        ("nothing", &[][..]),
        ("text", &text),
        ("a program for this processor", &own_executable),
        ("damaged", &damaged),
    ] {
        let run = run_module(module, limits());
        assert_eq!(failed(&run).0, Code::InvalidModule, "{name}");
        assert_eq!(run.fuel, None);
    }
    for n_bytes in 1..whole.len() {
        if n_bytes % 16 == 0 {
            assert_eq!(
                failed(&run_module(&whole[..n_bytes], limits())).0,
                Code::InvalidModule,
                "{n_bytes}"
            );
        }
    }
}

#[test]
fn nondeterministic_instructions_are_refused() {
    for text in [
        r#"(module (memory (export "memory") 1 1 shared) (func (export "_start")))"#,
        r#"(module (memory (export "memory") i64 1) (func (export "_start")))"#,
        r#"(module (memory (export "memory") 1) (memory 1) (func (export "_start")))"#,
        r#"(module (memory (export "memory") 1) (func (export "_start")
            (drop (i32x4.relaxed_trunc_f32x4_s (v128.const i32x4 0 0 0 0)))))"#,
    ] {
        assert_eq!(failed(&run(text)).0, Code::InvalidModule, "{text}");
    }
}

#[test]
fn a_too_large_module_is_not_parsed() {
    let limits = limits();
    let run = run_module(&vec![0; limits.max_module_bytes as usize + 1], limits);
    assert_eq!(failed(&run).0, Code::ModuleTooLarge);
    assert_eq!(run.output.unwrap_err().actual, Some(limits.max_module_bytes + 1));
}

#[test]
fn the_deadline_is_behind_the_fuel() {
    let limits = Limits {
        max_fuel: u64::MAX / 4,
        run_seconds: 1,
        ..limits()
    };
    let module = wat::parse_str(program("", "(loop $again (br $again))")).unwrap();
    let run = run_module(&module, limits);
    assert_eq!(failed(&run).0, Code::Deadline);
    assert_eq!(run.fuel, None);
}
