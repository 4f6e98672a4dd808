//! What an organizer takes out of the count: a submitter, a rater, a pair or a verdict.

use anyhow::Result;
use clap::{Args, Subcommand};
use dataperf::SubmitterName;
use dataperf_collection::Subject;
use dataperf_nibbler::PairId;
use dataperf_nibbler_aws::Pairs;

use crate::Done;
use crate::commands::collection::disqualify::{How, disqualify_subject};
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct DisqualifyArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A submitter: all pairs, rows and later uploads
    Submitter {
        /// The submitter
        name: SubmitterName,
        #[command(flatten)]
        how: How,
    },
    /// All verdicts of a rater, whose further ones are refused
    Rater {
        /// The rater
        name: SubmitterName,
        #[command(flatten)]
        how: How,
    },
    /// A pair
    Pair {
        /// The pair's id
        pair: PairId,
        #[command(flatten)]
        how: How,
    },
    /// One verdict on a pair
    Verdict {
        /// The pair's id
        pair: PairId,
        /// Whose verdict
        #[arg(long)]
        rater: SubmitterName,
        #[command(flatten)]
        how: How,
    },
}

impl What {
    fn parts(self) -> (Subject, How) {
        match self {
            Self::Submitter { name, how } => (Subject::Submitter(name.to_string()), how),
            Self::Rater { name, how } => (Subject::Rater(name.to_string()), how),
            Self::Pair { pair, how } => (Subject::Item(pair.to_string()), how),
            Self::Verdict { pair, rater, how } => {
                (Subject::Verdict(pair.to_string(), rater.to_string()), how)
            }
        }
    }
}

pub(crate) async fn run(args: DisqualifyArgs, format: Format) -> Result<Done> {
    let (subject, how) = args.what.parts();
    disqualify_subject::<Pairs>(subject, how, format).await
}
