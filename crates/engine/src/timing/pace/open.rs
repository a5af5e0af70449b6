//! The open model: messages are due on a schedule, whatever became of earlier ones.
//!
//! Rules. Message k goes out through the k-th client in turn when its time has come. Where clients may be
//! gone, turns pass over them, and a message that no client takes is given to the next one in turn, so that
//! it counts as due and unsent; or it waits for one that is about to be back.

use load::{Pacer, Schedule};

use super::next::Next;
use crate::timing::senders::LocalSenders;
use crate::timing::turns::Turns;

/// The schedule of one group of senders.
#[derive(Debug)]
pub(crate) struct Open {
    pacer: Pacer,
    start_ns: u64,
    clients: Vec<u32>,
    sent: u64,
    total: u64,
    /// When message `sent` is due: asked for at every event, computed once a message; `u64::MAX`: there is
    /// none.
    next_ns: u64,
    /// The earliest end.
    end_ns: u64,
    /// The turns of the clients, where absent ones are passed over.
    turns: Option<Turns>,
    /// True if clients may be gone for a while: then a message's number does not tell its turn.
    has_absences: bool,
    /// True if due messages wait while no client takes them.
    waits: bool,
}

impl Open {
    /// The group's share of the schedule from `start_ns` on.
    pub(super) fn new(schedule: Schedule, duration_ns: u64, start_ns: u64, local: LocalSenders) -> Self {
        let LocalSenders { share, part, clients } = local;
        let pacer = Pacer::new(schedule.times(share), u32::from(part.worker), u32::from(part.workers));
        // Counted beforehand, not by the clock: a loop that runs late still sends every message of its
        // schedule.
        let total = if clients.is_empty() { 0 } else { pacer.count_before(duration_ns) };
        let next_ns = if total == 0 { u64::MAX } else { start_ns.saturating_add(pacer.due_ns(0)) };
        Self {
            pacer,
            start_ns,
            clients,
            sent: 0,
            total,
            next_ns,
            end_ns: start_ns,
            turns: None,
            has_absences: false,
            waits: false,
        }
    }

    /// The same in a storm of this length. Clients that reconnect are watched for to its end, also where the
    /// last message was due long before.
    pub(super) fn in_storm(self, duration_ns: u64) -> Self {
        Self { has_absences: true, end_ns: self.start_ns + duration_ns, ..self }
    }

    /// Passes over clients that are not usable.
    pub(super) fn pass_over_absent(&mut self) {
        (self.turns, self.has_absences) = (Some(Turns::new(self.clients.len())), true);
    }

    /// Has due messages wait, or not, for a client that takes them.
    pub(super) fn wait_for_absent(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// When the next message is due; `u64::MAX`: never.
    #[inline]
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The earliest end.
    pub(super) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Returns whether every message has been sent.
    #[inline]
    pub(super) fn is_sent(&self) -> bool {
        self.sent == self.total
    }

    /// Returns whether clients may be gone for a while.
    pub(super) fn has_absences(&self) -> bool {
        self.has_absences
    }

    /// When message `number` of the client at `place` was due; `None` where that depends on absences.
    pub(super) fn due_ns(&self, place: usize, number: u32) -> Option<u64> {
        if self.has_absences {
            return None;
        }
        // In turn: the client at this place has the messages `place`, `place + n`, `place + 2n`, ….
        let k = u64::from(number) * self.clients.len() as u64 + place as u64;
        Some(self.start_ns + self.pacer.due_ns(k))
    }

    /// Notes that a client may take a message again.
    pub(super) fn handle_return(&mut self, client: u32) {
        if let (Some(turns), Ok(place)) = (&mut self.turns, self.clients.binary_search(&client)) {
            turns.handle_return(place);
        }
    }

    /// The action at `now_ns`, as [`Pace::poll`](super::Pace::poll) has it.
    pub(super) fn poll(&mut self, now_ns: u64, takes: impl Fn(u32, u32) -> u32) -> Next {
        if self.is_sent() {
            return if now_ns < self.end_ns { Next::At(self.end_ns) } else { Next::Over };
        }
        let intended_ns = self.next_ns;
        if intended_ns > now_ns {
            return Next::At(intended_ns);
        }
        let place = match &mut self.turns {
            None => (self.sent % self.clients.len() as u64) as usize,
            Some(turns) => match turns.take(|place| takes(self.clients[place], 1) > 0) {
                Some(place) => place,
                None if self.waits => return Next::Wait,
                // No client takes it: it is given to the client in turn all the same, so that it counts as
                // due and unsent.
                None => turns.skip(),
            },
        };
        let client = self.clients[place];
        self.sent += 1;
        self.next_ns = match self.is_sent() {
            true => u64::MAX,
            false => self.start_ns.saturating_add(self.pacer.due_ns(self.sent)),
        };
        Next::Send { client, intended_ns, messages: 1 }
    }
}
