//! A thousand agents in one process, who load nothing but report as if they did: what a fleet costs its coordinator.
//!
//! Ignored by default; docs/FLEET.md says how it is run, and what came of it.

use std::time::{Duration, Instant};

use async_nats::Subscriber;
use engine::{Command, Delta, Report, Settled};
use futures_util::StreamExt;
use load::{Connecting, Draining, Endpoint, Load, Plan, Speech, StepOrder, Workload};
use net::clock;
use tokio::task::JoinSet;

use super::bus::{Bus, Content};
use super::intro::{self, CALL, Claim, ClaimAnswer, Hello, VERSION};
use super::link::{Incoming, Link};
use super::{Down, Gathering, Nats, Up};
use crate::crew::{Crew, Observer, Progress};
use crate::{OnLoss, ServerWatch};

/// Length of the simulated step.
const STEP_NS: u64 = 10_000_000_000;
/// Echoes that an agent reports each second: enough for every bucket that matters.
const SAMPLES_PER_S: u64 = 1_000;

struct Simulated {
    bus: Bus,
    id: String,
    link: Option<Link>,
    worker: u16,
    step: u16,
    /// While loading: when the next delta is due, and the end.
    loading: Option<(u64, u64)>,
}

impl Simulated {
    async fn run(nats: Nats, index: usize) {
        let bus = Bus::connect(&nats).await.expect("NATS is there");
        let id = intro::unique();
        let calls = bus.subscribe(CALL.to_owned()).await.expect("subscribed");
        let claims = bus.subscribe(intro::claim_subject(&id)).await.expect("subscribed");
        let downs = bus.subscribe(intro::down_subject(&id)).await.expect("subscribed");
        let agent = Self { bus, id, link: None, worker: 0, step: 0, loading: None };
        agent.serve(index, calls, claims, downs).await;
    }

    async fn serve(
        mut self,
        index: usize,
        mut calls: Subscriber,
        mut claims: Subscriber,
        mut downs: Subscriber,
    ) {
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
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
                    };
                    self.bus.answer(&call, intro::write(&hello)).await;
                }
                Some(message) = claims.next() => {
                    let claim: Claim = intro::read(&message.payload).expect("a claim");
                    let up = intro::up_subject(&claim.run, claim.index);
                    self.link = Some(Link::new(&self.bus, up, claim.session, clock::monotonic_ns()));
                    self.bus.answer(&message, intro::write(&ClaimAnswer::default())).await;
                }
                Some(down) = downs.next() => if self.handle_down(&down.payload).await { return },
                _ = ticks.tick() => self.handle_tick(),
            }
            if let Some(link) = &mut self.link {
                link.pump(&self.bus, clock::monotonic_ns()).await;
            }
        }
    }

    /// True: released.
    async fn handle_down(&mut self, payload: &[u8]) -> bool {
        let Some(link) = &mut self.link else { return false };
        let worker = self.worker;
        match link.handle::<Down>(payload, clock::monotonic_ns()).expect("sense") {
            Incoming::Beat(Content::Beat { sent_ns }) => {
                let answer = Content::Answer { sent_ns, here_ns: clock::monotonic_ns(), rss_bytes: 1 << 20 };
                link.put(&self.bus, answer).await;
            }
            Incoming::Message(Down::Brief(brief)) => {
                self.worker = brief.segments[0].worker;
                link.send(&Up::Ready);
            }
            Incoming::Message(Down::Command(command)) => match command {
                Command::Step(order) => {
                    self.step = order.index;
                    link.send(&Up::Report(Report::Grown { worker, usable: 10, slow: 0 }));
                }
                Command::Go { at_ns } => self.loading = Some((at_ns + 1_000_000_000, at_ns + STEP_NS)),
                Command::Settle => {
                    let settled = Settled { worker, delta: self.delta(0), ..Settled::default() };
                    self.link
                        .as_mut()
                        .expect("just used")
                        .send(&Up::Report(Report::Settled(Box::new(settled))));
                }
                Command::Finish => link.send(&Up::Report(Report::Finished { worker })),
                Command::Clock { .. } => {}
            },
            Incoming::Message(Down::Release) => return true,
            Incoming::Beat(_) | Incoming::Nothing => {}
        }
        false
    }

    fn handle_tick(&mut self) {
        let now_ns = clock::monotonic_ns();
        let Some((due_ns, end_ns)) = self.loading.filter(|(due_ns, _)| now_ns >= *due_ns) else { return };
        let delta = Report::Delta(Box::new(self.delta(SAMPLES_PER_S)));
        let link = self.link.as_mut().expect("claimed");
        link.send(&Up::Report(delta));
        self.loading = (due_ns < end_ns).then_some((due_ns + 1_000_000_000, end_ns));
        if self.loading.is_none() {
            let sent = STEP_NS / 1_000_000_000 * SAMPLES_PER_S;
            link.send(&Up::Report(Report::Loaded { worker: self.worker, sent }));
        }
    }

    fn delta(&self, samples: u64) -> Delta {
        let mut delta = Delta {
            worker: self.worker,
            step: self.step,
            at_ns: clock::monotonic_ns(),
            usable: 10,
            last_arrival_ns: clock::monotonic_ns(),
            ..Delta::default()
        };
        let mut rng = fastrand::Rng::with_seed(self.worker.into());
        for _ in 0..samples {
            // A tail as of a real server: from 100 µs up to 100 ms.
            let ns = (100_000.0 / (1.0 - rng.f64()).max(0.001)) as u64;
            delta.figures.rtt.record_ns(ns);
            delta.figures.service.record_ns(ns);
            delta.figures.send_lag.record_ns(ns / 100);
        }
        (delta.counts.sent, delta.counts.received) = (samples, samples);
        delta
    }
}

