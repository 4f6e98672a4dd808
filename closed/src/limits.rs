//! The limits of a program.

use dataperf::programs::Programs;
use serde::{Deserialize, Serialize};

/// The limits of a program. Fuel is the budget: a program that runs out of it does so on every
/// machine. The seconds are only a second line of defence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of the module.
    pub max_module_bytes: u64,
    /// Fuel: about one a WebAssembly instruction, one a byte that is copied, see `docs/closed-division.md`.
    pub max_fuel: u64,
    /// Bytes of the program's memory.
    pub max_memory_bytes: u64,
    /// Bytes of standard output.
    pub max_output_bytes: u64,
    /// Bytes of standard error that are kept.
    pub max_log_bytes: u64,
    /// Seconds of processor time for compiling the module.
    pub compile_seconds: u64,
    /// Seconds of processor time until the program has to end, from when it is compiled.
    pub run_seconds: u64,
}

impl Limits {
    /// The limits of every board, for artifacts of at most `max_output_bytes`.
    pub const fn for_artifacts_of(max_output_bytes: u64) -> Self {
        Self {
            max_module_bytes: Programs::MAX_MODULE_BYTES,
            max_fuel: 20_000_000_000,
            max_memory_bytes: 1 << 30,
            max_output_bytes,
            max_log_bytes: 1 << 20,
            compile_seconds: 60,
            run_seconds: 300,
        }
    }
}
