//! Measurements of a worker since its last delta.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use app::people::People;
use load::{Segment, StepOrder};
use net::{clock, proc};
use secret::Secret;
use stats::errors::ErrorKind;
use stats::{Account, Count, Counts, Errors, Figures, Histogram};
use wire::Rule;

use crate::books::cause::Cause;
use crate::books::excerpt::excerpt;
use crate::books::held_writes::HeldWrites;
use crate::books::outstanding::Outstanding;
use crate::books::recorder::Recorder;
use crate::contents::Contents;
use crate::events::{Entry, Kind};
use crate::messages::{Abandoned, Delta, DeltaPermit, Held, RoleDelta, SayDelta, Tail, Usage};

/// Collects the figures of one worker and hands them over as deltas.
pub(crate) struct Meter {
    worker: u16,
    /// When the run began; the times of errors count from here.
    epoch_ns: u64,
    step: u16,
    pub(crate) figures: Figures,
    pub(crate) account: Account,
    pub(crate) loop_lag: Histogram,
    pub(crate) outstanding: Outstanding,
    pub(crate) counts: Counts,
    /// Counts and times by kind of messages, where there are several kinds.
    says: Vec<SayDelta<Histogram>>,
    /// Counts and times by role, where there are roles.
    roles: Vec<RoleDelta<Histogram>>,
    pub(crate) errors: Errors,
    /// Missing messages that rules of the app's file took for something else.
    taken: Errors,
    /// The contents of pushes that are compared.
    pub(crate) contents: Contents,
    /// Answers by their status. A handful of keys: one node, whose search costs nanoseconds.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Copies due by the size of their rooms.
    pub(crate) due: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) acks: u64,
    pub(crate) tail: Tail,
    pub(crate) held: Held,
    pub(crate) held_writes: HeldWrites,
    pub(crate) abandoned: Abandoned,
    /// The last arrival of this step; 0 if there was none yet.
    pub(crate) last_arrival_ns: u64,
    /// A kind of error that is to follow, and what the server said about it.
    heard: Option<(&'static str, String)>,
    /// The clients' credentials: a server may quote them, and examples of errors are shown to others.
    secrets: Secrets,
    /// The recorder, if events are recorded.
    pub(crate) recorder: Option<Box<Recorder>>,
    thread: proc::ThreadUsage,
    since_ns: u64,
}

/// Secrets that no output may show.
pub(crate) struct Secrets {
    /// Secrets shared by all clients.
    shared: Vec<Secret>,
    people: Arc<People>,
    segment: Segment,
    /// Clients log in, and get further secrets from the server there, which are not kept here.
    log_in: bool,
}

impl Secrets {
    /// Secrets of a worker's clients.
    pub(crate) fn new(wire: &wire::Config, segment: Segment) -> Self {
        let options = wire.options();
        Self {
            shared: options.secrets(),
            people: Arc::clone(&options.people),
            segment,
            log_in: wire.logs_in(),
        }
    }

    /// Secrets of a run with one worker.
    #[cfg(test)]
    pub(crate) fn of_one(shared: Vec<Secret>) -> Self {
        Self { shared, people: Arc::default(), segment: Segment { worker: 0, workers: 1 }, log_in: false }
    }

    /// Removes the secrets from a message of the server to a client.
    fn scrub<'a>(&self, bytes: &'a [u8], client: u32) -> Cow<'a, [u8]> {
        let scrubbed = secret::scrub_bytes(bytes, &self.of(client));
        match self.log_in {
            true => secret::scrub_random(&scrubbed).into_owned().into(),
            false => scrubbed,
        }
    }

    /// Secrets that may be quoted to a client, by its number at this worker.
    fn of(&self, client: u32) -> Vec<Secret> {
        [&self.shared[..], &self.people.secrets_of(self.segment.number(client))].concat()
    }
}

