//! Files that only their owner may read.

use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::{Context, Result};

const OWNER_ONLY: u32 = 0o600;

/// Writes `text` to `path` so that nobody but its owner can read it, also where the file was there and others could.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let about = || format!("can't write `{}`", path.display());
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(OWNER_ONLY)
        .open(path);
    let mut file = file.with_context(about)?;
    file.set_permissions(Permissions::from_mode(OWNER_ONLY))
        .with_context(about)?;
    file.write_all(text.as_bytes()).with_context(about)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn others_can_not_read_it_and_could_before() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let fresh = dir.path().join("fresh");
        write(&fresh, "secret").unwrap();
        assert_eq!(mode(&fresh), OWNER_ONLY);
        let open = dir.path().join("open");
        std::fs::write(&open, "an older and longer secret").unwrap();
        std::fs::set_permissions(&open, Permissions::from_mode(0o644)).unwrap();
        write(&open, "secret").unwrap();
        assert_eq!(mode(&open), OWNER_ONLY);
        assert_eq!(std::fs::read_to_string(&open).unwrap(), "secret");
    }
}
