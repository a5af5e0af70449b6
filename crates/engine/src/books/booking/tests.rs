//! Answers as they are booked: one by one, and as a series.

use proptest::prelude::*;

use super::*;
use crate::books::ledger::tests::ledger;
use crate::books::meter::Meter;

/// When each message was due: two writes, of three messages and of five.
const DUE_NS: [u64; 8] = [5_000, 5_000, 5_000, 9_000, 9_000, 9_000, 9_000, 9_000];

/// The books of a client after these answers, with its first three messages given up.
fn booked(answers: impl IntoIterator<Item = Event>) -> String {
    let mut ledger = ledger(Workload::Echo, 1, None);
    let mut record = Record { state: State::Usable, ..Record::default() };
    for due_ns in DUE_NS {
        ledger.handle_sending(0, &mut record, due_ns, due_ns);
    }
    ledger.give_up_overdue(0, &mut record, 6_000, 7_000);
    ledger.freed.clear();
    let mut booking = Booking::new(0, &mut record, &mut ledger, 20_000);
    for answer in answers {
        booking.handle(answer);
    }
    booking.finish();
    let freed: u32 = ledger.freed.iter().map(|(_, messages)| messages).sum();
    let times = [&ledger.meter.figures.rtt, &ledger.meter.figures.service];
    let times = times.map(|times| times.recorded().collect::<Vec<_>>());
    let missing: Vec<u32> = record.echoes.missing().collect();
    let awaited: Vec<u64> = record.awaiting.iter().collect();
    let Meter { counts, received_bytes, tail, last_arrival_ns, .. } = &ledger.meter;
    let sums = format!("{counts:?} {received_bytes} {tail:?} {last_arrival_ns}");
    format!("{sums} {freed} {times:?} {missing:?} {awaited:?}")
}

proptest! {
    #[test]
    fn series_are_booked_as_single_messages(
        answers in prop::collection::vec((0u32..9, 1u32..6, 0u32..8), 0..8)
    ) {
        let series = |&(seq, messages, client): &(u32, u32, u32)| {
            let intended_ns = *DUE_NS.get(seq as usize).unwrap_or(&9_000);
            // One in eight is another client's.
            let first = Stamp::new(0, client / 7, seq, intended_ns, intended_ns);
            Event::Series { role: Role::Echo, first, messages, bytes: 33 }
        };
        let answers: Vec<Event> = answers.iter().map(series).collect();
        let one_by_one = answers.iter().flat_map(|answer| answer.each());
        prop_assert_eq!(booked(one_by_one), booked(answers.iter().copied()));
    }
}

#[test]
fn echoes_of_another_run_are_no_answers() {
    let first = Stamp::new(0, 0, 0, 5_000, 5_000).of_run(7);
    let changed = Event::Corrupt { stamp: Some(first), bytes: 33 };
    let unmatched = Event::Unmatched { run: 7, sent_ns: 5_000, near: Some(0) };
    let all = [Event::Series { role: Role::Echo, first, messages: 3, bytes: 33 }, changed, unmatched];
    let foreign = booked(all);
    let nothing = ["unexpected: 0", "received: 0", "corrupt: 0"];
    assert!(nothing.iter().all(|count| foreign.contains(count)), "{foreign}");
    let own = Event::Corrupt { stamp: Some(first.of_run(0)), bytes: 33 };
    assert!(booked([own]).contains("corrupt: 1"));
}

#[test]
fn bytes_are_those_of_deliveries() {
    let mut ledger = ledger(Workload::Broadcast, 2, None);
    let mut records =
        [false, true].map(|is_slow| Record { state: State::Usable, is_slow, ..Record::default() });
    let (_, stamp) = ledger.handle_sending(0, &mut records[0], 5_000, 5_000);
    ledger.handle_sent(5_000, 0, 0..1, 5_000, 40, |sent, _| sent);
    let straggler = Stamp { seq: ledger.step.seq(0).wrapping_sub(1), ..stamp };
    let of = |role, stamp| Event::Message { role, stamp, bytes: 100 };
    let events =
        [of(Role::Copy, stamp), of(Role::Copy, stamp), of(Role::Ack, stamp), of(Role::Ack, straggler)];
    for (client, record) in (0..).zip(&mut records) {
        let mut booking = Booking::new(client, record, &mut ledger, 20_000);
        for event in events.iter().copied().chain([Event::Beside]) {
            booking.handle(event);
        }
        booking.finish();
    }
    let Meter { counts, sent_bytes, received_bytes, .. } = &ledger.meter;
    assert_eq!((counts.received, counts.slow_received, counts.duplicate), (1, 2, 1));
    assert_eq!((*sent_bytes, *received_bytes), (40, 100));
}

#[test]
fn a_series_in_order_is_in_all_books() {
    let first = Stamp::new(0, 0, 3, 9_000, 9_000);
    let message = Event::Message { role: Role::Echo, stamp: first.after(2), bytes: 33 };
    let of = |first, messages| Event::Series { role: Role::Echo, first, messages, bytes: 33 };
    let all = [of(Stamp::new(0, 0, 0, 5_000, 5_000), 3), of(first, 2), message, of(first.after(3), 2)];
    let (rtt, service) = ("(2000, 3), (11000, 5)", "(11000, 5), (15000, 3)");
    let booked = booked(all);
    assert!(booked.ends_with(&format!(" 5 [[{rtt}], [{service}]] [] []")), "{booked}");
}
