//! The supply chain of throng: licences, sources, one version of each, images by digest, Python packages by hash,
//! and the bill of materials that says it all. (Advisories need a database that is fetched: `make deny`.)

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Versions of one crate at the same time: each is compiled, shipped, and looked after. Three are of the
/// random numbers, whose users move at their own pace.
const VERSIONS_MAX: usize = 3;
/// Crates of which there are several versions. A new one is a reason to look whether it needs to be.
const SEVERAL_MAX: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A crate that is built for Linux, for the program or for its tests.
#[derive(Debug)]
struct Package {
    name: String,
    version: String,
    licence: String,
    /// Its origin, if that is not the registry.
    place: Option<String>,
}

/// All of them, as Cargo.lock and the features that are asked for have it.
fn packages() -> Vec<Package> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--locked", "--workspace", "--target", "x86_64-unknown-linux-gnu", "--no-dedupe"]);
    cargo.args(["--prefix", "none", "--format", "{p}|{l}"]);
    let output = cargo.current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: BTreeSet<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let package = |line: &str| {
        let (package, licence) = line.split_once('|').unwrap();
        let mut words = package.split(' ');
        let [name, version] = [(); 2].map(|()| words.next().unwrap().to_owned());
        let place = words.find(|word| *word != "(proc-macro)").map(str::to_owned);
        Package { name, version, licence: licence.to_owned(), place }
    };
    lines.into_iter().map(package).collect()
}

/// Returns whether an SPDX expression is met by what is allowed: `OR` binds less than `AND`; parentheses group.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.trim().replace('/', " OR ");
    for (operator, all) in [(" OR ", false), (" AND ", true)] {
        let parts = split(&expression, operator);
        if parts.len() > 1 {
            let mut met = parts.iter().map(|part| is_allowed(part, allowed));
            return if all { met.all(|met| met) } else { met.any(|met| met) };
        }
    }
    match expression.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => is_allowed(inner, allowed),
        None => allowed.contains(expression.trim()),
    }
}

/// Splits at an operator that is in no parentheses.
fn split<'a>(expression: &'a str, operator: &str) -> Vec<&'a str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in expression.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && at >= from && expression[at..].starts_with(operator) => {
                parts.push(&expression[from..at]);
                from = at + operator.len();
            }
            _ => {}
        }
    }
    parts.push(&expression[from..]);
    parts
}

#[test]
fn expressions_of_licences() {
    let allowed: BTreeSet<String> = ["MIT", "ISC", "Zlib"].map(str::to_owned).into();
    for met in
        ["MIT", "MIT OR GPL-3.0", "GPL-3.0 OR (MIT AND ISC)", "MIT/Apache-2.0", "(MIT OR GPL-2.0) AND Zlib"]
    {
        assert!(is_allowed(met, &allowed), "{met}");
    }
    for not in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-2.0", ""] {
        assert!(!is_allowed(not, &allowed), "{not}");
    }
}

