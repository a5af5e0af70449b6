//! Charges and counts as a step's books are closed.

use std::sync::Arc;

use app::people::Division;
use codec::Stamp;
use load::{LocalRooms, RoomKind, Rooms, SayKind, StepOrder, Workload};
use stats::Reach;
use wire::{Event, Role};

use super::*;
use crate::books::booking::Booking;
use crate::books::ledger::tests::{MS, ledger, ledger_in, records};
use crate::books::step::Terms;
use crate::books::streamed::Streams;

#[test]
fn unanswered_messages_are_charged_once() {
    let (mut ledger, mut records) = (ledger(Workload::Echo, 2, None), records(2));
    for client in 0..2 {
        ledger.handle_sending(client, &mut records[client as usize], MS, MS);
    }
    ledger.give_up_overdue(0, &mut records[0], 2 * MS, 3 * MS);
    assert_eq!(ledger.freed, [(0, 1)]);
    let settled = close(&mut ledger, &mut records, |_, _| None, 5 * MS);
    assert_eq!(settled.unanswered, 2);
    let rtt = &ledger.meter.figures.rtt;
    assert_eq!(rtt.count(), 2, "one when it was given up, one now");
    assert!(rtt.max_ns() >= 4 * MS - MS / 10 && rtt.min_ns() < 3 * MS);
}

#[test]
fn answers_that_are_coming_are_not_given_up() {
    let (mut ledger, mut records) = (ledger(Workload::Echo, 1, None), records(1));
    ledger.streams = Streams::new(3);
    // Of three, one has an event in time, one has none since its head, and one has not even that.
    let stamps = [MS, 2 * MS, 3 * MS].map(|due_ns| {
        let (_, stamp) = ledger.handle_sending(0, &mut records[0], due_ns, due_ns);
        stamp
    });
    for stamp in &stamps[..2] {
        ledger.streams.begin(0, *stamp, 0, 4 * MS);
    }
    let Ledger { streams, meter, .. } = &mut ledger;
    let streamed = streams.get_mut(0, stamps[0].seq).expect("it has begun");
    streamed.handle_event(1, Reach::default(), meter, 6 * MS);
    let mut given_up = |overdue_ms: u64| {
        ledger.give_up_overdue(0, &mut records[0], overdue_ms * MS, 9 * MS);
        (ledger.freed.len(), records[0].awaiting.iter().map(|due_ns| due_ns / MS).collect::<Vec<_>>())
    };
    assert_eq!(given_up(3), (0, vec![1, 2, 3]), "both heads came since");
    assert_eq!(given_up(5), (2, vec![1]));
    assert_eq!(given_up(6), (3, vec![]), "its last event is too long ago");
}

#[test]
fn one_of_two_questions_is_given_up() {
    let (mut ledger, mut records) = (ledger(Workload::Echo, 1, None), records(1));
    ledger.streams = Streams::new(3);
    let stamps = [MS; 2].map(|due_ns| ledger.handle_sending(0, &mut records[0], due_ns, due_ns).1);
    ledger.streams.begin(0, stamps[0], 0, 4 * MS);
    let Ledger { streams, meter, .. } = &mut ledger;
    let streamed = streams.get_mut(0, stamps[0].seq).expect("it has begun");
    streamed.handle_event(1, Reach::default(), meter, 4 * MS);
    for _ in 0..2 {
        ledger.give_up_overdue(0, &mut records[0], 3 * MS, 5 * MS);
    }
    assert_eq!((ledger.freed.len(), records[0].awaiting.iter().count()), (1, 1));
    assert_eq!(ledger.meter.account.from(0).messages, 2, "by its first event, and given up");
    close(&mut ledger, &mut records, |_, _| None, 6 * MS);
    assert_eq!(ledger.meter.account.from(0).messages, 2, "each once");
}

#[test]
fn endless_answers_are_given_up() {
    let (mut ledger, mut records) = (ledger(Workload::Echo, 1, None), records(1));
    ledger.streams = Streams::new(3);
    let (_, stamp) = ledger.handle_sending(0, &mut records[0], MS, MS);
    ledger.streams.begin(0, stamp, 0, 4 * MS);
    let Ledger { streams, meter, .. } = &mut ledger;
    let streamed = streams.get_mut(0, stamp.seq).expect("it has begun");
    streamed.handle_event(1, Reach::default(), meter, 99 * MS);
    let mut given_up = |overdue_ms: u64| {
        ledger.give_up_overdue(0, &mut records[0], overdue_ms * MS, 100 * MS);
        ledger.freed.len()
    };
    assert_eq!([90, 98].map(&mut given_up), [0, 1], "of ten timeouts of 10 ms, and of 2 ms");
}

#[test]
fn messages_due_together_are_charged_by_kind() {
    let say = |share| SayKind { name: String::new(), room: 0, to_others: false, share };
    let kinds = vec![RoomKind { name: String::new(), division: Division::ONE, joined_by: None }];
    let rooms = Rooms::several(kinds, vec![say(1), say(3)], Vec::new()).expect("two kinds");
    let (mut ledger, mut records) = (ledger_in(rooms, Workload::Broadcast, 1, None), records(1));
    let mut of_kinds = [0; 2];
    for _ in 0..8 {
        let (number, _) = ledger.handle_sending(0, &mut records[0], MS, MS);
        of_kinds[ledger.kind_of(0, number)] += 1;
    }
    assert!(of_kinds.iter().all(|&messages| messages > 0), "{of_kinds:?}");
    // Some are given up in the midst of the step, and the others charged at its end.
    for _ in 0..3 {
        let since_ns = records[0].awaiting.give_up(2 * MS, |_| 0).expect("it is awaited");
        ledger.give_up(0, since_ns, u64::MAX, 3 * MS);
    }
    close(&mut ledger, &mut records, |_, _| None, 5 * MS);
    assert_eq!([0, 1].map(|kind| ledger.meter.say(kind).expect("two kinds").rtt.count()), of_kinds);
}

