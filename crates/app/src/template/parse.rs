//! A template from a user's text.

use std::fmt;
use std::ops::Range;

use percent_encoding::percent_decode_str;

use super::functions::{Call, FORMS, Function};
use super::names::Names;
use super::pieces::{Piece, Template};
use super::quoting::Quoting;

/// Purposes of templates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A message that is measured, and so has an id, a time and padding.
    Measured,
    /// A measured message whose answer has its number, so that it needs no id of its own.
    Numbered,
    /// For joining a room, which may announce the newcomer to the others there: with an id.
    Joining,
    /// Any other message.
    Other,
    /// A text that incoming messages are compared with, which depends on the client alone.
    Condition,
    /// For requests and tokens' claims, before there are messages.
    Opening,
}

/// Messages, and not what comes before them.
const SAID: &[Purpose] = &[Purpose::Measured, Purpose::Numbered, Purpose::Joining, Purpose::Other];

/// The same, and what they are compared with.
const SAID_OR_HEARD: &[Purpose] =
    &[Purpose::Measured, Purpose::Numbered, Purpose::Joining, Purpose::Other, Purpose::Condition];

/// The placeholders that stand for themselves, and the purposes that have them.
const NAMES: [(&str, Piece, &[Purpose]); 7] = [
    ("id", Piece::Id, &[Purpose::Measured, Purpose::Numbered, Purpose::Joining]),
    ("id:uuid", Piece::IdUuid, &[Purpose::Measured, Purpose::Numbered]),
    ("intended_ns", Piece::IntendedNs, &[Purpose::Measured, Purpose::Numbered]),
    ("unix_ns", Piece::UnixNs, &[Purpose::Measured, Purpose::Numbered]),
    ("padding", Piece::Padding, &[Purpose::Measured, Purpose::Numbered]),
    ("client", Piece::Client, SAID_OR_HEARD),
    ("seq", Piece::Seq, SAID),
];

/// The name of the wall clock's millisecond, which is no function in spite of its colon.
const NOW_MS: &str = "now:ms";

/// The most functions within each other: for each, reader and writer call themselves. Few need three.
const CALLS_DEPTH_MAX: usize = 8;

/// Prefixes of the names of columns, which may have any characters.
const OF_COLUMNS: [&str; 2] = ["data.", "person."];

/// A template that is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadTemplate {
    /// A placeholder that is not there for this purpose.
    Unknown {
        /// The placeholder's range in the text.
        at: Range<usize>,
        /// The placeholders that are.
        known: Vec<String>,
    },
    /// A function within too many others.
    TooDeep {
        /// The range of the innermost in the text.
        at: Range<usize>,
    },
    /// A message that is measured, without `{id}`.
    NoId,
}

impl fmt::Display for BadTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadTemplate::Unknown { known, .. } => {
                write!(f, "no such placeholder here; there are {}", known.join(", "))
            }
            BadTemplate::TooDeep { at } => {
                write!(f, "functions within functions: {CALLS_DEPTH_MAX} at most (byte {})", at.start)
            }
            BadTemplate::NoId => f.write_str("a message that is measured must carry {id}, to be known again"),
        }
    }
}

impl Template {
    /// Reads a template of an app's file, where every lower-case name in braces is a placeholder. What these
    /// stand for is written as `quoting` says, and the text around them stays as it is.
    pub fn parse(
        text: &str,
        purpose: Purpose,
        names: &Names,
        quoting: Quoting,
    ) -> Result<Template, BadTemplate> {
        let mut template = read_message(text, purpose, names, quoting, 0)
            .map_err(|(at, fault)| fault.told(at, purpose, names))?;
        template.number_draws(&mut 0);
        if purpose == Purpose::Measured && !template.has_id() {
            return Err(BadTemplate::NoId);
        }
        Ok(template)
    }

    /// Reads a text of the command line that goes into a request or a join. Braces are common there, as in a
    /// query that has one of GraphQL's: a placeholder without a known name is text, unless it can only be
    /// meant as one.
    pub fn opening(text: &str, names: &Names, quoting: Quoting) -> Result<Template, BadTemplate> {
        let own = |name: &str, _| match names.get(name) {
            None if is_call(name) => Read::Text,
            _ => own(name, names),
        };
        let mut template =
            read(text, quoting, own).map_err(|(at, fault)| fault.told(at, Purpose::Opening, names))?;
        template.number_draws(&mut 0);
        Ok(template)
    }

