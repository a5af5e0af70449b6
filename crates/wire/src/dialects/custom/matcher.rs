//! Conditions, compiled: what a message is looked through for.

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

use super::pointer::{POINTER_DEPTH_MAX, Pointer};
use super::spec::{Condition, JsonScalar};

/// The most memory that one expression may take, compiled.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// A condition, compiled. The cheapest test comes first.
#[derive(Debug)]
pub(super) struct Matcher {
    tests: Vec<Test>,
}

#[derive(Debug)]
enum Test {
    Contains(Box<Finder<'static>>),
    Json(Pointer, JsonScalar),
    Regex(Regex),
}

impl Matcher {
    /// The condition, ready for use.
    pub(super) fn new(condition: &Condition) -> Result<Matcher, BadCondition> {
        let mut tests = Vec::new();
        for (pointer, value) in &condition.json {
            let pointer = Pointer::parse(pointer).ok_or(BadCondition::Pointer)?;
            tests.push(Test::Json(pointer, value.clone()));
        }
        if let Some(words) = &condition.contains {
            tests.push(Test::Contains(Box::new(Finder::new(words).into_owned())));
        }
        if let Some(regex) = &condition.regex {
            let regex = RegexBuilder::new(regex).size_limit(REGEX_BYTES_MAX).build();
            tests.push(Test::Regex(regex.map_err(|error| BadCondition::Regex(error.to_string()))?));
        }
        if tests.is_empty() { Err(BadCondition::Empty) } else { Ok(Matcher { tests }) }
    }

    /// Whether the message is meant.
    #[inline]
    pub(super) fn matches(&self, message: &[u8]) -> bool {
        self.tests.iter().all(|test| match test {
            Test::Contains(words) => words.find(message).is_some(),
            Test::Json(pointer, value) => pointer.leads_to(message, value),
            Test::Regex(regex) => regex.is_match(message),
        })
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
            BadCondition::Empty => f.write_str("needs at least one of `contains`, `regex` and `json`"),
            BadCondition::Pointer => write!(
                f,
                "expected a JSON pointer (RFC 6901) of at most {POINTER_DEPTH_MAX} keys, each after a slash: \
                 \"/type\", \"/items/0/id\""
            ),
            BadCondition::Regex(error) => f.write_str(error),
        }
    }
}

impl Condition {
    /// Whether the condition can be used.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), BadCondition> {
        Matcher::new(self).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_given_must_hold() {
        let condition = Condition {
            contains: Some("lobby".into()),
            regex: Some(r#""n":\d+"#.into()),
            json: vec![("/type".into(), JsonScalar::Text("say".into()))],
        };
        let matcher = Matcher::new(&condition).unwrap();
        assert!(matcher.matches(br#"{"type":"say","n":5,"room":"lobby"}"#));
        assert!(!matcher.matches(br#"{"type":"say","n":5,"room":"bar"}"#));
        assert!(!matcher.matches(br#"{"type":"say","n":"5","room":"lobby"}"#));
        assert!(!matcher.matches(br#"{"type":"said","n":5,"room":"lobby"}"#));
        assert!(!matcher.matches(b"\xff\xfe"));
    }

    #[test]
    fn conditions_that_cannot_be_used() {
        let bad = |condition: Condition| condition.check().unwrap_err();
        assert_eq!(bad(Condition::default()), BadCondition::Empty);
        let regex = |text: &str| Condition { regex: Some(text.into()), ..Condition::default() };
        assert!(matches!(bad(regex("(")), BadCondition::Regex(_)));
        assert!(matches!(bad(regex(r"\w{1000}{1000}")), BadCondition::Regex(_)));
        let json = vec![("type".into(), JsonScalar::Bare("1".into()))];
        assert_eq!(bad(Condition { json, ..Condition::default() }), BadCondition::Pointer);
    }
}
