//! Files that only their owner may read.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// Writes `text` to `path` so that nobody but its owner can read it, also where the file was there and others could. The file has the old text or the
/// new one, never a part.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let about = || format!("can't write `{}`", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // a temporary file is its owner's alone
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).with_context(about)?;
    file.write_all(text.as_bytes()).with_context(about)?;
    file.persist(path).with_context(about)?;
    Ok(())
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const OWNER_ONLY: u32 = 0o600;

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
