//! One client that tries what thousands are about to do, and what it met.
//!
//! It goes the way of all clients (the same connections, sessions and words for what went wrong), once, on the thread of
//! whoever asks. It sends nothing that a run would not, and says goodbye.

use std::io;

use load::{Load, Plan, Segment, StepOrder, Until};
use net::clock;
use net::poll::Events;
use wire::Failure;

use crate::cause::Cause;
use crate::client::Client;
use crate::excerpt::excerpt;
use crate::ledger::{Ledger, State, Step};
use crate::meter::Meter;
use crate::shared::{Shared, Token};

/// A server that greets, or shows its clients out, does so at once.
const LISTEN_NS: u64 = 50_000_000;
/// What refuses a client says why within this time after its head.
const BODY_NS: u64 = 100_000_000;
/// How long the server has to answer the goodbye.
const GOODBYE_NS: u64 = 250_000_000;
/// How much is kept of what the server says.
pub(crate) const SAID_BYTES_MAX: usize = 16 << 10;

/// What one client met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encounter {
    /// Why it failed: the kind under which results count it, and the same in words. `None`: it did not fail.
    pub failure: Option<(String, String)>,
    /// Whether it was this machine that failed, not the server.
    pub is_local: bool,
    /// The status of the answer to its request, or of the one that refused it.
    pub status: Option<u16>,
    /// What the server said, decrypted: the beginning.
    pub said: Vec<u8>,
}

impl Encounter {
    /// What can be read of what the server said, on one line.
    pub fn excerpt(&self) -> String {
        excerpt(&self.said)
    }
}

/// Has one client connect and become usable within the plan's timeout; with `asks`, it also sends one message and waits for
/// the answer as long (and no failure is that there is none).
///
/// # Errors
/// A plan that cannot be put on the wire, certificates that cannot be read, no file descriptors left.
pub fn probe(plan: &Plan, asks: bool) -> io::Result<Encounter> {
    let mut probe = Probe::new(plan)?;
    let ended = probe.meet(plan.connecting.timeout_ns, asks)?;
    let mut encounter = Encounter::default();
    if let Some(cause) = ended {
        encounter.is_local = matches!(cause, Cause::Net(kind) if kind.is_local());
        if let Cause::Wire(Failure::HttpStatus(status)) = cause {
            encounter.status = Some(status);
            let until_ns = clock::monotonic_ns() + BODY_NS;
            probe.turn_until(until_ns, |_| false)?;
        }
        // A unix socket whose queue is full is there (net::socket::connect).
        if cause != Cause::Net(net::errors::ErrorKind::WouldBlock) {
            encounter.failure = probe.explain(cause);
        }
    } else {
        probe.part()?;
    }
    let answered = probe.ledger.meter.statuses.keys().next().copied();
    encounter.status = encounter.status.or(answered);
    encounter.said = probe.shared.said.take().unwrap_or_default();
    Ok(encounter)
}

/// The client, and what it takes to drive it.
struct Probe {
    client: Client,
    shared: Shared,
    ledger: Ledger,
    events: Events,
}

impl Probe {
    fn new(plan: &Plan) -> io::Result<Self> {
        let mut shared = Shared::new(plan, Segment { worker: 0, workers: 1 })?;
        shared.said = Some(Vec::new());
        let load = Load::Closed { concurrency: 1, per_client: 1, until: Until::Samples(1) };
        let step = Step::new(StepOrder { index: 0, clients: 1, load, warmup: true });
        let meter = Meter::new(0, clock::monotonic_ns());
        Ok(Self {
            client: Client::default(),
            shared,
            ledger: Ledger { step, meter, usable: 0, slow: 0 },
            events: Events::with_capacity(1),
        })
    }

    /// What ended it, if anything did.
    fn meet(&mut self, timeout_ns: u64, asks: bool) -> io::Result<Option<Cause>> {
        let begun_ns = clock::monotonic_ns();
        if let Err(cause) = self.client.connect(0, begun_ns, &mut self.shared) {
            return Ok(Some(cause));
        }
        let deadline_ns = begun_ns.saturating_add(timeout_ns);
        let ended = self.turn_until(deadline_ns, |probe| probe.client.record.state == State::Usable)?;
        if ended.is_some() {
            return Ok(ended);
        }
        let now_ns = clock::monotonic_ns();
        if self.client.record.state != State::Usable {
            return Ok(Some(Cause::ConnectTimeout));
        }
        if !asks {
            return self.turn_until(now_ns + LISTEN_NS, |_| false);
        }
        if let Err(cause) = self.client.send(0, now_ns, now_ns, &mut self.ledger, &mut self.shared) {
            return Ok(Some(cause));
        }
        self.turn_until(deadline_ns, |probe| probe.ledger.meter.counts.received > 0)
    }

    /// Lets the client do what there is to do, until then, or until it is done or has ended: by what.
    fn turn_until(&mut self, until_ns: u64, is_done: fn(&Self) -> bool) -> io::Result<Option<Cause>> {
        while !is_done(self) {
            let now_ns = clock::monotonic_ns();
            let Some(left_ns) = until_ns.checked_sub(now_ns).filter(|&ns| ns > 0) else { break };
            if let Err(cause) = self.wake(now_ns) {
                return Ok(Some(cause));
            }
            let due_ns = self.client.session.poll_timeout().map(|at_ns| at_ns.saturating_sub(now_ns));
            let wait_ns = due_ns.map_or(left_ns, |ns| ns.clamp(1, left_ns));
            self.shared.poller.wait(&mut self.events, Some(wait_ns))?;
            for event in self.events.iter() {
                let token = Token::unpack(event.token);
                loop {
                    match self.client.handle_ready(token, event, &mut self.shared, &mut self.ledger) {
                        Ok(true) if clock::monotonic_ns() < until_ns => {}
                        Ok(_) => break,
                        Err(cause) => return Ok(Some(cause)),
                    }
                }
            }
        }
        Ok(None)
    }

    /// Lets the dialect do what it wanted to be woken for.
    fn wake(&mut self, now_ns: u64) -> Result<(), Cause> {
        if self.client.session.poll_timeout().is_none_or(|at_ns| at_ns > now_ns) {
            return Ok(());
        }
        let token = Token { client: 0, stream: 0, attempt: self.client.attempt };
        self.shared.now_ns = now_ns;
        self.client.handle_timeout(token, &mut self.shared, &mut self.ledger)
    }

    /// The failure in the words of a run's results.
    fn explain(&mut self, cause: Cause) -> Option<(String, String)> {
        let meter = &mut self.ledger.meter;
        self.client.fail(0, cause, clock::monotonic_ns(), meter);
        let error = meter.errors.get(cause.kind())?;
        Some((cause.kind().to_owned(), error.example.clone()))
    }

    /// Says goodbye; whether there is an answer makes no difference.
    fn part(&mut self) -> io::Result<()> {
        self.client.close(0, &mut self.shared, &mut self.ledger.meter);
        let until_ns = clock::monotonic_ns() + GOODBYE_NS;
        self.turn_until(until_ns, |probe| probe.client.record.state == State::Vacant)?;
        Ok(())
    }
}
