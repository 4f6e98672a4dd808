//! The participants' kit of a data set: what somebody needs who wants to take part, and nothing hidden.
//!
//! A kit is a data set as well, of the files that participants may have. Beside these lie, listed in no manifest, the same data in the
//! forms that their programs read, what the contest asks for, an example and a program to begin with.

pub(crate) mod example;
pub(crate) mod lines;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use dataperf::benchmark::closed::ClosedBoards;
use dataperf::benchmark::{FrozenPart, Leaderboard};
use dataperf::dataset::frozen::Manifest;
use serde_json::{Value, json};

use crate::errors::ImportError;
use crate::import::Import;
use crate::kit::example::{Example, with_example};
use crate::tables::{KitTable, TableFiles};
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

/// A kit that was made.
#[derive(Debug)]
pub struct Kit {
    /// The paths of its files, ascending.
    pub files: Vec<String>,
    /// The form of an artifact with an example, and the rules, in Markdown: part of its README.
    pub rules: String,
}

/// The documents of a kit, next to the data set's files.
#[derive(Debug)]
pub(crate) struct Documents {
    /// Valid files, by their paths.
    pub(crate) examples: Vec<(String, Vec<u8>)>,
    /// The program to begin with.
    pub(crate) starter: String,
    /// What participants read first.
    pub(crate) readme: String,
}

/// Makes the participants' kit of the data set `from`. Two data sets that differ only in hidden
/// files have the same kit.
///
/// # Errors
/// [`ImportError::Io`] when a file can't be read or written; [`ImportError::Occupied`] when something else is at `out`;
/// [`ImportError::Frozen`] when a file is damaged. Nothing is written unless all can be.
pub fn export_kit<B: Import>(
    from: &Path,
    manifest: &Manifest,
    examples: &[Example],
    out: &Path,
) -> Result<Kit, ImportError> {
    let kit = public_part(manifest, B::Frozen::is_public);
    let boards = B::Frozen::leaderboards(&kit)?;
    let tables = B::tables(from, &kit)?;
    let guide = B::guide(&kit)?;
    let rules = with_example(guide.trim_end(), examples.first());
    let files = write_kit(from, kit, &tables, out, |tables| Documents {
        examples: examples
            .iter()
            .map(|example| (example.path(), example.artifact.clone()))
            .collect(),
        starter: starter(B::STARTER, &names(&boards)),
        readme: readme::<B>(&rules, &boards, tables, examples),
    })?;
    Ok(Kit { files, rules })
}

/// A data set of the files that participants may have.
pub(crate) fn public_part(manifest: &Manifest, is_public: fn(&str) -> bool) -> Manifest {
    let mut kit = manifest.clone();
    kit.files.retain(|path, _| is_public(path));
    kit
}

/// Writes the kit with this manifest, whose files are those of the data set `from`. Gives the paths of its files, ascending.
pub(crate) fn write_kit(
    from: &Path,
    kit: Manifest,
    tables: &[KitTable],
    out: &Path,
    documents: impl FnOnce(&[TableFiles]) -> Documents,
) -> Result<Vec<String>, ImportError> {
    let mut writer = DatasetWriter::create(out)?;
    for (path, entry) in &kit.files {
        let source = from.join(path);
        let file = File::open(&source).map_err(ImportError::io("can't read", &source))?;
        writer.copy_entry(path, entry, file)?;
    }
    let mut written = Vec::new();
    for table in tables {
        written.push(table.write(from, &kit, &mut writer)?);
    }
    let Documents {
        examples,
        starter,
        readme,
    } = documents(&written);
    for (path, bytes) in &examples {
        document(&mut writer, path, bytes)?;
    }
    document(&mut writer, STARTER, starter.as_bytes())?;
    let notebook = format!("{:#}\n", notebook(&starter));
    document(&mut writer, NOTEBOOK, notebook.as_bytes())?;
    document(&mut writer, README, readme.as_bytes())?;
    let mut paths: Vec<String> = kit.files.keys().cloned().collect();
    paths.extend(writer.documents().iter().cloned());
    paths.sort();
    writer.finish(&kit.benchmark, kit.parameters)?;
    Ok(paths)
}

fn document(writer: &mut DatasetWriter, path: &str, bytes: &[u8]) -> Result<(), ImportError> {
    let written = writer.document(path, |mut file| Ok(file.write_all(bytes)?));
    written.map(drop)
}

/// The names of boards.
fn names(boards: &[Leaderboard]) -> Vec<&str> {
    boards.iter().map(|board| board.name.as_str()).collect()
}

