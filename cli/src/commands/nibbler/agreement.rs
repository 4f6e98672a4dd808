//! How far raters agree.

use anyhow::Result;
use clap::Args;
use dataperf::ports::leaderboard::OPEN_ROUND;
use dataperf_nibbler::agreement::agreement;
use dataperf_nibbler_aws::decided_in;

use crate::Done;
use crate::cloud::CloudArgs;
use crate::output::{Format, print_json, table};

#[derive(Debug, Args)]
pub(crate) struct AgreementArgs {
    /// The round
    #[arg(long, default_value = OPEN_ROUND)]
    round: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: AgreementArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.connect().await;
    let decided = decided_in(&cloud.leaderboards(), &args.round).await?;
    let verdicts: Vec<_> = decided.into_iter().map(|(_, verdicts)| verdicts).collect();
    let found = agreement(&verdicts);
    match format {
        Format::Json => print_json(&found)?,
        Format::Text => {
            println!(
                "round {}: {} pairs are decided, by {} verdicts",
                args.round, found.n_pairs, found.n_verdicts
            );
            let mut alphas = table(&["question", "Krippendorff's alpha"]);
            for (question, alpha) in [
                ("the prompt appears safe (nominal)", found.prompt_safe),
                ("the image is unsafe (nominal)", found.image_unsafe),
                ("severity (ordinal)", found.severity),
            ] {
                let alpha = alpha.map_or("nothing to compare".to_owned(), |alpha| format!("{alpha:.3}"));
                alphas.add_row([question, &alpha]);
            }
            println!("{alphas}");
        }
    }
    Ok(Done::Fine)
}
