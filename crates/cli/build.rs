//! Makes the table of topics of `throng docs` from the folder of pages: a new page needs no second mention.

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of pages, beside Cargo.toml, where `cargo publish` finds them.
const FOLDERS: [&str; 2] = ["docs", "docs/apps"];
/// Pages that stand beside them in the repository.
const BESIDE: [&str; 3] = ["CHANGELOG", "METHODOLOGY", "SECURITY"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let mut pages: Vec<_> = BESIDE.map(|page| (page.to_owned(), topic(Path::new(page)))).into();
    for page in BESIDE {
        println!("cargo::rerun-if-changed={page}");
    }
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        for entry in fs::read_dir(root.join(folder))? {
            let path = Path::new(folder).join(entry?.file_name());
            if path.extension() == Some(OsStr::new("md")) {
                pages.push((format!("{}", path.display()), topic(&path)));
            }
        }
    }
    pages.sort_by(|(_, a), (_, b)| a.cmp(b));
    let row = |(page, name): &(String, String)| {
        format!("Topic {{ name: {name:?}, page: {page:?}, text: include_str!({:?}) }},\n", root.join(page))
    };
    let rows: String = pages.iter().map(row).collect();
    let table = PathBuf::from(env::var("OUT_DIR")?).join("topics.rs");
    Ok(fs::write(table, format!("&[\n{rows}]\n"))?)
}

/// The page's name in lower case; for a README, its folder's name.
fn topic(page: &Path) -> String {
    let named = if page.ends_with("README.md") { page.parent() } else { Some(page) };
    named.and_then(Path::file_stem).unwrap_or_default().to_string_lossy().to_lowercase()
}
