//! Liars at the bus, who speak the fleet's protocol: whatever an agent says, the run ends in time, says who
//! lied, and keeps what the honest agent has measured; whatever a coordinator asks, an agent is free again,
//! and as good as before.
//!
//! Altered packets are genuine: they goes through a bridge between two NATS.

use std::process;
use std::thread;
use std::time::{Duration, Instant};

use engine::events::Batch;
use engine::{Command, Delta, Report};
use load::{Load, StepOrder, Until};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::bridge::{Alter, Bridge, Way, chatter, damaged, retold, reworded};
use crate::support::fleet::Bus;
use crate::support::peer::{Content, Down, Packet, Up};
use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, finding, finish, run, sum_of, throng};
use crate::support::{REACTS_WITHIN, wait_until};

/// A run of two seconds ends within this, whatever the liar does: 15 s of nothing from it while its clients
/// connect, as long while they send, and for its books, and a busy machine. A genuine agent behind a liar
/// adds what it does not hear.
const RUN_MAX: Duration = Duration::from_secs(90);
/// Clients of both agents, and what each sends in two seconds.
const CLIENTS: u64 = 20;
const LOAD: &str = "--clients 20 --interval 100ms --duration 2s --drain-timeout 3s";
/// Copies that come back to one agent of two.
const HALF: u64 = CLIENTS / 2 * 20;

/// Two NATS, and an agent at each.
struct Stage {
    front: Bus,
    back: Bus,
    _honest: Process,
    liar: Process,
    server: Server,
}

impl Stage {
    fn set() -> Option<Stage> {
        let (front, back) = (Bus::start()?, Bus::start()?);
        let agent = |bus: &Bus, name| bus.agent(&["--name", name, "--threads", "1"]);
        let (honest, liar) = (agent(&front, "honest"), agent(&back, "liar"));
        front.await_agents(1);
        back.await_agents(1);
        Some(Stage { front, back, _honest: honest, liar, server: Server::start(&["--threads", "1"]) })
    }

    fn bridge(&self, alter: impl Alter) -> Bridge {
        Bridge::between(self.front.address(), self.back.address(), alter)
    }

    fn echo(&self, bus: &Bus, flags: &str) -> process::Command {
        let mut command = throng(["echo", &self.server.url(), "--format", "json", "--fleet", &bus.url]);
        command.args(LOAD.split(' ')).args(flags.split(' '));
        command
    }

    /// Both agents measure, and one of them is not believed.
    fn measure(&self) -> Outcome {
        run(&mut self.echo(&self.front, "--agents 2 --on-agent-loss continue"), RUN_MAX)
    }

    /// The agent that was lied to is free in time, and does what it is asked.
    fn assert_is_as_before(&mut self, what: &str) {
        let is_free = || self.back.list().contains("  free");
        assert!(wait_until(REACTS_WITHIN, is_free), "{what}: {}", self.back.list());
        let outcome = run(&mut self.echo(&self.back, "--agents 1"), RUN_MAX);
        assert_eq!(
            (outcome.code, sum_of(&outcome.json(), "received")),
            (Some(0), 2 * HALF),
            "{what}\n{outcome}"
        );
        assert!(self.liar.wait(Duration::ZERO).is_none(), "{what}: the agent has ended");
    }

    /// Ends the agent; it never panicked.
    fn end(self) {
        self.liar.signal(Signal::TERM);
        let (_, said) = self.liar.into_output();
        assert!(!said.contains("panicked at") && !said.contains("a bug in throng"), "{said}");
    }
}

/// Why the agent of that name was lost, as the results have it; `None`: it was not.
fn lost(results: &Value, name: &str) -> Option<String> {
    let agents = results["steps"][0]["fleet"].as_array().expect("a fleet");
    let agent = agents.iter().find(|agent| agent["name"] == name).expect("the agent");
    agent["lost"].as_str().map(str::to_owned)
}

/// Checks that the honest agent's figures are kept, whatever became of the other.
fn assert_honest_is_kept(outcome: &Outcome, what: &str) {
    let results = outcome.json();
    assert_eq!(lost(&results, "honest"), None, "{what}\n{outcome}");
    assert!(sum_of(&results, "received") >= HALF, "{what}\n{outcome}");
}

/// Reports as the agent's, altered.
fn telling(tell: Tell) -> impl Alter {
    move |way, bytes| match way {
        Way::Down => None,
        Way::Up => retold(bytes, |up| match up {
            Up::Report(report) => tell(report).map(Up::Report),
            _ => None,
        })
        .map(|bytes| vec![bytes]),
    }
}

