//! How far raters agree.

use anyhow::Result;
use clap::Args;
use dataperf::challenge::Challenge;
use dataperf_collection_aws::counted_in;
use dataperf_nibbler::BENCHMARK;
use dataperf_nibbler::agreement::agreement;
use dataperf_nibbler_aws::Pairs;
use serde_json::json;

use super::round_or_latest;
use crate::Done;
use crate::cloud::CloudArgs;
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
    let counted = counted_in::<Pairs>(&cloud.leaderboards(), &round).await?;
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
            let mut shown = table(&["question", "Krippendorff's alpha"]);
            for (question, _, alpha) in alphas {
                let alpha = alpha.map_or("nothing to compare".to_owned(), |alpha| format!("{alpha:.3}"));
                shown.add_row([question, &alpha]);
            }
            println!("{shown}");
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}
