//! Searches and sweeps of rates.

use stats::Capacity;

use super::*;
use crate::levels::{Level, levels};

fn capacity(clients: u64, low: u64, high: u64) -> Capacity {
    Capacity { clients, low, high, confidence: 0.95, at_least: false, contradicted_by: None }
}

/// A run of these steps, of which each has as many clients, and passed or not.
fn run_of_levels(scenario: Scenario, levels: &[(u64, bool)]) -> Run {
    let of = |clients| Step { clients, usable: Some(clients), ..step() };
    let mut run = run_of(scenario, levels.iter().map(|&(clients, _)| of(clients)).collect());
    for (step, &(_, passed)) in run.steps.iter_mut().zip(levels) {
        step.stop = Some(LimitOutcome { status: LimitStatus::of(passed), ..step.standing[0].clone() });
    }
    run
}

#[test]
fn searches_break_limits_on_purpose() {
    let mut fails = step();
    (fails.clients, fails.usable) = (400, Some(400));
    fails.counts.missing = 100;
    fails.counts.received -= 100;
    let mut run = run_of(Scenario::Broadcast, vec![step(), fails.clone()]);
    run.is_search = true;
    run.verdict.capacity = Some(capacity(350, 320, 380));
    let (how_much, breaks, outcome) = of(&run);
    assert_eq!(
        (&*how_much, outcome),
        ("held.capacity; 300 clients; capacity between 300 and 400; 95% CI 320 to 380", Outcome::Held)
    );
    assert_eq!(
        breaks,
        "breaks.at; 400 clients; loss.missing missing=100 of=1800 what=\"copies\"; server.left_out due=1800 missing=100"
    );
    (run.verdict.capacity, run.is_search) = (None, false);
    assert_eq!(of(&run).2, Outcome::Broken, "a walk");
    run.is_search = true;
    let (how_much, _, outcome) = of(&run);
    assert_eq!((&*how_much, outcome), ("held.clients; 300 clients; 300 messages/s", Outcome::Held));
    let mut run = run_of(Scenario::Broadcast, vec![fails]);
    run.is_search = true;
    run.verdict.capacity = Some(capacity(0, 0, 1));
    let (how_much, _, outcome) = of(&run);
    assert_eq!(
        (&*how_much, outcome),
        ("held.nothing; 400 clients; loss.missing missing=100 of=1800 what=\"copies\"", Outcome::Broken)
    );
}

#[test]
fn capacities_that_were_run_are_named() {
    let mut run = run_of_levels(Scenario::Echo, &[(300, true), (350, true), (400, false)]);
    run.is_search = true;
    run.verdict.capacity = Some(capacity(350, 320, 380));
    assert_eq!(of(&run).0, "held.capacity; 350 clients; 95% CI 320 to 380");
}

#[test]
fn interrupted_searches_name_their_bounds() {
    let mut run = run_of_levels(Scenario::Echo, &[(300, true), (400, false), (350, false)]);
    run.is_search = true;
    let unfinished = |run: &Run| of(run).0.ends_with("; not finished: between 300 and 350");
    assert!(!unfinished(&run), "{}", of(&run).0);
    run.resume_after = Some(3);
    assert!(unfinished(&run), "{}", of(&run).0);
    run.is_search = false;
    assert!(!unfinished(&run), "{}", of(&run).0);
}

#[test]
fn most_tries_of_a_load_decide() {
    let loads = |levels: &[(u64, bool)]| {
        let mut run = run_of_levels(Scenario::Echo, levels);
        run.is_search = true;
        let conclusion = conclude(&run);
        [conclusion.how_much.load, conclusion.breaks.load].map(Option::unwrap)
    };
    let overruled = [(266, false), (306, true), (266, true), (266, true), (516, false)];
    assert_eq!(loads(&overruled), ["306 clients", "516 clients"]);
    let lucky =
        [(460, true), (468, true), (484, true), (468, false), (484, false), (468, false), (484, false)];
    assert_eq!(loads(&lucky), ["460 clients", "468 clients"]);
    assert_eq!(loads(&lucky[..5]), ["468 clients", "484 clients"]);
    let mut run = run_of_levels(Scenario::Echo, &lucky);
    run.verdict.capacity = Some(capacity(470, 460, 480));
    assert!(of(&run).0.starts_with("held.capacity; 460 clients; "), "{}", of(&run).0);
}

