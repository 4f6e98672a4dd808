//! Modules that are hard to compile: refused before, or ended at a limit, and never the host's trouble.

use dataperf_closed::{Code, Limits};

use crate::{failed, limits, run_module};

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
fn module(functions: &[(u64, Vec<u8>)]) -> Vec<u8> {
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

#[test]
fn a_million_locals_are_refused() {
    let run = run_module(&a_million_locals(), limits());
    assert_eq!(failed(&run).0, Code::InvalidModule);
}

#[test]
fn deep_nesting_ends() {
    let n = 100_000;
    let mut blocks = [0x02, 0x40].repeat(n);
    blocks.extend([0x0b].repeat(n));
    let run = run_module(&module(&[(0, blocks)]), limits());
    assert!(
        matches!(
            failed(&run).0,
            Code::NoOutput | Code::CompileLimit | Code::InvalidModule
        ),
        "{run:?}"
    );
}

/// Half a megabyte of loops in each other with many locals, each of which may come from anywhere: gigabytes for a compiler.
fn hard_to_compile() -> Vec<u8> {
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

#[test]
fn what_takes_too_much_memory_to_compile_is_ended() {
    let run = run_module(&hard_to_compile(), limits());
    assert_eq!(failed(&run).0, Code::CompileLimit);
    assert_eq!(run.fuel, None);
}

#[test]
fn what_takes_too_long_to_compile_is_ended() {
    let limits = Limits {
        compile_seconds: 0,
        ..limits()
    };
    assert_eq!(
        failed(&run_module(&hard_to_compile(), limits)).0,
        Code::CompileLimit
    );
}
