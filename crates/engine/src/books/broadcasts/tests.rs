//! Copies in and out of order, of many senders and of clients that leave.

use codec::Stamp;
use load::Workload;
use wire::{Event, Role};

use super::*;
use crate::books::booking::Booking;
use crate::books::ledger::tests::ledger;
use crate::books::record::{Record, State};

/// Broadcasts at clients of one room.
struct Room(Broadcasts, u32);

impl Room {
    fn handle(&mut self, worker: u16, client: u32, number: u32, place: u32, now_ns: u64) -> Copy {
        let member = LocalMember { place, members: self.1 };
        let (sent_ns, due) = (number.into(), self.1);
        let origin = Origin { worker, client, kind: 0, room: 0, number, sent_ns, due, is_away: false };
        self.0.handle(origin, member, now_ns, || Timed::Delivery).0
    }
}

fn broadcasts(clients: u32) -> Room {
    Room(Broadcasts::new(true), clients)
}

#[test]
fn counts_each_client_once() {
    let mut b = broadcasts(70);
    for receiver in 0..70 {
        assert_eq!(b.handle(0, 9, 0, receiver, 100 + u64::from(receiver)), Copy::InOrder);
    }
    assert_eq!(b.handle(0, 9, 0, 3, 500), Copy::Duplicate);
    assert_eq!(
        b.0.finish(),
        [BroadcastTally { worker: 0, client: 9, number: 0, received: 70, last_ns: 169 }]
    );
}

#[test]
fn order_is_per_sender() {
    let mut b = broadcasts(2);
    assert_eq!(b.handle(0, 1, 1, 0, 1), Copy::InOrder);
    assert_eq!(b.handle(0, 2, 0, 0, 2), Copy::InOrder, "another sender's earlier broadcast");
    assert_eq!(b.handle(0, 1, 3, 1, 3), Copy::InOrder);
    assert_eq!(b.handle(0, 1, 1, 1, 4), Copy::Reordered);
    assert_eq!(b.handle(0, 1, 2, 1, 5), Copy::Reordered, "first seen after its successor");
    assert_eq!(b.handle(0, 1, 2, 0, 6), Copy::InOrder, "this client has not got 3 yet");
}

#[test]
fn swapping_two_of_fifty_reorders_one_copy_each() {
    let (mut b, mut reordered) = (broadcasts(20), 0);
    for block in 0..20 {
        let order = (0..48).chain([49, 48]).map(|k| block * 50 + k);
        for number in order {
            let copies = (0..20).map(|r| b.handle(0, 0, number, r, 0)).collect::<Vec<_>>();
            reordered += copies.iter().filter(|c| **c == Copy::Reordered).count();
        }
    }
    assert_eq!(reordered, 400);
}

#[test]
fn kinds_of_rooms_have_no_common_order() {
    let mut b = Broadcasts::default();
    let mut handle = |kind, number, place, members| {
        let (worker, client, room, sent_ns, due, is_away) = (0, 5, 0, 1, members, false);
        let origin = Origin { worker, client, kind, room, number, sent_ns, due, is_away };
        b.handle(origin, LocalMember { place, members }, 2, || Timed::Delivery).0
    };
    assert_eq!(handle(0, 0, 3, 400), Copy::InOrder);
    assert_eq!(handle(1, 1, 3, 4), Copy::InOrder);
    assert_eq!(handle(0, 2, 300, 400), Copy::InOrder);
    assert_eq!(handle(0, 0, 399, 400), Copy::InOrder, "the later one of its kind has not come there");
    assert_eq!(handle(0, 0, 300, 400), Copy::Reordered);
    assert_eq!(handle(1, 1, 3, 4), Copy::Duplicate);
}

