//! The target agent: waits for a coordinator, and runs servers for one at a time.
//!
//! Rules. Free: answers calls, takes the first claim of its own version. Claimed: refuses other claims; does what it is asked
//! in order, and says what came of it. It is free again when it is released, told to stop, or has not heard its coordinator for
//! the lease; whichever it is, its server has ended by then. Whoever asks is told what the server uses.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use async_nats::{Message, Subscriber};
use futures_util::StreamExt;
use net::clock;

use super::super::bus::{Content, Nats};
use super::super::intro::{self, Call, Hello, HostHello, Labels, VERSION, name};
use super::super::link::Incoming;
use super::super::reception::{Doors, Reception};
use super::super::{Error, bus};
use super::tenancy::Tenancy;
use super::{Down, Host, Up};

/// How often the agent looks around.
const TICK: Duration = Duration::from_millis(50);
/// CPUs that a server may be pinned to.
const CPUS_MAX: usize = 1_024;

/// What a target agent is.
pub struct TargetAgentOptions<'a> {
    /// Where NATS is.
    pub nats: Nats,
    /// How it is called.
    pub name: String,
    /// What else is known of it.
    pub labels: Labels,
    /// Where its servers are reached.
    pub address: Ipv4Addr,
    /// Its machine, in words.
    pub machine: String,
    /// Makes what runs the servers of one claim; it gives up what it does once the flag is set.
    pub host: &'a dyn Fn(Arc<AtomicBool>) -> Box<dyn Host>,
    /// Whether to leave.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// Is told what happens, a line each.
    pub log: &'a dyn Fn(&str),
}

/// Serves until it is interrupted.
///
/// # Errors
/// NATS cannot be reached at first. When it is lost later, the agent waits for it.
pub fn serve(options: &TargetAgentOptions<'_>) -> Result<(), Error> {
    let runtime = bus::runtime()?;
    runtime.block_on(async {
        let hello = Hello {
            version: VERSION.into(),
            id: intro::unique(),
            name: options.name.clone(),
            labels: options.labels.clone(),
            threads: 1,
            clients_per_process: 1,
            run: None,
            host: Some(HostHello { address: options.address, machine: options.machine.clone() }),
        };
        let looks = intro::look_subject(&hello.id);
        let (reception, doors) = Reception::open(&options.nats, hello).await?;
        let looks = reception.bus.subscribe(looks).await?;
        (options.log)(&format!(
            "target agent {} waits for a shootout; its servers are at {}",
            options.name, options.address
        ));
        Agent { options, reception, tenancy: None }.run(doors, looks).await;
        Ok(())
    })
}

struct Agent<'a> {
    options: &'a TargetAgentOptions<'a>,
    reception: Reception,
    tenancy: Option<Tenancy>,
}

