//! The trial of one client before a run: a fault that would stop all clients is reported in a line, before
//! anything is measured or kept.

use std::borrow::Cow;

use engine::ProbeResult;
use load::{ClientSpec, Endpoint, Plan};
use net::clock;
use stats::error_kind;
use wire::{DialectId, Facts, HttpOptions};

use crate::answer::Answer;
use crate::exit::Failure;
use crate::flags::access::{self, AccessArgs};
use crate::interrupts;
use crate::output::quoted;
use crate::request::{self, Request};
use crate::secrets;

/// Methods that change nothing (RFC 9110 §9.2.1): a request of these may be sent once more than was asked
/// for.
const SAFE_METHODS: [&str; 4] = ["GET", "HEAD", "OPTIONS", "TRACE"];
/// The media type of an event stream.
const EVENT_STREAM: &str = "text/event-stream";
/// Statuses of an answer that say that these requests are the wrong ones. Of all others a run tells.
const WRONG_REQUEST: [u16; 5] = [401, 403, 404, 405, 407];
/// The beginning of TLS's answer to plain text: an alert (RFC 8446 §5.1).
const TLS_ALERT: [u8; 2] = [21, 3];
/// Web servers' answers to it: nginx and Apache, Go.
const SPEAKS_TLS: [&str; 3] =
    ["HTTPS port", "speaking plain HTTP to an SSL", "HTTP request to an HTTPS server"];

/// Lets one client try the server of a request, unless that is our own or a fleet's, of which this machine
/// may see nothing.
pub(crate) fn check(request: &mut Request<'_>) -> Result<(), Failure> {
    let Request { args, plan, target, .. } = &*request;
    if args.no_preflight || target.built_in_pid().is_some() || args.fleet.fleet.is_some() {
        return Ok(());
    }
    let asks = plan.client_spec.dialect.facts().asks;
    let http = HttpOptions::from(&plan.client_spec.of_dialect.settings);
    // A request that changes something must not be made once more than was asked for.
    let tries_request = asks && SAFE_METHODS.contains(&http.method.as_str());
    // Nothing is there yet to be put down: the first is the end.
    let interrupts = interrupts::install()?;
    let result = engine::probe(plan, tries_request, &|| interrupts.count() > 0)
        .map_err(|error| Failure::of_generator("start_client", "start a client", net::errors::told(&error)))?
        .ok_or_else(Failure::interrupted)?;
    if let Some(Obstacle { key, text }) = obstacle(plan, &args.access, asks, &result) {
        let url = secrets::url(&target.url);
        let failure = match result.is_local {
            true => Failure::of_generator("connect", format!("connect from this machine to {url}"), text),
            false => Failure::could_not("reach", format!("reach {url}"), text),
        };
        return Err(failure.because(key));
    }
    // It may have begun to listen since it was looked for: where a script tries until it is there.
    if request.server_pid.is_none() {
        request.server_pid = request::server_pid(request.args, &request.target)?;
    }
    // The run begins now.
    (request.plan.epoch_ns, request.plan.unix_epoch_ns) = (clock::monotonic_ns(), clock::realtime_ns());
    Ok(())
}

/// The reason why the load makes no sense.
struct Obstacle {
    /// `speaks_tls`, `speaks_` with a dialect, `status_` with a status, or the kind of the error.
    key: String,
    /// The problem and its remedy.
    text: String,
}

/// Finds an obstacle to the load, if there is one.
fn obstacle(plan: &Plan, access: &AccessArgs, asks: bool, result: &ProbeResult) -> Option<Obstacle> {
    if plan.tls.is_none() && (result.failure.is_some() || result.status == Some(400)) && is_tls(result) {
        let ClientSpec { dialect, of_dialect, .. } = &plan.client_spec;
        let is_of_requests = asks && dialect.is_over_requests(&of_dialect.settings);
        let scheme = if is_of_requests { "https" } else { "wss" };
        let text = format!("the server speaks TLS on this port: use {scheme}://");
        return Some(Obstacle { key: "speaks_tls".to_owned(), text });
    }
    if let Some(status) = result.status {
        let text = wrong_status(plan, access, status, result)?;
        return Some(Obstacle { key: format!("status_{status}"), text });
    }
    if let Some(text) = endless(plan, asks, result) {
        return Some(Obstacle { key: format!("speaks_{}", DialectId::Sse.name()), text });
    }
    let heard = result.excerpt();
    if let Some(other) = other_dialect(plan, result, &heard) {
        let dialect = plan.client_spec.dialect.name();
        let remedy = match &plan.client_spec.of_dialect.app {
            None => format!("pass --protocol {other}"),
            Some(_) => {
                format!("is the URL right? The app's file has to be written for protocol = \"{other}\"")
            }
        };
        let text = format!("the server speaks {other}, not {dialect}: it opens with {heard}; {remedy}");
        return Some(Obstacle { key: format!("speaks_{other}"), text });
    }
    let (kind, why) = result.failure.as_ref()?;
    // Frames of HTTP/2 are nothing to be read.
    let is_text = plan.client_spec.alpn().is_none() || kind == "not_http2";
    // What the error quotes already is not said again.
    let is_news = is_text && !heard.is_empty() && !why.contains(&heard);
    let quoted = if is_news { format!(" (it said: {heard})") } else { String::new() };
    let text = format!("{kind}: {why}{quoted}{}", hint(plan, access, kind, why, &heard));
    Some(Obstacle { key: kind.clone(), text })
}

