//! The participants' kit of a data set: what somebody needs who wants to take part, and nothing hidden.
//!
//! A kit is a data set as well, of the files that participants may have. Beside these lie, listed in no manifest, the same data in the
//! forms that their programs read, what the contest asks for, an example and a program to begin with.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use dataperf::benchmark::Leaderboard;
use dataperf::frozen::Manifest;
use serde_json::{Value, json};

use crate::import::{Import, ImportError};
use crate::kit_example::with_example;
use crate::tables::TableFiles;
use crate::writer::DatasetWriter;

/// A file of a kit that makes a participant's first artifact.
pub const STARTER: &str = "starter.py";
/// The same as a notebook.
pub const NOTEBOOK: &str = "notebook.ipynb";
/// What participants read first.
pub const README: &str = "README.md";
/// Begins a cell of [`STARTER`].
const CELL: &str = "# %%";
/// The line of [`STARTER`] that says for which board.
const BOARD: &str = "LEADERBOARD = ";

/// A valid artifact for a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The board.
    pub leaderboard: String,
    /// The artifact.
    pub artifact: Vec<u8>,
    /// Whether the kit has what it takes to score it.
    pub can_score: bool,
}

impl Example {
    /// Its path in the kit.
    pub fn path(&self) -> String {
        format!("examples/{}.{}", self.leaderboard, self.form())
    }

    /// What its file's name ends with: `json`, `zip` or `csv`.
    fn form(&self) -> &'static str {
        if self.artifact.starts_with(b"PK") {
            "zip"
        } else if self.artifact.starts_with(b"{") {
            "json"
        } else {
            "csv"
        }
    }
}

/// Makes the participants' kit of the data set `from`. Gives the paths of its files, ascending. The kits of two data sets are the
/// same where these differ in nothing but hidden files.
///
/// # Errors
/// [`ImportError::Io`] when a file can't be read or written; [`ImportError::Occupied`] when something else is at `out`;
/// [`ImportError::Frozen`] when a file is damaged. Nothing is written unless all can be.
pub fn export_kit<B: Import>(
    from: &Path,
    manifest: &Manifest,
    examples: &[Example],
    out: &Path,
) -> Result<Vec<String>, ImportError> {
    let mut kit = manifest.clone();
    kit.files.retain(|path, _| B::is_public(path));
    let boards = B::leaderboards(&kit)?;
    let mut writer = DatasetWriter::create(out)?;
    for (path, entry) in &kit.files {
        let source = from.join(path);
        let file = File::open(&source).map_err(ImportError::io("can't read", &source))?;
        writer.copy_entry(path, entry, file)?;
    }
    let mut tables = Vec::new();
    for table in B::tables(from, &kit)? {
        tables.push(table.write(from, &kit, &mut writer)?);
    }
    for example in examples {
        document(&mut writer, &example.path(), &example.artifact)?;
    }
    let starter = starter(B::STARTER, &boards);
    document(&mut writer, STARTER, starter.as_bytes())?;
    let notebook = format!("{:#}\n", notebook(&starter));
    document(&mut writer, NOTEBOOK, notebook.as_bytes())?;
    let readme = readme::<B>(&boards, &tables, examples);
    document(&mut writer, README, readme.as_bytes())?;
    let mut paths: Vec<String> = kit.files.keys().cloned().collect();
    paths.extend(writer.documents().iter().cloned());
    paths.sort();
    writer.finish(B::ID, kit.parameters)?;
    Ok(paths)
}

fn document(writer: &mut DatasetWriter, path: &str, bytes: &[u8]) -> Result<(), ImportError> {
    let written = writer.document(path, |mut file| Ok(file.write_all(bytes)?));
    written.map(drop)
}

/// The program, for the first of the boards.
fn starter(program: &str, boards: &[Leaderboard]) -> String {
    let Some(first) = boards.first() else {
        return program.to_owned();
    };
    let names: Vec<&str> = boards.iter().map(|board| board.name.as_str()).collect();
    let line = |line: &str| match line.strip_prefix(BOARD) {
        Some(_) => format!("{BOARD}{}  # one of {}\n", json!(first.name), names.join(", ")),
        None => format!("{line}\n"),
    };
    program.lines().map(line).collect()
}

