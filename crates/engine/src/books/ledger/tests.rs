//! Messages, losses and returns as a worker's books have them, and the books that other tests write in.

use load::Load;
use wire::RequestOutcome;

use super::*;
use crate::books::broadcasts::Origin;
use crate::books::cause::Cause;
use crate::books::closing::close;
use crate::books::meter::Secrets;
use crate::books::record::{Record, State};

const ALONE: Segment = Segment { worker: 0, workers: 1 };
pub(crate) const MS: u64 = 1_000_000;

impl AsMut<Record> for Record {
    fn as_mut(&mut self) -> &mut Record {
        self
    }
}

/// The books of a load that has begun, of clients that are all usable.
pub(crate) fn ledger(workload: Workload, clients: u32, storm_ns: Option<u64>) -> Ledger {
    ledger_in(Rooms::default(), workload, clients, storm_ns)
}

/// The same of clients in these rooms.
pub(crate) fn ledger_in(rooms: Rooms, workload: Workload, clients: u32, storm_ns: Option<u64>) -> Ledger {
    let order = StepOrder { index: 0, clients, load: Load::Hold { duration_ns: 1 }, warmup: false };
    let (meter, options) = (Meter::new(0, Secrets::of_one(Vec::new())), LedgerOptions::default());
    let mut ledger = Ledger::new(meter, workload, ALONE, Arc::new(rooms), options);
    ledger.start_step(order, clients);
    ledger.usable = clients;
    let terms = Terms {
        begin_ns: 0,
        window_end_ns: u64::MAX,
        is_closed: true,
        awaits: true,
        storm_ns,
        has_churn: false,
        is_flapping: false,
    };
    let all: Vec<u32> = (0..clients).collect();
    ledger.start_load(terms, &all, all.clone());
    ledger
}

/// The records of these clients.
pub(crate) fn records(clients: u32) -> Vec<Record> {
    (0..clients).map(|_| Record { state: State::Usable, ..Record::default() }).collect()
}

#[test]
fn lost_clients_leave_nothing_outstanding() {
    let (mut ledger, mut records) = (ledger(Workload::Echo, 2, None), records(2));
    let terms = ledger.step.terms.expect("it has begun");
    ledger.step.terms = Some(Terms { awaits: false, ..terms });
    for client in 0..2 {
        ledger.handle_sending(client, &mut records[client as usize], MS, MS);
    }
    for (client, lost_ns) in [(0, 3 * MS), (1, 5 * MS)] {
        let cause = Cause::Unread;
        ledger.handle_loss(client, &mut records[client as usize], cause, lost_ns);
    }
    assert_eq!(ledger.meter.outstanding.take(9 * MS), 4 * MS, "until the second was lost");
}

#[test]
fn dropped_messages_are_outstanding_no_longer() {
    for (workload, acknowledged) in
        [(Workload::Echo, false), (Workload::Broadcast, false), (Workload::Broadcast, true)]
    {
        let (mut ledger, mut records) = (ledger(workload, 2, None), records(2));
        let terms = ledger.step.terms.expect("it has begun");
        ledger.step.terms = Some(Terms { awaits: false, ..terms });
        let stamps =
            [0, 1].map(|client| ledger.handle_sending(client, &mut records[client as usize], MS, MS).1);
        if acknowledged {
            (ledger.step.sent[0].acknowledged, records[0].unacknowledged) = (true, 0);
            ledger.meter.outstanding.remove(1, 2 * MS);
        }
        let dropped = RequestOutcome::Dropped;
        ledger.handle_request_outcome(0, &mut records[0], 0, stamps[0], dropped, 3 * MS);
        let cause = Cause::Unread;
        for (client, lost_ns) in [(0, 4 * MS), (1, 5 * MS)] {
            ledger.handle_loss(client, &mut records[client as usize], cause, lost_ns);
        }
        assert_eq!(ledger.meter.outstanding.take(9 * MS), 4 * MS, "the other's answer, until its loss");
        assert_eq!(ledger.meter.abandoned.answers, 2);
    }
}

#[test]
fn clients_lost_before_the_load_are_no_receivers() {
    for (has_churn, expected) in [(false, 1), (true, 0)] {
        let (mut ledger, mut records) = (ledger(Workload::Broadcast, 4, None), records(4));
        let terms = Terms { has_churn, ..ledger.step.terms.expect("it has begun") };
        ledger.start_step(ledger.step.order, 4);
        let mut lose = |ledger: &mut Ledger, client: u32| {
            let cause = Cause::Unread;
            ledger.handle_loss(client, &mut records[client as usize], cause, MS);
        };
        lose(&mut ledger, 3);
        ledger.handle_grown();
        lose(&mut ledger, 2);
        ledger.start_load(terms, &[0, 1], vec![0, 1]);
        lose(&mut ledger, 1);
        let abandoned = ledger.meter.abandoned;
        assert_eq!((abandoned.absent, abandoned.receivers), (expected, expected), "{has_churn}");
    }
}

