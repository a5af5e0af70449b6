//! The receivers that broadcasts were due to, and when each was complete.
//!
//! A copy is due to every client of the sender's room that was there when it was sent: no worker alone knows
//! which were. How many a room has is arithmetic; workers tell which were missing, and when. What a client
//! that left in mid-step had not got by then is neither received nor missing: it is in flight for ever. One
//! connection keeps order, so what it had not got are the broadcasts sent last before it left. What was sent
//! while a client was away that comes back has an account of its own.

mod away;
mod due;
mod membership;
mod presence;
mod room_index;
mod said;

use std::collections::{HashMap, HashSet};

use engine::Settled;
use load::Rooms;
use stats::Histogram;

use away::Away;
pub(crate) use due::Due;
use due::{apart_of_roles, apart_of_says};
use membership::MembershipTimeline;
use presence::presence;
pub(crate) use room_index::People;
use room_index::{BroadcastId, RoomIndex};
use said::{Said, all_sent, arrived};

use crate::ending::Ending;

/// The broadcasts of a step by all workers' books.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    /// Copies due, altogether.
    pub(crate) due: Due,
    /// Copies due by kind of messages.
    pub(crate) of_says: Vec<Due>,
    /// Copies due by the receivers' role; empty without roles.
    pub(crate) of_roles: Vec<Due>,
    /// Copies due to clients that were away, counted apart.
    pub(crate) away: Away,
    /// Announcements of newcomers: due, and heard.
    pub(crate) presence: (u64, u64),
    /// Times of sending of broadcasts that no client got and that the server may never have had: their
    /// senders' connections ended under them. They were due to no client.
    pub(crate) unheard_ns: Vec<u64>,
    /// Intended send → last receiver; a broadcast that is not complete counts with the time that has passed.
    pub(crate) completion: Histogram,
}

impl Audience {
    /// Adds up the books that were to be closed at `now_ns`; some worker may have sent a little longer.
    /// Clients that were away when a step was cut short would have come back.
    pub(crate) fn of(people: &People, books: &[Settled], now_ns: u64, ending: Ending) -> Self {
        // Otherwise a broadcast sent after `now_ns` would have waited for less than no time.
        let closed_ns = books.iter().map(|settled| settled.delta.at_ns).fold(now_ns, u64::max);
        let arrived = arrived(books.iter().flat_map(|settled| &settled.tallies));
        // Cut off, and never received: the bytes may have died with the connection, so nothing can be held
        // against the server. One copy proves the opposite.
        // So is a publication that the application refused: it is among the failed requests, and nothing to
        // send again.
        let unheard: HashSet<BroadcastId> = all_sent(books)
            .filter(|(id, sent)| (sent.is_cut_off || sent.is_refused) && !arrived.contains_key(id))
            .map(|(id, _)| id)
            .collect();
        let room_index = RoomIndex::of(people, books);
        let unheard_ns = all_sent(books)
            .filter(|(id, sent)| unheard.contains(id) && !sent.is_refused)
            .map(|(_, sent)| sent.sent_ns)
            .collect();
        let said = Said::of(&room_index, books, &unheard);
        let (lacking, away) = (lacking(&said, books), Away::of(&said, books, ending));
        let mut of_says = apart_of_says(&room_index, &lacking, &away, books);
        let mut of_roles = apart_of_roles(&room_index, &said, books, ending);
        let absent = absent(&people.rooms, books);
        let membership = MembershipTimeline::of(&room_index, books);
        let presence = presence(&membership, books);
        let mut audience = Self { away, unheard_ns, presence, ..Self::default() };
        for (id, sent) in all_sent(books).filter(|(id, _)| !unheard.contains(id)) {
            let (kind, say) = (room_index.kind_of(id), room_index.say_of(id));
            let present = membership.at(say.room, sent.client, sent.sent_ns);
            let is_away =
                |times: &Vec<(u64, u64)>| times.iter().any(|&(from, to)| (from..to).contains(&sent.sent_ns));
            // A sender that has lost its connection since, or left the room, is not counted among the members
            // that are here.
            let counts_itself = !sent.is_outside && !absent.get(&sent.client).is_some_and(is_away);
            let due = if counts_itself { say.hearers(present) } else { present };
            let of_roles_there = membership.of_roles_at(say.room, sent.client, sent.sent_ns);
            for (role, (of_role, there)) in of_roles.iter_mut().zip(of_roles_there).enumerate() {
                let has_sender = counts_itself && role == room_index.role_of(sent.client);
                of_role.copies += u64::from(if has_sender { say.hearers(there) } else { there });
            }
            let (received, last_ns) = arrived.get(&id).copied().unwrap_or_default();
            // A broadcast is complete without clients that left before it came to them.
            let to_come = due.saturating_sub(lacking.get(&id).copied().unwrap_or(0));
            of_says[kind].copies += u64::from(due);
            let is_complete = received >= to_come && last_ns > 0;
            // A broadcast that was due to no client has nothing to complete.
            if due > 0 || is_complete {
                let end_ns = if is_complete { last_ns } else { closed_ns };
                audience.completion.record_ns(end_ns.saturating_sub(sent.intended_ns));
            }
        }
        for of_say in &of_says {
            audience.due.copies += of_say.copies;
            audience.due.left_behind += of_say.left_behind;
        }
        Self { of_says, of_roles, ..audience }
    }
}

