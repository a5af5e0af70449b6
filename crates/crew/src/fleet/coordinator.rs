//! The coordinator's end: a thread that keeps the links to a run's agents.
//!
//! Rules. An agent is met (beats go out quickly, until its clock is known well), briefed, ready, and at the end
//! released. One that is silent for the lease, leaves, fails or talks nonsense is lost: it hears no more of the run, and
//! the crew hears of it as of a worker that failed. What the crew does never waits for the network.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use async_nats::Subscriber;
use engine::events::Entry;
use engine::{Command, Report};
use futures_util::StreamExt;
use load::{Plan, Segment};
use net::clock;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::bus::{Bus, Content, runtime};
use super::gather::{self, Gathering};
use super::intro::{self, Hello};
use super::link::{Incoming, Link};
use super::offset::{Exchanges, Offset};
use super::{BEAT_INTERVAL_NS, Brief, Down, Error, Up};

/// How often the coordinator looks around, and how often it beats until it knows a clock.
const TICK: Duration = Duration::from_millis(20);
/// Exchanges after which a clock is known.
const EXCHANGES_MIN: usize = 8;
/// Agents that have been claimed stand by then.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long agents may take to hear that they are released; those that do not notice by their lease.
const RELEASE_NS: u64 = 1_000_000_000;
/// Reports that wait for the crew. When so many do, what agents send is dropped, and comes again when it has waited.
const REPORTS_WAITING_MAX: usize = 512;
/// No agent's clock reading is further ahead than this.
const AHEAD_NS_MAX: u64 = 60_000_000_000;

/// A run's agents on other machines.
pub struct Fleet {
    orders: UnboundedSender<Order>,
    states: Arc<Mutex<Vec<AgentState>>>,
    thread: Option<JoinHandle<()>>,
}

/// What is known of an agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentState {
    /// Its name.
    pub name: String,
    /// Its workers.
    pub workers: Range<u16>,
    /// Clients that its processes may have.
    pub clients_max: u64,
    /// Its clock.
    pub offset: Option<Offset>,
    /// Memory of its processes.
    pub rss_bytes: u64,
}

enum Order {
    Command(Command),
    /// The crew goes on without the agent of this worker.
    Dismiss(u16),
    Release,
}

impl Fleet {
    /// Finds and claims the agents, and waits until their workers stand. Gives also what these report.
    pub(crate) fn start(
        wanted: &Gathering,
        plan: &Plan,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<(Self, Receiver<Report>), Error> {
        let (orders, inbox) = unbounded_channel();
        let (sender, reports) = mpsc::sync_channel(REPORTS_WAITING_MAX);
        let states = Arc::new(Mutex::new(Vec::new()));
        let (started, outcome) = mpsc::channel();
        let (wanted, plan, shared) = (wanted.clone(), plan.clone(), Arc::clone(&states));
        let patience = wanted.wait + READY_TIMEOUT;
        let work = move || {
            let began = runtime().and_then(|runtime| {
                runtime.block_on(async {
                    let (relay, ups) = Relay::begin(&wanted, plan, sender, shared, started.clone()).await?;
                    relay.run(inbox, ups).await;
                    Ok(())
                })
            });
            if let Err(error) = began {
                let _ = started.send(Err(error));
            }
        };
        let thread = thread::Builder::new().name("fleet".into()).spawn(work);
        let thread = thread.map_err(|error| Error::Start(error.to_string()))?;
        let mut fleet = Self { orders, states, thread: Some(thread) };
        let began = Instant::now();
        loop {
            match outcome.recv_timeout(TICK) {
                Ok(outcome) => return outcome.map(|()| (fleet, reports)),
                Err(RecvTimeoutError::Timeout) if is_interrupted() => {
                    // It ends with this process; those that it has claimed are free by their lease.
                    fleet.thread = None;
                    return Err(Error::Agents("interrupted before the agents were there".into()));
                }
                Err(RecvTimeoutError::Timeout) if began.elapsed() < patience => {}
                Err(_) => return Err(Error::Agents("the agents did not get ready".into())),
            }
        }
    }

    /// Tells every agent. Before a step, each learns anew how far its clock is from ours.
    pub(crate) fn send(&mut self, command: &Command) {
        let _ = self.orders.send(Order::Command(command.clone()));
    }

    /// Does without the agent of this worker from now on: it hears no more, and is free again by its lease.
    pub(crate) fn dismiss(&self, worker: u16) {
        let _ = self.orders.send(Order::Dismiss(worker));
    }

    /// What is known of each.
    pub(crate) fn states(&self) -> MutexGuard<'_, Vec<AgentState>> {
        self.states.lock().expect("the relay does not panic")
    }
}

impl Drop for Fleet {
    /// Releases the agents.
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Met,
    Briefed,
    Ready,
    Lost,
}

/// One agent.
struct Post {
    hello: Hello,
    link: Link,
    phase: Phase,
    exchanges: Exchanges,
    beat_ns: u64,
    /// The last beat has not been answered yet.
    awaits_answer: bool,
    segments: Vec<Segment>,
    processes: u16,
}

