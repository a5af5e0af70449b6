//! The sandbox in which a target is installed, built, asked for its version and run: within walls
//! ([`net::walls`]), with a home of its own.
//!
//! A target's program can read what tools and toolchains need; what it can change is the target's folder,
//! with its home, its caches and its temporary files in it. Everything else is mounted read-only, where the
//! kernel lets it, so that not even attributes change. A target that wants the distribution's packages may
//! change the system, because that is what it asks for, but it still sees no home. All but the server, which
//! is measured by the numbers of its processes, see no processes but their own, where the kernel lets that.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use net::namespaces::OwnMounts;
use serde::{Deserialize, Serialize};

use crate::manifest::FILE_NAME;
use crate::surroundings;
use crate::visible;

/// The home, in the target's folder; what tools keep for the next time is in it.
const HOME: &str = ".home";
/// Folders of people's own files, besides the user's own home.
const HOMES: [&str; 4] = ["/home", "/root", "/mnt", "/media"];
/// Folders of programs' own or passing files.
const PASSING: [&str; 3] = ["/tmp", "/var/tmp", "/run"];
/// The parts of these that every program needs: how names are resolved.
const RESOLVERS: [&str; 4] = ["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/nscd"];
/// Devices that are neither hardware nor a terminal, in which somebody may be typing.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// The folder of all devices.
const ALL_DEVICES: &str = "/dev";
/// Folders of configuration and state, in which files that not everybody may read are secrets.
const SYSTEM: [&str; 2] = ["/etc", "/var"];
/// The folders of toolchains, in the home of the user who installed them, and the variable by which they find
/// it from another.
const TOOLCHAINS: [(&str, &str); 10] = [
    (".rustup", "RUSTUP_HOME"),
    (".pyenv", "PYENV_ROOT"),
    (".rbenv", "RBENV_ROOT"),
    (".nvm", "NVM_DIR"),
    (".volta", "VOLTA_HOME"),
    (".asdf", "ASDF_DATA_DIR"),
    (".sdkman", "SDKMAN_DIR"),
    (".goenv", "GOENV_ROOT"),
    (".jenv", "JENV_ROOT"),
    (".local/share/mise", "MISE_DATA_DIR"),
];
/// Folders beside a `bin` of the PATH that belong to it.
const BESIDE_BIN: [&str; 4] = ["lib", "libexec", "include", "Cellar"];

/// The sandbox of a program: the files it may touch, and its environment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sandbox {
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    /// The target's manifest, which is among what is writable.
    manifest: PathBuf,
    /// Variables, and those that are taken away.
    env: Vec<(String, Option<String>)>,
    /// It may change the system.
    uses_packages: bool,
    /// It sees no processes but its own.
    pub(crate) hides_processes: bool,
}

/// Needs of a program beside its target's folder.
#[derive(Clone, Copy, Default)]
pub(crate) struct Needs<'a> {
    /// It reads these.
    pub(crate) readable: &'a [&'a Path],
    /// It writes in these.
    pub(crate) writable: &'a [&'a Path],
    /// It installs packages of the distribution.
    pub(crate) packages: bool,
    /// It installs or builds, with the user's options of its tools.
    pub(crate) options: bool,
}

impl Sandbox {
    /// Around a program of the target in this folder.
    pub(crate) fn around(folder: &Path, needs: Needs<'_>) -> io::Result<Sandbox> {
        let home = folder.join(HOME);
        let tmp = make(&home, "tmp")?;
        let users = env::home_dir().and_then(|path| path.canonicalize().ok());
        // Some containers have none.
        let users = users.filter(|path| path != Path::new("/"));
        let never = HOMES.iter().chain([&ALL_DEVICES]).map(PathBuf::from);
        let credentials = surroundings::caches().flat_map(|cache| visible::private_files(&cache));
        let mut hidden: Vec<PathBuf> = never.chain(users.clone()).chain(credentials).collect();
        let mut env = vec![text("HOME", &home)?];
        let mut writable = vec![folder.to_owned()];
        writable.extend(needs.writable.iter().map(|path| path.to_path_buf()));
        writable.extend(DEVICES.iter().map(PathBuf::from));
        if !needs.packages {
            hidden.extend(PASSING.iter().map(PathBuf::from));
            hidden.extend(SYSTEM.iter().flat_map(|folder| visible::private_places(folder.as_ref())));
            env.push(text("TMPDIR", &tmp)?);
        }
        // Walls only allow: to hide a folder is to allow all that is beside it.
        let mut readable = visible::places_beside(Path::new("/"), &hidden);
        if needs.packages {
            writable.append(&mut readable);
        }
        readable.extend(RESOLVERS.iter().map(PathBuf::from));
        readable.extend(needs.readable.iter().map(|path| path.to_path_buf()));
        let tools = Tools::of(users.as_deref(), &home)?;
        readable.extend(tools.folders);
        env.extend(tools.env);
        if needs.options {
            env.extend(surroundings::of_builds().map(|(name, value)| (name, Some(value))));
        }
        env.extend(options(&home, &tmp, needs.options)?);
        let manifest = folder.join(FILE_NAME);
        Ok(Sandbox {
            readable,
            writable,
            manifest,
            env,
            uses_packages: needs.packages,
            hides_processes: false,
        })
    }

