//! Pushes of the server: how long after the one before, how old it is, and which numbers it leaves out.

use app::app_file::Push;
use wire::{PushNumber, Pushed};

use super::meter::Meter;

/// The number of a push without one.
const NO_NUMBER: u64 = u64::MAX;

/// The latest push of each kind at each client.
pub(crate) struct Pushes {
    /// By kind: the kind of rooms whose members are to have the same.
    rooms: Vec<u16>,
    /// The wall clock, less the run's.
    unix_minus_now_ns: u64,
    /// By client, and then by kind.
    latest: Vec<Latest>,
}

#[derive(Clone, Copy)]
struct Latest {
    /// 0: none yet.
    at_ns: u64,
    number: u64,
}

const NONE: Latest = Latest { at_ns: 0, number: NO_NUMBER };

impl Pushes {
    /// Remembers pushes of these kinds; `None`: the app has none.
    pub(crate) fn of(kinds: &[Push], unix_minus_now_ns: u64) -> Option<Pushes> {
        let rooms = kinds.iter().map(|push| push.room).collect();
        (!kinds.is_empty()).then(|| Pushes { rooms, unix_minus_now_ns, latest: Vec::new() })
    }

    /// The kind of rooms whose members are to have the same.
    pub(crate) fn room_kind(&self, kind: u16) -> usize {
        usize::from(self.rooms[usize::from(kind)])
    }

    /// Forgets a client's latest pushes when it connects anew: what it hears next follows nothing.
    pub(crate) fn handle_usable(&mut self, client: u32) {
        self.of_client(client).fill(NONE);
    }

    /// Books a push that has come in. `is_counted`: it came under the load of a step.
    pub(crate) fn handle(
        &mut self,
        client: u32,
        pushed: Pushed,
        is_counted: bool,
        meter: &mut Meter,
        now_ns: u64,
    ) {
        let unix_ns = now_ns.wrapping_add(self.unix_minus_now_ns);
        let Some(latest) = self.of_client(client).get_mut(usize::from(pushed.kind)) else { return };
        let number = pushed.number.map_or(NO_NUMBER, PushNumber::get);
        // Remembered before the load as well: the first gap of a step is measured from the push before it.
        let before = *latest;
        latest.at_ns = now_ns;
        // A push without its number keeps the one before: what is left out around it still counts.
        if number != NO_NUMBER {
            latest.number = number;
        }
        if !is_counted {
            return;
        }
        meter.counts.pushed += 1;
        if before.at_ns != 0 {
            meter.figures.push_gap.record_ns(now_ns.saturating_sub(before.at_ns));
        }
        if let Some(said_ns) = pushed.said_unix_ns {
            // A time in the future is another clock's: it says nothing about age, and how far clocks differ.
            match unix_ns.checked_sub(said_ns.get()) {
                Some(age_ns) => meter.figures.push_age.record_ns(age_ns),
                None => meter.figures.push_ahead.record_ns(said_ns.get() - unix_ns),
            }
        }
        match (before.number, number) {
            (NO_NUMBER, _) | (_, NO_NUMBER) => {}
            // Saturating: a server may say any numbers.
            (before, number) if number > before => {
                let skipped = &mut meter.counts.push_skipped;
                *skipped = skipped.saturating_add(number - before - 1);
            }
            // It goes on from the higher one, or all up to that would be skipped again.
            (before, _) => {
                meter.counts.push_repeated += 1;
                latest.number = before;
            }
        }
    }