/// A test of the time it takes: each copy once walked past all later ones.
#[test]
fn missed_broadcasts_are_booked_as_they_come() {
    const MISSED: u32 = 100_000;
    let mut b = broadcasts(3);
    for number in 0..MISSED {
        _ = b.handle(0, 0, number, 0, 1);
    }
    assert_eq!(b.handle(0, 0, MISSED, 1, 1), Copy::InOrder, "it is back, and hears what is said now");
    for number in 0..MISSED {
        assert_eq!(b.handle(0, 0, number, 2, 2), Copy::InOrder);
    }
    assert_eq!(b.handle(0, 0, 0, 1, 3), Copy::Reordered, "what it missed comes behind");
    assert_eq!(b.handle(0, 0, 1, 1, 3), Copy::Reordered);
    assert_eq!(b.handle(0, 0, MISSED + 1, 2, 4), Copy::InOrder);
    assert_eq!(b.handle(0, 0, MISSED, 2, 5), Copy::Reordered);
    // And where no other client here had them, in whatever order.
    let mut b = broadcasts(1);
    assert_eq!(b.handle(0, 0, MISSED, 0, 1), Copy::InOrder);
    for number in (0..MISSED / 2).chain((MISSED / 2..MISSED).rev()) {
        assert_eq!(b.handle(0, 0, number, 0, 2), Copy::Reordered);
    }
}

#[test]
fn absent_clients_are_no_receivers() {
    let mut b = broadcasts(3);
    for number in 0..4 {
        for receiver in 0..3 {
            _ = b.handle(0, u32::from(number == 2), number, receiver, 1);
        }
    }
    let in_other_rooms = [b.0.excuse(1, 0, 1, 1, |_, _| true), b.0.excuse(0, 1, 1, 1, |_, _| true)];
    assert_eq!(in_other_rooms, [0, 0]);
    assert_eq!(b.0.excuse(0, 0, 1, 1, |_, sender| sender == 0), 2, "the latest but one's own");
    let received: Vec<u32> = b.0.finish().iter().map(|tally| tally.received).collect();
    assert_eq!(received, [3, 2, 3, 2]);
    assert_eq!(b.handle(0, 0, 3, 1, 9), Copy::Duplicate);
}

#[test]
fn numbers_of_other_senders_are_unexpected() {
    let mut b = broadcasts(2);
    for number in 0..100 {
        assert_eq!(b.handle(0, 1, number, 0, 1), Copy::InOrder);
    }
    assert_eq!(b.handle(0, 2, 0, 1, 2), Copy::Unexpected);
    let lacking = [(1, 0, 0), (1, 0, 1), (2, 0, 1), (1, 1, 300)]
        .map(|(client, kind, place)| b.0.lacks(0, client, kind, 0, place));
    assert_eq!(lacking, [false, true, false, false]);
    let mut of_kind = |kind, place, members| {
        let (sent_ns, due, is_away) = (0, members, false);
        let origin = Origin { worker: 0, client: 1, kind, room: 0, number: 0, sent_ns, due, is_away };
        b.0.handle(origin, LocalMember { place, members }, 3, || Timed::Delivery).0
    };
    assert_eq!(of_kind(1, 300, 400), Copy::Unexpected, "a place that the message's room does not have");
    assert_eq!(of_kind(0, 1, 2), Copy::InOrder);
    assert_eq!(b.0.finish()[0].received, 2);
}

#[test]
fn copies_of_unsent_broadcasts_are_unexpected() {
    let mut ledger = ledger(Workload::Broadcast, 2, None);
    let mut sender = Record { state: State::Usable, ..Record::default() };
    let (_, sent) = ledger.handle_sending(0, &mut sender, 5_000, 5_000);
    let mut receiver = Record { state: State::Usable, ..Record::default() };
    let mut booking = Booking::new(1, &mut receiver, &mut ledger, 20_000);
    let others = [sent.after(1), Stamp { client: 1, ..sent }, Stamp { worker: 1, ..sent }];
    for stamp in [sent, sent.of_run(7)].into_iter().chain(others) {
        booking.handle(Event::Message { role: Role::Copy, stamp, bytes: 33 });
    }
    let counts = ledger.meter.counts;
    assert_eq!((counts.received, counts.unexpected, counts.duplicate), (1, 3, 0));
    assert_eq!(ledger.meter.errors.get("other_run").map(|kind| kind.count), Some(1));
}

#[test]
fn a_drop_and_a_duplicate_are_never_netted() {
    let mut b = broadcasts(2);
    b.handle(3, 0, 7, 0, 1);
    assert_eq!(b.handle(3, 0, 7, 0, 2), Copy::Duplicate);
    assert_eq!(b.0.finish()[0].received, 1);
}
