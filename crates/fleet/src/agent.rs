//! An agent, whatever it does: waits for a coordinator, and works for one at a time.
//!
//! Rules. Free: answers calls, takes the first claim of its own version. Claimed: refuses other claims, does
//! what it is asked in order, and says what came of it. It is free again when it is released, when it is told
//! to stop, when its coordinator has been silent for the lease, or when that talks nonsense; whichever it is,
//! its [`Work`] has ended by then.

use std::io;
use std::time::Duration;

use async_nats::Message;
use crew::ServerReading;
use futures_util::StreamExt;
use net::clock;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::access::Nats;
use crate::bus::{self, Bus, Content};
use crate::intro::{self, Call, Hello, HostHello, Labels, VERSION};
use crate::link::{Incoming, Link};
use crate::presence::{AgentPresence, Subscriptions};
use crate::seal::AgentKey;

/// How often an agent checks for an interrupt and for lost links.
const TICK: Duration = Duration::from_millis(50);

/// Why an agent leaves a coordinator that breaks the protocol.
const NONSENSE: &str = "its coordinator talks nonsense";

/// Why an agent's work for a coordinator ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimEnd {
    /// The coordinator no longer needs the agent.
    Done,
    /// The coordinator breaks the protocol.
    ProtocolViolation,
}

/// Options of every agent.
pub struct AgentOptions<'a> {
    /// NATS's address.
    pub nats: Nats,
    /// The agent's name.
    pub name: String,
    /// Its labels.
    pub labels: Labels,
    /// The only key that it obeys.
    pub key: Option<AgentKey>,
    /// Asks whether to leave.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// Prints what happens, a line each.
    pub log: &'a dyn Fn(&str),
}

/// An agent's work for one claim. A drop ends the work, and waits for that.
pub(crate) trait Work {
    /// The name of its unit of work, for the log.
    const WHOLE: &'static str;
    /// Orders of its coordinator.
    type Order: DeserializeOwned;
    /// News for its coordinator.
    type News;

    /// The run that it is part of.
    fn run(&self) -> &str;

    /// The way to its coordinator.
    fn link(&mut self) -> &mut Link;

    /// Carries out an order.
    ///
    /// # Errors
    /// Why there is no more to do.
    fn handle_order(&mut self, order: Self::Order) -> Result<(), ClaimEnd>;

    /// Waits for the next news.
    async fn next_news(&mut self) -> Option<Self::News>;

    /// Sends news to the coordinator.
    fn handle_news(&mut self, news: Self::News);

    /// Tells the coordinator why the agent leaves.
    fn handle_leaving(&mut self, why: &str);

    /// Handles the time that has passed.
    fn handle_tick(&mut self, _now_ns: u64) {}

    /// Sends what is due.
    async fn pump(&mut self, bus: &Bus, now_ns: u64) {
        self.link().pump(bus, now_ns).await;
    }

    /// Memory of the processes that make the load, if it can be read.
    fn rss_bytes(&self) -> Option<u64> {
        None
    }

    /// Reads its server's usage, if it has one: all of it, or the quick part.
    fn look(&mut self, _is_whole: bool) -> Option<ServerReading> {
        None
    }
}

/// Serves until it is interrupted: an agent that has `threads` for a number of clients each, or is a `host`,
/// and begins its work with a run and a link.
///
/// # Errors
/// NATS cannot be reached at first. When it is lost later, the agent waits for it.
pub(crate) fn serve<W: Work>(
    options: &AgentOptions<'_>,
    threads: u16,
    clients_per_process: u32,
    host: Option<HostHello>,
    begin: impl Fn(String, Link) -> io::Result<W>,
) -> Result<(), Error> {
    bus::runtime()?.block_on(async {
        let hello = Hello {
            version: VERSION.into(),
            id: intro::unique(),
            name: options.name.clone(),
            labels: options.labels.clone(),
            threads,
            clients_per_process,
            run: None,
            host,
            sealed_to: String::new(),
            lock: None,
        };
        let (presence, subscriptions) =
            AgentPresence::open(&options.nats, hello, options.key.clone()).await?;
        (options.log)(&format!("agent {} waits for a {}", options.name, W::WHOLE));
        Agent { options, presence, begin, work: None }.run(subscriptions).await;
        Ok(())
    })
}

struct Agent<'a, W, B> {
    options: &'a AgentOptions<'a>,
    presence: AgentPresence,
    begin: B,
    work: Option<W>,
}

