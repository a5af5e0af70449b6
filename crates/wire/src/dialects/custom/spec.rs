//! A user's own dialect as data: what a file says, once it has been read and checked.

use serde::{Deserialize, Serialize};

use super::template::Template;

/// The most steps an opening may have.
pub const OPEN_STEPS_MAX: usize = 1000;

/// A protocol that throng does not know: what to say, and how to recognise what comes back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomDialect {
    /// The name in results.
    pub name: String,
    /// Messages are sent in binary frames, not text. Either kind is understood.
    pub binary: bool,
    /// What has to happen before a client is usable, in this order.
    pub open: Vec<OpenStep>,
    /// The message that its sender alone gets an answer to.
    pub echo: Option<Exchange>,
    /// The message that everyone gets.
    pub broadcast: Option<Broadcast>,
    /// What the server says when it refuses something.
    pub errors: Vec<Refusal>,
    /// What the server wants an answer to.
    pub answers: Vec<Reaction>,
    /// What the server may say without any meaning for the measurement.
    pub ignore: Vec<Condition>,
    /// What a usable client says from time to time.
    pub heartbeat: Option<Heartbeat>,
    /// The rows for `{data.column}`; clients take them in turn.
    pub data: Table,
}

/// One step of an opening.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpenStep {
    /// Say this.
    Send(Template),
    /// Go on when this comes in.
    Expect(Condition),
    /// Go on after so many nanoseconds.
    Wait(u64),
}

/// A message and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The message.
    pub send: Template,
    /// The answer; `None`: whatever carries its id and is nothing else.
    pub reply: Option<Condition>,
}

/// A message to everyone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broadcast {
    /// The message.
    pub send: Template,
    /// A copy of it; `None`: whatever carries its id and is nothing else.
    pub copy: Option<Condition>,
    /// The sender's own copy, where it looks different from the others'.
    pub own: Option<Condition>,
    /// The acknowledgement that the sender gets beside its own copy.
    pub ack: Option<Condition>,
}

/// What the server says when it refuses something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Results count it as `rejected_` and this.
    pub kind: String,
    /// How it is recognised.
    pub when: Condition,
}

/// Something the server says, and what to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reaction {
    /// What it says.
    pub when: Condition,
    /// The answer.
    pub send: Template,
}

/// What a usable client says from time to time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// From one to the next, nanoseconds.
    pub every_ns: u64,
    /// The message.
    pub send: Template,
}

/// What a message must be: everything given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// It contains this.
    pub contains: Option<String>,
    /// This expression (of the `regex` crate) matches somewhere in it.
    pub regex: Option<String>,
    /// It is JSON, and has these values at these pointers (RFC 6901).
    pub json: Vec<(String, JsonScalar)>,
}

/// A value in JSON that can be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsonScalar {
    /// A string, without quotes or escapes.
    Text(String),
    /// A number, `true` or `false`, as it is written.
    Bare(String),
}

/// Rows of text, each with the same number of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    columns: u16,
    cells: String,
    /// Where in `cells` each ends.
    ends: Vec<u32>,
}

impl Table {
    /// No rows yet.
    pub fn new(columns: u16) -> Table {
        Table { columns, ..Table::default() }
    }

    /// Appends a row. False, and nothing done, if 4 GiB do not hold it.
    ///
    /// # Panics
    /// Unless it has a cell for each column.
    pub fn push<'a>(&mut self, row: impl ExactSizeIterator<Item = &'a str> + Clone) -> bool {
        assert_eq!(row.len(), usize::from(self.columns), "cells of a row");
        let bytes: usize = row.clone().map(str::len).sum();
        if u32::try_from(self.cells.len() + bytes).is_err() {
            return false;
        }
        for cell in row {
            self.cells.push_str(cell);
            self.ends.push(self.cells.len() as u32);
        }
        true
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.ends.len() / usize::from(self.columns.max(1))
    }

    /// A cell of the row for client number `client`; empty if there are no rows.
    pub(super) fn cell(&self, client: u32, column: u16) -> &str {
        if self.ends.is_empty() {
            return "";
        }
        let row = client as usize % self.rows();
        let at = row * usize::from(self.columns) + usize::from(column);
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.cells[start as usize..self.ends[at] as usize]
    }
}