impl Meter {
    /// A meter for the calling thread, which hides these secrets.
    pub(crate) fn new(epoch_ns: u64, secrets: Secrets) -> Self {
        Self {
            worker: secrets.segment.worker,
            epoch_ns,
            step: 0,
            figures: Figures::default(),
            account: Account::default(),
            loop_lag: Histogram::new(),
            outstanding: Outstanding::default(),
            counts: Counts::default(),
            says: Vec::new(),
            roles: Vec::new(),
            errors: Errors::default(),
            taken: Errors::default(),
            contents: Contents::default(),
            statuses: BTreeMap::new(),
            due: 0,
            sent_bytes: 0,
            received_bytes: 0,
            acks: 0,
            tail: Tail::default(),
            held: Held::default(),
            held_writes: HeldWrites::default(),
            abandoned: Abandoned::default(),
            last_arrival_ns: 0,
            heard: None,
            secrets,
            recorder: None,
            thread: proc::thread_usage(),
            since_ns: clock::monotonic_ns(),
        }
    }

    /// Sets the number of kinds of messages, and of users' roles.
    pub(crate) fn of_kinds(self, kinds: usize, roles: usize) -> Self {
        let says = if kinds > 1 { vec![SayDelta::default(); kinds] } else { Vec::new() };
        Self { says, roles: vec![RoleDelta::default(); roles], ..self }
    }

    /// The figures of this role.
    #[inline]
    pub(crate) fn role(&mut self, role: usize) -> &mut RoleDelta<Histogram> {
        &mut self.roles[role]
    }

    /// The figures of this kind of messages, if there are others.
    #[inline]
    pub(crate) fn say(&mut self, kind: usize) -> Option<&mut SayDelta<Histogram>> {
        self.says.get_mut(kind)
    }

    /// Counts something of `messages` messages of this kind.
    #[inline]
    pub(crate) fn count(&mut self, count: Count, kind: usize, messages: u64) {
        *self.counts.get_mut(count) += messages;
        if let Some(say) = self.say(kind) {
            *say.counts.get_mut(count) += messages;
        }
    }

    /// Begins a step, to which all that follows belongs.
    pub(crate) fn start_step(&mut self, order: &StepOrder) {
        self.step = order.index;
        self.last_arrival_ns = 0;
        if let Some(recorder) = &mut self.recorder {
            recorder.start_step(order);
        }
    }

    /// Begins the load at this moment: what the thread cost before, above all its idle time, does not count.
    pub(crate) fn start_load(&mut self, at_ns: u64) {
        self.thread = proc::thread_usage();
        // What an earlier step has not been answered is in that step's books.
        self.outstanding.clear();
        // The worker may be told a little before the load begins.
        self.since_ns = clock::monotonic_ns().max(at_ns);
    }

    /// Counts a client that begins to connect.
    pub(crate) fn handle_connect(&mut self, client: u32, now_ns: u64) {
        self.counts.connects += 1;
        self.note(|| Entry::new(Kind::Connect, now_ns, client));
    }

    /// Books messages of these numbers as sent. `annotate` adds sender, number and bytes to a message's log
    /// entry. The lag of the messages is recorded with their write.
    #[inline]
    pub(crate) fn handle_sent(
        &mut self,
        now_ns: u64,
        client: u32,
        kind: usize,
        intended_ns: u64,
        numbers: Range<u32>,
        annotate: impl Fn(Entry, u32) -> Entry,
    ) {
        self.count(Count::Sent, kind, u64::from(numbers.end - numbers.start));
        let late_ns = now_ns.saturating_sub(intended_ns);
        if let Some(recorder) = &mut self.recorder {
            let entry = Entry::new(Kind::Send, now_ns, client).latency(late_ns);
            for number in numbers {
                recorder.add(annotate(entry, number));
            }
        }
    }

    /// Records an event, if events are recorded.
    #[inline]
    pub(crate) fn note(&mut self, entry: impl FnOnce() -> Entry) {
        if let Some(recorder) = &mut self.recorder {
            recorder.add(entry());
        }
    }

    /// Records an entry, with a detail, if events are recorded.
    pub(crate) fn note_detailed(&mut self, entry: Entry, detail: &'static str) {
        if let Some(recorder) = &mut self.recorder {
            recorder.add_detailed(entry, detail);
        }
    }

