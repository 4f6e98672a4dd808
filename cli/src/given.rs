//! Which options are on the command line. Such an option goes before what `--cloud` says; the variable of the same option does not.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use clap::ArgMatches;
use clap::parser::ValueSource;

static GIVEN: OnceLock<BTreeSet<String>> = OnceLock::new();

/// Notes the options of the command that this process was called with.
pub(crate) fn note(matches: &ArgMatches) {
    let _ = GIVEN.set(of(matches));
}

/// Whether the option of this id is on the command line.
pub(crate) fn is_given(id: &str) -> bool {
    GIVEN.get().is_some_and(|given| given.contains(id))
}

fn of(matches: &ArgMatches) -> BTreeSet<String> {
    let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let ids = matches.ids().map(clap::Id::as_str).filter(is_given);
    let own: BTreeSet<String> = ids.map(str::to_owned).collect();
    match matches.subcommand() {
        Some((_, of_subcommand)) => own.into_iter().chain(of(of_subcommand)).collect(),
        None => own,
    }
}
