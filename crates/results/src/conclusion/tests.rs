use stats::Counts;

use super::*;
use crate::finding::quantity::Percent;
use crate::finding::{Cause, Finding, Loss};
use crate::judgement::Found;
use crate::scenario::Scenario;
use crate::verdict::{self, bottleneck};
use crate::{
    FleetAgent, GeneratorUse, Interrupted, Limit, LimitOutcome, LimitStatus, MachineUse, Rates, Second,
    ServerUse, standing,
};

mod caveats;
mod interrupted;
mod losses;
mod reached;
mod searches;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// 300 clients, a message each a second for 6 s, all answered after 2 ms.
fn step() -> Step {
    let counts = Counts {
        sent: 1_800,
        expected: 1_800,
        received: 1_800,
        connects: 300,
        connected: 300,
        ..Counts::default()
    };
    let rates = Rates { asked_per_s: Some(300.0), achieved_per_s: Some(300.0), ..Rates::default() };
    let mut step =
        Step { clients: 300, usable: Some(300), duration_ns: 6 * S, counts, rates, ..Step::default() };
    for figure in [&mut step.figures.rtt, &mut step.figures.service] {
        figure.record_n_ns(2 * MS, 1_800);
    }
    step.server = Some(ServerUse { cpu_percent_mean: Some(20.0), cores: Some(2.0), ..ServerUse::default() });
    step.generator = Some(GeneratorUse { worker_cpu_percent_max: Some(10.0), ..GeneratorUse::default() });
    step.machine = Some(MachineUse { cores: Some(2), same_host: Some(true), ..MachineUse::default() });
    step
}

fn run_of(scenario: Scenario, steps: Vec<Step>) -> Run {
    let judged = |mut step: Step| {
        step.standing = standing::check(&standing::limits(scenario, &[], 0.0), &step);
        step.bottleneck = Some(bottleneck(&step, None));
        step
    };
    let steps: Vec<Step> = steps.into_iter().map(judged).collect();
    Run { scenario, verdict: verdict::conclude(scenario, &steps), steps, ..Run::default() }
}

/// How much, where it breaks, and what it comes to, of one step.
fn said(scenario: Scenario, change: impl FnOnce(&mut Step)) -> (String, String, Outcome) {
    let mut step = step();
    change(&mut step);
    of(&run_of(scenario, vec![step]))
}

fn of(run: &Run) -> (String, String, Outcome) {
    let Conclusion { how_much, breaks, outcome, .. } = conclude(run);
    (how_much.terse(), breaks.terse(), outcome)
}

#[test]
fn held_loads_are_said_with_those_tried() {
    let (how_much, breaks, outcome) = said(Scenario::Echo, |_| {});
    assert_eq!(how_much, "held.clients; 300 clients; 300 messages/s");
    let tried = "breaks.not; 300 clients; none.saturated cores=2.0 server_percent=10.0 worker_percent=10.0";
    assert_eq!((&*breaks, outcome), (tried, Outcome::Held));
}

#[test]
fn connections_of_requests_are_no_capacity() {
    for (scenario, expected) in [(Scenario::Echo, true), (Scenario::Http, false)] {
        let conclusion = conclude(&run_of(scenario, vec![step()]));
        assert_eq!(conclusion.status(), Status::Passed);
        assert_eq!(conclusion.result().contains("300 clients (highest"), expected, "{scenario}");
    }
}

#[test]
fn a_killed_server_holds_nothing() {
    let (how_much, breaks, outcome) = said(Scenario::Echo, |step| {
        step.counts = Counts { sent: 840, expected: 840, received: 840, disconnects: 300, ..step.counts };
        step.rates.achieved_per_s = Some(140.0);
        step.server.as_mut().unwrap().ended_ns = Some(3 * S);
        for _ in 0..300 {
            step.errors.add("reset", 3 * S, "connection reset");
        }
    });
    assert_eq!(
        how_much,
        "held.nothing; 300 clients; loss.connections first_ms=3000.0 lost=300 of=300 what=\"clients\""
    );
    assert_eq!(breaks, "breaks.below; 300 clients; server.ended after_ms=3000.0");
    assert_eq!(outcome, Outcome::Broken);
}

#[test]
fn lost_copies_come_before_any_capacity() {
    let (how_much, breaks, outcome) = said(Scenario::Broadcast, |step| {
        step.rates.asked_per_s = None;
        step.counts = Counts { sent: 20, expected: 2_000, received: 20, missing: 1_980, ..step.counts };
    });
    assert_eq!(how_much, "held.nothing; 300 clients; loss.missing missing=1980 of=2000 what=\"copies\"");
    assert_eq!(breaks, "breaks.below; 300 clients; server.left_out due=2000 missing=1980");
    assert_eq!(outcome, Outcome::Broken);
}

