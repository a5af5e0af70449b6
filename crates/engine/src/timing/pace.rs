//! The next client to send, and when: the workload of one step at one worker.
//!
//! Rules. **Open**: message k goes out through the k-th client in turn when its time has come, whatever
//! became of earlier ones; sender groups with a rate of their own have turns of their own. **Closed**: as
//! many messages under way as there are slots; an answer frees a slot for the next message, sent by a client
//! chosen at random among those that may have another under way.

use std::collections::HashMap;
use std::iter;

use fastrand::Rng;
use load::{Load, Pacer, Schedule, Segment, StepOrder, Until};

use crate::timing::turns::Turns;

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send `messages` messages, which were due at this moment, through this client.
    Send { client: u32, intended_ns: u64, messages: u32 },
    /// Nothing before this moment.
    At(u64),
    /// Nothing until an answer frees a slot.
    Wait,
    /// The step's last message has been sent.
    Over,
}

/// The sending side of a step.
#[derive(Debug)]
pub(crate) enum Pace {
    /// By sender group; one at least.
    Open(Vec<Open>),
    Closed(Closed),
    /// Nothing to send until this moment, nor then.
    Hold(u64),
}

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

/// Clients that send a share of an open load, in turn.
#[derive(Clone, Debug)]
pub(crate) struct LocalSenders {
    /// The share of the load, and this worker's part of it.
    pub(crate) share: f64,
    pub(crate) part: Segment,
    /// The clients, ascending, all of them usable and not slow.
    pub(crate) clients: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Closed {
    rng: Rng,
    /// Clients with room for another message, once for each such message.
    idle: Vec<u32>,
    /// Clients that were not usable when their turn came, and the messages for which each has room.
    absent: HashMap<u32, u32>,
    slots: u32,
    free_slots: u32,
    remaining: u64,
    start_ns: u64,
    end_ns: u64,
}

impl Pace {
    /// This worker's part of the load of `order` from `start_ns` on, sent by `all`. In an open load, each of
    /// the `groups` sends its share.
    pub(crate) fn new(
        order: &StepOrder,
        all: LocalSenders,
        groups: Vec<LocalSenders>,
        start_ns: u64,
        seed: u64,
    ) -> Self {
        let LocalSenders { part, clients, .. } = all;
        match order.load {
            Load::Open { schedule, duration_ns } => {
                let open = |group| Open::new(schedule, duration_ns, start_ns, group);
                Self::Open(groups.into_iter().map(open).collect())
            }
            Load::Storm(storm) => {
                let duration_ns = storm.whole_ns();
                let Some(rate_per_s) = storm.rate_per_s.filter(|_| !clients.is_empty()) else {
                    // A storm without a rate, or without senders here, still lasts: clients have to be
                    // watched coming back.
                    return Self::Hold(start_ns + duration_ns);
                };
                let schedule = Schedule::constant(rate_per_s);
                // Clients that reconnect are watched for to the end, also where the last message was due long
                // before.
                let open = |group| Open {
                    has_absences: true,
                    end_ns: start_ns + duration_ns,
                    ..Open::new(schedule, duration_ns, start_ns, group)
                };
                Self::Open(groups.into_iter().map(open).collect())
            }
            Load::Hold { duration_ns } => Self::Hold(start_ns + duration_ns),
            Load::Closed { concurrency, per_client, until } => {
                // One client's messages are side by side, to go out together.
                let each = |&client: &u32| iter::repeat_n(client, per_client as usize);
                let idle: Vec<u32> = clients.iter().flat_map(each).collect();
                // Slots beyond what clients may have under way would never be taken.
                let slots = part.share(concurrency).min(idle.len() as u32);
                let (remaining, end_ns) = match until {
                    Until::Samples(samples) => (part.share_by_slots(samples, concurrency), u64::MAX),
                    Until::Elapsed { duration_ns } => (u64::MAX, start_ns + duration_ns),
                };
                // No client to send through: over at once, instead of waiting for an answer that cannot come.
                let remaining = if slots == 0 { 0 } else { remaining };
                let rng = Rng::with_seed(seed);
                Self::Closed(Closed {
                    rng,
                    idle,
                    absent: HashMap::new(),
                    slots,
                    free_slots: slots,
                    remaining,
                    start_ns,
                    end_ns,
                })
            }
        }
    }

