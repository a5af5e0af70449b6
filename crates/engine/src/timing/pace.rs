//! Which client sends next, and when: the workload of one step at one worker.
//!
//! Rules. **Open**: message k goes out through the k-th client in turn when its time has come, whatever became
//! of earlier ones; those who have a rate of their own have turns of their own. **Closed**: as many messages under way as there are slots; an answer frees a slot for the
//! next message, sent by a client chosen at random among those that may have another under way.

use fastrand::Rng;
use load::{Load, Pacer, Schedule, Segment, StepOrder, Until};

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send through this client a message that was due at this moment.
    Send { client: u32, intended_ns: u64 },
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
    /// By voice; one at least.
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
    /// When message `sent` is due: asked for at every event, computed once a message; `u64::MAX`: there is none.
    next_ns: u64,
    /// Whose turn it is; absent clients are passed over.
    turn: Option<usize>,
    /// Clients may be gone for a while: then a message's number does not tell its turn.
    has_absences: bool,
    /// What is due waits while no client takes it.
    waits: bool,
}

/// Those who send a share of an open load, in turn.
#[derive(Clone, Debug)]
pub(crate) struct Choir {
    /// The share of the load, and this worker's part of it.
    pub(crate) share: f64,
    pub(crate) part: Segment,
    /// All usable, none waiting.
    pub(crate) clients: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Closed {
    rng: Rng,
    /// Clients with room for another message, as often as they have.
    idle: Vec<u32>,
    /// The same, of those that were not usable when their turn came.
    absent: Vec<u32>,
    slots: u32,
    free_slots: u32,
    remaining: u64,
    start_ns: u64,
    end_ns: u64,
}

impl Pace {
    /// This worker's part of the load of `order` from `start_ns` on, sent by `all`; where it is open, each of its `voices` sends
    /// its share.
    pub(crate) fn new(order: &StepOrder, all: Choir, voices: Vec<Choir>, start_ns: u64, seed: u64) -> Self {
        let Choir { part, clients, .. } = all;
        match order.load {
            Load::Open { schedule, duration_ns } => {
                let open = |voice| Open::new(schedule, duration_ns, start_ns, voice);
                Self::Open(voices.into_iter().map(open).collect())
            }
            Load::Storm(storm) => {
                let duration_ns = storm.lead_ns + storm.duration_ns;
                if clients.is_empty() {
                    return Self::Hold(start_ns + duration_ns);
                }
                let schedule = Schedule::constant(storm.rate_per_s);
                let open =
                    |voice| Open { has_absences: true, ..Open::new(schedule, duration_ns, start_ns, voice) };
                Self::Open(voices.into_iter().map(open).collect())
            }
            Load::Hold { duration_ns } => Self::Hold(start_ns + duration_ns),
            Load::Closed { concurrency, per_client, until } => {
                let idle = clients.repeat(per_client as usize);
                let slots = part.share(concurrency).min(idle.len() as u32);
                let (remaining, end_ns) = match until {
                    Until::Samples(samples) => (part.share_by_slots(samples, concurrency), u64::MAX),
                    Until::Elapsed { duration_ns } => (u64::MAX, start_ns + duration_ns),
                };
                let remaining = if slots == 0 { 0 } else { remaining };
                let rng = Rng::with_seed(seed);
                Self::Closed(Closed {
                    rng,
                    idle,
                    absent: Vec::new(),
                    slots,
                    free_slots: slots,
                    remaining,
                    start_ns,
                    end_ns,
                })
            }
        }
    }

    /// From now on an open loop also passes over clients that are not usable: others are there in their place.
    pub(crate) fn pass_over_absent(&mut self) {
        if let Self::Open(voices) = self {
            for open in voices {
                (open.turn, open.has_absences) = (Some(0), true);
            }
        }
    }

    /// From now on what is due in an open loop waits for a client that takes it, for so long as one may come back.
    pub(crate) fn wait_for_absent(&mut self, waits: bool) {
        if let Self::Open(voices) = self {
            voices.iter_mut().for_each(|open| open.waits = waits);
        }
    }