#[test]
fn messages_still_coming_are_not_lost() {
    let second = |t_ns, received| Second { t_ns, received, ..Second::default() };
    let with = |series: Vec<Second>| {
        said(Scenario::Broadcast, move |step| {
            step.rates.asked_per_s = None;
            step.counts =
                Counts { sent: 20, expected: 2_000, received: 1_000, missing: 1_000, ..step.counts };
            let end_ns = step.start_ns + step.duration_ns;
            step.series = series;
            for second in &mut step.series {
                second.t_ns += end_ns;
            }
        })
    };
    let (how_much, breaks, _) = with(vec![
        second(0, 500),
        second(S, 300),
        second(2 * S, 100),
        second(3 * S, 100),
        second(3 * S + MS, 0),
    ]);
    assert_eq!(
        how_much,
        "held.nothing; 300 clients; loss.still_to_come missing=1000 of=2000 what=\"copies\""
    );
    assert_eq!(breaks, "breaks.below; 300 clients; server.undelivered due=2000 missing=1000");
    let (how_much, ..) = with(vec![second(0, 500), second(S, 500), second(2 * S, 0), second(3 * S, 0)]);
    assert_eq!(
        how_much, "held.nothing; 300 clients; loss.missing missing=1000 of=2000 what=\"copies\"",
        "nothing came any more"
    );
    let (how_much, ..) = with(vec![second(0, 500), second(S, 500)]);
    assert_eq!(
        how_much, "held.nothing; 300 clients; loss.missing missing=1000 of=2000 what=\"copies\"",
        "the last that was to be expected"
    );
}

#[test]
fn wrong_answers_are_not_held() {
    let (how_much, _, outcome) = said(Scenario::Http, |step| {
        for _ in 0..1_800 {
            step.errors.add("http_4xx", 0, "the server answered with HTTP 404");
        }
    });
    assert_eq!(
        how_much,
        "held.nothing; 300 clients; loss.wrong example=\"the server answered with HTTP 404\" of=1800 what=\"answers\" wrong=1800"
    );
    assert_eq!(outcome, Outcome::Broken);
}

#[test]
fn an_overload_is_said_by_what_was_answered() {
    let (how_much, breaks, _) = said(Scenario::Echo, |step| {
        step.rates = Rates { asked_per_s: Some(800.0), achieved_per_s: Some(100.0), ..Rates::default() };
        step.counts = Counts { sent: 4_800, expected: 4_800, received: 4_800, late: 4_200, ..step.counts };
        step.figures.rtt.clear();
        for k in 0..4_800 {
            step.figures.rtt.record_ns(k * 9 * MS);
        }
        step.figures.service = step.figures.rtt.clone();
    });
    assert_eq!(
        how_much,
        "held.nothing; 300 clients; loss.rate achieved_per_s=100.0 asked_per_s=800.0 sends=\"messages\""
    );
    assert_eq!(breaks, "breaks.below; 300 clients; server.rate achieved_per_s=100.0 asked_per_s=800.0");
}

#[test]
fn missing_copies_are_no_answer_rate() {
    let mut step = step();
    step.rates = Rates { asked_per_s: Some(100.0), achieved_per_s: Some(100.0), ..Rates::default() };
    step.counts = Counts { sent: 600, expected: 12_000, received: 10_500, missing: 1_500, ..step.counts };
    let run = run_of(Scenario::Broadcast, vec![step]);
    let told = |limit| failing(Scenario::Broadcast, &run.steps[0], limit);
    let broken: Vec<String> = run.steps[0].broken().map(|limit| told(limit).terse()).collect();
    assert_eq!(
        broken,
        [
            "loss.missing missing=1500 of=12000 what=\"copies\"",
            "loss.kept asked_per_s=100.0 kept_percent=87.5 sends=\"messages\" what=\"copies\""
        ]
    );
    let rate = standing::broken_rate(&run.steps[0]).unwrap();
    assert!(told(rate).to_string().starts_with("87.5%"), "{}", told(rate));
    assert_eq!(of(&run).0, "held.nothing; 300 clients; loss.missing missing=1500 of=12000 what=\"copies\"");
}