    /// Reads a path with its query, in which braces may have been percent-encoded on their way.
    pub fn target(text: &str, names: &Names) -> Result<Template, BadTemplate> {
        let mut plain = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, name, after)) = encoded_placeholder(rest) {
            let decoded = percent_decode_str(name).decode_utf8_lossy();
            plain.push_str(before);
            plain.push_str(&match own(&decoded, names) {
                // Back as it came: decoded braces would be another path.
                Read::Text => format!("%7B{name}%7D"),
                Read::Meaning(_) | Read::Bytes(_) | Read::Unknown | Read::Within(..) => {
                    format!("{{{decoded}}}")
                }
            });
            rest = after;
        }
        plain.push_str(rest);
        Template::opening(&plain, names, Quoting::Percent)
    }
}

/// The names in braces of a text, in its order.
pub fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let (at, name) = placeholder(text, from)?;
        from = at.end;
        Some(name)
    })
}

/// Kinds of names in braces.
enum Read {
    Meaning(Template),
    /// These, whatever is around them.
    Bytes(Vec<u8>),
    Text,
    Unknown,
    /// A fault within its argument, at these bytes.
    Within(Range<usize>, Fault),
}

impl Read {
    /// A placeholder that stands for this, if it may for this purpose.
    fn of(meaning: Option<Template>, purpose: Purpose) -> Read {
        let is_fit = |meaning: &Template| purpose != Purpose::Condition || meaning.is_of_client();
        meaning.filter(is_fit).map_or(Read::Unknown, Read::Meaning)
    }
}

/// Reasons why a placeholder cannot be read.
#[derive(Clone, Copy)]
enum Fault {
    Unknown,
    TooDeep,
}

impl Fault {
    fn told(self, at: Range<usize>, purpose: Purpose, names: &Names) -> BadTemplate {
        match self {
            Fault::Unknown => BadTemplate::Unknown { at, known: known(purpose, names) },
            Fault::TooDeep => BadTemplate::TooDeep { at },
        }
    }
}

/// Reads a name where only a user's own names are placeholders.
fn own(name: &str, names: &Names) -> Read {
    match names.get(name) {
        Some(meaning) => Read::Meaning(meaning.clone()),
        None if name == "token" || name.starts_with("person.") || name.starts_with("room.") => Read::Unknown,
        None => Read::Text,
    }
}

/// Reads a text of an app's file, within so many functions.
///
/// # Errors
/// The range of the first placeholder that cannot be read, and its fault.
fn read_message(
    text: &str,
    purpose: Purpose,
    names: &Names,
    quoting: Quoting,
    depth: usize,
) -> Result<Template, (Range<usize>, Fault)> {
    read(text, quoting, |name, start| {
        let is_own = name == NOW_MS || NAMES.iter().any(|(known, ..)| *known == name);
        if is_own || !is_call(name) {
            return Read::of(meaning(name, purpose, names), purpose);
        }
        let Some(call) = Call::read(name) else { return Read::Unknown };
        let of = call.of().unwrap_or_default();
        let end = start + name.len();
        if depth == CALLS_DEPTH_MAX {
            return Read::Within(start - 1..end + 1, Fault::TooDeep);
        }
        // What it is of stands at its end.
        let at = end - of.len();
        match read_message(of, purpose, names, Quoting::Plain, depth + 1) {
            Ok(of) => match call.function(of) {
                Some(function) => {
                    Read::of(Some(Template::default().hole(Piece::Function(function.into()))), purpose)
                }
                None => Read::Bytes(call.bytes().unwrap_or_default()),
            },
            Err((bad, fault)) => Read::Within(at + bad.start..at + bad.end, fault),
        }
    })
}

/// Returns whether what stands in braces is a function's name, and what it is given.
fn is_call(name: &str) -> bool {
    name.split_once(':').is_some_and(|(name, _)| is_function_name(name))
}

fn is_function_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// Reads a text. `of` is told what stands in braces, and where.
///
/// # Errors
/// The range of the first placeholder that cannot be read, and its fault.
fn read(
    text: &str,
    quoting: Quoting,
    of: impl Fn(&str, usize) -> Read,
) -> Result<Template, (Range<usize>, Fault)> {
    let mut template = Template::default();
    let (mut taken, mut from) = (0, 0);
    while let Some((at, name)) = placeholder(text, from) {
        from = at.end;
        match of(name, at.start + 1) {
            Read::Text => continue,
            Read::Unknown => return Err((at, Fault::Unknown)),
            Read::Bytes(bytes) => {
                template = template.text(&text[taken..at.start]).text(bytes);
                taken = at.end;
            }
            Read::Within(at, fault) => return Err((at, fault)),
            Read::Meaning(meaning) => {
                template = template.text(&text[taken..at.start]).then(&meaning.quoted(quoting));
                taken = at.end;
            }
        }
    }
    Ok(template.text(&text[taken..]))
}

