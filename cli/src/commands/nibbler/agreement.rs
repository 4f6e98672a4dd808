//! How far raters agree.

use anyhow::Result;
use dataperf_collections::nibbler::scores::agreement::agreement;
use dataperf_collections_aws::nibbler::Pairs;
use serde_json::json;

use crate::Done;
use crate::commands::collection::agreement::{AgreementArgs, shown};
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::table;

pub(crate) async fn run(args: AgreementArgs, format: RowFormat) -> Result<Done> {
    let (round, counted) = args.counted::<Pairs>().await?;
    let verdicts: Vec<_> = counted.into_iter().map(|(_, verdicts)| verdicts).collect();
    let agreement = agreement(&verdicts);
    let alphas = [
        (
            "the prompt appears safe (nominal)",
            "prompt_safe",
            agreement.prompt_safe,
        ),
        (
            "the image is unsafe (nominal)",
            "image_unsafe",
            agreement.image_unsafe,
        ),
        ("severity (ordinal)", "severity", agreement.severity),
    ];
    let rows = || {
        let row = |(_, name, alpha): &(&str, &str, Option<f64>)| json!({ "round": round, "question": name, "alpha": alpha, "n_pairs": agreement.n_pairs, "n_verdicts": agreement.n_verdicts });
        alphas.iter().map(row).collect()
    };
    let columns = ["round", "question", "alpha", "n_pairs", "n_verdicts"];
    print_tabled(
        || Ok(&agreement),
        &columns,
        rows,
        format,
        || {
            println!(
                "round {round}: {} pairs are decided, by {} verdicts",
                agreement.n_pairs, agreement.n_verdicts
            );
            let mut questions = table(&["question", "Krippendorff's alpha"]);
            for (question, _, alpha) in alphas {
                questions.add_row([question, &shown(alpha)]);
            }
            println!("{questions}");
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}