#[test]
fn queues_at_almost_the_rate_are_said() {
    let (how_much, ..) = said(Scenario::Saturate, |step| {
        step.rates = Rates { asked_per_s: Some(51.9), achieved_per_s: Some(52.0), ..Rates::default() };
        step.counts = Counts { sent: 312, expected: 312, received: 312, late: 21, ..step.counts };
        step.figures.rtt.clear();
        step.figures.rtt.record_n_ns(MS, 312);
    });
    assert_eq!(
        how_much,
        "held.nothing; 51.9 messages/s to 300 clients; loss.queued late=21 of=312 what=\"answers\""
    );
}

#[test]
fn interrupted_steps_were_not_held() {
    let mut run = run_of(Scenario::Echo, vec![step()]);
    run.steps[0].standing.push(standing::unfinished());
    let (how_much, _, outcome) = of(&run);
    assert_eq!((&*how_much, outcome), ("held.nothing; 300 clients; loss.unfinished", Outcome::Broken));
}

#[test]
fn absent_clients_explain_a_missed_rate() {
    let (how_much, ..) = said(Scenario::Echo, |step| {
        step.counts = Counts { sent: 900, expected: 900, received: 900, connected: 150, ..step.counts };
        (step.counts.connect_failures, step.usable) = (150, Some(150));
        step.rates.achieved_per_s = Some(150.0);
        for _ in 0..150 {
            step.errors.add("refused", 0, "connection refused");
        }
    });
    assert_eq!(
        how_much,
        "held.nothing; 300 clients; loss.clients errors={\"refused\":150} missing=150 of=300"
    );
}

#[test]
fn the_generators_own_errors_are_not_the_servers() {
    let (_, breaks, _) = said(Scenario::Echo, |step| {
        (step.usable, step.clients) = (Some(10), 50);
        for _ in 0..40 {
            step.errors.add("address_not_available", 0, "no local port is free");
        }
        step.errors.set_local("address_not_available");
    });
    assert_eq!(
        breaks,
        "breaks.undecided; 50 clients; generator.ran_out error=\"address_not_available\" example=\"no local port is free\" times=40"
    );
}

#[test]
fn allowed_losses_are_held_and_said() {
    let mut step = step();
    step.counts = Counts { received: 1_790, missing: 10, ..step.counts };
    let mut run = run_of(Scenario::Echo, vec![step]);
    run.steps[0].standing = standing::check(&standing::limits(Scenario::Echo, &[], 1.0), &run.steps[0]);
    let (how_much, _, outcome) = of(&run);
    assert_eq!(
        (&*how_much, outcome),
        (
            "held.clients; 300 clients; loss.missing missing=10 of=1800 what=\"answers\"; 300 messages/s",
            Outcome::Held
        )
    );
}

/// Clients that flap miss what no server kept for them: it is no fault, and nobody is to believe that all had
/// everything.
#[test]
fn messages_missed_while_away_come_first() {
    let said_of = |lost: u64| {
        said(Scenario::Echo, |step| (step.counts.offline_due, step.counts.lost_offline) = (2_021, lost))
    };
    let (how_much, _, outcome) = said_of(1_900);
    assert_eq!(how_much, "held.clients; 300 clients; loss.while_away lost=1900 of=2021; 300 messages/s");
    assert_eq!(outcome, Outcome::Held);
    // One may have crossed the end of its connection.
    for lost in [2_021, 2_020] {
        let beside = format!("300 clients while connected; loss.while_away lost={lost} of=2021;");
        assert!(said_of(lost).0.contains(&beside), "{}", said_of(lost).0);
    }
    let begins = |lost: u64| Loss::WhileAway { lost, of: 2_021 }.to_string().starts_with("no history");
    assert_eq!([2_021, 2_020, 1_900].map(begins), [true, true, false]);
    assert!(!said_of(0).0.contains("away"));
}

#[test]
fn limits_are_said_as_written() {
    let mut run = run_of(Scenario::Echo, vec![step()]);
    run.steps[0].limits = vec![Limit::parse("p99<1ms", Scenario::Echo).unwrap().check(&run.steps[0])];
    run.verdict = verdict::conclude(run.scenario, &run.steps);
    let (how_much, _, outcome) = of(&run);
    assert!(how_much.starts_with("held.nothing; 300 clients; loss.limit actual=2."), "{how_much}");
    assert!(how_much.ends_with(" bound=1.0 limit=\"p99<1ms\" unit=\"ms\""), "{how_much}");
    assert_eq!(outcome, Outcome::Broken);
}

/// A restart ends the process of one step, and not that of the next.
#[test]
fn an_end_before_the_load_is_said_so() {
    let (_, breaks, _) = said(Scenario::Echo, |step| {
        (step.start_ns, step.counts.disconnects) = (9 * S, 300);
        step.server.as_mut().unwrap().ended_ns = Some(8 * S);
    });
    assert_eq!(breaks, "breaks.below; 300 clients; server.ended_connecting");
}

