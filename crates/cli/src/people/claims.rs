//! Claims of a token: a table of TOML becomes JSON with holes.

use std::fmt;

use app::template::{Names, Purpose, Quoting, Template};
use results::units;

const NS_PER_S: u64 = 1_000_000_000;
/// The claims that are times, in seconds since 1970 (RFC 7519 §4.1).
const TIMES: [&str; 3] = ["exp", "iat", "nbf"];

/// A claim that cannot be made, and why.
#[derive(Debug)]
pub(crate) struct BadClaim {
    pub(crate) claim: String,
    problem: String,
}

impl fmt::Display for BadClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

/// The payload of a token that makes these claims.
pub(crate) fn claims<'a>(
    claims: impl Iterator<Item = (&'a str, &'a toml::Value)>,
    names: &Names,
) -> Result<Template, BadClaim> {
    let mut object = Template::literal("{");
    for (n, (name, value)) in claims.enumerate() {
        let value = match TIMES.contains(&name) {
            true => time(value),
            false => json(value, names),
        };
        let value = value.map_err(|problem| BadClaim { claim: name.to_owned(), problem })?;
        object = object.text(if n == 0 { "" } else { "," }).text(quoted(name)).text(":").then(&value);
    }
    Ok(object.text("}"))
}

/// A time from the moment at which the token is signed, or one that is the same for all.
fn time(value: &toml::Value) -> Result<Template, String> {
    let expected = "expected a time from now such as \"+1h\" or \"-30s\", or a number of seconds since 1970";
    match value {
        toml::Value::Integer(second) if *second >= 0 => Ok(Template::literal(second.to_string())),
        toml::Value::String(text) => {
            let (sign, duration) = match text.split_at_checked(1) {
                Some(("+", duration)) => (1, duration),
                Some(("-", duration)) => (-1, duration),
                _ => return Err(expected.to_owned()),
            };
            let ns = units::time_ns(duration).map_err(|error| format!("{expected}; {error}"))?;
            if ns % NS_PER_S != 0 {
                return Err(format!("{expected}: in whole seconds"));
            }
            let ahead_s = i64::try_from(ns / NS_PER_S).map_err(|_| expected.to_owned())?;
            Ok(Template::of_second(sign * ahead_s))
        }
        _ => Err(expected.to_owned()),
    }
}

/// A value as JSON, in whose texts names stand for what is each client's own.
pub(crate) fn json(value: &toml::Value, names: &Names) -> Result<Template, String> {
    Ok(match value {
        toml::Value::String(text) => {
            let plain = super::template(text, Purpose::Opening, names, Quoting::Plain)?;
            Template::literal("\"").then(&plain.quoted(Quoting::JSON)).text("\"")
        }
        toml::Value::Integer(number) => Template::literal(number.to_string()),
        toml::Value::Float(number) if number.is_finite() => Template::literal(number.to_string()),
        toml::Value::Boolean(word) => Template::literal(word.to_string()),
        toml::Value::Array(items) => {
            let mut array = Template::literal("[");
            for (n, item) in items.iter().enumerate() {
                array = array.text(if n == 0 { "" } else { "," }).then(&json(item, names)?);
            }
            array.text("]")
        }
        toml::Value::Table(members) => {
            let mut object = Template::literal("{");
            for (n, (name, member)) in members.iter().enumerate() {
                object = object.text(if n == 0 { "" } else { "," }).text(quoted(name)).text(":");
                object = object.then(&json(member, names)?);
            }
            object.text("}")
        }
        _ => return Err("expected a string, a number, true, false, an array or a table".to_owned()),
    })
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(toml: &str) -> Result<String, BadClaim> {
        let table: toml::Table = toml.parse().unwrap();
        let names = app::people::People::default().names;
        let template = claims(table.iter().map(|(name, value)| (name.as_str(), value)), &names)?;
        Ok(String::from_utf8(template.sample()).unwrap())
    }

    #[test]
    fn a_table_becomes_json() {
        let toml = r#"sub = "user-{person.id}"
n = 1
x = 1.5
ok = true
roles = ["a \"b\"", 2]
of = { "k\"" = "{person.id}" }
exp = "+1h"
nbf = 5"#;
        let expected = r#"{"exp":0,"n":1,"nbf":5,"of":{"k\"":"0"},"ok":true,"roles":["a \"b\"",2],"sub":"user-0","x":1.5}"#;
        let json = payload(toml).unwrap();
        let [got, expected] =
            [&json, expected].map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
        assert_eq!(got, expected, "{json}");
    }

    #[test]
    fn nonsense_is_told_with_what_was_expected() {
        for (toml, claim, named) in [
            ("exp = '1h'", "exp", "\"+1h\""),
            ("exp = 'never'", "exp", "\"+1h\""),
            ("exp = ''", "exp", "\"+1h\""),
            ("exp = '+1x'", "exp", "1x"),
            ("exp = '+1500ms'", "exp", "\"+1h\""),
            ("iat = -1", "iat", "1970"),
            ("nbf = true", "nbf", "1970"),
            ("at = 1979-05-27", "at", ""),
            ("x = nan", "x", ""),
            ("name = '{person.name}'", "name", "{person.id}, {room}"),
            ("t = '{token}'", "t", "--jwt-secret"),
        ] {
            let bad = payload(toml).unwrap_err();
            assert!(bad.claim == claim && bad.to_string().contains(named), "{toml}: {bad}");
        }
    }
}