    fn of_client(&mut self, client: u32) -> &mut [Latest] {
        let kinds = self.rooms.len();
        let from = client as usize * kinds;
        if self.latest.len() < from + kinds {
            self.latest.resize(from + kinds, NONE);
        }
        &mut self.latest[from..from + kinds]
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::books::Secrets;

    const MS: u64 = 1_000_000;

    fn of(kinds: usize, unix_minus_now_ns: u64) -> Pushes {
        Pushes { rooms: vec![0; kinds], unix_minus_now_ns, latest: Vec::new() }
    }

    /// A push with this kind and number only.
    fn numbered(kind: u16, number: Option<u64>) -> Pushed {
        Pushed {
            kind,
            number: number.and_then(PushNumber::new),
            said_unix_ns: None,
            content: None,
            lacks: false,
        }
    }

    /// Books messages of one kind at one client, by their times in milliseconds and their numbers.
    fn heard(messages: &[(u64, Option<u64>)]) -> Meter {
        let mut meter = Meter::new(0, Secrets::of_one(Vec::new()));
        let mut pushes = of(2, 1_000_000 * MS);
        for (at_ms, number) in messages {
            let said_unix_ns = NonZeroU64::new((1_000_000 + at_ms - 3) * MS);
            let pushed = Pushed { said_unix_ns, ..numbered(1, *number) };
            pushes.handle(7, pushed, *at_ms >= 100, &mut meter, at_ms * MS);
        }
        meter
    }

    #[test]
    fn gaps_ages_and_holes() {
        let meter = heard(&[(50, Some(4)), (100, Some(5)), (300, Some(9)), (310, Some(8)), (400, Some(10))]);
        let counts = &meter.counts;
        assert_eq!((counts.pushed, counts.push_skipped, counts.push_repeated), (4, 3, 1));
        let gap = &meter.figures.push_gap;
        assert_eq!((gap.count(), gap.min_ns(), gap.max_ns()), (4, 10 * MS, 200 * MS));
        assert_eq!((meter.figures.push_age.min_ns(), meter.figures.push_age.max_ns()), (3 * MS, 3 * MS));
    }

    #[test]
    fn times_ahead_are_no_ages() {
        let (mut meter, mut pushes) = (Meter::new(0, Secrets::of_one(Vec::new())), of(1, 1_000 * MS));
        for said_ms in [1_002, 1_003, 1_008] {
            let pushed = Pushed { said_unix_ns: NonZeroU64::new(said_ms * MS), ..numbered(0, None) };
            pushes.handle(0, pushed, true, &mut meter, 3 * MS);
        }
        let (age, ahead) = (&meter.figures.push_age, &meter.figures.push_ahead);
        assert_eq!((age.count(), age.min_ns(), age.max_ns()), (2, 0, MS));
        assert_eq!((ahead.count(), ahead.max_ns()), (1, 5 * MS));
    }

    #[test]
    fn unnumbered_pushes_hide_no_holes() {
        let meter = heard(&[(100, Some(1)), (110, Some(2)), (120, None), (130, Some(9)), (140, Some(9))]);
        let counts = &meter.counts;
        assert_eq!((counts.pushed, counts.push_skipped, counts.push_repeated), (5, 6, 1));
    }

    #[test]
    fn numbers_far_apart_are_reported_within_bounds() {
        let far = u64::MAX - 1;
        let mut meter = heard(&[(100, Some(1)), (200, Some(far))]);
        let mut pushes = of(1, 0);
        pushes.handle(0, numbered(0, Some(1)), true, &mut meter, MS);
        pushes.handle(0, numbered(0, Some(far)), true, &mut meter, 2 * MS);
        assert_eq!(meter.counts.push_skipped, u64::MAX);
        assert!(meter.take(3 * MS, 1).counts.is_plausible(), "or its worker would be taken for a liar");
    }

    #[test]
    fn without_numbers_nothing_is_left_out() {
        let meter = heard(&[(100, None), (200, Some(7)), (300, None)]);
        assert_eq!((meter.counts.pushed, meter.counts.push_skipped, meter.counts.push_repeated), (3, 0, 0));
    }

    #[test]
    fn pushes_on_new_connections_follow_nothing() {
        let mut meter = Meter::new(0, Secrets::of_one(Vec::new()));
        let mut pushes = of(1, 0);
        pushes.handle(0, numbered(0, Some(1)), true, &mut meter, MS);
        pushes.handle_usable(0);
        pushes.handle(0, numbered(0, Some(50)), true, &mut meter, 2 * MS);
        assert_eq!((meter.counts.pushed, meter.counts.push_skipped), (2, 0));
        assert!(meter.figures.push_gap.is_empty());
    }
}
