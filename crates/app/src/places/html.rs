//! Values in a page: of a form's field, of a `meta`, of an attribute. The page is looked through for its
//! tags, not parsed.

use std::borrow::Cow;

/// Elements whose content is text, whatever it looks like (HTML §13.1.2), and has no fields in it.
const RAW_TEXT: [&str; 2] = ["script", "style"];

/// No character reference that is understood here is longer.
const REFERENCE_BYTES_MAX: usize = "&#x0010ffff;".len();

/// The page's value under this name: the `value` or `content` of the first tag whose `name` or `property` it
/// is, or the first attribute of that name, whichever comes first.
pub(super) fn find<'a>(page: &'a str, name: &str) -> Option<Cow<'a, str>> {
    Tags { rest: Some(page) }.find_map(|attributes| {
        let (mut is_meant, mut says, mut own) = (false, None, None);
        for (attribute, value) in attributes {
            if is_name(attribute) {
                is_meant |= unescaped(value) == name;
            } else if is_value(attribute) {
                says = says.or(Some(value));
            }
            if attribute.eq_ignore_ascii_case(name) {
                own = own.or(Some(value));
            }
        }
        says.filter(|_| is_meant).or(own).map(unescaped)
    })
}

/// The name under which `find` returns a value of the page.
pub fn name_in_page(page: &str, value: &str) -> Option<String> {
    Tags { rest: Some(page) }.find_map(|attributes| {
        let is_it = |text: &str| unescaped(text) == value;
        let (attribute, _) = *attributes.iter().find(|(_, text)| is_it(text))?;
        let named = attributes.iter().find(|(attribute, _)| is_name(attribute));
        let name = match named.filter(|_| is_value(attribute)) {
            Some((_, name)) => unescaped(name).into_owned(),
            None => attribute.to_owned(),
        };
        // An earlier tag may have the same name, and something else under it.
        find(page, &name).is_some_and(|found| found == value).then_some(name)
    })
}

/// Returns whether an attribute names its tag; `property` is how Open Graph's metas are named.
fn is_name(attribute: &str) -> bool {
    attribute.eq_ignore_ascii_case("name") || attribute.eq_ignore_ascii_case("property")
}

/// Returns whether an attribute is the value of its tag.
fn is_value(attribute: &str) -> bool {
    attribute.eq_ignore_ascii_case("value") || attribute.eq_ignore_ascii_case("content")
}

/// The attributes of each tag of a page; for a tag that does not end, attributes are read up to the end of
/// the page.
struct Tags<'a> {
    rest: Option<&'a str>,
}

impl<'a> Iterator for Tags<'a> {
    type Item = Vec<(&'a str, &'a str)>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut rest = self.rest.take()?;
        loop {
            rest = &rest[rest.find('<')? + 1..];
            if let Some(comment) = rest.strip_prefix("!--") {
                rest = &comment[comment.find("-->")?..];
                continue;
            }
            if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
                continue;
            }
            let (element, after) = rest.split_at(rest.find(|c: char| is_end_of_name(c))?);
            let mut attributes = Attributes { rest: after };
            let found = attributes.by_ref().collect();
            self.rest = attributes.rest.strip_prefix('>').and_then(|rest| {
                let is_raw = RAW_TEXT.iter().any(|raw| element.eq_ignore_ascii_case(raw));
                if is_raw { Some(&rest[end_of(rest, element)?..]) } else { Some(rest) }
            });
            return Some(found);
        }
    }
}

fn is_end_of_name(c: char) -> bool {
    c.is_ascii_whitespace() || c == '/' || c == '>'
}

/// The end of an element's content.
fn end_of(text: &str, element: &str) -> Option<usize> {
    text.match_indices("</").map(|(at, _)| at).find(|at| {
        let name = text.get(at + 2..at + 2 + element.len());
        name.is_some_and(|name| name.eq_ignore_ascii_case(element))
    })
}

