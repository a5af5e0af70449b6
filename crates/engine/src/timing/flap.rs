//! Flapping: which client's connection ends when, and how.
//!
//! Rules. Every usable client's connection lasts as long as is drawn for it; the first is met in its midst. A
//! connection that ended by itself takes no turn; once its client is back, the next life is drawn. Lives
//! follow from the seed, the client's number in the run and how many it has had: they are the same at however
//! many workers. After the window, or once everything is sent, no connection ends.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use fastrand::Rng;
use load::{Cut, Segment};

/// Presence of a client, which decides whether its connection may end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Presence {
    /// It has no connection, or is not usable yet.
    Gone,
    /// It is usable, but has received nothing yet from which it could go on.
    Early,
    /// It is usable, and its connection may end.
    Here,
}

/// The time until a client that has received nothing is checked again. If it were cut now, it could not say
/// what it missed, and all of that would count as the server's loss.
const EARLY_NS: u64 = 100_000_000;

/// The flapping of a step at one worker.
pub(crate) struct Flap {
    flap: load::Flap,
    segment: Segment,
    seed: u64,
    /// The moment from which no connection ends.
    end_ns: u64,
    /// When connections end, by client and by the number of its connection.
    due: BinaryHeap<Reverse<(u64, u32, u64)>>,
    /// How many connections each client has had.
    lives: HashMap<u32, u64>,
}

impl Flap {
    /// The flapping of a load from `start_ns` to `end_ns` that begins with these clients.
    pub(crate) fn new(
        flap: load::Flap,
        segment: Segment,
        seed: u64,
        present: &[u32],
        start_ns: u64,
        end_ns: u64,
    ) -> Self {
        let (due, lives) = (BinaryHeap::with_capacity(present.len()), HashMap::new());
        let mut flapping = Self { flap, segment, seed, end_ns, due, lives };
        for &client in present {
            let mut rng = flapping.rng(client, 0);
            // A random moment of its life: else nothing would end before the shortest life is over, and
            // then much at once.
            let left_ns = (flapping.flap.up_ns(rng.f64()) as f64 * rng.f64()) as u64;
            flapping.lives.insert(client, 0);
            flapping.due.push(Reverse((start_ns.saturating_add(left_ns), client, 0)));
        }
        flapping
    }

    /// The random numbers for a client's connection.
    fn rng(&self, client: u32, life: u64) -> Rng {
        let number = u64::from(self.segment.number(client));
        Rng::with_seed(self.seed ^ number << 32 ^ life)
    }

    /// The client whose connection ends now, and how.
    pub(crate) fn poll(&mut self, now_ns: u64, presence: impl Fn(u32) -> Presence) -> Option<(u32, Cut)> {
        while self.poll_timeout().is_some_and(|at_ns| at_ns <= now_ns) {
            let Reverse((_, client, life)) = self.due.pop()?;
            // An entry of a life that ended otherwise: the heap cannot take it out from its middle.
            if self.lives.get(&client) != Some(&life) {
                continue;
            }
            match presence(client) {
                Presence::Gone => {}
                Presence::Early => {
                    self.due.push(Reverse((now_ns.saturating_add(EARLY_NS), client, life)));
                }
                Presence::Here => {
                    // A stream of its own: how a connection ends must not follow from how long it lasted.
                    let unit = self.rng(client, !life).f64();
                    return Some((client, self.flap.cut(unit)));
                }
            }
        }
        None
    }

    /// How long a client stays away whose connection was cut; `None`: as its protocol's back-off says.
    pub(crate) fn away_ns(&self) -> Option<u64> {
        self.flap.away_ns
    }

    /// Draws the life of the new connection of a client that is back.
    pub(crate) fn handle_back(&mut self, client: u32, now_ns: u64) {
        let life = self.lives.entry(client).or_insert(0);
        *life += 1;
        let life = *life;
        let up_ns = self.flap.up_ns(self.rng(client, life).f64());
        self.due.push(Reverse((now_ns.saturating_add(up_ns), client, life)));
    }

    /// Ends the flapping: all is sent.
    pub(crate) fn handle_loaded(&mut self) {
        self.end_ns = 0;
    }

    /// When the next connection ends.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        let &Reverse((at_ns, ..)) = self.due.peek()?;
        (at_ns < self.end_ns).then_some(at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Cuts;

    const S: u64 = 1_000_000_000;
    const PLAN: load::Flap =
        load::Flap { up_ns_min: 2 * S, up_ns_max: 4 * S, away_ns: Some(S), cuts: Cuts::RESET, resumes: true };

    fn flap(worker: u16, workers: u16, present: &[u32]) -> Flap {
        Flap::new(PLAN, Segment { worker, workers }, 7, present, S, 100 * S)
    }

    /// When the connection of a client ends, by its number there.
    fn ends(mut flap: Flap, client: u32) -> Vec<u64> {
        let mut ends = Vec::new();
        while let Some(at_ns) = flap.poll_timeout() {
            if flap.poll(at_ns, |_| Presence::Here).is_some_and(|(whose, _)| whose == client) {
                ends.push(at_ns);
                flap.handle_back(client, at_ns + S);
            }
        }
        ends
    }

    #[test]
    fn connections_last_as_long_as_asked() {
        let ends = ends(flap(0, 1, &[0, 1, 2]), 1);
        assert!(ends[0] < 5 * S, "{ends:?}");
        let lives: Vec<u64> = ends.windows(2).map(|pair| pair[1] - pair[0] - S).collect();
        assert!(lives.len() > 15 && lives.iter().all(|life| (2 * S..=4 * S).contains(life)), "{lives:?}");
        assert!(lives.iter().any(|&life| life < 3 * S) && lives.iter().any(|&life| life > 3 * S));
    }

    #[test]
    fn lives_do_not_depend_on_the_workers() {
        // Client 3 of all is the second of the second of two.
        assert_eq!(ends(flap(0, 1, &[0, 1, 2, 3]), 3), ends(flap(1, 2, &[0, 1]), 1));
    }

    #[test]
    fn absent_clients_are_passed_over() {
        let mut flap = flap(0, 1, &[0]);
        assert_eq!(flap.poll(5 * S, |_| Presence::Gone), None);
        assert_eq!(flap.poll_timeout(), None, "it was lost by itself");
        flap.handle_back(0, 6 * S);
        assert!(flap.poll_timeout().is_some_and(|at_ns| (8 * S..=10 * S).contains(&at_ns)));
        assert_eq!(flap.poll(10 * S, |_| Presence::Early), None, "it could not say what it missed");
        assert_eq!(flap.poll_timeout(), Some(10 * S + EARLY_NS));
        assert_eq!(flap.poll(11 * S, |_| Presence::Here), Some((0, Cut::Reset)));
        flap.handle_back(0, 12 * S);
        flap.handle_loaded();
        assert_eq!((flap.poll(99 * S, |_| Presence::Here), flap.poll_timeout()), (None, None));
    }
}
