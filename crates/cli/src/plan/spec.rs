//! How clients speak: protocol, path, headers and users, by the flags or an app's file.

use std::path::Path;
use std::sync::Arc;

use app::people::Division;
use load::{ClientSpec, Rooms};
use wire::{BadOption, Carrier, DialectId};

use super::inputs::PlanInputs;
use crate::app_file::{self, Publish};
use crate::exit::Failure;
use crate::flags::args::RunArgs;
use crate::flags::payload;
use crate::people;
use crate::target::Target;

/// Settings of an app's file beside its clients' messages.
#[derive(Default)]
pub(super) struct AppSettings {
    pub(super) publish: Option<Publish>,
    pub(super) rooms: Option<Rooms>,
    pub(super) to_others: bool,
    /// True if clients say something that differs between them.
    pub(super) tells_apart: bool,
}

/// How clients speak, by the flags and an app's file.
pub(super) fn client_spec(
    inputs: &PlanInputs<'_>,
    division: &Division,
) -> Result<(ClientSpec, AppSettings), Failure> {
    let &PlanInputs { args, ref says, target, workload, dialect, clients_max } = inputs;
    let file = args.app.as_deref().or_else(|| app_file::is_file(dialect).then(|| Path::new(dialect)));
    let known = DialectId::from_name(dialect);
    let has_app = file.is_some() || says.is_given();
    let spoken = known.or(has_app.then_some(DialectId::Custom));
    let spoken = spoken.ok_or_else(|| Failure::usage("--protocol", no_dialect(dialect)))?;
    let mut client_spec = of_flags(args, target, spoken)?;
    check_text(args, known, dialect)?;
    let people = people::of_flags(&args.people_args, division.clone())?;
    if !has_app {
        args.dialect_args.check(client_spec.dialect)?;
        client_spec.people = people.into();
        return Ok((introduced(client_spec, false)?, AppSettings::default()));
    }
    // `--protocol` may name the app's file itself, and then asks for no protocol.
    let asked = args.dialect.as_deref().filter(|dialect| !app_file::is_file(dialect));
    let of_protocol = |name| {
        DialectId::of_protocol(name).ok_or_else(|| {
            let problem = format!("an app goes over {}", app_file::carriers());
            Failure::usage(&format!("--protocol {name}"), problem)
        })
    };
    let asked = asked.map(of_protocol).transpose()?;
    let described = match file {
        Some(file) => app_file::read(file, people, clients_max.into())?,
        None => {
            let protocol = asked.unwrap_or(DialectId::Custom);
            app_file::of_flags(says, protocol, workload, args.dialect_args.asks_reply(), people)?
        }
    };
    let protocol = asked.unwrap_or(described.protocol);
    if protocol != described.protocol {
        let (asked, written) = (protocol.facts().protocol, described.protocol.facts().protocol);
        let problem = format!(
            "the app's file is written for {written}: leave out --protocol, or change `protocol` there"
        );
        return Err(Failure::usage(&format!("--protocol {asked}"), problem));
    }
    // Requests go over either version of HTTP, as the flags say; whoever asks for neither has other messages to send.
    let protocol = match (protocol.facts().asks, spoken.facts().asks) {
        (true, true) => spoken,
        (true, false) => {
            let problem = "the app's file has [stream]: throng run FILE URL, or throng stream URL --app FILE";
            return Err(Failure::usage("--app", problem));
        }
        (false, _) => protocol,
    };
    let flags = args.dialect_args.clone().or(described.flags);
    flags.check(protocol)?;
    client_spec.dialect = protocol;
    client_spec.of_dialect = wire::DialectOptions { app: Some(Arc::new(described.app)), ..flags.options() };
    // The command line's subprotocols take the place of the file's, rather than be offered beside them.
    if client_spec.subprotocols.is_empty() {
        client_spec.subprotocols = described.subprotocols;
    }
    if let Some(path) = described.connect.path.as_deref() {
        client_spec.path = opened(path, &target.path)?.into();
    }
    client_spec.origin = client_spec.origin.or(described.connect.origin);
    // A header of the command line replaces the file's: the file is shared, and the flag is for this run.
    let is_given = |name: &str| args.access.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    client_spec.headers.extend(described.connect.headers.into_iter().filter(|(name, _)| !is_given(name)));
    client_spec.people = described.people.into();
    let spoken = AppSettings {
        publish: described.publish,
        rooms: described.rooms,
        to_others: described.to_others,
        tells_apart: described.tells_apart,
    };
    Ok((introduced(client_spec, described.says_token)?, spoken))
}

