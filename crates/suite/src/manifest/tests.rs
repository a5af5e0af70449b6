//! Each kind of mistake in a manifest, and where it is said to be.

use std::path::Path;
use std::sync::Arc;

use app::app_file::AppFile;
use miette::Diagnostic;
use wire::{DialectId, DialectOptions, Settings};

use super::*;
use crate::mistake::Mistake;

const GOOD: &str = include_str!("../../../../targets/node-ws/target.toml");

fn read(text: &str) -> Result<Vec<Target>, Mistake> {
    let flags = |flags: &[(String, String)]| match flags {
        [] => Ok(DialectOptions::default()),
        [(name, value)] if name == "eio" && value == "3" => Ok(Settings::default().with("eio", 3).into()),
        _ => Err("unexpected argument".to_owned()),
    };
    let app = |path: &Path| match path.file_name().and_then(|name| name.to_str()) {
        Some("app.toml") => {
            Ok((DialectId::Custom, DialectOptions::from(Settings::default().with("is_app", 1))))
        }
        Some("mute.toml") => {
            let app = Some(Arc::new(AppFile::default()));
            Ok((DialectId::Custom, DialectOptions { app, ..DialectOptions::default() }))
        }
        _ => Err(format!("{} cannot be read", path.display())),
    };
    let readers = Readers { flags: &flags, app: &app };
    file::read(Path::new("node-ws/target.toml"), text, Path::new("targets/node-ws"), readers)
}

/// The mistake, what of the text it underlines, and its help.
fn mistake(text: &str) -> (String, String, String) {
    let mistake = read(text).expect_err("a mistake");
    let label = mistake.labels().and_then(|mut labels| labels.next()).expect("a place");
    let underlined = text[label.offset()..label.offset() + label.len()].to_owned();
    (mistake.to_string(), underlined, mistake.help().map(|help| help.to_string()).unwrap_or_default())
}

#[test]
fn a_variant_shares_all_but_its_start() {
    let targets = read(GOOD).unwrap();
    let [base, cluster] = &targets[..] else { panic!("{targets:?}") };
    assert_eq!((base.name.as_str(), cluster.name.as_str()), ("node-ws", "node-ws-cluster"));
    assert_eq!(cluster.start.env["WORKERS"], "{cores}");
    assert_eq!((&base.ready, base.stop), (&cluster.ready, cluster.stop));
    assert!(base.can(Ability::Broadcast) && !base.can(Ability::Unix));
}

#[test]
fn manifests_without_start_have_only_variants() {
    let text = GOOD.replace("[start]", "[variants.1.start]");
    let names: Vec<String> = read(&text).unwrap().into_iter().map(|target| target.name).collect();
    assert_eq!(names, ["node-ws-1", "node-ws-cluster"]);
}

#[test]
fn flags_are_read_as_on_command_lines() {
    let targets = read(&format!("{GOOD}\n[variants.old]\nflags = {{ eio = 3 }}\n")).unwrap();
    let old = targets.iter().find(|target| target.name == "node-ws-old").unwrap();
    assert_eq!(old.flags, [("eio".to_owned(), "3".to_owned())]);
    assert_eq!(old.speech.settings, Settings::default().with("eio", 3));
    assert_eq!(targets[0].speech.settings, Settings::default());
    let (_, underlined, help) = mistake(&format!("{GOOD}\n[variants.old]\nflags = {{ ei0 = 3 }}\n"));
    assert_eq!((underlined.as_str(), help.as_str()), ("3", "unexpected argument"));
}

#[test]
fn own_protocols_have_an_app_for_dialects() {
    let dialects = "dialects = [\"raw\", \"json\", \"binary\"]";
    let with = |line: &str| GOOD.replace(dialects, line);
    for target in read(&with("app = \"app.toml\"")).unwrap() {
        assert_eq!(target.dialects, [DialectId::Custom], "the variant, too");
        assert_eq!(target.app.as_deref(), Some(Path::new("targets/node-ws/app.toml")));
        assert_eq!(target.speech.settings, Settings::default().with("is_app", 1));
    }
    let (what, underlined, _) = mistake(&with("app = \"mute.toml\""));
    assert!(what.contains("[echo]") && underlined.contains("echo"), "{what} {underlined}");
    let (_, underlined, help) = mistake(&with("app = \"none.toml\""));
    assert_eq!(underlined, "\"none.toml\"");
    assert!(help.contains("targets/node-ws/none.toml"), "{help}");
    let (what, underlined, _) = mistake(&with(&format!("{dialects}\napp = \"app.toml\"")));
    assert!(what.contains("dialects") && underlined == "\"app.toml\"", "{what} {underlined}");
    let (what, _, help) = mistake(&with(""));
    assert!(what.contains("dialects") && help.contains("app = "), "{what} {help}");
    let (_, _, help) = mistake(&with("app = \"app.toml\"\nflags = { eio = 3 }"));
    assert!(help.contains("[flags]"), "{help}");
}