/// When each client was away, where senders do not hear themselves.
fn absent(rooms: &Rooms, books: &[Settled]) -> HashMap<u32, Vec<(u64, u64)>> {
    let mut absent: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    let all_hear_themselves = rooms.says().iter().all(load::SayKind::hears_itself);
    // It is not asked then, and the list may be as long as the run has absences.
    let books = if all_hear_themselves { &[] } else { books };
    for absence in books.iter().flat_map(|settled| &settled.absences) {
        absent.entry(absence.client).or_default().push((absence.from_ns, absence.to_ns));
    }
    absent
}

/// How many of the clients that left lack each broadcast.
fn lacking(said: &Said<'_>, books: &[Settled]) -> HashMap<BroadcastId, u32> {
    let mut lacking = HashMap::new();
    for departure in books.iter().flat_map(|settled| &settled.departures) {
        let due = said.to(departure.client, departure.from_ns, departure.to_ns);
        // One connection keeps order: what it had got are the first that were due to it.
        for (id, _) in due.skip(departure.received as usize) {
            *lacking.entry(id).or_insert(0) += 1;
        }
    }
    lacking
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use app::people::Division;
    use engine::{BroadcastTally, Departure, SentBroadcast};

    use super::*;

    /// All clients in one room.
    fn together(clients: u32, workers: u16) -> People {
        People { rooms: Arc::default(), step: 0, clients, workers }
    }

    /// Books of a worker whose clients come and go by `changes`, all in room 0.
    fn books(worker: u16, changes: &[(u64, i32)], sent: &[u64], tallies: &[BroadcastTally]) -> Settled {
        let sent = sent
            .iter()
            .map(|&ns| SentBroadcast { client: 0, intended_ns: ns, sent_ns: ns, ..SentBroadcast::default() })
            .collect();
        let change = |&(at_ns, change): &(u64, i32)| engine::Attendance {
            at_ns,
            place: engine::RoomPlace::default(),
            change,
        };
        let (tallies, attendance) = (tallies.to_vec(), changes.iter().map(change).collect());
        Settled { worker, sent, tallies, attendance, ..Settled::default() }
    }

    fn tally(worker: u16, number: u32, received: u32, last_ns: u64) -> BroadcastTally {
        BroadcastTally { worker, client: 0, number, received, last_ns }
    }

    #[test]
    fn copies_are_due_to_everyone_present() {
        let sender = books(0, &[(250, -1)], &[200, 300], &[tally(0, 0, 3, 210), tally(0, 1, 2, 310)]);
        let other = books(1, &[], &[], &[tally(0, 0, 2, 260), tally(0, 1, 1, 320)]);
        let audience = Audience::of(&together(5, 2), &[sender, other], 1_000, Ending::Complete);
        assert_eq!((audience.due.copies, audience.due.left_behind), (9, 0));
        assert_eq!(audience.completion.count(), 2);
        assert_eq!(audience.completion.min_ns(), 60, "the other worker's last copy");
        assert_eq!(audience.completion.max_ns(), 700, "incomplete: charged until the end");
    }

    #[test]
    fn broadcasts_are_charged_until_the_books_close() {
        let mut settled = books(0, &[], &[900, 1_200], &[]);
        settled.delta.at_ns = 1_500;
        let completion = Audience::of(&together(2, 1), &[settled], 1_000, Ending::Complete).completion;
        assert_eq!((completion.min_ns(), completion.max_ns()), (300, 600));
    }

    #[test]
    fn leaving_clients_lack_the_latest_broadcasts() {
        // Of three broadcasts sent while it was there, the client that left at 350 had got one.
        let mut settled = books(
            0,
            &[(350, -1)],
            &[100, 200, 300, 400],
            &[tally(0, 0, 2, 120), tally(0, 1, 1, 220), tally(0, 2, 1, 320), tally(0, 3, 1, 420)],
        );
        settled.departures.push(Departure { client: 1, from_ns: 50, to_ns: 350, received: 1 });
        let audience = Audience::of(&together(2, 1), &[settled], 1_000, Ending::Complete);
        assert_eq!((audience.due.copies, audience.due.left_behind), (7, 2));
        assert_eq!(audience.completion.max_ns(), 20, "complete without those who left");
    }

    #[test]
    fn absent_clients_have_an_account_of_their_own() {
        // Client 1 lost its connection at 380, and was back at 550. Of the broadcasts that count as sent in
        // its absence, it had got the one sent at 300 before, got the one sent at 500 when it was back, and
        // never got the two between them.
        let mut settled = books(
            0,
            &[(300, -1), (550, 1)],
            &[100, 200, 300, 350, 400, 500, 600],
            &[0, 1, 2, 3, 4, 5, 6].map(|n| tally(0, n, if (2..6).contains(&n) { 1 } else { 2 }, 700)),
        );
        let absence = engine::Absence {
            client: 1,
            from_ns: 300,
            cut_ns: 380,
            to_ns: 550,
            cut: Some(load::Cut::Reset),
            had: 1,
            recovered: 1,
            is_under_load: true,
        };
        settled.absences.push(absence);
        settled.had_of_says = vec![1];
        settled.recovered_by_age = vec![1];
        let audience = Audience::of(&together(2, 1), &[settled.clone()], 1_000, Ending::Complete);
        assert_eq!((audience.due.copies, audience.of_says[0].offline, audience.away.due), (7 + 3 + 1, 3, 3));
        assert_eq!(audience.completion.max_ns(), 600, "complete without who was away");
        let row = results::Absences {
            ended_by: "reset".into(),
            up_to_ns: Some(100_000_000),
            count: 1,
            not_back: 0,
            due: 3,
            recovered: 1,
            due_squares: 9,
            recovered_squares: 1,
            due_by_recovered: 3,
        };
        assert_eq!(audience.away.absences, [row]);
        let ages = results::Ages { up_to_ns: Some(100_000_000), due: 3, recovered: 1 };
        assert_eq!(audience.away.ages, [ages]);
        // The messages are client 0's: to others, nothing changes but that it is not counted.
        let others = People { rooms: Rooms::default().to_others().into(), ..together(2, 1) };
        let audience = Audience::of(&others, &[settled], 1_000, Ending::Complete);
        assert_eq!((audience.due.copies, audience.away.due), (3 + 1, 3));
    }

    #[test]
    fn refused_publications_are_due_to_nobody() {
        // Client 1 is away from 250 on; the application refused the broadcasts at 200 and 300, and one copy of
        // the second came all the same.
        let mut settled =
            books(0, &[(250, -1)], &[100, 200, 300, 400], &[tally(0, 0, 2, 110), tally(0, 2, 1, 310)]);
        settled.sent[1].is_refused = true;
        settled.sent[2].is_refused = true;
        let due = |settled: &Settled| {
            let audience =
                Audience::of(&together(2, 1), std::slice::from_ref(settled), 1_000, Ending::Complete);
            (audience.due.copies, audience.away.due, audience.unheard_ns.len())
        };
        assert_eq!(due(&settled), (2 + 1 + 1, 0, 0), "but for the one that nobody got");
        settled.absences.push(engine::Absence {
            client: 1,
            from_ns: 250,
            cut_ns: 250,
            to_ns: u64::MAX,
            cut: Some(load::Cut::Reset),
            had: 0,
            recovered: 0,
            is_under_load: false,
        });
        assert_eq!(due(&settled), (2 + 1 + 1, 2, 0));
    }

    #[test]
    fn interrupted_absences_lose_nothing() {
        // Client 1 lost its connection at 380, and had one of what was sent since 300.
        let mut settled = books(0, &[(300, -1)], &[100, 300, 350, 400], &[tally(0, 0, 2, 110)]);
        settled.absences.push(engine::Absence {
            client: 1,
            from_ns: 300,
            cut_ns: 380,
            to_ns: u64::MAX,
            cut: Some(load::Cut::Reset),
            had: 1,
            recovered: 0,
            is_under_load: false,
        });
        settled.had_of_says = vec![1];
        let account = |ending| {
            let books = std::slice::from_ref(&settled);
            let Audience { due, of_says, away, .. } = Audience::of(&together(2, 1), books, 1_000, ending);
            (due.copies, of_says[0].offline, away.due, away.absences.len())
        };
        assert_eq!(account(Ending::Complete), (2 + 3 + 1, 2, 2, 1));
        assert_eq!(account(Ending::CutShort), (2 + 3 + 1, 0, 0, 0));
    }

    #[test]
    fn members_hear_of_admitted_newcomers_alone() {
        // Of four, two are in the room; client 2 comes in at 200, client 3 at 300, and a member leaves
        // between.
        let come = |client, sent_ns, is_void| engine::Announced { client, kind: 0, sent_ns, is_void };
        let mut settled = books(0, &[(0, -2), (210, 1), (250, -1), (310, 1)], &[], &[]);
        settled.announced = vec![come(2, 200, false), come(3, 300, false), come(3, 290, true)];
        settled.heard = vec![tally(0, 0, 2, 220), tally(0, 1, 1, 330), tally(0, 2, 1, 330)];
        let presence =
            |settled: Settled| Audience::of(&together(4, 1), &[settled], 1_000, Ending::Complete).presence;
        assert_eq!(presence(settled.clone()), (2 + 2, 2 + 1));
        // The slowest announcement took 30: a member that left then had heard, or would have.
        settled.attendance.push(engine::Attendance { at_ns: 330, ..settled.attendance[2] });
        assert_eq!(presence(settled.clone()), (2 + 1, 2 + 1));
        settled.heard.clear();
        assert_eq!(presence(settled), (4, 0));
    }

    #[test]
    fn broadcasts_without_receivers_do_not_complete() {
        // Both clients had the one sent at 100 before their connections ended, which counts as sent while
        // they were away.
        let excused = BroadcastTally { worker: 0, client: 0, number: 0, received: 0, last_ns: 130 };
        let settled = books(0, &[(50, -2), (900, 2)], &[100, 500], &[excused]);
        let audience = Audience::of(&together(2, 1), &[settled], 1_000, Ending::Complete);
        let completion = &audience.completion;
        assert_eq!((audience.due.copies, completion.count(), completion.max_ns()), (0, 1, 30));
    }

    #[test]
    fn copies_are_due_to_present_members() {
        // Seven users in rooms of three at two workers: 0 2 4 6 and 1 3 5. The first of room 1 is missing
        // from the start, and the only one in room 2 comes back.
        let rooms = Rooms::of(Division::of_size(3.try_into().unwrap()));
        let people = People { rooms: rooms.clone().into(), step: 0, clients: 7, workers: 2 };
        let sent =
            |client, ns| SentBroadcast { client, intended_ns: ns, sent_ns: ns, ..SentBroadcast::default() };
        let change = |at_ns, room, change| {
            let place = engine::RoomPlace { room, ..engine::RoomPlace::default() };
            engine::Attendance { at_ns, place, change }
        };
        let even = Settled {
            worker: 0,
            sent: vec![sent(2, 100), sent(4, 100), sent(6, 300)],
            tallies: vec![tally(0, 0, 2, 110), tally(0, 1, 1, 130), tally(0, 2, 1, 310)],
            attendance: vec![change(0, 2, -1), change(250, 2, 1)],
            ..Settled::default()
        };
        let odd = Settled {
            worker: 1,
            tallies: vec![tally(0, 0, 1, 115), tally(0, 1, 1, 120)],
            attendance: vec![change(0, 1, -1)],
            ..Settled::default()
        };
        let audience = Audience::of(&people, &[even.clone(), odd], 1_000, Ending::Complete);
        assert_eq!(audience.due.copies, 3 + 2 + 1);
        assert_eq!((audience.completion.min_ns(), audience.completion.max_ns()), (10, 30));
        let others = People { rooms: rooms.to_others().into(), ..people.clone() };
        assert_eq!(Audience::of(&others, std::slice::from_ref(&even), 1_000, Ending::Complete).due.copies, 1);
        let lost = Audience::of(&people, &[even], 1_000, Ending::Complete);
        assert_eq!(lost.due.copies, 2 + 1 + 1, "the people of a lost worker are nobody's");
    }
}
