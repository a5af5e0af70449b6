//! Ownership of folders. Commands of a target's manifest or a suite are run: a folder that was merely
//! found must be as safe from others as the user's own programs are.
//!
//! The rule is that of git's `safe.directory`, and of sshd for what it reads (StrictModes): the folder and all above it
//! belong to the user or to root, and nobody else may write there. A user's private group does not count as someone
//! else, and a folder above may be one like `/tmp`, in which nobody can replace another user's files (sticky,
//! chmod(1)).

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const WRITABLE_BY_GROUP: u32 = 0o020;
const WRITABLE_BY_OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;
const ROOT: u32 = 0;

/// An objection to running a folder's commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The path in danger: the folder, one above it, or a file in it.
    pub path: PathBuf,
    /// Why it is one, as a clause whose subject is the path.
    pub why: Danger,
}

/// Others that can change a path.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Danger {
    /// This user owns it.
    #[error("belongs to user {0}")]
    Owner(u32),
    /// Anyone may write there.
    #[error("anyone can write to it")]
    Anyone,
    /// This group may write there.
    #[error("can be written by group {0}")]
    Group(u32),
}

/// Finds an objection to a folder that was found rather than named; `None` if there is none. It is looked at with all
/// above it, and with what it holds, down to the files of its folders. The folder is as [`Path::canonicalize`] gives
/// it.
///
/// # Errors
/// It cannot be looked at.
pub fn objection(folder: &Path) -> io::Result<Option<Objection>> {
    let owners = owners(net::private::user(), std::env::var("SUDO_UID").ok().as_deref());
    for above in folder.ancestors() {
        let found = danger(&fs::metadata(above)?, above != folder, &owners);
        if let Some(why) = found {
            return Ok(Some(Objection { path: above.to_owned(), why }));
        }
    }
    for inner in entries(folder)? {
        if let Some(found) = objection_to_entry(&inner, &owners)? {
            return Ok(Some(found));
        }
        for file in if inner.is_dir() { entries(&inner)? } else { Vec::new() } {
            if let Some(found) = objection_to_entry(&file, &owners)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// The users that may own commands to run: the user and root; and for root under sudo, the user who became
/// root, as in git.
fn owners(user: u32, sudo_user: Option<&str>) -> Vec<u32> {
    let sudo_user = sudo_user.filter(|_| user == ROOT).and_then(|id| id.parse().ok());
    [user, ROOT].into_iter().chain(sudo_user).collect()
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

fn objection_to_entry(path: &Path, owners: &[u32]) -> io::Result<Option<Objection>> {
    // Through links, as a command that is run goes through them.
    match fs::metadata(path) {
        Ok(metadata) => {
            let why = danger(&metadata, false, owners);
            Ok(why.map(|why| Objection { path: path.to_owned(), why }))
        }
        // A link that leads nowhere, or a file that went while we looked.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn danger(metadata: &Metadata, is_above: bool, owners: &[u32]) -> Option<Danger> {
    let (owner, group, mode) = (metadata.uid(), metadata.gid(), metadata.mode());
    let is_safe_from_others = is_above && mode & STICKY != 0;
    // A user's private group has the user's own number (login.defs(5), USERGROUPS_ENAB).
    if !owners.contains(&owner) {
        Some(Danger::Owner(owner))
    } else if mode & WRITABLE_BY_OTHERS != 0 && !is_safe_from_others {
        Some(Danger::Anyone)
    } else if mode & WRITABLE_BY_GROUP != 0 && group != owner && !is_safe_from_others {
        Some(Danger::Group(group))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// A folder `targets` with one target, in a folder of its own.
    fn catalog() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap().join("targets");
        fs::create_dir_all(folder.join("go-x")).unwrap();
        fs::write(folder.join("go-x/target.toml"), "").unwrap();
        (dir, folder)
    }

    #[test]
    fn own_folders_are_trusted() {
        let (_dir, folder) = catalog();
        assert_eq!(objection(&folder).unwrap(), None);
        std::os::unix::fs::symlink("/no/such/file", folder.join("go-x/link")).unwrap();
        assert_eq!(objection(&folder).unwrap(), None);
    }

    #[test]
    fn folders_others_can_write_are_refused() {
        let (dir, folder) = catalog();
        for path in [dir.path(), &folder, &folder.join("go-x"), &folder.join("go-x/target.toml")] {
            let before = fs::metadata(path).unwrap().mode();
            chmod(path, 0o777);
            let found = objection(&folder).unwrap().expect("everybody can write there");
            assert_eq!((found.path.as_path(), found.why), (path, Danger::Anyone));
            chmod(path, before);
        }
        chmod(dir.path(), 0o1777);
        assert_eq!(objection(&folder).unwrap(), None, "as /tmp");
        chmod(&folder, 0o1777);
        assert!(objection(&folder).unwrap().is_some(), "there others add folders of their own");
    }

    #[test]
    fn folders_of_others_are_refused() {
        if net::private::user() != ROOT {
            return; // nobody else can give a file away
        }
        let (dir, folder) = catalog();
        for path in [dir.path(), &folder, &folder.join("go-x"), &folder.join("go-x/target.toml")] {
            chown(path, Some(65_534), None).unwrap();
            let found = objection(&folder).unwrap().expect("it is another's");
            assert_eq!((found.path.as_path(), found.why), (path, Danger::Owner(65_534)));
            chown(path, Some(ROOT), None).unwrap();
        }
        chown(&folder, None, Some(65_534)).unwrap();
        chmod(&folder, 0o775);
        assert_eq!(objection(&folder).unwrap().unwrap().why, Danger::Group(65_534));
    }

    #[test]
    fn sudo_users_are_trusted() {
        assert_eq!(owners(ROOT, Some("1000")), [ROOT, ROOT, 1000]);
        assert_eq!(owners(1001, Some("1000")), [1001, ROOT]);
        assert_eq!(owners(ROOT, Some("no number")), [ROOT, ROOT]);
    }
}