struct Relay {
    bus: Bus,
    plan: Plan,
    posts: Vec<Post>,
    workers: u16,
    reports: SyncSender<Report>,
    /// Reports that the crew had no room for: one, and that agents were lost.
    waiting: VecDeque<Report>,
    states: Arc<Mutex<Vec<AgentState>>>,
    started: Option<Sender<Result<(), Error>>>,
    /// When to end, once all are to be released.
    until_ns: Option<u64>,
}

impl Relay {
    async fn begin(
        wanted: &Gathering,
        plan: Plan,
        reports: SyncSender<Report>,
        states: Arc<Mutex<Vec<AgentState>>>,
        started: Sender<Result<(), Error>>,
    ) -> Result<(Self, Subscriber), Error> {
        let bus = Bus::connect(&wanted.nats).await?;
        let agents = gather::find(&bus, wanted).await?;
        let run = intro::unique();
        let ups = bus.subscribe(format!("throng.run.{run}.*")).await?;
        let (sessions, refusal) = gather::claim(&bus, &run, &agents).await;
        let now_ns = clock::monotonic_ns();
        if let Some(error) = refusal {
            for (hello, session) in agents.iter().zip(sessions) {
                let Some(session) = session else { continue };
                let mut link = Link::new(&bus, intro::down_subject(&hello.id), session, now_ns);
                link.send(&Down::Release);
                link.pump(&bus, now_ns).await;
            }
            let _ = bus.flush().await;
            return Err(error);
        }
        let threads = |hello: &Hello| wanted.threads.unwrap_or(hello.threads);
        let workers = agents.iter().map(|hello| u32::from(threads(hello))).sum::<u32>();
        let workers =
            u16::try_from(workers).map_err(|_| Error::Agents("more than 65,535 workers in all".into()))?;
        let mut first = 0;
        let posts = agents.into_iter().zip(sessions).map(|(hello, session)| {
            let own = first..first + threads(&hello);
            first = own.end;
            let session = session.expect("nobody refused");
            let link = Link::new(&bus, intro::down_subject(&hello.id), session, now_ns);
            Post::new(hello, link, own, workers, wanted.clients_max)
        });
        let posts: Vec<Post> = posts.collect();
        *states.lock().expect("nobody panics with it") = posts.iter().map(Post::state).collect();
        let (waiting, started) = (VecDeque::new(), Some(started));
        Ok((Self { bus, plan, posts, workers, reports, waiting, states, started, until_ns: None }, ups))
    }

    async fn run(mut self, mut orders: UnboundedReceiver<Order>, mut ups: Subscriber) {
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
        if let Order::Dismiss(worker) = order {
            let dismissed = self.posts.iter_mut().filter(|post| post.is_own(worker));
            return dismissed.for_each(|post| post.phase = Phase::Lost);
        }
        let now_ns = clock::monotonic_ns();
        for post in self.posts.iter_mut().filter(|post| post.phase != Phase::Lost) {
            match &order {
                Order::Command(command) => {
                    if let (Command::Step(_), Some(offset)) = (command, post.exchanges.best(now_ns)) {
                        let offset_ns = offset.offset_ns;
                        post.link.send(&Down::Command(Command::Clock { offset_ns }));
                    }
                    post.link.send(&Down::Command(command.clone()));
                }
                Order::Release => post.link.send(&Down::Release),
                Order::Dismiss(_) => {}
            }
            post.link.pump(&self.bus, now_ns).await;
        }
        if let Order::Release = order {
            self.until_ns.get_or_insert(now_ns + RELEASE_NS);
        }
    }

    async fn handle_up(&mut self, subject: &str, payload: &[u8]) {
        let now_ns = clock::monotonic_ns();
        let index = subject.rsplit('.').next().and_then(|token| token.parse::<usize>().ok());
        let Some((index, post)) = index.and_then(|index| Some((index, self.posts.get_mut(index)?))) else {
            return;
        };
        if post.phase == Phase::Lost {
            return;
        }
        match post.link.handle_if::<Up>(self.waiting.is_empty(), payload, now_ns) {
            Err(_) => self.lose(index, "it talks nonsense"),
            Ok(Incoming::Nothing) => {}
            Ok(Incoming::Beat(content)) => self.handle_answer(index, &content, now_ns),
            Ok(Incoming::Message(Up::Ready)) => {
                post.phase = Phase::Ready;
                if self.posts.iter().all(|post| post.phase == Phase::Ready) {
                    self.start(Ok(()));
                }
            }
            Ok(Incoming::Message(Up::Leaving(why))) => {
                let why: String = why.chars().filter(|c| !c.is_control()).take(200).collect();
                self.lose(index, &format!("it left: {why}"));
            }
            Ok(Incoming::Message(Up::Report(Report::Failed { message, .. }))) => {
                let message: String = message.chars().filter(|c| !c.is_control()).take(200).collect();
                self.lose(index, &message);
            }
            Ok(Incoming::Message(Up::Report(report))) if post.may_say(&report, self.workers) => {
                self.tell(report);
            }
            Ok(Incoming::Message(Up::Report(_))) => self.lose(index, "it talks nonsense"),
        }
    }

