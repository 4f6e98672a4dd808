//! Simulates a program that has escaped from the engine: it may make every system call, and sees
//! its own memory as the kernel does.
//!
//! For tests of the sandbox around such a program. No release has this feature.

use wasmtime::{Caller, Linker};

use crate::limiter::Limiter;
use crate::wasi::Host;

/// The module of these functions.
pub(crate) const MODULE: &str = "drill";

type Program<'a> = Caller<'a, (Host, Limiter)>;

/// Makes the functions known.
pub(crate) fn link(linker: &mut Linker<(Host, Limiter)>) -> wasmtime::Result<()> {
    linker.func_wrap(MODULE, "system_call", system_call)?;
    linker.func_wrap(MODULE, "old_system_call", old_system_call)?;
    linker.func_wrap(MODULE, "base", |program: Program<'_>| {
        let memory = program.data().0.memory;
        memory.map_or(0, |memory| memory.data_ptr(&program) as i64)
    })?;
    // those that the process was started with
    linker.func_wrap(MODULE, "n_variables", || {
        std::env::vars_os().count().cast_signed() as i64
    })?;
    Ok(())
}

/// A system call by its number: its result, or the negative error number.
fn system_call(number: i64, a: i64, b: i64, c: i64, d: i64, e: i64, f: i64) -> i64 {
    #[allow(unsafe_code)]
    // SAFETY: none is claimed; whoever escapes can do this, and the test that asks for it says what may come of it
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    match result {
        -1 => -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or_default()),
        result => result,
    }
}

/// A system call without arguments in the way of 32-bit programs, which has other numbers.
fn old_system_call(number: i64) -> i64 {
    let answer: i64;
    #[allow(unsafe_code)]
    // SAFETY: as above; the kernel may change the registers from r8 on
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") number => answer,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, options(nostack));
    }
    answer
}
