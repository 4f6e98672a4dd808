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
#[command(
    after_help = "Examples:\n  dataperf dynamic disqualify submitter ada --reason 'bought examples' --local\n  \
    dataperf dynamic disqualify verdict 0123456789abcdef0123456789abcdef --rater rosa --reason 'a slip' --local\n  \
    dataperf dynamic disqualify submitter ada --undo --reason 'she did not' --local\n\nFor the organizer. It holds for \
    everything that is decided later, until it is undone. Of what is decided the scores are worked out anew: examples without enough verdicts \
    wait for raters again. Nothing is deleted. If the command is cut short, give it again. Programs on a board of models are no examples: \
    `dataperf withdraw` takes them off."
)]
pub(crate) struct DisqualifyArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// All examples of an annotator, whose rows leave the boards and whose uploads are refused
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