    /// What to do at `now_ns`. Each [`Next::Send`] is given once and counts as sent. A closed loop passes over
    /// clients that are gone; an open one names them, so that what could not be sent is known.
    pub(crate) fn poll(&mut self, now_ns: u64, is_usable: impl Fn(u32) -> bool) -> Next {
        match self {
            Self::Open(voices) => {
                let first = voices.iter_mut().min_by_key(|open| open.next_ns);
                first.expect("there is a voice").poll(now_ns, is_usable)
            }
            Self::Closed(closed) => closed.poll(now_ns, is_usable),
            Self::Hold(end_ns) if now_ns < *end_ns => Next::At(*end_ns),
            Self::Hold(_) => Next::Over,
        }
    }

    /// A message of `client` was answered, or given up: its slot is free.
    pub(crate) fn handle_answer(&mut self, client: u32) {
        if let Self::Closed(closed) = self {
            closed.idle.push(client);
            closed.free_slots += 1;
        }
    }

    /// What was to be sent through `client` had no connection to go out by: a closed loop, which has a number of samples to
    /// take and not so much time, sends another in its place.
    pub(crate) fn handle_unsent(&mut self, client: u32) {
        if let Self::Closed(closed) = self {
            closed.remaining = closed.remaining.saturating_add(1);
        }
        self.handle_answer(client);
    }

    /// A client that was gone is usable again.
    pub(crate) fn handle_return(&mut self, client: u32) {
        if let Self::Closed(closed) = self {
            let back = closed.absent.extract_if(.., |absent| *absent == client);
            closed.idle.extend(back);
        }
    }

    /// When message `number` of the client at `place` (its index in the list given to `new`) was due; `None` where that
    /// depends on what happens, or on whose voice it is: then what is under way has to be kept.
    pub(crate) fn due_ns(&self, place: usize, number: u32) -> Option<u64> {
        let Self::Open(voices) = self else { return None };
        let [open @ Open { has_absences: false, .. }] = &voices[..] else { return None };
        let k = u64::from(number) * open.clients.len() as u64 + place as u64;
        Some(open.start_ns + open.pacer.due_ns(k))
    }

    /// Whether the messages under way have to be kept, client by client.
    pub(crate) fn awaits(&self) -> bool {
        match self {
            Self::Open(voices) => voices.iter().any(|open| open.has_absences),
            Self::Closed(_) => true,
            Self::Hold(_) => false,
        }
    }

    /// Whether there is more to send, no answer to wait for, and no client left to send it.
    pub(crate) fn is_stranded(&self) -> bool {
        matches!(self, Self::Closed(closed) if closed.idle.is_empty() && closed.free_slots == closed.slots)
    }

    /// Whether answers decide what is sent.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }
}

impl Open {
    fn new(schedule: Schedule, duration_ns: u64, start_ns: u64, choir: Choir) -> Self {
        let Choir { share, part, clients } = choir;
        let pacer = Pacer::new(schedule.times(share), u32::from(part.worker), u32::from(part.workers));
        let total = if clients.is_empty() { 0 } else { pacer.count_before(duration_ns) };
        let next_ns = if total == 0 { u64::MAX } else { start_ns.saturating_add(pacer.due_ns(0)) };
        Self {
            pacer,
            start_ns,
            clients,
            sent: 0,
            total,
            next_ns,
            turn: None,
            has_absences: false,
            waits: false,
        }
    }