    /// Has an open loop pass over clients that are not usable: others are there in their place.
    pub(crate) fn pass_over_absent(&mut self) {
        if let Self::Open(groups) = self {
            for open in groups {
                (open.turns, open.has_absences) = (Some(Turns::new(open.clients.len())), true);
            }
        }
    }

    /// Has due messages of an open loop wait for a client that takes them, as long as one may come back.
    pub(crate) fn wait_for_absent(&mut self, waits: bool) {
        if let Self::Open(groups) = self {
            for open in groups {
                open.waits = waits;
            }
        }
    }

    /// The action at `now_ns`, with `most` messages at the most, which is one at least. Each [`Next::Send`]
    /// is given once and counts as sent. `takes` says how many of a number of messages a client takes now,
    /// and counts them as taken. A closed loop passes over clients that take none; an open one names them, so
    /// that what could not be sent is known.
    pub(crate) fn poll(&mut self, now_ns: u64, most: u32, takes: impl Fn(u32, u32) -> u32) -> Next {
        match self {
            Self::Open(groups) => {
                // A group that has sent everything is due never, and so comes last: it then says when all
                // is over.
                let first = groups.iter_mut().min_by_key(|open| open.next_ns);
                first.expect("there is a group").poll(now_ns, takes)
            }
            Self::Closed(closed) => closed.poll(now_ns, most, takes),
            Self::Hold(end_ns) if now_ns < *end_ns => Next::At(*end_ns),
            Self::Hold(_) => Next::Over,
        }
    }

    /// The action at `now_ns` once everything is sent; `None` while there is more to send.
    pub(crate) fn poll_rest(&self, now_ns: u64) -> Option<Next> {
        let until = |end_ns: u64| if now_ns < end_ns { Next::At(end_ns) } else { Next::Over };
        match self {
            Self::Open(groups) => {
                let is_sent = groups.iter().all(|open| open.sent == open.total);
                is_sent.then(|| until(groups.iter().map(|open| open.end_ns).max().unwrap_or(0)))
            }
            Self::Closed(closed) => closed.is_over(now_ns).then_some(Next::Over),
            Self::Hold(end_ns) => Some(until(*end_ns)),
        }
    }

    /// Frees the slots of `messages` messages of `client` that were answered, or given up.
    pub(crate) fn handle_answers(&mut self, client: u32, messages: u32) {
        if let Self::Closed(closed) = self {
            closed.idle.extend(iter::repeat_n(client, messages as usize));
            closed.free_slots += messages;
        }
    }

    /// Handles messages of `client` that had no connection to go out by: a closed loop that has a number of
    /// samples to take sends others in their place.
    pub(crate) fn handle_unsent(&mut self, client: u32, messages: u32) {
        if let Self::Closed(closed) = self {
            closed.remaining = closed.remaining.saturating_add(messages.into());
        }
        self.handle_answers(client, messages);
    }

    /// Notes that a client that took no message, because it was gone or outside, may take one again.
    pub(crate) fn handle_return(&mut self, client: u32) {
        match self {
            Self::Open(groups) => {
                for Open { turns, clients, .. } in groups {
                    if let (Some(turns), Ok(place)) = (turns, clients.binary_search(&client)) {
                        turns.handle_return(place);
                    }
                }
            }
            Self::Closed(closed) => {
                let room = closed.absent.remove(&client).unwrap_or(0);
                closed.idle.extend(iter::repeat_n(client, room as usize));
            }
            Self::Hold(_) => {}
        }
    }

    /// When message `number` of the client at `place` (its index in the list given to `new`) was due. `None`
    /// where that depends on answers, on absences, or on which group sends: then messages under way have to be
    /// kept.
    pub(crate) fn due_ns(&self, place: usize, number: u32) -> Option<u64> {
        let Self::Open(groups) = self else { return None };
        let [open @ Open { has_absences: false, .. }] = &groups[..] else { return None };
        // In turn: the client at this place has the messages `place`, `place + n`, `place + 2n`, ….
        let k = u64::from(number) * open.clients.len() as u64 + place as u64;
        Some(open.start_ns + open.pacer.due_ns(k))
    }

    /// Returns whether the messages under way have to be kept, client by client.
    pub(crate) fn awaits(&self) -> bool {
        match self {
            Self::Open(groups) => groups.iter().any(|open| open.has_absences),
            Self::Closed(_) => true,
            Self::Hold(_) => false,
        }
    }

    /// Returns whether there is more to send, no answer to wait for, and no client left to send it.
    pub(crate) fn is_stranded(&self) -> bool {
        matches!(self, Self::Closed(closed) if closed.idle.is_empty() && closed.free_slots == closed.slots)
    }

