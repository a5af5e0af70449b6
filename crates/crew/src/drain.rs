//! How long a step drains (METHODOLOGY `missing`): until all is in, every connection that owed something has
//! ended, nothing has come for a while, or time is up.
//!
//! A while is two seconds, and three times the longest answer so far: a slow server is not one that has lost
//! what it was sent. A time that the user gave is waited for in full.
//!
//! The rest to come is known while all agents are there. When one is lost, the echoes to come still are: each
//! returns to the worker that sent it, so the other workers' echoes are held against what those sent. How
//! many broadcasts a lost agent had under way is unknown; there, silence decides.
//!
//! Clients that flap are waited for, and then what they are sent again: how much that is cannot be known.
//!
//! The window of the load ends before: with the schedule; in a closed loop with the last arrival, which is
//! known as such only when nothing has come for a moment, and may turn out not to have been the last.

use std::collections::BTreeMap;

use load::{Draining, Workload};

use crate::merge::{Merge, Participants};

/// Time after which an arrival is known here: deltas come every 10 ms, and the crew looks every 20.
const HEARSAY_NS: u64 = 50_000_000;
/// Multiple of the longest answer so far after which silence counts as quiet.
const LONGEST_ANSWERS: u64 = 3;

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait for reports.
    Wait,
    /// Close the window, which has ended; if it was closed before, that was too early.
    CloseWindow,
    /// The step is drained.
    Over,
}

/// The drain of one step.
pub(crate) struct Drain {
    participants: Participants,
    draining: Draining,
    /// Messages that each worker sent.
    sent: BTreeMap<u16, u64>,
    /// Clients to which broadcasts are due, by worker.
    receivers: BTreeMap<u16, u64>,
    began_ns: u64,
    /// The end at which the window was closed.
    closed_ns: Option<u64>,
    /// True from the poll that closes the window to the next one: reports wait meanwhile, and that is no
    /// quiet.
    is_closing: bool,
    looked_ns: u64,
    /// How many clients were there when last checked, and since when.
    present: (u64, u64),
}

impl Drain {
    /// Begins to drain now that everything is sent.
    pub(crate) fn new(
        participants: Participants,
        draining: Draining,
        sent: BTreeMap<u16, u64>,
        receivers: BTreeMap<u16, u64>,
        now_ns: u64,
    ) -> Self {
        Self {
            participants,
            draining,
            sent,
            receivers,
            began_ns: now_ns,
            closed_ns: None,
            is_closing: false,
            looked_ns: 0,
            present: (0, now_ns),
        }
    }

    /// The action to take now.
    pub(crate) fn poll(&mut self, merge: &Merge, now_ns: u64) -> Next {
        if std::mem::take(&mut self.is_closing) {
            self.looked_ns = now_ns;
        }
        if self.present.0 != merge.usable() {
            self.present = (merge.usable(), now_ns);
        }
        let is_over = self.is_over(merge, now_ns);
        let end_ns = merge.window().end_ns();
        let known_after_ns = if merge.window().ends_with_last_answer() { HEARSAY_NS } else { 0 };
        let has_ended = end_ns.is_some_and(|end_ns| now_ns >= end_ns + known_after_ns);
        // The window is closed before the step is over, and closed again if an arrival behind it has moved
        // its end.
        if (is_over || has_ended) && self.closed_ns != end_ns {
            (self.closed_ns, self.is_closing) = (end_ns, true);
            return Next::CloseWindow;
        }
        if is_over { Next::Over } else { Next::Wait }
    }

    /// Returns whether there is nothing more to wait for.
    fn is_over(&self, merge: &Merge, now_ns: u64) -> bool {
        let (present, present_since_ns) = self.present;
        let news_ns = merge.totals().last_arrival_ns.max(present_since_ns);
        // A client that comes back is news as well, and while the window was being closed nothing was
        // listened to.
        let quiet_ns = now_ns.saturating_sub(news_ns.max(self.began_ns).max(self.looked_ns));
        let is_quiet =
            self.draining.quiet_ns.is_some_and(|least_ns| quiet_ns > least_ns.max(patience_ns(merge)));
        // A client that flaps may be away for that long with everything in order, and is owed the replay
        // after it.
        let time_ns = self.draining.timeout_ns.saturating_add(self.participants.away_ns.unwrap_or(0));
        let may_end = match self.participants.away_ns {
            Some(_) => is_quiet && present >= of_present(merge, &self.receivers),
            None => is_quiet || self.is_all_in(merge),
        };
        may_end || now_ns.saturating_sub(self.began_ns) > time_ns
    }

