//! A worker's part in a step: it connects, sends what is due, lets answers come in and closes its books.

use load::{Load, SenderGroup, StepOrder};
use net::{clock, reserve};
use stats::error_kind;

use super::{CLOSE_TIMEOUT_NS, Phase, Worker};
use crate::books::{self, BROADCASTS_PER_WORKER_MAX, Cause, Ledger, Terms};
use crate::clients::connecting::ConnectAttempt;
use crate::clients::{CLIENTS_MAX, Unsent};
use crate::messages::{Report, Settled};
use crate::reporter::ReportPhase;
use crate::timing::{Batch, BatchEnd, Disruptions, Growth, LocalSenders, Pace};

impl Worker {
    /// Begins to connect the clients that the step has in addition to those that are there.
    pub(super) fn start_growing(&mut self, order: StepOrder, now_ns: u64) {
        (self.pace, self.disruptions) = (None, None);
        // A token has 24 bits for the client, and an order from the network may ask for more.
        let share = self.segment.share(order.clients).min(CLIENTS_MAX);
        self.clients.keep_tls_sessions(if self.plan.resumes_tls(order.load) { share } else { 0 });
        let waiting = self.clients.start_step(order, share, now_ns);
        if let Some(publishers) = &mut self.publishers {
            publishers.start_step(order, &mut self.clients, now_ns);
        }
        let growth = Growth::new(&self.plan.connecting, self.segment, now_ns, waiting);
        self.phase = Phase::Growing(Box::new(growth));
        self.reporter.keep(ReportPhase::Growing, now_ns);
        self.grow(now_ns);
    }

    /// Connects the clients that may connect now, and ends the phase when none is left, nor on its way into a
    /// room.
    pub(super) fn grow(&mut self, now_ns: u64) {
        let Phase::Growing(growth) = &mut self.phase else { return };
        while let Some((client, attempt)) = growth.poll_expired(self.heard.until_ns()) {
            if !self.clients.is_opening(client, attempt) {
                continue;
            }
            let unanswered_ns = self.clients.unanswered_since(client);
            if unanswered_ns.is_some_and(|since_ns| growth.handle_unanswered(client, since_ns, now_ns)) {
                self.clients.take_back_attempt(client, now_ns);
            } else {
                self.clients.lose(client, Cause::ConnectTimeout, now_ns);
                growth.handle_end();
            }
        }
        while let Some(client) = growth.poll_client(now_ns) {
            let (first_ns, may_wait) = (growth.first_tried_ns(client), growth.may_wait_for_room(now_ns));
            match self.clients.connect_first(client, first_ns, may_wait) {
                ConnectAttempt::UnderWay { attempt, begun_ns } => {
                    growth.handle_begun(client, attempt, begun_ns)
                }
                ConnectAttempt::Full => growth.handle_full(client, now_ns),
                ConnectAttempt::Failed => growth.handle_end(),
            }
        }
        // The load is to find clients in their rooms: of one that was still on its way, copies would come in
        // passing. A server that lets nobody in has as long as a connection.
        let awaits_rooms = growth.has_time() && self.clients.ledger.are_joining();
        if growth.is_over() && !awaits_rooms {
            let lost = growth.lost();
            self.phase = Phase::Idle;
            // The last measurements of the phase go before the report that ends it: the crew closes its books
            // of the phase with that.
            self.reporter.report_all(&mut self.clients.ledger, now_ns);
            self.reporter.keep(ReportPhase::Loading, now_ns);
            self.clients.ledger.handle_grown();
            let Ledger { usable, slow, .. } = self.clients.ledger;
            let (worker, reached) = (self.segment.worker, usable + lost);
            self.reporter.report(Report::Grown { worker, usable, slow, reached });
        }
    }

