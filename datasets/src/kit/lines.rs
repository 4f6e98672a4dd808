//! The participants' kit of a collection: the public files as a data set, instructions, valid
//! lines, and a program to start from.

use std::collections::BTreeMap;
use std::path::Path;

use dataperf::benchmark::{Leaderboard, PUBLIC};
use dataperf::dataset::frozen::Manifest;

use crate::errors::ImportError;
use crate::kit::{Documents, Kit, files, leaderboards, public_part, starter, write_kit};
use crate::tables::KitTable;

/// The contents of such a data set's kit, in addition to its public files.
#[derive(Debug, Clone)]
pub struct LinesKit {
    /// The task, the form of a line and the rules with the data set's numbers; Markdown that begins
    /// with a heading.
    pub guide: String,
    /// The boards.
    pub boards: Vec<Leaderboard>,
    /// The program to begin with, whose cells begin with `# %%`.
    pub starter: &'static str,
    /// The starter's purpose, as the end of a sentence that begins with its name.
    pub starter_does: &'static str,
    /// The possible values of the starter's `LEADERBOARD`; the first is the default.
    pub choices: Vec<String>,
    /// The data that people write for.
    pub tables: Vec<KitTable>,
    /// Valid files, by the board or the kind of file that they are for.
    pub examples: BTreeMap<String, Vec<u8>>,
    /// The instructions for checking and uploading files; Markdown that begins with a heading.
    pub commands: String,
}

/// The path of the valid file for a board or a kind of file in a kit.
pub fn lines_example_path(name: &str) -> String {
    format!("examples/{name}.jsonl")
}

/// Makes the participants' kit of the data set `from`. Writes nothing and returns `None` if the
/// data set has nothing for participants.
///
/// # Errors
/// As [`export_kit`](crate::export_kit).
pub fn export_lines_kit(
    from: &Path,
    manifest: &Manifest,
    kit: &LinesKit,
    out: &Path,
) -> Result<Option<Kit>, ImportError> {
    let public = public_part(manifest, |path| path.starts_with(PUBLIC));
    if public.files.is_empty() {
        return Ok(None);
    }
    let files = write_kit(from, public, &kit.tables, out, |tables| {
        let example = |name: &str| kit.examples.contains_key(name).then(|| lines_example_path(name));
        let choices: Vec<&str> = kit.choices.iter().map(String::as_str).collect();
        let parts = [
            kit.guide.trim_end(),
            "",
            &leaderboards(&kit.boards, example),
            &files(kit.starter_does, tables),
            "",
            kit.commands.trim_end(),
            "",
        ];
        let examples = kit.examples.iter();
        Documents {
            examples: examples
                .map(|(name, lines)| (lines_example_path(name), lines.clone()))
                .collect(),
            starter: starter(kit.starter, &choices),
            readme: parts.join("\n"),
        }
    })?;
    let rules = kit.guide.trim_end().to_owned();
    Ok(Some(Kit { files, rules }))
}