    /// Gives a command its environment.
    pub(crate) fn furnish(&self, command: &mut Command) {
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// Gives the calling process its own view of the machine, as far as the kernel lets it: of file systems,
    /// and of processes if it is to see no others, in which case a child of it goes on. It must have one
    /// thread only, and no pipe open whose end somebody waits for.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if other processes cannot be hidden.
    pub(crate) fn isolate(&self) -> io::Result<Option<OwnMounts>> {
        let mounts = OwnMounts::unshare()?;
        match &mounts {
            Some(mounts) if self.hides_processes => mounts.hide_processes()?,
            None if self.hides_processes => return Err(io::ErrorKind::Unsupported.into()),
            Some(_) | None => {}
        }
        Ok(mounts)
    }

    /// Shuts the calling process in, with all that it starts, as far as the kernel has walls. It must have
    /// one thread only.
    pub(crate) fn enter(&self, mounts: Option<OwnMounts>) -> io::Result<()> {
        let mut writable = self.writable.clone();
        // Mounts first: within the walls nobody mounts, and without capabilities neither.
        if let Some(mounts) = mounts {
            writable.extend(mounts.hide_shared_memory().map(Path::to_owned));
            if !self.uses_packages {
                let seen = [&self.readable[..], &writable[..]].concat();
                // Walls let everybody connect to sockets there, as of the user's session or of containers.
                for folder in PASSING {
                    mounts.hide_but(Path::new(folder), &seen)?;
                }
                mounts.freeze_but(&writable)?;
            }
            // It says what of the next run is confined, which is not for the target to decide.
            mounts.freeze(&self.manifest);
        }
        // After the mounts are frozen, which would not be allowed within.
        net::walls::enclose(&self.readable, &writable)?;
        match self.uses_packages {
            true => net::rights::drop_those_for_processes()?,
            false => net::rights::keep_those_of_installers()?,
        }
        net::rights::hide()
    }
}

/// Parts of a hidden home that the user's toolchains need.
#[derive(Default)]
struct Tools {
    folders: Vec<PathBuf>,
    env: Vec<(String, Option<String>)>,
}

impl Tools {
    /// `own` is the home that they find.
    fn of(home: Option<&Path>, own: &Path) -> io::Result<Tools> {
        let mut tools = Tools::default();
        let path = env::var_os("PATH").unwrap_or_default();
        for folder in folders_of(&path).filter(|folder| home.is_none_or(|home| !is_around(folder, home))) {
            let beside = folder.parent().filter(|_| folder.ends_with("bin")).into_iter();
            tools.folders.extend(beside.flat_map(|parent| BESIDE_BIN.map(|name| parent.join(name))));
            tools.folders.push(folder);
        }
        for (name, value) in surroundings::kept() {
            let Ok(value) = value.into_string() else { continue };
            if name.starts_with("XDG_") {
                tools.env.push((name, None)); // places in the home, which is another
                continue;
            }
            match surroundings::is_cache(&name) {
                // The tool has one in its new home.
                true if home.is_none_or(|home| Path::new(&value).starts_with(home)) => {
                    tools.env.push((name, None));
                }
                // Elsewhere, its own is beside the user's, which can only be read.
                true => {
                    let cache = make(own, &name)?;
                    tools.env.extend(text(&name, &cache));
                    let cache = Path::new(&value);
                    tools.folders.extend(visible::places_beside(cache, &visible::private_files(cache)));
                }
                // A variable that names a place means that place to be found; none means the home as a whole.
                false if name != "TMPDIR" => {
                    let is_all = |path: &PathBuf| home.is_none_or(|home| is_around(path, home));
                    tools.folders.extend(folders_of(value.as_ref()).filter(|path| !is_all(path)));
                }
                false => {}
            }
        }
        for (folder, variable) in TOOLCHAINS {
            let folder = home.map(|home| home.join(folder)).filter(|folder| folder.is_dir());
            let (Some(folder), None) = (folder, env::var_os(variable)) else { continue };
            tools.env.extend(text(variable, &folder));
            tools.folders.push(folder);
        }
        Ok(tools)
    }
}

/// The absolute paths of a variable that can be told to the guard: those in UTF-8.
fn folders_of(value: &OsStr) -> impl Iterator<Item = PathBuf> {
    env::split_paths(value).filter(|path| path.is_absolute() && path.to_str().is_some())
}

/// Returns whether a path leads to the home or to a folder above it: to read that is to read the whole home.
fn is_around(path: &Path, home: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| home.starts_with(real))
}

