//! Excludes an annotator, a rater, an example or a verdict.

use anyhow::Result;
use clap::Subcommand;
use dataperf::SubmitterName;
use dataperf_collections::common::Subject;
use dataperf_collections::text::ExampleId;
use dataperf_collections_aws::text::Examples;

use crate::Done;
use crate::commands::collection::disqualify::{How, disqualify_subject};
use crate::output::Format;

#[derive(Debug, Subcommand)]
pub(crate) enum SubjectArgs {
    /// A submitter: all examples, rows and later uploads
    Submitter {
        /// The annotator
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
            Self::Example { example, how } => (Subject::Item(example.to_string()), how),
            Self::Verdict { example, rater, how } => {
                (Subject::Verdict(example.to_string(), rater.to_string()), how)
            }
        }
    }
}

pub(crate) async fn run(subject: SubjectArgs, format: Format) -> Result<Done> {
    let (subject, how) = subject.parts();
    disqualify_subject::<Examples>(subject, how, format).await
}
