//! The hooks of Adversarial Nibbler in the command line.

use std::path::Path;

use anyhow::{Context as _, Result};
use dataperf::progress::Progress;
use dataperf::{Descriptor, Digest, Verdict};
use dataperf_collections::nibbler::{
    DESCRIPTOR, KnownRules, NIBBLER_LAYOUT, PUBLIC_FILE, import_nibbler, known_rules, nibbler_kit,
};
use dataperf_datasets::{Kit, export_lines_kit};

use super::{Extension, no_such_board};
use crate::on_disk::Opened;

/// Adversarial Nibbler.
pub(crate) struct Nibbler;

impl Extension for Nibbler {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn command(&self) -> &'static str {
        "nibbler"
    }

    fn layout(&self) -> &'static str {
        NIBBLER_LAYOUT
    }

    fn import(&self, from: &Path, out: &Path, progress: &dyn Progress) -> Result<Digest> {
        Ok(import_nibbler(from, out, progress)?)
    }

    fn kit(&self, directory: &Path, opened: &Opened, out: &Path) -> Result<Option<Kit>> {
        let has_rules = opened.manifest.files.contains_key(PUBLIC_FILE);
        if !has_rules {
            return Ok(None);
        }
        let kit = nibbler_kit(directory, &opened.manifest, opened.digest)?;
        Ok(export_lines_kit(directory, &opened.manifest, &kit, out)?)
    }

    fn verdict(&self, directory: &Path, opened: &Opened, name: &str, file: &[u8]) -> Result<Verdict> {
        let known = known_rules(directory, &opened.manifest, opened.digest)?;
        let verdict = known.verdict(name, file);
        verdict.with_context(|| no_such_board(name, &KnownRules::names()))
    }

    fn why_no_score(&self) -> &'static str {
        "A score follows from images that services make in the cloud, and from what raters say about them"
    }
}
