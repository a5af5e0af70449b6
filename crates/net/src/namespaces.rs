//! Namespaces of its own for a process and all that it starts: of mounts, in which almost nothing can be
//! changed, of processes, in which there are no others, and of shared memory (namespaces(7)).
//!
//! Landlock holds back what opens, makes and removes files, but not what changes only their attributes:
//! chmod(2), chown(2), utimensat(2), setxattr(2). On a file system that is mounted read-only these fail, too.
//! Nor does it hold back connect(2) to a socket with a path, which fails where something else is mounted.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Signal, WaitOptions, waitpid};

use crate::rights;
use crate::signals;
use crate::sys;

/// The folder of POSIX shared memory and semaphores (shm_overview(7), sem_overview(7)).
const SHARED_MEMORY: &str = "/dev/shm";

/// A mount namespace that the calling process has to itself: no other process sees what it mounts there.
pub struct OwnMounts(());

impl OwnMounts {
    /// Gives the calling process a mount namespace; `None` where the kernel or an administrator refuses it.
    /// The process must have one thread only.
    ///
    /// Root can do that directly; other users also get a user namespace, in which they keep their number.
    pub fn unshare() -> io::Result<Option<OwnMounts>> {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let has_right = rights::may_administer();
        let users = if has_right { 0 } else { libc::CLONE_NEWUSER };
        // A process that could not map its number would have none.
        if !(has_right || rights::may_map(uid)) || sys::unshare(users | libc::CLONE_NEWNS).is_err() {
            return Ok(None);
        }
        if !has_right {
            // In this order: groups may be mapped once they can no longer be given up (user_namespaces(7)).
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
            fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
        }
        // AppArmor may allow all users namespaces, and none to mount in them.
        Ok(sys::make_mounts_private().ok().map(|()| OwnMounts(())))
    }

    /// Mounts everything read-only but for these folders. Returns whether the kernel lets it.
    pub fn freeze_but(&self, writable: &[PathBuf]) -> io::Result<bool> {
        let folders: Vec<&Path> =
            writable.iter().map(PathBuf::as_path).filter(|path| path.is_dir()).collect();
        // Each is made a mount of its own first, for only a mount can be read-only or not.
        let bound = folders.iter().try_for_each(|folder| sys::bind(folder));
        if bound.and_then(|()| sys::set_read_only(Path::new("/"), true)).is_err() {
            return Ok(false);
        }
        folders.into_iter().try_for_each(|folder| sys::set_read_only(folder, false))?;
        Ok(true)
    }

    /// Hides everything in a folder but these places, as far as they are there. Hides nothing where the
    /// kernel does not let it, or if one of the places is around the folder.
    ///
    /// # Errors
    /// A place cannot be shown again.
    pub fn hide_but(&self, folder: &Path, places: &[PathBuf]) -> io::Result<()> {
        // A link leads to a folder that would be hidden a second time.
        if folder.is_symlink() || places.iter().any(|place| folder.starts_with(place)) {
            return Ok(());
        }
        // By both names, because programs ask for the real one.
        let named = places.iter().filter_map(|place| Some([place.clone(), place.canonicalize().ok()?]));
        let inside = named.flatten().filter(|place| place.starts_with(folder));
        // Opened now: there is no way to them once they are hidden.
        let opened = inside.filter_map(|place| {
            let open = rustix::fs::open(&place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
            let is_folder = place.is_dir();
            Some((place, is_folder, open))
        });
        let kept: Vec<(PathBuf, bool, OwnedFd)> = opened.collect();
        if sys::mount_memory(folder).is_err() {
            return Ok(());
        }
        for (place, is_folder, open) in &kept {
            make_mount_point(place, *is_folder)?;
            sys::bind_open(open.as_fd(), place)?;
        }
        Ok(())
    }

    /// Makes a file read-only in a folder that is not, and keeps its name from being given to another. Called
    /// after [`freeze_but`](Self::freeze_but), which has the folder writable with all that is mounted in it.
    /// Returns whether the kernel lets it, and the file is there.
    pub fn freeze(&self, file: &Path) -> bool {
        sys::bind(file).and_then(|()| sys::set_read_only(file, true)).is_ok()
    }

    /// Gives the calling process shared memory, semaphores and message queues that no other process sees:
    /// those of System V, and those of POSIX, whose folder is returned. `None` where the kernel refuses that.
    pub fn hide_shared_memory(&self) -> Option<&'static Path> {
        // Each alone: a kernel may have been built without namespaces for IPC, a container without a /dev/shm.
        let _ = sys::unshare(libc::CLONE_NEWIPC);
        let folder = Path::new(SHARED_MEMORY);
        sys::mount_memory(folder).ok().map(|()| folder)
    }

    /// Continues in a child that is the first process of a PID namespace, with a `/proc` that shows no
    /// others. The calling process waits for it, and ends as it does. Must be called with one thread only,
    /// before anything is opened whose other end is waited for.
    ///
    /// When the child ends, the kernel kills what is left in the namespace; and it kills the child when its
    /// parent is killed.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the kernel refuses the namespace or its `/proc`, which containers
    /// that hide parts of their own do not allow (mount_namespaces(7)): then nothing may be started, because
    /// a process would have one number here and another in `/proc`.
    pub fn hide_processes(&self) -> io::Result<()> {
        let refused = |error: io::Error| io::Error::new(io::ErrorKind::Unsupported, error);
        assert_eq!(fs::read_dir("/proc/self/task")?.count(), 1, "a lock of another thread would stay locked");
        sys::unshare(libc::CLONE_NEWPID).map_err(refused)?;
        if let Some(child) = sys::fork()? {
            let ended = waitpid(Some(child), WaitOptions::empty())?;
            process::exit(ended.and_then(|(_, status)| status.exit_status()).unwrap_or(1));
        }
        // A process of another namespace has the number 0 here, before its end and after: one that ended
        // before this call is not noticed. Its own parent's pipe tells of that.
        signals::die_with_parent(Signal::KILL, None)?;
        sys::mount_proc().map_err(refused)
    }
}

/// Makes an empty folder or file, unless something is there, with the folders around it.
fn make_mount_point(place: &Path, is_folder: bool) -> io::Result<()> {
    match place.parent() {
        _ if place.exists() => Ok(()),
        Some(parent) if !is_folder => {
            fs::create_dir_all(parent)?;
            File::create_new(place).map(drop)
        }
        _ => fs::create_dir_all(place),
    }
}
