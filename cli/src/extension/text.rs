//! Adversarial Text as the command line knows it.

use std::path::Path;

use anyhow::{Context as _, Result};
use dataperf::progress::Progress;
use dataperf::{Descriptor, Digest, Verdict};
use dataperf_collections::text::{DESCRIPTOR, TEXT_LAYOUT, import_text, known_rules, text_kit};
use dataperf_datasets::{Kit, export_lines_kit};

use super::{Extension, no_such_board};
use crate::on_disk::Opened;

/// Adversarial Text.
pub(crate) struct Text;

impl Extension for Text {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn command(&self) -> &'static str {
        "dynamic"
    }

    fn layout(&self) -> &'static str {
        TEXT_LAYOUT
    }

    fn import(&self, from: &Path, out: &Path, progress: &dyn Progress) -> Result<Digest> {
        Ok(import_text(from, out, progress)?)
    }

    fn kit(&self, directory: &Path, opened: &Opened, out: &Path) -> Result<Option<Kit>> {
        let kit = text_kit(directory, &opened.manifest, opened.digest)?;
        Ok(export_lines_kit(directory, &opened.manifest, &kit, out)?)
    }

    fn verdict(&self, directory: &Path, opened: &Opened, name: &str, file: &[u8]) -> Result<Verdict> {
        let known = known_rules(directory, &opened.manifest, opened.digest)?;
        let verdict = known.verdict(name, file);
        verdict.with_context(|| no_such_board(name, &known.names()))
    }

    fn why_no_score(&self) -> &'static str {
        "A score counts examples that fooled the round's models and that raters confirmed. The models stay with the organizer, \
            because texts could be fitted to them"
    }
}
