//! The commands by what somebody wants to do, as `dataperf --help` shows them: clap has no headings for commands.

use std::fmt::Write as _;

use clap::Command;

/// The groups with the names of their commands; all others follow under [`MORE`]. One that is built without a feature is left out.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Begin", &["demo", "local"]),
    (
        "Submit",
        &[
            "validate", "score", "baseline", "submit", "status", "verify", "closed",
        ],
    ),
    (
        "Organize",
        &[
            "dataset",
            "challenge",
            "submitter",
            "token",
            "withdraw",
            "rescore",
            "redrive",
            "keys",
        ],
    ),
    ("Look", &["leaderboard", "rank", "export", "audit"]),
];

const MORE: &str = "More";

const TEMPLATE: &str = "{before-help}{about-with-newline}
{usage-heading} {usage}
";

/// The program with its commands in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let mut command = command;
    command.build(); // which adds `help`
    let width = command
        .get_subcommands()
        .map(|of| of.get_name().len())
        .max()
        .unwrap_or(0);
    let mut template = TEMPLATE.to_owned();
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others = command.get_subcommands().map(Command::get_name);
    let others: Vec<&str> = others.filter(|name| !is_grouped(name)).collect();
    for (heading, names) in GROUPS.into_iter().chain([(MORE, others.as_slice())]) {
        let _ = writeln!(template, "\n{heading}:");
        for of in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = of.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(template, "  {:width$}  {about}", of.get_name());
        }
    }
    template.push_str("\nOptions:\n{options}{after-help}");
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_is_shown_once() {
        let mut command = crate::Cli::command();
        command.build();
        let help = grouped(crate::Cli::command()).render_help().to_string();
        for name in command.get_subcommands().map(Command::get_name) {
            let n = help
                .lines()
                .filter(|line| line.split_whitespace().next() == Some(name) && line.starts_with("  "))
                .count();
            assert_eq!(n, 1, "`{name}`: {help}");
        }
        for (_, names) in GROUPS {
            for name in names {
                let is_optional = ["demo", "local", "closed"].contains(name);
                assert!(is_optional || command.find_subcommand(name).is_some(), "`{name}`");
            }
        }
        for heading in ["\nSubmit:\n", "\nOrganize:\n", "\nMore:\n", "\nOptions:\n"] {
            assert!(help.contains(heading), "{help}");
        }
    }
}
