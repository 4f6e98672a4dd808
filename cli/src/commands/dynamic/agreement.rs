//! How far raters agree.

use std::collections::BTreeMap;

use anyhow::Result;
use dataperf_text::{Agreement, Said, Task, agreement};
use dataperf_text_aws::Examples;
use serde_json::json;

use crate::Done;
use crate::commands::collection::agreement::{AgreementArgs, shown};
use crate::output::table;
use crate::rows::{RowFormat, print_tabled};

pub(crate) async fn run(args: AgreementArgs, format: RowFormat) -> Result<Done> {
    let (round, counted) = args.counted::<Examples>().await?;
    let mut by_task: BTreeMap<Task, Vec<Vec<Said>>> = BTreeMap::new();
    for (example, verdicts) in counted {
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
                let alpha = shown(found.alpha);
                let (n_examples, n_verdicts) = (found.n_examples.to_string(), found.n_verdicts.to_string());
                alphas.add_row([task.as_str(), &n_examples, &n_verdicts, &alpha]);
            }
            println!("{alphas}");
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}
