//! How far raters agree.

use anyhow::Result;
use clap::Args;
use dataperf::challenge::Challenge;
use dataperf_collection_aws::decided_in;
use dataperf_nibbler::BENCHMARK;
use dataperf_nibbler::agreement::agreement;
use dataperf_nibbler_aws::Pairs;

use super::round_or_latest;
use crate::Done;
use crate::cloud::CloudArgs;
use crate::output::{Format, print_json, table};

#[derive(Debug, Args)]
pub(crate) struct AgreementArgs {
    /// The round; the one that has begun last where none is named
    #[arg(long)]
    round: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: AgreementArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.connect().await;
    let challenge = Challenge::published(&cloud.datasets(), BENCHMARK).await?;
    let round = round_or_latest(args.round.as_deref(), challenge.as_ref())?;
    let decided = decided_in::<Pairs>(&cloud.leaderboards(), &round).await?;
    let verdicts: Vec<_> = decided.into_iter().map(|(_, verdicts)| verdicts).collect();
    let found = agreement(&verdicts);
    match format {
        Format::Json => print_json(&found)?,
        Format::Text => {
            println!(
                "round {round}: {} pairs are decided, by {} verdicts",
                found.n_pairs, found.n_verdicts
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
