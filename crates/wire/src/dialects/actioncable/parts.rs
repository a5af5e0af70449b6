//! What is encoded once, and the names that both roles use.

use crate::dialects::json as plain;
use crate::dialects::parts::Parts;
use crate::json;
use crate::options::{BadOption, Options};

/// What Rails speaks.
pub(crate) const PLAIN: &str = "actioncable-v1-json";
/// What AnyCable speaks besides: session ids and the history of streams.
pub(super) const EXTENDED: &str = "actioncable-v1-ext-json";
/// What a client offers so that a server which speaks nothing else it knows can say so.
const UNSUPPORTED: &str = "actioncable-unsupported";
/// All that a server may be asked for.
pub(crate) const SPOKEN: &[&str] = &[PLAIN, EXTENDED, UNSUPPORTED];

/// The channel of websocket-shootout's Rails server.
pub(super) const CHANNEL: &str = "BenchmarkChannel";

pub(super) const BEFORE_STAMP: &[u8] = br#"\",\"id\":\""#;

/// Identifiers, in commands and answers.
pub(crate) fn parts(options: &Options) -> Result<Parts, BadOption> {
    let of_dialect = &options.of_dialect;
    let params = members_of(of_dialect.channel_params.as_deref())
        .ok_or(BadOption::OfDialect { option: "channel_params", expected: "a JSON object" })?;
    let channel = of_dialect.channel.as_deref().unwrap_or(CHANNEL);
    let identifiers: Vec<Vec<u8>> = (1..=of_dialect.subscriptions.unwrap_or(1))
        .map(|number| identifier(channel, params, number))
        .collect();
    let own = identifiers
        .first()
        .ok_or(BadOption::OfDialect { option: "subscriptions", expected: "at least one subscription" })?;
    let head = |action: &str| {
        let before = [br#"{"command":"message","identifier":""#, &own[..], br#"","data":"{\"action\":\""#];
        [&before.concat(), action.as_bytes(), br#"\",\"payload\":{\"sendTime\":\""#].concat()
    };
    let heads = [head("echo"), head("broadcast")];
    // As the json dialect's payloads come back, with other quotation marks than they go out.
    let returned = plain::parts(options)?.tail;
    let mut tail = Vec::new();
    json::escape(&mut tail, &returned);
    tail.extend_from_slice(br#""}"#);
    let subscribe = |identifier: &Vec<u8>| {
        [br#"{"command":"subscribe","identifier":""#, &identifier[..], br#""}"#].concat()
    };
    Ok(Parts {
        opening: identifiers.iter().map(subscribe).collect(),
        usual: [br#"{"identifier":""#, &own[..], br#"","message":{"action":""#].concat(),
        heads,
        tail,
        returned,
        ..Parts::default()
    })
}

/// The members of a JSON object, without its braces.
fn members_of(object: Option<&str>) -> Option<&[u8]> {
    let text = object.unwrap_or("{}").trim().as_bytes();
    json::object(text, |_, _| {})?;
    Some(text[1..text.len() - 1].trim_ascii())
}

/// What names a subscription, as it stands in a JSON string.
fn identifier(channel: &str, params: &[u8], number: u32) -> Vec<u8> {
    let mut plain = br#"{"channel":""#.to_vec();
    json::escape(&mut plain, channel.as_bytes());
    plain.push(b'"');
    if !params.is_empty() {
        plain.push(b',');
        plain.extend_from_slice(params);
    }
    if number > 1 {
        plain.extend_from_slice(format!(r#","id":{number}"#).as_bytes());
    }
    plain.push(b'}');
    let mut escaped = Vec::new();
    json::escape(&mut escaped, &plain);
    escaped
}
