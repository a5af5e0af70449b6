//! A thousand agents that load nothing but report as if they did: what a fleet costs its coordinator.
//!
//! The agents are played by processes of their own, so that what this one takes is the coordinator's. Ignored
//! by default; docs/FLEET.md says how it is run, and what came of it.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_nats::Subscriber;
use crew::http::{Source, Timeouts};
use crew::{Observer, OnLoss, Progress, ServerWatch};
use engine::{Command, Delta, Report, Settled};
use futures_util::StreamExt;
use load::{Load, Schedule, StepOrder};
use net::clock;
use net::proc::ProcessTree;
use nkeys::XKey;
use stats::{Counts, Figures};
use tokio::task::JoinSet;

use crate::bus::{Bus, Content};
use crate::envelope::Envelope;
use crate::intro::{self, CALL, Claim, ClaimAnswer, Hello, VERSION};
use crate::link::{Incoming, Link};
use crate::support::plan;
use crate::talk::{Down, Up};
use crate::{AgentSelection, Nats};

/// Length of the simulated step.
const STEP_NS: u64 = 10_000_000_000;
const NS_PER_S: u64 = 1_000_000_000;
/// Echoes that an agent reports each second: enough for every bucket that matters.
const SAMPLES_PER_S: u64 = 1_000;
/// How long NATS is waited for when it is asked for its figures.
const PATIENCE: Timeouts = Timeouts { word: Duration::from_secs(1), answer: Duration::from_secs(2) };
/// Processes that play the agents.
const PROCESSES: usize = 4;
/// Variables of the processes: NATS's address, and their agents.
const NATS: &str = "THRONG_SIMULATION_NATS";
const AGENTS: &str = "THRONG_SIMULATION_AGENTS";
const FIRST: &str = "THRONG_SIMULATION_FIRST";

/// Shared state of the agents of a process.
struct Stage {
    nats: Nats,
    /// The delta that each agent reports every second.
    second: Delta,
}

struct Simulated {
    stage: Arc<Stage>,
    bus: Bus,
    id: String,
    link: Option<Link>,
    worker: u16,
    step: u16,
    /// The times of the next delta and of the end, while loading.
    loading: Option<(u64, u64)>,
}

impl Simulated {
    async fn run(stage: Arc<Stage>, index: usize) {
        let bus = Bus::connect(&stage.nats).await.expect("NATS is there");
        let id = intro::unique();
        let calls = bus.subscribe(CALL.to_owned()).await.expect("subscribed");
        let claims = bus.subscribe(intro::claim_subject(&id)).await.expect("subscribed");
        let downs = bus.subscribe(intro::down_subject(&id)).await.expect("subscribed");
        let agent = Self { stage, bus, id, link: None, worker: 0, step: 0, loading: None };
        agent.serve(index, calls, claims, downs).await;
    }

    async fn serve(
        mut self,
        index: usize,
        mut calls: Subscriber,
        mut claims: Subscriber,
        mut downs: Subscriber,
    ) {
        let key = Arc::new(XKey::new());
        loop {
            tokio::select! {
                Some(call) = calls.next() => {
                    let hello = Hello {
                        version: VERSION.into(),
                        id: self.id.clone(),
                        name: format!("agent-{index:04}"),
                        labels: intro::Labels::new(),
                        threads: 1,
                        clients_per_process: 10_000,
                        run: None,
                        host: None,
                        sealed_to: key.public_key(),
                        lock: None,
                    };
                    self.bus.answer(&call, intro::write(&hello)).await;
                }
                Some(message) = claims.next() => {
                    let claim: Claim = intro::read(&message.payload).expect("a claim");
                    let up = intro::up_subject(&claim.run, claim.index);
                    let envelope = Envelope::new(&key, &claim.sealed_by).expect("a key");
                    let link = Link::new(&self.bus, up, claim.session, clock::monotonic_ns());
                    self.link = Some(link.opening(envelope));
                    self.bus.answer(&message, intro::write(&ClaimAnswer::default())).await;
                }
                Some(down) = downs.next() => if self.handle_down(&down.payload).await { return },
                () = until(self.loading) => self.handle_due(),
            }
            if let Some(link) = &mut self.link {
                link.pump(&self.bus, clock::monotonic_ns()).await;
            }
        }
    }

