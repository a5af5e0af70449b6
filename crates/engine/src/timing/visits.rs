//! Visits of rooms: which client joins or leaves which room, and when.
//!
//! Each visitor goes through the steps of its role, round and round. Visitors are in the midst of that when
//! the load begins, each at a place of its own: so a room has its share of visitors from the start. How long
//! each waits, and where it begins, follow from the seed, its number in the run and how often it has drawn,
//! at any number of workers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use app::people::RoleAssignment;
use load::{Rooms, Segment, Visit, VisitStep};
use wire::Direction;

/// How soon a visitor that waits for an answer to its own message checks again whether it can leave.
const LOOK_NS: u64 = 20_000_000;
/// Most checks of a visitor.
const LOOKS_MAX: u8 = 250;

/// A visitor's action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VisitAction {
    /// The client, by its number at the worker.
    pub(crate) client: u32,
    /// The kind of its room.
    pub(crate) kind: u16,
    pub(crate) way: Direction,
    /// When it was to be done.
    at_ns: u64,
}

/// The visitors of one worker.
#[derive(Debug)]
pub(crate) struct Visits {
    rooms: Arc<Rooms>,
    role_assignment: RoleAssignment,
    segment: Segment,
    seed: u64,
    /// Rounds by client.
    rounds: Vec<RoundProgress>,
    /// Visitors by when they are due, while there is a load.
    due: BinaryHeap<Reverse<(u64, u32)>>,
}

/// How far a client is in its round.
#[derive(Clone, Copy, Debug, Default)]
struct RoundProgress {
    /// The rest of the wait before its next step, while there is no load.
    left_ns: u64,
    /// How often it has drawn.
    drawn: u32,
    /// The step that is next.
    at: u8,
    /// How often it has looked whether it can leave.
    looks: u8,
}

impl Visits {
    /// Visits before any client is there; `None` without visitors.
    pub(crate) fn of(rooms: &Arc<Rooms>, segment: Segment, seed: u64) -> Option<Visits> {
        (!rooms.visits().is_empty()).then(|| Visits {
            role_assignment: rooms.role_assignment(),
            rooms: Arc::clone(rooms),
            segment,
            seed,
            rounds: Vec::new(),
            due: BinaryHeap::new(),
        })
    }

    /// Starts the round of a client that is usable. Returns the kinds of rooms that it joins at once, to be
    /// where it would be if it had been there for long.
    pub(crate) fn handle_usable(&mut self, client: u32) -> Vec<u16> {
        if self.rounds.len() <= client as usize {
            self.rounds.resize(client as usize + 1, RoundProgress::default());
        }
        self.rounds[client as usize] =
            RoundProgress { drawn: self.rounds[client as usize].drawn, ..RoundProgress::default() };
        // A moment of its round, uniformly by time: a long wait is entered as often as it is long, as in a
        // system that has run for ever.
        let mut begun = self.draw(client) * self.visit(client).round_ns_mean() as f64;
        let Visit { steps, stays } = self.visit(client).clone();
        let mut inside = stays;
        for (at, step) in steps.iter().enumerate() {
            match *step {
                VisitStep::Join(kind) => inside |= 1 << kind,
                VisitStep::Leave(kind) => inside &= !(1 << kind),
                VisitStep::Wait { ns_min, ns_max } => {
                    let mean = step.wait_ns_mean() as f64;
                    if begun < mean {
                        let wait_ns = self.draw_wait(client, ns_min, ns_max) as f64;
                        let round = &mut self.rounds[client as usize];
                        round.at = ((at + 1) % steps.len()) as u8;
                        // The place was found with the mean wait; the rest of it is scaled to the wait that
                        // is drawn.
                        round.left_ns = (wait_ns * (1.0 - begun / mean)) as u64;
                        break;
                    }
                    begun -= mean;
                }
            }
        }
        (0..8).filter(|kind| inside & 1 << kind != 0).collect()
    }

    /// Begins the load at this moment for those of `clients` that make rounds.
    pub(crate) fn start(&mut self, clients: &[u32], at_ns: u64) {
        self.due.clear();
        for &client in clients {
            if !self.visit(client).steps.is_empty() {
                self.due.push(Reverse((at_ns + self.rounds[client as usize].left_ns, client)));
            }
        }
    }

    /// Ends the load: all clients stay where they are.
    pub(crate) fn stop(&mut self, now_ns: u64) {
        for Reverse((at_ns, client)) in self.due.drain() {
            self.rounds[client as usize].left_ns = at_ns.saturating_sub(now_ns);
        }
    }

    /// When to ask again.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Returns whether any client is on a round.
    pub(crate) fn are_on(&self) -> bool {
        !self.due.is_empty()
    }

