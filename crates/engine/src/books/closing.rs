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
    // Before what is owed is counted: a sender that was not in the room is owed nothing.
    ledger.mark_outside();
    count_taken(ledger, clients, now_ns);
    count_unanswered(ledger, clients, now_ns);
    name_deaf(ledger, clients, now_ns);
    let unanswered = charge_unanswered(ledger, clients, due_ns, now_ns);
    note_busy(ledger, clients);
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

/// Notes the clients with a request that has no whole answer.
fn note_busy<C: AsMut<Record>>(ledger: &mut Ledger, clients: &mut [C]) {
    if !ledger.asks {
        return;
    }
    for (index, client) in (0..).zip(clients) {
        if client.as_mut().echoes.missing().next().is_some() {
            ledger.busy.push(index);
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
            ledger.charge(index, kind, late_ns, u64::MAX, now_ns, |entry| entry.message(sender, number));
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
mod tests;
