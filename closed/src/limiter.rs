//! Memory and tables of a program, as they grow.

use std::fmt;

use wasmtime::ResourceLimiter;

use crate::Limits;

/// The most elements of all tables of a program together.
const MAX_TABLE_ELEMENTS: usize = 1 << 20;

/// Ends a program that asks for more than it may have.
pub(crate) struct Limiter {
    max_memory_bytes: usize,
    n_table_elements: usize,
}

impl Limiter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            max_memory_bytes: limits.max_memory_bytes as usize,
            n_table_elements: 0,
        }
    }
}

/// The program requested more memory than there is.
#[derive(Debug)]
pub(crate) struct OutOfMemory {
    pub(crate) n_bytes: u64,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program asked for {} bytes of memory", self.n_bytes)
    }
}

impl std::error::Error for OutOfMemory {}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > self.max_memory_bytes {
            let n_bytes = desired as u64;
            return Err(wasmtime::Error::new(OutOfMemory { n_bytes }));
        }
        Ok(maximum.is_none_or(|maximum| desired <= maximum))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let n_elements = self.n_table_elements + desired.saturating_sub(current);
        if n_elements > MAX_TABLE_ELEMENTS || maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.n_table_elements = n_elements;
        Ok(true)
    }
}
