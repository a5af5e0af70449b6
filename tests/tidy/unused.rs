//! Dependencies that nothing uses are downloaded, built and audited all the same.

use std::collections::BTreeSet;

use super::{assert_none, code_lines, crate_names, mentions, read, root, rust_files, toml_file};

#[test]
fn each_dependency_is_used() {
    let files = rust_files();
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for name in crate_names() {
        let cargo = toml_file(&root().join(format!("crates/{name}/Cargo.toml")));
        let of_crate = format!("crates/{name}/");
        // The tests of the whole program are the binary's.
        let is_ours = |file: &&String| {
            file.starts_with(&of_crate)
                || name == "cli" && file.starts_with("tests/") && !file.contains("/src/")
        };
        let mut all: Vec<&String> = files.iter().filter(is_ours).collect();
        // A file of the tests' support that a crate's unit tests take as a module.
        let texts: Vec<String> = all.iter().map(|file| read(file)).collect();
        let is_taken = |file: &&String| {
            file.starts_with("tests/support/")
                && texts.iter().any(|text| text.contains(&format!("/{file}\"]")))
        };
        all.extend(files.iter().filter(is_taken));
        let source: Vec<&String> =
            all.iter().copied().filter(|file| super::in_source_of(file, &name)).collect();
        for (section, files) in [("dependencies", &source), ("dev-dependencies", &all)] {
            let table = cargo.get(section).and_then(toml::Value::as_table);
            for dependency in table.into_iter().flat_map(|table| table.keys()) {
                used.insert(dependency.clone());
                let path = format!("{}::", dependency.replace('-', "_"));
                if !files.iter().any(|file| code_lines(file).iter().any(|(_, line)| mentions(line, &path))) {
                    wrong.push(format!("crates/{name}: {dependency} in [{section}]"));
                }
            }
        }
    }
    let workspace = toml_file(&root().join("Cargo.toml"));
    let listed = workspace["workspace"]["dependencies"].as_table().expect("the workspace's dependencies");
    wrong.extend(
        listed.keys().filter(|name| !used.contains(*name)).map(|name| format!("the workspace: {name}")),
    );
    assert_none("dependencies that nothing uses", wrong);
}
