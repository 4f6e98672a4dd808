//! How many planted label errors an audit finds, in the test sets of the demo's data or of any frozen data set:
//!
//! ```sh
//! cargo run --release -p dataperf-audit --example planted              # all of demo/
//! cargo run --release -p dataperf-audit --example planted -- DATASET   # a frozen data set
//! ```
//!
//! The demo's own labels are taken for the truth. Errors go to 2, 5 and 10 % of the items, drawn evenly, each to another class
//! drawn evenly, with three seeds. The last two columns have 5 % on hard items, each to the class that learners hold for the next likely.
//!
//! With `NEAR=1` it plants copies of rows with noise instead, and prints how many are found.

use std::path::{Path, PathBuf};
use std::time::Instant;

use dataperf::dataset::frozen::{MANIFEST, Manifest};
use dataperf_audit::{DetectionCounts, copies, count_found, doubts, plant, plant_hard};
use dataperf_datasets::labels::labelled::Labelled;
use dataperf_datasets::labels::near::Nearest;
use dataperf_datasets::{Import, Silent};
use dataperf_numerics::agreement::share_interval;

const SHARES: [f64; 3] = [0.02, 0.05, 0.1];
const SEEDS: [u32; 3] = [1, 2, 3];
/// Noise of planted copies, as a share of a column's standard deviation.
const NOISE: [f64; 4] = [0.01, 0.03, 0.05, 0.1];

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
    if all.is_empty() {
        return Ok(()); // it has no labels of rows
    }
    if std::env::var_os("NEAR").is_some() {
        return near(B::ID, &all);
    }
    let n_items: usize = all.iter().map(|set| set.labels.len()).sum();
    let mut cells = vec![B::ID.to_owned(), all.len().to_string(), n_items.to_string()];
    let kinds = SHARES
        .map(|share| (share, false))
        .into_iter()
        .chain([(0.05, true)]);
    for (share, is_hard) in kinds {
        let (mut by_both, mut by_any) = (DetectionCounts::default(), DetectionCounts::default());
        for (set, seed) in all.iter().flat_map(|set| SEEDS.map(|seed| (set, seed))) {
            let (labels, rows) = if is_hard {
                plant_hard(
                    set.features.view(),
                    &set.labels,
                    set.at.classes.len(),
                    share,
                    seed,
                )?
            } else {
                plant(&set.labels, share, seed)
            };
            let doubts = doubts(set.features.view(), &labels, set.at.classes.len())?;
            by_both += count_found(doubts.iter().filter(|doubt| doubt.is_likely()), &rows);
            by_any += count_found(doubts.iter(), &rows);
        }
        for count in [by_both, by_any] {
            cells.push(format!(
                "{} / {}",
                percent(count.n_right, count.n_flagged),
                percent(count.n_right, count.n_planted)
            ));
        }
    }
    cells.push(format!(
        "{:.1}",
        began.elapsed().as_secs_f64() / ((SHARES.len() + 1) * SEEDS.len()) as f64
    ));
    println!("| {} |", cells.join(" | "));
    Ok(())
}

/// Prints of the test sets of a benchmark how many rows are taken for copies of other rows of their set, and how many of 50 planted copies
/// of each are found with noise of 1, 3, 5 and 10 % of a column's standard deviation.
#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn near(benchmark: &str, sets: &[Labelled]) -> Outcome {
    let (mut n_items, mut n_false, mut n_planted) = (0, 0, 0);
    let mut n_found = [0; NOISE.len()];
    for set in sets {
        let rows = || set.features.mapv(|number| number as f32);
        let mut among = Nearest::new(rows()).ok_or("a test set without rows")?;
        among.compare_among_themselves();
        n_false += among.near().count();
        n_items += rows().nrows();
        for (n_found, noise) in n_found.iter_mut().zip(NOISE) {
            let (planted, copied) = copies(set.features.view(), 50, noise, 1);
            let mut nearest = Nearest::new(rows()).ok_or("a test set without rows")?;
            nearest.compare(planted.mapv(|number| number as f32));
            *n_found += nearest
                .near()
                .filter(|(row, copy, _)| copied[*copy] == *row)
                .count();
        }
        n_planted += 50.min(rows().nrows());
    }
    let shares = n_found.map(|n| n.to_string()).join(" | ");
    println!("| {benchmark} | {n_items} | {n_false} | {n_planted} | {shares} |");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn main() -> Outcome {
    if std::env::var_os("NEAR").is_some() {
        println!(
            "| benchmark | items | near ones among them | planted | 1 % | 3 % | 5 % | 10 % |\n|---|--:|--:|--:|--:|--:|--:|--:|"
        );
    } else {
        println!(
            "| benchmark | test sets | items | 2 %, both | 2 %, any | 5 %, both | 5 %, any | 10 %, both | 10 %, any | 5 % hard, both | 5 % hard, any | seconds an audit |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    }
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
