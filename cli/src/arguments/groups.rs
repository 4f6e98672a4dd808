//! The help of all commands: `dataperf --help` groups them by task, for which clap has no headings; each page fits on one screen and ends with the
//! examples of `help.txt`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Command;
use clap::builder::Str;
use textwrap::{Options, WordSplitter};

/// The last part of each command's help, below a line `# COMMAND`.
const ENDINGS: &str = include_str!("help.txt");
/// Columns of a page of help.
const COLUMNS: usize = 80;
/// The most values of an option that its help lists.
const MAX_VALUES: usize = 6;
/// The heading of the options that `dataperf help cloud` explains; other pages show only `--cloud`.
pub(crate) const CONNECTION: &str = "Which cloud";

/// The groups with the names of their commands; all others follow under [`MORE`]. One that is built without a feature is left out.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Getting started", &["demo", "local"]),
    (
        "Submit",
        &[
            "login", "validate", "score", "baseline", "submit", "status", "receipt", "verify", "closed",
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
    ("Results", &["leaderboard", "rank", "export", "audit"]),
];

const MORE: &str = "Other";

const TEMPLATE: &str = "{before-help}{about-with-newline}
{usage-heading} {usage}
";

fn endings() -> BTreeMap<&'static str, &'static str> {
    let sections = ENDINGS.trim_start_matches("# ").split("\n# ");
    let sections = sections.filter_map(|section| section.split_once('\n'));
    sections.map(|(path, text)| (path, text.trim_end())).collect()
}

/// A shorter name of a value, so that an option and its text fit on a line.
fn short_name(name: &Str) -> Str {
    match name.as_str() {
        "LEADERBOARD" => "BOARD".into(),
        "SECONDS" => "S".into(),
        "CONCURRENCY" => "N".into(),
        port if port.ends_with("_PORT") => "PORT".into(),
        _ => name.clone(),
    }
}

/// A command with short help and examples, and so its subcommands.
fn short(command: Command, path: &str, endings: &BTreeMap<&str, &'static str>) -> Command {
    let is_about_clouds = path == "dataperf cloud";
    let mut command = command.mut_args(|arg| {
        let is_connection = arg.get_help_heading() == Some(CONNECTION) && arg.get_id() != "cloud";
        let is_hidden = arg.is_hide_set() || is_connection && !is_about_clouds;
        let arg_hides_default = arg.is_hide_default_value_set();
        let values = arg.get_possible_values();
        let is_long = values.len() > MAX_VALUES || values.iter().any(|value| value.get_help().is_some());
        let names = arg.get_value_names().unwrap_or_default();
        let names: Vec<Str> = names.iter().map(short_name).collect();
        let arg = if names.is_empty() {
            arg
        } else {
            arg.value_names(names)
        };
        arg.hide(is_hidden)
            .hide_possible_values(is_long)
            .hide_env(true)
            .hide_default_value(arg_hides_default || is_about_clouds)
    });
    if let Some(ending) = endings.get(path) {
        command = command.after_help(*ending);
    }
    let usage = command.clone().bin_name(path).render_usage().to_string();
    let usage = usage.lines().map(|line| {
        let options = Options::new(COLUMNS).subsequent_indent("       ");
        textwrap::fill(
            line,
            options
                .break_words(false)
                .word_splitter(WordSplitter::NoHyphenation),
        )
    });
    let usage = usage.collect::<Vec<_>>().join("\n");
    command = command.override_usage(usage.trim_start_matches("Usage: ").to_owned());
    let names: Vec<String> = command
        .get_subcommands()
        .map(|subcommand| subcommand.get_name().to_owned())
        .collect();
    for name in names {
        let path = format!("{path} {name}");
        command = command.mut_subcommand(name, |subcommand| short(subcommand, &path, endings));
    }
    command
}

/// The program with its commands in groups, and with short help.
pub(crate) fn grouped(command: Command) -> Command {
    let mut command = short(command, "dataperf", &endings()).max_term_width(COLUMNS);
    command.build(); // which adds `help`
    let width = command
        .get_subcommands()
        .map(|subcommand| subcommand.get_name().len())
        .max()
        .unwrap_or(0);
    let mut template = TEMPLATE.to_owned();
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others = command
        .get_subcommands()
        .filter(|subcommand| !subcommand.is_hide_set());
    let others = others.map(Command::get_name);
    let others: Vec<&str> = others.filter(|name| !is_grouped(name)).collect();
    for (heading, names) in GROUPS.into_iter().chain([(MORE, others.as_slice())]) {
        let subcommands: Vec<&Command> = names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
            .collect();
        if subcommands.is_empty() {
            continue;
        }
        let _ = writeln!(template, "\n{heading}:");
        for subcommand in subcommands {
            let about = subcommand
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            let _ = writeln!(template, "  {:width$}  {about}", subcommand.get_name());
        }
    }
    template.push_str("\nOptions:\n{options}{after-help}");
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// The paths of a command and its subcommands, without `help`.
    fn paths(command: &Command, path: &str) -> Vec<String> {
        let inner = command
            .get_subcommands()
            .filter(|subcommand| subcommand.get_name() != "help" && !subcommand.is_hide_set());
        let inner =
            inner.flat_map(|subcommand| paths(subcommand, &format!("{path} {}", subcommand.get_name())));
        std::iter::once(path.to_owned()).chain(inner).collect()
    }

    #[test]
    fn every_help_fits_one_screen_with_examples() {
        let (mut endings, mut problems) = (endings(), Vec::new());
        for path in paths(&crate::Cli::command(), "dataperf") {
            let words = path.split(' ').chain(["--help"]);
            let help = grouped(crate::Cli::command()).try_get_matches_from(words).err();
            let help = help.map(|help| help.render().to_string()).unwrap_or_default();
            let most = if path == "dataperf" { 50 } else { 40 };
            let (n_lines, n_columns) = (
                help.trim_end().lines().count(),
                help.lines().map(|line| line.chars().count()).max().unwrap_or(0),
            );
            if n_lines > most || n_columns > COLUMNS {
                problems.push(format!("`{path}`: {n_lines} lines, {n_columns} columns"));
            }
            match endings.remove(path.as_str()) {
                Some(ending) if help.contains(ending) && ending.contains(&path) => {}
                _ => problems.push(format!("`{path}` has no ending in `help.txt`, or one that wraps")),
            }
        }
        problems.extend(endings.keys().map(|path| format!("`{path}` is no command")));
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn connection_options_are_hidden_but_accepted() {
        let help = |path: &str| {
            let words = path.split(' ').chain(["--help"]);
            let help = grouped(crate::Cli::command()).try_get_matches_from(words).err();
            help.map(|help| help.render().to_string()).unwrap_or_default()
        };
        let board = help("dataperf leaderboard");
        assert!(
            board.contains("--cloud") && !board.contains("--s3-endpoint"),
            "{board}"
        );
        assert!(help("dataperf cloud").contains("--s3-endpoint"));
        let words = [
            "dataperf",
            "leaderboard",
            "selection",
            "--s3-endpoint",
            "http://h:1",
        ];
        assert!(grouped(crate::Cli::command()).try_get_matches_from(words).is_ok());
    }

    #[test]
    fn every_command_is_shown_once() {
        let mut command = crate::Cli::command();
        command.build();
        let help = grouped(crate::Cli::command()).render_help().to_string();
        let shown = command
            .get_subcommands()
            .filter(|subcommand| !subcommand.is_hide_set());
        for name in shown.map(Command::get_name) {
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
        for heading in ["\nSubmit:\n", "\nOrganize:\n", "\nOther:\n", "\nOptions:\n"] {
            assert!(help.contains(heading), "{help}");
        }
    }
}
