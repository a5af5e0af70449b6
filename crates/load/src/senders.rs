//! Senders, and their shares of the load.

use app::people::{RoleAssignment, RoleKind};

use crate::client_shares::{Slow, Speakers, is_picked};
use crate::segment::Segment;

/// The senders of a step: all clients except those that only listen, read slowly, or will drop their
/// connection in the step's storm.
#[derive(Clone, Debug)]
pub struct Senders {
    speakers: f64,
    slow: f64,
    storm: f64,
    /// The roles' shares of the load, where there are roles.
    role_shares: Option<RoleShares>,
}

/// Each role's share of an open load.
#[derive(Clone, Debug)]
struct RoleShares {
    role_assignment: RoleAssignment,
    /// The share of each role; 0: users of the role only listen.
    shares: Vec<f64>,
}

/// Clients that send a share of an open load at a rate of their own.
#[derive(Clone, Debug)]
pub struct SenderGroup {
    /// The clients that send at this rate.
    pub senders: Senders,
    /// Their share of the load: above 0, at most 1.
    pub share: f64,
}

impl Senders {
    /// The senders where there is no storm.
    pub fn new(speakers: Option<Speakers>, slow: Option<Slow>) -> Senders {
        let speakers = speakers.map_or(1.0, |speakers| speakers.share);
        Senders { speakers, slow: slow.map_or(0.0, |slow| slow.share), storm: 0.0, role_shares: None }
    }

    /// Sets the roles of users, if there are any.
    pub fn of_roles(self, roles: &[RoleKind]) -> Senders {
        let whole: u64 = roles.iter().map(RoleKind::weight).sum();
        let share = |role: &RoleKind| role.weight() as f64 / whole as f64;
        let role_shares = || RoleShares {
            role_assignment: RoleAssignment::new(roles),
            shares: roles.iter().map(share).collect(),
        };
        Senders { role_shares: (!roles.is_empty()).then(role_shares), ..self }
    }

    /// Leaves out the share of clients whose connections a storm drops.
    pub fn without(self, storm: f64) -> Senders {
        Senders { storm, ..self }
    }

    /// All senders as one group, with all of the load.
    pub fn all(&self) -> SenderGroup {
        SenderGroup { senders: self.clone(), share: 1.0 }
    }

    /// The groups with a rate of their own: the users of each role that sends; without roles, one group of
    /// all senders.
    pub fn groups(&self) -> Vec<SenderGroup> {
        let Some(RoleShares { role_assignment, shares }) = &self.role_shares else {
            return vec![self.all()];
        };
        let group = |(role, &share): (usize, &f64)| {
            let mut alone = vec![0.0; shares.len()];
            alone[role] = 1.0;
            let role_shares = Some(RoleShares { role_assignment: role_assignment.clone(), shares: alone });
            SenderGroup { senders: Senders { role_shares, ..self.clone() }, share }
        };
        shares.iter().enumerate().filter(|(_, share)| **share > 0.0).map(group).collect()
    }

    /// Each worker's part of a step's load, by the worker's number: workers with senders share it evenly.
    /// `None` for a worker without senders.
    pub fn parts(&self, clients: u32, workers: u16) -> Vec<Option<Segment>> {
        let (mut has_one, mut without) = (vec![false; usize::from(workers)], workers);
        for client in (0..clients).filter(|&client| self.sends(client)) {
            // Workers have the clients by turns (`Segment::number`), so the first few of a large step show a
            // sender for each.
            let worker = &mut has_one[client as usize % usize::from(workers)];
            without -= u16::from(!std::mem::replace(worker, true));
            if without == 0 {
                break;
            }
        }
        let (busy, mut place) = (workers - without, 0);
        let mut part = |has_one: bool| {
            let part = has_one.then_some(Segment { worker: place, workers: busy });
            place += u16::from(has_one);
            part
        };
        has_one.into_iter().map(&mut part).collect()
    }