/// The next placeholder from `from` on: its range, with its braces, and its name.
fn placeholder(text: &str, from: usize) -> Option<(Range<usize>, &str)> {
    text[from..].match_indices('{').find_map(|(at, _)| {
        let start = from + at;
        if let Some(call) = call_at(&text[start + 1..]) {
            return Some((start..start + 2 + call.len(), call));
        }
        let name = &text[start + 1..start + 1 + text[start + 1..].find('}')?];
        let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'.';
        let looks_like_one = name.starts_with(|c: char| c.is_ascii_lowercase())
            && (OF_COLUMNS.iter().any(|start| name.starts_with(start)) || name.bytes().all(is_name));
        (looks_like_one && !name.contains(['{', '"'])).then(|| (start..start + 2 + name.len(), name))
    })
}

/// A call that the text starts with, up to the brace that closes it: a function, or what can only be meant
/// for one.
fn call_at(text: &str) -> Option<&str> {
    let (name, rest) = text.split_once(':')?;
    let is_meant =
        || is_function_name(name) && rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '{');
    if !Call::NAMES.contains(&name) && !is_meant() {
        return None;
    }
    let mut depth = 0;
    let end = text.bytes().position(|byte| {
        // The text a function is given may have placeholders of its own.
        depth += i32::from(byte == b'{') - i32::from(byte == b'}');
        depth < 0
    })?;
    Some(&text[..end])
}

/// The next name between percent-encoded braces, and what is before and behind these.
fn encoded_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("%7B")?;
    let (name, after) = rest.split_once("%7D")?;
    Some((before, name, after))
}

fn meaning(name: &str, purpose: Purpose, names: &Names) -> Option<Template> {
    if let Some(own) = names.get(name) {
        return Some(own.clone());
    }
    let computed = match name {
        "now" => Some(Piece::Second { ahead_s: 0 }),
        NOW_MS => Some(Piece::Millisecond),
        "uuid" => Some(Piece::Function(Box::new(Function::Uuid { nth: 0 }))),
        _ => None,
    };
    if let Some(piece) = computed {
        return Some(Template::default().hole(piece));
    }
    let (_, piece, _) = NAMES.iter().find(|(known, _, of)| *known == name && of.contains(&purpose))?;
    Some(Template::default().hole(piece.clone()))
}

