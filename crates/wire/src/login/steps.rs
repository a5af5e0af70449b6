//! The requests of a login, ready to be written.

use app::app_file::{AppFile, KEEPS_MAX, LOGIN_REQUESTS_MAX, LoginRequest, VALUES_MAX};
use app::places::Find;
use app::template::{Filling, Template};
use codec::http::fields;

use crate::failure::Failure;
use crate::options::{BadOption, Options};
use crate::request;

/// The requests of a login, in their order, with everything encoded that can be encoded once.
pub(crate) struct Steps {
    steps: Vec<Step>,
    /// Scheme and `Host` field, by server.
    origins: Vec<(String, String)>,
    /// The field lines that all requests to the clients' own server share: other servers are not told what
    /// lets them in there.
    shared: Template,
}

/// One step of a login.
pub(super) struct Step {
    pub(super) request: LoginRequest,
    /// The step's own field lines, the cookies among them.
    own: Template,
    /// Values to keep of its answer: their numbers and places.
    pub(super) finds: Vec<(u16, Find)>,
}

impl Steps {
    /// Requests of an app's file; `None`: there is no login.
    pub(crate) fn new(app: &AppFile, options: &Options) -> Result<Option<Steps>, BadOption> {
        if app.login.is_empty() {
            return Ok(None);
        }
        let too_many = app.login.len() > LOGIN_REQUESTS_MAX
            || app.login.iter().any(|request| request.keep.len() > KEEPS_MAX)
            || app.login.iter().flat_map(|request| &request.keep).any(|keep| keep.value >= VALUES_MAX);
        if too_many {
            return Err(bad("fewer requests to log in with, and fewer values to keep"));
        }
        let origin = |origin: &String| {
            let (scheme, host) = origin.split_once("://")?;
            Some((scheme.to_owned(), host.to_owned()))
        };
        let own = Some((options.scheme().to_owned(), options.host.clone()));
        let origins: Option<Vec<_>> = [own].into_iter().chain(app.login_servers.iter().map(origin)).collect();
        let origins = origins.filter(|origins| {
            origins.iter().all(|(_, host)| request::is_sendable("X-Host", host.as_bytes()))
                && app.login.iter().all(|request| usize::from(request.server) < origins.len())
        });
        let origins = origins.ok_or_else(|| bad("servers to log in at"))?;
        let steps = app.login.iter().map(Step::new).collect::<Result<_, _>>()?;
        Ok(Some(Steps { steps, origins, shared: options.encode_shared() }))
    }

    /// The server that the request of this number is for, and behind the last one the clients' own.
    pub(crate) fn server(&self, at: usize) -> u16 {
        self.get(at).map_or(0, |step| step.request.server)
    }

    /// Scheme and name of a server in requests.
    pub(super) fn origin(&self, server: u16) -> (&str, &str) {
        let (scheme, host) = &self.origins[usize::from(server)];
        (scheme, host)
    }

    /// A request by its number.
    pub(super) fn get(&self, at: usize) -> Option<&Step> {
        self.steps.get(at)
    }

    /// Names the request that failed, and what was expected, for the reader of results. `None`: none of these
    /// failed.
    pub(crate) fn words(&self, failure: Failure) -> Option<String> {
        let request = |at: u8| self.steps.get(usize::from(at)).map(|step| &step.request);
        match failure {
            Failure::LoginRefused { request: at, .. } => {
                let LoginRequest { name, expect, follows, .. } = request(at)?;
                Some(match expect {
                    Some(expect) => format!("{name}, where {expect} was expected"),
                    None if *follows => format!("{name}, where success (2xx) was expected"),
                    None => format!("{name}, where success or a redirect (2xx, 3xx) was expected"),
                })
            }
            Failure::LoginNoMatch { request: at, keep } => {
                let LoginRequest { name, keep: keeps, .. } = request(at)?;
                let keep = keeps.get(usize::from(keep))?;
                Some(format!("{name}, keep {} = {:?}", keep.name, keep.from))
            }
            Failure::LoginRedirects { request: at }
            | Failure::LoginTooLarge { request: at }
            | Failure::LoginEncoded { request: at, .. } => request(at).map(|request| request.name.clone()),
            _ => None,
        }
    }

    /// Appends a request: the one of that number, or where it led to.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        step: &Step,
        led: Option<&Redirect>,
        filling: &Filling<'_>,
    ) {
        let LoginRequest { is_post, server, target, content, .. } = &step.request;
        // Only 307 and 308 keep POST; browsers turn 301, 302 and 303 into GET (RFC 9110 §15.4.2–4, Fetch
        // §4.4).
        let is_post = *is_post && led.is_none_or(|led| led.keeps_method);
        out.extend_from_slice(if is_post { b"POST " } else { b"GET " });
        match led {
            Some(led) => out.extend_from_slice(led.target.as_bytes()),
            None => target.write(out, filling, 0),
        }
        for part in [" HTTP/1.1\r\nHost: ", self.origin(*server).1, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        // Credentials of the clients' own server are not sent to another.
        if *server == 0 {
            self.shared.write(out, filling, 0);
        }
        step.own.write(out, filling, 0);
        if !is_post {
            return out.extend_from_slice(b"\r\n");
        }
        let body = content.as_ref().map(|content| content.body.filled(filling)).unwrap_or_default();
        if let Some(content) = content {
            for part in ["Content-Type: ", &content.content_type, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
        out.extend_from_slice(&body);
    }
}

/// The destination of a redirect.
#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) target: String,
    /// The method and the body stay what they were (RFC 9110 §15.4.8).
    pub(super) keeps_method: bool,
}

impl Step {
    fn new(request: &LoginRequest) -> Result<Step, BadOption> {
        if !request::is_target(&request.target.sample()) {
            return Err(bad("paths to log in at"));
        }
        for (name, value) in &request.headers {
            if !request::is_sendable(name, &value.sample()) {
                return Err(bad("headers to log in with that can be sent, and are not the handshake's own"));
            }
        }
        let content = request.content.as_ref();
        if content.is_some_and(|content| !fields::is_value(content.content_type.as_bytes())) {
            return Err(bad("a media type"));
        }
        let find = |from: &str| Find::new(from).map_err(|_| bad("values to keep that can be looked for"));
        let finds = request.keep.iter().map(|keep| Ok((keep.value, find(&keep.from)?)));
        Ok(Step {
            request: request.clone(),
            own: Template::of_fields_with_cookies(&request.headers),
            finds: finds.collect::<Result<_, BadOption>>()?,
        })
    }

    /// Returns whether something of the body is kept.
    pub(super) fn keeps_body(&self) -> bool {
        self.finds.iter().any(|(_, find)| find.is_in_body())
    }
}

fn bad(expected: &'static str) -> BadOption {
    BadOption::OfDialect { option: "app", expected }
}
