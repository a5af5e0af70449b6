//! When an answer was made (RFC 9110 §6.6.1).

use std::cell::Cell;
use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use httpdate::HttpDate;

/// The field line that says so; nothing where the server does not know the wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DateField {
    unix_s: Option<u64>,
}

impl DateField {
    /// The field of an answer made at that time, in nanoseconds of Unix time.
    pub fn new(unix_ns: Option<u64>) -> DateField {
        const NS_PER_S: u64 = 1_000_000_000;
        DateField { unix_s: unix_ns.map(|ns| ns / NS_PER_S) }
    }
}

/// How many bytes such a date has, always (RFC 9110 §5.6.7).
const DATE_BYTES: usize = 29;

thread_local! {
    /// The date that was last written by this thread, a worker of a server most likely, and its second: a
    /// second may have a hundred thousand answers.
    static LAST: Cell<(u64, [u8; DATE_BYTES])> = const { Cell::new((u64::MAX, [0; DATE_BYTES])) };
}

/// The date of a second of Unix time.
fn date_of(unix_s: u64) -> [u8; DATE_BYTES] {
    let (last_s, last) = LAST.get();
    if last_s == unix_s {
        return last;
    }
    let mut date = [0; DATE_BYTES];
    write!(&mut date[..], "{}", HttpDate::from(UNIX_EPOCH + Duration::from_secs(unix_s)))
        .expect("as long as all of them");
    LAST.set((unix_s, date));
    date
}

impl DateField {
    /// The field's value.
    pub fn value(self) -> Option<[u8; DATE_BYTES]> {
        self.unix_s.map(date_of)
    }

    /// Appends the field line.
    pub fn write(self, out: &mut Vec<u8>) {
        let Some(date) = self.value() else { return };
        for part in [&b"Date: "[..], &date, b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_example_and_the_second_after() {
        let said = |unix_ns| {
            let mut out = Vec::new();
            DateField::new(unix_ns).write(&mut out);
            String::from_utf8(out).unwrap()
        };
        for (unix_ns, seconds) in
            [(784_111_777_000_000_000, 37), (784_111_777_999_999_999, 37), (784_111_778_000_000_000, 38)]
        {
            let expected = format!("Date: Sun, 06 Nov 1994 08:49:{seconds} GMT\r\n");
            assert_eq!(said(Some(unix_ns)), expected);
        }
        assert_eq!(said(None), "", "who knows");
    }
}
