//! The template gives each function the variables, and the caretaker the schedules, that the description of a deployment has.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use dataperf_hosted::deployment::{self, COMPARE, FINISH, SHARED_FUNCTIONS, Task};
use dataperf_hosted::{HOSTED, functions_of};

use crate::support::project::root;

/// The variables of every program besides the project's own: the log level, and the memory for data
/// sets, which have defaults for functions.
const OPTIONAL: [&str; 2] = ["RUST_LOG", "DATAPERF_WARM_MIB"];
/// The variable of an extension's function: the name of a secret.
const SECRET: &str = "DATAPERF_SECRET";
/// Available on Lambda only: a virtual machine for each run of a program.
const OF_LAMBDA: &str = "DATAPERF_MICRO_VM";

/// The names of the variables in the first `Environment` of a part of the template.
fn variables(part: &str) -> BTreeSet<String> {
    let Some((before, after)) = part.split_once("Environment:\n") else {
        return BTreeSet::new();
    };
    let n_spaces = before.len() - before.trim_end_matches(' ').len();
    let mut lines = after.lines().skip(1); // `Variables:`
    let mut names = BTreeSet::new();
    while let Some(line) = lines
        .next()
        .filter(|line| line.starts_with(&" ".repeat(n_spaces + 4)))
    {
        let (name, _) = line.trim().split_once(": ").expect("a variable with its value");
        names.insert(name.to_owned());
    }
    names
}

fn template() -> String {
    fs::read_to_string(root().join("template.yaml")).unwrap()
}

/// The part of the template that is about a function.
fn function<'a>(template: &'a str, name: &str) -> &'a str {
    let line = format!("        Binary: {name}\n");
    let (_, block) = template.split_once(&line).unwrap_or_else(|| panic!("`{name}`"));
    let end = block.find("\n\n").unwrap_or(block.len());
    &block[..end]
}

#[test]
fn the_template_sets_the_deployments_variables() {
    let template = template();
    let (_, globals) = template.split_once("\nGlobals:\n").unwrap();
    let (globals, _) = globals.split_once("\nResources:\n").unwrap();
    let common = variables(globals);
    assert!(common.contains("DATAPERF_TABLE"), "{common:?}");
    let mut functions: Vec<(&str, bool)> = SHARED_FUNCTIONS.map(|name| (name, false)).into();
    for hosted in HOSTED {
        let may_have_secret = !hosted.kinds.is_empty();
        functions.extend(
            functions_of(hosted)
                .into_iter()
                .map(|(name, _)| (name, may_have_secret)),
        );
    }
    for (name, may_have_secret) in functions {
        let mut set = &common | &variables(function(&template, name));
        set.retain(|name| {
            let is_secret = may_have_secret && name == SECRET;
            !is_secret && !OPTIONAL.contains(&name.as_str()) && name != OF_LAMBDA
        });
        let named: BTreeSet<String> = deployment::environment(name).into_keys().collect();
        assert_eq!(set, named, "`{name}`");
    }
}

#[test]
fn the_template_schedules_the_caretaker_as_deployed() {
    let template = template();
    let caretaker = function(&template, deployment::CARETAKER);
    let rate = |Task { every, .. }: Task| match every.as_secs() / 60 {
        1 => "rate(1 minute)".to_owned(),
        minutes => format!("rate({minutes} minutes)"),
    };
    for task in [COMPARE, FINISH] {
        assert_eq!(task.every.as_secs() % 60, 0);
        assert!(task.every >= Duration::from_mins(1));
        let wanted = format!("Schedule: {}\n            Input: '{}'", rate(task), task.event());
        assert!(
            caretaker.contains(&wanted),
            "the caretaker has no\n            {wanted}"
        );
    }
}
