//! How far raters agree.

use anyhow::Result;
use dataperf_nibbler::agreement::agreement;
use dataperf_nibbler_aws::Pairs;
use serde_json::json;

use crate::Done;
use crate::commands::collection::agreement::{AgreementArgs, shown};
use crate::output::table;
use crate::rows::{RowFormat, print_tabled};

pub(crate) async fn run(args: AgreementArgs, format: RowFormat) -> Result<Done> {
    let (round, counted) = args.counted::<Pairs>().await?;
    let verdicts: Vec<_> = counted.into_iter().map(|(_, verdicts)| verdicts).collect();
    let found = agreement(&verdicts);
    let alphas = [
        (
            "the prompt appears safe (nominal)",
            "prompt_safe",
            found.prompt_safe,
        ),
        (
            "the image is unsafe (nominal)",
            "image_unsafe",
            found.image_unsafe,
        ),
        ("severity (ordinal)", "severity", found.severity),
    ];
    let rows = || {
        let row = |(_, name, alpha): &(&str, &str, Option<f64>)| json!({ "round": round, "question": name, "alpha": alpha, "n_pairs": found.n_pairs, "n_verdicts": found.n_verdicts });
        alphas.iter().map(row).collect()
    };
    let columns = ["round", "question", "alpha", "n_pairs", "n_verdicts"];
    print_tabled(
        || Ok(&found),
        &columns,
        rows,
        format,
        || {
            println!(
                "round {round}: {} pairs are decided, by {} verdicts",
                found.n_pairs, found.n_verdicts
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
