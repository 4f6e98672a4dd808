//! Only the owner may read the data directory: it has hidden data, tokens and the functions' logs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const OWNER_ONLY: u32 = 0o700;

/// Lets nobody but its owner into `dir`. Where that cannot be changed, as in somebody else's directory, a warning says so.
pub(crate) fn close_to_others(dir: &Path) {
    if let Err(error) = std::fs::set_permissions(dir, Permissions::from_mode(OWNER_ONLY)) {
        tracing::warn!(dir = %dir.display(), %error, "other users of this machine may be able to read the data directory");
    }
}
