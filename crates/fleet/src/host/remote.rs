//! The coordinator's end: claims a target agent, keeps the lease, and asks one thing at a time.

use std::net::Ipv4Addr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use async_nats::Subscriber;
use futures_util::StreamExt;
use net::clock;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::talk::{Down, Running, StageFailure, Up, plain};
use crate::access::Nats;
use crate::bus::{self, Bus, Content};
use crate::link::{Incoming, Link};
use crate::seal::FleetKey;
use crate::talk::BEAT_INTERVAL_NS;
use crate::{Error, HostHello, gather, intro};

/// How often the coordinator checks its link.
const TICK: Duration = Duration::from_millis(20);
/// How often a waiting coordinator checks for an interrupt.
const POLL: Duration = Duration::from_millis(50);
/// How long an agent that is there may take: to install, build and check (two steps of half an hour, and a
/// check), to start a server, and to stop one. All have bounds of their own where they are done.
const PREPARE_MAX: Duration = Duration::from_secs(90 * 60);
const START_MAX: Duration = Duration::from_secs(15 * 60);
const STOP_MAX: Duration = Duration::from_secs(5 * 60);
/// How long an agent may take to hear that it is released; otherwise it notices by its lease.
const RELEASE_NS: u64 = 1_000_000_000;

/// A target agent that works for us; a drop releases it.
pub struct Remote {
    /// Its name.
    pub name: String,
    /// Its machine.
    pub host: HostHello,
    orders: UnboundedSender<Down>,
    answers: Receiver<Up>,
    notices: Arc<Mutex<Notices>>,
    thread: Option<JoinHandle<()>>,
}

/// Messages of the agent that answer nothing.
#[derive(Default)]
struct Notices {
    /// Why the agent is lost.
    lost: Option<String>,
    /// How the running server has ended.
    died: Option<String>,
}

impl Remote {
    /// Finds the agent, waiting for it as long as allowed, and claims it; the key signs its orders, if it
    /// wants that.
    ///
    /// # Errors
    /// NATS cannot be reached; the agent is not there, is of another version, obeys another key, or works for
    /// another run; the user does not want to wait for it.
    pub fn claim(
        nats: &Nats,
        agent: &str,
        wait: Duration,
        key: Option<&FleetKey>,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let runtime = bus::runtime()?;
        let begin = async {
            tokio::select! {
                begun = Relay::begin(nats, agent, wait, key) => begun,
                // If it has been claimed by now, it is free by its lease.
                () = until(is_interrupted) => Err(Error::Agents("interrupted before the agent was there".into())),
            }
        };
        let (relay, ups, hello) = runtime.block_on(begin)?;
        let host = hello.host.expect("a target agent");
        let (orders, inbox) = unbounded_channel();
        let (outbox, answers) = mpsc::channel();
        let notices = Arc::new(Mutex::new(Notices::default()));
        let shared = Arc::clone(&notices);
        let work = move || runtime.block_on(relay.run(inbox, ups, &outbox, &shared));
        let thread = thread::Builder::new().name("target-agent".into()).spawn(work);
        let thread = Some(thread.map_err(|error| Error::Start(error.to_string()))?);
        Ok(Self { name: hello.name, host, orders, answers, notices, thread })
    }

    /// Why the agent is lost, if it is.
    pub fn lost(&self) -> Option<String> {
        let notices = self.notices.lock().expect("nobody panics with it");
        notices.lost.as_ref().map(|why| format!("target agent {} was lost: {why}", self.name))
    }

    /// The address of servers that run there.
    pub fn address(&self) -> Ipv4Addr {
        self.host.address
    }

