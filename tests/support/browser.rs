//! A browser, where there is one.

use super::skip;

/// The path of Chromium; `None`, with the reason printed, where there is none.
pub fn chromium(test: &str) -> Option<String> {
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(path_of);
    if found.is_none() {
        skip(test, "needs chromium (apt install chromium)");
    }
    found
}

fn path_of(program: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|directory| directory.join(program));
    Some(places.find(|place| place.is_file())?.to_str()?.to_owned())
}
