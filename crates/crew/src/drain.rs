//! How long a step drains: until all is in, nothing has come for a while, or time is up.
//!
//! What is still to come is known while all agents are there. When one is lost, echoes still are: each returns to the
//! worker that sent it, so those of the others are held against what the others sent. How many broadcasts a lost agent
//! had under way nobody knows; there the quiet decides.

use std::collections::BTreeMap;

use load::{Draining, Workload};

use crate::merge::Merge;

/// The drain of one step.
pub(crate) struct Drain {
    workload: Workload,
    draining: Draining,
    /// Messages that each worker sent.
    sent: BTreeMap<u16, u64>,
    /// Clients to which each broadcast is due.
    receivers: u64,
    began_ns: u64,
}

impl Drain {
    /// Everything is sent; draining begins now.
    pub(crate) fn new(
        workload: Workload,
        draining: Draining,
        sent: BTreeMap<u16, u64>,
        receivers: u64,
        now_ns: u64,
    ) -> Self {
        Self { workload, draining, sent, receivers, began_ns: now_ns }
    }

    /// Whether there is nothing more to wait for.
    pub(crate) fn is_over(&self, merge: &Merge, now_ns: u64) -> bool {
        let quiet_ns = now_ns.saturating_sub(merge.totals().last_arrival_ns.max(self.began_ns));
        self.is_all_in(merge)
            || quiet_ns > self.draining.quiet_ns
            || now_ns.saturating_sub(self.began_ns) > self.draining.timeout_ns
    }

    fn is_all_in(&self, merge: &Merge) -> bool {
        let sent = self.sent.iter().filter(|(worker, _)| !merge.is_lost(**worker)).map(|(_, sent)| sent);
        let sent: u64 = sent.sum();
        let arrived = merge.arrived_of_present();
        match self.workload {
            Workload::Echo => arrived >= sent,
            Workload::Broadcast => {
                !merge.has_lost() && arrived >= sent * self.receivers && merge.totals().acks >= sent
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Delta;
    use load::{Load, StepOrder, Until};
    use stats::Counts;

    const MS: u64 = 1_000_000;

    fn merge(workload: Workload) -> Merge {
        let load = Load::Closed { concurrency: 9, per_client: 1, until: Until::Samples(200) };
        let order = StepOrder { index: 0, clients: 4, load, warmup: false };
        let mut merge = Merge::new(workload, order, 0, 0);
        merge.start(0, 100);
        merge
    }

    fn drain(workload: Workload, sent: [(u16, u64); 2]) -> Drain {
        let draining = Draining { quiet_ns: 2_000 * MS, timeout_ns: 60_000 * MS };
        Drain::new(workload, draining, BTreeMap::from(sent), 4, 1_000 * MS)
    }

    fn delta(worker: u16, sent: u64, received: u64, acks: u64) -> Delta {
        let counts = Counts { sent, received, ..Counts::default() };
        Delta { worker, at_ns: 900 * MS, last_arrival_ns: 890 * MS, counts, acks, ..Delta::default() }
    }

    #[test]
    fn it_ends_when_all_is_in_or_with_the_quiet() {
        let (mut merge, drain) = (merge(Workload::Echo), drain(Workload::Echo, [(0, 60), (1, 40)]));
        merge.add(&delta(0, 60, 60, 60));
        assert!(!drain.is_over(&merge, 3_000 * MS));
        assert!(drain.is_over(&merge, 3_001 * MS));
        merge.add(&delta(1, 40, 40, 40));
        assert!(drain.is_over(&merge, 1_000 * MS));
    }

    #[test]
    fn echoes_of_a_lost_agent_make_up_for_nobody_elses() {
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
}
