//! Data sets: imported, published, active, final and retired; kits and baselines.

mod active;
pub(crate) mod finals;
mod imports;
pub(crate) mod kits;
mod publishing;
mod retirements;
mod splits;
