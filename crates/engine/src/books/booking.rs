//! Books one event of a client.

mod answers;
mod copies;

use app::Acks;
use codec::Stamp;
use load::Workload;
use stats::{Count, Reach, error_kind};
use wire::{Event, Progress, Pushed, Role, WrongResponse};

use crate::books::cause::Cause;
use crate::books::ledger::Ledger;
use crate::books::record::{Record, State};
use crate::books::relayed::Relayed;
use crate::books::taken::TakenMessage;
use crate::events::{Entry, Kind};

/// Everything that events of one client can change, except its connection.
pub(crate) struct Booking<'a> {
    now_ns: u64,
    /// Kinds of messages that the server acknowledges beside their copies.
    acks: Acks,
    client: u32,
    /// The bytes that the events are read from.
    heard: &'a [u8],
    /// Age of these bytes.
    reach: Reach,
    record: &'a mut Record,
    ledger: &'a mut Ledger,
    /// The end of the connection, if an event ends it.
    end: Option<Cause>,
    /// Answers that are not in the figures yet.
    latency_run: LatencyRun,
    /// True if the message in hand came in the same frame as the one before.
    is_in_same_frame: bool,
    /// True if a message before it in the frame was counted as received.
    has_received_in_frame: bool,
}

/// Consecutive answers that took equally long, because they came in one read and their messages went out in
/// one write.
#[derive(Default)]
struct LatencyRun {
    service_ns: u64,
    rtt_ns: u64,
    answers: u64,
    /// The part of the service in which the worker had no CPU to send with.
    held_ns: u64,
}

impl<'a> Booking<'a> {
    /// A booking of what a client hears now.
    #[inline]
    pub(crate) fn new(client: u32, record: &'a mut Record, ledger: &'a mut Ledger, now_ns: u64) -> Self {
        Self {
            now_ns,
            acks: ledger.acks,
            client,
            heard: b"",
            reach: Reach::default(),
            record,
            ledger,
            end: None,
            latency_run: LatencyRun::default(),
            is_in_same_frame: false,
            has_received_in_frame: false,
        }
    }

    /// Sets the bytes that the events are read from, and their age.
    #[inline]
    pub(crate) fn of_read(self, heard: &'a [u8], reach: Reach) -> Self {
        Self { heard, reach, ..self }
    }

    /// Completes the figures. Returns why the connection is over, if an event ended it.
    pub(crate) fn finish(mut self) -> Option<Cause> {
        self.record_latency_run();
        self.end
    }

    /// Records the answers that are not in the figures yet.
    fn record_latency_run(&mut self) {
        let LatencyRun { service_ns, rtt_ns, answers, held_ns } = std::mem::take(&mut self.latency_run);
        if answers == 0 {
            return;
        }
        if !self.ledger.streams.is_on() {
            let answering_ns = service_ns.saturating_sub(held_ns);
            self.ledger.meter.account.add(rtt_ns, answering_ns, answers, self.reach);
        }
        self.ledger.meter.figures.service.record_n_ns(service_ns, answers);
        self.ledger.meter.figures.rtt.record_n_ns(rtt_ns, answers);
    }

    /// Books that the application has taken a message of this client, whatever became of the client's own
    /// connection.
    pub(crate) fn published(mut self, stamp: Stamp, bytes: u32) {
        // The answer to a request that was sent again is no second acknowledgement.
        self.acks = Acks::all(false);
        self.message(Role::Ack, stamp, bytes);
        self.finish();
    }

    fn wrong_response(&mut self, wrong: &WrongResponse) {
        // What a stream says in place of events is the reason.
        if matches!(wrong, WrongResponse::NotStream(_) | WrongResponse::ErrorEvent) {
            self.ledger.meter.hear(wrong.name(), self.client, self.heard);
        }
        self.ledger.meter.error(wrong.name(), self.client, self.now_ns, || wrong.to_string());
    }