impl<W: Work, B: Fn(String, Link) -> io::Result<W>> Agent<'_, W, B> {
    async fn run(mut self, mut subscriptions: Subscriptions) {
        let mut ticks = tokio::time::interval(TICK);
        while !(self.options.is_interrupted)() {
            tokio::select! {
                Some(call) = subscriptions.calls.next() => self.handle_call(&call).await,
                Some(claim) = subscriptions.claims.next() => self.handle_claim(&claim).await,
                Some(down) = subscriptions.downs.next() => self.handle_down(&down.payload).await,
                Some(look) = subscriptions.looks.next() => self.handle_look(&look).await,
                Some(news) = next_news(&mut self.work) => self.handle_news(news),
                _ = ticks.tick() => self.handle_tick(),
            }
            if let Some(work) = &mut self.work {
                work.pump(&self.presence.bus, clock::own_monotonic_ns()).await;
            }
        }
        self.leave("it was told to stop").await;
    }

    async fn handle_call(&mut self, message: &Message) {
        match AgentPresence::read_call(message) {
            Some(Call::Who) => {}
            Some(call) => {
                let run = self.work.as_ref().map(W::run);
                if run.is_some_and(|run| self.presence.is_ended(run, &call)) {
                    self.leave("`throng fleet stop`").await;
                }
            }
            None => return,
        }
        self.presence.answer_call(message, self.work.as_ref().map(W::run)).await;
    }

    async fn handle_claim(&mut self, message: &Message) {
        let taken = self.presence.handle_claim(message, self.work.as_ref().map(W::run)).await;
        let Some((run, link)) = taken else { return };
        (self.options.log)(&format!("{} {run}: begins", W::WHOLE));
        match (self.begin)(run, link) {
            Ok(work) => self.work = Some(work),
            // Its coordinator hears nothing, and gives up.
            Err(error) => (self.options.log)(&format!("cannot begin: {error}")),
        }
    }

    async fn handle_down(&mut self, payload: &[u8]) {
        let Some(work) = &mut self.work else { return };
        match work.link().handle::<W::Order>(payload, clock::own_monotonic_ns()) {
            Ok(Incoming::Nothing) => {}
            Ok(Incoming::Beat(Content::Beat { sent_ns })) => {
                let here_ns = clock::own_monotonic_ns();
                let answer = Content::Answer { sent_ns, here_ns, rss_bytes: work.rss_bytes() };
                work.link().put(&self.presence.bus, answer).await;
            }
            Ok(Incoming::Beat(_)) => {}
            Ok(Incoming::Message(order)) => match work.handle_order(order) {
                Ok(()) => {}
                Err(ClaimEnd::Done) => {
                    // Its coordinator waits for this acknowledgement, which a dropped link never sends.
                    work.link().put(&self.presence.bus, Content::Ack).await;
                    let _ = self.presence.bus.flush().await;
                    self.free("done");
                }
                Err(ClaimEnd::ProtocolViolation) => self.leave(NONSENSE).await,
            },
            Err(_) => self.leave(NONSENSE).await,
        }
    }

    /// Answers a question for the server's usage: an empty question asks for a quick reading, any other for a
    /// whole one. The answer is empty when nothing runs.
    async fn handle_look(&mut self, question: &Message) {
        let look = self.work.as_mut().and_then(|work| work.look(!question.payload.is_empty()));
        let bytes = look.map(|look| postcard::to_stdvec(&look).expect("our looks can be encoded"));
        self.presence.bus.answer(question, bytes.unwrap_or_default()).await;
    }

    fn handle_news(&mut self, news: W::News) {
        if let Some(work) = &mut self.work {
            work.handle_news(news);
        }
    }

    fn handle_tick(&mut self) {
        let Some(work) = &mut self.work else { return };
        let now_ns = clock::own_monotonic_ns();
        work.handle_tick(now_ns);
        if work.link().is_lost(now_ns) {
            self.free("no word from its coordinator for 3 s");
        }
    }

    /// Leaves the run, and tells its coordinator.
    async fn leave(&mut self, why: &str) {
        if let Some(work) = &mut self.work {
            work.handle_leaving(why);
            // Once, without waiting for the other end: one that is gone finds out by its lease.
            work.link().pump(&self.presence.bus, clock::own_monotonic_ns()).await;
            let _ = self.presence.bus.flush().await;
            self.free(why);
        }
    }

    fn free(&mut self, why: &str) {
        if let Some(work) = self.work.take() {
            let run = work.run().to_owned();
            drop(work);
            (self.options.log)(&format!("{} {run}: free again: {why}", W::WHOLE));
        }
    }
}

/// The next news; pends forever while there is no work.
async fn next_news<W: Work>(work: &mut Option<W>) -> Option<W::News> {
    match work {
        Some(work) => work.next_news().await,
        None => std::future::pending().await,
    }
}
