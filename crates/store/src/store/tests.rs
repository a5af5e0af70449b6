//! Runs that are kept, listed, read again and removed.

use std::process::Command;

use results::{LimitOutcome, Requirement, Scenario, Step};
use stats::Timed;

use super::*;

fn rows(store: &Store, table: &str) -> i64 {
    let count = format!("SELECT count(*) FROM {table}");
    store.ask(|connection| connection.query_row(&count, [], |row| row.get(0))).unwrap()
}

/// A run of steps that have samples.
fn run_of(steps: u64) -> Run {
    let step = |clients| {
        let mut step = Step { clients, ..Step::default() };
        step.figures.rtt.record_n_ns(clients * 1_000_000, clients);
        step.figures.service = step.figures.rtt.clone();
        step
    };
    Run { id: "one".into(), steps: (1..=steps).map(step).collect(), ..Run::default() }
}

#[test]
fn growing_runs_are_read_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    let mut run = run_of(3);
    for steps in 1..=3 {
        let mut so_far = run_of(steps);
        so_far.resume_after = Some(steps as u32);
        store.save_so_far(&so_far, steps as usize - 1).unwrap();
        store.tag("one", "mine").unwrap();
        assert_eq!(store.results("one").unwrap(), results::file::write(&so_far));
        let [entry] = &store.list(&Query::default()).unwrap()[..] else { panic!("one run") };
        assert_eq!((entry.steps, entry.clients, entry.unfinished), (steps, steps, true));
    }
    run.verdict.caveats.push(results::finding::Caveat::Unended { resume: None }.into());
    store.finish(&run, 3).unwrap();
    assert_eq!(store.results("one").unwrap(), results::file::write(&run));
    assert_eq!(["steps", "histograms", "parts"].map(|table| rows(&store, table)), [3, 6, 0]);
    assert_eq!(store.tags("one").unwrap(), ["mine"]);
}

/// The row of a run in the list.
fn entry(run: &Run) -> Entry {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    store.save(run).unwrap();
    store.list(&Query::default()).unwrap().remove(0)
}

#[test]
fn a_searchs_row_is_of_one_step() {
    let mut run = run_of(4);
    for broken in [1, 3] {
        let limit = LimitOutcome::unmeasured(Requirement::Finished);
        run.steps[broken].standing.push(limit);
        run.steps[broken].counts.missing = 7;
        run.steps[broken].errors.add("reset", 0, "");
    }
    let found = entry(&run);
    assert_eq!((found.clients, found.p50_ns.map(|ns| ns / 1_000_000)), (3, Some(3)));
    assert_eq!((found.missing, found.errors), (0, 0), "those of others are not its");
    run.steps.retain(|step| !step.has_passed());
    let found = entry(&run);
    assert_eq!((found.clients, found.p50_ns.map(|ns| ns / 1_000_000)), (4, Some(4)), "none held: the last");
}

#[test]
fn defects_have_a_column_each() {
    let mut run = run_of(1);
    let of_step = &mut run.steps[0].counts;
    (of_step.duplicate, of_step.reordered, of_step.corrupt) = (1, 2, 3);
    (of_step.unexpected, of_step.leaked, of_step.unacknowledged) = (4, 5, 6);
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    store.save(&run).unwrap();
    let columns = ["duplicate", "reordered", "corrupt", "unexpected", "leaked", "unacknowledged"];
    let in_row: [i64; 6] = columns.map(|column| {
        let select = format!("SELECT {column} FROM steps");
        store.ask(|connection| connection.query_row(&select, [], |row| row.get(0))).unwrap()
    });
    assert_eq!(in_row, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn lower_bounds_are_listed_as_such() {
    let mut run = run_of(10);
    assert_eq!(entry(&run).at_least, [false; 3]);
    run.steps[9].figures.rtt.record_n_ns(10_000_000_000, 1);
    assert_eq!(entry(&run).at_least, [false, true, true]);
}

#[test]
fn unanswered_runs_have_no_percentiles() {
    let mut run = run_of(1);
    run.steps[0].figures.service.clear();
    let found = entry(&run);
    assert_eq!((found.figure, found.p50_ns, found.p95_ns, found.p99_ns), (None, None, None, None));
    run.scenario = Scenario::Broadcast;
    run.steps[0].figures.delivery.record_n_ns(7_000_000, 9);
    let found = entry(&run);
    assert_eq!((found.figure, found.p95_ns), (Some(Timed::Delivery), Some(7_000_000)));
}

#[test]
fn unknown_scenarios_are_listed_as_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    for id in ["one", "two"] {
        store.save(&Run { id: id.into(), ..run_of(1) }).unwrap();
    }
    let newer = "UPDATE runs SET scenario = 'dance', shown_figure = 'steps' WHERE id = 'one'";
    store.ask(|connection| connection.execute(newer, [])).unwrap();
    let listed = store.list(&Query::default()).unwrap();
    let listed: Vec<(&str, Option<Timed>)> =
        listed.iter().map(|entry| (entry.scenario.as_str(), entry.figure)).collect();
    assert_eq!(listed, [("echo", Some(Timed::Rtt)), ("dance", None)]);
}

#[test]
fn runs_are_found_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    for (id, name) in [("1-a", "before"), ("2-b", "after"), ("3-c", "after")] {
        store.save(&Run { id: id.into(), name: Some(name.into()), ..run_of(1) }).unwrap();
    }
    assert_eq!(store.find("before").unwrap(), "1-a");
    let Err(StoreError::Ambiguous { ids, .. }) = store.find("after") else { panic!("two have the name") };
    assert_eq!(ids.len(), 2);
    assert!(matches!(store.find("afte"), Err(StoreError::NoRun { .. })), "a name is whole");
}

