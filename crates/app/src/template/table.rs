//! Rows of a user's data, which clients take in turn.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Rows of text, each with the same number of cells.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    columns: u16,
    cells: String,
    /// The end of each in `cells`.
    ends: Vec<u32>,
    of: Takers,
}

/// Users of these rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Takers {
    /// Rows of all clients, which take them in turn, and from the start again.
    #[default]
    All,
    /// Rows of some workers' clients, each with a row of its own, in the order of their numbers.
    Workers {
        /// The first worker, and the number of workers.
        first: u32,
        count: u32,
        /// How many workers there are in all.
        of: u32,
    },
}

impl fmt::Debug for Table {
    /// Without its cells: they may be people's names and passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.rows())
    }
}

impl Table {
    /// A table without rows.
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

    /// The size of the rows in bytes, in memory and on the wire.
    pub fn bytes(&self) -> usize {
        self.cells.len() + self.ends.len() * size_of::<u32>()
    }

    /// Only the rows that the clients of these workers take, of `of` workers in all, if the run has at most
    /// `clients_max` clients. All rows, where several clients share one.
    pub fn share(&self, workers: Range<u16>, of: u16, clients_max: u32) -> Table {
        // With fewer rows than clients, a row has takers at several workers.
        if clients_max as usize > self.rows() || self.of != Takers::All {
            return self.clone();
        }
        let (first, count, of) = (u32::from(workers.start), workers.len() as u32, u32::from(of));
        let mut share = Table { of: Takers::Workers { first, count, of }, ..Table::new(self.columns) };
        let is_theirs = |client: &u32| workers.contains(&((client % of) as u16));
        for client in (0..clients_max).filter(is_theirs) {
            let row: Vec<&str> = (0..self.columns).map(|column| self.cell(client, column)).collect();
            assert!(share.push(row.into_iter()), "a part is no larger than the whole");
        }
        share
    }

    /// The bytes of the longest cell in a column.
    pub(crate) fn longest(&self, column: u16) -> usize {
        (0..self.rows()).map(|row| self.get(row, column).len()).max().unwrap_or(0)
    }

    /// A cell of the row of client number `client`; empty if there are no rows.
    pub(crate) fn cell(&self, client: u32, column: u16) -> &str {
        let row = match self.of {
            Takers::All => client as usize,
            Takers::Workers { first, count, of } => {
                let (before, place) = (client / of.max(1), client % of.max(1));
                before as usize * count as usize + place.saturating_sub(first) as usize
            }
        };
        self.get(row % self.rows().max(1), column)
    }

    /// A cell by its place; empty if there is none, as a table from another process may lack it.
    pub(crate) fn get(&self, row: usize, column: u16) -> &str {
        let at = row * usize::from(self.columns) + usize::from(column);
        let Some(&end) = self.ends.get(at) else { return "" };
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        self.cells.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The cells of a client's row.
    pub(crate) fn row(&self, client: u32) -> impl Iterator<Item = &str> {
        (0..self.columns).map(move |column| self.cell(client, column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: u32) -> Table {
        let mut table = Table::new(2);
        for row in 0..rows {
            let cells = [format!("name-{row}"), row.to_string()];
            assert!(table.push(cells.iter().map(String::as_str)));
        }
        table
    }

    #[test]
    fn shares_have_only_their_clients_rows() {
        let whole = table(23);
        for (workers, of) in [(0..1, 1), (0..2, 5), (2..4, 5), (4..5, 5), (3..4, 7)] {
            let share = whole.share(workers.clone(), of, 20);
            let own = |client: &u32| workers.contains(&((client % u32::from(of)) as u16));
            let clients: Vec<u32> = (0..20).filter(own).collect();
            assert_eq!(share.rows(), clients.len(), "{workers:?} of {of}");
            for client in clients {
                assert_eq!(share.cell(client, 0), format!("name-{client}"), "{workers:?} of {of}");
                assert!(share.row(client).eq(whole.row(client)));
            }
        }
    }

    #[test]
    fn shared_rows_are_needed_by_everybody() {
        let whole = table(5);
        let share = whole.share(0..1, 4, 6);
        assert!(share == whole && share.cell(5, 0) == "name-0");
        assert!(table(5).share(0..1, 4, 5).rows() == 2);
        assert_eq!(Table::default().cell(7, 0), "");
    }
}