/// The program as a notebook: what follows a line `# %%` is a cell, of text where `[markdown]` stands behind it.
fn notebook(program: &str) -> Value {
    let mut cells = Vec::new();
    for cell in format!("\n{program}").split(&format!("\n{CELL}")).skip(1) {
        let (kind, source) = cell.split_once('\n').unwrap_or((cell, ""));
        let source = source.trim_end();
        cells.push(if kind.trim() == "[markdown]" {
            let bare = |line: &str| line.trim_start_matches('#').trim_start().to_owned();
            let text: Vec<String> = source.lines().map(bare).collect();
            json!({ "cell_type": "markdown", "metadata": {}, "source": text.join("\n") })
        } else {
            json!({ "cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": null })
        });
    }
    json!({
        "cells": cells,
        "metadata": { "kernelspec": { "display_name": "Python 3", "language": "python", "name": "python3" } },
        "nbformat": 4,
        "nbformat_minor": 4,
    })
}

fn readme<B: Import>(boards: &[Leaderboard], tables: &[TableFiles], examples: &[Example]) -> String {
    let title = boards
        .iter()
        .find_map(|board| board.title.as_deref())
        .unwrap_or(B::ID);
    let description = boards.iter().find_map(|board| board.description.as_deref());
    let description = description.map_or_else(
        || format!("To do: {}.", B::ABOUT),
        |said| said.trim_end().to_owned(),
    );
    let paths: BTreeMap<&str, String> = examples
        .iter()
        .map(|example| (example.leaderboard.as_str(), example.path()))
        .collect();
    let guide = with_example(B::GUIDE.trim_end(), examples.first());
    let mut lines = vec![format!("# {title}\n\n{description}\n\n{guide}\n")];
    lines.push("## Leaderboards\n\n| leaderboard | | a valid artifact |\n|---|---|---|".to_owned());
    for board in boards {
        let path = paths.get(board.name.as_str()).map(|path| format!("`{path}`"));
        lines.push(format!(
            "| `{}` | {} | {} |",
            board.name,
            board.about,
            path.unwrap_or_default()
        ));
    }
    lines.push(
        "\n## Files\n\n`starter.py` makes a valid artifact with Python's standard library and NumPy; `notebook.ipynb` is the same as a \
         notebook. `manifest.json` has the rules in numbers, and lists what the command `dataperf` reads."
            .to_owned(),
    );
    if !tables.is_empty() {
        lines.push("\n| table | rows | numbers a row | columns | files |\n|---|---|---|---|---|".to_owned());
        for TableFiles {
            name,
            n_rows,
            n_features,
            columns,
            paths,
        } in tables
        {
            let width = n_features.map(|width| width.to_string()).unwrap_or_default();
            let quoted = |names: &[String]| {
                names
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            lines.push(format!(
                "| {name} | {n_rows} | {width} | {} | {} |",
                quoted(columns),
                quoted(paths)
            ));
        }
        lines.push(
            "\nRows are in the same order in each file of a table; the Parquet file has the numbers in its column `features`.".to_owned(),
        );
    }
    let first = boards.first().map_or("LEADERBOARD", |board| &board.name);
    let file = examples
        .first()
        .map_or_else(|| "my-artifact.json".to_owned(), Example::path);
    lines.push(format!(
        "\n## Offline\n\nIn this folder:\n\n```sh\npython starter.py\ndataperf validate {id} --dataset . --leaderboard {first} {file}\n\
         dataperf baseline list --dataset .\n```\n\n`dataperf baseline METHOD --dataset . --leaderboard {first} --out mine.json` makes one of the \
         baselines.\n\n{}\n",
        score::<B>(examples, first, &file),
        id = B::ID
    ));
    let uploaded = if B::ONLY_PROGRAMS {
        "my-program.wasm"
    } else {
        &file
    };
    lines.push(format!(
        "## Upload\n\n```sh\ndataperf submit {} --leaderboard {first} --submitter YOU {uploaded}\n```",
        B::ID
    ));
    if B::ONLY_PROGRAMS {
        lines.push(format!(
            "\nThe program is uploaded, and `{file}` is what one writes: the board rejects it. `dataperf closed run my-program.wasm --leaderboard {first} \
             --dataset .` runs a program here."
        ));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// Whether the kit can score, and what is missing otherwise.
fn score<B: Import>(examples: &[Example], board: &str, file: &str) -> String {
    let id = B::ID;
    if examples.iter().any(|example| example.can_score) {
        return format!(
            "`dataperf score {id} --dataset . --leaderboard {board} {file}` scores on the practice set, which is the table `{PRACTICE}`. \
             The eval set of the leaderboard is another one, which the organizer keeps."
        );
    }
    "A kit can't score here: what artifacts are scored with is the organizer's, because an artifact could be fitted to it. \
     `dataperf score` says what is missing. Upload an artifact to have it scored."
        .to_owned()
}

/// The table of an eval set that participants may have.
pub const PRACTICE: &str = "practice";