#[test]
fn noisy_searches_do_not_tell() {
    let mut run = run_of(Scenario::Broadcast, vec![step()]);
    run.is_search = true;
    let wide = capacity(637, 35, 1_189);
    run.verdict.capacity = Some(wide);
    let (how_much, ..) = of(&run);
    assert_eq!(
        how_much,
        "cannot_tell.capacity; 95% CI 35 to 1,189, too noisy to say: measure longer (--duration, --sample-size), on a quieter machine"
    );
    run.verdict.capacity = Some(Capacity { contradicted_by: Some(1), ..capacity(0, 0, 1) });
    assert_eq!(
        (conclude(&run).how_much.key, conclude(&run).status()),
        ("cannot_tell.capacity", Status::Unclear)
    );
    run.verdict.capacity = Some(Capacity { low: 600, high: 650, contradicted_by: Some(1_500), ..wide });
    let (how_much, ..) = of(&run);
    assert_eq!(
        how_much,
        "cannot_tell.capacity; 95% CI 600 to 650, what was measured at 1,500 clients says otherwise: measure longer (--duration, --sample-size), on a quieter machine"
    );
}

#[test]
fn capacities_at_the_generators_limit_are_bounds() {
    let mut fails = step();
    (fails.clients, fails.usable) = (400, Some(400));
    fails.generator.as_mut().unwrap().worker_cpu_percent_max = Some(99.0);
    let mut run = run_of(Scenario::Broadcast, vec![step(), fails]);
    run.is_search = true;
    run.steps[1].stop =
        Some(LimitOutcome { status: LimitStatus::Broken, ..run.steps[0].standing[0].clone() });
    run.verdict = verdict::conclude(run.scenario, &run.steps);
    run.verdict.capacity = Some(capacity(350, 320, 380));
    let (how_much, ..) = of(&run);
    let said = "held.until_gave_out; 300 clients; unclear beyond: the generator was the bottleneck; 95% CI 320 to 380";
    assert_eq!(how_much, said);
    assert_eq!(conclude(&run).result().matches("unclear").count(), 1);
    assert!(is_untrusted(&run));
}

#[test]
fn sweeps_break_at_another_than_the_best_level() {
    let mut run = run_of_levels(Scenario::Saturate, &[(100, true), (1_000, false)]);
    let level = |clients, safe_per_s, overload_per_s| Level {
        clients,
        safe_per_s: Some(safe_per_s),
        received_per_s: Some(safe_per_s),
        overload_per_s,
        fatal_per_s: None,
        knee: None,
    };
    run.verdict.levels = vec![level(100, 300.0, None), level(1_000, 250.0, Some(300.0))];
    let (how_much, breaks, _) = of(&run);
    assert_eq!(
        how_much,
        "held.rates_at_least; 300 deliveries/s; safe: at least 300/s to 100, 250/s to 1,000 clients"
    );
    assert_eq!(
        breaks,
        "breaks.at; 300 messages/s to 1,000 clients; loss.limit actual=0.0 limit=\"unusable==0\"; none.saturated cores=2.0 server_percent=10.0 worker_percent=10.0"
    );
}