fn delta(report: Report, change: impl FnOnce(&mut Delta)) -> Option<Report> {
    let Report::Delta(mut delta) = report else { return None };
    change(&mut delta);
    Some(Report::Delta(delta))
}

type Tell = fn(Report) -> Option<Report>;

/// Lies of one who knows the protocol, and what is said of them.
const LIES: [(&str, Tell); 7] = [
    ("more answers than can have come", |report| delta(report, |delta| delta.counts.received += 1_000_000)),
    ("more messages than were to be sent", |report| delta(report, |delta| delta.counts.sent += 1_000_000)),
    ("more clients than its share", |report| delta(report, |delta| delta.usable += 1_000)),
    ("it talks nonsense", |report| delta(report, |delta| delta.worker = 0)),
    // Events that nobody has asked for, and of nobody.
    ("it talks nonsense", |report| {
        matches!(report, Report::Grown { .. }).then(|| Report::Events(Batch::default()))
    }),
    ("a time that is not yet", |report| match report {
        Report::Loaded { worker, sent, at_ns } => {
            Some(Report::Loaded { worker, sent, at_ns: at_ns + 3_600_000_000_000 })
        }
        _ => None,
    }),
    ("[2Jmy server is the best", |report| match report {
        Report::Grown { worker, .. } => {
            Some(Report::Failed { worker, message: "\u{1b}[2Jmy server is the best".into() })
        }
        _ => None,
    }),
];

/// Two agents measure, of which one lies in this way: it is named.
fn assert_is_named(said: &str, alter: impl Alter) {
    let Some(stage) = Stage::set() else { return };
    let bridge = stage.bridge(alter);
    stage.front.await_agents(2);
    let outcome = stage.measure();
    assert!(bridge.lies() > 0, "{said}: nothing was altered\n{outcome}");
    assert_honest_is_kept(&outcome, said);
    let why = lost(&outcome.json(), "liar").unwrap_or_else(|| panic!("{said}: believed\n{outcome}"));
    assert!(why.contains(said), "{said}: {why}\n{outcome}");
    let results = outcome.json();
    let lost = finding(&results["steps"][0]["caveats"], "caveat.lost_agents").expect("a caveat");
    assert_eq!((&lost["lost"], &lost["of"]), (&1.into(), &2.into()), "{outcome}");
    assert!(!format!("{outcome}").contains('\u{1b}'), "{outcome}");
}

