//! Conditions on messages, compiled: what a message is looked through for.

use std::borrow::Cow;
use std::cell::RefCell;

use memchr::memmem::{self, Finder};
use regex::bytes::Regex;

use crate::app_file::{Condition, ConditionText, JsonScalar};
use crate::places::{POINTER_DEPTH_MAX, Pointer, regex};
use crate::template::{ClientContext, Filling, Template};

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

/// A message without its envelope, and the client that received it.
#[derive(Clone, Copy)]
pub struct Received<'a> {
    /// The message.
    pub opened: &'a Opened<'a>,
    /// The client.
    pub client: &'a ClientContext<'a>,
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
    /// A comparison with a text of each client's own.
    OfClient(Box<ClientTest>),
}

/// A test of a condition with placeholders.
#[derive(Debug)]
struct ClientTest {
    place: Place,
    /// The text as the file has it.
    written: String,
    template: Template,
    /// Room for the text of the client at hand: an allocation for each message would be too many.
    own: RefCell<Vec<u8>>,
}

/// The part of a message that a client's own text is compared with.
#[derive(Debug)]
enum Place {
    /// The event's name.
    Event,
    /// Any part.
    Anywhere,
    /// The JSON value there.
    Json(Pointer),
}

impl Matcher {
    /// The condition, ready for use.
    ///
    /// # Errors
    /// Faults of the condition.
    pub fn new(condition: &Condition) -> Result<Matcher, BadCondition> {
        let of_event = |text: &ConditionText| {
            Test::of_client(text, Place::Event).unwrap_or_else(|| Test::Event(text.written.clone()))
        };
        let mut tests: Vec<Test> = condition.event.iter().map(of_event).collect();
        for (pointer, value) in &condition.json {
            let pointer = Pointer::parse(pointer).ok_or(BadCondition::Pointer)?;
            tests.push(Test::of_json(pointer, value));
        }
        if let Some(words) = &condition.contains {
            let of_all = || Test::Contains(Box::new(Finder::new(&words.written).into_owned()));
            tests.push(Test::of_client(words, Place::Anywhere).unwrap_or_else(of_all));
        }
        if let Some(text) = &condition.regex {
            tests.push(Test::Regex(regex(text).map_err(BadCondition::Regex)?));
        }
        // Texts of a client's own are written for each message; stable, so that the rest stays as ordered.
        tests.sort_by_key(|test| matches!(test, Test::OfClient(_)));
        // A key is looked for elsewhere, but makes a condition that says something.
        let has_key = match &condition.key {
            Some(key) => Pointer::parse(&key.at).map(|_| true).ok_or(BadCondition::Pointer)?,
            None => false,
        };
        if tests.is_empty() && !has_key { Err(BadCondition::Empty) } else { Ok(Matcher { tests }) }
    }

    /// Returns whether the message is meant.
    #[inline]
    pub fn matches(&self, message: Received<'_>) -> bool {
        self.tests.iter().all(|test| test.holds(message))
    }

    /// The first of its tests that does not hold; of those that all hold, the number.
    pub fn first_miss(&self, message: Received<'_>) -> usize {
        self.tests.iter().take_while(|test| test.holds(message)).count()
    }

    /// Its tests, as the file has them.
    pub fn wants(&self) -> impl Iterator<Item = String> {
        self.tests.iter().map(Test::written)
    }

    /// How far the message is from being meant: of its tests, those that do not hold.
    pub fn distance(&self, message: Received<'_>) -> usize {
        self.tests.iter().filter(|test| !test.holds(message)).count()
    }
}

impl Test {
    /// The comparison of the value there.
    fn of_json(pointer: Pointer, value: &JsonScalar) -> Test {
        let of_client = match value {
            JsonScalar::Text(text) => Test::of_client(text, Place::Json(pointer.clone())),
            JsonScalar::Bare(_) => None,
        };
        of_client.unwrap_or_else(|| Test::Json(pointer, value.clone()))
    }

    /// The comparison with a client's own text; `None`: it is the same for all.
    fn of_client(text: &ConditionText, place: Place) -> Option<Test> {
        let (template, written) = (text.of_client.clone()?, text.written.clone());
        Some(Test::OfClient(Box::new(ClientTest { place, written, template, own: RefCell::default() })))
    }

