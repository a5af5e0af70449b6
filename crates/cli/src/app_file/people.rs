//! The clients of an app (`[people]`) and their opening request (`[connect]`).

use std::path::Path;

use app::people::{Algorithm, Jwt, People};
use app::template::{Names, Purpose, Quoting, Template, placeholders};
use secret::{Reference, Secret};
use toml::Spanned;
use wire::DialectId;

use super::file::{self, File, Token};
use super::source::Source;
use super::stream;
use crate::exit::Failure;
use crate::flags::dialect_args::{self, DialectArgs};
use crate::people;
use crate::secrets::given;

/// The placeholder of a request's body, in its head.
pub(super) const BODY: &str = "body";

/// The opening request of an app's clients.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Connect {
    /// Path and query.
    pub(crate) path: Option<String>,
    /// The Origin header.
    pub(crate) origin: Option<String>,
    pub(crate) headers: Vec<(String, Secret)>,
}

impl Connect {
    /// Returns whether it is where and what the command line says, and no more.
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The people of a file, beginning with those of the command line.
pub(super) fn people(source: &Source<'_>, file: &File, given: People) -> Result<People, Failure> {
    let own = file.people.as_ref().map(Spanned::get_ref);
    let (data, prefixes) = match (&file.data, own.and_then(|own| own.data.as_ref())) {
        (Some(at), Some(_)) => return Err(source.error(at.span(), "`data` is in [people] already")),
        (Some(data), None) => (Some(data), &[people::DATA, people::PERSON][..]),
        (None, data) => (data, &[people::PERSON][..]),
    };
    refuse_two(source, &given, data, own.is_some_and(|own| own.token.is_some()))?;
    let mut people = given;
    if let Some(data) = data {
        let app = source.path.unwrap_or(Path::new("data")).display().to_string();
        let set = people::set_rows(&mut people, &app, &source.folder().join(data.get_ref()), prefixes);
        set.map_err(Failure::in_file)?;
    }
    let Some(own) = own else { return Ok(people) };
    set_columns(source, own, &mut people)?;
    match &own.token {
        None => {}
        Some(token) => set_token(source, token, &mut people)?,
    }
    Ok(people)
}

fn refuse_two(
    source: &Source<'_>,
    given: &People,
    data: Option<&Spanned<String>>,
    has_token: bool,
) -> Result<(), Failure> {
    if let Some(data) = data.filter(|_| given.rows.rows() > 0) {
        let app = source.path.unwrap_or(Path::new("the app's file")).display();
        let problem = format!("{app} names {} already, as `data`: remove one of them", data.get_ref());
        return Err(Failure::usage("--users", problem));
    }
    if has_token && given.token.is_some() {
        return Err(Failure::usage(
            "--jwt-secret",
            "the app's file has tokens of its own: `token` in [people]",
        ));
    }
    Ok(())
}

/// Columns that are made of the data's.
fn set_columns(source: &Source<'_>, own: &file::People, people: &mut People) -> Result<(), Failure> {
    let names = people.names.clone();
    for (name, text) in &own.columns {
        let is_sound = !name.is_empty() && !name.contains(['{', '}', '"']);
        if !is_sound {
            return Err(source.error(text.span(), format!("{name:?} is no name for a column")));
        }
        people.names.set(format!("person.{name}"), template(source, text, &names)?);
    }
    Ok(())
}

fn set_token(source: &Source<'_>, token: &Spanned<Token>, people: &mut People) -> Result<(), Failure> {
    match token.get_ref() {
        Token::Text(text) => {
            let meaning = parse(source, token, text, &people.names)?;
            people.names.set(people::TOKEN, meaning);
        }
        Token::Jwt(jwt) => people::set_token(people, signed(source, token, jwt, &people.names)?),
    }
    Ok(())
}

fn signed(source: &Source<'_>, at: &Spanned<Token>, jwt: &file::Jwt, names: &Names) -> Result<Jwt, Failure> {
    let named = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == jwt.jwt.get_ref());
    let algorithm = named.ok_or_else(|| source.error(jwt.jwt.span(), "expected HS256, RS256 or ES256"))?;
    let (given, other, key) = match algorithm {
        Algorithm::Hs256 => (&jwt.secret, &jwt.key, "secret"),
        Algorithm::Rs256 | Algorithm::Es256 => (&jwt.key, &jwt.secret, "key"),
    };
    let name = algorithm.name();
    if let Some(other) = other {
        return Err(source.error(other.span(), format!("{name} is signed with a `{key}`")));
    }
    let Some(given) = given else {
        return Err(source.error(at.span(), format!("{name} needs a `{key}`: env:NAME or file:PATH")));
    };
    let claims = match &jwt.claims {
        None => people::usual_claims(names),
        Some(claims) => {
            let named = claims.iter().map(|(name, value)| (name.as_str(), value.get_ref()));
            people::claims(named, names).map_err(|bad| source.error(claims[&bad.claim].span(), bad))?
        }
    };
    let jwt = Jwt { algorithm, key: secret(source, given)?, key_id: jwt.kid.clone(), claims };
    jwt.check().map_err(|bad| source.error(given.span(), bad))?;
    Ok(jwt)
}

