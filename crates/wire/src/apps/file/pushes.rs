//! Pushes of a server: which are looked for, and the places of their numbers and times.

use std::num::NonZeroU64;

use app::app_file::{self, Condition};
use app::conditions::{Matcher, Opened};
use app::places::InBody;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};

use crate::event::{Event, PushNumber, Pushed};
use crate::options::BadOption;

/// Below this a time is in seconds, below a thousand times this in milliseconds, and so on: as seconds it is
/// the year 5138, as milliseconds 1973.
const SECONDS_MAX: u64 = 100_000_000_000;

/// One kind of messages that the server says by itself.
#[derive(Debug)]
pub(super) struct Push {
    pub(super) when: Matcher,
    /// The place of each one's number, one more than the one before.
    number: Option<InBody>,
    /// The place of each one's time.
    time: Option<InBody>,
    /// Place of the content that is the same at all receivers.
    same: Option<InBody>,
}

impl Push {
    /// Ready to be looked for.
    pub(super) fn new(
        written: &app_file::Push,
        matcher: impl Fn(&Condition) -> Result<Matcher, BadOption>,
    ) -> Result<Push, BadOption> {
        let bad = BadOption::OfDialect { option: "app", expected: "values that can be looked for" };
        let found = |text: &str| InBody::written(text).ok_or(bad);
        let place = |text: &Option<String>| text.as_deref().map(found).transpose();
        Ok(Push {
            when: matcher(&written.when)?,
            number: place(&written.number)?,
            time: place(&written.time)?,
            same: place(&written.same)?,
        })
    }

    /// Reads one push.
    pub(super) fn told(&self, kind: usize, message: &Opened<'_>) -> Event {
        let find = |place: &Option<InBody>| place.as_ref().map(|place| place.find(&message.body));
        let number = find(&self.number).map(|text| text.and_then(|text| PushNumber::new(text.parse().ok()?)));
        let time = find(&self.time).map(|text| text.and_then(|text| unix_ns(&text)));
        let content = self.same.as_ref().map(|same| same.bytes(&message.body).map(fingerprint));
        Event::Pushed(Pushed {
            kind: kind as u16,
            number: number.flatten(),
            said_unix_ns: time.flatten().and_then(NonZeroU64::new),
            content: content.flatten(),
            lacks: number == Some(None) || time == Some(None) || content == Some(None),
        })
    }
}

/// The first eight bytes of the SHA-256: workers on other machines have the same, whatever built them.
fn fingerprint(content: &[u8]) -> NonZeroU64 {
    let digest = digest(&SHA256, content);
    let first = digest.as_ref().first_chunk().expect("it has 32 bytes");
    // No digest is 0 but by a chance of 1 in 2^64; the niche saves a word in each event.
    NonZeroU64::new(u64::from_be_bytes(*first)).unwrap_or(NonZeroU64::MIN)
}

/// A time of the wall clock, as servers write it: a number of seconds, milliseconds, microseconds or
/// nanoseconds since 1970, or RFC 3339.
fn unix_ns(text: &str) -> Option<u64> {
    // Many languages write large floats with an exponent.
    if text.contains(['e', 'E'])
        && let Ok(number) = text.parse::<f64>()
    {
        let ns = number * ns_per_unit(number as u64) as f64;
        return (0.0..u64::MAX as f64).contains(&ns).then_some(ns as u64);
    }
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let Ok(whole) = whole.parse::<u64>() else {
        return u64::try_from(text.parse::<Timestamp>().ok()?.as_nanosecond()).ok();
    };
    // Apart from the whole: as one f64, nanoseconds since 1970 would lose their last digits.
    let fraction = if fraction.is_empty() { 0.0 } else { fraction.parse::<f64>().ok()? };
    let ns_per_unit = ns_per_unit(whole);
    whole.checked_mul(ns_per_unit)?.checked_add((fraction * ns_per_unit as f64) as u64)
}

/// Nanoseconds in the unit that a time of this size is in.
fn ns_per_unit(time: u64) -> u64 {
    let units = [(1, 1_000_000_000), (1_000, 1_000_000), (1_000_000, 1_000)];
    units.into_iter().find(|(in_second, _)| time < SECONDS_MAX * in_second).map_or(1, |(_, ns)| ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_whatever_unit_they_come() {
        let ns = 1_700_000_000_123_000_000;
        for text in ["1700000000123", "1700000000123000", "1700000000123000000", "2023-11-14T22:13:20.123Z"] {
            assert_eq!(unix_ns(text), Some(ns), "{text}");
        }
        assert!(unix_ns("1700000000.123").unwrap().abs_diff(ns) < 1_000, "as near as a float is");
        assert_eq!(unix_ns("1700000000"), Some(1_700_000_000_000_000_000));
        for text in ["1.7e9", "1.7E12", "1.7e+18", "17e8"] {
            assert_eq!(unix_ns(text), Some(1_700_000_000_000_000_000), "{text}");
        }
        let python = unix_ns("1.7000000001230001e+18").unwrap();
        assert!(python.abs_diff(ns) < 512, "{python}");
        for text in ["", "now", "-1", "NaN", "1e300", "-1e9", "1.5e", "1.-5", "2023-11-14"] {
            assert_eq!(unix_ns(text), None, "{text}");
        }
    }
}
