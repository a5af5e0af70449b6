//! Each kind of mistake in a suite, what `--scale` shortens, and who runs what when.

use std::path::Path;
use std::time::Duration;

use miette::Diagnostic;
use wire::DialectId;

use super::*;
use crate::manifest::{Ability, Target};
use crate::mistake::Mistake;
use crate::schedule;

const GOOD: &str = r#"
title = "A suite"
repeats = 2
cooldown = "10s"

[[scenario]]
name = "echo"
verb = "echo"
dialects = ["actioncable", "raw"]
supports = ["echo"]
flags = { clients = 1000, interval = "1s", duration = "5m", text = true }
shortened = ["duration", "clients"]
figures = ["rtt.p95", "rate"]

[[scenario]]
name = "http"
verb = "http"
supports = ["http", "unix"]
flags = { connections = 10 }
figures = ["rate"]
"#;

fn parse(text: &str, scale: f64) -> Result<Suite, Mistake> {
    let check = |verb: &str, flags: &[(String, String)]| match flags.iter().find(|(name, _)| name == "colour")
    {
        _ if verb == "dance" => Err(FlagMistake { flag: None, message: "".into(), help: None }),
        Some((name, _)) => Err(FlagMistake {
            flag: Some(name.clone()),
            message: "colour".into(),
            help: Some("those".into()),
        }),
        None => Ok(()),
    };
    Suite::parse(Path::new("suites/mine.toml"), text, scale, &check)
}

/// The mistake, and what of the text it underlines.
fn mistake(of: &str, to: &str) -> (String, String) {
    assert!(GOOD.contains(of), "{of}");
    let text = GOOD.replacen(of, to, 1);
    let mistake = parse(&text, 1.0).expect_err("a mistake");
    let label = mistake.labels().and_then(|mut labels| labels.next()).expect("a place");
    (mistake.to_string(), text[label.offset()..label.offset() + label.len()].to_owned())
}

#[test]
fn scale_shortens_what_the_suite_names() {
    let suite = parse(GOOD, 0.01).unwrap();
    assert_eq!((suite.name.as_str(), suite.cooldown), ("mine", Duration::from_millis(100)));
    let flags = [("clients", "10"), ("duration", "3s"), ("interval", "1s"), ("text", "")];
    assert_eq!(suite.scenarios[0].flags, flags.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let said: Vec<String> = suite.scenarios[0].shortened.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["clients 10 instead of 1000", "duration 3s instead of 5m"]);
    assert!(
        suite.scenarios[1].shortened.is_empty()
            && parse(GOOD, 1.0).unwrap().scenarios[0].shortened.is_empty()
    );
    let tiny = parse(GOOD, 0.0001).unwrap();
    assert_eq!(tiny.scenarios[0].flags[0].1, "1", "nothing becomes 0");
    assert!(!suite.scenarios[0].unix && suite.scenarios[1].unix);
}

#[test]
fn mistakes_are_underlined() {
    for (of, to, named, underlined) in [
        ("verb = \"echo\"", "verb = \"dance\"", "", "\"dance\""),
        ("interval = \"1s\"", "colour = \"1s\"", "colour", "colour"),
        ("interval = \"1s\"", "dialect = \"raw\"", "", "dialect"),
        ("\"duration\", ", "\"pace\", ", "", "\"pace\""),
        ("\"rtt.p95\"", "\"rtt.p95%\"", "\"rtt.p95%\"", "\"rtt.p95%\""),
        ("[\"rtt.p95\", \"rate\"]", "[]", "", "[]"),
        ("\"actioncable\"", "\"cable\"", "\"cable\"", "\"cable\""),
        ("[\"echo\"]", "[\"ehco\"]", "`ehco`", "\"ehco\""),
        ("repeats = 2", "repeats = 0", "", "0"),
        ("\"10s\"", "10", "`10`", "10"),
        ("name = \"http\"", "name = \"echo\"", "\"echo\"", "\"echo\""),
        ("name = \"http\"", "name = \"../http\"", "\"../http\"", "\"../http\""),
        ("name = \"http\"", "name = \"..\"", "\"..\"", "\"..\""),
        ("name = \"http\"", "name = \"report.md\"", "\"report.md\"", "\"report.md\""),
        ("\"rtt.p95\"", "\"safe_rate\"", "\"safe_rate\"", "\"safe_rate\""),
        ("text = true", "tui = true", "", "tui"),
        (
            "[[scenario]]\nname = \"http\"",
            "[scenario.published]\nfile = \"then.csv\"\ncolumn = \"p95_s\"\n[[scenario]]\nname = \"http\"",
            "\"p95_s\"",
            "\"p95_s\"",
        ),
        ("title", "titel", "`titel`", "titel"),
    ] {
        let found = mistake(of, to);
        assert!(found.0.contains(named), "{found:?}");
        assert_eq!(found.1, underlined);
    }
}