    /// The target's version, once it is installed, if that is allowed, built and checked there.
    ///
    /// # Errors
    /// What went wrong.
    pub fn prepare(
        &self,
        target: &str,
        may_install: bool,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<String, StageFailure> {
        let order = Down::Prepare { target: target.to_owned(), may_install };
        match self.ask(order, "check", PREPARE_MAX, is_interrupted)? {
            Up::Prepared(outcome) => outcome.map(|version| plain(&version)).map_err(StageFailure::plain),
            _ => Err(self.nonsense()),
        }
    }

    /// Starts the target there.
    ///
    /// # Errors
    /// What went wrong.
    pub fn start(
        &self,
        target: &str,
        cpus: &[usize],
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Running, StageFailure> {
        self.notices.lock().expect("nobody panics with it").died = None;
        let order = Down::Start { target: target.to_owned(), cpus: cpus.to_vec() };
        match self.ask(order, "start", START_MAX, is_interrupted)? {
            Up::Started(outcome) => outcome.map_err(StageFailure::plain),
            _ => Err(self.nonsense()),
        }
    }

    /// How the server that runs there has ended, if it has.
    pub fn poll_death(&self) -> Option<String> {
        self.notices.lock().expect("nobody panics with it").died.clone()
    }

    /// Ends the server that runs there.
    ///
    /// # Errors
    /// The agent is lost, and what it measured with it.
    pub fn stop(&self) -> Result<(), StageFailure> {
        self.ask(Down::Stop, "stop", STOP_MAX, &|| false).map(drop)
    }

    fn ask(
        &self,
        order: Down,
        stage: &str,
        within: Duration,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Up, StageFailure> {
        // Answers to earlier questions that were not waited for.
        while self.answers.try_recv().is_ok() {}
        let _ = self.orders.send(order);
        let start = Instant::now();
        loop {
            match self.answers.recv_timeout(POLL) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => {
                    let lost = self.lost().unwrap_or_else(|| "its link has ended".into());
                    return Err(StageFailure::of_agent(lost));
                }
                Err(RecvTimeoutError::Timeout) if is_interrupted() => {
                    return Err(StageFailure { stage: stage.to_owned(), reason: "interrupted".to_owned() });
                }
                Err(RecvTimeoutError::Timeout) if start.elapsed() > within => {
                    let minutes = within.as_secs() / 60;
                    let endless = format!(
                        "target agent {} did not end the stage {stage} within {minutes} minutes; see its output",
                        self.name
                    );
                    return Err(StageFailure::of_agent(endless));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn nonsense(&self) -> StageFailure {
        StageFailure::of_agent(format!("target agent {} talks nonsense", self.name))
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.orders.send(Down::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits until `is_so` returns true.
async fn until(is_so: &dyn Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(POLL).await;
    }
}

/// The thread's part: ends when the agent is lost or released, and with it the way that answers come.
struct Relay {
    bus: Bus,
    link: Link,
    beat_ns: u64,
    /// When to end, once the agent is to be released.
    until_ns: Option<u64>,
}

impl Relay {
    async fn begin(
        nats: &Nats,
        agent: &str,
        wait: Duration,
        key: Option<&FleetKey>,
    ) -> Result<(Self, Subscriber, intro::Hello), Error> {
        let bus = Bus::connect(nats).await?;
        let hello = gather::find_host(&bus, agent, wait).await?;
        if let Some(why) = gather::why_locked(&hello, key) {
            return Err(Error::Unfit { agent: agent.to_owned(), why });
        }
        let run = intro::unique();
        let ups = bus.subscribe(intro::up_subject(&run, 0)).await?;
        let (mut claimed, refusal) = gather::claim(&bus, &run, std::slice::from_ref(&hello), key).await;
        if let Some(error) = refusal {
            return Err(error);
        }
        let claimed = claimed.remove(0).expect("it did not refuse");
        let link = claimed.link(&bus, &hello, clock::own_monotonic_ns());
        Ok((Self { bus, link, beat_ns: 0, until_ns: None }, ups, hello))
    }

    async fn run(
        mut self,
        mut orders: UnboundedReceiver<Down>,
        mut ups: Subscriber,
        answers: &Sender<Up>,
        notices: &Mutex<Notices>,
    ) {
        let mut ticks = tokio::time::interval(TICK);
        let lost = loop {
            let lost = tokio::select! {
                order = orders.recv() => { self.handle_order(order.unwrap_or(Down::Release)); None }
                Some(up) = ups.next() => self.handle_up(&up.payload, answers, notices),
                _ = ticks.tick() => self.handle_tick().await,
            };
            if lost.is_some() {
                break lost;
            }
            self.link.pump(&self.bus, clock::own_monotonic_ns()).await;
            if self.until_ns.is_some_and(|ns| ns <= clock::own_monotonic_ns() || self.link.is_idle()) {
                break None;
            }
        };
        let _ = self.bus.flush().await;
        notices.lock().expect("nobody panics with it").lost = lost;
    }

    fn handle_order(&mut self, order: Down) {
        if let Down::Release = order {
            self.until_ns.get_or_insert(clock::own_monotonic_ns() + RELEASE_NS);
        }
        self.link.send(&order);
    }

    /// Handles a message of the agent. Returns why the agent is lost with that, if it is.
    fn handle_up(
        &mut self,
        payload: &[u8],
        answers: &Sender<Up>,
        notices: &Mutex<Notices>,
    ) -> Option<String> {
        match self.link.handle::<Up>(payload, clock::own_monotonic_ns()) {
            Err(_) => return Some("it talks nonsense".into()),
            Ok(Incoming::Nothing | Incoming::Beat(_)) => {}
            Ok(Incoming::Message(Up::Leaving(why))) => return Some(format!("it left: {}", plain(&why))),
            Ok(Incoming::Message(Up::Died(how))) => {
                notices.lock().expect("nobody panics with it").died = Some(plain(&how));
            }
            Ok(Incoming::Message(answer)) => {
                let _ = answers.send(answer);
            }
        }
        None
    }

    async fn handle_tick(&mut self) -> Option<String> {
        let now_ns = clock::own_monotonic_ns();
        if self.link.is_lost(now_ns) {
            return Some("no word from it for 3 s".into());
        }
        // Not while NATS is away: as the lease runs on, a beat has to go out once it is back.
        if self.bus.is_connected() && now_ns.saturating_sub(self.beat_ns) >= BEAT_INTERVAL_NS {
            self.beat_ns = now_ns;
            self.link.put(&self.bus, Content::Beat { sent_ns: now_ns }).await;
        }
        None
    }
}
