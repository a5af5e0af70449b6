//! Clients that others wrote, in JavaScript: the folders of `tests/clients`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::process::Process;
use super::target::{Unavailable, complete};

/// Time a script may take, of which some start a browser beside others; it has deadlines of its own.
const WITHIN: Duration = Duration::from_secs(300);

/// The folders whose packages this process has installed: npm empties a folder first, while another test may
/// be using it.
static INSTALLED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A folder whose packages are installed.
pub struct Scripts {
    folder: PathBuf,
}

impl Scripts {
    /// Installs the packages that the folder's lockfile names.
    pub fn install(name: &str) -> Result<Scripts, Unavailable> {
        Scripts::install_in("tests/clients", name)
    }

    /// The same of another folder of such.
    pub fn install_in(folders: &str, name: &str) -> Result<Scripts, Unavailable> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folders).join(name);
        let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if !installed.contains(&folder) {
            let is_there = |program: &str| {
                Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
            };
            if let Some(program) = ["node", "npm"].into_iter().find(|program| !is_there(program)) {
                return Err(Unavailable(format!("needs {program}; tried: {program} --version")));
            }
            complete(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder))?;
            installed.insert(folder.clone());
        }
        Ok(Scripts { folder })
    }

    /// A script, ready for arguments and more settings.
    pub fn command(&self, script: &str) -> Command {
        let mut command = Command::new("node");
        command.arg(script).current_dir(&self.folder);
        command
    }

    /// Starts a script that runs until it is stopped.
    pub fn start(&self, script: &str, arguments: &[&str]) -> Process {
        Process::start(self.command(script).args(arguments))
    }

    /// Runs a script, which says `ok` at the end if all was as it should be. Panics otherwise.
    pub fn run(&self, script: &str, arguments: &[&str]) {
        assert_says_ok(self.command(script).args(arguments));
    }
}

/// Runs a program that says `ok` at the end if all was as it should be. Panics otherwise.
pub fn assert_says_ok(command: &mut Command) {
    let mut process = Process::start(command);
    let status = process.wait(WITHIN);
    let (stdout, stderr) = process.into_output();
    let ended_well = status.is_some_and(|status| status.success()) && stdout.trim() == "ok";
    assert!(ended_well, "{command:?}: {status:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
}
