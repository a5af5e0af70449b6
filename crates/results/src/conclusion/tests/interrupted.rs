//! A run that the user ends blames nobody.

use super::*;

#[test]
fn interruptions_are_no_fault_of_the_server() {
    let (how_much, breaks, outcome) = said(Scenario::Echo, |step| {
        step.interrupted = Some(Interrupted::Loading);
        step.rates.achieved_per_s = Some(250.0);
        step.counts = Counts { received: 1_500, in_flight: 300, ..step.counts };
    });
    assert_eq!((&*how_much, outcome), ("held.clients; 300 clients; 250 messages/s", Outcome::Held));
    assert_eq!(breaks, "breaks.not; none.saturated cores=2.0 server_percent=10.0 worker_percent=10.0");

    let never_loaded = || {
        let interrupted = Some(Interrupted::Connecting);
        let mut step = Step { clients: 5_000, usable: None, reached: Some(20), interrupted, ..step() };
        step.counts = Counts { connects: 40, connected: 20, connecting: 20, ..Counts::default() };
        step.duration_ns = 0;
        step.rates = Rates::default();
        step
    };
    let run = run_of(Scenario::Broadcast, vec![never_loaded()]);
    let cannot_tell = "cannot_tell.interrupted; interrupted while 5,000 clients connected";
    assert_eq!(of(&run), (cannot_tell.into(), cannot_tell.into(), Outcome::Nothing));
    let run = run_of(Scenario::Broadcast, vec![step(), never_loaded()]);
    let (how_much, breaks, outcome) = of(&run);
    assert_eq!((&*how_much, outcome), ("held.clients; 300 clients; 300 messages/s", Outcome::Held));
    assert_eq!(
        breaks,
        "breaks.not; 300 clients; none.saturated cores=2.0 server_percent=10.0 worker_percent=10.0"
    );

    // Nor is anything known of a server that has not answered yet.
    let mut waited_for = Step { interrupted: Some(Interrupted::Loading), ..step() };
    waited_for.counts = Counts { received: 0, in_flight: waited_for.counts.expected, ..waited_for.counts };
    let cannot_tell = "cannot_tell.interrupted; interrupted after 6.00s, before anything came back";
    let run = run_of(Scenario::Echo, vec![waited_for.clone()]);
    assert_eq!(of(&run), (cannot_tell.into(), cannot_tell.into(), Outcome::Nothing));
    let (how_much, ..) = of(&run_of(Scenario::Echo, vec![step(), waited_for]));
    assert_eq!(how_much, "held.clients; 300 clients; 300 messages/s");

    // One that was refused, as may be, does not undo the load that the others were under.
    let mut loaded = Step { usable: Some(299), interrupted: Some(Interrupted::Loading), ..step() };
    loaded.counts.connect_failures = 1;
    let mut run = run_of(Scenario::Echo, vec![loaded.clone()]);
    run.steps[0].standing.clear();
    assert_eq!(of(&run).0, "held.clients; 300 clients; loss.clients missing=1 of=300; 300 messages/s");
    // And a step that was not whole does not outrank one that was.
    let more = Step { clients: 600, usable: Some(600), interrupted: Some(Interrupted::Loading), ..step() };
    let (how_much, breaks, _) = of(&run_of(Scenario::Broadcast, vec![step(), more]));
    assert_eq!(how_much, "held.clients; 300 clients; 300 messages/s");
    assert_eq!(
        breaks,
        "breaks.not; 300 clients; none.saturated cores=2.0 server_percent=10.0 worker_percent=10.0"
    );

    // Whoever was turned away by then was so by the server.
    let mut refused = never_loaded();
    refused.counts = Counts { connect_failures: 10, connecting: 10, ..refused.counts };
    for _ in 0..10 {
        refused.errors.add("refused", 0, "connection refused");
    }
    let (how_much, ..) = of(&run_of(Scenario::Broadcast, vec![refused]));
    assert_eq!(
        how_much,
        "held.nothing; 5,000 clients; loss.clients errors={\"refused\":10} missing=10 of=5000"
    );
}

#[test]
fn messages_open_at_an_interruption_break_nothing() {
    let mut waiting = Step { interrupted: Some(Interrupted::Loading), ..step() };
    for figure in [&mut waiting.figures.rtt, &mut waiting.figures.service] {
        figure.clear();
    }
    (waiting.rates.achieved_per_s, waiting.rates.sent_per_s) = (Some(298.0), Some(299.0));
    let texts = ["p99<1s", "p50<1ms", "rate>=300", "sent_rate>=300"];
    let limits = texts.map(|text| Limit::parse(text, Scenario::Echo).unwrap());
    let broken = |step: &Step| -> Vec<String> {
        let outcomes = limits.iter().filter_map(|limit| limit.check_decided(step));
        outcomes.filter(|outcome| !outcome.passed()).map(|outcome| outcome.of.to_string()).collect()
    };
    assert_eq!(broken(&waiting), Vec::<String>::new(), "nothing was measured");
    waiting.figures.rtt.record_n_ns(500 * MS, 100);
    assert_eq!(broken(&waiting), ["p50<1ms"], "it is that late already, and not a second yet");
    waiting.interrupted = None;
    assert_eq!(broken(&waiting), texts, "silence proves nothing");

    let (how_much, _, outcome) = said(Scenario::Storm, |step| {
        step.figures.recovery.record_n_ns(300 * MS, 50);
        step.interrupted = Some(Interrupted::Loading);
        step.counts.not_back = 50;
        (step.counts.offline_due, step.counts.lost_offline) = (50, 50);
    });
    assert_eq!(
        (&*how_much, outcome),
        ("held.clients; 300 clients; none of 50 back after 300ms; 300 messages/s", Outcome::Held)
    );
}

#[test]
fn unfinished_runs_have_not_passed() {
    let mut run = run_of(Scenario::Echo, vec![step()]);
    assert_eq!(conclude(&run).breaks.tone, Tone::Good);
    run.resume_after = Some(1);
    assert_eq!(conclude(&run).breaks.tone, Tone::Doubt);
}

#[test]
fn interrupted_steps_bound_no_capacity() {
    let of = |steps| {
        let conclusion = conclude(&run_of(Scenario::Echo, steps));
        (conclusion.status(), conclusion.breaks.load.is_some(), conclusion.how_much.load)
    };
    let ended = || Step { interrupted: Some(Interrupted::Loading), ..step() };
    let held = Some("300 clients".to_owned());
    assert_eq!(of(vec![ended()]), (Status::Passed, false, held.clone()));
    assert_eq!(of(vec![step(), ended()]), (Status::Passed, true, held), "the one before it was whole");
}