    /// Books one event.
    pub(crate) fn handle(&mut self, event: Event) {
        match event {
            // A client that has said goodbye waits for nothing.
            Event::Message { .. } | Event::Series { .. } if self.record.state == State::Closing => {}
            Event::Message { role, stamp, bytes } => {
                self.has_received_in_frame &= self.is_in_same_frame;
                self.message(role, stamp, bytes);
                self.is_in_same_frame = false;
            }
            Event::SameFrame => self.is_in_same_frame = true,
            Event::Series { role, first, messages, bytes } => {
                if !self.series(role, first, messages, bytes) {
                    // Something in the series is lost, doubled or out of order. One by one, each gets the
                    // count that is its own.
                    for n in 0..messages {
                        self.message(role, first.after(n), bytes);
                    }
                }
            }
            Event::LoggedIn => {
                self.ledger.meter.figures.login.record_ns(self.now_ns - self.record.since_ns);
                self.record.since_ns = self.now_ns;
            }
            Event::Upgraded => {
                self.ledger.meter.figures.upgrade.record_ns(self.now_ns - self.record.since_ns);
                self.record.since_ns = self.now_ns;
            }
            Event::Usable => self.ledger.handle_usable(self.client, self.record, self.now_ns),
            // What another run says differs from what is held against it: time, size, the app's fields.
            Event::Corrupt { stamp: Some(stamp), .. } if stamp.run != self.ledger.run => {
                self.handle_other_run(stamp.sent_ns());
            }
            Event::Unmatched { run, sent_ns, .. } if run != self.ledger.run => self.handle_other_run(sent_ns),
            Event::Taken { stamp, .. } if stamp.run != self.ledger.run => {}
            Event::Corrupt { .. } => {
                self.ledger.meter.counts.corrupt += 1;
                self.ledger.meter.note(|| Entry::new(Kind::Corrupt, self.now_ns, self.client));
            }
            // The excerpt is kept before the error is counted, which takes it as its example.
            Event::Foreign { bytes } => {
                self.ledger.meter.hear(error_kind::UNRECOGNISED, self.client, self.heard);
                self.ledger.meter.error(error_kind::UNRECOGNISED, self.client, self.now_ns, || {
                    format!("unexpected message from the server ({bytes} bytes); an app file names it in `open` or [[ignore]]")
                })
            }
            Event::Unmatched { near, .. } => {
                self.ledger.meter.hear(error_kind::UNMATCHED, self.client, self.heard);
                let Ledger { meter, misses, .. } = &mut *self.ledger;
                let near = near.and_then(|near| misses.get(usize::from(near)));
                meter.error(error_kind::UNMATCHED, self.client, self.now_ns, || unmatched(near));
            }
            Event::Taken { stamp, rule } => {
                let taken = TakenMessage { client: self.client, stamp };
                self.ledger.handle_taken(rule, taken, self.heard, self.now_ns);
            }
            Event::Pushed(pushed) => self.pushed(pushed),
            // The same message also comes the way that counts.
            Event::Beside => {}
            Event::Progress { request, progress } => self.progress(request, progress),
            Event::WrongResponse(wrong) => self.wrong_response(&wrong),
            Event::Broken(failure) => {
                self.ledger.meter.error(failure.name(), self.client, self.now_ns, || failure.to_string());
            }
            Event::Announced { stamp, bytes } => self.announced(stamp, bytes),
            Event::RoomChange { kind, passed } => {
                self.ledger.handle_passed(self.client, kind, passed, self.now_ns);
            }
            // A server that says why it closes says so before.
            Event::Rejected(rejection) => {
                self.ledger.meter.hear(rejection.name(), self.client, self.heard);
                self.end.get_or_insert(Cause::Rejected(rejection));
            }
            Event::Closed { code } => _ = self.end.get_or_insert(Cause::Closed(code)),
        }
    }

    fn pushed(&mut self, pushed: Pushed) {
        self.ledger.handle_pushed(self.client, pushed, self.now_ns);
        if pushed.lacks {
            self.ledger.meter.hear(error_kind::PUSH_LACKS, self.client, self.heard);
            self.ledger.meter.error(error_kind::PUSH_LACKS, self.client, self.now_ns, || {
                "a push has no number or time where the app's file says".to_owned()
            });
        }
    }

    /// Books the progress of an answer in pieces to this request. An answer of an earlier step is not
    /// counted.
    fn progress(&mut self, request: u32, progress: Progress) {
        let Self { client, ledger, now_ns, reach, .. } = self;
        let Ledger { meter, streams, step, .. } = &mut **ledger;
        if let Progress::Begun { stamp } = progress {
            if step.number(request).is_some() {
                let held_ns = meter.held_writes.held_ns(*client, stamp);
                streams.begin(*client, stamp, held_ns, *now_ns);
            }
            return;
        }
        // Over a WebSocket, the answer may be closed by then.
        if progress == Progress::AfterEnd && step.number(request).is_some() {
            meter.counts.after_end += 1;
            meter.last_arrival_ns = *now_ns;
            return;
        }
        let Some(streamed) = streams.get_mut(*client, request) else { return };
        match progress {
            Progress::Event { tokens, is_misordered } => {
                streamed.handle_event(tokens, *reach, meter, *now_ns);
                meter.counts.misordered += u64::from(is_misordered);
                if step.is_after_window(*now_ns) {
                    meter.tail.events += 1;
                    meter.tail.tokens += u64::from(tokens);
                }
            }
            Progress::Begun { .. } | Progress::AfterEnd | Progress::Ended { is_marked: true } => {}
            Progress::Ended { is_marked: false } => meter.counts.unmarked += 1,
        }
        if matches!(progress, Progress::Ended { .. }) {
            streams.finish(*client, request, meter);
        }
        meter.last_arrival_ns = *now_ns;
    }

