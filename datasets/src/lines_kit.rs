//! The participants' kit of what collects lines that people write: the public files as a data set, and beside them what is to be done,
//! valid lines and a program to begin with.

use std::collections::BTreeMap;
use std::path::Path;

use dataperf::benchmark::{Leaderboard, PUBLIC};
use dataperf::frozen::Manifest;

use crate::errors::ImportError;
use crate::kit::{Documents, files, leaderboards, public_part, starter, write_kit};
use crate::tables::KitTable;

/// What the kit of such a data set says, beside its public files.
#[derive(Debug, Clone)]
pub struct LinesKit {
    /// What is to be done, the form of a line and the rules, with the data set's numbers; Markdown that begins with a heading.
    pub guide: String,
    /// The boards.
    pub boards: Vec<Leaderboard>,
    /// The program to begin with, whose cells begin with `# %%`.
    pub starter: &'static str,
    /// What the starter does, as the end of a sentence that begins with its name.
    pub starter_does: &'static str,
    /// What the starter's `LEADERBOARD` may be, the first one to begin with.
    pub choices: Vec<String>,
    /// The data that people write for.
    pub tables: Vec<KitTable>,
    /// Valid files, by the board or the kind of file that they are for.
    pub examples: BTreeMap<String, Vec<u8>>,
    /// How files are held against the rules and uploaded; Markdown that begins with a heading.
    pub commands: String,
}

/// Where the valid file for a board or a kind of file is in a kit.
pub fn lines_example_path(of: &str) -> String {
    format!("examples/{of}.jsonl")
}

/// Makes the participants' kit of the data set `from`. Gives the paths of its files, ascending; none, and nothing is written, where the
/// data set has nothing for participants.
///
/// # Errors
/// As [`export_kit`](crate::export_kit).
pub fn export_lines_kit(
    from: &Path,
    manifest: &Manifest,
    kit: &LinesKit,
    out: &Path,
) -> Result<Vec<String>, ImportError> {
    let public = public_part(manifest, |path| path.starts_with(PUBLIC));
    if public.files.is_empty() {
        return Ok(Vec::new());
    }
    write_kit(from, public, &kit.tables, out, |tables| {
        let example = |of: &str| kit.examples.contains_key(of).then(|| lines_example_path(of));
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
                .map(|(of, lines)| (lines_example_path(of), lines.clone()))
                .collect(),
            starter: starter(kit.starter, &choices),
            readme: parts.join("\n"),
        }
    })
}