/// The attributes of a tag, and what is behind it.
struct Attributes<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/' || c == '=');
        self.rest = rest;
        let end = rest.find(|c: char| is_end_of_name(c) || c == '=')?;
        if end == 0 {
            return None;
        }
        let (name, rest) = rest.split_at(end);
        let Some(value) = rest.trim_start().strip_prefix('=') else {
            self.rest = rest;
            return Some((name, ""));
        };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, rest) = match quote {
            Some(quote) => value[1..].split_once(quote)?,
            None => value.split_at(value.find(|c: char| c.is_ascii_whitespace() || c == '>')?),
        };
        self.rest = rest;
        Some((name, value))
    }
}

/// A value without the character references that frameworks write (HTML §13.2.5.72).
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain += &rest[..at];
        rest = &rest[at..];
        // Bounded: each of a megabyte of ampersands would otherwise be searched to the end of the page.
        let end = rest.bytes().take(REFERENCE_BYTES_MAX).position(|byte| byte == b';');
        let reference = end.and_then(|end| Some((character(&rest[1..end])?, end + 1)));
        let (character, length) = reference.unwrap_or(('&', 1));
        plain.push(character);
        rest = &rest[length..];
    }
    (plain + rest).into()
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let hex = number.strip_prefix(['x', 'X']).map(|digits| u32::from_str_radix(digits, 16));
            char::from_u32(hex.unwrap_or_else(|| number.parse()).ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<!doctype html><html><head>
<!-- <input name="csrf" value="of a comment"> -->
<script>if (a < b) document.write('<input name="csrf" value="of a script">')</script>
<META content='m&amp;1' name=csrf-token><meta property="og:title" content="T">
</head><body><p title="a > b">1 < 2 && 3</p>
<form action=/go><input type=hidden value="x&quot;&#39;&#x3d;&unknown; &" name="csrf" /><input name=bare value=v2></form>
<turbo-cable-stream-source channel="Turbo::StreamsChannel" signed-stream-name="IloiLS0x=="></turbo-cable-stream-source>
<input name=empty value="">"#;

    #[test]
    fn fields_metas_and_attributes() {
        let found = |name| find(PAGE, name).map(Cow::into_owned);
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(found("csrf"), said("x\"'=&unknown; &"));
        assert_eq!(found("csrf-token"), said("m&1"));
        assert_eq!(found("og:title"), said("T"));
        assert_eq!(found("bare"), said("v2"));
        assert_eq!(found("signed-stream-name"), said("IloiLS0x=="));
        assert_eq!(found("title"), said("a > b"));
        assert_eq!(found("empty"), said(""));
        assert_eq!(found("none"), None);
    }

    #[test]
    fn values_lead_back_to_their_names() {
        for (value, name) in [
            ("x\"'=&unknown; &", Some("csrf")),
            ("m&1", Some("csrf-token")),
            ("IloiLS0x==", Some("signed-stream-name")),
            ("v2", Some("bare")),
            ("of a comment", None),
            ("none", None),
        ] {
            assert_eq!(name_in_page(PAGE, value).as_deref(), name, "{value}");
        }
        assert_eq!(name_in_page(r#"<a id="1"><a id="2">"#, "2"), None);
    }

    /// A megabyte of either would keep a worker for a minute if each began a search to the end of the page.
    #[test]
    fn a_page_is_looked_through_once() {
        let ampersands = format!(r#"<a name="{}">"#, "&".repeat(1 << 20));
        let tags = "<a/b=".repeat(200_000);
        for page in [&ampersands, &tags] {
            assert_eq!(find(page, "none"), None);
        }
    }

    #[test]
    fn half_a_page_is_no_panic() {
        for end in (0..PAGE.len()).filter(|&end| PAGE.is_char_boundary(end)) {
            find(&PAGE[..end], "none");
            find(&PAGE[end..], "none");
        }
        for odd in
            ["<", "<a", "<a b", "<a b=", "<a b='", "<a =>", "<script", "<script>", "<!--", "<é>", "<a/é=ü>"]
        {
            assert_eq!(find(odd, "x"), None, "{odd}");
        }
    }
}