    /// The test as the file has it.
    fn written(&self) -> String {
        match self {
            Test::Event(name) => format!("event = {name:?}"),
            Test::Contains(words) => format!("contains = {:?}", String::from_utf8_lossy(words.needle())),
            Test::Json(pointer, JsonScalar::Text(text)) => format!("\"{pointer}\" = {:?}", text.written),
            Test::Json(pointer, JsonScalar::Bare(bare)) => format!("\"{pointer}\" = {bare}"),
            Test::Regex(regex) => format!("regex = '{regex}'"),
            Test::OfClient(test) => match &test.place {
                Place::Event => format!("event = {:?}", test.written),
                Place::Anywhere => format!("contains = {:?}", test.written),
                Place::Json(pointer) => format!("\"{pointer}\" = {:?}", test.written),
            },
        }
    }

    #[inline]
    fn holds(&self, message: Received<'_>) -> bool {
        let Opened { event, body } = message.opened;
        match self {
            Test::Event(name) => **event == *name.as_bytes(),
            Test::Contains(words) => words.find(body).is_some(),
            Test::Json(pointer, value) => pointer.leads_to(body, value),
            Test::Regex(regex) => regex.is_match(body),
            Test::OfClient(test) => test.holds(message),
        }
    }
}

impl ClientTest {
    // Apart: a condition without placeholders does not pay for the writing.
    #[inline(never)]
    fn holds(&self, Received { opened, client }: Received<'_>) -> bool {
        // A value that is still to come is no empty text, which would be found everywhere.
        if !self.template.is_known(&client.kept.values) {
            return false;
        }
        match &self.place {
            // Nor is an empty cell, which is also the name of each message without an event.
            Place::Event => self.of(client, |own| !own.is_empty() && *opened.event == *own),
            Place::Anywhere => {
                self.of(client, |own| !own.is_empty() && memmem::find(&opened.body, own).is_some())
            }
            // Servers write the numbers of users and rooms as numbers and as strings, and a file has no
            // number with a placeholder in it.
            Place::Json(pointer) => pointer
                .value(&opened.body)
                .is_some_and(|value| self.of(client, |own| *value.as_bytes() == *own)),
        }
    }