/// A limit on the latency is broken, and would have been kept without lag, or not.
fn too_slow(undecided: bool) -> Step {
    let (without_lag, status) =
        if undecided { (0.9, LimitStatus::Undecided) } else { (1.5, LimitStatus::Broken) };
    let without_lag = Some(without_lag);
    let outcome =
        LimitOutcome { actual: Some(2.0), without_lag, status, ..LimitOutcome::of_text("p95<=1ms") };
    Step { limits: vec![outcome], ..step() }
}

#[test]
fn limits_that_lag_may_break_are_undecided() {
    let run = run_of(Scenario::Echo, vec![too_slow(true)]);
    let (how_much, breaks, outcome) = of(&run);
    let limit = "loss.limit actual=2.0 bound=1.0 limit=\"p95<=1ms\" unit=\"ms\" without_lag=0.9";
    assert_eq!(how_much, format!("cannot_tell.lag; 300 clients; {limit}"));
    assert!(breaks.starts_with("breaks.undecided; 300 clients; none.saturated"), "{breaks}");
    assert_eq!((outcome, is_untrusted(&run)), (Outcome::Broken, true));
    let stands = run_of(Scenario::Echo, vec![too_slow(false)]);
    assert!(of(&stands).0.starts_with("held.nothing; 300 clients"), "{:?}", of(&stands));
    assert!(!is_untrusted(&stands), "the server would have broken it all the same");
}

#[test]
fn busy_machines_excuse_no_proof() {
    let said = |limit: &str| {
        let broken = LimitOutcome { actual: Some(4.0), ..LimitOutcome::of_text(limit) };
        let mut run = run_of(Scenario::Broadcast, vec![Step { limits: vec![broken], ..step() }]);
        let full = Cause::MachineFull { idle: Percent(0.0), others: Some(Percent(80.0)), programs: None };
        run.steps[0].bottleneck = Some(full.into());
        conclude(&run).status()
    };
    assert_eq!(said("lost_offline==0%"), Status::Failed, "what was sent in an absence never came");
    for proof in ["duplicate==0", "say.line.duplicate==0", "role.x.leaked==0"] {
        assert_eq!(said(proof), Status::Failed, "{proof}");
    }
    assert_eq!(said("missing==0"), Status::Unclear, "it may have been late");
    assert_eq!(said("unusable==0"), Status::Unclear, "clients may have had too little time");
}

#[test]
fn strict_runs_refuse_generator_lag() {
    let busy = |limit: Option<&str>, is_open: bool| {
        let mut step = step();
        step.generator.as_mut().unwrap().worker_cpu_percent_max = Some(95.0);
        step.rates.asked_per_s = is_open.then_some(300.0);
        let mut run = run_of(Scenario::Echo, vec![step]);
        run.steps[0].limits = limit
            .into_iter()
            .map(|text| Limit::parse(text, Scenario::Echo).unwrap().check(&run.steps[0]))
            .collect();
        run
    };
    assert!(is_untrusted(&busy(None, true)), "the latency itself is what was asked for");
    assert!(!is_untrusted(&busy(Some("p99<5ms"), true)), "it was kept all the same");
    assert!(is_untrusted(&busy(Some("p99<1ms"), true)), "a faster generator may have kept it");
    assert!(is_untrusted(&busy(Some("p99<5ms"), false)), "a slower loop asks less of the server");
    let mut sweep = busy(Some("p99<5ms"), true);
    sweep.scenario = Scenario::Saturate;
    assert!(is_untrusted(&sweep), "a faster generator may have found more");
    assert!(!is_untrusted(&run_of(Scenario::Echo, vec![step()])));
}

#[test]
fn kept_schedules_were_carried() {
    let late = |is_open: bool| {
        let (_, breaks, _) = said(Scenario::Echo, |step| {
            step.generator.as_mut().unwrap().worker_cpu_percent_max = Some(95.0);
            step.rates.asked_per_s = is_open.then_some(300.0);
        });
        breaks
    };
    assert_eq!(late(true), "breaks.not; 300 clients; generator.cpu cpu_percent=95.0");
    assert_eq!(late(false), "breaks.not_found; generator.cpu cpu_percent=95.0");
}