#[test]
fn unknown_keys_are_underlined_beside_known_ones() {
    let (what, underlined, help) = mistake(&GOOD.replace("library =", "libary ="));
    assert_eq!((what.as_str(), underlined.as_str()), ("unknown field `libary`", "libary"));
    assert!(help.contains("`library`") && help.contains("`endpoint`"), "{help}");
}

#[test]
fn a_missing_key_is_named() {
    let (what, _, _) = mistake(&GOOD.replace("language = \"JavaScript\"\n", ""));
    assert_eq!(what, "missing field `language`");
}

#[test]
fn values_that_throng_does_not_know_are_underlined() {
    for (of, to, named, underlined, help) in [
        ("\"raw\"", "\"rawr\"", "\"rawr\"", "\"rawr\"", "raw, json"),
        (
            "\"http\",",
            "\"https\",",
            "`https`",
            "\"https\"",
            "`echo`, `broadcast`, `http`, `stream`, `unix`, `tls`",
        ),
        ("\"TERM\"", "\"SIGTERM\"", "\"SIGTERM\"", "\"SIGTERM\"", "TERM, INT, QUIT, KILL"),
        ("{port}/ws\"", "{prot}/ws\"", "{prot}", "\"ws://{host}:{prot}/ws\"", "{admin_port}"),
        ("\"ws://", "\"wss://", "URL", "\"wss://{host}:{port}/ws\"", "ws:// or http://"),
        ("\"3s\"", "\"3\"", "\"3\"", "\"3\"", ""),
        ("= '^(ws", "= '^((ws", "", "'^((ws", "("),
        ("[\"node\", \"main.js\"]", "[]", "", "[]", ""),
        ("[ready]\n", "[ready]\ntcp = \"{host}:{port}\"\n", "[ready]", "[ready]", "tcp"),
        ("dialects = [\"raw\", \"json\", \"binary\"]", "dialects = []", "protocol", "[]", ""),
    ] {
        assert!(GOOD.contains(of), "{of}");
        let found = mistake(&GOOD.replacen(of, to, 1));
        assert!(found.0.contains(named), "{found:?}");
        assert!(found.1.starts_with(underlined), "{found:?}");
        assert!(found.2.contains(help), "{found:?}");
    }
}

#[test]
fn a_manifest_that_starts_nothing_says_so() {
    let start = GOOD.find("[start]").unwrap();
    let ready = GOOD.find("[ready]").unwrap();
    let variants = GOOD.find("[variants").unwrap();
    let (what, _, help) = mistake(&[&GOOD[..start], &GOOD[ready..variants]].concat());
    assert!(what.contains("start"), "{what}");
    assert!(help.contains("[variants.NAME.start]"));
}

#[test]
fn text_that_is_no_toml_is_underlined_too() {
    let (_, underlined, _) = mistake("language = JavaScript\n");
    assert!(underlined.starts_with("JavaScript"), "{underlined}");
}

#[test]
fn a_table_gets_the_line_number() {
    let line = read(&GOOD.replace("library =", "libary =")).unwrap_err().line();
    assert_eq!(line, "line 2: unknown field `libary`");
}

#[test]
fn the_reference_server_speaks_everything() {
    let throng = Target::reference();
    assert_eq!(throng.name, REFERENCE_NAME);
    assert!(DialectId::conversing().all(|dialect| throng.dialects.contains(&dialect)));
    assert_eq!(throng.endpoint(DialectId::Raw), throng.endpoint(DialectId::Json));
    assert!(throng.endpoint(DialectId::Actioncable).ends_with("/cable"));
}

#[test]
fn tls_variants_are_the_same_server() {
    let targets = read(GOOD).unwrap();
    let secure = targets[0].over_tls().expect("ws can");
    assert!(secure.is_over_tls() && !targets[0].is_over_tls());
    assert_eq!(secure.endpoint(DialectId::Json), "wss://{host}:{port}/ws");
    assert_eq!(secure.ready.probe, Probe::Tcp("{host}:{port}".to_owned()));
    assert_eq!(secure.start.env["TLS_CERT"], "{certificate}");
    assert_eq!((&secure.name, &secure.start.command), (&targets[0].name, &targets[0].start.command));

    let silent = GOOD.replace(", \"tls\"]", "]");
    let (what, underlined, _) = mistake(&silent);
    assert!(what.contains("\"tls\"") && what.contains("[tls]"), "{what}");
    assert_eq!(underlined, "[\"echo\", \"broadcast\", \"http\"]");
}

#[test]
fn a_manifest_without_walls_says_why() {
    let with = |reason: &str| GOOD.replacen("[[", &format!("no_walls = \"{reason}\"\n\n[["), 1);
    let targets = read(&with("it starts containers")).unwrap();
    assert!(targets.iter().all(|target| target.no_walls.as_deref() == Some("it starts containers")));
    assert!(read(GOOD).unwrap().iter().all(|target| target.no_walls.is_none()));
    let (message, underlined, _) = mistake(&with(" "));
    assert_eq!((message.as_str(), underlined.as_str()), ("the reason is empty", "\" \""));
}
