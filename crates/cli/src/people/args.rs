//! Flags of the clients' identities, roles and rooms.

use std::num::NonZero;
use std::path::PathBuf;

use app::people::Division;
use clap::Args;
use results::format::count;
use secret::Secret;

use crate::exit::Failure;
use crate::secrets::given;

const ROOM_COUNT: &str = "--room-count";

/// The clients' identities. Each one's own data stands in braces: {person.id}, {person.COLUMN}, {room}, {token}.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Users")]
pub(crate) struct PeopleArgs {
    /// CSV file with a row for each client, taken in turn: {person.COLUMN} stands for its value in the URL, -H,
    /// --auth …; {person.id} is the client's number, also without a file
    #[arg(long = "users", value_name = "FILE.csv")]
    pub(crate) people: Option<PathBuf>,
    /// Each N clients share a room, by their numbers: {room} is its number, from 0. A broadcast
    /// is due to its sender's room, and a copy that comes from another has leaked [default: one room for all]
    #[arg(long = "room-size", value_name = "N", conflicts_with = "room_count")]
    rooms: Option<NonZero<u32>>,
    /// Number of rooms, over which the largest step's clients are spread by their numbers: equally, or as
    /// --room-zipf says
    #[arg(long, value_name = "ROOMS")]
    room_count: Option<NonZero<u32>>,
    /// Rooms of unequal size, as real ones are: the k-th has a share of the clients in proportion to 1/k^S,
    /// e.g. 1.1 (Zipf's law)
    #[arg(long, value_name = "S", value_parser = exponent_milli, requires = "room_count", allow_negative_numbers = true)]
    room_zipf: Option<NonZero<u32>>,
    /// Sign a JWT for each client (HS256, sub {person.id}, valid for an hour) with this, better as env:NAME
    /// or file:PATH: it is {token}, and goes where --token would unless you put it somewhere
    #[arg(long, value_name = "SECRET", value_parser = given::value, conflicts_with = "token")]
    pub(crate) jwt_secret: Option<Secret>,
}

impl PeopleArgs {
    /// Divides the clients into rooms. `clients_max`: the most clients that a step will have, if that is
    /// known.
    pub(crate) fn rooms(&self, clients_max: Option<u64>) -> Result<Division, Failure> {
        match (self.rooms, self.room_count, self.room_zipf) {
            (Some(people), ..) => Ok(Division::of_size(people)),
            (None, None, _) => Ok(Division::ONE),
            (None, Some(rooms), None) => equal_rooms(rooms, clients_max).map_err(of_count),
            (None, Some(rooms), Some(exponent_milli)) => {
                unequal_rooms(rooms, exponent_milli).map_err(of_count)
            }
        }
    }

    /// The fewest clients of a broadcast: those of a room, or a sender and a receiver.
    pub(crate) fn clients_of_room(&self) -> u64 {
        self.rooms.map_or(2, |people| people.get().into())
    }

    /// The flag that divides them.
    pub(crate) fn rooms_flag(&self) -> &'static str {
        if self.room_count.is_some() { ROOM_COUNT } else { "--room-size" }
    }
}

fn of_count(problem: String) -> Failure {
    Failure::usage(ROOM_COUNT, problem)
}

/// Divides all clients into this many rooms of equal size.
pub(crate) fn equal_rooms(rooms: NonZero<u32>, clients_max: Option<u64>) -> Result<Division, String> {
    let Some(clients) = clients_max else {
        return Err(
            "the number of clients is not known: add --clients or --total-steps, or give the size of a room \
                    (--room-size, or `size` in the app's file)"
                .into(),
        );
    };
    let people = u32::try_from(clients).ok().and_then(NonZero::new).filter(|&people| people >= rooms);
    let people = people.ok_or_else(|| {
        let (rooms, clients) = (count(rooms.get().into()), count(clients));
        format!("{rooms} rooms are more than there are clients ({clients})")
    })?;
    Ok(Division::Even { people, rooms })
}

/// Divides all clients into this many rooms of unequal size.
pub(crate) fn unequal_rooms(rooms: NonZero<u32>, exponent_milli: NonZero<u32>) -> Result<Division, String> {
    if rooms.get() > Division::ROOMS_MAX {
        let (most, asked) = (count(Division::ROOMS_MAX.into()), count(rooms.get().into()));
        return Err(format!("at most {most} rooms of unequal size, not {asked}"));
    }
    Ok(Division::Zipf { rooms, exponent_milli })
}

/// The exponent, in thousandths.
pub(crate) fn exponent_milli(text: &str) -> Result<NonZero<u32>, String> {
    let most = f64::from(Division::EXPONENT_MILLI_MAX) / 1000.0;
    let exponent: f64 = text.parse().map_err(|_| format!("{text:?} is not a number, such as 1.1"))?;
    let milli = (exponent * 1000.0).round();
    let is_within = exponent > 0.0 && exponent <= most;
    NonZero::new(milli as u32).filter(|_| is_within).ok_or_else(|| {
        format!("above 0 and at most {most}, such as 1.1; without it all rooms have the same size")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_above_0_and_at_most_10() {
        assert_eq!(exponent_milli("1.1").map(NonZero::get), Ok(1_100));
        assert_eq!(exponent_milli("10").map(NonZero::get), Ok(10_000));
        for wrong in ["0", "-1", "0.0001", "10.1", "1e99", "NaN", "inf", "much"] {
            assert!(exponent_milli(wrong).unwrap_err().contains("1.1"), "{wrong}");
        }
    }

    #[test]
    fn equal_rooms_need_as_many_clients() {
        let args = PeopleArgs { room_count: NonZero::new(30), ..PeopleArgs::default() };
        let even = Division::Even { people: NonZero::new(200).unwrap(), rooms: NonZero::new(30).unwrap() };
        assert_eq!(args.rooms(Some(200)).unwrap(), even);
        for (clients_max, said) in [(None, "--clients"), (Some(29), "(29)"), (Some(0), "(0)")] {
            let problem = args.rooms(clients_max).unwrap_err().to_string();
            assert!(problem.contains("--room-count") && problem.contains(said), "{problem}");
        }
    }
}
