//! How the books of a step are closed: whatever is still open is charged, and what remains is reported.

use std::collections::HashMap;
use std::iter;

use load::Segment;
use stats::Count;

use crate::books::broadcasts::SenderTally;
use crate::books::ledger::Ledger;
use crate::books::record::{Record, State};
use crate::books::taken::TakenMessage;
use crate::messages::Settled;

/// Messages without a copy from which on a client counts as deaf.
const DEAF_TO_MIN: usize = 10;

/// Closes the books of the step: all that the crew needs to know of it, except the last delta, which is the
/// caller's to take. `due_ns` says when a message was due, by its sender's place among the senders and its
/// number, where that is known without having been kept.
pub(crate) fn close<C: AsMut<Record>>(
    ledger: &mut Ledger,
    clients: &mut [C],
    due_ns: impl Fn(usize, u32) -> Option<u64>,
    now_ns: u64,
) -> Settled {
    charge_lost(ledger, clients, now_ns);
    // Before the announcements are handed over below: announcements of visitors that were not let in become
    // void here.
    ledger.close_joins(now_ns);
    ledger.meter.counts.not_back += ledger.step.absences.open();
    ledger.mark_outside();
    count_taken(ledger, clients, now_ns);
    count_unanswered(ledger, clients, now_ns);
    name_deaf(ledger, clients, now_ns);
    let unanswered = charge_unanswered(ledger, clients, due_ns, now_ns);
    // Behind what is charged: an answer whose first event came is in the account by that.
    count_unended(ledger, clients, now_ns);
    let sent = ledger.step.sent.iter().map(|sent| sent.times).collect();
    let step = &mut ledger.step;
    // From here on every sequence number of the step counts as of an earlier one.
    step.is_settled = true;
    let (absences, recovered_by_age) = step.absences.finish();
    // An absence begins before it is noted.
    step.attendance.sort_by_key(|change| change.at_ns);
    Settled {
        worker: ledger.segment.worker,
        unanswered,
        sent,
        tallies: step.broadcasts.finish(),
        attendance: std::mem::take(&mut step.attendance),
        departures: std::mem::take(&mut step.departures),
        announced: step.announcements.take_made(),
        heard: step.announcements.heard.finish(),
        absences,
        had_of_says: std::mem::take(&mut step.had_of_says),
        recovered_by_age,
        ..Settled::default()
    }
}

/// Charges clients that are not back by the end with the whole time of the storm: in a rolling restart, a
/// client that was lost last would otherwise look like one that was back first.
fn charge_lost<C: AsMut<Record>>(ledger: &mut Ledger, clients: &mut [C], now_ns: u64) {
    let Some(terms) = &mut ledger.step.terms else { return };
    // No client comes back to a step that is over.
    (terms.has_churn, terms.is_flapping) = (false, false);
    let Some(storm_ns) = terms.storm_ns.take() else { return };
    for client in clients {
        let lost_ns = std::mem::take(&mut client.as_mut().lost_ns);
        if lost_ns != 0 {
            let since_ns = lost_ns.min(storm_ns);
            ledger.meter.figures.recovery.record_ns(now_ns.saturating_sub(since_ns));
            ledger.meter.counts.not_back += 1;
        }
    }
}

/// Counts the answers that are still coming in pieces. The answer of a client that is gone, or back since,
/// has broken off.
fn count_unended<C: AsMut<Record>>(ledger: &mut Ledger, clients: &mut [C], now_ns: u64) {
    while let Some((client, request, begun_ns)) = ledger.streams.first() {
        let record = clients[client as usize].as_mut();
        if record.state == State::Usable && record.since_ns <= begun_ns {
            ledger.streams.finish(client, request, &mut ledger.meter);
            ledger.meter.counts.unended += 1;
        } else {
            ledger.handle_broken_off(client, request, now_ns);
        }
    }
}

/// Counts the messages that are missing, and that rules of the app's file took for something else.
fn count_taken<C: AsMut<Record>>(ledger: &mut Ledger, clients: &mut [C], now_ns: u64) {
    for (rule, of_rule) in std::mem::take(&mut ledger.step.taken).into_rules() {
        let lacking = |taken: TakenMessage| match clients.get_mut(taken.client as usize) {
            Some(client) => ledger.lacking(client.as_mut(), taken, now_ns),
            None => 0,
        };
        if let Some(missing) = of_rule.missing(lacking) {
            ledger.meter.count_taken(rule, missing);
        }
    }
}

