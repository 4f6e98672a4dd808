//! The lists in the templates of `infra/` that have an entry for each hosted benchmark or for each of its functions. They follow from the
//! descriptors.
//!
//! In a template a list stands between two comments, of which the first names the list. Entries that belong to one benchmark alone, or to a
//! function that serves everything hosted, stand outside of the comments and are written by hand. The example `infra-lists` of this crate
//! writes the lists of all templates; a test compares them.

use dataperf::{Descriptor, Direction};

use crate::deployment::size;
use crate::{HOSTED, functions_of};

/// The beginning of the comment before a list; the name of the list follows.
const BEGIN: &str = "# generated: ";
/// The end of the comment before a list.
const SEE: &str = "; see infra/README.md";
/// The comment after a list.
const END: &str = "# end of generated";
/// The placeholders in an entry for the name, and for the name in the form of `CloudFormation` ids.
const NAME: &str = "<name>";
const ID: &str = "<Name>";

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
    /// The entry for a name, in one or more lines. A line with a value in `<...>` that a benchmark does not have is left out.
    entry: &'static str,
}

/// The parameter of a benchmark's concurrency.
const CONCURRENCY: &str = "\
<Name>Concurrency:
  Type: Number
  Default: <concurrency>
  MinValue: 1
  MaxValue: 900
  Description: \"<load>\"";

/// The role and the function of a benchmark.
const FUNCTION: &str = "\
<Name>Access:
  Type: AWS::CloudFormation::Stack
  Properties:
    TemplateURL: infra/evaluator.yaml
    Parameters:
      Name: !Ref Name
      Benchmark: <name>
      SigningKey: !GetAtt Signing.Outputs.Key
      Tracing: !Ref Tracing
      LogRetentionDays: !Ref LogRetentionDays

<Name>Function:
  Type: AWS::Serverless::Function
  Metadata:
    BuildMethod: rust-cargolambda
    BuildProperties:
      Binary: <name>
  Properties:
    Description: \"Scores <name>: <about>\"
    FunctionName: !Sub ${Name}-<name>
    CodeUri: functions
    ReservedConcurrentExecutions: !If [ReservesConcurrency, !Ref <Name>Concurrency, !Ref AWS::NoValue]
    MemorySize: <memory>
    Timeout: <timeout>
    Role: !GetAtt <Name>Access.Outputs.RoleArn
    Events:
      Upload:
        Type: S3
        Properties:
          Bucket: !Ref SubmissionsBucket
          Events: s3:ObjectCreated:*
          Filter:
            S3Key:
              Rules:
                - Name: prefix
                  Value: <name>/
";

/// All templates with lists.
pub static TEMPLATES: [Template; 5] = [
    Template {
        path: "template.yaml",
        lists: &[
            List {
                name: "the concurrency of the benchmarks",
                names: benchmarks,
                entry: CONCURRENCY,
            },
            List {
                name: "the functions of the benchmarks",
                names: benchmarks,
                entry: FUNCTION,
            },
        ],
    },
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

/// The partitions of the table with work for the caretaker: submissions and, for collections, the
/// daily allowances that submissions have taken.
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

/// A name as `CloudFormation` ids have it: `speech-selection` as `SpeechSelection`.
pub fn pascal_case(name: &str) -> String {
    let capitalize = |part: &str| part[..1].to_uppercase() + &part[1..];
    name.split('-').map(capitalize).collect()
}

/// The lines of an entry for a name, with the values of the benchmark that has this name.
fn fill(entry: &str, name: &str, indent: &str) -> Vec<String> {
    let size = size(name);
    let about = HOSTED
        .iter()
        .find(|hosted| hosted.id == name)
        .map(|hosted| hosted.about);
    let values = [
        (NAME, Some(name.to_owned())),
        (ID, Some(pascal_case(name))),
        ("<about>", about.map(str::to_owned)),
        ("<concurrency>", Some(size.concurrency.to_string())),
        ("<load>", Some(size.load.to_owned())),
        ("<memory>", size.memory_mb.map(|number| number.to_string())),
        ("<timeout>", size.timeout.map(|number| number.to_string())),
    ];
    let lines = entry.split('\n').filter_map(|line| {
        let mut line = line.to_owned();
        for (place, value) in &values {
            if line.contains(place) {
                line = line.replace(place, value.as_deref()?);
            }
        }
        Some(if line.is_empty() {
            line
        } else {
            format!("{indent}{line}")
        })
    });
    lines.collect()
}

impl Template {
    /// The template's text with its lists as they follow from what is hosted.
    ///
    /// # Errors
    /// The problem with the first comment around a list that is missing or misplaced.
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
            written.extend(entries.flat_map(|name| fill(list.entry, &name, indent)));
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
        for (line, broken, answer) in [
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
            assert!(TEXT.contains(line), "{line}");
            let problem = SMALL.with_lists(&TEXT.replace(line, broken)).unwrap_err();
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
