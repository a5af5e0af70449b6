//! A sentence that nothing can bring about is none: each rule of both tables speaks somewhere.

use stats::Capacity;

use super::*;
use crate::levels::Level;

fn kept(clients: u64) -> Step {
    Step { clients, usable: Some(clients), ..step() }
}

fn broken(clients: u64) -> Step {
    let mut step = kept(clients);
    step.counts.missing = 100;
    step.counts.received -= 100;
    step
}

/// Runs of which each is spoken of by another rule.
fn examples() -> Vec<Run> {
    let mut search = run_of(Scenario::Broadcast, vec![kept(300), broken(400)]);
    search.is_search = true;
    search.verdict.capacity = Some(Capacity {
        clients: 300,
        low: 300,
        high: 300,
        confidence: 0.95,
        at_least: true,
        contradicted_by: None,
    });
    let mut sweep = run_of(Scenario::Saturate, vec![kept(300)]);
    let level =
        Level { clients: 300, safe_per_s: Some(300.0), received_per_s: Some(300.0), ..Level::default() };
    sweep.verdict.levels = vec![level];
    let mut busy = kept(300);
    busy.generator.as_mut().unwrap().worker_cpu_percent_max = Some(99.0);
    busy.rates.asked_per_s = None;
    let mut short = kept(300);
    short.fleet = vec![FleetAgent { lost: Some("no word".into()), ..FleetAgent::default() }];
    let unbegun = Step { interrupted: Some(Interrupted::Connecting), usable: None, ..kept(300) };
    let mut maimed = run_of(Scenario::Echo, vec![broken(300)]);
    maimed.steps[0].bottleneck = Some(Cause::GeneratorBroke { error: "a worker ended".into() }.into());
    let undecided = run_of(Scenario::Echo, vec![too_slow(true)]);
    vec![
        Run::default(),
        search,
        sweep,
        run_of(Scenario::Echo, vec![kept(300)]),
        run_of(Scenario::Echo, vec![broken(300)]),
        run_of(Scenario::Echo, vec![busy]),
        run_of(Scenario::Echo, vec![short]),
        run_of(Scenario::Echo, vec![unbegun]),
        maimed,
        undecided,
    ]
}

#[test]
fn each_sentence_is_said_somewhere() {
    let runs = examples();
    for (table, rules) in [("how much", &HOW_MUCH[..]), ("breaks", &BREAKS[..])] {
        let speaking = |run: &Run| rules.iter().position(|rule| rule(run).is_some());
        let spoken: Vec<Option<usize>> = runs.iter().map(speaking).collect();
        let silent: Vec<usize> = (0..rules.len()).filter(|at| !spoken.contains(&Some(*at))).collect();
        assert!(
            silent.is_empty(),
            "{table}: rules {silent:?} speak of no example; give each one, or drop it"
        );
    }
}
