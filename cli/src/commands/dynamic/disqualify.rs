//! What an organizer takes out of the count: an annotator, a rater, an example or a verdict.

use anyhow::Result;
use clap::{Args, Subcommand};
use dataperf::SubmitterName;
use dataperf_collection::Subject;
use dataperf_text::ExampleId;
use dataperf_text_aws::Examples;

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
    /// A submitter: all examples, rows and later uploads
    Submitter {
        /// The annotator
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
    /// An example
    Example {
        /// The example's id
        example: ExampleId,
        #[command(flatten)]
        how: How,
    },
    /// One verdict on an example
    Verdict {
        /// The example's id
        example: ExampleId,
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
            Self::Example { example, how } => (Subject::Item(example.to_string()), how),
            Self::Verdict { example, rater, how } => {
                (Subject::Verdict(example.to_string(), rater.to_string()), how)
            }
        }
    }
}

pub(crate) async fn run(args: DisqualifyArgs, format: Format) -> Result<Done> {
    let (subject, how) = args.what.parts();
    disqualify_subject::<Examples>(subject, how, format).await
}