/// Counts the broadcasts whose acknowledgement the server still owes, and those that their senders lack.
fn count_unanswered<C: AsMut<Record>>(ledger: &mut Ledger, clients: &mut [C], now_ns: u64) {
    let sent = std::mem::take(&mut ledger.step.sent);
    for (number, message) in (0..).zip(&sent) {
        let record = clients[message.client as usize].as_mut();
        let kind = ledger.kind_of(message.client, number);
        if ledger.is_owed(message, number, record) {
            ledger.count(Count::Unacknowledged, kind, message.client);
        }
        if ledger.lacks_own(message, number, record, now_ns) {
            ledger.count(Count::MissingOwn, kind, message.client);
        }
    }
    ledger.step.sent = sent;
}

/// Names the clients that got no copy although others of their rooms got theirs: otherwise a server with one
/// deaf receiver would pass for one that leaves out senders. Their own messages do not count, because a sender
/// need not get its own copy.
fn name_deaf<C: AsMut<Record>>(ledger: &mut Ledger, clients: &mut [C], now_ns: u64) {
    let Some(begin_ns) = ledger.step.terms.as_ref().map(|terms| terms.begin_ns) else { return };
    let rooms = ledger.local_rooms.rooms();
    // Visitors, and users of a role, need not be in each of their rooms.
    if ledger.memberships.is_some() || !rooms.is_one() && !rooms.roles().is_empty() {
        return;
    }
    let (mut silent, mut hearing) = (Vec::new(), 0);
    for (index, client) in (0..).zip(clients) {
        let record = client.as_mut();
        let was_there = record.state == State::Usable && record.since_ns <= begin_ns && !record.is_slow;
        match record.copies {
            0 if was_there => silent.push(index),
            0 => {}
            _ => hearing += 1,
        }
    }
    if silent.is_empty() {
        return;
    }
    let heard = HeardMessages::of(ledger);
    silent.retain(|&index| heard.due_to(ledger, index) >= DEAF_TO_MIN);
    // If most hear nothing, the server sends nothing, and no client is to be singled out.
    for index in silent.iter().copied().filter(|_| silent.len() < hearing) {
        ledger.meter.error(stats::error_kind::NO_COPIES, index, now_ns, || {
            format!("client {} got none of the copies due to it", ledger.segment.number(index))
        });
    }
}

/// Messages that came to any client here, whichever worker sent them: most members of a small room may be at
/// others.
#[derive(Default)]
struct HeardMessages {
    /// By kind of rooms and room.
    in_rooms: HashMap<(u16, u32), usize>,
    /// By sender here.
    of_senders: HashMap<u32, usize>,
}

impl HeardMessages {
    fn of(ledger: &Ledger) -> Self {
        let mut heard = HeardMessages::default();
        for SenderTally { worker, client, kind, messages } in ledger.step.broadcasts.by_sender() {
            let kind = ledger.local_rooms.say(kind.into()).room;
            let sender = Segment { worker, ..ledger.segment }.number(client);
            let room = ledger.local_rooms.local_kinds()[usize::from(kind)].room(sender);
            *heard.in_rooms.entry((kind, room)).or_default() += messages;
            if worker == ledger.segment.worker {
                *heard.of_senders.entry(client).or_default() += messages;
            }
        }
        heard
    }

    /// How many of them others have said in the rooms of a client.
    fn due_to(&self, ledger: &Ledger, client: u32) -> usize {
        let number = ledger.segment.number(client);
        let kinds = (0..).zip(ledger.local_rooms.local_kinds());
        let in_room = kinds.filter_map(|(kind, local)| self.in_rooms.get(&(kind, local.room(number))));
        in_room.sum::<usize>() - self.of_senders.get(&client).unwrap_or(&0)
    }
}

