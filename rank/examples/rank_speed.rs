//! How long `dataperf rank` takes to read a table, to draw its items and to rank its systems, for docs/rank.md.
//!
//!     cargo run --release -p dataperf-rank --example rank_speed -- FILE

use std::path::PathBuf;
use std::time::Instant;

use dataperf_rank::{Draws, Options, Ranking, read};

#[allow(clippy::print_stdout, reason = "this program's result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let start = Instant::now();
    let table = read(&files, &Options::default())?;
    let read = start.elapsed().as_secs_f64();
    let draws = Draws::new(&table, false);
    let drawn = start.elapsed().as_secs_f64();
    let ranking = Ranking::new(&table, &draws);
    let ranked = start.elapsed().as_secs_f64();
    println!(
        "{} items, {} systems: read in {read:.1} s, drawn in {:.1} s, ranked in {:.1} s",
        ranking.n_items,
        ranking.n_systems,
        drawn - read,
        ranked - drawn
    );
    Ok(())
}
