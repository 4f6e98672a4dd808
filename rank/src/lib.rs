//! Ranks for anybody's results.
//!
//! [`read()`] gathers per-item results of systems from tables and logs into a [`Table`]; [`Ranking::new`] says what the ranks are
//! worth, and [`Pair::new`] how far two systems are apart. The statistics are those of the project's boards
//! ([`dataperf_numerics::ranks`]), on draws of all items alike: results of others have no classes to draw within.

mod cell;
mod gather;
mod head;
mod layout;
mod logs;
mod options;
mod pair;
mod parquet_rows;
mod problems;
mod ranking;
mod read;
mod table;

pub use options::{Layout, Missing, Options};
pub use pair::{Pair, Test};
pub use problems::Problems;
pub use ranking::{Draws, Ranking, Row, WhyNone};
pub use read::{MAX_BYTES, read};
pub use table::{MAX_CELLS, MAX_SYSTEMS, Table};
