//! How far raters agree.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use dataperf::challenge::Challenge;
use dataperf_collection_aws::counted_in;
use dataperf_text::{Agreement, BENCHMARK, Said, Task, agreement};
use dataperf_text_aws::Examples;
use serde_json::json;

use crate::Done;
use crate::cloud::CloudArgs;
use crate::commands::collection::round_or_latest;
use crate::output::table;
use crate::rows::{RowFormat, print_tabled};

#[derive(Debug, Args)]
pub(crate) struct AgreementArgs {
    /// The round; the one that has begun last where none is named
    #[arg(long)]
    round: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: AgreementArgs, format: RowFormat) -> Result<Done> {
    let cloud = args.cloud.connect().await;
    let challenge = Challenge::published(&cloud.datasets(), BENCHMARK).await?;
    let round = round_or_latest(args.round.as_deref(), challenge.as_ref())?;
    let leaderboards = cloud.leaderboards();
    let mut by_task: BTreeMap<Task, Vec<Vec<Said>>> = BTreeMap::new();
    for (example, verdicts) in counted_in::<Examples>(&leaderboards, &round).await? {
        let said = verdicts.into_iter().map(|verdict| verdict.said).collect();
        by_task.entry(example.said.task).or_default().push(said);
    }
    let found: BTreeMap<Task, Agreement> = by_task
        .iter()
        .map(|(task, said)| (*task, agreement(said)))
        .collect();
    let rows = || {
        let row = |(task, found): (&Task, &Agreement)| {
            json!({ "round": round, "task": task.as_str(), "examples": found.n_examples, "verdicts": found.n_verdicts,
                    "alpha": found.alpha })
        };
        found.iter().map(row).collect()
    };
    let columns = ["round", "task", "examples", "verdicts", "alpha"];
    print_tabled(
        || Ok(&found),
        &columns,
        rows,
        format,
        || {
            println!("round {round}");
            let mut alphas = table(&["task", "examples", "verdicts", "Krippendorff's alpha"]);
            for (task, found) in &found {
                let alpha = found.alpha;
                let alpha = alpha.map_or("nothing to compare".to_owned(), |alpha| format!("{alpha:.3}"));
                let (n_examples, n_verdicts) = (found.n_examples.to_string(), found.n_verdicts.to_string());
                alphas.add_row([task.as_str(), &n_examples, &n_verdicts, &alpha]);
            }
            println!("{alphas}");
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}