    /// Begins the load at this moment.
    pub(super) fn start_loading(&mut self, at_ns: u64) {
        let order = self.clients.ledger.step.order;
        let present = self.clients.present();
        let senders = order.load.senders(self.plan.senders());
        let local = |group: &SenderGroup| {
            let sends = |client: &u32| group.senders.sends(self.segment.number(*client));
            let clients: Vec<u32> = present.iter().copied().filter(sends).collect();
            let parts = group.senders.parts(order.clients, self.segment.workers);
            let part = parts[usize::from(self.segment.worker)].unwrap_or(self.segment);
            LocalSenders { share: group.share, part, clients }
        };
        let (all, groups) = (local(&senders.all()), senders.groups().iter().map(local).collect());
        let senders = all.clients.clone();
        // Worker and step in bits of their own, so that no two of them draw the same clients in the same
        // order.
        let seed = self.plan.seed ^ u64::from(self.segment.worker) << 32 ^ u64::from(order.index);
        let mut pace = Pace::new(&order, all, groups, at_ns, seed);
        // In these loads clients are away, or outside, as a matter of course. In others an absent client
        // keeps its turn, so that what it could not send is counted.
        if self.plan.churn.is_some()
            || self.plan.flap.is_some()
            || self.plan.messages_per_connection.is_some()
            || self.visits.is_some()
        {
            pace.pass_over_absent();
        }
        pace.wait_for_absent(self.plan.messages_per_connection.is_some());
        let window_end_ns = match (order.load, order.load.duration_ns()) {
            // No moment ends these windows, so that nothing in them is late.
            (Load::Hold { .. }, _) | (_, None) => u64::MAX,
            (_, Some(duration_ns)) => at_ns + duration_ns,
        };
        let disruptions = Disruptions::of(
            &self.plan,
            &order,
            self.segment,
            self.clients.count(),
            &present,
            at_ns,
            window_end_ns,
        );
        let terms = Terms {
            begin_ns: at_ns,
            window_end_ns,
            is_closed: pace.is_closed(),
            awaits: pace.awaits(),
            storm_ns: disruptions.as_ref().and_then(Disruptions::storm_ns),
            has_churn: disruptions
                .as_ref()
                .is_some_and(|disruptions| disruptions.is_churn() || disruptions.is_renewal()),
            is_flapping: disruptions.as_ref().is_some_and(Disruptions::is_flapping),
        };
        self.clients.ledger.start_load(terms, &present, senders);
        if let Some(publishers) = &mut self.publishers {
            publishers.start_load(&mut self.clients, clock::monotonic_ns());
        }
        if let Some(visits) = &mut self.visits {
            visits.start(&present, at_ns);
        }
        (self.pace, self.disruptions) = (Some(pace), disruptions);
        self.phase = Phase::Loading;
        self.reporter.keep(ReportPhase::Loading, at_ns);
        self.pump(clock::monotonic_ns());
    }

    /// Sends what is due, and notes when there will be more.
    #[inline]
    pub(super) fn pump(&mut self, now_ns: u64) {
        (self.next_send_ns, self.is_behind) = (None, false);
        // Rounds go on as long as sending itself frees or loses something. They end with the next moment at
        // which something is due, with the load, or for what has arrived in an open loop.
        let mut sent_ns = now_ns;
        while let Some(end) = self.gather(now_ns) {
            let was_unsent = self.send_batch(sent_ns);
            if end == BatchEnd::Full {
                // What a closed loop has under way is bounded by its slots, but nothing bounds what has become
                // due in an open one: what has arrived meanwhile comes first.
                if !self.clients.ledger.step.is_closed() {
                    return (self.next_send_ns, self.is_behind) = (Some(now_ns), true);
                }
                // A full batch takes about a millisecond. The next was due as well, but how long the server
                // takes for it begins now.
                sent_ns = clock::monotonic_ns();
            }
            if was_unsent || self.clients.ledger.has_news() {
                continue; // what was freed or lost in between may have another turn
            }
            match end {
                BatchEnd::Full => {}
                BatchEnd::At(at_ns) => return self.next_send_ns = Some(at_ns),
                BatchEnd::Wait if self.is_stranded() => return self.start_draining(now_ns),
                // What is due waits for a connection, and none is to come: it goes unsent.
                BatchEnd::Wait if self.lacks_senders() => {
                    if let Some(pace) = &mut self.pace {
                        pace.wait_for_absent(false);
                    }
                }
                BatchEnd::Wait => return,
                BatchEnd::Over => return self.start_draining(now_ns),
                BatchEnd::StepFull => {
                    self.clients.ledger.meter.error(error_kind::STEP_FULL, 0, now_ns, || {
                        format!(
                            "a worker counts no more than {BROADCASTS_PER_WORKER_MAX} broadcasts in a step: use more --threads, or a shorter step"
                        )
                    });
                    return self.start_draining(now_ns);
                }
            }
        }
    }

    /// Gathers what is due. Returns why it took no more, or `None` if the worker does not send.
    #[inline]
    fn gather(&mut self, now_ns: u64) -> Option<BatchEnd> {
        let (Phase::Loading, Some(pace)) = (&self.phase, &mut self.pace) else { return None };
        let mut renewal = self.disruptions.as_mut().and_then(Disruptions::renewal);
        // Before the pace is asked what is due: in a closed loop, that frees the slots for it.
        for (client, messages) in self.clients.ledger.freed.drain(..) {
            if let Some(renewal) = &mut renewal {
                renewal.handle_answers(client, messages);
            }
            pace.handle_answers(client, messages);
        }
        for client in self.clients.ledger.take_entered() {
            pace.handle_return(client);
        }
        if reserve::is_given_up() {
            return None;
        }
        // What a connection still takes is counted as it is gathered: a client may be named several times in
        // one batch.
        let takes = |client, messages| match &renewal {
            _ if !self.clients.may_speak(client) => 0,
            None => messages,
            Some(renewal) => renewal.take(client, messages),
        };
        Some(self.batch.gather(pace, now_ns, self.clients.ledger.step.room(), takes))
    }

