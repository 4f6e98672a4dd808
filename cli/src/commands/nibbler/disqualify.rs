//! Excludes a submitter, a rater, a pair or a verdict.

use anyhow::Result;
use clap::Subcommand;
use dataperf::SubmitterName;
use dataperf_collections::common::Subject;
use dataperf_collections::nibbler::PairId;
use dataperf_collections_aws::nibbler::Pairs;

use crate::Done;
use crate::commands::collection::disqualify::{How, disqualify_subject};
use crate::output::Format;

#[derive(Debug, Subcommand)]
pub(crate) enum SubjectArgs {
    /// A submitter: all pairs, rows and later uploads
    Submitter {
        /// The submitter
        name: SubmitterName,
        #[command(flatten)]
        how: How,
    },
    /// A rater: all verdicts, now and later
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
        /// The rater
        #[arg(long)]
        rater: SubmitterName,
        #[command(flatten)]
        how: How,
    },
}

impl SubjectArgs {
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

pub(crate) async fn run(subject: SubjectArgs, format: Format) -> Result<Done> {
    let (subject, how) = subject.parts();
    disqualify_subject::<Pairs>(subject, how, format).await
}