fn known(purpose: Purpose, names: &Names) -> Vec<String> {
    let built_in = NAMES.iter().filter(|(_, _, of)| of.contains(&purpose)).map(|(name, ..)| *name);
    let (of_data, others): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| name.starts_with("data."));
    let written = built_in.chain(of_data).chain(others).map(|name| format!("{{{name}}}"));
    // Not by `parse`: the error of a name that cannot be read would ask for the known ones in turn.
    let is_fit = |form: &String| {
        purpose != Purpose::Condition || read_message(form, purpose, names, Quoting::Plain, 0).is_ok()
    };
    written.chain(FORMS.map(str::to_owned)).filter(is_fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::pieces::tests::nobody;
    use crate::template::{ClientContext, Filling, Mark, Table};
    use codec::stamp::Stamp;

    fn names() -> Names {
        let mut names = Names::default();
        names.set("data.user", Template::of_column(0));
        names.set("data.e-mail", Template::of_column(1));
        names.set("person.id", Template::of_client());
        names
    }

    fn filled(template: &Template, client: u32) -> String {
        let mut rows = Table::new(2);
        assert!(rows.push(["ann", "a@x"].into_iter()) && rows.push(["bob", "b@x"].into_iter()));
        let stamp = Stamp::new(1, 2, 3, 456, 789);
        let context = ClientContext { client, ..nobody(&rows) };
        let filling = Filling { mark: Mark { stamp: &stamp, unix_ns: 5 }, seq: 9, context, tail: b"" };
        let mut out = Vec::new();
        template.padded(12).write(&mut out, &filling, 0);
        String::from_utf8(out).unwrap().replace(std::str::from_utf8(&stamp.to_text()).unwrap(), "ID")
    }

    fn written(text: &str, purpose: Purpose, client: u32) -> String {
        filled(&Template::parse(text, purpose, &names(), Quoting::JSON).unwrap(), client)
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_text() {
        let text = r#"{"id":"{id}","a":{},"b":{"c":[{client},{seq}]},"t":{intended_ns},"u":{unix_ns}}{"#;
        let expected = r#"{"id":"ID","a":{},"b":{"c":[7,9]},"t":456,"u":5}{"#;
        assert_eq!(written(text, Purpose::Measured, 7), expected);
        assert_eq!(written("{padding}{id}{padding}", Purpose::Measured, 0), "123456789012ID123456789012");
        assert_eq!(written("{ id} {Id} {} {{seq}} é", Purpose::Other, 0), "{ id} {Id} {} {9} é");
    }

    #[test]
    fn times_are_in_seconds_or_milliseconds() {
        let [seconds, milliseconds]: [u64; 2] =
            ["{now}", "{now:ms}"].map(|text| written(text, Purpose::Other, 0).parse().unwrap());
        assert!(
            (seconds * 1_000..=seconds * 1_000 + 999).contains(&milliseconds),
            "{seconds} {milliseconds}"
        );
        assert_ne!(milliseconds, 0);
        let bad = Template::parse("{now:us}", Purpose::Other, &names(), Quoting::Plain);
        assert!(matches!(bad, Err(BadTemplate::Unknown { .. })), "{bad:?}");
    }

    #[test]
    fn clients_take_the_rows_in_turn() {
        let text = "{data.user}:{data.e-mail}";
        assert_eq!(written(text, Purpose::Other, 0), "ann:a@x");
        assert_eq!(written(text, Purpose::Other, 1), "bob:b@x");
        assert_eq!(written(text, Purpose::Other, 4), "ann:a@x");
    }

    #[test]
    fn unknown_placeholders_name_the_known_ones() {
        let bad = |text, purpose| Template::parse(text, purpose, &names(), Quoting::Plain).unwrap_err();
        assert_eq!(bad("x", Purpose::Measured), BadTemplate::NoId);
        for (text, at) in [("a{idd}", 1..6), ("{id}{data.usr}", 4..14), ("é{uuix}", 2..8)] {
            let BadTemplate::Unknown { at: found, known } = bad(text, Purpose::Measured) else { panic!() };
            assert_eq!(found, at, "{text}");
            assert!(known.contains(&"{id}".into()) && known.contains(&"{data.user}".into()), "{known:?}");
        }
        for (purpose, first) in [(Purpose::Other, &["{client}", "{seq}"][..]), (Purpose::Opening, &[])] {
            let BadTemplate::Unknown { known, .. } = bad("{id}", purpose) else { panic!() };
            let names = ["{data.e-mail}", "{data.user}", "{person.id}"];
            assert_eq!(known, [first, &names, &FORMS].concat());
        }
    }

    #[test]
    fn functions_within_too_many_are_refused() {
        let nested = |calls: usize| {
            let text = format!("é{}{{client}}{}", "{sha1:".repeat(calls), "}".repeat(calls));
            Template::parse(&text, Purpose::Other, &Names::default(), Quoting::Plain)
        };
        assert!(nested(CALLS_DEPTH_MAX).is_ok());
        for calls in [CALLS_DEPTH_MAX + 1, 1_000] {
            let start = 2 + CALLS_DEPTH_MAX * "{sha1:".len();
            let inner = calls - CALLS_DEPTH_MAX;
            let at = start..start + inner * "{sha1:}".len() + "{client}".len();
            assert_eq!(nested(calls), Err(BadTemplate::TooDeep { at }), "{calls}");
        }
    }

    #[test]
    fn functions_are_text_unless_they_are_named() {
        let text = "/{base64:{person.id}:x}?q={a}";
        assert_eq!(placeholders(text).collect::<Vec<_>>(), ["base64:{person.id}:x", "a"]);
        let mut names = names();
        let target = |names: &Names| filled(&Template::target(text, names).unwrap(), 7);
        assert_eq!(target(&names), text);
        let call = Template::parse("{base64:{person.id}:x}", Purpose::Opening, &names, Quoting::Plain);
        names.set("base64:{person.id}:x", call.unwrap());
        assert_eq!(target(&names), "/Nzp4?q={a}");
        names.set("uuid", Template::parse("{uuid}", Purpose::Opening, &names, Quoting::Plain).unwrap());
        let both = filled(&Template::opening("{uuid}/{uuid}", &names, Quoting::Plain).unwrap(), 7);
        assert_ne!(both[..36], both[37..]);
    }

    #[test]
    fn on_the_command_line_other_braces_are_text() {
        let target = |text: &str| Template::target(text, &names()).map(|template| filled(&template, 3));
        assert_eq!(target("/u/{person.id}?q={me{name}}").as_deref(), Ok("/u/3?q={me{name}}"));
        assert_eq!(
            target("/%7Bperson.id%7D/%7Bx%7D?m={data.e-mail}").as_deref(),
            Ok("/3/%7Bx%7D?m=b%40x"),
            "as URLs have them"
        );
        assert_eq!(target("/%7bperson.id%7d").as_deref(), Ok("/%7bperson.id%7d"), "recorded as text");
        for (text, at) in [("/?t={token}", 4..11), ("/{person.name}", 1..14)] {
            let Err(BadTemplate::Unknown { at: found, known }) = target(text) else { panic!("{text}") };
            assert!(found == at && known.contains(&"{person.id}".to_owned()), "{found:?} {known:?}");
        }
    }
}