impl Agent<'_> {
    async fn run(mut self, mut doors: Doors, mut looks: Subscriber) {
        let mut ticks = tokio::time::interval(TICK);
        while !(self.options.is_interrupted)() {
            tokio::select! {
                Some(call) = doors.calls.next() => self.handle_call(&call).await,
                Some(claim) = doors.claims.next() => self.handle_claim(&claim).await,
                Some(down) = doors.downs.next() => self.handle_down(&down.payload).await,
                Some(look) = looks.next() => self.handle_look(&look).await,
                Some(answer) = next_answer(&mut self.tenancy) => self.handle_answer(&answer),
                _ = ticks.tick() => self.handle_tick(),
            }
            if let Some(tenancy) = &mut self.tenancy {
                tenancy.link.pump(&self.reception.bus, clock::own_monotonic_ns()).await;
            }
        }
        self.leave("it was told to stop").await;
    }

    async fn handle_call(&mut self, message: &Message) {
        match Reception::read_call(message) {
            Some(Call::Who) => {}
            Some(Call::Stop) => self.leave("`throng fleet stop`").await,
            None => return,
        }
        self.reception.answer_call(message, self.run_name()).await;
    }

    async fn handle_claim(&mut self, message: &Message) {
        let taken = self.reception.handle_claim(message, self.run_name()).await;
        let Some((run, link)) = taken else { return };
        (self.options.log)(&format!("shootout {run}: begins"));
        match Tenancy::begin(run, link, self.options.host) {
            Ok(tenancy) => self.tenancy = Some(tenancy),
            // Its coordinator hears nothing, and gives up.
            Err(error) => (self.options.log)(&format!("cannot start a thread: {error}")),
        }
    }

    fn run_name(&self) -> Option<&str> {
        self.tenancy.as_ref().map(|tenancy| tenancy.run.as_str())
    }

    async fn handle_down(&mut self, payload: &[u8]) {
        let Some(tenancy) = &mut self.tenancy else { return };
        match tenancy.link.handle::<Down>(payload, clock::own_monotonic_ns()) {
            Ok(Incoming::Nothing) => {}
            Ok(Incoming::Beat(Content::Beat { sent_ns })) => {
                let here_ns = clock::own_monotonic_ns();
                let answer = Content::Answer { sent_ns, here_ns, rss_bytes: 0 };
                tenancy.link.put(&self.reception.bus, answer).await;
            }
            Ok(Incoming::Beat(_)) => {}
            Ok(Incoming::Message(Down::Release)) => self.free("done"),
            Ok(Incoming::Message(order)) if is_sound(&order) => tenancy.order(order),
            Ok(Incoming::Message(_)) | Err(_) => self.free("its coordinator talks nonsense"),
        }
    }

    fn handle_answer(&mut self, answer: &Up) {
        if let Some(tenancy) = &mut self.tenancy {
            tenancy.handle_answer(answer);
        }
    }

    /// An empty question is for a quick look, any other for a whole one; the answer is empty when nothing runs.
    async fn handle_look(&mut self, question: &Message) {
        let eyes = self.tenancy.as_mut().and_then(|tenancy| tenancy.eyes.as_mut());
        let look = eyes.and_then(|eyes| eyes.look(!question.payload.is_empty()));
        let bytes = look.map(|look| postcard::to_stdvec(&look).expect("our looks can be encoded"));
        self.reception.bus.answer(question, bytes.unwrap_or_default()).await;
    }

    fn handle_tick(&mut self) {
        let now_ns = clock::own_monotonic_ns();
        if self.tenancy.as_ref().is_some_and(|tenancy| tenancy.link.is_lost(now_ns)) {
            self.free("no word from its coordinator for 3 s");
        }
    }

    /// Leaves the shootout, and says so to its coordinator.
    async fn leave(&mut self, why: &str) {
        if let Some(tenancy) = &mut self.tenancy {
            tenancy.link.send(&Up::Leaving(why.to_owned()));
            tenancy.link.pump(&self.reception.bus, clock::own_monotonic_ns()).await;
            let _ = self.reception.bus.flush().await;
            self.free(why);
        }
    }

    fn free(&mut self, why: &str) {
        if let Some(tenancy) = self.tenancy.take() {
            let run = tenancy.run.clone();
            drop(tenancy);
            (self.options.log)(&format!("shootout {run}: free again: {why}"));
        }
    }
}

/// Nothing, for ever, while there is no work.
async fn next_answer(tenancy: &mut Option<Tenancy>) -> Option<Up> {
    match tenancy {
        Some(tenancy) => tenancy.answers.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether an order can be meant: it came over a network.
fn is_sound(order: &Down) -> bool {
    match order {
        Down::Prepare { target, .. } => name(target).is_ok(),
        Down::Start { target, cpus } => {
            name(target).is_ok() && cpus.len() <= CPUS_MAX && cpus.iter().all(|&cpu| cpu < CPUS_MAX)
        }
        Down::Stop | Down::Release => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_named_and_nothing_else() {
        let start = |target: &str, cpus: Vec<usize>| Down::Start { target: target.into(), cpus };
        assert!(is_sound(&start("node-ws", vec![0, 7])));
        for bad in ["", "../up", "a b", "$(id)", "a;b", "a\n"] {
            assert!(!is_sound(&start(bad, Vec::new())), "{bad:?}");
            assert!(!is_sound(&Down::Prepare { target: bad.into(), may_install: true }), "{bad:?}");
        }
        assert!(!is_sound(&start("node-ws", vec![CPUS_MAX])));
        assert!(!is_sound(&start("node-ws", vec![0; CPUS_MAX + 1])));
    }
}