#[test]
fn targets_take_part_by_what_they_can_do() {
    let suite = parse(GOOD, 1.0).unwrap();
    let throng = Target::reference();
    assert_eq!(
        suite.scenarios[0].dialect_for(&throng),
        Some(Some(DialectId::Actioncable)),
        "the first of the suite's"
    );
    assert_eq!(suite.scenarios[1].dialect_for(&throng), Some(None));
    let mut raw = throng.clone();
    raw.dialects = vec![DialectId::Raw];
    raw.supports = vec![Ability::Echo, Ability::Http];
    assert_eq!(suite.scenarios[0].dialect_for(&raw), Some(Some(DialectId::Raw)));
    assert_eq!(suite.scenarios[1].dialect_for(&raw), None, "it has no unix socket");
    raw.dialects = vec![DialectId::Phoenix];
    assert_eq!(suite.scenarios[0].dialect_for(&raw), None);
}

#[test]
fn own_apps_take_part_without_others() {
    let own = GOOD.replace("\"actioncable\"", "\"custom\"");
    assert_ne!(own, GOOD);
    let mut target = Target::reference();
    (target.dialects, target.app) = (vec![DialectId::Custom], Some("app.toml".into()));
    let suite = parse(&own, 1.0).unwrap();
    assert_eq!(suite.scenarios[0].dialect_for(&target), Some(Some(DialectId::Custom)));
    let mut scenario = suite.scenarios[0].clone();
    scenario.flags.push(("app".to_owned(), "other.toml".to_owned()));
    assert_eq!(scenario.fit(&target), Err(scenario::Unfit::App));
}

#[test]
fn rounds_are_interleaved_and_drawn_from_the_seed() {
    let suite = parse(GOOD, 1.0).unwrap();
    let mut targets = vec![Target::reference(); 8];
    for (number, target) in targets.iter_mut().enumerate() {
        target.name = format!("t{number}");
    }
    let targets: Vec<&Target> = targets.iter().collect();
    let cells = |repeat| schedule::round(&suite, &targets, repeat, 7);
    assert_eq!(cells(1).len(), 8 * 2);
    assert_eq!(cells(2), cells(2));
    let round =
        |repeat| -> Vec<String> { cells(repeat)[..8].iter().map(|cell| cell.target.clone()).collect() };
    let [mut first, mut second] = [round(1), round(2)];
    assert_ne!(first, second, "in an order of its own");
    first.sort_unstable();
    second.sort_unstable();
    assert_eq!(first, second, "everybody once in each round");
    assert!(cells(2).iter().all(|cell| cell.repeat == 2));
}

#[test]
fn shipped_suites_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let suites: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    assert!(suites.len() >= 6, "{suites:?}");
    for path in suites {
        let suite =
            Suite::read(&path, 0.1, &|_, _| Ok(())).unwrap_or_else(|mistake| panic!("{}", mistake.line()));
        for published in suite.scenarios.iter().filter_map(|scenario| scenario.published.as_ref()) {
            let then = crate::published::read(
                published,
                &[
                    "go-gorilla",
                    "node-ws",
                    "sockjs-node",
                    "erlang-cowboy",
                    "ruby-plezi",
                    "elixir-phoenix",
                    "socketio-node",
                    "go-anycable",
                ],
            );
            assert!(!then.unwrap().is_empty(), "{}", path.display());
        }
    }
}
