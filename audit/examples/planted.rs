//! How many planted label errors an audit finds, in the eval sets of the demo's data or of any frozen data set:
//!
//! ```sh
//! cargo run --release -p dataperf-audit --example planted              # all of demo/
//! cargo run --release -p dataperf-audit --example planted -- DATASET   # a frozen data set
//! ```
//!
//! The demo's own labels are taken for the truth. Errors go to 2, 5 and 10 % of the items, drawn evenly, each to another class
//! drawn evenly, with three seeds.

use std::path::{Path, PathBuf};
use std::time::Instant;

use dataperf::frozen::{MANIFEST, Manifest};
use dataperf_audit::{Found, doubts, found, plant};
use dataperf_datasets::{Import, Silent};
use dataperf_numerics::agreement::share_interval;

const SHARES: [f64; 3] = [0.02, 0.05, 0.1];
const SEEDS: [u32; 3] = [1, 2, 3];

type Outcome = Result<(), Box<dyn std::error::Error>>;

macro_rules! each {
    ($($benchmark:ty,)*) => {
        fn of_demo(demo: &Path, scratch: &Path) -> Outcome {
            $(
                let id = <$benchmark as dataperf::Benchmark>::ID;
                if demo.join(id).is_dir() {
                    let out = scratch.join(id);
                    dataperf_datasets::import::<$benchmark>(&demo.join(id), &out, &Silent)?;
                    measure::<$benchmark>(&out)?;
                }
            )*
            Ok(())
        }

        fn of_dataset(directory: &Path) -> Outcome {
            let bytes = std::fs::read(directory.join(MANIFEST))?;
            let benchmark = serde_json::from_slice::<serde_json::Value>(&bytes)?["benchmark"].clone();
            $(
                if benchmark == <$benchmark as dataperf::Benchmark>::ID {
                    return measure::<$benchmark>(directory);
                }
            )*
            Err(format!("`{}` has no benchmark with labels", directory.display()).into())
        }
    };
}
dataperf_benchmarks::for_each_benchmark!(each);

/// A share in percent, with Wilson's interval of 95 %.
fn percent(n_found: usize, n: usize) -> String {
    let interval = share_interval(n_found, n);
    interval.map_or("-".to_owned(), |(low, high)| {
        let share = n_found as f64 / n as f64;
        format!("{:.0} ({:.0}-{:.0})", share * 100.0, low * 100.0, high * 100.0)
    })
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn measure<B: Import>(directory: &Path) -> Outcome {
    let bytes = std::fs::read(directory.join(MANIFEST))?;
    let manifest = Manifest::parse(&bytes, B::ID)?;
    let (mut all, began) = (Vec::new(), Instant::now());
    for at in B::labelled(&manifest)?
        .iter()
        .filter(|at| !at.name.starts_with("public/"))
    {
        all.push(at.read(directory, &manifest)?);
    }
    let n_items: usize = all.iter().map(|set| set.labels.len()).sum();
    let mut cells = vec![B::ID.to_owned(), all.len().to_string(), n_items.to_string()];
    for share in SHARES {
        let (mut by_both, mut by_any) = (Found::default(), Found::default());
        for (set, seed) in all.iter().flat_map(|set| SEEDS.map(|seed| (set, seed))) {
            let (labels, rows) = plant(&set.labels, share, seed);
            let doubts = doubts(set.features.view(), &labels, set.at.classes.len())?;
            by_both += found(doubts.iter().filter(|doubt| doubt.is_likely()), &rows);
            by_any += found(doubts.iter(), &rows);
        }
        for found in [by_both, by_any] {
            cells.push(format!(
                "{} / {}",
                percent(found.n_right, found.n_flagged),
                percent(found.n_right, found.n_planted)
            ));
        }
    }
    cells.push(format!(
        "{:.1}",
        began.elapsed().as_secs_f64() / (SHARES.len() * SEEDS.len()) as f64
    ));
    println!("| {} |", cells.join(" | "));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn main() -> Outcome {
    println!(
        "| benchmark | eval sets | items | 2 %, both | 2 %, any | 5 %, both | 5 %, any | 10 %, both | 10 %, any | seconds an audit |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let datasets: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if datasets.is_empty() {
        let scratch = tempfile::tempdir()?;
        let demo = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .ok_or("the project has a root")?
            .join("demo");
        return of_demo(&demo, scratch.path());
    }
    datasets.iter().try_for_each(|directory| of_dataset(directory))
}
