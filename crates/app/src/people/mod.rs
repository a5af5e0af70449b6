//! The identities of a run's clients: a row of a user's data each, and a token.
//!
//! A client's identity is a function of its number: the name is looked up, and the token signed, at the
//! moment at which it is sent. Nothing is kept for it.

mod arcs;
mod division;
mod jwt;
mod mix;
mod role_assignment;

use std::collections::HashMap;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;

use secret::Secret;
use serde::{Deserialize, Serialize};

pub use division::{Division, Layout};
pub(crate) use jwt::Signer;
pub use jwt::{Algorithm, BadKey, Jwt};
pub use mix::{Mix, one_of};
pub use role_assignment::{RoleAssignment, RoleKind};

use crate::template::{Names, Quoting, Table, Template};

/// The identities of a run's clients.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct People {
    /// The values of their placeholders.
    pub names: Names,
    /// The division of each kind of rooms; one at least.
    pub rooms: Vec<Division>,
    /// The roles; empty if all clients do the same.
    pub roles: Vec<RoleKind>,
    /// A row for each; clients take them in turn, and from the start again where there are more of them.
    pub rows: Table,
    /// The signed `{token}`; `None` if there is none, or its name says it.
    pub token: Option<Jwt>,
}

impl Default for People {
    /// People without any data but their numbers, in one room.
    fn default() -> People {
        People::in_rooms(Division::ONE)
    }
}

impl People {
    /// People without any data but their numbers and rooms.
    pub fn in_rooms(rooms: Division) -> People {
        let mut names = Names::default();
        names.set("person.id", Template::of_client());
        names.set("room", Template::of_room(0));
        People { names, rooms: vec![rooms], roles: Vec::new(), rows: Table::default(), token: None }
    }

    /// The rooms of the rows in which the text is this; it differs by their cells alone. `None`: it does not,
    /// or there are no rows, or more rooms than [`Division::ROOMS_MAX`].
    pub fn rooms_by(&self, text: &Template) -> Option<Division> {
        let mut known = HashMap::new();
        let room_of = |row: usize| {
            let next = known.len() as u32;
            Some(*known.entry(text.of_row(&self.rows, row)?).or_insert(next))
        };
        let of_rows: Arc<[u32]> = (0..self.rows.rows()).map(room_of).collect::<Option<_>>()?;
        let rooms = NonZero::new(u32::try_from(known.len()).ok()?)?;
        Some(Division::Listed { rooms, of_rows }).filter(Division::is_sound)
    }

    /// A copy with other rows.
    pub fn with_rows(&self, rows: Table) -> People {
        let People { names, rooms, roles, token, .. } = self;
        let (names, rooms, roles, token) = (names.clone(), rooms.clone(), roles.clone(), token.clone());
        People { names, rooms, roles, rows, token }
    }

    /// Secrets of a client, in every form in which it is sent. (Tokens are known by their
    /// look: [`secret::scrub`].)
    pub fn secrets_of(&self, client: u32) -> Vec<Secret> {
        let forms = |cell: &str| {
            // A report that has been searched for one form may still show another.
            [Quoting::Plain, Quoting::JSON, Quoting::Percent].map(|quoting| Secret::from(quoting.of(cell)))
        };
        self.rows.row(client).flat_map(forms).collect()
    }
}

impl fmt::Debug for People {
    /// Shows the number of rows only, because users' data may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("People").field("rows", &self.rows.rows()).finish_non_exhaustive()
    }
}