    /// Counts an error of a client; `example` is made only for the first of its kind in the interval.
    pub(crate) fn error(
        &mut self,
        kind: &'static str,
        client: u32,
        now_ns: u64,
        example: impl FnOnce() -> String,
    ) {
        self.note_detailed(Entry::new(Kind::Error, now_ns, client), kind);
        // Taken in any case: what the server said belongs to the error that follows, and to no later one.
        let heard = self.heard.take().filter(|(of, said)| *of == kind && !said.is_empty());
        // One example tells as much as a thousand, and making one allocates.
        let example = match (self.errors.get(kind), heard) {
            (Some(_), _) => String::new(),
            (None, None) => example(),
            (None, Some((_, said))) => format!("{}: {said}", example()),
        };
        let at_ns = now_ns.saturating_sub(self.epoch_ns);
        match example.is_empty() {
            true => self.errors.add(kind, at_ns, &example),
            false => self.errors.add(kind, at_ns, &secret::scrub(&example, &self.secrets.of(client))),
        }
    }

    /// Counts missing messages that a rule of the app's file took for something else; their times are those of
    /// the run's clock.
    pub(crate) fn count_taken(&mut self, rule: Rule, missing: ErrorKind) {
        let [first_ns, last_ns] =
            [missing.first_ns, missing.last_ns].map(|at_ns| at_ns.saturating_sub(self.epoch_ns));
        self.taken.add_kind(rule.name(), ErrorKind { first_ns, last_ns, ..missing });
    }

    /// The text of what the server said to a client, without secrets.
    pub(crate) fn quoted(&self, bytes: &[u8], client: u32) -> String {
        excerpt(&self.secrets.scrub(bytes, client))
    }

    /// Counts the loss of a client's connection, or of the attempt at one, as an error of its cause.
    pub(crate) fn loss(&mut self, cause: Cause, client: u32, now_ns: u64, example: impl FnOnce() -> String) {
        self.error(cause.kind(), client, now_ns, example);
        if cause.is_local() {
            self.errors.set_local(cause.kind());
        }
    }

    /// Keeps what the server said for the example of the error that follows, if it is the first of its kind.
    /// One that never follows, as of a client that has said goodbye, has no part in another.
    pub(crate) fn hear(&mut self, kind: &'static str, client: u32, bytes: &[u8]) {
        if self.errors.get(kind).is_none() {
            // Before it is cut short: half a secret would not be recognised as one.
            self.heard = Some((kind, self.quoted(bytes, client)));
        }
    }

    /// Keeps words of our own for the example of the error that follows, if it is the first of its kind.
    pub(crate) fn tell(&mut self, kind: &'static str, words: String) {
        if self.errors.get(kind).is_none() {
            self.heard = Some((kind, words));
        }
    }

