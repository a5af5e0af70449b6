//! The files of a shootout's folder that count, and folders that are shootouts.

use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;
use crate::stage::Stage;

fn record(folder: &Path) -> Record {
    Record::create(Claim::make(folder).unwrap(), Head::blank()).unwrap()
}

fn cell(target: &str, repeat: u32) -> Cell {
    Cell { scenario: "echo".to_owned(), target: target.to_owned(), dialect: None, repeat }
}

fn outcome(result: Result<Run, StageFailure>) -> Outcome {
    Outcome { command: Vec::new(), result, took_s: 1.0, noise_percent: Vec::new() }
}

#[test]
fn faults_of_others_are_measured_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut kept = record(folder.path());
    kept.log(&cell("fine", 1)).unwrap(); // which makes the scenario's folder
    kept.add(&cell("lost", 1), outcome(Err(StageFailure::new(Stage::Load, "signal: 9")))).unwrap();
    kept.add(&cell("dead", 1), outcome(Err(StageFailure::new(Stage::Measure, "it exited with 7")))).unwrap();
    kept.add(&cell("fine", 1), outcome(Ok(Run::default()))).unwrap();
    kept.add(&cell("torn", 1), outcome(Ok(Run::default()))).unwrap();
    let torn = folder.path().join("echo/torn-1.json");
    fs::write(&torn, "{").unwrap();
    drop(kept);
    let (record, again) = Record::reopen(folder.path()).unwrap();
    let made = ["lost", "dead", "fine", "torn"].map(|target| record.has(&cell(target, 1)));
    assert_eq!(made, [false, true, true, false]);
    let [lost, damaged] = &again[..] else { panic!("{again:?}") };
    assert!(["echo, lost, round 1", "load: signal: 9"].iter().all(|named| lost.contains(named)), "{lost}");
    assert!(damaged.contains(&torn.display().to_string()), "{damaged}");
    let kept = || Record::open(folder.path()).unwrap().entries.len();
    assert_eq!(kept(), 4);
    record.forget_lost().unwrap();
    assert_eq!(kept(), 2);
}

#[test]
fn parts_of_killed_shootouts_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let kept = record(folder.path());
    kept.log(&cell("a", 1)).unwrap(); // which makes the scenario's folder
    drop(kept);
    let own = ["report.html.part", "cells.jsonl.part", "echo/a-1.json.part", "echo/report.html.part"];
    let others = ["film.part", "echo/film.json.part", "echo/a-1.log"];
    for name in own.iter().chain(&others) {
        fs::write(folder.path().join(name), "{").unwrap();
    }
    Record::reopen(folder.path()).unwrap();
    let is_there = |name: &str| folder.path().join(name).exists();
    assert_eq!((own.map(is_there), others.map(is_there)), ([false; 4], [true; 3]));
}

#[test]
fn measurements_are_in_the_order_of_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let mut kept = record(folder.path());
    for repeat in [2, 3, 1] {
        kept.add(&cell("a", repeat), outcome(Err(StageFailure::new(Stage::Load, "lost")))).unwrap();
    }
    assert_eq!(kept.of("echo", "a").map(|entry| entry.repeat).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn lines_that_lead_elsewhere_are_no_measurements() {
    let folder = tempfile::tempdir().unwrap();
    let kept = record(folder.path());
    let lines = [("..", "a"), ("/tmp", "a"), ("echo", "../a"), ("a/b", "c"), ("", "a"), ("echo", "a")];
    let lines = lines.map(|(scenario, target)| {
        line(&Entry { scenario: scenario.to_owned(), target: target.to_owned(), ..Entry::default() })
    });
    fs::write(folder.path().join(CELLS), lines.concat()).unwrap();
    drop(kept);
    let entries = Record::open(folder.path()).unwrap().entries;
    assert_eq!(entries.iter().map(|entry| entry.target.as_str()).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_folder_of_a_newer_throng_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    drop(record(&path));
    write_head(&path, &Head { schema: SCHEMA + 1, ..Head::blank() }).unwrap();
    let error = Record::open(&path).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{} has schema 2; this throng reads 1", path.display())), "{error}");
}

#[test]
fn notes_of_a_publisher_belong_to_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let record = record(folder.path());
    assert_eq!(record.notes(), None);
    fs::write(folder.path().join("notes.md"), "- one round\n").unwrap();
    assert_eq!(record.notes().as_deref(), Some("- one round\n"));
}

#[test]
fn pipes_in_records_are_not_waited_for() {
    let at = tempfile::tempdir().unwrap();
    let put_pipe = |folder: &Path, name: &str| {
        let path = folder.join(name);
        // A record that is not packed has no file of packed results.
        let _ = fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    };
    for name in [CELLS, PACKED] {
        let folder = at.path().join(name);
        drop(record(&folder));
        put_pipe(&folder, name);
        let opened = Record::open(&folder);
        assert!(matches!(opened, Err(RecordError::Io { .. })), "{name}: {opened:?}");
    }
    let folder = at.path().join("results");
    let mut kept = record(&folder);
    kept.log(&cell("a", 1)).unwrap(); // which makes the scenario's folder
    kept.add(&cell("a", 1), outcome(Ok(Run::default()))).unwrap();
    put_pipe(&folder, "echo/a-1.json");
    assert!(matches!(kept.runs("echo", "a"), Err(RecordError::Io { .. })));
    // Of a folder whose head is a pipe, nothing says that it is a shootout's.
    put_pipe(&folder, HEAD);
    assert!(!Record::is_at(&folder));
}

#[test]
fn links_lead_to_no_shootouts() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b", "a"] {
        symlink(".", folder.path().join(format!("here-{name}"))).unwrap();
        drop(record(&folder.path().join("below").join(name)));
    }
    let found: Vec<_> = Record::find(folder.path()).into_iter().map(Result::unwrap).collect();
    assert_eq!(found, ["below/a", "below/b"].map(|below| folder.path().join(below)));
    symlink("below/a", folder.path().join("named")).unwrap();
    assert_eq!(Record::find(&folder.path().join("named")).len(), 1, "but the one that is named");
}