    fn handle_answer(&mut self, index: usize, content: &Content, now_ns: u64) {
        let &Content::Answer { sent_ns, here_ns, rss_bytes } = content else { return };
        let post = &mut self.posts[index];
        post.awaits_answer = false;
        // Only what we have sent can be answered.
        if sent_ns <= now_ns && sent_ns >= post.beat_ns.saturating_sub(AHEAD_NS_MAX) {
            post.exchanges.add(sent_ns, here_ns, now_ns);
        }
        let mut states = self.states.lock().expect("nobody panics with it");
        states[index].offset = post.exchanges.best(now_ns);
        states[index].rss_bytes = rss_bytes;
    }

    async fn handle_tick(&mut self) {
        self.tell_waiting();
        let now_ns = clock::monotonic_ns();
        for index in 0..self.posts.len() {
            let post = &mut self.posts[index];
            if post.phase == Phase::Lost {
                continue;
            }
            if post.link.is_lost(now_ns) {
                self.lose(index, "no word from it for 3 s");
                continue;
            }
            if post.phase == Phase::Met && post.exchanges.count() >= EXCHANGES_MIN {
                post.link.send(&Down::Brief(Box::new(post.brief(&self.plan, now_ns))));
                post.phase = Phase::Briefed;
            }
            // Thousands of agents are met at the pace at which they answer.
            let is_next = post.exchanges.count() < EXCHANGES_MIN && !post.awaits_answer;
            if is_next || now_ns.saturating_sub(post.beat_ns) >= BEAT_INTERVAL_NS {
                (post.beat_ns, post.awaits_answer) = (now_ns, true);
                post.link.put(&self.bus, Content::Beat { sent_ns: clock::monotonic_ns() }).await;
            }
            post.link.pump(&self.bus, now_ns).await;
        }
    }

    /// An agent is lost to the run.
    fn lose(&mut self, index: usize, why: &str) {
        let post = &mut self.posts[index];
        post.phase = Phase::Lost;
        let worker = post.segments[0].worker;
        let agent = post.hello.name.clone();
        self.tell(Report::Failed { worker, message: why.to_owned() });
        self.start(Err(Error::Agent { agent, why: why.to_owned() }));
    }

    /// Tells the crew, now or when it has room: the link goes on meanwhile.
    fn tell(&mut self, report: Report) {
        self.waiting.push_back(report);
        self.tell_waiting();
    }

    fn tell_waiting(&mut self) {
        while let Some(report) = self.waiting.pop_front() {
            // A crew that is gone has nobody to tell.
            if let Err(TrySendError::Full(report)) = self.reports.try_send(report) {
                return self.waiting.push_front(report);
            }
        }
    }

    /// Tells whoever waits for the agents, if anybody still does.
    fn start(&mut self, outcome: Result<(), Error>) {
        if let Some(started) = self.started.take() {
            let _ = started.send(outcome);
        }
    }

    fn is_over(&self) -> bool {
        let has_heard = |post: &Post| post.phase == Phase::Lost || post.link.is_idle();
        self.until_ns.is_some_and(|ns| ns <= clock::monotonic_ns() || self.posts.iter().all(has_heard))
    }
}

impl Post {
    fn new(hello: Hello, link: Link, own: Range<u16>, workers: u16, clients_max: Option<u64>) -> Self {
        let segments: Vec<Segment> = own.map(|worker| Segment { worker, workers }).collect();
        let share = clients_max.unwrap_or(0).div_ceil(workers.max(1).into()) * segments.len() as u64;
        let processes = share.div_ceil(hello.clients_per_process.into()).clamp(1, segments.len() as u64);
        let processes = processes as u16;
        Self {
            hello,
            link,
            phase: Phase::Met,
            exchanges: Exchanges::default(),
            beat_ns: 0,
            awaits_answer: false,
            segments,
            processes,
        }
    }

    fn state(&self) -> AgentState {
        let first = self.segments[0].worker;
        AgentState {
            name: self.hello.name.clone(),
            workers: first..first + self.segments.len() as u16,
            clients_max: u64::from(self.hello.clients_per_process) * u64::from(self.processes),
            ..AgentState::default()
        }
    }

    fn brief(&self, plan: &Plan, now_ns: u64) -> Brief {
        let offset_ns = self.exchanges.best(now_ns).map_or(0, |offset| offset.offset_ns);
        Brief { plan: plan.clone(), segments: self.segments.clone(), processes: self.processes, offset_ns }
    }

    fn is_own(&self, worker: u16) -> bool {
        self.segments.iter().any(|segment| segment.worker == worker)
    }

    /// Whether a report can be this agent's: of its own workers, or their clients. Whether it can be true, the crew finds out.
    fn may_say(&self, report: &Report, workers: u16) -> bool {
        match report {
            Report::Events(batch) => {
                let is_own = |entry: &Entry| self.is_own((entry.client() % u32::from(workers)) as u16);
                batch.entries.iter().all(is_own)
            }
            _ => report.worker().is_some_and(|worker| self.is_own(worker)),
        }
    }
}
