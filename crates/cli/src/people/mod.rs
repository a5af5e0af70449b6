//! The clients' identities, as users say it: rows of a CSV file, and a token that is signed for each
//! (docs/APP.md).

mod args;
mod claims;
mod explain;
mod table;

use std::path::Path;

use app::people::{Algorithm, Division, Jwt, People};
use app::template::{Names, Quoting, Template};
use load::ClientSpec;
use wire::{FlagKind, OwnRoom};

use crate::exit::Failure;
use crate::protocol_flags;

pub(crate) use args::{PeopleArgs, equal_rooms, exponent_milli, unequal_rooms};
pub(crate) use claims::{claims, json};
pub(crate) use explain::{explained, template};

/// The lifetime of a token without claims of its own.
const HOUR_S: i64 = 3600;
/// The placeholder of the token.
pub(crate) const TOKEN: &str = "token";
/// The prefix of the placeholders of columns, which may be left out where an app's file has nothing but data.
pub(crate) const PERSON: &str = "person.";
pub(crate) const DATA: &str = "data.";

/// Reads the clients' identities from the command line.
pub(crate) fn of_flags(args: &PeopleArgs, rooms: Division) -> Result<People, Failure> {
    let mut people = People::in_rooms(rooms);
    if let Some(path) = &args.people {
        refuse_number(path)?;
        set_rows(&mut people, "--users", path, &[PERSON])?;
    }
    if let Some(key) = &args.jwt_secret {
        let claims = usual_claims(&people.names);
        let jwt = Jwt { algorithm: Algorithm::Hs256, key: key.clone(), key_id: None, claims };
        set_token(&mut people, jwt);
    }
    Ok(people)
}

/// Refuses a number in place of a file: it is of clients, who are called users elsewhere.
fn refuse_number(path: &Path) -> Result<(), Failure> {
    let count = path.to_str().and_then(|text| text.parse::<u64>().ok());
    match count.filter(|_| !path.exists()) {
        Some(count) => {
            let problem =
                format!("{count} is no CSV file of users' data: for {count} clients, type --clients {count}");
            Err(Failure::usage("--users", problem))
        }
        None => Ok(()),
    }
}

/// Reads the rows that a flag names, and gives their columns names that start with each of these.
pub(crate) fn set_rows(
    people: &mut People,
    flag: &str,
    path: &Path,
    prefixes: &[&str],
) -> Result<(), Failure> {
    let table = table::read(flag, path)?;
    for prefix in prefixes {
        // A table may have as many columns as there are numbers: a range without an end steps beyond them.
        for (column, name) in (0..=u16::MAX).zip(&table.columns) {
            people.names.set(format!("{prefix}{name}"), Template::of_column(column));
        }
    }
    people.rows = table.rows;
    Ok(())
}

/// Gives all clients such a token.
pub(crate) fn set_token(people: &mut People, jwt: Jwt) {
    people.token = Some(jwt);
    people.names.set(TOKEN, Template::of_token());
}