#[test]
fn unpublished_broadcasts_are_abandoned_whole() {
    let (mut ledger, mut records) = (ledger(Workload::Broadcast, 3, None), records(3));
    let (_, stamp) = ledger.handle_sending(1, &mut records[1], MS, MS);
    ledger.handle_unsaid(1, &mut records[1], stamp, 2 * MS);
    let abandoned = ledger.meter.abandoned;
    assert_eq!((abandoned.messages, abandoned.due, abandoned.answers), (1, ledger.meter.due, 0));
    assert_eq!(ledger.meter.due, 3);
    close(&mut ledger, &mut records, |_, _| None, 3 * MS);
    ledger.handle_unsaid(1, &mut records[1], stamp, 4 * MS);
    assert_eq!(ledger.meter.abandoned.messages, 1, "one of an earlier step is in no book");
}

#[test]
fn withdrawn_messages_are_in_no_book() {
    let (mut ledger, mut records) = (ledger(Workload::Broadcast, 1, None), records(1));
    let (number, _) = ledger.handle_sending(0, &mut records[0], MS, MS);
    ledger.take_back(0, &mut records[0], MS, MS);
    let settled = close(&mut ledger, &mut records, |_, _| None, 2 * MS);
    assert_eq!((number, settled.unanswered, settled.sent.len()), (0, 0, 0));
    assert_eq!((ledger.step.messages_sent, ledger.meter.errors.get("unsent").unwrap().count), (0, 1));
}

#[test]
fn withdrawn_unanswered_messages_free_no_slot() {
    let (mut ledger, mut records) = (ledger(Workload::Broadcast, 1, None), records(1));
    ledger.acks = Acks::all(false);
    ledger.local_rooms = LocalRooms::new(Arc::new(Rooms::default().to_others()), ALONE);
    records[0].awaiting.push(MS, 1);
    ledger.handle_sending(0, &mut records[0], MS, MS);
    ledger.take_back(0, &mut records[0], MS, MS);
    assert_eq!(records[0].awaiting.iter().collect::<Vec<_>>(), [MS], "another message's");
}

#[test]
fn connections_that_answered_before_are_slow() {
    const S: u64 = 1_000 * MS;
    let (mut ledger, mut records) = (ledger(Workload::Broadcast, 2, None), records(2));
    let mut broadcast = |ledger: &mut Ledger| {
        ledger.handle_sending(0, &mut records[0], MS, MS);
        let (member, origin) = (
            ledger.local_rooms.kind_of_rooms(0).member(1, 0),
            Origin { worker: 0, client: 0, kind: 0, room: 0, number: 0, sent_ns: MS, due: 2, is_away: false },
        );
        ledger.step.broadcasts.handle(origin, member, 2 * MS, || stats::Timed::Delivery);
    };
    broadcast(&mut ledger);
    assert_eq!((ledger.unheeded(4 * S), ledger.unheeded(6 * S)), (None, Some(0)));
    let mut leaver = Record { state: State::Usable, ..Record::default() };
    ledger.handle_sending(1, &mut leaver, MS, MS);
    ledger.handle_parting(1, &mut leaver, 2 * MS);
    assert_eq!(ledger.unheeded(6 * S), Some(0), "who leaves without an answer has had none");
    ledger.step.sent[0].acknowledged = true;
    assert_eq!(ledger.unheeded(6 * S), None);
    let order = ledger.step.order;
    ledger.start_step(order, 2);
    broadcast(&mut ledger);
    assert_eq!(ledger.unheeded(6 * S), None);
}

#[test]
fn slow_clients_return_from_a_storm_once() {
    let mut ledger = ledger(Workload::Echo, 1, Some(10 * MS));
    let mut record = Record { state: State::Usable, is_slow: true, ..Record::default() };
    ledger.slow = 1;
    ledger.handle_storm_loss(0, &mut record, 10 * MS);
    assert_eq!((ledger.usable, ledger.slow), (0, 0));
    ledger.handle_usable(0, &mut record, 15 * MS);
    assert_eq!((ledger.usable, ledger.slow), (1, 1));
}
