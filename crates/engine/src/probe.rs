//! One client that tries what thousands are about to do, and what it met.
//!
//! It goes the way of all clients (the same connections, sessions and words for what went wrong), once, on
//! the caller's thread. It sends nothing that a run would not, and says goodbye.

use std::io;
use std::sync::Arc;

use codec::Error;
use load::{Load, Plan, Segment, StepOrder, Until};
use net::clock;
use net::poll::Events;
use wire::Failure;

use crate::books::{Cause, Ledger, LedgerOptions, Meter, Secrets, State, excerpt};
use crate::clients::{LoadClient, Shared, Token};
use crate::timing::{Due, Portion};

/// How long the probe listens: a server that greets, or rejects clients, does so at once.
const LISTEN_NS: u64 = 50_000_000;
/// How long after its head a refusal's body may take.
const BODY_NS: u64 = 100_000_000;
/// How often the probe checks for an interrupt.
const LOOK_NS: u64 = 20_000_000;
/// How long the server has to answer the goodbye.
const GOODBYE_NS: u64 = 250_000_000;

/// The result of one client's attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeResult {
    /// Why it failed: the kind under which results count it, and the error in words. `None` if it did not
    /// fail.
    pub failure: Option<(String, String)>,
    /// True if it was this machine that failed, not the server.
    pub is_local: bool,
    /// The status of the answer to its request, or of the one that refused it.
    pub status: Option<u16>,
    /// True if the message that the probe sent was answered.
    pub is_answered: bool,
    /// The beginning of the server's messages, decrypted, without our secrets.
    pub said: Vec<u8>,
}

impl ProbeResult {
    /// The readable part of the server's messages, on one line.
    pub fn excerpt(&self) -> String {
        excerpt(&self.said)
    }
}

/// Has one client connect and become usable within the plan's timeout; with `asks`, it also sends one message
/// and waits for the answer for the rest of that time; its absence is no failure. `None` if it was
/// interrupted.
///
/// # Errors
/// A plan that cannot be put on the wire, certificates that cannot be read, no file descriptors left.
pub fn probe(plan: &Plan, asks: bool, is_interrupted: &dyn Fn() -> bool) -> io::Result<Option<ProbeResult>> {
    let mut probe = Probe::new(plan, is_interrupted)?;
    let ended = probe.meet(plan.connecting.timeout_ns, asks)?;
    let mut result = ProbeResult::default();
    if let Some(cause) = ended {
        result.is_local = matches!(cause, Cause::Net(kind) if kind.is_local());
        if let Cause::Wire(Failure::Codec(Error::HttpStatus(status))) = cause {
            result.status = Some(status);
            let until_ns = clock::monotonic_ns() + BODY_NS;
            // The head alone is known so far; the body's first line often says why the server refuses.
            probe.turn_until(until_ns, |_| false)?;
        }
        // A unix socket whose queue is full is there (net::socket::connect).
        if cause != Cause::Net(net::errors::ErrorKind::WouldBlock) {
            result.failure = probe.explain(cause);
        }
    } else {
        probe.part()?;
    }
    if is_interrupted() {
        return Ok(None);
    }
    let answered = probe.ledger.meter.statuses.keys().next().copied();
    result.status = result.status.or(answered);
    result.is_answered = probe.ledger.meter.counts.received > 0;
    let said = probe.shared.said.take().unwrap_or_default();
    let options = probe.shared.wire.options();
    let secrets = [options.secrets(), options.people.secrets_of(0)].concat();
    result.said = secret::scrub_bytes(&said, &secrets).into_owned();
    if probe.shared.wire.logs_in() {
        result.said = secret::scrub_random(&result.said).into_owned();
    }
    Ok(Some(result))
}

/// The client, and what it takes to drive it.
struct Probe<'a> {
    client: LoadClient,
    shared: Shared,
    ledger: Ledger,
    events: Events,
    is_interrupted: &'a dyn Fn() -> bool,
}

impl<'a> Probe<'a> {
    fn new(plan: &Plan, is_interrupted: &'a dyn Fn() -> bool) -> io::Result<Self> {
        let alone = Segment { worker: 0, workers: 1 };
        let mut shared = Shared::new(plan, alone)?;
        shared.said = Some(Vec::new());
        // It is alone on its connection.
        shared.pool = None;
        let load = Load::Closed { concurrency: 1, per_client: 1, until: Until::Samples(1) };
        let order = StepOrder { index: 0, clients: 1, load, warmup: true };
        let meter = Meter::new(clock::monotonic_ns(), Secrets::new(&shared.wire, shared.segment));
        // Without the run's number: what other clients of the run hear of the probe is of another run.
        let options = LedgerOptions { acks: shared.acks(), ..LedgerOptions::default() };
        let mut ledger = Ledger::new(meter, plan.workload, alone, Arc::clone(&plan.rooms), options);
        ledger.start_step(order, 1);
        Ok(Self {
            client: LoadClient::default(),
            shared,
            ledger,
            events: Events::with_capacity(1),
            is_interrupted,
        })
    }

