//! Rows of a user's data, which messages show.

use serde::{Deserialize, Serialize};

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
