//! Virtual environments with the Python packages that tests need.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::target::{Unavailable, complete};

/// The environments that this process has made: two tests may need one at the same time.
static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Makes an environment in `home` with the packages that a list pins, and returns its interpreter.
pub fn environment(home: &Path, requirements: &Path) -> Result<PathBuf, Unavailable> {
    installed(home, &[Path::new("--require-hashes"), Path::new("--requirement"), requirements])
}

/// Makes an environment of a folder's own requirements.txt, and returns its interpreter.
pub fn python_of(folder: &Path) -> Result<PathBuf, Unavailable> {
    environment(&folder.join(".venv"), &folder.join("requirements.txt"))
}

/// Makes an environment in `home` with what these arguments of pip name, and returns its interpreter.
pub fn installed(home: &Path, packages: &[&Path]) -> Result<PathBuf, Unavailable> {
    let python = home.join("bin/python");
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if !made.contains(home) {
        complete(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(home))?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet"]).args(packages);
        complete(pip.env("PYTHONPATH", pip_alone()?))?;
        made.insert(home.to_owned());
    }
    Ok(python)
}

/// A folder with pip and nothing else in it, for all environments: to install it in each takes longer than all
/// that a test needs. Beside pip's own packages, those of an environment would not be installed.
fn pip_alone() -> Result<PathBuf, Unavailable> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pip");
    let alone = home.join("alone");
    if !alone.join("pip").exists() {
        complete(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
        let path = "import pip; print(pip.__path__[0])";
        let pip = complete(Command::new(home.join("bin/python")).args(["-c", path]))?;
        fs::create_dir_all(&alone).unwrap();
        // A link that leads nowhere is of a Python that is gone.
        let _ = fs::remove_file(alone.join("pip"));
        symlink(pip.trim(), alone.join("pip")).unwrap();
    }
    Ok(alone)
}
