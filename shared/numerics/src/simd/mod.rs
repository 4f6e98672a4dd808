//! Vectorised kernels under the frozen models, with the same bits on every processor.
//!
//! The code is compiled for several instruction sets and the best one is chosen at run time (see
//! [`pulp`]). Results don't depend on the choice: lanes run over independent outputs, or a sum is
//! split into a fixed number of partial sums, and every fused multiply-add is fused everywhere.
//!
//! Inside such code there are loops and no closures around vector operations. A closure that the compiler leaves on its own
//! is compiled without the instruction set, so that each operation in it is a call: that once cost a factor of ten, on some
//! processors only. In a release build `nm -C PROGRAM | grep core_arch.*_pd` finds such operations; there should be none.

#![allow(
    clippy::inline_always,
    reason = "code is only vectorised if it is inlined into the function that enables the instruction set"
)]

pub(crate) mod aligned;
mod exp;
mod product;
pub(crate) mod vector;

pub(crate) use exp::exp;
pub(crate) use product::{BLOCK_ROWS, PackedColumns, ProductScratch};

/// Every instruction set that this processor can run.
#[cfg(test)]
pub(crate) fn architectures() -> Vec<pulp::Arch> {
    use pulp::Arch;
    let mut all = vec![Arch::Scalar, Arch::new()];
    #[cfg(target_arch = "x86_64")]
    all.extend(pulp::x86::V3::try_new().map(Arch::V3));
    all
}
