//! Everything that is timed: the table that workers, results, files, limits and reports are made from.

use serde::{Deserialize, Serialize};

use crate::explicit_buckets::ExplicitBuckets;
use crate::table::table;
use crate::{Histogram, Packed};

/// The facts of something timed, beside its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedFacts {
    /// The name in reports: `round trip`.
    pub words: &'static str,
    /// The interval that is measured, for a reader of the table.
    pub span: &'static str,
    /// The object of a results file that contains the figure, where it is not the step itself.
    pub within: Option<&'static str>,
    /// The tables' name for the rooms, of deliveries by the size of the message's room.
    pub rooms: Option<&'static str>,
}

const fn of_step(words: &'static str, span: &'static str) -> TimedFacts {
    TimedFacts { words, span, within: None, rooms: None }
}

const fn of_handshake(words: &'static str) -> TimedFacts {
    TimedFacts { words, span: "a part of the handshake", within: Some("handshake_parts"), rooms: None }
}

const fn of_rooms(rooms: &'static str) -> TimedFacts {
    let within = Some("delivery_by_room_size");
    TimedFacts { words: rooms, span: "sent → receiver in these", within, rooms: Some(rooms) }
}

table! {
    /// Everything that was timed (METHODOLOGY "Figures"), as it is recorded, or packed while it travels. An
    /// empty histogram is a figure that does not apply.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Figures<H = Histogram> of H;

    /// Something timed.
    enum Timed with TimedFacts;

    /// Start of the TCP connect → usable.
    handshake: Handshake = of_step("handshake", "connect → ready"),
    /// The first part of the handshake: the TCP connect.
    tcp: Tcp = of_handshake("TCP"),
    /// Its second part: the TLS handshake.
    tls: Tls = of_handshake("TLS"),
    /// Its third part: the plain requests with which a client logs in.
    login: Login = of_handshake("login"),
    /// Its fourth part: the HTTP upgrade.
    upgrade: Upgrade = of_handshake("upgrade"),
    /// Its last part: the dialect's own readiness.
    ready: Ready = of_handshake("protocol"),
    /// Intended send → echo, acknowledgement or own copy.
    rtt: Rtt = of_step("round trip", "sent → answer to the sender"),
    /// Actual send → the same.
    service: Service = of_step("service time", "written → the same answer"),
    /// Intended send → a receiver has its copy; one sample a copy.
    delivery: Delivery = of_step("delivery", "sent → each receiver"),
    /// The deliveries in rooms of one.
    delivery_1: DeliveryIn1 = of_rooms("rooms of 1"),
    /// In rooms of 2 to 10.
    delivery_2_10: DeliveryIn10 = of_rooms("rooms ≤10"),
    /// In rooms of 11 to 100.
    delivery_11_100: DeliveryIn100 = of_rooms("rooms ≤100"),
    /// In rooms of 101 to 1,000.
    delivery_101_1000: DeliveryIn1000 = of_rooms("rooms ≤1k"),
    /// In rooms of 1,001 to 10,000.
    delivery_1001_10000: DeliveryIn10000 = of_rooms("rooms ≤10k"),
    /// In larger rooms.
    delivery_above_10000: DeliveryInMore = of_rooms("rooms >10k"),
    /// Intended send → the last receiver has its copy. No worker knows it: receivers may be anywhere.
    completion: Completion = of_step("last receiver", "sent → every receiver"),
    /// Usable again → a copy is in that was due while its client was away; one sample a copy.
    replay: Replay = of_step("replay", "back → each copy missed"),
    /// A visitor asks to join a room → the server has let them in.
    join: Join = of_step("join", "asked → let in"),
    /// A visitor leaves a room → the server has confirmed it, where it does.
    leave: Leave = of_step("leave", "asked → confirmed"),
    /// A visitor asks to join a room → another in it has heard of them.
    presence: Presence = of_step("presence", "join asked → others told"),
    /// Intended send → actual send.
    send_lag: SendLag = of_step("send lag", "due → written"),
    /// Intended send → the first event of a streamed answer.
    first: First = of_step("first event", "due → first event"),
    /// Intended send → the first event of a streamed answer that has a token.
    first_token: FirstToken = of_step("first token", "due → first token"),
    /// An event of a streamed answer → the next one.
    gap: Gap = of_step("gap", "event → the next one"),
    /// Something that the server says by itself → the next of its kind at the same client.
    push_gap: PushGap = of_step("push gap", "push → the next one"),
    /// The time that such a message says → it is in.
    push_age: PushAge = of_step("push age", "time it says → received, by both clocks"),
    /// A message is in → the time that it says, where that is later: the clocks differ by at least as much.
    push_ahead: PushAhead = of_step("push ahead", "received → later time it says"),
    /// The client's last message → the server ends the connection; one sample a connection lost.
    silence: Silence = of_step("silence", "last message → closed"),
    /// Connection lost in a storm → usable again.
    recovery: Recovery = of_step("recovery", "lost → ready again"),
}

