//! The names that scripts call: commands, options, values and defaults. Texts of the help are not part of it.

use clap::{ArgAction, Command, CommandFactory as _};

/// A line for each command and each of its arguments.
fn describe(command: &Command, path: &str, lines: &mut Vec<String>) {
    lines.push(path.to_owned());
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        if matches!(arg.get_id().as_str(), "help" | "version") {
            continue;
        }
        let mut words = Vec::new();
        words.extend(arg.get_short().map(|short| format!("-{short}")));
        words.extend(arg.get_long().map(|long| format!("--{long}")));
        if !matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::Count) {
            let names = arg.get_value_names().unwrap_or_default();
            words.extend(names.iter().map(|name| format!("<{name}>")));
        }
        let values = arg.get_possible_values();
        if !values.is_empty() && !matches!(arg.get_action(), ArgAction::SetTrue) {
            let values: Vec<&str> = values
                .iter()
                .map(clap::builder::PossibleValue::get_name)
                .collect();
            words.push(format!("{{{}}}", values.join("|")));
        }
        let defaults = arg.get_default_values();
        words.extend(
            defaults
                .iter()
                .map(|value| format!("={}", value.to_string_lossy())),
        );
        words.extend(
            arg.get_env()
                .map(|name| format!("env {}", name.to_string_lossy())),
        );
        if arg.is_required_set() {
            words.push("required".into());
        }
        if matches!(arg.get_action(), ArgAction::Append) {
            words.push("repeated".into());
        }
        lines.push(format!("    {}", words.join(" ")));
    }
    for inner in command
        .get_subcommands()
        .filter(|inner| inner.get_name() != "help")
    {
        describe(inner, &format!("{path} {}", inner.get_name()), lines);
    }
}

#[test]
fn commands_and_options_keep_their_names() {
    let mut lines = Vec::new();
    describe(&crate::Cli::command(), "dataperf", &mut lines);
    insta::assert_snapshot!(lines.join("\n"));
}
