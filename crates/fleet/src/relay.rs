//! The links to a run's agents, in a thread of their own.
//!
//! Rules. An agent is met (beats go out quickly, until its clock is known well), briefed, ready, and at the
//! end released. One that is silent for the lease, leaves, fails or talks nonsense is lost: it is released at
//! once, hears no more of the run, and the crew hears of it as of a worker that failed.

use std::collections::VecDeque;
use std::sync::mpsc::{Sender, SyncSender, TrySendError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::Subscriber;
use engine::{Command, Report};
use futures_util::StreamExt;
use load::Plan;
use net::clock;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::Error;
use crate::agent_link::{self, AgentLink, AgentState, Phase};
use crate::bus::{Bus, Content};
use crate::gather::{self, AgentSelection};
use crate::intro;
use crate::link::Incoming;
use crate::stall::{OtherAgents, StallCause, StallDetector};
use crate::talk::{BEAT_INTERVAL_NS, Down, Up};

/// How often the relay checks its links, and how often it sends beats until it knows a clock.
const TICK: Duration = Duration::from_millis(20);
/// Exchanges after which a clock is known.
const EXCHANGES_MIN: usize = 8;
/// How long agents may take to hear that they are released; otherwise they notice by their lease.
const RELEASE_NS: u64 = 1_000_000_000;
/// How far an agent's clock reading may be ahead.
const AHEAD_NS_MAX: u64 = 60_000_000_000;

/// Orders of the crew to the agents.
pub(crate) enum Order {
    Command(Command),
    /// The crew goes on without the agent of this worker.
    Dismiss(u16),
    Release,
}

/// The links of a run's agents, and what they report.
pub(crate) struct Relay {
    bus: Bus,
    plan: Plan,
    agents: Vec<AgentLink>,
    workers: u16,
    reports: SyncSender<Report>,
    /// Reports that the crew had no room for: one of an agent, and reports of lost agents.
    waiting: VecDeque<Report>,
    states: Arc<Mutex<Vec<AgentState>>>,
    started: Option<Sender<Result<(), Error>>>,
    /// When to end, once all agents are to be released.
    until_ns: Option<u64>,
    stall: StallDetector,
}

impl Relay {
    /// Finds the agents, and claims them once nothing speaks against the run.
    pub(crate) async fn begin(
        wanted: &AgentSelection,
        plan: Plan,
        reports: SyncSender<Report>,
        states: Arc<Mutex<Vec<AgentState>>>,
        started: Sender<Result<(), Error>>,
    ) -> Result<(Self, Subscriber), Error> {
        let bus = Bus::connect(&wanted.nats).await?;
        let hellos = gather::find(&bus, wanted).await?;
        let parts = agent_link::parts(hellos.iter().map(|hello| wanted.threads.unwrap_or(hello.threads)))?;
        for (hello, part) in hellos.iter().zip(&parts) {
            agent_link::check_rows(&plan, &hello.name, part)?;
        }
        let workers = parts[0][0].workers;
        let run = intro::unique();
        // Before any agent is claimed: NATS keeps nothing for a subject without a subscriber.
        let ups = bus.subscribe(format!("throng.run.{run}.*")).await?;
        let (claimed, refusal) = gather::claim(&bus, &run, &hellos, wanted.key.as_ref()).await;
        let now_ns = clock::monotonic_ns();
        if let Some(error) = refusal {
            for (hello, claimed) in hellos.iter().zip(claimed) {
                let Some(claimed) = claimed else { continue };
                let mut link = claimed.link(&bus, hello, now_ns);
                link.send(&Down::Release);
                link.pump(&bus, now_ns).await;
            }
            let _ = bus.flush().await;
            return Err(error);
        }
        let agents = hellos.into_iter().zip(claimed).zip(parts).map(|((hello, claimed), part)| {
            let link = claimed.expect("nobody refused").link(&bus, &hello, now_ns);
            AgentLink::new(hello, link, part, wanted.clients_max)
        });
        let agents: Vec<AgentLink> = agents.collect();
        *states.lock().expect("nobody panics with it") = agents.iter().map(AgentLink::state).collect();
        let (waiting, started) = (VecDeque::new(), Some(started));
        let stall = StallDetector::new(now_ns);
        let relay =
            Self { bus, plan, agents, workers, reports, waiting, states, started, until_ns: None, stall };
        Ok((relay, ups))
    }

    /// Serves the links until the agents are released.
    pub(crate) async fn run(mut self, mut orders: UnboundedReceiver<Order>, mut ups: Subscriber) {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                order = orders.recv() => self.handle_order(order.unwrap_or(Order::Release)).await,
                Some(up) = ups.next() => self.handle_up(&up.subject, &up.payload).await,
                _ = ticks.tick() => self.handle_tick().await,
            }
            if self.is_over() {
                let _ = self.bus.flush().await;
                return;
            }
        }
    }

    async fn handle_order(&mut self, order: Order) {
        let now_ns = clock::monotonic_ns();
        if let Order::Dismiss(worker) = order {
            let is_dismissed = |agent: &&mut AgentLink| agent.phase != Phase::Lost && agent.is_own(worker);
            for agent in self.agents.iter_mut().filter(is_dismissed) {
                agent.dismiss(&self.bus, now_ns).await;
            }
            return;
        }
        for (index, agent) in
            self.agents.iter_mut().enumerate().filter(|(_, agent)| agent.phase != Phase::Lost)
        {
            match &order {
                Order::Command(command) => {
                    // Only between steps: a clock that moves in the midst of one would move its latencies.
                    if let (Command::Step(_), Some(offset_ns)) = (command, agent.exchanges.apply(now_ns)) {
                        agent.link.send(&Down::Command(Command::Clock { offset_ns }));
                        let mut states = self.states.lock().expect("nobody panics with it");
                        states[index].offset = agent.exchanges.applied(now_ns);
                    }
                    agent.link.send(&Down::Command(command.clone()));
                }
                Order::Release => agent.link.send(&Down::Release),
                Order::Dismiss(_) => {}
            }
            agent.link.pump(&self.bus, now_ns).await;
        }
        if let Order::Release = order {
            self.until_ns.get_or_insert(now_ns + RELEASE_NS);
        }
    }

    async fn handle_up(&mut self, subject: &str, payload: &[u8]) {
        let now_ns = clock::monotonic_ns();
        let index = subject.rsplit('.').next().and_then(|token| token.parse::<usize>().ok());
        let Some((index, agent)) = index.and_then(|index| Some((index, self.agents.get_mut(index)?))) else {
            return;
        };
        if agent.phase == Phase::Lost {
            return;
        }
        // Nothing is taken off a link while the crew has no room: what is not acknowledged waits at the
        // agent.
        match agent.link.handle_if::<Up>(self.waiting.is_empty(), payload, now_ns) {
            Err(_) => self.lose(index, "it talks nonsense").await,
            Ok(Incoming::Nothing) => {}
            Ok(Incoming::Beat(content)) => self.handle_answer(index, &content, now_ns),
            Ok(Incoming::Message(Up::Ready { rss_bytes })) => self.handle_ready(index, rss_bytes),
            Ok(Incoming::Message(Up::Leaving(why))) => {
                let why: String = why.chars().filter(|c| stats::is_shown(*c)).take(200).collect();
                self.lose(index, &format!("it left: {why}")).await;
            }
            Ok(Incoming::Message(Up::Report(Report::Failed { message, .. }))) => {
                // An agent's words go to a terminal and into results, and may be anything: short, and nothing
                // that is not shown.
                let message: String = message.chars().filter(|c| stats::is_shown(*c)).take(200).collect();
                self.lose(index, &message).await;
            }
            Ok(Incoming::Message(Up::Report(report))) if agent.may_say(&report, &self.plan, self.workers) => {
                self.tell(report);
            }
            Ok(Incoming::Message(Up::Report(_))) => self.lose(index, "it talks nonsense").await,
        }
    }

    /// Notes that an agent's workers are ready, with this memory before their first client.
    fn handle_ready(&mut self, index: usize, rss_bytes: Option<u64>) {
        self.agents[index].phase = Phase::Ready;
        let mut states = self.states.lock().expect("nobody panics with it");
        (states[index].is_ready, states[index].rss_bytes) = (true, rss_bytes);
        drop(states);
        if self.agents.iter().all(|agent| agent.phase == Phase::Ready) {
            self.start(Ok(()));
        }
    }

    fn handle_answer(&mut self, index: usize, content: &Content, now_ns: u64) {
        let &Content::Answer { sent_ns, here_ns, rss_bytes } = content else { return };
        let agent = &mut self.agents[index];
        agent.awaits_answer = false;
        // Only what we have sent can be answered.
        if sent_ns <= now_ns && sent_ns >= agent.beat_ns.saturating_sub(AHEAD_NS_MAX) {
            agent.exchanges.add(sent_ns, here_ns, now_ns);
        }
        let mut states = self.states.lock().expect("nobody panics with it");
        states[index].offset = agent.exchanges.applied(now_ns);
        states[index].rss_bytes = rss_bytes;
    }

    async fn handle_tick(&mut self) {
        self.tell_waiting();
        let now_ns = clock::monotonic_ns();
        let is_connected = self.bus.is_connected();
        self.stall.handle_tick(is_connected, now_ns);
        for index in 0..self.agents.len() {
            let agent = &mut self.agents[index];
            if agent.phase == Phase::Lost {
                continue;
            }
            if agent.link.is_lost(now_ns) {
                let excuse = self.excuse(index, now_ns);
                let excuse = excuse.map(|excuse| excuse.to_string());
                self.lose(index, excuse.as_deref().unwrap_or("no word from it for 3 s")).await;
                continue;
            }
            if agent.phase == Phase::Met && agent.exchanges.count() >= EXCHANGES_MIN {
                let brief = agent.brief(&self.plan, now_ns);
                agent.link.send(&Down::Brief(Box::new(brief)));
                agent.phase = Phase::Briefed;
            }
            // Thousands of agents are met at the pace at which they answer.
            let is_next = agent.exchanges.count() < EXCHANGES_MIN && !agent.awaits_answer;
            let is_due = is_next || now_ns.saturating_sub(agent.beat_ns) >= BEAT_INTERVAL_NS;
            // Not while NATS is away: as the lease runs on, a beat has to go out once it is back.
            if is_connected && is_due {
                (agent.beat_ns, agent.awaits_answer) = (now_ns, true);
                agent.link.put(&self.bus, Content::Beat { sent_ns: clock::monotonic_ns() }).await;
            }
            agent.link.pump(&self.bus, now_ns).await;
        }
    }

    /// The cause for which an agent was not heard, where that is not its own doing.
    fn excuse(&self, index: usize, now_ns: u64) -> Option<StallCause> {
        let others = self.agents.iter().enumerate().filter(|(at, _)| *at != index);
        let silent = others.filter(|(_, agent)| agent.link.is_silent(now_ns)).count();
        self.stall.excuse(OtherAgents { agents: self.agents.len() - 1, silent }, now_ns)
    }

    /// Loses an agent to the run, for `why`.
    async fn lose(&mut self, index: usize, why: &str) {
        let agent = &mut self.agents[index];
        agent.dismiss(&self.bus, clock::monotonic_ns()).await;
        let worker = agent.segments[0].worker;
        let name = agent.hello.name.clone();
        self.tell(Report::Failed { worker, message: why.to_owned() });
        self.start(Err(Error::Agent { agent: name, why: why.to_owned() }));
    }

    /// Tells the crew, now or when it has room: the link goes on meanwhile.
    fn tell(&mut self, report: Report) {
        self.waiting.push_back(report);
        self.tell_waiting();
    }

    fn tell_waiting(&mut self) {
        while let Some(report) = self.waiting.pop_front() {
            // A crew that is gone needs no reports.
            if let Err(TrySendError::Full(report)) = self.reports.try_send(report) {
                return self.waiting.push_front(report);
            }
        }
    }

    /// Tells the thread that waits for the agents, if it still does.
    fn start(&mut self, outcome: Result<(), Error>) {
        if let Some(started) = self.started.take() {
            let _ = started.send(outcome);
        }
    }

    fn is_over(&self) -> bool {
        let has_heard = |agent: &AgentLink| agent.phase == Phase::Lost || agent.link.is_idle();
        self.until_ns.is_some_and(|ns| ns <= clock::monotonic_ns() || self.agents.iter().all(has_heard))
    }
}
