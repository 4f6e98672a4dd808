//! `dataperf dataset split`: a public and a final data set of one.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use dataperf::Benchmark as _;
use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_benchmarks::own_data::{self, Apart, Half, TASKS};
use serde_json::{Value, json};

use crate::Done;
use crate::on_disk::{open, open_verified};
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{align_right, table};

#[derive(Debug, Args)]
pub(crate) struct SplitArgs {
    /// The frozen data set's directory
    directory: PathBuf,
    /// Where to put the part for uploads: a new or empty directory
    #[arg(long, value_name = "DIR")]
    public: PathBuf,
    /// Where to put the part for the final board: a new or empty directory
    #[arg(long = "final", value_name = "DIR")]
    last: PathBuf,
    /// The public part's share of the test set
    #[arg(long, default_value_t = 0.5)]
    share: f64,
    /// Also split all other rows, for a round that takes programs
    #[arg(long)]
    all_rows: bool,
}

pub(super) fn run(args: &SplitArgs, format: RowFormat) -> Result<Done> {
    let mut problems = Vec::new();
    if !(args.share > 0.0 && args.share < 1.0) {
        problems.push(format!(
            "--share {} is not a share: give a number between 0 and 1",
            args.share
        ));
    }
    if args.public == args.last {
        problems.push("--public and --final are one directory: give two".to_owned());
    }
    let manifest = open(&args.directory)?.manifest;
    if !TASKS.contains(&manifest.benchmark.as_str()) {
        problems.push(format!(
            "`{}` is a data set of {}, and only those of own data are split ({}): import two of the source's splits",
            args.directory.display(),
            manifest.benchmark,
            TASKS.join(", ")
        ));
    }
    if args.all_rows && manifest.benchmark == Curation::ID {
        problems.push(format!(
            "--all-rows is for rounds that take programs, and `{}` has none: leave it out",
            manifest.benchmark
        ));
    }
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    open_verified(&args.directory)?;
    let apart = if args.all_rows {
        Apart::AllRows
    } else {
        Apart::EvalSet
    };
    let outs = [args.public.as_path(), args.last.as_path()];
    let [public, last] = own_data::split(&args.directory, &manifest, outs, args.share, apart)?;
    let parts = [("public", &args.public, &public), ("final", &args.last, &last)];
    let document = || {
        let part = |(name, out, half): &(&str, &PathBuf, &Half)| {
            json!({ "part": name, "directory": out, "dataset": half.dataset, "items": half.n_of_class,
                    "clusters": half.n_clusters, "rows": half.n_rows })
        };
        Ok(parts.iter().map(part).collect::<Vec<Value>>())
    };
    let rows = || {
        let classes = public.n_of_class.iter();
        classes
            .map(|(class, n)| json!({ "class": class, "public": n, "final": last.n_of_class[class] }))
            .collect()
    };
    print_tabled(document, &["class", "public", "final"], rows, format, || {
        let mut shown = table(&["class", "public", "final"]);
        for (class, n) in &public.n_of_class {
            shown.add_row([class, &n.to_string(), &last.n_of_class[class].to_string()]);
        }
        if let (Some(one), Some(other)) = (public.n_clusters, last.n_clusters) {
            shown.add_row(["(clusters)".to_owned(), one.to_string(), other.to_string()]);
        }
        for (name, n) in &public.n_rows {
            shown.add_row([format!("({name})"), n.to_string(), last.n_rows[name].to_string()]);
        }
        (1..3).for_each(|column| align_right(&mut shown, column));
        println!("{shown}");
        for (name, out, half) in parts {
            println!("{name}: `{}`, {}", out.display(), half.dataset);
        }
        Ok(())
    })?;
    Ok(Done::Fine)
}