/// The default claims of a token.
pub(crate) fn usual_claims(names: &Names) -> Template {
    let id = names.get("person.id").expect("everybody has one").quoted(Quoting::JSON);
    Template::literal(r#"{"sub":""#)
        .then(&id)
        .text(r#"","exp":"#)
        .then(&Template::of_second(HOUR_S))
        .text("}")
}

/// Puts a token that is put nowhere else where the protocol's own clients have it. `is_said`: the app says
/// it.
pub(crate) fn place_token(client_spec: &mut ClientSpec, is_said: bool) {
    let hole = format!("{{{TOKEN}}}");
    let is_there = client_spec.people.names.get(TOKEN).is_some() && client_spec.of_dialect.token.is_none();
    if is_there && !is_said && !texts(client_spec).iter().any(|(_, text)| text.contains(&hole)) {
        client_spec.of_dialect.token = Some(hole.into());
    }
}

/// Returns whether anything that clients join with may be each client's own.
pub(crate) fn tells_apart(client_spec: &ClientSpec) -> bool {
    texts(client_spec).iter().any(|(_, text)| names_one(text, &client_spec.people.names))
}

/// Returns whether a text has one of the names in it.
pub(crate) fn names_one(text: &str, names: &Names) -> bool {
    names.iter().any(|name| text.contains(&format!("{{{name}}}")))
}

/// Has clients tell throng's own server their rooms, in the way that it reads for their dialect.
pub(crate) fn in_own_rooms(mut client_spec: ClientSpec) -> ClientSpec {
    match client_spec.dialect.facts().own_room {
        OwnRoom::Query => {
            let path = client_spec.path.reveal();
            let sign = if path.contains('?') { '&' } else { '?' };
            client_spec.path = format!("{path}{sign}room={{room}}").into();
        }
        OwnRoom::Flag(name, text) => {
            let settings = std::mem::take(&mut client_spec.of_dialect.settings);
            client_spec.of_dialect.settings = settings.with(name, text.to_owned());
        }
    }
    client_spec
}

/// Names the places where a server may look for a client's room, for a user who has filled in none.
pub(crate) fn room_places(client_spec: &ClientSpec) -> String {
    let own = match client_spec.dialect.facts().own_room {
        OwnRoom::Query => "?room={room} behind the URL".to_owned(),
        OwnRoom::Flag(name, text) => format!("--{name} '{text}'"),
    };
    format!(
        "put {{room}} where the server looks for it: into the URL, -H, the flags of the protocol, or an app's file ({own} for throng serve)"
    )
}

/// Refuses placeholders of the command line that name a column that is not there, or stand where none can.
pub(crate) fn check(client_spec: &ClientSpec) -> Result<(), Failure> {
    let template = |flag: &str, text: &str| {
        Template::opening(text, &client_spec.people.names, Quoting::Plain)
            .map_err(|bad| Failure::usage(flag, explained(text, &bad)))
    };
    for (flag, text) in texts(client_spec) {
        template(&flag, &text)?;
    }
    for (name, text) in client_spec.of_dialect.settings.texts().filter(|(name, _)| !is_own(name)) {
        let flag = format!("--{name}");
        if template(&flag, text)? != Template::literal(text) {
            return Err(Failure::usage(
                &flag,
                format!("is the same for all clients, and has a placeholder: {text}"),
            ));
        }
    }
    Ok(())
}

/// Returns whether the value of a dialect's flag may be each client's own: of what it joins with.
fn is_own(name: &str) -> bool {
    let mut flags = protocol_flags::of_clients().iter().map(|shared| shared.flag);
    flags.any(|flag| {
        flag.name == name && matches!(flag.kind, FlagKind::OwnText | FlagKind::Json | FlagKind::Secret)
    })
}

/// Texts that go into requests and joins as users wrote them, and the flag that each is of.
fn texts(client_spec: &ClientSpec) -> Vec<(String, String)> {
    // In small letters, an escaped brace is text, as it is for `Template::target`.
    let path = client_spec.path.reveal().replace("%7b", "%257b");
    let path = percent_encoding::percent_decode_str(&path).decode_utf8_lossy().into_owned();
    let token = client_spec.of_dialect.token.as_ref().map(|token| ("--token", token.reveal()));
    let headers = client_spec.headers.iter().map(|(_, value)| ("--header", value.reveal()));
    let subprotocols = client_spec.subprotocols.iter().map(|name| ("--subprotocol", name.as_str()));
    let joins = client_spec.of_dialect.settings.texts().filter(|(name, _)| is_own(name));
    let joins = joins.map(|(name, text)| (format!("--{name}"), text.to_owned()));
    let others = [("URL", path.as_str())].into_iter().chain(token).chain(headers).chain(subprotocols);
    others.map(|(flag, text)| (flag.to_owned(), text.to_owned())).chain(joins).collect()
}
