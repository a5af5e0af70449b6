//! Conditions on messages, compiled: what a message is looked through for.

use std::borrow::Cow;

use memchr::memmem::Finder;
use regex::bytes::Regex;

use crate::app_file::{Condition, JsonScalar};
use crate::places::{POINTER_DEPTH_MAX, Pointer, regex};

/// A message without its envelope.
pub struct Opened<'a> {
    /// The event's name; empty where there is none.
    pub event: Cow<'a, [u8]>,
    /// The message itself.
    pub body: Cow<'a, [u8]>,
}

impl<'a> Opened<'a> {
    /// Text without an envelope.
    #[inline]
    pub fn whole(text: &'a [u8]) -> Option<Opened<'a>> {
        Some(Opened { event: b"".into(), body: text.into() })
    }
}

/// A condition, compiled. The cheapest test comes first.
#[derive(Debug)]
pub struct Matcher {
    tests: Vec<Test>,
}

#[derive(Debug)]
enum Test {
    Event(String),
    Contains(Box<Finder<'static>>),
    Json(Pointer, JsonScalar),
    Regex(Regex),
}

impl Matcher {
    /// The condition, ready for use.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(condition: &Condition) -> Result<Matcher, BadCondition> {
        let mut tests: Vec<Test> = condition.event.iter().cloned().map(Test::Event).collect();
        for (pointer, value) in &condition.json {
            let pointer = Pointer::parse(pointer).ok_or(BadCondition::Pointer)?;
            tests.push(Test::Json(pointer, value.clone()));
        }
        if let Some(words) = &condition.contains {
            tests.push(Test::Contains(Box::new(Finder::new(words).into_owned())));
        }
        if let Some(text) = &condition.regex {
            tests.push(Test::Regex(regex(text).map_err(BadCondition::Regex)?));
        }
        // A key is looked for elsewhere, but makes a condition that says something.
        let has_key = match &condition.key {
            Some(key) => Pointer::parse(&key.at).map(|_| true).ok_or(BadCondition::Pointer)?,
            None => false,
        };
        if tests.is_empty() && !has_key { Err(BadCondition::Empty) } else { Ok(Matcher { tests }) }
    }

    /// Returns whether the message is meant.
    #[inline]
    pub fn matches(&self, message: &Opened<'_>) -> bool {
        self.tests.iter().all(|test| test.holds(message))
    }

    /// The first of its tests that does not hold; of those that all hold, the number.
    pub fn first_miss(&self, message: &Opened<'_>) -> usize {
        self.tests.iter().take_while(|test| test.holds(message)).count()
    }

    /// Its tests, as the file has them.
    pub fn wants(&self) -> impl Iterator<Item = String> {
        self.tests.iter().map(Test::written)
    }

    /// How far the message is from being meant: of its tests, those that do not hold.
    pub fn distance(&self, message: &Opened<'_>) -> usize {
        self.tests.iter().filter(|test| !test.holds(message)).count()
    }
}

impl Test {
    /// The test as the file has it.
    fn written(&self) -> String {
        match self {
            Test::Event(name) => format!("event = {name:?}"),
            Test::Contains(words) => format!("contains = {:?}", String::from_utf8_lossy(words.needle())),
            Test::Json(pointer, JsonScalar::Text(text)) => format!("\"{pointer}\" = {text:?}"),
            Test::Json(pointer, JsonScalar::Bare(bare)) => format!("\"{pointer}\" = {bare}"),
            Test::Regex(regex) => format!("regex = '{regex}'"),
        }
    }

    #[inline]
    fn holds(&self, message: &Opened<'_>) -> bool {
        let body = &message.body;
        match self {
            Test::Event(name) => *message.event == *name.as_bytes(),
            Test::Contains(words) => words.find(body).is_some(),
            Test::Json(pointer, value) => pointer.leads_to(body, value),
            Test::Regex(regex) => regex.is_match(body),
        }
    }
}

/// A condition that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadCondition {
    /// It says nothing.
    Empty,
    /// A pointer that is none.
    Pointer,
    /// An expression that is none, and why.
    Regex(String),
}

impl std::fmt::Display for BadCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BadCondition::Empty => {
                f.write_str("needs at least one of `contains`, `regex`, `json` and `event`")
            }
            BadCondition::Pointer => write!(
                f,
                "expected a JSON pointer (RFC 6901) of at most {POINTER_DEPTH_MAX} keys, each after a slash: \
                 \"/type\", \"/items/0/id\""
            ),
            BadCondition::Regex(error) => f.write_str(error),
        }
    }
}

/// Checks that a condition can be used.
///
/// # Errors
/// What is wrong with it.
pub fn check(condition: &Condition) -> Result<(), BadCondition> {
    Matcher::new(condition).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened<'a>(event: &'a str, body: &'a [u8]) -> Opened<'a> {
        Opened { event: event.as_bytes().into(), body: body.into() }
    }

    #[test]
    fn all_that_is_given_must_hold() {
        let condition = Condition {
            event: Some("speak".into()),
            contains: Some("lobby".into()),
            regex: Some(r#""n":\d+"#.into()),
            json: vec![("/type".into(), JsonScalar::Text("say".into()))],
            ..Condition::default()
        };
        let matcher = Matcher::new(&condition).unwrap();
        assert!(matcher.matches(&opened("speak", br#"{"type":"say","n":5,"room":"lobby"}"#)));
        assert!(!matcher.matches(&opened("speak", br#"{"type":"say","n":5,"room":"bar"}"#)));
        assert!(!matcher.matches(&opened("speak", br#"{"type":"say","n":"5","room":"lobby"}"#)));
        assert!(!matcher.matches(&opened("speak", br#"{"type":"said","n":5,"room":"lobby"}"#)));
        assert!(!matcher.matches(&opened("speak", b"\xff\xfe")));
        assert!(!matcher.matches(&opened("spoke", br#"{"type":"say","n":5,"room":"lobby"}"#)));
    }

    #[test]
    fn misses_are_as_written() {
        let condition = Condition {
            contains: Some("lobby".into()),
            json: vec![
                ("/type".into(), JsonScalar::Text("say".into())),
                ("/a~1b/n".into(), JsonScalar::Bare("5".into())),
            ],
            ..Condition::default()
        };
        let matcher = Matcher::new(&condition).unwrap();
        let wants: Vec<String> = matcher.wants().collect();
        assert_eq!(wants, [r#""/type" = "say""#, r#""/a~1b/n" = 5"#, r#"contains = "lobby""#]);
        assert_eq!(matcher.first_miss(&opened("", br#"{"type":"say","a/b":{"n":6}}"#)), 1);
    }

    #[test]
    fn conditions_that_cannot_be_used() {
        let bad = |condition: Condition| check(&condition).unwrap_err();
        assert_eq!(bad(Condition::default()), BadCondition::Empty);
        let regex = |text: &str| Condition { regex: Some(text.into()), ..Condition::default() };
        assert!(matches!(bad(regex("(")), BadCondition::Regex(_)));
        assert!(matches!(bad(regex(r"\w{1000}{1000}")), BadCondition::Regex(_)));
        let json = vec![("type".into(), JsonScalar::Bare("1".into()))];
        assert_eq!(bad(Condition { json, ..Condition::default() }), BadCondition::Pointer);
    }
}
