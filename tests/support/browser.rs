//! A browser, where there is one, and a stand-in for what opens it.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::skip;

/// The path of Chromium; `None`, with the reason printed, where there is none. Panics in CI, which has one.
pub fn chromium(test: &str) -> Option<String> {
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(path_of);
    if found.is_none() {
        // A skip there would leave every page untested, and CI green.
        assert!(env::var_os("CI").is_none(), "no chromium for {test}");
        skip(test, "needs chromium (apt install chromium)");
    }
    found
}

fn path_of(program: &str) -> Option<String> {
    let path = env::var_os("PATH")?;
    let mut places = env::split_paths(&path).map(|directory| directory.join(program));
    Some(places.find(|place| place.is_file())?.to_str()?.to_owned())
}

/// Makes a script the desktop's `xdg-open` for whoever has the returned `PATH`.
pub fn opened_by(folder: &Path, script: &str) -> String {
    let opener = folder.join("xdg-open");
    fs::write(&opener, script).unwrap();
    fs::set_permissions(&opener, Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), env::var("PATH").unwrap())
}
