//! Starts a contest: for each task there are a document with explanations and its JSON Schema for editors.

use std::fs;
use std::path::{Path, PathBuf};

use super::document::FILE;
use dataperf_datasets::ImportError;

/// The name of the schema's file, which is written next to the document.
const SCHEMA_FILE: &str = "task.schema.json";

struct Template {
    task: &'static str,
    document: &'static str,
    schema: &'static str,
}

const TEMPLATES: &[Template] = &[
    Template {
        task: "selection",
        document: include_str!("templates/selection.yaml"),
        schema: include_str!("templates/selection.schema.json"),
    },
    Template {
        task: "debugging",
        document: include_str!("templates/debugging.yaml"),
        schema: include_str!("templates/debugging.schema.json"),
    },
    Template {
        task: "acquisition",
        document: include_str!("templates/acquisition.yaml"),
        schema: include_str!("templates/acquisition.schema.json"),
    },
    Template {
        task: "curation",
        document: include_str!("templates/curation.yaml"),
        schema: include_str!("templates/curation.schema.json"),
    },
];

/// The tasks for which there is a document.
pub const TASKS: &[&str] = &["selection", "debugging", "acquisition", "curation"];

fn template(task: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| template.task == task)
}

/// The JSON Schema of a task's document; `None` if there is no such task.
pub fn schema(task: &str) -> Option<&'static str> {
    template(task).map(|template| template.schema)
}

/// Writes `task.yaml` and its schema into `out`, and returns their paths; `None` if there is no such task.
///
/// # Errors
/// [`ImportError::Occupied`] if one of the files exists already; [`ImportError::Io`].
pub fn init(task: &str, out: &Path) -> Result<Option<Vec<PathBuf>>, ImportError> {
    let Some(template) = template(task) else {
        return Ok(None);
    };
    let files = [
        (
            out.join(FILE),
            format!(
                "# yaml-language-server: $schema={SCHEMA_FILE}\n{}",
                template.document
            ),
        ),
        (out.join(SCHEMA_FILE), template.schema.to_owned()),
    ];
    if let Some((there, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(ImportError::Occupied(there.clone()));
    }
    fs::create_dir_all(out).map_err(ImportError::io("can't make the directory", out))?;
    let mut written = Vec::new();
    for (path, text) in files {
        fs::write(&path, text).map_err(ImportError::io("can't write", &path))?;
        written.push(path);
    }
    Ok(Some(written))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::own_data::import::yaml::{Node, Value};

    /// Every key of a schema is in the document or its comments, and every key there is in the schema.
    #[test]
    fn document_and_schema_have_the_same_keys() {
        for template in TEMPLATES {
            let schema: serde_json::Value = serde_json::from_str(template.schema).expect("JSON");
            let properties = schema["properties"].as_object().expect("properties");
            let known: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            let is_key = |line: &&str| {
                line.split_once(':')
                    .is_some_and(|(key, _)| !key.contains(' ') && !key.is_empty())
            };
            let lines = template
                .document
                .lines()
                .map(|line| line.strip_prefix("# ").unwrap_or(line));
            let explained: BTreeSet<&str> = lines
                .filter(is_key)
                .filter_map(|line| Some(line.split_once(':')?.0))
                .collect();
            // `direction` follows from the task, `public_eval` is explained where practice sets make sense
            let missing: Vec<&&str> = known
                .difference(&explained)
                .filter(|key| !["direction", "public_eval", "seeds"].contains(key))
                .collect();
            assert!(missing.is_empty(), "{}: {missing:?}", template.task);
            let unknown: Vec<&&str> = explained.difference(&known).collect();
            assert!(unknown.is_empty(), "{}: {unknown:?}", template.task);
        }
    }

    #[test]
    fn every_document_is_yaml_of_its_task() {
        assert_eq!(
            TEMPLATES.iter().map(|template| template.task).collect::<Vec<_>>(),
            TASKS
        );
        for template in TEMPLATES {
            let Value::Map(members) = Node::parse(template.document).expect("YAML").value else {
                panic!("keys with values");
            };
            let task = members
                .iter()
                .find(|(key, _)| key.name == "task")
                .map(|(_, node)| node.value.clone());
            assert_eq!(task, Some(Value::Text(template.task.into())));
        }
    }
}
