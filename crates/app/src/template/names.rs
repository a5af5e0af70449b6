//! A user's own placeholders, and what each stands for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::pieces::{Piece, Template};
use super::quoting::Quoting;

/// The values of a user's own placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// By name, because data may have thousands of columns.
    all: BTreeMap<String, Template>,
}

impl Names {
    /// Makes this name stand for that, whatever it stood for before.
    pub fn set(&mut self, name: impl Into<String>, meaning: Template) {
        self.all.insert(name.into(), meaning);
    }

    /// Makes this name stand for nothing.
    pub fn unset(&mut self, name: &str) {
        self.all.remove(name);
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Template> {
        self.all.get(name)
    }

    /// All names, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.all.keys().map(String::as_str)
    }
}

/// The values of names.
impl Template {
    /// The cell in this column of the client's row.
    pub fn of_column(column: u16) -> Template {
        Template::default().hole(Piece::Cell { column, quoting: Quoting::Plain })
    }

    /// The client's number in the run.
    pub fn of_client() -> Template {
        Template::default().hole(Piece::Client)
    }

    /// The number of the client's room, of this kind.
    pub fn of_room(kind: u16) -> Template {
        Template::default().hole(Piece::Room { kind })
    }

    /// A value that the client was given at its login, by its number.
    pub fn of_kept(value: u16) -> Template {
        Template::default().hole(Piece::Kept { value, quoting: Quoting::Plain })
    }

    /// The body of the request that it is part of the head of.
    pub fn of_body() -> Template {
        Template::default().hole(Piece::Tail)
    }

    /// The client's token, signed when it is written.
    pub fn of_token() -> Template {
        Template::default().hole(Piece::Token)
    }

    /// The second at which it is written plus `ahead_s`: a `NumericDate` (RFC 7519 §2).
    pub fn of_second(ahead_s: i64) -> Template {
        Template::default().hole(Piece::Second { ahead_s })
    }
}