/// Explains the status of an answer, unless it is one to be measured.
fn wrong_status(plan: &Plan, access: &AccessArgs, status: u16, result: &ProbeResult) -> Option<String> {
    let http = HttpOptions::from(&plan.client_spec.of_dialect.settings);
    // A server error may be what is to be measured; a wrong path hardly is.
    let is_wrong = matches!(status, 300..=399) || WRONG_REQUEST.contains(&status);
    let answer = Answer::read(&result.said);
    match &result.failure {
        None if !is_wrong || http.is_expected(status) => None,
        None => {
            let remedy = remedy(plan, access, status, true);
            let or = if remedy.ends_with('?') { " If it is" } else { "; or if that is right" };
            Some(format!(
                "{} {} was answered with {}{remedy}{or}: --expect-status {status}",
                http.method,
                secrets::place(plan.client_spec.path.reveal()),
                answer.told(status),
            ))
        }
        Some((kind, _)) => {
            let asked = if hears_alone(plan) { "the request for the stream" } else { "the handshake" };
            let is_stream = answer.content_type.as_deref() == Some(EVENT_STREAM) && !hears_alone(plan);
            let told = if is_stream { answer.reason(status) } else { answer.told(status) };
            let remedy = match is_stream {
                true => format!(" and an event stream; pass --protocol {}", DialectId::Sse.name()),
                false => remedy(plan, access, status, false),
            };
            // An app file may have named the path, not the URL. A token may be in its query under any name.
            let path = plan.client_spec.path.reveal().split('?').next().unwrap_or_default();
            let path = secrets::place(path);
            Some(format!("{kind}: the server answered {asked} at {path} with {told}{remedy}"))
        }
    }
}

/// Explains an event stream that is asked for as a whole, and did not end within the connect timeout.
fn endless(plan: &Plan, asks: bool, result: &ProbeResult) -> Option<String> {
    let http = HttpOptions::from(&plan.client_spec.of_dialect.settings);
    let is_whole = asks && http.stream.is_none();
    let is_over = result.is_answered || result.failure.is_some();
    let is_stream = Answer::read(&result.said)
        .content_type
        .is_some_and(|media_type| media_type.eq_ignore_ascii_case(EVENT_STREAM));
    if !is_whole || is_over || !is_stream {
        return None;
    }
    let (scheme, sse) = (if plan.tls.is_some() { "https" } else { "http" }, DialectId::Sse.name());
    let place = secrets::place(plan.client_spec.path.reveal());
    // A command with a hidden secret could not be typed.
    let commands = match place.contains("***") {
        true => "to hold it open: throng idle; to time its events: throng stream".to_owned(),
        false => {
            let url = quoted(&format!("{scheme}://{}{place}", plan.client_spec.host));
            format!(
                "to hold it open: throng idle {url} --protocol {sse}; to time its events: throng stream {url}"
            )
        }
    };
    let waited = results::format::duration(plan.connecting.timeout_ns);
    Some(format!(
        "it answers with an event stream that had not ended after {waited}; {commands}; if it ends later: \
         --connect-timeout TIME, or --no-preflight"
    ))
}

/// Returns whether the plan's clients ask for a stream, and only receive.
fn hears_alone(plan: &Plan) -> bool {
    plan.client_spec.dialect.facts().only_receives
}

/// The dialect that the server has shown to speak, if it is another. A user's own may open as any, and goes
/// on otherwise; a server that answers in pieces may greet in any words.
fn other_dialect(plan: &Plan, result: &ProbeResult, heard: &str) -> Option<&'static str> {
    let spoken = plan.client_spec.dialect;
    let shown = DialectId::opening_with(heard)?;
    let has_gone_on = heard.contains("} {");
    let is_other = match spoken.facts() {
        Facts { asks: true, .. } => false,
        Facts { needs_app: true, .. } => result.failure.is_some() && !has_gone_on,
        _ => true,
    };
    (shown != spoken && is_other).then_some(shown.name())
}

/// Returns whether the server has shown that it expects TLS.
pub(crate) fn is_tls(result: &ProbeResult) -> bool {
    let said = String::from_utf8_lossy(&result.said);
    result.said.starts_with(&TLS_ALERT) || SPEAKS_TLS.iter().any(|words| said.contains(words))
}