    /// Returns whether answers decide what is sent.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }
}

impl Open {
    fn new(schedule: Schedule, duration_ns: u64, start_ns: u64, local: LocalSenders) -> Self {
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

    fn poll(&mut self, now_ns: u64, takes: impl Fn(u32, u32) -> u32) -> Next {
        if self.sent == self.total {
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
        self.next_ns = match self.sent == self.total {
            true => u64::MAX,
            false => self.start_ns.saturating_add(self.pacer.due_ns(self.sent)),
        };
        Next::Send { client, intended_ns, messages: 1 }
    }
}

impl Closed {
    fn is_over(&self, now_ns: u64) -> bool {
        self.remaining == 0 || now_ns >= self.end_ns
    }

    fn poll(&mut self, now_ns: u64, most: u32, takes: impl Fn(u32, u32) -> u32) -> Next {
        debug_assert!(most > 0);
        if self.is_over(now_ns) {
            return Next::Over;
        }
        if now_ns < self.start_ns {
            return Next::At(self.start_ns);
        }
        while self.free_slots > 0 && !self.idle.is_empty() {
            let (client, room) = self.draw(most);
            // Idle entries of a client that takes none leave the lot until it returns (`handle_return`); else
            // each round would draw them again.
            let messages = takes(client, room);
            if messages < room {
                *self.absent.entry(client).or_default() += room - messages;
            }
            if messages > 0 {
                self.free_slots -= messages;
                self.remaining -= u64::from(messages);
                return Next::Send { client, intended_ns: now_ns, messages };
            }
        }
        // Only an answer brings an idle client; where time is the limit, the end may come first.
        if self.end_ns == u64::MAX { Next::Wait } else { Next::At(self.end_ns) }
    }

    /// Takes out a client, and as many messages as are to go out through it together. If all idle clients
    /// have their turn, there is nothing to choose.
    fn draw(&mut self, most: u32) -> (u32, u32) {
        let all = self.idle.len();
        // A lot is drawn where some stay idle: a fixed order would load those in front more often.
        // Otherwise all have their turn, and a client's own, which are side by side, go out in one write.
        if u64::from(self.free_slots).min(self.remaining) < all as u64 {
            return (self.idle.swap_remove(self.rng.usize(..all)), 1);
        }
        let client = self.idle[all - 1];
        let room = self.idle.iter().rev().take(most as usize).take_while(|&&idle| idle == client).count();
        self.idle.truncate(all - room);
        (client, room as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn always(_: u32, messages: u32) -> u32 {
        messages
    }

    /// A message that is due of this client, at this moment.
    fn one(client: u32, intended_ns: u64) -> Next {
        Next::Send { client, intended_ns, messages: 1 }
    }

    const ALONE: Segment = Segment { worker: 0, workers: 1 };

    fn paced(order: &StepOrder, start_ns: u64, clients: &[u32], seed: u64) -> Pace {
        let all = LocalSenders { share: 1.0, part: ALONE, clients: clients.to_vec() };
        Pace::new(order, all.clone(), vec![all], start_ns, seed)
    }

    fn order(load: Load) -> StepOrder {
        StepOrder { index: 0, clients: 3, load, warmup: false }
    }

    #[test]
    fn open_goes_round_on_time_and_catches_up() {
        let order = order(Load::Open { schedule: Schedule::constant(10.0), duration_ns: 400_000_000 });
        let mut pace = paced(&order, 1_000, &[7, 8, 9], 0);
        assert_eq!(pace.poll(999, 1, always), Next::At(1_000));
        assert_eq!(pace.poll(1_000, 1, always), one(7, 1_000));
        assert_eq!(pace.poll(1_000, 1, always), Next::At(100_001_000));
        let late = 250_000_000;
        assert_eq!(pace.poll(late, 1, always), one(8, 100_001_000));
        assert_eq!(pace.poll(late, 1, always), one(9, 200_001_000));
        assert_eq!(pace.poll(late, 1, always), Next::At(300_001_000));
        assert_eq!(pace.poll(u64::MAX, 1, always), one(7, 300_001_000));
        assert_eq!(pace.poll(u64::MAX, 1, always), Next::Over);
        assert_eq!(pace.due_ns(0, 1), Some(300_001_000), "the second message of the first client");
    }

    #[test]
    fn each_voice_has_its_own_rate_and_turns() {
        let order = order(Load::Open { schedule: Schedule::constant(100.0), duration_ns: 1_000_000_000 });
        let group = |share, clients: &[u32]| LocalSenders { share, part: ALONE, clients: clients.to_vec() };
        let groups = vec![group(0.75, &[7, 8]), group(0.25, &[9])];
        let mut pace = Pace::new(&order, group(1.0, &[7, 8, 9]), groups, 0, 0);
        let (mut counts, mut last_ns) = ([0; 3], 0);
        while let Next::Send { client, intended_ns, .. } = pace.poll(u64::MAX, 1, always) {
            counts[client as usize - 7] += 1;
            assert!(intended_ns >= last_ns, "in the order in which they are due");
            last_ns = intended_ns;
        }
        assert_eq!(counts, [38, 37, 25]);
        assert_eq!(pace.poll(u64::MAX, 1, always), Next::Over);
        assert_eq!(pace.due_ns(0, 0), None, "whose it is is not known by its number");
    }

    #[test]
    fn closed_loops_keep_their_slots_full() {
        let order = order(Load::Closed { concurrency: 2, per_client: 1, until: Until::Samples(3) });
        let mut pace = paced(&order, 0, &[7, 8, 9], 1);
        let Next::Send { client: first, .. } = pace.poll(5, 1, always) else { panic!("a slot is free") };
        let Next::Send { client: second, intended_ns: 6, .. } = pace.poll(6, 1, always) else {
            panic!("a slot is free")
        };
        assert_ne!(first, second);
        assert_eq!(pace.poll(7, 1, always), Next::Wait);
        pace.handle_answers(first, 1);
        assert!(matches!(pace.poll(8, 1, always), Next::Send { .. }));
        pace.handle_unsent(second, 1);
        let Next::Send { client: third, .. } = pace.poll(9, 1, always) else {
            panic!("it is to be sent again")
        };
        pace.handle_answers(third, 1);
        assert_eq!(pace.poll(9, 1, always), Next::Over);
    }

    #[test]
    fn a_client_may_have_several_under_way() {
        let order = order(Load::Closed { concurrency: 9, per_client: 2, until: Until::Samples(9) });
        let mut pace = paced(&order, 0, &[7, 8], 1);
        let mut sent = Vec::new();
        while let Next::Send { client, .. } = pace.poll(5, 1, always) {
            sent.push(client);
        }
        sent.sort_unstable();
        assert_eq!(sent, [7, 7, 8, 8]);
        pace.handle_answers(8, 1);
        assert_eq!(pace.poll(6, 1, always), one(8, 6));
        assert_eq!(pace.poll(6, 1, always), Next::Wait);
    }

    #[test]
    fn clients_send_their_room_at_once() {
        let order = order(Load::Closed { concurrency: 9, per_client: 3, until: Until::Samples(7) });
        let mut pace = paced(&order, 0, &[7, 8], 1);
        let sent = |messages, client| Next::Send { client, intended_ns: 5, messages };
        assert_eq!(pace.poll(5, 2, always), sent(2, 8), "no more than are asked for");
        assert_eq!([pace.poll(5, 9, always), pace.poll(5, 9, always)], [sent(1, 8), sent(3, 7)]);
        pace.handle_answers(8, 2);
        pace.handle_answers(7, 1);
        let Next::Send { messages: 1, .. } = pace.poll(6, 9, always) else { panic!("one is left") };
        assert_eq!(pace.poll(6, 9, always), Next::Over);
    }

    #[test]
    fn few_senders_are_drawn_by_chance() {
        let clients: Vec<u32> = (0..100).collect();
        let order = order(Load::Closed { concurrency: 100, per_client: 1, until: Until::Samples(10) });
        let mut pace = paced(&order, 0, &clients, 1);
        let mut sent = Vec::new();
        while let Next::Send { client, .. } = pace.poll(5, 99, always) {
            sent.push(client);
        }
        assert!(sent.len() == 10 && sent.iter().any(|&client| client < 50), "{sent:?}");
    }

    #[test]
    fn closed_ends_on_time() {
        let order =
            order(Load::Closed { concurrency: 1, per_client: 1, until: Until::Elapsed { duration_ns: 100 } });
        let mut pace = paced(&order, 1_000, &[7], 0);
        assert!(matches!(pace.poll(1_000, 1, always), Next::Send { .. }));
        assert_eq!(pace.poll(1_050, 1, always), Next::At(1_100));
        pace.handle_answers(7, 1);
        assert_eq!(pace.poll(1_100, 1, always), Next::Over);
    }

    #[test]
    fn absent_clients_are_passed_over_until_back() {
        let open = order(Load::Open { schedule: Schedule::constant(10.0), duration_ns: 400_000_000 });
        let mut pace = paced(&open, 0, &[7, 8, 9], 0);
        pace.pass_over_absent();
        let now_ns = 300_000_000;
        let without_8 = |client, messages| if client == 8 { 0 } else { messages };
        assert_eq!(pace.poll(now_ns, 1, without_8), one(7, 0));
        assert_eq!(pace.poll(now_ns, 1, without_8), one(9, 100_000_000));
        assert_eq!(pace.poll(now_ns, 1, always), one(7, 200_000_000));
        pace.handle_return(8);
        assert_eq!(pace.poll(now_ns, 1, always), one(8, now_ns));

        let closed = order(Load::Closed { concurrency: 3, per_client: 1, until: Until::Samples(9) });
        let mut pace = paced(&closed, 0, &[7, 8], 0);
        assert_eq!(pace.poll(0, 1, without_8), one(7, 0));
        assert_eq!(pace.poll(0, 1, without_8), Next::Wait);
        pace.handle_return(8);
        assert_eq!(pace.poll(1, 1, always), one(8, 1));
    }

    #[test]
    fn absent_clients_are_asked_once() {
        let order = order(Load::Open { schedule: Schedule::constant(1_000.0), duration_ns: 1_000_000_000 });
        let mut pace = paced(&order, 0, &[7, 8, 9], 0);
        pace.pass_over_absent();
        let asked = std::cell::Cell::new(0);
        let nobody = |_: u32, _: u32| {
            asked.set(asked.get() + 1);
            0
        };
        for _ in 0..100 {
            assert!(matches!(pace.poll(500_000_000, 1, nobody), Next::Send { .. }));
        }
        assert_eq!(asked.get(), 3);
        pace.handle_return(8);
        let only_8 = |client, messages| if client == 8 { messages } else { 0 };
        assert_eq!(pace.poll(500_000_000, 1, only_8), one(8, 100_000_000));
    }

    #[test]
    fn a_lost_client_sends_nothing_more() {
        let order = order(Load::Closed { concurrency: 3, per_client: 1, until: Until::Samples(9) });
        let mut pace = paced(&order, 0, &[7, 8], 0);
        let without_8 = |client, messages| if client == 8 { 0 } else { messages };
        assert_eq!(pace.poll(0, 1, without_8), one(7, 0));
        assert_eq!(pace.poll(0, 1, without_8), Next::Wait);
        assert!(!pace.is_stranded(), "an answer may come");
        pace.handle_answers(7, 1);
        assert_eq!(pace.poll(0, 1, |_, _| 0), Next::Wait);
        assert!(pace.is_stranded(), "both are gone");
    }

    #[test]
    fn in_a_storm_turns_are_no_numbers() {
        let storm =
            load::Storm { rate_per_s: Some(10.0), lead_ns: 0, duration_ns: 1, share: 0.0, window_ns: None };
        let pace = paced(&order(Load::Storm(storm)), 0, &[7, 8], 0);
        assert!(pace.awaits() && pace.due_ns(0, 0).is_none());
    }

    #[test]
    fn storms_outlast_their_last_message() {
        let storm =
            load::Storm { rate_per_s: Some(1.0), lead_ns: 20, duration_ns: 100, share: 0.5, window_ns: None };
        let mut pace = paced(&order(Load::Storm(storm)), 5, &[7, 8], 0);
        let seen = [5, 5, 124, 125].map(|now_ns| pace.poll(now_ns, 1, always));
        assert_eq!(seen, [one(7, 5), Next::At(125), Next::At(125), Next::Over]);
    }

    #[test]
    fn storms_without_senders_last_as_long() {
        let storm =
            load::Storm { rate_per_s: Some(1e9), lead_ns: 0, duration_ns: 100, share: 0.5, window_ns: None };
        let mut pace = paced(&order(Load::Storm(storm)), 5, &[], 0);
        assert_eq!((pace.poll(5, 1, always), pace.poll(105, 1, always)), (Next::At(105), Next::Over));
        let silent = load::Storm { rate_per_s: None, ..storm };
        let mut pace = paced(&order(Load::Storm(silent)), 5, &[7, 8], 0);
        assert_eq!((pace.poll(5, 1, always), pace.poll(105, 1, always)), (Next::At(105), Next::Over));
    }
}