    fn is_all_in(&self, merge: &Merge) -> bool {
        let (arrived, abandoned) = (merge.arrived_of_present(), merge.abandoned_by_present());
        let sent = of_present(merge, &self.sent).saturating_sub(abandoned.messages);
        match self.participants.workload {
            Workload::Echo => arrived.saturating_add(abandoned.answers) >= sent,
            // The books will tell which clients a message was due to.
            Workload::Broadcast if !self.participants.rooms.visits().is_empty() => false,
            Workload::Broadcast => {
                let gone = abandoned.receivers.saturating_add(abandoned.absent);
                let receivers = of_present(merge, &self.receivers).saturating_sub(gone);
                let due = if self.participants.rooms.is_one() {
                    // A sender that has gone is not among the clients that are left: its messages are due to
                    // all of them.
                    let leaves_out_sender =
                        !self.participants.rooms.says()[0].hears_itself() && abandoned.receivers == 0;
                    let hearers = receivers.saturating_sub(leaves_out_sender.into());
                    abandoned.copies.saturating_add(sent.saturating_mul(hearers))
                } else if receivers == u64::from(merge.clients()) {
                    merge.totals().due.saturating_sub(abandoned.due)
                } else {
                    return false; // whose rooms they are that are not there, their books will tell
                };
                // A lost agent's clients may have sent more than it has reported: what is due to the others
                // is then unknown.
                !merge.has_lost()
                    && arrived >= due
                    && merge.totals().acks.saturating_add(abandoned.answers) >= sent
            }
        }
    }
}

/// Sums over workers whose agents are not lost.
fn of_present(merge: &Merge, of_workers: &BTreeMap<u16, u64>) -> u64 {
    of_workers.iter().filter(|(worker, _)| !merge.is_lost(**worker)).map(|(_, of_worker)| of_worker).sum()
}

