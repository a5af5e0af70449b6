//! Values a client was given, for the holes that ask for them: at its login, in messages, and by the session
//! that it goes on with.

use std::fmt;

use codec::http::cookies::Cookies;

/// Values a client was given.
#[derive(Default)]
pub struct Kept {
    /// The values of its app's names, by their numbers.
    pub values: Values,
    /// The cookies of the client.
    pub cookies: Cookies,
}

impl fmt::Debug for Kept {
    /// Shows only the size of the values: they are credentials of the client.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {:?}", self.values, self.cookies)
    }
}

impl Kept {
    /// The values of clients that were given nothing.
    pub const NOTHING: &'static Kept = &Kept { values: Values::NONE, cookies: Cookies::NONE };
}

/// Values by their numbers, in one text: a line each, so that a client has no more than what they are long.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Values(Option<Box<str>>);

/// The separator behind each but the last. A value with a line break would begin another header.
const END: char = '\n';

impl Values {
    /// The values of a client that keeps none yet.
    const NONE: Values = Values(None);

    /// Returns whether a text can be a value, and said anywhere.
    pub fn can_hold(text: &str) -> bool {
        text.len() <= VALUE_BYTES_MAX && !text.contains(|c: char| c.is_ascii_control())
    }

    /// Returns whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The value of this number; empty if there is none.
    #[inline]
    pub fn get(&self, number: u16) -> &str {
        let mut all = self.0.as_deref().unwrap_or_default().split(END);
        all.nth(usize::from(number)).unwrap_or_default()
    }

    /// The value of this number is that from now on.
    pub fn set(&mut self, number: u16, value: &str) {
        debug_assert!(Values::can_hold(value), "{} bytes", value.len());
        let mut all = self.0.take().map(String::from).unwrap_or_default();
        let mut start = 0;
        for _ in 0..number {
            // Values may be set in any order: those before that are not there yet are empty lines.
            start += all[start..].find(END).unwrap_or_else(|| {
                all.push(END);
                all.len() - 1 - start
            });
            start += END.len_utf8();
        }
        let end = all[start..].find(END).map_or(all.len(), |length| start + length);
        all.replace_range(start..end, value);
        self.0 = Some(all.into());
    }
}

/// Most bytes of a value. Servers accept no larger field in a head, and there most of them go.
const VALUE_BYTES_MAX: usize = 8 << 10;

impl fmt::Debug for Values {
    /// How many, and no more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values", self.0.as_deref().map_or(0, |all| all.split(END).count()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_by_number_in_any_order() {
        let mut values = Values::NONE;
        assert!(values.is_empty() && values.get(0).is_empty() && values.get(7).is_empty());
        for (number, value) in
            [(2, "two"), (0, "zero"), (1, "one"), (2, "2"), (0, ""), (1, "longer"), (4, "four")]
        {
            values.set(number, value);
            assert_eq!(values.get(number), value);
        }
        let all: Vec<&str> = (0..6).map(|number| values.get(number)).collect();
        assert_eq!(all, ["", "longer", "2", "", "four", ""]);
        assert_eq!(
            values.0.as_deref().map(str::len),
            Some("longer2four".len() + 4),
            "no more than they are long"
        );
        assert_eq!(format!("{values:?}"), "5 values");
    }

    #[test]
    fn kept_values_cost_their_length() {
        assert!(size_of::<Kept>() <= 32, "{} bytes", size_of::<Kept>());
        assert!(Values::can_hold("é") && !Values::can_hold("a\nb") && !Values::can_hold(&"x".repeat(9_000)));
    }
}
