//! The lists in the templates of `infra/` that have an entry for each hosted benchmark or for each of its functions. They follow from the
//! descriptors.
//!
//! In a template a list stands between two comments, of which the first names the list. Entries that belong to one benchmark alone, or to a
//! function that serves everything hosted, stand outside of the comments and are written by hand. The example `infra-lists` of this crate
//! writes the lists of all templates; a test compares them.

use dataperf::{Descriptor, Direction};

use crate::{HOSTED, functions_of};

/// What the comment before a list begins with; the name of the list follows.
const BEGIN: &str = "# generated: ";
/// What the comment before a list ends with.
const SEE: &str = "; see infra/README.md";
/// The comment after a list.
const END: &str = "# end of generated";
/// What an entry has in place of the name that it is made for.
const NAME: &str = "<name>";

/// A template with lists.
#[derive(Debug)]
pub struct Template {
    /// The path of the file within the project.
    pub path: &'static str,
    /// The lists in the order in which the file has them.
    lists: &'static [List],
}

/// A list in a template.
#[derive(Debug)]
struct List {
    /// The name of the list in the comment before it.
    name: &'static str,
    /// The names that the list has an entry for.
    names: fn() -> Vec<String>,
    /// The entry for a name.
    entry: &'static str,
}

/// All templates with lists.
pub static TEMPLATES: [Template; 4] = [
    Template {
        path: "infra/leaderboard.yaml",
        lists: &[List {
            name: "the public views of boards",
            names: ids,
            entry: "- <name>#public",
        }],
    },
    Template {
        path: "infra/caretaker.yaml",
        lists: &[
            List {
                name: "the partitions of uploads",
                names: partitions_of_uploads,
                entry: "- <name>",
            },
            List {
                name: "the projections of boards",
                names: ids,
                entry: "- <name>#projections",
            },
            List {
                name: "the functions that evaluate uploads",
                names: functions,
                entry: "- !Sub arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:${Name}-<name>",
            },
        ],
    },
    Template {
        path: "infra/signer.yaml",
        lists: &[List {
            name: "where forms store uploads",
            names: ids,
            entry: "- !Sub arn:${AWS::Partition}:s3:::${Name}-submissions-${AWS::AccountId}-${AWS::Region}/<name>/*",
        }],
    },
    Template {
        path: "infra/observability.yaml",
        lists: &[
            List {
                name: "the benchmarks in which a lower score is better",
                names: lower_is_better,
                entry: "- <name>",
            },
            List {
                name: "the logs of the benchmarks",
                names: benchmarks,
                entry: "- !Sub SOURCE '/aws/lambda/${Name}-<name>'",
            },
            List {
                name: "the errors of the functions",
                names: functions,
                entry: r#"- !Sub '["AWS/Lambda", "Errors", "FunctionName", "${Name}-<name>"]'"#,
            },
            List {
                name: "how long events wait for the functions",
                names: functions,
                entry: r#"- !Sub '["AWS/Lambda", "AsyncEventAge", "FunctionName", "${Name}-<name>"]'"#,
            },
            List {
                name: "the logs of the functions",
                names: functions,
                entry: "- !Sub SOURCE '/aws/lambda/${Name}-<name>'",
            },
        ],
    },
];

/// The ids of those hosted that `is_listed` holds for.
fn ids_where(is_listed: impl Fn(&Descriptor) -> bool) -> Vec<String> {
    let listed = HOSTED.iter().filter(|hosted| is_listed(hosted));
    listed.map(|hosted| hosted.id.to_owned()).collect()
}

/// The ids of everything hosted.
fn ids() -> Vec<String> {
    ids_where(|_| true)
}

/// The ids of the benchmarks, without what has kinds of artifacts.
fn benchmarks() -> Vec<String> {
    ids_where(|hosted| hosted.kinds.is_empty())
}

/// The ids of the benchmarks that take programs.
/// The ids of those hosted in which a lower score is better.
fn lower_is_better() -> Vec<String> {
    ids_where(|hosted| hosted.direction == Direction::LowerIsBetter)
}