/// A secret of this user's, which a file that is shared only names.
fn secret(source: &Source<'_>, at: &Spanned<String>) -> Result<Secret, Failure> {
    let read = match Reference::of(at.get_ref()) {
        None => Err("expected env:NAME or file:PATH: a file is shared, and a secret is not".to_owned()),
        Some(_) => given::value_in(source.folder(), at.get_ref()),
    };
    read.map_err(|problem| source.error(at.span(), problem))
}

/// Reads the opening request.
pub(super) fn connect(source: &Source<'_>, file: &File, names: &Names) -> Result<Connect, Failure> {
    let Some(connect) = &file.connect else { return Ok(Connect::default()) };
    if let Some(path) = &connect.path {
        template(source, path, names)?;
        if !path.get_ref().starts_with('/') {
            return Err(source.error(path.span(), "expected a path, which starts with /"));
        }
    }
    let mut headers = Vec::with_capacity(connect.headers.len());
    for (name, text) in &connect.headers {
        template(source, text, names)?;
        let value = header(source, name, text)?;
        if !wire::is_sendable(name, value.reveal().as_bytes()) {
            let problem = format!("{name:?} with that value cannot be a header of clients' requests");
            return Err(source.error(text.span(), problem));
        }
        headers.push((name.clone(), value));
    }
    if let Some(origin) = connect.origin.as_ref().filter(|origin| !is_origin(origin.get_ref())) {
        return Err(source.error(origin.span(), "expected an origin, such as https://chat.example.com"));
    }
    Ok(Connect {
        path: connect.path.as_ref().map(|path| path.get_ref().clone()),
        origin: connect.origin.as_ref().map(|origin| origin.get_ref().clone()),
        headers,
    })
}

/// Adds the method and the body of the opening request to `flags`, in protocols that have a choice of these.
pub(super) fn request_flags(
    source: &Source<'_>,
    file: &File,
    protocol: DialectId,
    mut flags: DialectArgs,
    names: &Names,
) -> Result<DialectArgs, Failure> {
    let Some(file::Connect { method, body, .. }) = &file.connect else { return Ok(flags) };
    if let Some(body) = body {
        template(source, body, names)?;
    }
    if let Some(method) = method {
        dialect_args::stream_method(method.get_ref())
            .map_err(|problem| source.error(method.span(), problem))?;
    }
    for (flag, text) in [("connect-method", method), ("connect-body", body)] {
        let Some(text) = text else { continue };
        if let Some(problem) = dialect_args::misplaced(flag, protocol) {
            return Err(source.error(text.span(), format!("{problem}: leave it out")));
        }
        if flags.given().any(|given| given == flag) {
            let problem = format!("{flag} of [flags] says it already: leave one of them out");
            return Err(source.error(text.span(), problem));
        }
        flags = flags.with(flag, text.get_ref());
    }
    Ok(flags)
}

/// The value of a header, which may name the place of a secret, as `-H` does.
pub(super) fn header(source: &Source<'_>, name: &str, value: &Spanned<String>) -> Result<Secret, Failure> {
    given::header_in(source.folder(), name, value.get_ref().trim())
        .map_err(|problem| source.error(value.span(), problem))
}

/// Names what else stands in the requests of clients and publishers: times, UUIDs and functions, which mean
/// nothing in a URL of the command line.
pub(super) fn name_computed(source: &Source<'_>, file: &File, names: &mut Names) -> Result<(), Failure> {
    let connect = file
        .connect
        .iter()
        .flat_map(|connect| connect.path.iter().chain(&connect.body).chain(connect.headers.values()));
    let publish = file.publish.iter().map(Spanned::get_ref);
    let publish = publish.flat_map(|publish| publish.post.iter().chain(publish.headers.values()));
    let texts = connect.chain(stream::texts(file)).map(|text| (text, false));
    for (text, has_body) in texts.chain(publish.map(|text| (text, true))) {
        for name in placeholders(text.get_ref()) {
            if names.get(name).is_none() {
                let known = if has_body { with_body(names) } else { names.clone() };
                let computed = parse(source, text, &format!("{{{name}}}"), &known)?;
                names.set(name.to_owned(), computed);
            }
        }
    }
    Ok(())
}

/// The names that the head of a request may use, which may tell of its body.
pub(super) fn with_body(names: &Names) -> Names {
    let mut names = names.clone();
    names.set(BODY, Template::of_body());
    names
}

fn is_origin(text: &str) -> bool {
    text.contains("://") && wire::is_sendable("X-Origin", text.as_bytes())
}

fn template(source: &Source<'_>, text: &Spanned<String>, names: &Names) -> Result<Template, Failure> {
    parse(source, text, text.get_ref(), names)
}

fn parse<T>(source: &Source<'_>, at: &Spanned<T>, text: &str, names: &Names) -> Result<Template, Failure> {
    people::template(text, Purpose::Opening, names, Quoting::Plain)
        .map_err(|problem| source.error(at.span(), problem))
}
