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
#[command(
    after_help = "Examples:\n  dataperf nibbler disqualify submitter ada --reason 'bought pairs' --local\n  \
    dataperf nibbler disqualify verdict 0123456789abcdef0123456789abcdef --rater rosa --reason 'a slip' --local\n  \
    dataperf nibbler disqualify submitter ada --undo --reason 'she did not' --local\n\nFor the organizer. It holds for \
    everything that is decided later, until it is undone. Of what is decided the scores are worked out anew: pairs without enough verdicts \
    wait for raters again. Nothing is deleted. If the command is cut short, give it again."
)]
pub(crate) struct DisqualifyArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// All pairs of a submitter, whose rows leave both boards and whose uploads are refused
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