    /// Returns whether a client, by its number in the run, sends. Of the first n clients, ⌈n·share⌉ are
    /// speakers, so that there is at least one.
    pub fn sends(&self, client: u32) -> bool {
        let is_silent =
            |role_shares: &RoleShares| role_shares.shares[role_shares.role_assignment.role(client)] == 0.0;
        let listens =
            is_picked(1.0 - self.speakers, client) || self.role_shares.as_ref().is_some_and(is_silent);
        !listens && !is_picked(self.slow, client) && !is_picked(self.storm, client)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EVERYBODY: Senders = Senders { speakers: 1.0, slow: 0.0, storm: 0.0, role_shares: None };

    #[test]
    fn sharing_senders_include_client_0() {
        let speakers = |share, clients| -> Vec<u32> {
            let senders = Senders { speakers: share, ..EVERYBODY };
            (0..clients).filter(|&client| senders.sends(client)).collect()
        };
        assert_eq!(speakers(0.25, 12), [0, 4, 8]);
        assert_eq!(speakers(0.001, 12), [0]);
        assert_eq!(speakers(1.0, 3), [0, 1, 2]);
    }

    #[test]
    fn workers_whose_clients_all_listen_have_no_part() {
        let part = |worker, workers| Some(Segment { worker, workers });
        assert_eq!(EVERYBODY.parts(5, 3), [part(0, 3), part(1, 3), part(2, 3)]);
        assert_eq!(EVERYBODY.parts(1, 3), [part(0, 1), None, None], "there may be more workers than clients");
        let every_second_is_slow = Senders { slow: 0.5, ..EVERYBODY };
        assert_eq!(every_second_is_slow.parts(20, 2), [part(0, 1), None]);
        assert_eq!(every_second_is_slow.parts(20, 3), [part(0, 3), part(1, 3), part(2, 3)]);
        let third_is_lost = Senders { storm: 1.0 / 3.0, ..EVERYBODY };
        assert_eq!(third_is_lost.parts(20, 3), [part(0, 2), part(1, 2), None]);
        let nobody = Senders { storm: 1.0, ..EVERYBODY };
        assert_eq!(nobody.parts(20, 2), [None, None]);
    }

    #[test]
    fn speaking_roles_have_their_own_load() {
        let role = |share, says| RoleKind { name: String::new(), share, says: vec![says] };
        let all = EVERYBODY.of_roles(&[role(8, 0), role(1, 30), role(1, 10)]);
        let who = |senders: &Senders| (0..20).filter(|&client| senders.sends(client)).collect::<Vec<u32>>();
        let groups = all.groups();
        let shares: Vec<f64> = groups.iter().map(|group| group.share).collect();
        assert_eq!(shares, [0.75, 0.25]);
        let mut both = [who(&groups[0].senders), who(&groups[1].senders)].concat();
        both.sort_unstable();
        assert_eq!((both.len(), &both), (4, &who(&all)));
        assert_eq!(EVERYBODY.groups().len(), 1);
    }

    proptest! {
        /// Checks that workers with a sender have a part, and that the parts add up to the whole load.
        #[test]
        fn workers_with_senders_have_all_of_the_load(
            speakers in 0.01f64..=1.0,
            slow in 0.0f64..=0.9,
            clients in 1u32..60,
            workers in 1u16..40,
        ) {
            let senders = Senders { speakers, slow, ..EVERYBODY };
            let parts = senders.parts(clients, workers);
            for (worker, part) in (0..u32::from(workers)).zip(&parts) {
                let has_one = (0..clients).any(|n| n % u32::from(workers) == worker && senders.sends(n));
                prop_assert_eq!(part.is_some(), has_one);
            }
            let busy: Vec<Segment> = parts.into_iter().flatten().collect();
            prop_assert!(busy.iter().zip(0..).all(|(part, place)| part.worker == place));
            prop_assert!(busy.iter().all(|part| usize::from(part.workers) == busy.len()));
            prop_assert!(busy.is_empty() || busy.iter().map(|part| part.share(1_000)).sum::<u32>() == 1_000);
        }
    }
}
