//! Finds the options on the command line. Such an option overrides `--cloud`; the variable of the
//! same option does not.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use clap::ArgMatches;
use clap::parser::ValueSource;

static GIVEN: OnceLock<BTreeSet<String>> = OnceLock::new();

/// Notes the options of the command that this process was called with.
pub(crate) fn note(matches: &ArgMatches) {
    let _ = GIVEN.set(options(matches));
}

/// Whether the option of this id is on the command line.
pub(crate) fn is_given(id: &str) -> bool {
    GIVEN.get().is_some_and(|given| given.contains(id))
}

fn options(matches: &ArgMatches) -> BTreeSet<String> {
    let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let ids = matches.ids().map(clap::Id::as_str).filter(is_given);
    let own: BTreeSet<String> = ids.map(str::to_owned).collect();
    match matches.subcommand() {
        Some((_, of_subcommand)) => own.into_iter().chain(options(of_subcommand)).collect(),
        None => own,
    }
}