#[test]
fn rates_at_the_generators_limit_are_bounds() {
    let mut run = run_of_levels(Scenario::Saturate, &[(100, true), (100, false)]);
    for (step, per_s) in run.steps.iter_mut().zip([300.0, 400.0]) {
        step.rates.asked_per_s = Some(per_s);
    }
    run.steps[1].bottleneck = Some(Found::from(Cause::GeneratorCpu { cpu: Percent(97.0) }));
    run.verdict.levels = levels(&run.steps);
    run.verdict.levels[0].received_per_s = Some(300.0);
    let (how_much, ..) = of(&run);
    let facts = ["held.rates_at_least", "300 deliveries/s", "safe: at least 300/s"];
    assert!(facts.iter().all(|fact| how_much.contains(fact)), "{how_much}");
    run.steps[1].bottleneck = Some(Found::from(Cause::ServerQueue { late: Percent(20.0) }));
    assert!(of(&run).0.starts_with("held.rates; "));
}

#[test]
fn overruled_steps_are_not_the_breaking_point() {
    let mut run = run_of_levels(Scenario::Broadcast, &[(200, false), (200, true), (200, true), (250, false)]);
    run.is_search = true;
    let full = Cause::MachineFull { idle: Percent(0.0), others: None, programs: None };
    run.steps[0].bottleneck = Some(Found::from(full));
    run.verdict.capacity = Some(capacity(225, 200, 250));
    let (how_much, breaks, _) = of(&run);
    assert_eq!(how_much, "held.capacity; 200 clients; capacity between 200 and 250; 95% CI 200 to 250");
    assert_eq!(
        breaks,
        "breaks.at; 250 clients; loss.limit actual=0.0 limit=\"unusable==0\"; none.saturated cores=2.0 server_percent=10.0 worker_percent=10.0"
    );
}

#[test]
fn lost_agents_bound_no_capacity() {
    let mut run = run_of_levels(Scenario::Echo, &[(300, true), (600, true)]);
    run.is_search = true;
    run.verdict.capacity = Some(Capacity { at_least: true, ..capacity(600, 600, 600) });
    assert_eq!(of(&run).0, "held.at_least; 600 clients");
    run.steps[1].fleet = vec![FleetAgent { lost: Some("no word".into()), ..FleetAgent::default() }];
    assert!(of(&run).0.starts_with("held.clients; 300 clients; "), "{}", of(&run).0);
    assert_eq!(of(&run).1, "breaks.not_found; generator.lost_agents lost=1 of=1");
    let mut run = run_of_levels(Scenario::Echo, &[(300, true), (600, true), (700, false)]);
    run.is_search = true;
    run.verdict.capacity = Some(capacity(650, 600, 700));
    assert!(of(&run).0.starts_with("held.capacity; 600 clients; "), "{}", of(&run).0);
    run.steps[1].fleet = vec![FleetAgent { lost: Some("no word".into()), ..FleetAgent::default() }];
    assert!(of(&run).0.starts_with("held.clients; 300 clients; "), "{}", of(&run).0);
}

#[test]
fn steps_beyond_a_capacity_stand_for_none() {
    let mut run = run_of_levels(Scenario::Broadcast, &[(200, true), (250, true), (250, false)]);
    run.is_search = true;
    run.steps[1].figures.rtt.record_n_ns(2 * S, 1_800);
    run.verdict.capacity = Some(capacity(225, 200, 250));
    assert_eq!((shown(&run), conclude(&run).noticed), (0, None));
    run.verdict.capacity = Some(Capacity { at_least: true, ..capacity(250, 250, 250) });
    assert_eq!((shown(&run), conclude(&run).noticed.is_some()), (1, true));
}

#[test]
fn rates_that_held_are_told_once() {
    let mut run = run_of_levels(Scenario::Saturate, &[(10, true)]);
    run.steps[0].rates.asked_per_s = Some(80.0);
    let level =
        Level { clients: 10, received_per_s: Some(800.0), safe_per_s: Some(80.0), ..Level::default() };
    run.verdict.levels = vec![level];
    let said = conclude(&run).result();
    assert_eq!(said.matches("80.0").count(), 1, "{said}");
    assert_eq!(conclude(&run).how_much.key, "held.rates_at_least");
}