/// Charges messages without an answer with the time until now, so that they never drop out of the
/// distribution.
fn charge_unanswered<C: AsMut<Record>>(
    ledger: &mut Ledger,
    clients: &mut [C],
    due_ns: impl Fn(usize, u32) -> Option<u64>,
    now_ns: u64,
) -> u64 {
    // What is awaited no more was charged when it was given up.
    let awaits = ledger.step.awaits();
    let mut unanswered = 0;
    let mut charge = |ledger: &mut Ledger, index: u32, number: u32, since_ns: Option<u64>| {
        unanswered += 1;
        if let Some(since_ns) = since_ns {
            let late_ns = now_ns.saturating_sub(since_ns);
            let kind = ledger.kind_of(index, number);
            let sender = ledger.segment.number(index);
            ledger.charge(index, kind, late_ns, now_ns, |entry| entry.message(sender, number));
        }
    };
    let sent = std::mem::take(&mut ledger.step.sent);
    for (number, sent) in (0..).zip(&sent).filter(|(_, sent)| !sent.acknowledged && !sent.is_excused) {
        let due_ns = sent.times.intended_ns;
        let record = clients[sent.client as usize].as_mut();
        let is_charged = sent.is_given_up || awaits && record.awaiting.remove(due_ns, 1) == 0;
        charge(ledger, sent.client, number, (!is_charged).then_some(due_ns));
    }
    ledger.step.sent = sent;
    let senders = std::mem::take(&mut ledger.step.senders);
    for (place, &index) in senders.iter().enumerate() {
        let record = clients[index as usize].as_mut();
        // Charged now, once: a client that loses its connection before the next step is not charged again
        // there.
        let awaiting = std::mem::take(&mut record.awaiting);
        // Both are in the order of sending, and what was given up before is missing and not awaited: the
        // newest are.
        let given_up = record.echoes.missing().count().saturating_sub(awaiting.iter().count());
        let mut awaited = iter::repeat_n(None, given_up).chain(awaiting.iter().map(Some));
        for number in record.echoes.missing() {
            let since_ns = awaited.next().flatten();
            charge(ledger, index, number, due_ns(place, number).or(since_ns));
        }
    }
    unanswered
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use codec::Stamp;
    use load::{Load, LocalRooms, RoomKind, Rooms, SayKind, StepOrder, Workload};
    use wire::people::Division;
    use wire::{Acks, Event, RequestOutcome, Role};

    use super::*;
    use crate::books::booking::Booking;
    use crate::books::broadcasts::Origin;
    use crate::books::ledger::LedgerOptions;
    use crate::books::meter::{Meter, Secrets};
    use crate::books::record::State;
    use crate::books::step::Terms;
    use crate::books::streamed::Streams;

    const ALONE: Segment = Segment { worker: 0, workers: 1 };
    const MS: u64 = 1_000_000;

    impl AsMut<Record> for Record {
        fn as_mut(&mut self) -> &mut Record {
            self
        }
    }

    pub(crate) fn ledger(workload: Workload, clients: u32, storm_ns: Option<u64>) -> Ledger {
        ledger_in(Rooms::default(), workload, clients, storm_ns)
    }

    fn ledger_in(rooms: Rooms, workload: Workload, clients: u32, storm_ns: Option<u64>) -> Ledger {
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

    fn records(clients: u32) -> Vec<Record> {
        (0..clients).map(|_| Record { state: State::Usable, ..Record::default() }).collect()
    }

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
    fn lost_clients_leave_nothing_outstanding() {
        let (mut ledger, mut records) = (ledger(Workload::Echo, 2, None), records(2));
        let terms = ledger.step.terms.expect("it has begun");
        ledger.step.terms = Some(Terms { awaits: false, ..terms });
        for client in 0..2 {
            ledger.handle_sending(client, &mut records[client as usize], MS, MS);
        }
        for (client, lost_ns) in [(0, 3 * MS), (1, 5 * MS)] {
            let cause = crate::books::cause::Cause::Unread;
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
            let cause = crate::books::cause::Cause::Unread;
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
                let cause = crate::books::cause::Cause::Unread;
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
            let since_ns = records[0].awaiting.give_up(2 * MS).expect("it is awaited");
            ledger.give_up(0, since_ns, 3 * MS);
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
        ledger.streams = Streams::new(3);
        for client in 0..3 {
            let record = &mut records[client as usize];
            let (_, stamp) = ledger.handle_sending(client, record, MS, MS);
            ledger.streams.begin(client, stamp, 0, 2 * MS);
        }
        (records[0].since_ns, records[1].since_ns, records[2].state) = (2 * MS, 3 * MS, State::Vacant);
        close(&mut ledger, &mut records, |_, _| None, 5 * MS);
        assert_eq!((ledger.meter.counts.unended, ledger.meter.counts.broken_off), (1, 2));
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
    fn connections_that_answered_before_are_slow() {
        const S: u64 = 1_000 * MS;
        let (mut ledger, mut records) = (ledger(Workload::Broadcast, 2, None), records(2));
        let mut broadcast = |ledger: &mut Ledger| {
            ledger.handle_sending(0, &mut records[0], MS, MS);
            let (member, origin) = (
                ledger.local_rooms.kind_of_rooms(0).member(1, 0),
                Origin {
                    worker: 0,
                    client: 0,
                    kind: 0,
                    room: 0,
                    number: 0,
                    sent_ns: MS,
                    due: 2,
                    is_away: false,
                },
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
}