/// Makes the target's home with a folder of this name in it, and returns that. In a target's folder where the
/// user may not write, as a package's, there is none: programs that say their version need no home, and an
/// installer says itself where it cannot write.
///
/// # Errors
/// It cannot be made otherwise, or the target has put a link there: what is made behind one is outside of its
/// folder.
fn make(home: &Path, name: &str) -> io::Result<PathBuf> {
    let folder = home.join(name);
    if let Some(link) = [home, &folder].into_iter().find(|place| place.is_symlink()) {
        return Err(io::Error::other(format!("{} is a link: remove it", link.display())));
    }
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder) {
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Err(error)
        }
        _ => Ok(folder),
    }
}

/// Variables for tools that look for the home elsewhere than in `HOME`, or for what is around the target's folder.
/// They are added to the user's own; those of the JVM, only `for_builds`.
fn options(home: &Path, tmp: &Path, for_builds: bool) -> io::Result<[(String, Option<String>); 2]> {
    let java = format!(r#"-Duser.home="{}" -Djava.io.tmpdir="{}""#, utf8(home)?, utf8(tmp)?);
    let added = |name: &str, is_kept: bool, more: &str| {
        let given = env::var(name).ok().filter(|_| is_kept);
        let value = given.map_or(more.to_owned(), |given| format!("{given} {more}"));
        (name.to_owned(), Some(value))
    };
    // Whether the folder is in a clone, and of what, is not to be seen; and a home that cannot be removed is no use.
    Ok([added("JAVA_TOOL_OPTIONS", for_builds, &java), added("GOFLAGS", true, "-buildvcs=false -modcacherw")])
}

fn text(name: &str, path: &Path) -> io::Result<(String, Option<String>)> {
    Ok((name.to_owned(), Some(utf8(path)?.to_owned())))
}

fn utf8(path: &Path) -> io::Result<&str> {
    path.to_str().ok_or_else(|| io::Error::other(format!("{} is not UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_around_a_home_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let home = root.join("home");
        fs::create_dir_all(home.join("bin")).unwrap();
        symlink(&root, home.join("up")).unwrap();
        for around in ["/", "home", "home/bin/..", "home/up"] {
            assert!(is_around(&root.join(around), &home), "{around}");
        }
        for apart in ["home/bin", "no such folder"] {
            assert!(!is_around(&root.join(apart), &home), "{apart}");
        }
    }

    #[test]
    fn impossible_homes_are_done_without() {
        let folder = tempfile::tempdir().unwrap();
        let made = make(&folder.path().join("target/.home"), "tmp").unwrap();
        assert!(made.ends_with(".home/tmp") && made.is_dir());
        // In sysfs nobody makes folders, root neither.
        make(Path::new("/sys/.home"), "tmp").unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(make(&file, "tmp").is_err(), "no folder can be there");
    }

    #[test]
    fn homes_behind_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for private in ["private", "own"] {
            fs::create_dir(at(private)).unwrap();
        }
        symlink("private", at("link")).unwrap();
        symlink("../private", at("own/tmp")).unwrap();
        for home in ["link", "own"] {
            assert!(make(&at(home), "tmp").is_err(), "{home}");
        }
        assert_eq!(fs::read_dir(at("private")).unwrap().count(), 0);
        make(&at("own"), "cache").unwrap();
    }
}