#[test]
fn licences_and_sources_follow_deny_toml() {
    let deny: toml::Table = read("deny.toml").parse().unwrap();
    let strings = |value: &toml::Value| -> BTreeSet<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let allowed = strings(&deny["licenses"]["allow"]);
    let banned: Vec<&str> =
        deny["bans"]["deny"].as_array().unwrap().iter().map(|ban| ban["name"].as_str().unwrap()).collect();
    let mut wrong = Vec::new();
    let all = packages();
    assert!(all.len() > 100, "{all:?}");
    for Package { name, version, licence, place } in all {
        if !is_allowed(&licence, &allowed) {
            wrong.push(format!("{name} {version}: {licence:?}"));
        }
        // Ours are of this repository, and nothing else is.
        if place.is_some() != name.starts_with("throng") {
            wrong.push(format!("{name} {version}: from {place:?}"));
        }
        if banned.contains(&name.as_str()) {
            wrong.push(format!("{name} {version}: banned"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn few_crates_come_in_several_versions() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        versions.entry(package.name).or_default().insert(package.version);
    }
    let several: BTreeMap<_, _> = versions.iter().filter(|(_, versions)| versions.len() > 1).collect();
    assert!(several.len() <= SEVERAL_MAX, "{} crates: {several:?}", several.len());
    let most = several.values().map(|versions| versions.len()).max().unwrap_or(1);
    assert!(most <= VERSIONS_MAX, "{several:?}");
}

#[test]
fn bill_of_materials_has_every_hash() {
    let output = Command::new("python3").arg(root().join("deploy/sbom.py")).output();
    let output = output.expect("python3 runs, as the tests of targets need it to");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bom: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((bom["bomFormat"].as_str(), bom["specVersion"].as_str()), (Some("CycloneDX"), Some("1.5")));
    assert_eq!(bom["metadata"]["component"]["name"], "throng");
    let components = bom["components"].as_array().unwrap();
    let names: BTreeSet<&str> = components.iter().map(|one| one["name"].as_str().unwrap()).collect();
    for name in ["throng-wire", "rustls", "libsqlite3-sys", "parquet", "async-nats", "echarts", "zrender"] {
        assert!(names.contains(name), "{name} is missing");
    }
    for name in ["proptest", "insta", "boon", "vite"] {
        assert!(!names.contains(name), "{name} is for tests and builds alone");
    }
    for one in components.iter().filter(|one| !one["name"].as_str().unwrap().starts_with("throng-")) {
        assert!(one["hashes"][0]["content"].is_string() && one["licenses"].is_array(), "{one}");
    }
    let refs: BTreeSet<&str> = components.iter().map(|one| one["bom-ref"].as_str().unwrap()).collect();
    for edges in bom["dependencies"].as_array().unwrap() {
        for on in edges["dependsOn"].as_array().unwrap() {
            assert!(refs.contains(on.as_str().unwrap()), "{on} is no component");
        }
    }
}

#[test]
fn images_are_named_by_digest() {
    let dockerfile = read("deploy/Dockerfile");
    let from = dockerfile.lines().filter_map(|line| line.strip_prefix("FROM "));
    // Stages of the file itself, and nothing, are no images of others.
    let from: Vec<&str> =
        from.filter(|image| !image.starts_with("scratch ") && !image.starts_with("program-")).collect();
    assert_eq!(from.len(), 1);
    let nats = read("deploy/kubernetes/nats.yaml");
    let pods: Vec<&str> = nats.lines().filter_map(|line| line.trim().strip_prefix("image: ")).collect();
    assert_eq!(pods.len(), 1);
    for image in from.into_iter().chain(pods) {
        let digest = image.split_once("@sha256:").map_or("", |(_, rest)| rest.split(' ').next().unwrap());
        assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{image}");
    }
}

#[test]
fn python_packages_are_pinned_by_hash() {
    // Another user's repository, which a clone is to root in a container, too.
    let mut git = Command::new("git");
    let output = git.args(["-c", "safe.directory=*", "ls-files", "-z"]).current_dir(root()).output().unwrap();
    let files = String::from_utf8(output.stdout).unwrap();
    let files: Vec<&str> = files.split_terminator('\0').collect();
    let lists: Vec<&&str> = files.iter().filter(|file| file.ends_with("requirements.txt")).collect();
    assert!(lists.len() > 5, "found {lists:?}");
    for file in lists {
        let text = read(file).replace("\\\n", " ");
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            assert!(line.contains("==") && line.contains("--hash=sha256:"), "{file}: {line}");
        }
    }
    let installs = files.iter().filter(|file| file.starts_with("targets/") || file.starts_with("tests/"));
    for file in installs {
        let Ok(text) = fs::read_to_string(root().join(file)) else { continue }; // not text
        for line in
            text.lines().filter(|line| line.contains("pip install") && line.contains("requirements.txt"))
        {
            assert!(line.contains("--require-hashes") || line.contains("line.contains"), "{file}: {line}");
        }
    }
}
