//! The audit of a data set: of each of its test sets.

use std::path::Path;

use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf_datasets::Progress;
use dataperf_datasets::labels::labelled::{Labelled, LabelledAt};

use crate::columns::{ClassCount, Columns};
use crate::duplicates::{Leaks, Pairs, with, within};
use crate::labels::{AuditError, Doubt, doubts};

/// The findings in a data set.
#[derive(Debug)]
pub struct Audit {
    /// The findings in each test set, in the order of the manifest.
    pub sets: Vec<SetAudit>,
}

/// The findings in a test set.
#[derive(Debug)]
pub struct SetAudit {
    /// The test set.
    pub set: Labelled,
    /// The items of each class.
    pub classes: Vec<ClassCount>,
    /// Columns that say nothing.
    pub columns: Columns,
    /// Rows that are there twice.
    pub duplicates: Pairs,
    /// Its overlap with rows that models are trained on.
    pub leaks: Vec<Leaks>,
    /// Labels in doubt, or why none could be looked for.
    pub doubts: Result<Vec<Doubt>, AuditError>,
}

impl SetAudit {
    /// The labels in doubt; empty if none could be searched for.
    pub fn doubts(&self) -> &[Doubt] {
        self.doubts.as_deref().unwrap_or_default()
    }

    /// How many labels both learners doubt.
    pub fn n_likely(&self) -> usize {
        self.doubts().iter().filter(|doubt| doubt.is_likely()).count()
    }
}

/// Audits test sets of the data set in `directory`.
///
/// # Errors
/// [`FrozenError`] when a file is not what the manifest says.
pub fn audit(
    directory: &Path,
    manifest: &Manifest,
    sets: &[LabelledAt],
    progress: &dyn Progress,
) -> Result<Audit, FrozenError> {
    let mut audited = Vec::with_capacity(sets.len());
    for at in sets {
        progress.begin(&format!("auditing {}", at.name), 2 + at.training.len() as u64);
        let set = at.read(directory, manifest)?;
        let columns = Columns::from_rows(set.features.view());
        let duplicates = within(&set);
        progress.advance(1);
        let mut leaks = Vec::new();
        for training in &at.training {
            leaks.push(with(&set, training, directory, manifest)?);
            progress.advance(1);
        }
        let doubts = if columns.n_not_finite == 0 {
            doubts(set.features.view(), &set.labels, at.classes.len())
        } else {
            Err(AuditError::NotFinite {
                n_columns: columns.n_not_finite,
            })
        };
        progress.advance(1);
        audited.push(SetAudit {
            classes: ClassCount::count(&set.labels, &at.classes),
            columns,
            duplicates,
            leaks,
            doubts,
            set,
        });
    }
    Ok(Audit { sets: audited })
}