#[test]
fn loads_without_messages_prove_nothing() {
    let silent = |step: &mut Step| {
        step.counts = Counts { connects: 300, connected: 300, ..Counts::default() };
        step.usable = Some(300);
        step.rates = Rates { sent_per_s: Some(0.0), achieved_per_s: Some(0.0), ..Rates::default() };
    };
    let (how_much, breaks, outcome) = said(Scenario::Echo, silent);
    assert_eq!(how_much, "cannot_tell.lag; 300 clients; loss.no_load duration_ms=6000.0");
    assert_eq!(breaks, "breaks.undecided; 300 clients; generator.sent_nothing duration_ms=6000.0");
    assert_eq!(outcome, Outcome::Broken);
    let others: [fn(&mut Counts); 2] =
        [|counts| counts.nobody_to_send = 1, |counts| (counts.expected, counts.in_flight) = (1, 1)];
    for other in others {
        let (how_much, ..) = said(Scenario::Echo, |step| {
            silent(step);
            other(&mut step.counts);
        });
        assert_eq!(how_much, "held.clients; 300 clients; 0.0 messages/s");
    }
}

#[test]
fn shares_of_lost_agents_are_excused() {
    let agents = |step: &mut Step| {
        let agent = |lost: Option<&str>| FleetAgent { lost: lost.map(Into::into), ..FleetAgent::default() };
        step.fleet = vec![agent(Some("no word from it for 3 s")), agent(None)];
        step.counts = Counts { sent: 1_200, expected: 1_150, received: 1_150, ..step.counts };
        step.rates.achieved_per_s = Some(190.0);
    };
    let (how_much, breaks, outcome) = said(Scenario::Echo, agents);
    assert_eq!(
        how_much,
        "cannot_tell.lost_agents; the generator lost 1 of 2 agents and its share of the load"
    );
    assert_eq!(breaks, "breaks.not_found; generator.lost_agents lost=1 of=2");
    assert_eq!(outcome, Outcome::Held, "to go on without was asked for");
    // Nor are the clients that it would have connected.
    let (how_much, breaks, _) = said(Scenario::Echo, |step| {
        agents(step);
        (step.clients, step.usable, step.counts.connected) = (600, Some(300), 300);
    });
    let told = "cannot_tell.maimed; the generator: it lost 1 of 2 agents and its share of the load; 300 of 600 clients connected until then";
    assert_eq!(how_much, told);
    assert_eq!(breaks, "breaks.not_found; generator.lost_agents lost=1 of=2");
    // Step by step, what was held before it stands.
    let mut short = step();
    (short.clients, short.usable) = (600, Some(600));
    agents(&mut short);
    let run = run_of(Scenario::Echo, vec![step(), short]);
    let (how_much, breaks, _) = of(&run);
    assert_eq!(how_much, "held.clients; 300 clients; 300 messages/s");
    assert_eq!(breaks, "breaks.not_found; generator.lost_agents lost=1 of=2");
    assert!(is_untrusted(&run), "strictly, it is not what was asked for");
    let mut saturated = run.steps[1].clone();
    saturated.server.as_mut().unwrap().cpu_percent_mean = Some(195.0);
    let run = run_of(Scenario::Echo, vec![step(), saturated]);
    let (how_much, breaks, _) = of(&run);
    assert_eq!(how_much, "held.clients; 300 clients; 300 messages/s");
    assert_eq!(breaks, "breaks.not_found; generator.lost_agents lost=1 of=2");
    let kept =
        LimitOutcome { status: LimitStatus::Passed, actual: Some(1.0), ..LimitOutcome::of_text("p99<5ms") };
    let limited = Step { limits: vec![kept], ..run.steps[1].clone() };
    assert!(is_untrusted(&run_of(Scenario::Echo, vec![limited])), "it was kept by a part of the load");
}

#[test]
fn walks_fail_where_they_held_nothing() {
    let stop = LimitOutcome { actual: Some(2.0), ..LimitOutcome::of_text("p95<=1ms") };
    let slow = || Step { stop: Some(stop.clone()), ..step() };
    let (how_much, _, outcome) = of(&run_of(Scenario::Echo, vec![slow()]));
    assert!(how_much.starts_with("held.nothing; 300 clients"), "{how_much}");
    assert_eq!(outcome, Outcome::Broken);
    let lighter = Step { clients: 299, usable: Some(299), ..step() };
    let (_, _, outcome) = of(&run_of(Scenario::Echo, vec![lighter, slow()]));
    assert_eq!(outcome, Outcome::Held, "it ends at its limit");
}

#[test]
fn nothing_is_nothing() {
    assert_eq!(of(&Run::default()), ("nothing.measured".into(), "nothing.measured".into(), Outcome::Nothing));
}
