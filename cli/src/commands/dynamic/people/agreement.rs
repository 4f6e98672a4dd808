//! How far raters agree.

use std::collections::BTreeMap;

use anyhow::Result;
use dataperf_collections::text::{Agreement, Judgement, Task, agreement};
use dataperf_collections_aws::text::Examples;
use serde_json::json;

use crate::Done;
use crate::commands::collection::agreement::{AgreementArgs, shown};
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::table;

pub(crate) async fn run(args: AgreementArgs, format: RowFormat) -> Result<Done> {
    let (round, counted) = args.counted::<Examples>().await?;
    let mut by_task: BTreeMap<Task, Vec<Vec<Judgement>>> = BTreeMap::new();
    for (example, verdicts) in counted {
        let verdicts_one = verdicts.into_iter().map(|verdict| verdict.said).collect();
        by_task
            .entry(example.content.task)
            .or_default()
            .push(verdicts_one);
    }
    let agreement: BTreeMap<Task, Agreement> = by_task
        .iter()
        .map(|(task, verdicts_one)| (*task, agreement(verdicts_one)))
        .collect();
    let rows = || {
        let row = |(task, agreement): (&Task, &Agreement)| {
            json!({ "round": round, "task": task.as_str(), "examples": agreement.n_examples, "verdicts": agreement.n_verdicts,
                    "alpha": agreement.alpha })
        };
        agreement.iter().map(row).collect()
    };
    let columns = ["round", "task", "examples", "verdicts", "alpha"];
    print_tabled(
        || Ok(&agreement),
        &columns,
        rows,
        format,
        || {
            println!("round {round}");
            let mut alphas = table(&["task", "examples", "verdicts", "Krippendorff's alpha"]);
            for (task, agreement) in &agreement {
                let alpha = shown(agreement.alpha);
                let (n_examples, n_verdicts) =
                    (agreement.n_examples.to_string(), agreement.n_verdicts.to_string());
                alphas.add_row([task.as_str(), &n_examples, &n_verdicts, &alpha]);
            }
            println!("{alphas}");
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}