    fn message(&mut self, role: Role, stamp: Stamp, bytes: u32) {
        if stamp.run != self.ledger.run {
            return self.handle_other_run(stamp.sent_ns());
        }
        let Some(number) = self.ledger.step.number(stamp.seq) else {
            // What is late beyond the end of its step has been counted there, as not having come.
            if !self.ledger.step.is_behind(stamp.seq) {
                self.unexpected(stamp, bytes);
            }
            return;
        };
        match (self.ledger.workload, role) {
            (Workload::Echo, Role::Echo) => _ = self.echo(stamp, number, bytes),
            (Workload::Echo, Role::Answer { status }) => {
                if self.echo(stamp, number, bytes) {
                    *self.ledger.meter.statuses.entry(status).or_default() += 1;
                }
            }
            (Workload::Broadcast, Role::Answer { status }) => {
                let reach = self.reach;
                if !self.ledger.relay(Relayed::Answer { stamp, status, bytes, reach }) {
                    self.unexpected(stamp, bytes);
                }
            }
            (Workload::Broadcast, Role::Ack) => self.ack(stamp, number, bytes),
            (Workload::Broadcast, Role::Copy) if self.ledger.may_have_been_sent(stamp, number) => {
                let kind = self.kind_of(stamp);
                self.copy(stamp, number, kind, bytes);
                // Where the server acknowledges nothing, the sender's own copy stands for the
                // acknowledgement, and is also a copy.
                if !self.acks.has(kind) && self.is_own(stamp) {
                    self.ack(stamp, number, bytes);
                }
            }
            _ => self.unexpected(stamp, bytes),
        }
    }

    /// Books the announcement of a newcomer to a room.
    fn announced(&mut self, stamp: Stamp, bytes: u32) {
        if stamp.run != self.ledger.run {
            self.handle_other_run(stamp.sent_ns());
        } else if stamp.worker >= self.ledger.segment.workers {
            self.unexpected(stamp, bytes);
        } else if !self.ledger.handle_news(self.client, stamp, self.now_ns) {
            self.ledger.meter.counts.leaked += 1;
            self.note(Kind::Leaked, stamp, None, bytes);
        }
    }

    /// Books a message of another run. Its numbers mean nothing here, and it is no fault of the server's. If
    /// it was sent before this client was there, it comes from a history.
    #[cold]
    fn handle_other_run(&mut self, sent_ns: u64) {
        let is_of_now = self.record.state == State::Usable && sent_ns >= self.record.since_ns;
        if is_of_now && !self.ledger.step.is_settled {
            self.ledger.meter.error(error_kind::OTHER_RUN, self.client, self.now_ns, || {
                "message of another run of throng: give each run rooms of its own".into()
            });
        }
    }

    #[inline]
    fn is_own(&self, stamp: Stamp) -> bool {
        stamp.worker == self.ledger.segment.worker && stamp.client == self.client
    }

    #[inline]
    fn kind_of(&self, stamp: Stamp) -> usize {
        self.ledger.local_rooms.kind_of(stamp.worker, stamp.client, stamp.seq)
    }

    fn unexpected(&mut self, stamp: Stamp, bytes: u32) {
        let kind = self.kind_of(stamp);
        self.ledger.count(Count::Unexpected, kind, self.client);
        self.note(Kind::Unexpected, stamp, None, bytes);
    }

    fn duplicate(&mut self, stamp: Stamp, number: u32, bytes: u32) {
        let kind = self.kind_of(stamp);
        self.ledger.count(Count::Duplicate, kind, self.client);
        self.note(Kind::Duplicate, stamp, Some(number), bytes);
    }

    /// Records what came in, with its number unless it is of another step.
    #[inline]
    fn note(&mut self, kind: Kind, stamp: Stamp, number: Option<u32>, bytes: u32) {
        let Ledger { meter, segment, .. } = &mut *self.ledger;
        let (now_ns, client, segment) = (self.now_ns, self.client, *segment);
        meter.note(|| {
            let entry = Entry::new(kind, now_ns, client).bytes(bytes);
            let Some(number) = number else { return entry };
            entry.message(segment.sender(stamp), number).latency(now_ns.saturating_sub(stamp.intended_ns))
        });
    }

    /// Counts messages of this size each. What comes besides them (acknowledgements, replays, pushes) is in
    /// no rate.
    fn received(&mut self, kind: usize, messages: u32, bytes: u32) {
        let messages = u64::from(messages);
        self.ledger.meter.received_bytes += messages * u64::from(bytes);
        self.ledger.count_all(Count::Received, kind, self.client, messages);
        // Behind an acknowledgement, it is the first of its frame that is received.
        if self.is_in_same_frame && self.has_received_in_frame {
            self.ledger.count_all(Count::Batched, kind, self.client, messages);
        }
        self.has_received_in_frame = true;
        self.ledger.meter.last_arrival_ns = self.now_ns;
        if self.is_after_window() {
            self.ledger.meter.tail.received += messages;
            // The last answers of a closed loop come after its end by its nature.
            if !self.ledger.step.is_closed() {
                self.ledger.count_all(Count::Late, kind, self.client, messages);
            }
        }
    }

    #[inline]
    fn is_after_window(&self) -> bool {
        self.ledger.step.is_after_window(self.now_ns)
    }
}

/// The words of the error of a message that fits no condition, with what the nearest wants.
fn unmatched(near: Option<&String>) -> String {
    let near = near.map(|near| format!("; {near}")).unwrap_or_default();
    format!("a message with throng's id fits no condition of the app's file{near}")
}

#[cfg(test)]
mod tests;