#[test]
fn clients_deaf_to_other_workers_are_named() {
    let (mut ledger, mut records) = (ledger(Workload::Broadcast, 3, None), records(3));
    ledger.segment = Segment { worker: 0, workers: 2 };
    ledger.local_rooms = LocalRooms::new(Arc::new(Rooms::default()), ledger.segment);
    ledger.local_rooms.start_step(6, 3);
    for number in 0..DEAF_TO_MIN as u32 {
        let stamp = Stamp::new(1, 0, number, MS, MS);
        for client in 0..2 {
            let mut booking = Booking::new(client, &mut records[client as usize], &mut ledger, 2 * MS);
            booking.handle(Event::Message { role: Role::Copy, stamp, bytes: 33 });
            booking.finish();
        }
    }
    close(&mut ledger, &mut records, |_, _| None, 3 * MS);
    let deaf = ledger.meter.errors.get(stats::error_kind::NO_COPIES);
    assert_eq!((ledger.meter.counts.received, deaf.map(|kind| kind.count)), (20, Some(1)));
}

#[test]
fn answers_of_an_earlier_connection_broke_off() {
    let (mut ledger, mut records) = (ledger(Workload::Echo, 3, None), records(3));
    (ledger.streams, ledger.asks) = (Streams::new(3), true);
    for client in 0..3 {
        let record = &mut records[client as usize];
        let (_, stamp) = ledger.handle_sending(client, record, MS, MS);
        ledger.streams.begin(client, stamp, 0, 2 * MS);
    }
    (records[0].since_ns, records[1].since_ns, records[2].state) = (2 * MS, 3 * MS, State::Vacant);
    close(&mut ledger, &mut records, |_, _| None, 5 * MS);
    assert_eq!((ledger.meter.counts.unended, ledger.meter.counts.broken_off), (1, 2));
    assert_eq!(ledger.busy, [0, 1, 2], "none has its answer");
}

#[test]
fn unanswered_requests_alone_keep_connections_busy() {
    for (asks, busy) in [(true, vec![1]), (false, vec![])] {
        let (mut ledger, mut records) = (ledger(Workload::Echo, 2, None), records(2));
        ledger.asks = asks;
        for client in 0..2 {
            ledger.handle_sending(client, &mut records[client as usize], MS, MS);
        }
        records[0].echoes.handle(0);
        close(&mut ledger, &mut records, |_, _| None, 5 * MS);
        assert_eq!(ledger.busy, busy, "{asks}");
    }
}

#[test]
fn acknowledgements_are_owed_to_present_clients() {
    let (mut ledger, mut records) = (ledger(Workload::Broadcast, 3, None), records(3));
    for client in 0..3 {
        ledger.handle_sending(client, &mut records[client as usize], MS, MS);
    }
    (ledger.step.sent[0].acknowledged, records[1].state) = (true, State::Vacant);
    close(&mut ledger, &mut records, |_, _| None, 2 * MS);
    assert_eq!(ledger.meter.counts.unacknowledged, 1, "the third's alone");
}

#[test]
fn messages_without_a_connection_are_owed_nothing() {
    for (is_flapping, expected) in [(true, (1, [true, false])), (false, (2, [false, false]))] {
        let (mut ledger, mut records) = (ledger(Workload::Broadcast, 2, None), records(2));
        ledger.are_spoken_for = true;
        let terms = ledger.step.terms.expect("it has begun");
        ledger.step.terms = Some(Terms { is_flapping, ..terms });
        let stamps =
            [0, 1].map(|client| ledger.handle_sending(client, &mut records[client as usize], MS, MS).1);
        ledger.note_cut_off(stamps[0]);
        let settled = close(&mut ledger, &mut records, |_, _| None, 2 * MS);
        let cut_off = [0, 1].map(|number: usize| settled.sent[number].is_cut_off);
        assert_eq!((ledger.meter.counts.unacknowledged, cut_off), expected, "{is_flapping}");
    }
}

/// In the next step's books, such an answer would be more than was sent there.
#[test]
fn answers_to_settled_steps_are_not_booked() {
    let (mut ledger, mut records) = (ledger(Workload::Broadcast, 1, None), records(1));
    let (number, stamp) = ledger.handle_sending(0, &mut records[0], MS, MS);
    assert_eq!(ledger.step.number(stamp.seq), Some(number));
    close(&mut ledger, &mut records, |_, _| None, 2 * MS);
    assert_eq!(ledger.step.number(stamp.seq), None);
    let next = StepOrder { index: ledger.step.order.index + 1, ..ledger.step.order };
    for _ in 0..2 {
        assert!(ledger.step.is_behind(stamp.seq));
        ledger.start_step(next, 1);
    }
    assert!(!ledger.step.is_behind(ledger.step.seq(0)), "of this step, and wrong if it does not fit");
}

#[test]
fn missing_returns_count_as_long_as_the_storm() {
    let (mut ledger, mut records) = (ledger(Workload::Echo, 2, Some(10 * MS)), records(2));
    ledger.handle_storm_loss(0, &mut records[0], 10 * MS);
    ledger.handle_storm_loss(1, &mut records[1], 30 * MS);
    ledger.handle_usable(0, &mut records[0], 15 * MS);
    close(&mut ledger, &mut records, |_, _| None, 40 * MS);
    let recovery = &ledger.meter.figures.recovery;
    assert_eq!((recovery.count(), ledger.meter.counts.not_back), (2, 1));
    assert!(recovery.max_ns() >= 29 * MS, "from the storm on, not from its own loss");
}