#[test]
fn absent_runs_name_their_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("team.db");
    let Err(StoreError::NoRun { list, .. }) = Store::open(&path).unwrap().find("last") else { panic!() };
    assert!(list.ends_with(&format!(" --store {}", path.display())), "{list}");
    assert!(!command(default_path().as_deref(), &["list"]).contains("--store"));
}

#[test]
fn moved_stores_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = Store::open(&path).unwrap();
    assert!(store.is_in_place());
    fs::rename(&path, folder.path().join("old.db")).unwrap();
    assert!(!store.is_in_place());
    fs::write(&path, "another").unwrap();
    assert!(!store.is_in_place());
}

#[test]
fn changed_steps_are_all_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    // A run that goes on dropped a step that was cut short; somebody has deleted it; one was imported over it.
    store.save_so_far(&run_of(3), 0).unwrap();
    store.save_so_far(&run_of(2), 0).unwrap();
    assert_eq!(store.results("one").unwrap(), results::file::write(&run_of(2)));
    assert!(store.delete("one").unwrap());
    assert_eq!(["steps", "histograms", "parts"].map(|table| rows(&store, table)), [0; 3]);
    store.save_so_far(&run_of(4), 3).unwrap();
    assert_eq!(store.load("one").unwrap().steps.len(), 4);
    store.save(&run_of(2)).unwrap();
    store.finish(&run_of(3), 2).unwrap();
    assert_eq!(store.load("one").unwrap().steps.len(), 3);
    assert_eq!(rows(&store, "steps"), 3);
    // As many steps as were kept, in a whole file.
    store.save(&run_of(2)).unwrap();
    store.save_so_far(&run_of(3), 2).unwrap();
    assert_eq!(store.results("one").unwrap(), results::file::write(&run_of(3)));
}

#[test]
fn deleted_text_leaves_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let mut store = Store::open(&path).unwrap();
    let secret = b"confidential-4711";
    let is_there = || {
        let files = ["runs.db", "runs.db-wal"].map(|name| fs::read(folder.path().join(name)).unwrap());
        files.iter().any(|bytes| bytes.windows(secret.len()).any(|window| window == secret))
    };
    let note = Some(String::from_utf8(secret.to_vec()).unwrap());
    store.save(&Run { note, ..run_of(200) }).unwrap();
    let whole = store.ask(|connection| pages(connection, "page_count")).unwrap();
    assert!(is_there());
    assert!(store.delete("one").unwrap());
    assert!(!is_there());
    let left = store.ask(|connection| pages(connection, "page_count")).unwrap();
    assert!(2 * left < whole, "{left} of {whole} pages are left");
}

#[test]
fn pipes_are_no_stores() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("runs.db");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for opened in [Store::open(&pipe), Store::open_existing(&pipe), Store::open(folder.path())] {
        assert!(matches!(opened, Err(StoreError::Damaged { .. })));
    }
}
