//! Hostile programs, one of each kind, for the tests of the process and of the function.

/// A program, and how it has to end.
pub(crate) struct Hostile {
    pub(crate) name: &'static str,
    pub(crate) module: Vec<u8>,
    /// The code of its failure; `None` if it writes an invalid artifact.
    pub(crate) code: Option<&'static str>,
}

fn leb(mut number: u64, to: &mut Vec<u8>) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            return to.push(low);
        }
        to.push(low | 0x80);
    }
}

fn section(id: u8, body: &[u8], to: &mut Vec<u8>) {
    to.push(id);
    leb(body.len() as u64, to);
    to.extend_from_slice(body);
}

/// A command whose functions have these locals and this code; the first is `_start`.
pub(crate) fn module(functions: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    section(1, &[1, 0x60, 0, 0], &mut module);
    let mut types = Vec::new();
    leb(functions.len() as u64, &mut types);
    types.extend(functions.iter().map(|_| 0));
    section(3, &types, &mut module);
    section(5, &[1, 0, 1], &mut module);
    section(7, b"\x02\x06memory\x02\x00\x06_start\x00\x00", &mut module);
    let mut code = Vec::new();
    leb(functions.len() as u64, &mut code);
    for (n_locals, instructions) in functions {
        let mut body = Vec::new();
        body.push(1);
        leb(*n_locals, &mut body);
        body.push(0x7f);
        body.extend_from_slice(instructions);
        body.push(0x0b);
        leb(body.len() as u64, &mut code);
        code.extend_from_slice(&body);
    }
    section(10, &code, &mut module);
    module
}

/// A function with more locals than any has.
pub(crate) fn a_million_locals() -> Vec<u8> {
    module(&[(1_000_000, Vec::new())])
}

/// Blocks in blocks, a hundred thousand deep, which do nothing.
pub(crate) fn deep_nesting() -> Vec<u8> {
    let n = 100_000;
    let mut blocks = [0x02, 0x40].repeat(n);
    blocks.extend([0x0b].repeat(n));
    module(&[(0, blocks)])
}

/// Half a megabyte of loops in each other with many locals, each of which may come from anywhere: gigabytes for a compiler.
pub(crate) fn hard_to_compile() -> Vec<u8> {
    let (n_locals, n_loops) = (49_000, 20_000);
    let mut code = [0x03, 0x40].repeat(n_loops);
    for local in 0..n_locals {
        code.push(0x20);
        leb(local, &mut code);
        code.push(0x21);
        leb((local + 1) % n_locals, &mut code);
    }
    for local in 0..n_loops {
        code.push(0x20);
        leb(local as u64, &mut code);
        code.extend([0x0d, 0x00, 0x0b]);
    }
    module(&[(n_locals, code)])
}

/// A module around the body of `_start`: `$open` opens the file whose name is at 1024 and has so many bytes, and gives its number or -1; `$pass` reads
/// so many bytes of it and writes them to standard output.
fn program(name: &str, body: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
        (import "wasi_snapshot_preview1" "path_open" (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 20)
        (data (i32.const 1024) "{name}")
        (func $open (param $n i32) (result i32)
            (if (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (local.get $n) (i32.const 0) (i64.const 2) (i64.const 0)
                (i32.const 0) (i32.const 600)) (then (return (i32.const -1))))
            (i32.load (i32.const 600)))
        (func $say (param $n i32)
            (i32.store (i32.const 0) (i32.const 65536))
            (i32.store (i32.const 4) (local.get $n))
            (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
        (func $pass (param $file i32) (param $n i32)
            (i32.store (i32.const 0) (i32.const 65536))
            (i32.store (i32.const 4) (local.get $n))
            (drop (call $fd_read (local.get $file) (i32.const 0) (i32.const 1) (i32.const 16)))
            (call $say (i32.load (i32.const 16))))
        (func (export "_start") (local $n i32) {body}))"#
    );
    wat::parse_str(text).unwrap()
}

/// A function that calls itself twice, so that it is no loop for any compiler.
fn endless_recursion() -> Vec<u8> {
    let text = r#"(module (memory (export "memory") 1) (func $deep (call $deep) (call $deep)) (func (export "_start") (call $deep)))"#;
    wat::parse_str(text).unwrap()
}

fn importing(import: &str) -> Vec<u8> {
    let text = format!(r#"(module {import} (memory (export "memory") 1) (func (export "_start")))"#);
    wat::parse_str(text).unwrap()
}

/// One of each kind.
pub(crate) fn kinds() -> Vec<Hostile> {
    let hostile = |name, module, code: &'static str| Hostile {
        name,
        module,
        code: Some(code).filter(|code| !code.is_empty()),
    };
    let prints = program(
        "pool.csv",
        "(call $pass (call $open (i32.const 8)) (i32.const 1000000))",
    );
    let floods = "(local.set $n (i32.const 1700))
        (loop $again (call $say (i32.const 60000)) (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br_if $again (local.get $n)))";
    let reads = "(if (i32.ne (call $open (i32.const 13)) (i32.const -1)) (then unreachable))";
    vec![
        hostile(
            "an endless loop",
            program("", "(loop $again (br $again))"),
            "out_of_fuel",
        ),
        hostile(
            "a memory hog",
            program(
                "",
                "(loop $again (drop (memory.grow (i32.const 16))) (br $again))",
            ),
            "out_of_memory",
        ),
        hostile(
            "a fork bomb",
            importing(r#"(import "wasix_32v1" "proc_fork" (func (param i32 i32) (result i32)))"#),
            "foreign_import",
        ),
        hostile(
            "a reader of other files",
            program("../etc/passwd", reads),
            "no_output",
        ),
        hostile(
            "an opener of sockets",
            importing(
                r#"(import "wasi_snapshot_preview1" "sock_open" (func (param i32 i32 i32) (result i32)))"#,
            ),
            "foreign_import",
        ),
        hostile(
            "a hundred megabytes of output",
            program("", floods),
            "output_too_large",
        ),
        hostile("deep nesting", deep_nesting(), "no_output"),
        hostile("a million locals", a_million_locals(), "invalid_module"),
        hostile("what is hard to compile", hard_to_compile(), "compile_limit"),
        hostile(
            "foreign imports",
            importing(r#"(import "env" "system" (func (param i32) (result i32)))"#),
            "foreign_import",
        ),
        hostile(
            "a truncated module",
            prints[..prints.len() / 2].to_vec(),
            "invalid_module",
        ),
        hostile("one that prints the pool", prints, ""),
        hostile("unbounded recursion", endless_recursion(), "trap"),
        // a picture, as if a submitter took the wrong file
        hostile(
            "what is no module at all",
            [b"\x89PNG\r\n\x1a\n".to_vec(), vec![7; 100_000]].concat(),
            "invalid_module",
        ),
    ]
}