/// The functions of everything hosted.
fn functions() -> Vec<String> {
    let functions = HOSTED.iter().flat_map(functions_of);
    functions.map(|(function, _)| function.to_owned()).collect()
}

/// The partitions of the table with what the caretaker ends: submissions and, of what people collect, the daily allowances that submissions
/// have taken from.
fn partitions_of_uploads() -> Vec<String> {
    let mut partitions = Vec::new();
    for hosted in HOSTED {
        let mut of_one = vec![
            "submission#*",
            "submitter#*",
            "unfinished*",
            "failed*",
            "sweep",
            "count#*",
        ];
        if hosted.kinds.is_empty() {
            of_one.push("compare");
        }
        if hosted.collects.is_some() {
            of_one.extend(["quota#*", "taken#*"]);
        }
        partitions.extend(
            of_one
                .iter()
                .map(|partition| format!("{}#{partition}", hosted.id)),
        );
    }
    partitions
}

impl Template {
    /// The template's text with its lists as they follow from what is hosted.
    ///
    /// # Errors
    /// A sentence on the first comment around a list that is missing or that is not where it should be.
    pub fn with_lists(&self, text: &str) -> Result<String, String> {
        let path = self.path;
        let mut written = Vec::new();
        let mut lists = self.lists.iter();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            written.push(line.to_owned());
            let comment = line.trim_start();
            if !comment.starts_with(BEGIN) {
                continue;
            }
            let list = lists
                .next()
                .filter(|list| comment == format!("{BEGIN}{}{SEE}", list.name))
                .ok_or_else(|| format!("{path}: no list has the comment `{comment}` at this place"))?;
            let (indent, _) = line.split_at(line.len() - comment.len());
            let entries = (list.names)().into_iter();
            written.extend(entries.map(|name| format!("{indent}{}", list.entry.replace(NAME, &name))));
            // what the list was until now is left out
            let end = lines.find(|line| line.trim_start() == END);
            let end = end.ok_or_else(|| format!("{path}: no `{END}` follows `{comment}`"))?;
            written.push(end.to_owned());
        }
        if let Some(list) = lists.next() {
            return Err(format!("{path}: no line says `{BEGIN}{}{SEE}`", list.name));
        }
        Ok(written.join("\n") + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SMALL: Template = Template {
        path: "small.yaml",
        lists: &[
            List {
                name: "letters",
                names: || vec!["a".into(), "b".into()],
                entry: "- x-<name>",
            },
            List {
                name: "nothing",
                names: Vec::new,
                entry: "- <name>",
            },
        ],
    };
    const TEXT: &str = "\
Some:
  # generated: letters; see infra/README.md
  - old
  # end of generated
  - by-hand
Other:
    # generated: nothing; see infra/README.md
    # end of generated
";

    #[test]
    fn lists_are_replaced_and_everything_else_is_kept() {
        let written = SMALL.with_lists(TEXT).unwrap();
        assert_eq!(written, TEXT.replace("  - old\n", "  - x-a\n  - x-b\n"));
        assert_eq!(SMALL.with_lists(&written).unwrap(), written);
    }

    #[test]
    fn comments_that_are_missing_or_misplaced_are_named() {
        for (found, broken, answer) in [
            ("letters", "words", "no list has the comment `# generated: words"),
            (
                "; see infra/README.md\n  - old",
                "\n  - old",
                "no list has the comment `# generated: letters`",
            ),
            (
                "    # end of generated\n",
                "",
                "no `# end of generated` follows `# generated: nothing",
            ),
            (
                "    # generated: nothing; see infra/README.md\n",
                "",
                "no line says `# generated: nothing",
            ),
        ] {
            assert!(TEXT.contains(found), "{found}");
            let problem = SMALL.with_lists(&TEXT.replace(found, broken)).unwrap_err();
            assert!(
                problem.starts_with("small.yaml: ") && problem.contains(answer),
                "{problem}"
            );
        }
        // each list once
        let twice = SMALL.with_lists(&format!("{TEXT}{TEXT}")).unwrap_err();
        assert!(twice.contains("no list has the comment"), "{twice}");
    }
}
