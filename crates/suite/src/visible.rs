//! Views of the machine from a sandbox: everything beside what it hides, and which files are secrets.

use std::fs::{self, DirEntry};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Folders within each other that are searched: `/etc/letsencrypt/live` has its keys in folders of their own.
const DEPTH_MAX: u32 = 3;
/// The right of everybody else to read (inode(7)).
const READ_BY_OTHERS: u32 = 0o004;

/// All files and folders below `root` that are not hidden and in which nothing hidden is, as few as there can
/// be, and `root` itself if nothing in it is hidden. Names that are not UTF-8 are left out.
pub(crate) fn places_beside(root: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut places = Vec::new();
    // What leads to them is followed, so they have to be what it leads to: some systems have a link at /home.
    let hidden: Vec<PathBuf> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let has_hidden = |folder: &Path| hidden.iter().any(|hidden| hidden.starts_with(folder));
    // A folder as a whole can be listed, and shows what is made in it later; its links lead out of it.
    if root.is_dir() && root.canonicalize().is_ok_and(|real| !has_hidden(&real)) {
        places.push(root.to_owned());
    }
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        // What this user may not list, the programs that he starts cannot see either.
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            // A link gives what it leads to.
            let Ok(real) = path.canonicalize() else { continue };
            // The guard is told of places in JSON, which has no such names.
            let is_told = path.to_str().is_some();
            if !is_told || hidden.iter().any(|hidden| real.starts_with(hidden)) {
                continue;
            }
            if !has_hidden(&real) {
                places.push(path);
            } else if real == path {
                folders.push(path);
            }
        }
    }
    places
}

/// Files and folders below `folder` that not every user may read, as `/etc/shadow` and the keys of servers.
pub(crate) fn private_places(folder: &Path) -> Vec<PathBuf> {
    let (mut private, mut folders) = (Vec::new(), vec![(folder.to_owned(), 1)]);
    while let Some((folder, depth)) = folders.pop() {
        for entry in entries(&folder) {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_private(&entry) {
                private.push(entry.path());
            } else if is_folder && depth < DEPTH_MAX {
                folders.push((entry.path(), depth + 1));
            }
        }
    }
    private
}

/// Files directly in `folder` that not every user may read: where tools keep credentials beside a cache, they
/// write them so. Folders there may be anything, as with an umask of 077.
pub(crate) fn private_files(folder: &Path) -> Vec<PathBuf> {
    let files = entries(folder).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.filter(is_private).map(|entry| entry.path()).collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Returns whether others may not read it. A link is never private: where it leads to is judged itself.
fn is_private(entry: &DirEntry) -> bool {
    let metadata = entry.metadata();
    metadata.is_ok_and(|found| !found.is_symlink() && found.permissions().mode() & READ_BY_OTHERS == 0)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs::Permissions;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_hide_their_folders() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let [homes, link, beside] = ["homes", "link", "beside"].map(|name| root.join(name));
        for made in [&homes, &beside] {
            fs::create_dir(made).unwrap();
        }
        symlink(&homes, &link).unwrap();
        let places = places_beside(Path::new("/"), &[link]);
        assert!(places.contains(&beside) && !places.iter().any(|place| homes.starts_with(place)));
    }

    #[test]
    fn folders_without_secrets_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(places_beside(folder.path(), &[]), [folder.path()]);
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(places_beside(&file, &[]).is_empty(), "it may be private");
    }

    #[test]
    fn names_other_than_utf8_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let [key, cert] = ["key", "cert"].map(|name| folder.path().join(name));
        for file in [&key, &cert, &folder.path().join(OsStr::from_bytes(b"caf\xe9"))] {
            fs::write(file, "").unwrap();
        }
        assert_eq!(places_beside(folder.path(), &[key]), [cert]);
    }

    #[test]
    fn files_closed_to_others_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("open/closed")).unwrap();
        for (file, mode) in
            [("key", 0o640), ("cert", 0o644), ("open/key", 0o600), ("open/closed/cert", 0o644)]
        {
            fs::write(at(file), "").unwrap();
            fs::set_permissions(at(file), Permissions::from_mode(mode)).unwrap();
        }
        for (path, mode) in [("open", 0o755), ("open/closed", 0o700)] {
            fs::set_permissions(at(path), Permissions::from_mode(mode)).unwrap();
        }
        symlink(at("cert"), at("link")).unwrap();
        let mut places = private_places(folder.path());
        places.sort();
        assert_eq!(places, [at("key"), at("open/closed"), at("open/key")]);
        assert_eq!(private_files(folder.path()), [at("key")]);
        let mut beside = places_beside(folder.path(), &places);
        beside.sort();
        assert_eq!(beside, [at("cert"), at("link")]);
    }
}