    /// Lets the client try. Returns the cause of its end, if it ended.
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
        let due = [Due::new(0, now_ns, 1)];
        let portion = &mut Portion::of(&due);
        if let Err(unsent) = self.client.send(0, portion, now_ns, &mut self.ledger, &mut self.shared) {
            return Ok(unsent.cause);
        }
        let ended = self.turn_until(deadline_ns, |probe| probe.ledger.meter.counts.received > 0)?;
        let has_answer = self.ledger.meter.counts.received > 0;
        // That there is no answer is no failure; that the message cannot go out is one.
        let withheld = self.client.session.withheld().filter(|_| !has_answer).map(Cause::Wire);
        Ok(ended.or(withheld))
    }

    /// Drives the client until `until_ns`, or until it is done, interrupted or ended. Returns the cause of
    /// its end.
    fn turn_until(&mut self, until_ns: u64, is_done: fn(&Self) -> bool) -> io::Result<Option<Cause>> {
        while !is_done(self) && !(self.is_interrupted)() {
            let now_ns = clock::monotonic_ns();
            let Some(left_ns) = until_ns.checked_sub(now_ns).filter(|&ns| ns > 0) else { break };
            if let Err(cause) = self.wake(now_ns) {
                return Ok(Some(cause));
            }
            let due_ns = self.client.session.poll_timeout().map(|at_ns| at_ns.saturating_sub(now_ns));
            // At least 1 ns: 0 would poll without a wait for as long as a dialect's moment has come and it
            // does nothing.
            let wait_ns = due_ns.map_or(left_ns, |ns| ns.clamp(1, left_ns)).min(LOOK_NS);
            self.shared.poller.wait(&mut self.events, Some(wait_ns))?;
            for event in self.events.iter() {
                let token = Token::unpack(event.token);
                loop {
                    match self.client.handle_ready(token, event, &mut self.shared, &mut self.ledger) {
                        // Edge-triggered: what is left unread is not told again. A server that talks without
                        // end has until the deadline.
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
        let cause = self.client.fail(0, cause, clock::monotonic_ns(), &mut self.ledger, &mut self.shared);
        let error = self.ledger.meter.errors.get(cause.kind())?;
        Some((cause.kind().to_owned(), error.example.clone()))
    }

    /// Says goodbye, with or without an answer.
    fn part(&mut self) -> io::Result<()> {
        self.client.close(0, &mut self.shared, &mut self.ledger.meter);
        let until_ns = clock::monotonic_ns() + GOODBYE_NS;
        self.turn_until(until_ns, |probe| probe.client.record.state == State::Vacant)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use codec::StreamId;
    use load::{Connecting, Endpoint};
    use wire::Io;

    use super::*;
    use crate::support::plan;

    const TIMEOUT_NS: u64 = 10_000_000_000;

    /// Bytes that a server writes.
    #[derive(Default)]
    struct Written(Vec<u8>);

    impl codec::Io for Written {
        fn out(&mut self, _: StreamId) -> &mut Vec<u8> {
            &mut self.0
        }

        fn random_u64(&mut self) -> u64 {
            0
        }

        fn open_stream(&mut self, _: StreamId) {}

        fn close_stream(&mut self, _: StreamId) {}
    }

    impl Io for Written {}

    /// Answers the upgrade and what comes first, and resets the connection when more has come. Returns how
    /// many echoes it sent.
    fn serve_first(mut stream: TcpStream) -> u64 {
        let (cfg, mut server, mut written) =
            (wire::ServerConfig::default(), wire::Server::new(), Written::default());
        let mut echoed = 0;
        while echoed == 0 {
            let mut bytes = [0; 4096];
            let received = stream.read(&mut bytes).unwrap();
            let on = &mut |event: wire::ServerEvent<'_>| {
                echoed += u64::from(matches!(event, wire::ServerEvent::Echoed { .. }));
            };
            server.handle_input(&cfg, 0, 0, &bytes[..received], &mut written, on).unwrap();
            stream.write_all(&std::mem::take(&mut written.0)).unwrap();
        }
        // To close what has not been read to its end is a reset (RFC 9293 §3.6.1).
        while stream.peek(&mut [0]).unwrap() == 0 {}
        echoed
    }

    fn plan_to(endpoint: Endpoint) -> Plan {
        let plan = plan();
        let connecting = Connecting { timeout_ns: TIMEOUT_NS, ..plan.connecting };
        Plan { endpoints: vec![endpoint], connecting, ..plan }
    }

    #[test]
    fn input_before_a_reset_counts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plan = plan_to(Endpoint::Inet(listener.local_addr().unwrap()));
        let server = thread::spawn(move || serve_first(listener.accept().unwrap().0));
        let mut probe = Probe::new(&plan, &|| false).unwrap();
        let is_usable: fn(&Probe<'_>) -> bool = |probe| probe.client.record.state == State::Usable;
        probe.client.connect(0, clock::monotonic_ns(), &mut probe.shared).unwrap();
        assert_eq!(probe.turn_until(clock::monotonic_ns() + TIMEOUT_NS, is_usable).unwrap(), None);
        let send = |probe: &mut Probe<'_>| {
            let now_ns = clock::monotonic_ns();
            let due = [Due::new(0, now_ns, 1)];
            probe.client.send(0, &mut Portion::of(&due), now_ns, &mut probe.ledger, &mut probe.shared)
        };
        send(&mut probe).unwrap();
        // The answer is in the kernel, and nobody reads it while the next are written.
        let ended = (0..).find_map(|_| {
            thread::sleep(Duration::from_millis(1));
            send(&mut probe).err()?.cause
        });
        let echoed = server.join().unwrap();
        assert!(matches!(ended, Some(Cause::Net(_))), "{ended:?}");
        assert_eq!(probe.ledger.meter.counts.received, echoed, "what was answered has its answer");
    }
}
