//! Messages that differ from one another: in size, or in what they carry.
//!
//! Which of the tails a message has follows from its stamp, so that whoever receives it knows what it must have been:
//! the n-th message of client c has tail number c + n, and round again. Each client sends every one of them equally often.

use crate::config::{BadOption, Config};
use crate::dialects::DialectId;
use crate::stamp::Stamp;

/// What a data row follows in a JSON message, and what follows it.
const BEFORE_ROW: &[u8] = br#"","data":"#;
const AFTER_ROW: &[u8] = b"}}";

impl Config {
    /// The same, with messages that take these sizes in turn, which mean what [`Payload::padding`](crate::Payload)
    /// means.
    ///
    /// # Errors
    /// A size that no message can have; a dialect other than `raw` and `json`.
    pub fn with_sizes(self, sizes: &[u32]) -> Result<Config, BadOption> {
        let mut options = self.options().clone();
        let mut tail = |&size: &u32| {
            options.payload.padding = Some(size);
            options.dialect.parts(&options).map(|parts| parts.tail)
        };
        let tails = sizes.iter().map(&mut tail).collect::<Result<_, _>>()?;
        self.with_tails(tails, "sizes")
    }

    /// The same, with messages that carry these rows in turn, each of them a JSON value: after the stamp in `raw`, as
    /// `data` in the payload of `json`.
    ///
    /// # Errors
    /// A dialect other than these.
    pub fn with_rows(self, rows: &[String]) -> Result<Config, BadOption> {
        let is_json = self.options().dialect == DialectId::Json;
        let tail = |row: &String| match is_json {
            true => [BEFORE_ROW, row.as_bytes(), AFTER_ROW].concat(),
            false => row.clone().into_bytes(),
        };
        self.with_tails(rows.iter().map(tail).collect(), "rows")
    }

    fn with_tails(mut self, tails: Vec<Vec<u8>>, option: &'static str) -> Result<Config, BadOption> {
        if !matches!(self.options().dialect, DialectId::Raw | DialectId::Json) {
            return Err(BadOption::OfDialect { option, expected: "the dialect raw or json" });
        }
        self.tails = tails;
        Ok(self)
    }

    /// Whether messages differ.
    #[inline]
    pub(crate) fn is_varied(&self) -> bool {
        !self.tails.is_empty()
    }

    /// Whether these are the bytes that the message with this stamp ends with.
    #[inline]
    pub(crate) fn is_tail_of(&self, stamp: Stamp, bytes: &[u8]) -> bool {
        if self.is_varied() { bytes == self.tail_of(stamp) } else { self.is_tail(bytes) }
    }

    /// What the message with this stamp ends with.
    #[inline]
    pub(crate) fn tail_of(&self, stamp: Stamp) -> &[u8] {
        match self.tails.len() {
            0 => self.tail(),
            n => &self.tails[stamp.client.wrapping_add(stamp.seq) as usize % n],
        }
    }
}