/// The program, for the first of the boards with these names.
pub(crate) fn starter(program: &str, names: &[&str]) -> String {
    let Some(first) = names.first() else {
        return program.to_owned();
    };
    let line = |line: &str| match line.strip_prefix(BOARD) {
        Some(_) => format!("{BOARD}{}  # one of {}\n", json!(first), names.join(", ")),
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

fn readme<B: Import>(
    rules: &str,
    boards: &[Leaderboard],
    tables: &[TableFiles],
    examples: &[Example],
) -> String {
    let title = title(B::ID, boards);
    let description = boards.iter().find_map(|board| board.description.as_deref());
    let description = description.map_or_else(
        || format!("To do: {}.", B::ABOUT),
        |message| message.trim_end().to_owned(),
    );
    let paths: BTreeMap<&str, String> = examples
        .iter()
        .map(|example| (example.leaderboard.as_str(), example.path()))
        .collect();
    let mut lines = vec![format!("# {title}\n\n{description}\n\n{rules}\n")];
    lines.push(leaderboards(boards, |board| paths.get(board).cloned()));
    lines.push(files(
        "makes a valid artifact with Python's standard library and NumPy",
        tables,
    ));
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
    let uploaded = if B::ClosedBoards::ONLY {
        "my-program.wasm"
    } else {
        &file
    };
    lines.push(format!(
        "## Upload\n\n```sh\ndataperf submit {} --leaderboard {first} --submitter YOU {uploaded}\n```",
        B::ID
    ));
    if B::ClosedBoards::ONLY {
        lines.push(format!(
            "\nThe program is uploaded, and `{file}` is what one writes: the board rejects it. `dataperf closed run my-program.wasm --leaderboard {first} \
             --dataset .` runs a program here."
        ));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// The heading of a README: the benchmark's id, and the title that all boards share, if they share one.
fn title(id: &str, boards: &[Leaderboard]) -> String {
    let mut titles = boards.iter().map(|board| board.title.as_deref());
    match titles.next().flatten() {
        Some(title) if titles.all(|other| other == Some(title)) => format!("{id}: {title}"),
        _ => id.to_owned(),
    }
}

/// The part of a README about the boards, each with the path of its example where there is one.
pub(crate) fn leaderboards(boards: &[Leaderboard], example: impl Fn(&str) -> Option<String>) -> String {
    let header =
        "## Leaderboards\n\n| leaderboard | | score | model | a valid artifact |\n|---|---|---|---|---|";
    let mut lines = vec![header.to_owned()];
    lines.extend(boards.iter().map(|board| {
        let path = example(&board.name).map(|path| format!("`{path}`"));
        format!(
            "| `{}` | {} | {} | {} | {} |",
            board.name,
            board.about,
            board.metric.as_deref().unwrap_or_default(),
            board.model.as_deref().unwrap_or_default(),
            path.unwrap_or_default()
        )
    }));
    lines.join("\n")
}

/// The part of a README about the files beside it. `starter` is what the starter does.
pub(crate) fn files(starter: &str, tables: &[TableFiles]) -> String {
    let mut lines = vec![format!(
        "\n## Files\n\n`starter.py` {starter}; `notebook.ipynb` is the same as a notebook. \
         `manifest.json` has the rules in numbers, and lists what the command `dataperf` reads."
    )];
    if tables.is_empty() {
        return lines.concat();
    }
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
    let has_numbers = tables.iter().any(|table| table.n_features.is_some());
    let numbers = if has_numbers {
        "; the Parquet file has the numbers in its column `features`"
    } else {
        ""
    };
    lines.push(format!(
        "\nRows are in the same order in each file of a table{numbers}."
    ));
    lines.join("\n")
}

/// Whether the kit can score, and what is missing otherwise.
fn score<B: Import>(examples: &[Example], board: &str, file: &str) -> String {
    let id = B::ID;
    let can_score = examples.iter().any(|example| example.can_score);
    match (can_score, B::ClosedBoards::ONLY) {
        (true, false) => format!(
            "`dataperf score {id} --dataset . --leaderboard {board} {file}` scores on the practice set, which is the table `{PRACTICE}`. \
             The test set of the leaderboard is another one, which the organizer keeps."
        ),
        (true, true) => format!(
            "The right answers are here, for practice: `dataperf closed run my-program.wasm --leaderboard {board} --dataset .` tells the score \
             of a program and all that it is made of. In a round, programs are scored on other examples, which nobody has."
        ),
        (false, true) => "A kit can't score here: the right answers are the organizer's, because a program could have them in it. `dataperf \
             closed run` says whether a program's answers are valid and what it took. Upload a program to have it scored."
            .to_owned(),
        (false, false) => {
            "A kit can't score here: what artifacts are scored with is the organizer's, because an artifact could be fitted to it. \
             `dataperf score` says what is missing. Upload an artifact to have it scored."
                .to_owned()
        }
    }
}

/// The table of a test set that participants may have.
pub const PRACTICE: &str = "practice";