/// How long to wait for an answer, by the longest so far.
fn patience_ns(merge: &Merge) -> u64 {
    let figures = &merge.totals().figures;
    LONGEST_ANSWERS * figures.service.max_ns().max(figures.delivery.max_ns()).max(figures.join.max_ns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Abandoned, Delta};
    use std::sync::Arc;

    use load::{Load, Schedule, StepOrder, Until};
    use stats::{Counts, Histogram, Packed};

    const MS: u64 = 1_000_000;

    fn participants(workload: Workload) -> Participants {
        Participants { workload, rooms: Arc::default(), workers: 2, away_ns: None }
    }

    fn merge(workload: Workload) -> Merge {
        let load = Load::Closed { concurrency: 9, per_client: 1, until: Until::Samples(200) };
        let order = StepOrder { index: 0, clients: 4, load, warmup: false };
        let mut merge = Merge::new(participants(workload), order, 0, 0);
        merge.start(0, 100);
        merge
    }

    /// A step of this load whose last message was sent after a second.
    fn loaded(load: Load) -> Merge {
        let order = StepOrder { index: 0, clients: 4, load, warmup: false };
        let mut merge = Merge::new(participants(Workload::Echo), order, 0, 0);
        merge.start(0, 0);
        merge.end_load(1_000 * MS);
        merge
    }

    fn drain(workload: Workload, sent: [(u16, u64); 2]) -> Drain {
        let draining = Draining { quiet_ns: Some(2_000 * MS), timeout_ns: 60_000 * MS };
        Drain::new(
            participants(workload),
            draining,
            BTreeMap::from(sent),
            [(0, 2), (1, 2)].into(),
            1_000 * MS,
        )
    }

    fn delta(worker: u16, sent: u64, received: u64, acks: u64) -> Delta {
        let counts = Counts { sent, received, ..Counts::default() };
        Delta { worker, at_ns: 900 * MS, last_arrival_ns: 890 * MS, counts, acks, ..Delta::default() }
    }

    #[test]
    fn draining_ends_with_the_last_answer_or_quiet() {
        let (mut merge, drain) = (merge(Workload::Echo), drain(Workload::Echo, [(0, 60), (1, 40)]));
        merge.add(&delta(0, 60, 60, 60));
        assert!(!drain.is_over(&merge, 3_000 * MS));
        assert!(drain.is_over(&merge, 3_001 * MS));
        merge.add(&delta(1, 40, 40, 40));
        assert!(drain.is_over(&merge, 1_000 * MS));
    }

    #[test]
    fn given_drain_times_are_waited_in_full() {
        let (mut merge, mut drain) = (merge(Workload::Echo), drain(Workload::Echo, [(0, 60), (1, 40)]));
        let mut slow = delta(0, 60, 60, 60);
        let mut service = Histogram::new();
        service.record_ns(3_000 * MS);
        slow.figures.service = Packed::from(&service);
        merge.add(&slow);
        assert!(!drain.is_over(&merge, 10_000 * MS));
        assert!(drain.is_over(&merge, 10_001 * MS), "three times its longest answer");
        drain.draining.quiet_ns = None;
        assert!(!drain.is_over(&merge, 61_000 * MS));
        assert!(drain.is_over(&merge, 61_001 * MS));
    }

    #[test]
    fn nobody_waits_for_connections_that_have_ended() {
        let abandoned =
            |receivers, copies, answers| Abandoned { receivers, copies, answers, ..Abandoned::default() };
        let (mut echoes, drain_of_echoes) =
            (merge(Workload::Echo), drain(Workload::Echo, [(0, 60), (1, 40)]));
        echoes.add(&Delta { abandoned: abandoned(1, 0, 7), ..delta(0, 60, 52, 52) });
        echoes.add(&Delta { abandoned: abandoned(0, 0, 0), ..delta(1, 40, 40, 40) });
        assert!(!drain_of_echoes.is_over(&echoes, 1_000 * MS), "one is due to a client that is there");
        echoes.add(&delta(0, 0, 1, 1));
        assert!(drain_of_echoes.is_over(&echoes, 1_000 * MS));

        let workload = Workload::Broadcast;
        let (mut merge, drain) = (merge(workload), drain(workload, [(0, 10), (1, 10)]));
        // Of four receivers one has gone with 12 of its 20 copies, and two acknowledgements.
        merge.add(&Delta { abandoned: abandoned(1, 12, 2), ..delta(0, 10, 31, 8) });
        merge.add(&delta(1, 10, 40, 10));
        assert!(!drain.is_over(&merge, 1_000 * MS));
        merge.add(&delta(0, 0, 1, 0));
        assert!(drain.is_over(&merge, 1_000 * MS));
    }

    #[test]
    fn clients_lost_before_the_load_are_not_awaited() {
        let workload = Workload::Broadcast;
        for (rooms, copies) in [(load::Rooms::default(), 3), (load::Rooms::default().to_others(), 2)] {
            let mut drain = drain(workload, [(0, 1), (1, 0)]);
            drain.participants.rooms = Arc::new(rooms);
            let mut merge = merge(workload);
            let abandoned = Abandoned { absent: 1, ..Abandoned::default() };
            merge.add(&Delta { abandoned, ..delta(0, 1, copies - 1, 1) });
            assert!(!drain.is_over(&merge, 1_000 * MS));
            merge.add(&delta(1, 0, 1, 0));
            assert!(drain.is_over(&merge, 1_000 * MS), "{copies} copies");
        }
    }

    #[test]
    fn messages_that_were_never_sent_are_not_awaited() {
        for several in [false, true] {
            let workload = Workload::Broadcast;
            let mut drain = drain(workload, [(0, 10), (1, 10)]);
            drain.draining.quiet_ns = None;
            if several {
                let of_two = app::people::Division::of_size(2.try_into().unwrap());
                drain.participants.rooms = Arc::new(load::Rooms::of(of_two));
            }
            let (mut merge, due) = (merge(workload), if several { 20 } else { 40 });
            merge.add(&Delta { due, ..delta(0, 10, due - 4, 9) });
            merge.add(&Delta { due, ..delta(1, 10, due, 10) });
            assert!(!drain.is_over(&merge, 1_000 * MS));
            let abandoned = Abandoned { messages: 1, due: 4, ..Abandoned::default() };
            merge.add(&Delta { abandoned, ..delta(0, 0, 0, 0) });
            assert!(drain.is_over(&merge, 1_000 * MS), "{several}");
        }
    }

    #[test]
    fn copies_of_a_lost_sender_are_awaited() {
        let workload = Workload::Broadcast;
        let participants =
            Participants { rooms: Arc::new(load::Rooms::default().to_others()), ..participants(workload) };
        let draining = Draining { quiet_ns: Some(2_000 * MS), timeout_ns: 60_000 * MS };
        let receivers = [(0, 2), (1, 1)].into();
        let drain = Drain::new(participants, draining, [(0, 1), (1, 0)].into(), receivers, 1_000 * MS);
        // Of three clients, one has sent a message and gone. A copy is due to both that are left.
        let mut merge = merge(workload);
        let abandoned = Abandoned { receivers: 1, ..Abandoned::default() };
        merge.add(&Delta { abandoned, ..delta(0, 1, 1, 1) });
        assert!(!drain.is_over(&merge, 1_000 * MS));
        merge.add(&delta(1, 0, 1, 0));
        assert!(drain.is_over(&merge, 1_000 * MS));
    }

    #[test]
    fn the_window_ends_with_the_schedule() {
        let duration_ns = 1_500 * MS;
        let load = Load::Open { schedule: Schedule::constant(9.0), duration_ns };
        let (mut merge, mut drain) = (loaded(load), drain(Workload::Echo, [(0, 60), (1, 40)]));
        assert_eq!(drain.poll(&merge, 1_000 * MS), Next::Wait, "the last was due a little before");
        assert_eq!(drain.poll(&merge, 1_501 * MS), Next::CloseWindow);
        merge.add(&Delta { last_arrival_ns: 1_900 * MS, ..delta(0, 0, 99, 99) });
        assert_eq!(drain.poll(&merge, 1_900 * MS), Next::Wait);
        assert_eq!(drain.poll(&merge, 3_900 * MS), Next::Wait);
        assert_eq!(drain.poll(&merge, 3_901 * MS), Next::Over, "closed once");
    }

    #[test]
    fn closed_loop_windows_end_with_the_last_arrival() {
        let load = Load::Closed { concurrency: 9, per_client: 1, until: Until::Samples(100) };
        let (mut merge, mut drain) = (loaded(load), drain(Workload::Echo, [(0, 60), (1, 40)]));
        let arrive = |merge: &mut Merge, at_ns| {
            merge.add(&Delta { at_ns, last_arrival_ns: at_ns, ..delta(0, 0, 33, 33) })
        };
        assert_eq!(drain.poll(&merge, 1_049 * MS), Next::Wait);
        assert_eq!(drain.poll(&merge, 1_050 * MS), Next::CloseWindow);
        assert_eq!(drain.poll(&merge, 1_060 * MS), Next::Wait);
        arrive(&mut merge, 1_200 * MS);
        assert_eq!(drain.poll(&merge, 1_200 * MS), Next::Wait);
        assert_eq!(drain.poll(&merge, 1_250 * MS), Next::CloseWindow, "that was not the end");
        arrive(&mut merge, 1_300 * MS);
        arrive(&mut merge, 1_301 * MS);
        arrive(&mut merge, 1_302 * MS);
        assert_eq!(drain.poll(&merge, 1_303 * MS), Next::CloseWindow, "all is in");
        assert_eq!(drain.poll(&merge, 1_304 * MS), Next::Over);
    }

    #[test]
    fn waiting_reports_are_no_quiet() {
        let load = Load::Closed { concurrency: 9, per_client: 1, until: Until::Samples(100) };
        let (merge, mut drain) = (loaded(load), drain(Workload::Echo, [(0, 60), (1, 40)]));
        assert_eq!(drain.poll(&merge, 1_050 * MS), Next::CloseWindow);
        assert_eq!(drain.poll(&merge, 4_000 * MS), Next::Wait);
        assert_eq!(drain.poll(&merge, 6_001 * MS), Next::Over);
    }

    #[test]
    fn echoes_of_a_lost_agent_hide_no_loss() {
        let (mut merge, drain) = (merge(Workload::Echo), drain(Workload::Echo, [(0, 100), (1, 100)]));
        merge.add(&delta(0, 100, 70, 70));
        merge.add(&delta(1, 100, 50, 50));
        merge.lose(1..2);
        assert!(!drain.is_over(&merge, 1_000 * MS), "30 are under way");
        merge.add(&delta(0, 0, 30, 30));
        assert!(drain.is_over(&merge, 1_000 * MS), "nobody waits for what is due at the lost one");
    }

    #[test]
    fn broadcasts_of_a_lost_agent_are_waited_for() {
        let workload = Workload::Broadcast;
        let (mut merge, drain) = (merge(workload), drain(workload, [(0, 10), (1, 10)]));
        merge.add(&delta(0, 10, 40, 10));
        merge.add(&delta(1, 10, 40, 10));
        assert!(drain.is_over(&merge, 1_000 * MS));
        merge.lose(1..2);
        assert!(!drain.is_over(&merge, 3_000 * MS));
        assert!(drain.is_over(&merge, 3_001 * MS));
    }

    #[test]
    fn clients_of_a_lost_agent_are_not_awaited() {
        let workload = Workload::Broadcast;
        let (mut merge, mut drain) = (merge(workload), drain(workload, [(0, 10), (1, 10)]));
        drain.participants.away_ns = Some(5_000 * MS);
        merge.add(&Delta { usable: 2, ..delta(0, 10, 30, 10) });
        merge.add(&Delta { usable: 1, ..delta(1, 10, 30, 10) });
        assert_eq!(drain.poll(&merge, 1_000 * MS), Next::Wait);
        assert!(!drain.is_over(&merge, 9_000 * MS), "one is away");
        merge.lose(1..2);
        assert_eq!(drain.poll(&merge, 9_000 * MS), Next::Wait, "there is news");
        assert!(drain.is_over(&merge, 11_001 * MS));
    }
}
