//! Collects everything that is wrong with a folder, so that one run reports all of it.

use std::path::{Component, Path, PathBuf};

/// The most problems that are kept; further ones are only counted.
const MAX_KEPT: usize = 200;
/// The most problems with rows of one file that are kept, so that the problems of other files are shown as well.
pub(crate) const MAX_OF_FILE: usize = 5;

/// The problems as sentences, each with the file and the place that it is about.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    kept: Vec<String>,
    n_more: usize,
}

impl Problems {
    pub(crate) fn add(&mut self, problem: impl Into<String>) {
        let problem = problem.into();
        if self.kept.contains(&problem) {
            return; // of a file that is both features and examples
        }
        if self.kept.len() < MAX_KEPT {
            self.kept.push(problem);
        } else {
            self.n_more += 1;
        }
    }

    pub(crate) fn extend(&mut self, problems: impl IntoIterator<Item = String>) {
        problems.into_iter().for_each(|problem| self.add(problem));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(crate) fn into_list(mut self) -> Vec<String> {
        if self.n_more > 0 {
            self.kept.push(format!("and {} more problems", self.n_more));
        }
        self.kept
    }
}

/// Problems with the rows of one file: the first few are kept, the others counted.
#[derive(Debug, Default)]
pub(crate) struct RowProblems {
    first: Vec<String>,
    n: usize,
}

impl RowProblems {
    pub(crate) fn add(&mut self, problem: impl FnOnce() -> String) {
        self.n += 1;
        if self.first.len() < MAX_OF_FILE {
            self.first.push(problem());
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The number of problems.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// The sentences for the file called `name`.
    pub(crate) fn report(self, name: &str) -> Vec<String> {
        let n_more = self.n - self.first.len();
        let more = (n_more > 0).then(|| format!("`{name}`: {n_more} more rows have such problems"));
        self.first.into_iter().chain(more).collect()
    }
}

/// The path of a file or folder that the document names, checked to lie below the document's folder without a link on the way.
///
/// # Errors
/// A sentence that says why the name is refused.
pub(crate) fn within(from: &Path, name: &str) -> Result<PathBuf, String> {
    let path = Path::new(name);
    let is_plain = |component: Component<'_>| matches!(component, Component::Normal(_) | Component::CurDir);
    if name.is_empty() || !path.components().all(is_plain) {
        return Err(format!(
            "`{name}` is not a path below the folder of `task.yaml`: name a file in that folder, without `..`"
        ));
    }
    let mut whole = from.to_path_buf();
    for component in path
        .components()
        .filter(|component| matches!(component, Component::Normal(_)))
    {
        whole.push(component);
        match whole.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                return Err(format!(
                    "`{name}` is a symbolic link or below one: put the file itself there"
                ));
            }
            Ok(_) => {}
            Err(error) => return Err(format!("`{name}` can't be read: {error}")),
        }
    }
    Ok(whole)
}