    fn poll(&mut self, now_ns: u64, is_usable: impl Fn(u32) -> bool) -> Next {
        if self.sent == self.total {
            return Next::Over;
        }
        let intended_ns = self.next_ns;
        if intended_ns > now_ns {
            return Next::At(intended_ns);
        }
        let place = match &mut self.turn {
            None => (self.sent % self.clients.len() as u64) as usize,
            Some(turn) => {
                let all = self.clients.len();
                let in_turn = (0..all).map(|k| (*turn + k) % all);
                let place = in_turn.into_iter().find(|&place| is_usable(self.clients[place]));
                if place.is_none() && self.waits {
                    return Next::Wait;
                }
                let place = place.unwrap_or(*turn % all);
                *turn = place + 1;
                place
            }
        };
        let client = self.clients[place];
        self.sent += 1;
        self.next_ns = match self.sent == self.total {
            true => u64::MAX,
            false => self.start_ns.saturating_add(self.pacer.due_ns(self.sent)),
        };
        Next::Send { client, intended_ns }
    }
}

impl Closed {
    fn poll(&mut self, now_ns: u64, is_usable: impl Fn(u32) -> bool) -> Next {
        if self.remaining == 0 || now_ns >= self.end_ns {
            return Next::Over;
        }
        if now_ns < self.start_ns {
            return Next::At(self.start_ns);
        }
        while self.free_slots > 0 && !self.idle.is_empty() {
            let client = self.idle.swap_remove(self.rng.usize(..self.idle.len()));
            if is_usable(client) {
                self.free_slots -= 1;
                self.remaining -= 1;
                return Next::Send { client, intended_ns: now_ns };
            }
            self.absent.push(client);
        }
        if self.end_ns == u64::MAX { Next::Wait } else { Next::At(self.end_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn always(_: u32) -> bool {
        true
    }

    const ALONE: Segment = Segment { worker: 0, workers: 1 };

    fn paced(order: &StepOrder, start_ns: u64, clients: &[u32], seed: u64) -> Pace {
        let all = Choir { share: 1.0, part: ALONE, clients: clients.to_vec() };
        Pace::new(order, all.clone(), vec![all], start_ns, seed)
    }

    fn order(load: Load) -> StepOrder {
        StepOrder { index: 0, clients: 3, load, warmup: false }
    }

    #[test]
    fn open_goes_round_on_time_and_catches_up() {
        let order = order(Load::Open { schedule: Schedule::constant(10.0), duration_ns: 400_000_000 });
        let mut pace = paced(&order, 1_000, &[7, 8, 9], 0);
        assert_eq!(pace.poll(999, always), Next::At(1_000));
        assert_eq!(pace.poll(1_000, always), Next::Send { client: 7, intended_ns: 1_000 });
        assert_eq!(pace.poll(1_000, always), Next::At(100_001_000));
        let late = 250_000_000;
        assert_eq!(pace.poll(late, always), Next::Send { client: 8, intended_ns: 100_001_000 });
        assert_eq!(pace.poll(late, always), Next::Send { client: 9, intended_ns: 200_001_000 });
        assert_eq!(pace.poll(late, always), Next::At(300_001_000));
        assert_eq!(pace.poll(u64::MAX, always), Next::Send { client: 7, intended_ns: 300_001_000 });
        assert_eq!(pace.poll(u64::MAX, always), Next::Over);
        assert_eq!(pace.due_ns(0, 1), Some(300_001_000), "the second message of the first client");
    }

    #[test]
    fn each_voice_has_its_own_rate_and_turns() {
        let order = order(Load::Open { schedule: Schedule::constant(100.0), duration_ns: 1_000_000_000 });
        let voice = |share, clients: &[u32]| Choir { share, part: ALONE, clients: clients.to_vec() };
        let voices = vec![voice(0.75, &[7, 8]), voice(0.25, &[9])];
        let mut pace = Pace::new(&order, voice(1.0, &[7, 8, 9]), voices, 0, 0);
        let (mut counts, mut last_ns) = ([0; 3], 0);
        while let Next::Send { client, intended_ns } = pace.poll(u64::MAX, always) {
            counts[client as usize - 7] += 1;
            assert!(intended_ns >= last_ns, "in the order in which they are due");
            last_ns = intended_ns;
        }
        assert_eq!(counts, [38, 37, 25]);
        assert_eq!(pace.poll(u64::MAX, always), Next::Over);
        assert_eq!(pace.due_ns(0, 0), None, "whose it is is not known by its number");
    }

    #[test]
    fn closed_keeps_as_many_under_way_as_there_are_slots() {
        let order = order(Load::Closed { concurrency: 2, per_client: 1, until: Until::Samples(3) });
        let mut pace = paced(&order, 0, &[7, 8, 9], 1);
        let Next::Send { client: first, .. } = pace.poll(5, always) else { panic!("a slot is free") };
        let Next::Send { client: second, intended_ns: 6 } = pace.poll(6, always) else {
            panic!("a slot is free")
        };
        assert_ne!(first, second);
        assert_eq!(pace.poll(7, always), Next::Wait);
        pace.handle_answer(first);
        assert!(matches!(pace.poll(8, always), Next::Send { .. }));
        pace.handle_unsent(second);
        let Next::Send { client: third, .. } = pace.poll(9, always) else { panic!("it is to be sent again") };
        pace.handle_answer(third);
        assert_eq!(pace.poll(9, always), Next::Over);
    }

    #[test]
    fn a_client_may_have_several_under_way() {
        let order = order(Load::Closed { concurrency: 9, per_client: 2, until: Until::Samples(9) });
        let mut pace = paced(&order, 0, &[7, 8], 1);
        let mut sent = Vec::new();
        while let Next::Send { client, .. } = pace.poll(5, always) {
            sent.push(client);
        }
        sent.sort_unstable();
        assert_eq!(sent, [7, 7, 8, 8]);
        pace.handle_answer(8);
        assert_eq!(pace.poll(6, always), Next::Send { client: 8, intended_ns: 6 });
        assert_eq!(pace.poll(6, always), Next::Wait);
    }

    #[test]
    fn closed_ends_on_time() {
        let order =
            order(Load::Closed { concurrency: 1, per_client: 1, until: Until::Elapsed { duration_ns: 100 } });
        let mut pace = paced(&order, 1_000, &[7], 0);
        assert!(matches!(pace.poll(1_000, always), Next::Send { .. }));
        assert_eq!(pace.poll(1_050, always), Next::At(1_100));
        pace.handle_answer(7);
        assert_eq!(pace.poll(1_100, always), Next::Over);
    }

    #[test]
    fn those_who_are_absent_are_passed_over_until_they_are_back() {
        let open = order(Load::Open { schedule: Schedule::constant(10.0), duration_ns: 400_000_000 });
        let mut pace = paced(&open, 0, &[7, 8, 9], 0);
        pace.pass_over_absent();
        let now_ns = 300_000_000;
        let without_8 = |client| client != 8;
        assert_eq!(pace.poll(now_ns, without_8), Next::Send { client: 7, intended_ns: 0 });
        assert_eq!(pace.poll(now_ns, without_8), Next::Send { client: 9, intended_ns: 100_000_000 });
        assert_eq!(pace.poll(now_ns, always), Next::Send { client: 7, intended_ns: 200_000_000 });
        assert_eq!(pace.poll(now_ns, always), Next::Send { client: 8, intended_ns: now_ns });

        let closed = order(Load::Closed { concurrency: 3, per_client: 1, until: Until::Samples(9) });
        let mut pace = paced(&closed, 0, &[7, 8], 0);
        assert_eq!(pace.poll(0, without_8), Next::Send { client: 7, intended_ns: 0 });
        assert_eq!(pace.poll(0, without_8), Next::Wait);
        pace.handle_return(8);
        assert_eq!(pace.poll(1, always), Next::Send { client: 8, intended_ns: 1 });
    }

    #[test]
    fn a_lost_client_sends_nothing_more() {
        let order = order(Load::Closed { concurrency: 3, per_client: 1, until: Until::Samples(9) });
        let mut pace = paced(&order, 0, &[7, 8], 0);
        let without_8 = |client| client != 8;
        assert_eq!(pace.poll(0, without_8), Next::Send { client: 7, intended_ns: 0 });
        assert_eq!(pace.poll(0, without_8), Next::Wait);
        assert!(!pace.is_stranded(), "an answer may come");
        pace.handle_answer(7);
        assert_eq!(pace.poll(0, |_| false), Next::Wait);
        assert!(pace.is_stranded(), "both are gone");
    }

    #[test]
    fn in_a_storm_turns_are_no_numbers() {
        let storm = load::Storm { rate_per_s: 10.0, lead_ns: 0, duration_ns: 1, share: 0.0, window_ns: None };
        let pace = paced(&order(Load::Storm(storm)), 0, &[7, 8], 0);
        assert!(pace.awaits() && pace.due_ns(0, 0).is_none());
    }

    #[test]
    fn without_anybody_to_send_a_storm_lasts_as_long() {
        let storm =
            load::Storm { rate_per_s: 1e9, lead_ns: 0, duration_ns: 100, share: 0.5, window_ns: None };
        let mut pace = paced(&order(Load::Storm(storm)), 5, &[], 0);
        assert_eq!((pace.poll(5, always), pace.poll(105, always)), (Next::At(105), Next::Over));
    }
}
