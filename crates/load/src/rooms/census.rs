//! How many people rooms have at some of the workers.

use app::people::{Division, Layout};

use super::even::Even;
use crate::segment::Segment;

/// How many of a step's clients are in each room of one kind, counting only some workers' clients.
#[derive(Debug)]
pub struct Census {
    layout: Layout,
    clients: u32,
    workers: u16,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Equal rooms, at all workers.
    All(Even),
    /// Equal rooms, at some workers: their members are counted on demand.
    Even { even: Even, of: Vec<u16> },
    /// The number of members of each room.
    Counted(Vec<u32>),
}

impl Census {
    /// Counts, of a step's `clients`, those at the workers `of` among all `workers`.
    pub fn of(division: &Division, clients: u32, workers: u16, of: &[u16]) -> Census {
        let layout = Layout::new(division);
        let kind = match division {
            Division::Even { people, rooms } => {
                let even = Even { people: people.get(), rooms: rooms.get() };
                if of.len() == usize::from(workers) {
                    Kind::All(even)
                } else {
                    Kind::Even { even, of: of.to_vec() }
                }
            }
            Division::Zipf { rooms: count, .. } | Division::Listed { rooms: count, .. } => {
                let mut members = vec![0; count.get() as usize];
                for &worker in of {
                    let segment = Segment { worker, workers };
                    for client in 0..segment.share(clients) {
                        members[layout.room(segment.number(client)) as usize] += 1;
                    }
                }
                Kind::Counted(members)
            }
        };
        Census { layout, clients, workers, kind }
    }

    /// The room of a client, by its number in the run.
    pub fn room(&self, number: u32) -> u32 {
        self.layout.room(number)
    }

    /// The number of members in a user's room, on average over all users.
    pub fn room_of_one(&self) -> f64 {
        let Some(last) = self.clients.checked_sub(1) else { return 0.0 };
        let rooms = match &self.kind {
            Kind::All(_) | Kind::Even { .. } => self.room(last) + 1,
            Kind::Counted(members) => members.len() as u32,
        };
        // A mean over users, not over rooms: a room of n counts n times.
        let squares: f64 = (0..rooms).map(|room| f64::from(self.members(room)).powi(2)).sum();
        squares / f64::from(self.clients)
    }

    /// How many clients are in this room.
    pub fn members(&self, room: u32) -> u32 {
        match &self.kind {
            Kind::All(even) => even.members(room, self.clients),
            Kind::Even { even, of } => {
                let at = |&worker: &u16| {
                    let segment = Segment { worker, workers: self.workers };
                    let here = even.here(segment, room, segment.share(self.clients));
                    here.end - here.start
                };
                of.iter().map(at).sum()
            }
            Kind::Counted(members) => members.get(room as usize).copied().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn people_in_small_rooms_lower_the_mean() {
        let rooms_of_ten = Division::Even { people: NonZeroU32::new(10).unwrap(), rooms: NonZeroU32::MIN };
        let mean = |clients| Census::of(&rooms_of_ten, clients, 1, &[0]).room_of_one();
        assert_eq!([mean(0), mean(7), mean(20)], [0.0, 7.0, 10.0]);
        // Ten in a room of ten, five in one of five.
        assert_eq!(mean(15), 125.0 / 15.0);
    }
}