impl Timed {
    /// The name in reports.
    pub const fn words(self) -> &'static str {
        self.facts().words
    }

    /// The deliveries by the size of the message's room.
    pub const BY_ROOM_SIZE: [Timed; 6] = [
        Timed::DeliveryIn1,
        Timed::DeliveryIn10,
        Timed::DeliveryIn100,
        Timed::DeliveryIn1000,
        Timed::DeliveryIn10000,
        Timed::DeliveryInMore,
    ];

    /// The delivery in a room of `members` members.
    pub fn delivery_in(members: u32) -> Timed {
        match members {
            0..=1 => Timed::DeliveryIn1,
            2..=10 => Timed::DeliveryIn10,
            11..=100 => Timed::DeliveryIn100,
            101..=1_000 => Timed::DeliveryIn1000,
            1_001..=10_000 => Timed::DeliveryIn10000,
            _ => Timed::DeliveryInMore,
        }
    }
}

impl Figures {
    /// The figure whose time the [account](crate::Account) splits into parts: the time between a message and
    /// its answer. An answer that comes in pieces counts by its first event, for which its reader waits.
    pub fn accounted(&self) -> Timed {
        if self.first.is_empty() { Timed::Rtt } else { Timed::First }
    }

    /// The figures packed, to be small.
    pub fn pack(&self) -> Figures<Packed> {
        let mut packed = Figures::default();
        for (timed, samples) in self.iter() {
            *packed.get_mut(timed) = Packed::from(samples);
        }
        packed
    }

    /// Reduces each to its occupied buckets.
    pub fn shrink_to_fit(&mut self) {
        for timed in Timed::ALL {
            self.get_mut(timed).shrink_to_fit();
        }
    }

    /// The figures in few buckets.
    pub fn explicit_buckets(&self) -> Figures<ExplicitBuckets> {
        let mut explicit_buckets = Figures::default();
        for (timed, samples) in self.iter() {
            *explicit_buckets.get_mut(timed) = ExplicitBuckets::from(samples);
        }
        explicit_buckets
    }

    /// Adds all samples of packed figures.
    pub fn add(&mut self, packed: &Figures<Packed>) {
        for (timed, samples) in packed.iter() {
            self.get_mut(timed).add(samples);
        }
    }
}

impl Figures<Packed> {
    /// Adds the deliveries by the size of their rooms to all deliveries.
    pub fn add_up_rooms(&mut self) {
        for timed in Timed::BY_ROOM_SIZE {
            let samples = std::mem::take(self.get_mut(timed));
            self.delivery.merge(&samples);
            *self.get_mut(timed) = samples;
        }
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Figures<Packed>) {
        for (timed, samples) in other.iter() {
            self.get_mut(timed).merge(samples);
        }
    }
}

impl Figures<ExplicitBuckets> {
    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Figures<ExplicitBuckets>) {
        for (timed, samples) in other.iter() {
            self.get_mut(timed).merge(samples);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One sample of each, no two alike.
    fn one_each() -> Figures {
        let mut figures: Figures = Figures::default();
        for (ms, timed) in (1..).zip(Timed::ALL) {
            figures.get_mut(timed).record_ns(ms * 1_000_000);
        }
        figures
    }

    #[test]
    fn figures_pack_merge_and_add_by_kind() {
        let mut twice = one_each().pack();
        twice.merge(&one_each().pack());
        let mut figures = one_each();
        figures.add(&twice);
        for ((timed, found), (_, one)) in figures.iter().zip(one_each().iter()) {
            assert_eq!(
                (found.count(), found.min_ns(), found.max_ns()),
                (3, one.min_ns(), one.max_ns()),
                "{timed}"
            );
        }
    }

    #[test]
    fn deliveries_in_rooms_are_deliveries() {
        let mut figures: Figures = Figures::default();
        for (ms, members) in (1..).zip([1, 2, 10, 11, 100, 101, 1_000, 1_001, 10_000, 10_001, u32::MAX]) {
            figures.get_mut(Timed::delivery_in(members)).record_ns(ms * 1_000_000);
        }
        let mut packed = figures.pack();
        packed.add_up_rooms();
        let counts = Timed::BY_ROOM_SIZE.map(|timed| packed.get(timed).count());
        assert_eq!((counts, packed.delivery.count()), ([1, 2, 2, 2, 2, 2], 11));
    }

    #[test]
    fn names_are_those_of_the_fields() {
        assert_eq!(Timed::SendLag.name(), "send_lag");
        assert!(Timed::ALL.into_iter().all(|timed| Timed::named(timed.name()) == Some(timed)));
        assert_eq!(Timed::named("sendlag"), None);
    }
}