/// The remedy for a status.
fn remedy(plan: &Plan, access: &AccessArgs, status: u16, is_request: bool) -> String {
    match status {
        300..=399 => "; give the URL that it leads to".to_owned(),
        401 => format!("; {}", access::log_in()),
        403 => format!("; pass --origin, or {}", access::log_in()),
        407 => "; that is a proxy: measure the server itself".to_owned(),
        405 if is_request => "; choose another --method".to_owned(),
        405 if hears_alone(plan) => {
            let mut texts = plan.client_spec.of_dialect.settings.texts();
            let is_chosen = texts.any(|(flag, _)| ["connect-method", "connect-body"].contains(&flag));
            let other = if is_chosen { "; choose another" } else { "; it may want a POST: --connect-body," };
            format!("{other} --connect-method")
        }
        429 | 500..=599 => "; the server's own log may say why".to_owned(),
        _ if is_request => "; is the path right?".to_owned(),
        _ => {
            let usual = usual_place(plan).map_or(String::new(), |usual| format!(" {usual}"));
            let what = if hears_alone(plan) { "an event stream" } else { "a WebSocket" };
            let look = looking(plan, access).map_or(String::new(), |look| format!("; look for one: {look}"));
            format!("; is the path right, and is there {what}?{usual}{}{look}", unwelcome(plan, status))
        }
    }
}

/// The command that looks at the usual places of the plan's server as its clients do, unless that has no address.
fn looking(plan: &Plan, access: &AccessArgs) -> Option<String> {
    let has_address = plan.endpoints.iter().any(|endpoint| matches!(endpoint, Endpoint::Inet(_)));
    let scheme = if plan.tls.is_some() { "https" } else { "http" };
    has_address.then(|| format!("throng {scheme}://{}{}", plan.client_spec.host, access.flags()))
}

/// The usual path of the protocol's servers, in words, if the URL leads elsewhere.
fn usual_place(plan: &Plan) -> Option<String> {
    let path = plan.client_spec.path.reveal();
    let at = DialectId::at(path.split('?').next().unwrap_or_default());
    if at.facts().only_receives && !hears_alone(plan) {
        return Some(format!("An event stream is usually there: --protocol {}", at.name()));
    }
    let Facts { name, paths, .. } = plan.client_spec.dialect.facts();
    let usual = paths.first().filter(|usual| !plan.client_spec.path.reveal().starts_with(**usual))?;
    Some(format!("{name} is usually at {usual}"))
}

/// Another cause of such a status, where the protocol's servers refuse an origin with it.
fn unwelcome(plan: &Plan, status: u16) -> String {
    let Facts { name, origin_refusal, .. } = plan.client_spec.dialect.facts();
    if status != *origin_refusal {
        return String::new();
    }
    let scheme = if plan.tls.is_some() { "https" } else { "http" };
    format!(
        "; servers of {name} also answer {status} to an origin that they do not allow: --origin {scheme}://{}",
        plan.client_spec.host
    )
}

/// A likely cause of the error, or what to try.
fn hint(plan: &Plan, access: &AccessArgs, kind: &str, why: &str, heard: &str) -> Cow<'static, str> {
    if [kind, why, heard].into_iter().any(access::is_refusal_at_once) {
        return format!("; {}", access::log_in()).into();
    }
    let hint = match kind {
        "rejected_subscription" => {
            let why = "the channel may be another, want parameters, or let in only who has logged in";
            return format!("; {why}: {}", access::log_in()).into();
        }
        "not_http2" => "; leave out --http2, or enable HTTP/2 on this port (without TLS: by prior knowledge)",
        "no_http2_websocket" => {
            "; leave out --http2, or enable extended CONNECT there (RFC 8441, SETTINGS_ENABLE_CONNECT_PROTOCOL)"
        }
        error_kind::EOF | error_kind::RESET
            if plan.client_spec.alpn().is_some() && plan.tls.is_none() && heard.is_empty() =>
        {
            "; a server that does not speak HTTP/2 here may do so: leave out --http2, or try wss:// or https://"
        }
        error_kind::EOF | error_kind::RESET if plan.client_spec.alpn().is_some() => "",
        error_kind::EOF | error_kind::RESET if plan.tls.is_none() && heard.is_empty() => {
            let tls = "; a server that expects TLS does so: try wss:// or https://";
            return match usual_place(plan) {
                None => tls.into(),
                Some(usual) => format!("; is the path right? {usual}{tls}").into(),
            };
        }
        "login_refused" => {
            // It tries as the first client does.
            let app = plan.client_spec.of_dialect.app.as_ref();
            let is_by_row = app.is_some_and(|app| app.logs_in_by_row());
            let user = if is_by_row { " with row 1 of users' data" } else { "" };
            return format!("; correct what [[login]] sends{user}, or its `expect`").into();
        }
        error_kind::CLOSED => "; the server's own log may say why",
        // What it said names another remedy.
        error_kind::CONNECT_TIMEOUT if heard.is_empty() => {
            let look = looking(plan, access)
                .map_or(String::new(), |look| format!("look at the server: {look}, or "));
            return format!("; {look}wait longer: --connect-timeout 10s").into();
        }
        _ => "",
    };
    hint.into()
}

#[cfg(test)]
mod tests;
