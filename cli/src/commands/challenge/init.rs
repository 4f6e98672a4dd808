//! `dataperf challenge init`: a document to begin with.

use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::Timestamp;

use crate::Done;
use crate::clock::now;

const TEMPLATE: &str = include_str!("template.yaml");
/// The settings of a round whose uploads are scored with hidden data.
const SCORES: &str = "        # submissions of a submitter that count per day, and in all
        daily_limit: 5
        total_limit: 40
        # what is shown until the close: `contest` rounded scores and ranks,
        # `practice` everything, `blind` nothing
        preset: contest
";
/// The settings of a round whose benchmark takes only programs.
const PROGRAMS: &str = "        # the round takes programs: they run on the hidden data set, and first on
        # the public one
        division: closed
        dataset: sha256:3333333333333333333333333333333333333333333333333333333333333333
        programs: {public: sha256:2222222222222222222222222222222222222222222222222222222222222222}
";
/// How long the round of the template is open, in milliseconds.
const OPEN_MILLIS: i64 = 30 * 24 * 3_600_000;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
}

pub(super) fn run(args: &InitArgs) -> Done {
    print!("{}", document(&args.benchmark, now()));
    Done::Fine
}

/// The template for a benchmark, with a round that opens today.
fn document(benchmark: &str, now: Timestamp) -> String {
    let day = |at: Timestamp| at.to_string().chars().take(10).collect::<String>();
    let closes = Timestamp::from_unix_millis(now.unix_millis() + OPEN_MILLIS);
    let hosted = dataperf_hosted::hosted(benchmark);
    let takes_programs = hosted.is_some_and(|hosted| hosted.only_programs);
    let has_scores = hosted.is_some_and(|hosted| hosted.kinds.is_empty());
    let programs = if takes_programs { PROGRAMS } else { "" };
    let scores = if has_scores { SCORES } else { "" };
    TEMPLATE
        .replace("SCORES\n", scores)
        .replace("PROGRAMS\n", programs)
        .replace("BENCHMARK", benchmark)
        .replace("OPENS", &day(now))
        .replace("CLOSES", &day(closes))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn check(text: &str) {
        let document: Value = serde_saphyr::from_str(text).expect("YAML");
        let checked = dataperf::challenge::check(&document, dataperf_hosted::HOSTED);
        assert!(checked.is_ok(), "{text}\n{:?}", checked.err());
    }

    #[test]
    fn the_template_is_valid_for_every_benchmark() {
        let now = Timestamp::from_unix_millis(1_780_000_000_000);
        for benchmark in dataperf_hosted::IDS {
            check(&document(benchmark, now));
        }
        let text = document("selection", now);
        let optional = [
            "leaderboards",
            "dataset",
            "final",
            "artifacts",
            "baselines",
            "messages",
        ];
        let all = optional.iter().fold(text, |text, key| {
            let commented = format!("# {key}: ");
            assert!(text.contains(&commented), "{key}");
            text.replace(&commented, &format!("{key}: "))
        });
        check(&all);
    }
}