/// Never carried out.
fn plan() -> Plan {
    let speech = Speech {
        dialect: "raw".into(),
        host: "server".into(),
        path: "/".into(),
        origin: None,
        subprotocols: Vec::new(),
        headers: Vec::new(),
        userinfo: None,
        deflate: false,
        payload_bytes: None,
        payload_bytes_max: None,
        rows: Default::default(),
        text: false,
        message_bytes_max: 1 << 20,
        of_dialect: Default::default(),
    };
    let connecting = Connecting { timeout_ns: 1, rate_per_s: None, parallel: 1, local_addrs: Vec::new() };
    Plan {
        endpoints: vec![Endpoint::Unix("/nowhere".into())],
        tls: None,
        speech,
        workload: Workload::Echo,
        slow: None,
        churn: None,
        connecting,
        draining: Draining { quiet_ns: 2_000_000_000, timeout_ns: 5_000_000_000 },
        records_events: false,
        epoch_ns: clock::monotonic_ns(),
        seed: 1,
    }
}

struct Nobody;

impl Observer for Nobody {
    fn handle_progress(&mut self, _: &Progress) {}

    fn is_interrupted(&self) -> bool {
        false
    }
}

/// CPU time of this process' threads of that name.
fn cpu_ns(name: &str) -> u64 {
    let mut tree = net::proc::ProcessTree::new(std::process::id());
    tree.sample().expect("this process runs");
    let threads = tree.threads();
    threads.iter().filter(|thread| thread.name == name).map(|thread| thread.user_ns + thread.system_ns).sum()
}

#[test]
#[ignore = "needs THRONG_SIMULATION_NATS, and a quiet machine: docs/FLEET.md"]
fn a_thousand_agents() {
    let Ok(url) = std::env::var("THRONG_SIMULATION_NATS") else { return };
    let number: usize = std::env::var("THRONG_SIMULATION_AGENTS").map_or(1_000, |text| text.parse().unwrap());
    let nats = Nats { url, ..Nats::default() };
    let at = nats.clone();
    let agents = std::thread::Builder::new().name("agents".into()).spawn(move || {
        super::bus::runtime().unwrap().block_on(async {
            let mut agents = JoinSet::new();
            (0..number).for_each(|index| _ = agents.spawn(Simulated::run(at.clone(), index)));
            while agents.join_next().await.is_some() {}
        });
    });
    let wanted =
        Gathering { nats, agents: Some(number), wait: Duration::from_secs(30), ..Gathering::default() };
    let began = Instant::now();
    let watch = ServerWatch::new(None);
    let mut crew = Crew::of_fleet(&plan(), &wanted, OnLoss::Abort, watch).expect("a fleet");
    let ready_s = began.elapsed().as_secs_f64();
    let (fleet_ns, own_ns, began) = (cpu_ns("fleet"), clock::thread_cpu_ns(), Instant::now());
    let load = Load::Hold { duration_ns: STEP_NS };
    let order = StepOrder { index: 0, clients: 10 * number as u32, load, warmup: false };
    let step = crew.measure(order, &mut Nobody).map_err(|broken| broken.error).expect("a step");
    let elapsed_s = began.elapsed().as_secs_f64();
    let share = |ns: u64| 100.0 * ns as f64 / 1e9 / elapsed_s;
    let (link, merge) = (share(cpu_ns("fleet") - fleet_ns), share(clock::thread_cpu_ns() - own_ns));
    assert_eq!(
        step.counts.received,
        number as u64 * STEP_NS / 1_000_000_000 * SAMPLES_PER_S,
        "nothing is lost"
    );
    assert_eq!(step.figures.rtt.count(), step.counts.received);
    let errors = step.fleet.iter().filter_map(|agent| agent.clock_error_ns).max();
    let overhead_s = elapsed_s - STEP_NS as f64 / 1e9;
    println!(
        "{number} agents: ready in {ready_s:.2} s; a step of 10 s took {overhead_s:.2} s more; coordinator {link:.1}% \
         CPU for links, {merge:.1}% for merging; clocks within {:.3} ms; {} of memory",
        errors.unwrap_or(0) as f64 / 1e6,
        net::proc::self_rss_bytes().unwrap_or(0),
    );
    crew.finish(&mut Nobody);
    agents.unwrap().join().unwrap();
}