#[test]
fn implausible_agents_are_named() {
    for some in LIES.chunks(3) {
        let lie = |&(said, tell): &(&'static str, Tell)| assert_is_named(said, telling(tell));
        thread::scope(|scope| {
            for one in some {
                scope.spawn(move || lie(one));
            }
        });
    }
}

#[test]
fn endless_agents_are_not_waited_for() {
    let ends: [fn(&Report) -> bool; 3] = [
        |report| matches!(report, Report::Grown { .. }),
        |report| matches!(report, Report::Loaded { .. }),
        |report| matches!(report, Report::Settled(_)),
    ];
    // Agents have their workers in the order of their names.
    let nothing = || Up::Report(Report::Delta(Box::new(Delta { worker: 1, ..Delta::default() })));
    let talk_on = |is_end: fn(&Report) -> bool| {
        let withheld = move |up: &Up| matches!(up, Up::Report(report) if is_end(report));
        assert_is_named("comes to no end", chatter(withheld, nothing));
    };
    thread::scope(|scope| {
        for is_end in ends {
            scope.spawn(move || talk_on(is_end));
        }
    });
}

/// Alters a few of the packets that go this way: their bytes, or what they say.
fn altering(of: Way, seed: u64) -> impl Alter {
    let mut rng = fastrand::Rng::with_seed(seed);
    // Some lie at once, some once in a while; some wait until they have something to say.
    let (waits, often) = (rng.bool(), [2, 3, 5, 20][rng.usize(..4)]);
    move |way, bytes| {
        if way != of || waits && !is_part(bytes) || rng.u32(..often) > 0 {
            return None;
        }
        let altered = match rng.bool() {
            true => Some(damaged(bytes, &mut rng)),
            false => reworded(way, bytes, &mut rng),
        };
        altered.map(|bytes| vec![bytes])
    }
}

fn is_part(bytes: &[u8]) -> bool {
    Packet::read(bytes).is_some_and(|packet| matches!(packet.content, Content::Part { .. }))
}

/// Whatever an agent says. Why it was lost, if it was: what can be true is believed.
fn hear_anything(seed: u64) -> Option<String> {
    let stage = Stage::set()?;
    let _bridge = stage.bridge(altering(Way::Up, seed));
    stage.front.await_agents(2);
    let outcome = stage.measure();
    // Before anything is measured, a run ends with an agent that cannot be had.
    if outcome.stdout.is_empty() {
        let why = outcome.stderr.split_once("could not start the workers: agent liar: ");
        return Some(why.unwrap_or_else(|| panic!("seed {seed}\n{outcome}")).1.trim().to_owned());
    }
    assert_honest_is_kept(&outcome, &format!("seed {seed}"));
    lost(&outcome.json(), "liar")
}

/// Whatever a coordinator asks, of one agent time and again.
fn ask_anything(seeds: impl Iterator<Item = u64>) {
    let Some(mut stage) = Stage::set() else { return };
    for seed in seeds {
        let bridge = stage.bridge(altering(Way::Down, seed));
        stage.front.await_agents(2);
        let coordinator = Process::start(&mut stage.echo(&stage.front, "--agents 2"));
        let outcome = finish(coordinator, RUN_MAX);
        let lies = bridge.lies();
        drop(bridge);
        stage.assert_is_as_before(&format!("seed {seed}, {lies} lies\n{outcome}\n"));
    }
    stage.end();
}

type Ask = fn(Down) -> Option<Down>;

/// Orders that cannot be meant, and would have cost the agent its time, its memory, or its life.
const ORDERS: [Ask; 4] = [
    |down| match down {
        Down::Brief(mut brief) => {
            brief.offset_ns = i64::MIN;
            Some(Down::Brief(brief))
        }
        _ => None,
    },
    |down| match down {
        Down::Brief(mut brief) => {
            brief.plan.connecting.timeout_ns = u64::MAX;
            Some(Down::Brief(brief))
        }
        _ => None,
    },
    |down| step(down, |order| order.clients = u32::MAX),
    |down| {
        let until = Until::Samples(1);
        step(down, |order| order.load = Load::Closed { concurrency: 1, per_client: u32::MAX, until })
    },
];

fn step(down: Down, change: impl FnOnce(&mut StepOrder)) -> Option<Down> {
    let Down::Command(Command::Step(mut order)) = down else { return None };
    change(&mut order);
    Some(Down::Command(Command::Step(order)))
}

#[test]
fn an_agent_begins_nothing_that_cannot_be_meant() {
    let Some(mut stage) = Stage::set() else { return };
    for (k, ask) in ORDERS.into_iter().enumerate() {
        let bridge = stage.bridge(move |way, bytes| {
            let asked = if way == Way::Down { retold(bytes, ask) } else { None };
            asked.map(|bytes| vec![bytes])
        });
        stage.front.await_agents(2);
        let outcome = run(&mut stage.echo(&stage.front, "--agents 2"), RUN_MAX);
        assert!(bridge.lies() > 0 && outcome.code == Some(6), "{k}\n{outcome}");
        assert!(outcome.stderr.contains("nonsense"), "{k}\n{outcome}");
    }
    stage.assert_is_as_before("after all of them");
    stage.end();
}

#[test]
fn an_agent_that_says_anything_is_survived() {
    let lost = thread::scope(|scope| {
        let runs: Vec<_> = (1..4).map(|seed| scope.spawn(move || hear_anything(seed))).collect();
        runs.into_iter().filter_map(|run| run.join().unwrap()).count()
    });
    assert!(lost > 0 || Bus::start().is_none(), "none of these lies costs anything");
}

#[test]
fn a_coordinator_that_asks_anything_is_survived() {
    ask_anything(1..4);
}

/// How long each of the two that follow goes on.
const TORTURE: Duration = Duration::from_secs(120);

/// Seeds until time is over, from the clock: each torture is another, and says which seed it was.
fn seeds(part: u64) -> impl Iterator<Item = u64> {
    let until = Instant::now() + TORTURE;
    let first = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() * 1_000 + part * 500;
    (first..).take_while(move |_| Instant::now() < until)
}

#[test]
#[ignore = "make torture"]
fn torture_of_agents_that_say_anything() {
    let hear = |part| seeds(part).map(hear_anything).collect::<Vec<_>>();
    let heard: Vec<Option<String>> = thread::scope(|scope| {
        let parts = [0, 1].map(|part| scope.spawn(move || hear(part)));
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    for why in heard.iter().flatten() {
        println!("lost: {why}");
    }
    println!(
        "{} runs, in {} of which the liar was believed",
        heard.len(),
        heard.iter().filter(|why| why.is_none()).count()
    );
    assert!(heard.iter().any(Option::is_some) || Bus::start().is_none());
}

#[test]
#[ignore = "make torture"]
fn torture_of_coordinators_that_ask_anything() {
    thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || ask_anything(seeds(part)));
        }
    });
}