    /// Returns true once released.
    async fn handle_down(&mut self, payload: &[u8]) -> bool {
        let worker = self.worker;
        let Some(link) = &mut self.link else { return false };
        match link.handle::<Down>(payload, clock::monotonic_ns()).expect("sense") {
            Incoming::Beat(Content::Beat { sent_ns }) => {
                let answer =
                    Content::Answer { sent_ns, here_ns: clock::monotonic_ns(), rss_bytes: Some(1 << 20) };
                link.put(&self.bus, answer).await;
            }
            Incoming::Message(Down::Brief(brief)) => {
                self.worker = brief.segments[0].worker;
                link.send(&Up::Ready { rss_bytes: Some(1 << 20) });
            }
            Incoming::Message(Down::Command(command)) => match command {
                Command::Step(order) => {
                    self.step = order.index;
                    link.send(&Up::Report(Report::Grown { worker, usable: 10, slow: 0, reached: 10 }));
                }
                Command::Go { at_ns } => self.loading = Some((at_ns + NS_PER_S, at_ns + STEP_NS)),
                Command::Settle => {
                    let settled =
                        Settled { worker, delta: self.dated(Delta::default()), ..Settled::default() };
                    self.report(Report::Settled(Box::new(settled)));
                }
                Command::Finish => link.send(&Up::Report(Report::Finished { worker })),
                Command::Clock { .. } => {}
            },
            Incoming::Message(Down::Release) => return true,
            Incoming::Beat(_) | Incoming::Nothing => {}
        }
        false
    }

    /// Reports a second of the load, which is over.
    fn handle_due(&mut self) {
        let Some((due_ns, end_ns)) = self.loading else { return };
        self.report(Report::Delta(Box::new(self.dated(self.stage.second.clone()))));
        self.loading = (due_ns < end_ns).then_some((due_ns + NS_PER_S, end_ns));
        if self.loading.is_none() {
            let sent = STEP_NS / NS_PER_S * SAMPLES_PER_S;
            self.report(Report::Loaded { worker: self.worker, sent, at_ns: clock::monotonic_ns() });
        }
    }

    fn report(&mut self, report: Report) {
        self.link.as_mut().expect("claimed").send(&Up::Report(report));
    }

    fn dated(&self, delta: Delta) -> Delta {
        let now_ns = clock::monotonic_ns();
        Delta {
            worker: self.worker,
            step: self.step,
            at_ns: now_ns,
            usable: 10,
            last_arrival_ns: now_ns,
            ..delta
        }
    }
}

/// Waits until the first of these moments; forever without them.
async fn until(loading: Option<(u64, u64)>) {
    match loading {
        Some((due_ns, _)) => {
            let left_ns = due_ns.saturating_sub(clock::monotonic_ns());
            tokio::time::sleep(Duration::from_nanos(left_ns)).await;
        }
        None => std::future::pending().await,
    }
}

/// The delta of a second of echoes, with a tail like a real server's: from 100 µs up to 100 ms.
fn second() -> Delta {
    let mut figures: Figures = Figures::default();
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..SAMPLES_PER_S {
        let ns = (100_000.0 / (1.0 - rng.f64()).max(0.001)) as u64;
        figures.rtt.record_ns(ns);
        figures.service.record_ns(ns);
        figures.send_lag.record_ns(ns / 100);
    }
    let counts = Counts { sent: SAMPLES_PER_S, received: SAMPLES_PER_S, ..Counts::default() };
    Delta { figures: figures.pack(), counts, ..Delta::default() }
}

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// One of the processes that play agents: plays its part until they are released.
#[test]
#[ignore = "started by a_thousand_agents"]
fn some_of_the_agents() {
    let (Ok(url), Some(first), Some(agents)) = (std::env::var(NATS), number(FIRST), number(AGENTS)) else {
        return;
    };
    let nats = Nats { url: url.into(), ..Nats::default() };
    let stage = Arc::new(Stage { nats, second: second() });
    crate::bus::runtime().unwrap().block_on(async {
        let mut played = JoinSet::new();
        for index in first..first + agents {
            let _ = played.spawn(Simulated::run(Arc::clone(&stage), index));
        }
        while played.join_next().await.is_some() {}
    });
}

/// A process of the simulation, killed if the test ends before it.
struct Part(Child);

impl Part {
    /// A part of the agents, played by this program.
    fn players(nats: &str, agents: Range<usize>) -> Self {
        let mut process = Process::new(std::env::current_exe().unwrap());
        process.args(["--ignored", "--exact", "simulation::some_of_the_agents"]);
        process.env(NATS, nats).env(FIRST, agents.start.to_string()).env(AGENTS, agents.len().to_string());
        Self(process.stdout(Stdio::null()).spawn().unwrap())
    }

