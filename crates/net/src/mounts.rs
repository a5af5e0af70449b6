//! A view of the file systems in which almost nothing can be changed (mount_namespaces(7)).
//!
//! Landlock holds back what opens, makes and removes files, but not what changes only their attributes: chmod(2), chown(2),
//! utimensat(2), setxattr(2). On a file system that is mounted read-only these fail, too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::rights;
use crate::sys;

/// Mounts everything read-only for the calling process, and for all that it starts from now on, but for these folders.
/// Returns whether the kernel lets it. The process must have one thread only.
///
/// Root does it in a mount namespace; others get a user namespace besides, in which they keep their number.
pub fn freeze_but(writable: &[PathBuf]) -> io::Result<bool> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let has_right = rights::may_administer();
    // A process that could not map its number would have none.
    if !(has_right || rights::may_map(uid)) || sys::unshare_mounts(!has_right).is_err() {
        return Ok(false);
    }
    if !has_right {
        // In this order: groups may be mapped once they can no longer be given up (user_namespaces(7)).
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    }
    let folders: Vec<&Path> = writable.iter().map(PathBuf::as_path).filter(|path| path.is_dir()).collect();
    // AppArmor may give namespaces to everyone, and the right to mount in them to nobody.
    let bound =
        sys::make_mounts_private().and_then(|()| folders.iter().try_for_each(|folder| sys::bind(folder)));
    if bound.and_then(|()| sys::set_read_only(Path::new("/"), true)).is_err() {
        return Ok(false);
    }
    folders.into_iter().try_for_each(|folder| sys::set_read_only(folder, false))?;
    Ok(true)
}
