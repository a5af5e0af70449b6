//! Files that a killed shootout was writing: each is written beside its place, and renamed once it is whole.

use std::fs;
use std::path::Path;

use crate::layout::{FILES, PAGE};

/// The ending of a name while a file is written ([`net::files::replace`]).
const PART: &str = ".part";

/// Deletes half-written files from the folder of a shootout, in which nobody else writes, and no file of
/// another program.
pub(super) fn clear(folder: &Path) {
    remove_parts(folder, |name| FILES.contains(&name));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Not in folders that links lead to.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_parts(&entry.path(), is_of_scenario);
        }
    }
}

fn remove_parts(folder: &Path, is_own: fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(|name| name.strip_suffix(PART)).is_some_and(is_own) {
            // One that stays does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns whether a file of this name is written for a scenario: `TARGET-N.json`, or its page.
fn is_of_scenario(name: &str) -> bool {
    let round = name.strip_suffix(".json").and_then(|name| name.rsplit_once('-'));
    name == PAGE || round.is_some_and(|(_, round)| round.parse::<u32>().is_ok())
}