    /// The visitor's action that is due: each is given once, until it is [done](Self::handle_done) or
    /// [postponed](Self::postpone). A client without a connection does not go on.
    pub(crate) fn poll(&mut self, now_ns: u64, is_there: impl Fn(u32) -> bool) -> Option<VisitAction> {
        while let Some(&Reverse((at_ns, client))) = self.due.peek()
            && at_ns <= now_ns
        {
            self.due.pop();
            if !is_there(client) {
                continue;
            }
            let place = self.rounds[client as usize].at;
            let steps = &self.visit(client).steps;
            match steps[usize::from(place)] {
                VisitStep::Wait { ns_min, ns_max } => {
                    let wait_ns = self.draw_wait(client, ns_min, ns_max);
                    // From when it was due, not from now: a late loop must not stretch the stays.
                    self.go_on(client, at_ns + wait_ns);
                }
                VisitStep::Join(kind) => {
                    return Some(VisitAction { client, kind, way: Direction::In, at_ns });
                }
                VisitStep::Leave(kind) => {
                    return Some(VisitAction { client, kind, way: Direction::Out, at_ns });
                }
            }
        }
        None
    }

    /// Continues the round of a client that has done its action.
    pub(crate) fn handle_done(&mut self, action: VisitAction) {
        self.rounds[action.client as usize].looks = 0;
        self.go_on(action.client, action.at_ns);
    }

    /// Makes a client's next step due at this moment.
    fn go_on(&mut self, client: u32, at_ns: u64) {
        let steps = self.visit(client).steps.len();
        let round = &mut self.rounds[client as usize];
        round.at = ((usize::from(round.at) + 1) % steps) as u8;
        self.due.push(Reverse((at_ns, client)));
    }

    /// Postpones the leave of a client that waits for an answer. Returns false if it has waited long enough.
    pub(crate) fn postpone(&mut self, action: VisitAction, now_ns: u64) -> bool {
        let round = &mut self.rounds[action.client as usize];
        let is_patient = round.looks < LOOKS_MAX;
        if is_patient {
            round.looks += 1;
            self.due.push(Reverse((now_ns + LOOK_NS, action.client)));
        }
        is_patient
    }

    fn visit(&self, client: u32) -> &Visit {
        let role = if self.rooms.roles().is_empty() {
            0
        } else {
            self.role_assignment.role(self.segment.number(client))
        };
        &self.rooms.visits()[role]
    }

    fn draw_wait(&mut self, client: u32, ns_min: u64, ns_max: u64) -> u64 {
        ns_min + (self.draw(client) * (ns_max - ns_min) as f64) as u64
    }

    /// A number from 0 to 1, below 1.
    fn draw(&mut self, client: u32) -> f64 {
        let round = &mut self.rounds[client as usize];
        round.drawn = round.drawn.wrapping_add(1);
        let number = u64::from(self.segment.number(client));
        fastrand::Rng::with_seed(self.seed ^ number << 32 ^ u64::from(round.drawn)).f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const ALONE: Segment = Segment { worker: 0, workers: 1 };

    fn visits() -> Visits {
        let wait = |s| VisitStep::Wait { ns_min: s * S, ns_max: s * S };
        let steps = vec![VisitStep::Join(0), wait(3), VisitStep::Leave(0), wait(1)];
        let rooms = Rooms::default().with_visits(vec![Visit { steps, stays: 0 }]).unwrap();
        Visits::of(&Arc::new(rooms), ALONE, 7).unwrap()
    }

    #[test]
    fn rooms_keep_their_share_from_the_start() {
        let mut visits = visits();
        let mut inside: Vec<bool> =
            (0..1_000).map(|client| !visits.handle_usable(client).is_empty()).collect();
        let clients: Vec<u32> = (0..1_000).collect();
        visits.start(&clients, 10 * S);
        for second in 10..30 {
            while let Some(action @ VisitAction { client, way, .. }) = visits.poll(second * S, |_| true) {
                visits.handle_done(action);
                assert_ne!(inside[client as usize], way == Direction::In, "in and out by turns");
                inside[client as usize] = way == Direction::In;
            }
            let there = inside.iter().filter(|inside| **inside).count();
            assert!((680..820).contains(&there), "{there} of 1,000 for three of four seconds");
        }
    }

    #[test]
    fn waiting_visitors_leave_a_little_later() {
        let mut visits = visits();
        visits.handle_usable(0);
        visits.rounds[0] = RoundProgress::default();
        visits.start(&[0], 0);
        let action = visits.poll(0, |_| true).unwrap();
        assert_eq!(action.way, Direction::In);
        visits.handle_done(action);
        assert_eq!((visits.poll(S, |_| true), visits.poll_timeout()), (None, Some(3 * S)));
        for looks in 0..=LOOKS_MAX {
            let now_ns = 3 * S + u64::from(looks) * LOOK_NS;
            let action = visits.poll(now_ns, |_| true).unwrap();
            assert_eq!(action.way, Direction::Out);
            assert_eq!(visits.postpone(action, now_ns), looks < LOOKS_MAX);
            assert_eq!(visits.are_on(), looks < LOOKS_MAX);
            if looks == LOOKS_MAX {
                visits.handle_done(action);
            }
        }
        assert_eq!(
            visits.poll(9 * S - 1, |_| true),
            None,
            "five seconds later than it was to leave, and a second outside"
        );
        assert_eq!(visits.poll(9 * S, |_| true).unwrap().way, Direction::In);
    }

    #[test]
    fn a_waiting_visitor_takes_sixteen_bytes_twice() {
        assert_eq!((size_of::<RoundProgress>(), size_of::<Reverse<(u64, u32)>>()), (16, 16));
    }
}