    /// Returns whether all clients are gone, and none is expected back.
    fn is_stranded(&self) -> bool {
        self.pace.as_ref().is_some_and(Pace::is_stranded) && !self.has_visitors() && !self.expects_returns()
    }

    /// Returns whether an open loop waits for a client, and none is here or expected back.
    fn lacks_senders(&self) -> bool {
        let is_open = self.pace.as_ref().is_some_and(|pace| !pace.is_closed());
        is_open && self.clients.ledger.usable == 0 && !self.expects_returns()
    }

    /// Returns whether a client that is away may come back.
    fn expects_returns(&self) -> bool {
        self.disruptions.as_ref().is_some_and(Disruptions::has_hope)
    }

    /// Sends what was gathered. Returns whether some of it did not go out, so that other clients may have its
    /// turn.
    fn send_batch(&mut self, now_ns: u64) -> bool {
        let (batch, mut was_unsent) = (self.batch.take(), false);
        for (client, mut portion) in Batch::portions(&batch) {
            if let Some(publishers) = &mut self.publishers {
                publishers.send(client, &mut portion, &mut self.clients, now_ns);
            }
            // Away on purpose: nothing is asked of the server, so nothing can be held against it.
            if self.has_nobody_for(client) {
                self.clients.ledger.handle_nobody_there(portion.count() as u64);
                continue;
            }
            while !portion.is_over() {
                if let Err(unsent) = self.clients.send(client, &mut portion, now_ns) {
                    self.handle_unsent(client, unsent, now_ns);
                    was_unsent = true;
                }
            }
        }
        self.batch.put_back(batch);
        was_unsent
    }

    /// Returns whether the client at its turn is away on purpose, or outside the room where it speaks. An open
    /// loop that passes over absent clients only comes to one where all are absent.
    fn has_nobody_for(&self, client: u32) -> bool {
        if self.clients.is_usable(client) {
            return !self.clients.may_speak(client);
        }
        self.disruptions.as_ref().is_some_and(|disruptions| disruptions.is_away(client))
    }

    /// Handles messages of a client that did not go out.
    fn handle_unsent(&mut self, client: u32, unsent: Unsent, now_ns: u64) {
        let Unsent { messages, cause } = unsent;
        if let Some(pace) = &mut self.pace {
            pace.handle_unsent(client, messages);
        }
        if let Some(cause) = cause {
            self.lose(client, cause, now_ns);
        }
    }

    pub(super) fn start_draining(&mut self, now_ns: u64) {
        self.phase = Phase::Draining;
        self.clients.ledger.step.absences.load_is_over();
        if let Some(visits) = &mut self.visits {
            visits.stop(now_ns);
        }
        if let Some(disruptions) = &mut self.disruptions {
            disruptions.handle_loaded();
        }
        self.reporter.report_all(&mut self.clients.ledger, now_ns);
        self.reporter.keep(ReportPhase::Draining, now_ns);
        let (worker, sent) = (self.segment.worker, self.clients.ledger.step.messages_sent);
        self.reporter.report(Report::Loaded { worker, sent, at_ns: now_ns });
    }

    /// Closes the books of the step.
    pub(super) fn settle(&mut self, now_ns: u64) {
        // Before the books are closed: an attempt that is under way has neither failed nor succeeded, and is
        // counted as such.
        let dropped = self.clients.drop_attempts();
        let connecting = match &self.phase {
            // Those that wait for another try have not got in either.
            Phase::Growing(growth) => growth.trying().into(),
            _ => dropped,
        };
        (self.phase, self.disruptions) = (Phase::Idle, None);
        let pace = self.pace.as_ref();
        let due_ns = |place, number| pace.and_then(|pace| pace.due_ns(place, number));
        self.clients.note_unheeded(now_ns);
        self.clients.note_withheld(now_ns);
        if let Some(publishers) = &mut self.publishers {
            publishers.end_step(&mut self.clients, now_ns);
        }
        let (ledger, clients) = self.clients.books();
        ledger.meter.counts.connecting += connecting;
        let settled = books::close(ledger, clients, due_ns, now_ns);
        ledger.meter.flush_events();
        // After `close`, which still counts: the last delta goes with the books, not before them.
        self.reporter.hand_over();
        let delta = ledger.meter.take(now_ns, ledger.usable);
        self.reporter.rest();
        self.reporter.report(Report::Settled(Box::new(Settled { delta, ..settled })));
    }

    pub(super) fn start_finishing(&mut self, now_ns: u64) {
        self.phase = Phase::Finishing(now_ns + CLOSE_TIMEOUT_NS);
        self.clients.close();
    }

    pub(super) fn is_finished(&self, now_ns: u64) -> bool {
        let Phase::Finishing(deadline_ns) = self.phase else { return false };
        now_ns >= deadline_ns || self.clients.are_vacant()
    }
}
