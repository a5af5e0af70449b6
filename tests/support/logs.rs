//! Pages of docs/logs that tests write.

use std::fs;
use std::path::Path;

/// Puts a table where the page of that name has its last.
pub fn publish(name: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/logs").join(name);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- measured -->\n").expect("where the table begins");
    let (_, after) = rest.split_once("<!-- end -->").expect("where the table ends");
    fs::write(path, format!("{before}<!-- measured -->\n{table}<!-- end -->{after}")).unwrap();
}
