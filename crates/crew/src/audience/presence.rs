//! Announcements of newcomers: due, and heard.

use engine::{Announced, Settled};

use super::membership::MembershipTimeline;
use super::room_index::BroadcastId;
use super::said::arrived;

/// How many members were to hear of newcomers to their rooms, and how many did. Newcomers are not there yet
/// when they ask; and a member that left before the slowest announcement of the step would have come has
/// missed nothing.
pub(super) fn presence(membership: &MembershipTimeline<'_>, books: &[Settled]) -> (u64, u64) {
    let heard = arrived(books.iter().flat_map(|settled| &settled.heard));
    let mut news: Vec<(Announced, u32, u64)> = Vec::new();
    for Settled { worker, announced, .. } in books {
        for (number, &announced) in (0..).zip(announced).filter(|(_, announced)| !announced.is_void) {
            let (here, last_ns) =
                heard.get(&BroadcastId { worker: *worker, number }).copied().unwrap_or_default();
            news.push((announced, here, last_ns.saturating_sub(announced.sent_ns)));
        }
    }
    // How long an announcement may take at this server: a member that left within that time of one may have
    // missed it by leaving.
    let slowest_ns = news.iter().map(|&(.., late_ns)| late_ns).max().unwrap_or(0);
    let (mut due, mut seen) = (0, 0);
    for (Announced { client, kind, sent_ns, .. }, heard, _) in news {
        let here = membership.at(kind, client, sent_ns);
        let have_heard = heard.min(here);
        let have_left = membership.leavers(kind, client, sent_ns, sent_ns.saturating_add(slowest_ns));
        // Of the members that left, only as many are excused as have not heard: the others prove that it
        // came.
        due += u64::from(here - have_left.min(here - have_heard));
        seen += u64::from(have_heard);
    }
    (due, seen)
}