    /// A NATS server, with its monitoring port.
    fn nats(port: u16, told_at: u16) -> Self {
        let mut process = Process::new("nats-server");
        process.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-m", &told_at.to_string()]);
        Self(process.stderr(Stdio::null()).spawn().expect("nats-server is installed"))
    }

    fn cpu_ns(&self) -> u64 {
        let usage = ProcessTree::new(self.0.id()).sample().expect("it runs");
        usage.user_ns + usage.system_ns
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// Bytes that NATS has taken in so far; `None` while it is not up.
fn carried_bytes(told_at: u16) -> Option<u64> {
    let source = Source { host: "127.0.0.1".into(), port: told_at, path: "/varz".into() };
    let told: serde_json::Value = serde_json::from_slice(&source.get(PATIENCE).ok()?.body).ok()?;
    told["in_bytes"].as_u64()
}

struct NullObserver;

impl Observer for NullObserver {
    fn handle_progress(&mut self, _: &Progress) {}

    fn is_interrupted(&self) -> bool {
        false
    }
}

/// CPU time of this process's threads of that name.
fn cpu_ns(name: &str) -> u64 {
    let mut tree = ProcessTree::new(std::process::id());
    tree.sample().expect("this process runs");
    let threads = tree.threads();
    threads.iter().filter(|thread| thread.name == name).map(|thread| thread.user_ns + thread.system_ns).sum()
}

#[test]
#[ignore = "needs nats-server and a quiet machine: docs/FLEET.md"]
fn a_thousand_agents() {
    let agents = number(AGENTS).unwrap_or(1_000);
    let (port, told_at) = (free_port(), free_port());
    let (server, url) = (Part::nats(port, told_at), format!("nats://127.0.0.1:{port}"));
    while carried_bytes(told_at).is_none() {
        thread::sleep(Duration::from_millis(20));
    }
    let part = |k: usize| k * agents / PROCESSES;
    let _players: Vec<Part> = (0..PROCESSES).map(|k| Part::players(&url, part(k)..part(k + 1))).collect();
    let nats = Nats { url: url.into(), ..Nats::default() };
    let wanted = AgentSelection {
        nats,
        agents: Some(agents),
        wait: Duration::from_secs(30),
        ..AgentSelection::default()
    };
    let began = Instant::now();
    let watch = ServerWatch::new(None, false);
    let mut crew = crate::start_crew(&plan(), &wanted, OnLoss::Abort, watch, &|| false).expect("a fleet");
    let ready_s = began.elapsed().as_secs_f64();
    let spent_ns = || [cpu_ns("fleet"), clock::thread_cpu_ns(), server.cpu_ns()];
    let (before_ns, carried, began) = (spent_ns(), carried_bytes(told_at).unwrap(), Instant::now());
    let schedule = Schedule::constant((agents as u64 * SAMPLES_PER_S) as f64);
    let load = Load::Open { schedule, duration_ns: STEP_NS };
    let order = StepOrder { index: 0, clients: 10 * agents as u32, load, warmup: false };
    let step = crew.measure(order, &mut NullObserver).map_err(|broken| broken.error).expect("a step");
    let elapsed_s = began.elapsed().as_secs_f64();
    let after_ns = spent_ns();
    let bytes = carried_bytes(told_at).unwrap() - carried;
    let [links, merging, nats] =
        [0, 1, 2].map(|k| 100.0 * (after_ns[k] - before_ns[k]) as f64 / 1e9 / elapsed_s);
    let received = agents as u64 * STEP_NS / NS_PER_S * SAMPLES_PER_S;
    assert_eq!((step.counts.received, step.figures.rtt.count()), (received, received), "nothing is lost");
    let error_ns = step.fleet.iter().filter_map(|agent| agent.clock_error_ns).max().unwrap_or(0);
    println!(
        "| {agents} | {ready_s:.1} s | {links:.1}% | {merging:.1}% | {nats:.0}% | {:.1} s | ± {:.1} ms | {:.0} | {:.0} MB |",
        elapsed_s - (STEP_NS / NS_PER_S) as f64,
        error_ns as f64 / 1e6,
        bytes as f64 / agents as f64 / elapsed_s,
        net::proc::self_rss_bytes().unwrap_or(0) as f64 / 1e6,
    );
    crew.finish(&mut NullObserver);
}