    /// The result for this client's text.
    fn of(&self, client: &ClientContext<'_>, fits: impl FnOnce(&[u8]) -> bool) -> bool {
        let mut own = self.own.borrow_mut();
        own.clear();
        self.template.write(&mut own, &Filling::of(*client), 0);
        fits(&own)
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
/// Faults of the condition.
pub fn check(condition: &Condition) -> Result<(), BadCondition> {
    Matcher::new(condition).map(drop)
}

#[cfg(test)]
mod tests {
    use codec::http::cookies::Cookies;

    use super::*;
    use crate::template::{Kept, Names, Purpose, Quoting, Table};

    /// Calls `of` with a message to this client, of which there are two by name and one without, and its
    /// values.
    fn received<T>(client: u32, kept: &Kept, opened: &Opened<'_>, of: impl Fn(Received<'_>) -> T) -> T {
        let mut rows = Table::new(1);
        assert!(["ann", "bob", ""].iter().all(|name| rows.push([*name].into_iter())));
        let client = &ClientContext { client, now_ns: 0, people: &rows, kept, cookies: &Cookies::NONE };
        of(Received { opened, client })
    }

    fn opened<'a>(event: &'a str, body: &'a [u8]) -> Opened<'a> {
        Opened { event: event.as_bytes().into(), body: body.into() }
    }

    fn of_client(text: &str) -> ConditionText {
        let mut names = Names::default();
        names.set("person.name", Template::of_column(0));
        names.set("sid", Template::of_kept(0));
        let template = Template::parse(text, Purpose::Condition, &names, Quoting::Plain).unwrap();
        ConditionText { written: text.into(), of_client: Some(template) }
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
        let matches = |event: &str, body: &[u8]| {
            received(0, Kept::NOTHING, &opened(event, body), |message| matcher.matches(message))
        };
        assert!(matches("speak", br#"{"type":"say","n":5,"room":"lobby"}"#));
        assert!(!matches("speak", br#"{"type":"say","n":5,"room":"bar"}"#));
        assert!(!matches("speak", br#"{"type":"say","n":"5","room":"lobby"}"#));
        assert!(!matches("speak", br#"{"type":"said","n":5,"room":"lobby"}"#));
        assert!(!matches("speak", b"\xff\xfe"));
        assert!(!matches("spoke", br#"{"type":"say","n":5,"room":"lobby"}"#));
    }

    #[test]
    fn empty_cells_fit_nothing_but_empty_values() {
        let text = || Some(of_client("{person.name}"));
        let json = vec![("/to".into(), JsonScalar::Text(of_client("{person.name}")))];
        let message = opened("", br#"{"to":""}"#);
        for (condition, fits) in [
            (Condition { event: text(), ..Condition::default() }, false),
            (Condition { contains: text(), ..Condition::default() }, false),
            (Condition { json, ..Condition::default() }, true),
        ] {
            let matcher = Matcher::new(&condition).unwrap();
            assert_eq!(received(2, Kept::NOTHING, &message, |it| matcher.matches(it)), fits, "{condition:?}");
        }
    }

    #[test]
    fn each_client_has_texts_of_its_own() {
        let condition = Condition {
            event: Some(of_client("to-{person.name}")),
            contains: Some(of_client("<{person.name}>")),
            json: vec![("/to".into(), JsonScalar::Text(of_client("{client}")))],
            ..Condition::default()
        };
        let matcher = Matcher::new(&condition).unwrap();
        for (event, body, expected) in [
            ("to-ann", r#"{"to":0,"t":"<ann>"}"#, [true, false]),
            ("to-bob", r#"{"to":"1","t":"<bob>"}"#, [false, true]),
            ("to-bob", r#"{"to":1,"t":"<ann>"}"#, [false; 2]),
            ("to-bob", r#"{"to":0,"t":"<bob>"}"#, [false; 2]),
            ("to-ann", r#"{"to":1,"t":"<bob>"}"#, [false; 2]),
            ("to-bob", r#"{"to":[1],"t":"<bob>"}"#, [false; 2]),
        ] {
            let message = opened(event, body.as_bytes());
            let matches = |client| received(client, Kept::NOTHING, &message, |it| matcher.matches(it));
            assert_eq!([0, 1].map(matches), expected, "{event} {body}");
        }
    }

    #[test]
    fn texts_of_clients_share_a_buffer() {
        let condition = Condition { contains: Some(of_client("<{person.name}>")), ..Condition::default() };
        let matcher = Matcher::new(&condition).unwrap();
        let Test::OfClient(test) = &matcher.tests[0] else { panic!("{matcher:?}") };
        let message = opened("", b"<bob>");
        let buffer_of = |client| {
            let fits = received(client, Kept::NOTHING, &message, |it| matcher.matches(it));
            (fits, test.own.borrow().as_ptr())
        };
        let (ann, bob) = (buffer_of(0), buffer_of(1));
        assert_eq!((ann.0, bob.0, bob.1), (false, true, ann.1));
    }

    #[test]
    fn a_value_not_kept_yet_fits_nothing() {
        let condition = Condition { contains: Some(of_client("{sid}")), ..Condition::default() };
        let matcher = Matcher::new(&condition).unwrap();
        let message = opened("", b"for s1");
        let mut kept = Kept::default();
        assert!(!received(0, &kept, &message, |it| matcher.matches(it)));
        kept.values.set(0, "s1");
        assert!(received(0, &kept, &message, |it| matcher.matches(it)));
        kept.values.set(0, "s2");
        assert!(!received(0, &kept, &message, |it| matcher.matches(it)));
    }

    #[test]
    fn misses_are_as_written() {
        let condition = Condition {
            event: Some(of_client("to-{person.name}")),
            contains: Some("lobby".into()),
            json: vec![
                ("/type".into(), JsonScalar::Text("say".into())),
                ("/a~1b/n".into(), JsonScalar::Bare("5".into())),
                ("/to".into(), JsonScalar::Text(of_client("{client}"))),
            ],
            ..Condition::default()
        };
        let matcher = Matcher::new(&condition).unwrap();
        let wants: Vec<String> = matcher.wants().collect();
        let expected = [
            r#""/type" = "say""#,
            r#""/a~1b/n" = 5"#,
            r#"contains = "lobby""#,
            r#"event = "to-{person.name}""#,
            r#""/to" = "{client}""#,
        ];
        assert_eq!(wants, expected);
        let message = opened("to-ann", br#"{"type":"say","a/b":{"n":6}}"#);
        assert_eq!(received(0, Kept::NOTHING, &message, |it| matcher.first_miss(it)), 1);
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