/// How clients speak by the flags alone.
fn of_flags(args: &RunArgs, target: &Target, spoken: DialectId) -> Result<ClientSpec, Failure> {
    let bytes = |flag, n: u64| u32::try_from(n).map_err(|_| Failure::usage(flag, "at most 4 GiB"));
    Ok(ClientSpec {
        dialect: spoken,
        carrier: carrier(args, target, spoken)?,
        is_secure: target.tls_name.is_some(),
        host: target.host.clone(),
        path: target.path.as_str().into(),
        origin: args.access.origin.clone(),
        subprotocols: args.subprotocols.clone(),
        headers: args.access.headers.clone(),
        userinfo: target.userinfo.clone(),
        deflate: args.compression.options(),
        payload_bytes: args.payload_padding.map(|sizes| sizes.min),
        payload_bytes_max: args.payload_padding.and_then(|sizes| sizes.max),
        rows: Arc::new(args.data.as_deref().map(payload::rows).transpose()?.unwrap_or_default()),
        text: args.text,
        message_bytes_max: bytes(
            "--max-message",
            args.max_message.unwrap_or(codec::Limits::default().message_bytes_max as u64),
        )?,
        of_dialect: args.dialect_args.options(),
        people: Arc::default(),
    })
}

/// The carrier of WebSockets. Of plain requests the dialect itself says it.
fn carrier(args: &RunArgs, target: &Target, spoken: DialectId) -> Result<Carrier, Failure> {
    if !args.over_http2 || spoken.facts().asks {
        return Ok(Carrier::Http1);
    }
    if target.built_in_pid().is_some() && !spoken.facts().only_receives {
        let why = "throng's own server has no WebSockets over HTTP/2: give the URL of one that has";
        return Err(Failure::usage("--http2", why));
    }
    Ok(Carrier::Http2)
}

/// The path that is opened: the URL's if it has one, and otherwise the app's file's. Refuses a URL's path
/// without placeholders where the file's has some: a URL copied from a socket would send all clients there
/// without a token.
fn opened<'a>(of_app: &'a str, of_url: &'a str) -> Result<&'a str, Failure> {
    if of_url == "/" {
        return Ok(of_app);
    }
    if of_app.contains('{') && !of_url.contains('{') {
        let problem = format!(
            "its path takes the place of the app's, which is different for each client: {of_app}; leave out the URL's, or write {{…}} there, too"
        );
        return Err(Failure::usage("URL", problem));
    }
    Ok(of_url)
}

/// Refuses `--text` for a protocol that decides on the frames of its messages itself.
fn check_text(args: &RunArgs, known: Option<DialectId>, dialect: &str) -> Result<(), Failure> {
    if args.text && !known.is_some_and(|dialect| dialect.facts().takes_anything) {
        let problem =
            format!("is for the protocol raw, whose messages can be either; {dialect} decides for itself");
        return Err(Failure::usage("--text", problem));
    }
    Ok(())
}

/// Puts the token in its place, and checks a client spec in which each client identifies itself.
/// `says_token`: the app itself sends its token.
fn introduced(mut client_spec: ClientSpec, says_token: bool) -> Result<ClientSpec, Failure> {
    people::place_token(&mut client_spec, says_token);
    people::check(&client_spec)?;
    if client_spec.of_dialect.token_in.is_some() && client_spec.of_dialect.token.is_none() {
        let problem = "there is no token to put there; --token and --jwt-secret give one";
        return Err(Failure::usage("--token-in", problem));
    }
    check(&client_spec)?;
    Ok(client_spec)
}

/// Refuses a client spec that cannot be put on the wire.
pub(crate) fn check(client_spec: &ClientSpec) -> Result<(), Failure> {
    client_spec.wire_config().map(drop).map_err(|bad| Failure::usage(&bad_flag(bad), bad))
}

fn no_dialect(name: &str) -> String {
    let known: Vec<&str> = DialectId::named().map(DialectId::name).collect();
    format!(
        "there is no protocol {name:?}; there are {}, and your own app in a FILE.toml (--app)",
        known.join(", ")
    )
}

fn bad_flag(load::BadClientSpec(bad): load::BadClientSpec) -> String {
    match bad {
        BadOption::Host | BadOption::Path => "URL".to_owned(),
        BadOption::Header => "--header or --origin".to_owned(),
        BadOption::Subprotocol => "--subprotocol".to_owned(),
        BadOption::Placeholder | BadOption::Row { .. } => "--users".to_owned(),
        BadOption::PayloadSize { .. } => "--payload-padding".to_owned(),
        BadOption::OfDialect { option, .. } => format!("--{option}"),
    }
}
