//! The flags that say who the clients are.

use std::num::NonZero;
use std::path::PathBuf;

use clap::Args;
use load::Rooms;
use secret::Secret;

use crate::secrets::given;

/// Who the clients are. What is each one's own stands in braces: {person.id}, {person.COLUMN}, {room}, {token}.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "People")]
pub(crate) struct PeopleArgs {
    /// A CSV file with a row for each client, in turn: {person.COLUMN} in the URL, -H, --auth … is its own. {person.id}, its
    /// number, is always there
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) people: Option<PathBuf>,
    /// Each N clients share a room, in the order of their numbers: {room} is its number, from 0. A broadcast is due to its
    /// sender's room, and a copy that comes from another has leaked [default: one room for all]
    #[arg(long, value_name = "N")]
    pub(crate) rooms: Option<NonZero<u32>>,
    /// Sign a JWT for each client (HS256, sub {person.id}, valid for an hour) with this, better as env:NAME or file:PATH: it
    /// is {token}, and goes where --token would unless you put it somewhere
    #[arg(long, value_name = "SECRET", value_parser = given::value, conflicts_with = "token")]
    pub(crate) jwt_secret: Option<Secret>,
}

impl PeopleArgs {
    /// Who hears whom.
    pub(crate) fn rooms(&self) -> Rooms {
        self.rooms.map_or(Rooms::ONE, |size| Rooms::of(size.get()))
    }
}
