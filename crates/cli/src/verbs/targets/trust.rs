//! Folders that are found, and not named: throng runs what they say only if they are the user's own, or were
//! confirmed once. What was confirmed is kept with the user's data, a line of JSON each.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Failure};
use crate::output;

/// The file, beside the store.
const FILE_NAME: &str = "trusted.jsonl";

/// A folder that was confirmed. Should it become another user's, it is another folder.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Confirmed {
    folder: PathBuf,
    owner: u32,
}

/// The folder that was found, with its real path, if it may be used; `remedy` says what to type if not, given
/// the folder as a shell reads it.
pub(crate) fn check(flag: &str, folder: &Path, remedy: impl Fn(&str) -> String) -> Result<PathBuf, Failure> {
    let cannot = |error| Failure::could_not("look_at", format!("look at {}", folder.display()), error);
    let folder = folder.canonicalize().map_err(cannot)?;
    let Some(found) = suite::trust::objection(&folder).map_err(cannot)? else { return Ok(folder) };
    let known = file().map(|file| read(&file)).unwrap_or_default();
    if known.contains(&confirmed(&folder).map_err(cannot)?) {
        return Ok(folder);
    }
    let problem = format!(
        "{} was found, and not used: {} {}, so that others can have throng run what they like; if you trust them: {}",
        folder.display(),
        found.path.display(),
        found.why,
        remedy(&output::quoted(&folder.display().to_string()))
    );
    Err(Failure::usage(flag, problem).because("untrusted"))
}

/// Confirms a folder, which is used from then on when it is found.
pub(crate) fn add(folder: &Path) -> Result<Exit, Failure> {
    let cannot = |error: io::Error| Failure::could_not("trust", format!("trust {}", folder.display()), error);
    let confirmed = folder.canonicalize().and_then(|folder| confirmed(&folder)).map_err(cannot)?;
    let file = file()?;
    if !read(&file).contains(&confirmed) {
        keep(&file, &confirmed).map_err(cannot)?;
    }
    let Confirmed { folder, owner } = confirmed;
    output::print(&format!(
        "{}, of user {owner}, is used from now on; {} has the list\n",
        folder.display(),
        file.display()
    ))
}

fn confirmed(folder: &Path) -> io::Result<Confirmed> {
    Ok(Confirmed { folder: folder.to_owned(), owner: fs::metadata(folder)?.uid() })
}

fn file() -> Result<PathBuf, Failure> {
    let none = || {
        Failure::usage("HOME", "neither HOME nor XDG_DATA_HOME says where to remember this: name the folder")
    };
    store::data_dir().map(|dir| dir.join(FILE_NAME)).ok_or_else(none)
}

/// Reads the confirmed folders; other lines confirm nothing.
fn read(file: &Path) -> Vec<Confirmed> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn keep(file: &Path, confirmed: &Confirmed) -> io::Result<()> {
    file.parent().map_or(Ok(()), net::private::make_dir)?;
    let line = serde_json::to_string(confirmed)?;
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(file)?;
    file.write_all(format!("{line}\n").as_bytes())
}
