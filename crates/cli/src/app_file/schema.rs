//! The schema by which editors complete an app's file is the format that is read.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;

#[path = "../../../../tests/support/schema.rs"]
mod support;

use support::Schema;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const SCHEMA: &str = include_str!("../../../../docs/app-file.schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// Lists the keys that a message about a wrong key in this text offers, sorted.
fn known_keys(text: &str) -> Vec<String> {
    let Err(failure) = parse(Path::new("app.toml"), text, People::default(), ClientsMax::Unknown) else {
        panic!("{text}")
    };
    let said = format!("{failure:?}");
    let (_, keys) = said.split_once("unknown key `bogus`, expected ").unwrap_or_else(|| panic!("{said}"));
    let keys = keys.split(['\\', '\n']).next().unwrap();
    let mut keys: Vec<String> = keys.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    keys.sort();
    keys
}

#[test]
fn it_has_the_keys_that_are_read() {
    let schema = schema();
    for (text, place) in [
        ("bogus = 1", ""),
        ("[people]\nbogus = 1", "/properties/people"),
        ("[people]\ntoken = { bogus = 1 }", "/properties/people/properties/token/anyOf/1"),
        ("[[login]]\nbogus = 1", "/properties/login/items"),
        ("[connect]\nbogus = 1", "/properties/connect"),
        ("[[open]]\nbogus = 1", "/properties/open/items"),
        ("[room.a]\nbogus = 1", "/$defs/room"),
        ("[room.a]\nsize = 1\njoin = { bogus = 1 }", "/$defs/room/properties/join"),
        ("[room.a]\nsize = 1\nleave = { send = \"x\", bogus = 1 }", "/$defs/room/properties/leave"),
        ("[say.a]\nbogus = 1", "/$defs/say"),
        ("[[role]]\nbogus = 1", "/$defs/role"),
        (
            "[[role]]\nname = \"a\"\nshare = \"1%\"\nsays = [{ bogus = 1 }]",
            "/$defs/role/properties/says/items",
        ),
        ("[echo]\nbogus = 1", "/properties/echo"),
        ("[broadcast]\nbogus = 1", "/properties/broadcast"),
        ("[publish]\nbogus = 1", "/properties/publish"),
        ("[stream]\nbogus = 1", "/properties/stream"),
        ("[flap]\nbogus = 1", "/properties/flap"),
        ("[resume]\nbogus = 1", "/properties/resume"),
        ("[[error]]\nbogus = 1", "/properties/error/items"),
        ("[[answer]]\nbogus = 1", "/properties/answer/items"),
        ("[[ignore]]\nbogus = 1", "/properties/ignore/items"),
        ("[push.a]\nbogus = 1", "/$defs/push"),
        ("[heartbeat]\nbogus = 1", "/$defs/heartbeat"),
        ("[[heartbeat]]\nbogus = 1", "/$defs/heartbeat"),
        ("[load]\nbogus = 1", "/properties/load"),
        ("[[ignore]]\nwhen = { bogus = 1 }", "/$defs/when"),
    ] {
        let properties = schema.pointer(&format!("{place}/properties")).unwrap_or_else(|| panic!("{place}"));
        let mut keys: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        assert_eq!(keys, known_keys(text), "{place}");
        assert_eq!(schema.pointer(&format!("{place}/additionalProperties")), Some(&Value::Bool(false)));
    }
    let protocols: Vec<&str> = schema["properties"]["protocol"]["enum"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(protocols.iter().all(|name| DialectId::of_protocol(name).is_some()), "{protocols:?}");
    assert!(protocols.iter().all(|name| carriers().contains(name)), "{}", carriers());
    let carriers = carriers().replace(" or ", ", ");
    assert_eq!(protocols.len(), carriers.split(", ").count(), "{carriers}");
}

/// The apps of targets with protocols of their own.
fn of_targets() -> Vec<PathBuf> {
    let folders = fs::read_dir(PathBuf::from(ROOT).join("targets")).unwrap();
    let files = folders.map(|folder| folder.unwrap().path().join("app.toml"));
    files.filter(|file| file.is_file()).collect()
}

#[test]
fn every_target_s_app_can_be_spoken() {
    let files = of_targets();
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        let (protocol, options) = of_target(&file).unwrap();
        let app = options.app.unwrap();
        assert!(protocol == DialectId::Custom && app.echo.is_some() && app.broadcasts.len() == 1, "{app:?}");
    }
    let login = "[people]\ndata = 'users.csv'\n[echo]\nsend = '{id} {person.user}'\n";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("users.csv"), "user\nann\n").unwrap();
    fs::write(folder.path().join("app.toml"), login).unwrap();
    let refused = of_target(&folder.path().join("app.toml")).unwrap_err();
    assert!(refused.contains("leave out people"), "{refused}");
}

#[test]
fn every_example_is_as_it_says() {
    let validator = Schema::new(SCHEMA);
    let mut folders = vec![PathBuf::from(ROOT).join("examples"), PathBuf::from(ROOT).join("suites/apps")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() && path.file_name().is_some_and(|name| name != "node_modules") => {
                    folders.push(path)
                }
                Some("toml") => files.push(path),
                _ => {}
            }
        }
    }
    assert!(files.len() >= 7, "{files:?}");
    files.extend(of_targets());
    for path in files {
        let value: Value = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(validator.faults(&value), None, "{}", path.display());
    }
    for wrong in [
        "protocol = 'amqp'",
        "[[open]]\nsend = 'x'\nwait = '1s'",
        "[echo]\nevent = 'x'",
        "[[login]]\nexpect = 200",
    ] {
        assert!(validator.faults(&toml::from_str::<Value>(wrong).unwrap()).is_some(), "{wrong}");
    }
}
