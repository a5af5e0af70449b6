//! When an answer was made (RFC 9110 §6.6.1).

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use httpdate::HttpDate;

/// The field line that says so; nothing where the server does not know the wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct DateField {
    unix_s: Option<u64>,
}

impl DateField {
    /// Of an answer made at that time, in nanoseconds of Unix time.
    pub(crate) fn new(unix_ns: Option<u64>) -> DateField {
        const NS_PER_S: u64 = 1_000_000_000;
        DateField { unix_s: unix_ns.map(|ns| ns / NS_PER_S) }
    }
}

impl fmt::Display for DateField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(unix_s) = self.unix_s else { return Ok(()) };
        write!(f, "Date: {}\r\n", HttpDate::from(UNIX_EPOCH + Duration::from_secs(unix_s)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard() {
        let said = DateField::new(Some(784_111_777_999_999_999)).to_string();
        assert_eq!(said, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
        assert_eq!(DateField::new(None).to_string(), "", "who knows");
    }
}