    /// Hands on the recorded events.
    pub(crate) fn flush_events(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.flush();
        }
    }

    /// Time since the last [`take`](Self::take).
    pub(crate) fn collected_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.since_ns)
    }

    /// Everything measured since the last time.
    pub(crate) fn take(&mut self, now_ns: u64, usable: u32) -> Delta {
        let thread = proc::thread_usage();
        let usage = Usage {
            wall_ns: self.collected_ns(now_ns),
            cpu_ns: cpu_ns(&thread).saturating_sub(cpu_ns(&self.thread)),
            run_queue_ns: thread.run_queue_wait_ns.saturating_sub(self.thread.run_queue_wait_ns),
            outstanding_ns: self.outstanding.take(now_ns),
        };
        self.thread = thread;
        self.since_ns = now_ns;
        // Packed here, on the worker: a delta crosses threads, processes and networks, mostly with empty
        // buckets.
        let mut figures = std::mem::take(&mut self.figures).pack();
        figures.add_up_rooms();
        let says = self.says.iter_mut().map(|say| {
            let SayDelta { counts, rtt, delivery } = std::mem::take(say);
            SayDelta { counts, rtt: (&rtt).into(), delivery: (&delivery).into() }
        });
        let says = says.collect();
        let roles = self.roles.iter_mut().map(|role| {
            let RoleDelta { counts, handshake, rtt, delivery } = std::mem::take(role);
            let (handshake, rtt, delivery) = ((&handshake).into(), (&rtt).into(), (&delivery).into());
            RoleDelta { counts, handshake, rtt, delivery }
        });
        let roles = roles.collect();
        Delta {
            worker: self.worker,
            step: self.step,
            at_ns: now_ns,
            usable,
            last_arrival_ns: self.last_arrival_ns,
            figures,
            account: std::mem::take(&mut self.account),
            loop_lag: (&std::mem::take(&mut self.loop_lag)).into(),
            counts: std::mem::take(&mut self.counts).capped(),
            says,
            roles,
            due: std::mem::take(&mut self.due),
            sent_bytes: std::mem::take(&mut self.sent_bytes),
            received_bytes: std::mem::take(&mut self.received_bytes),
            acks: std::mem::take(&mut self.acks),
            tail: std::mem::take(&mut self.tail),
            held: std::mem::take(&mut self.held),
            abandoned: std::mem::take(&mut self.abandoned),
            errors: std::mem::take(&mut self.errors),
            taken: std::mem::take(&mut self.taken),
            contents: self.contents.take(),
            statuses: std::mem::take(&mut self.statuses),
            usage,
            permit: DeltaPermit::default(),
        }
    }
}

fn cpu_ns(thread: &proc::ThreadUsage) -> u64 {
    thread.user_ns + thread.system_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_own_example() {
        let mut meter = Meter::new(0, Secrets::of_one(Vec::new()));
        meter.hear("rejected", 0, b"no");
        meter.error("reset", 0, 1, || "reset by peer".into());
        meter.hear("unrecognised", 0, b"{}");
        meter.error("unrecognised", 0, 2, || "what was said".into());
        let example = |kind| meter.errors.get(kind).unwrap().example.clone();
        assert_eq!((&*example("reset"), &*example("unrecognised")), ("reset by peer", "what was said: {}"));
    }

    #[test]
    fn quoted_secrets_are_not_told() {
        let mut meter = Meter::new(0, Secrets::of_one(vec!["open sesame".into()]));
        meter.hear("rejected", 0, b"entry: open sesame");
        meter.error("rejected", 0, 1, || "open sesame refused".into());
        let example = &meter.errors.get("rejected").unwrap().example;
        assert_eq!(example, "*** refused: entry: ***");
    }

    #[test]
    fn examples_of_logged_in_clients_hide_keys() {
        let log_in = Secrets { log_in: true, ..Secrets::of_one(Vec::new()) };
        let mut meter = Meter::new(0, log_in);
        meter.hear("rejected", 0, b"session 0a1b2c3d4e5f6071 is over");
        meter.error("rejected", 0, 1, || "refused".into());
        meter.tell("login_refused", "POST /session".into());
        meter.error("login_refused", 0, 1, || "HTTP 403".into());
        let example = |kind| meter.errors.get(kind).unwrap().example.clone();
        assert_eq!(example("rejected"), "refused: session *** is over");
        assert_eq!(example("login_refused"), "HTTP 403: POST /session");
    }

    #[test]
    fn costs_begin_with_the_load() {
        const MS: u64 = 1_000_000;
        let mut meter = Meter::new(0, Secrets::of_one(Vec::new()));
        let go_ns = clock::monotonic_ns() + 1_000 * MS;
        meter.start_load(go_ns);
        assert_eq!(meter.take(go_ns + 500 * MS, 0).usage.wall_ns, 500 * MS);
        // Told too late, a worker begins at once.
        let told_ns = clock::monotonic_ns();
        meter.start_load(told_ns.saturating_sub(1_000 * MS));
        assert!(meter.take(told_ns + 500 * MS, 0).usage.wall_ns <= 500 * MS);
    }
}
