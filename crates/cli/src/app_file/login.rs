//! The requests that come before the opening request: `[[login]]`.

use std::collections::BTreeMap;

use app::app_file::{LOGIN_REQUESTS_MAX, LoginContent, LoginRequest};
use app::template::{Names, Purpose, Quoting, Template};
use serde::de::IgnoredAny;
use toml::Spanned;

use super::file::Login;
use super::keeps::{self, KeptNames};
use super::path::path;
use super::people::header;
use super::source::Source;
use crate::exit::Failure;
use crate::people;

const CONTENT_TYPE: &str = "content-type";
const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

/// The requests of a login, and the servers that they are for beside the clients' own. What each keeps is a
/// name for all that comes behind it.
pub(super) fn requests(
    source: &Source<'_>,
    written: &[Spanned<Login>],
    keeper: &mut KeptNames,
    names: &mut Names,
) -> Result<(Vec<LoginRequest>, Vec<String>), Failure> {
    if let Some(more) = written.get(LOGIN_REQUESTS_MAX) {
        return Err(
            source.error(more.span(), format!("at most {LOGIN_REQUESTS_MAX} requests to log in with"))
        );
    }
    let (mut requests, mut servers) = (Vec::with_capacity(written.len()), Vec::new());
    for login in written {
        let mut request = Checked { source, names }.request(login, &mut servers)?;
        request.keep = keeper.of_answer(source, &login.get_ref().keep)?;
        keeps::name(names, &request.keep);
        requests.push(request);
    }
    Ok((requests, servers))
}

/// Texts that logins say, as they are in the file.
pub(super) fn texts(written: &[Spanned<Login>]) -> Vec<String> {
    let of_login = |login: &Spanned<Login>| {
        let Login { get, post, form, json, headers, .. } = login.get_ref();
        let fields = form.iter().flat_map(|form| form.get_ref().values());
        let texts = get.iter().chain(post).chain(fields).chain(headers.values());
        let json = json.iter().map(|json| json.get_ref().to_string());
        texts.map(|text| text.get_ref().clone()).chain(json).collect::<Vec<_>>()
    };
    written.iter().flat_map(of_login).collect()
}

/// Turns a request into the app's, with the names that there are by then.
struct Checked<'a> {
    source: &'a Source<'a>,
    names: &'a Names,
}

impl Checked<'_> {
    fn request(&self, login: &Spanned<Login>, servers: &mut Vec<String>) -> Result<LoginRequest, Failure> {
        let Login { get, post, form, json, headers, expect, follow, .. } = login.get_ref();
        let (path, is_post) = match (get, post) {
            (Some(get), None) => (get, false),
            (None, Some(post)) => (post, true),
            _ => return Err(self.wrong(login, "expected exactly one of `get` and `post`: a path, or a URL")),
        };
        let (server, target) = self.place(path, servers)?;
        if let Some(expect) = expect.as_ref().filter(|expect| !(200..600).contains(expect.get_ref())) {
            return Err(self.wrong(expect, "expected the status of an answer, 200 to 599"));
        }
        let mut content = match (form, json) {
            (None, None) => None,
            (Some(form), Some(_)) => return Err(self.wrong(form, "expected `form` or `json`, not both")),
            (Some(form), None) if !is_post => {
                return Err(self.wrong(form, "is for `post`: a `get` has no body"));
            }
            (None, Some(json)) if !is_post => {
                return Err(self.wrong(json, "is for `post`: a `get` has no body"));
            }
            (Some(form), None) => Some(LoginContent { content_type: FORM.into(), body: self.form(form)? }),
            (None, Some(json)) => Some(LoginContent { content_type: JSON.into(), body: self.json(json)? }),
        };
        let mut own = Vec::new();
        for (name, value) in headers {
            let secret = header(self.source, name, value)?;
            let template = self.parse(value, secret.reveal(), Quoting::Plain)?;
            // Written with the body: as one more header it would be there twice.
            match &mut content {
                Some(content) if name.eq_ignore_ascii_case(CONTENT_TYPE) => {
                    if template.sample() != value.get_ref().as_bytes() {
                        let problem = "expected no placeholder: the type of the body is the same for all";
                        return Err(self.wrong(value, problem));
                    }
                    content.content_type = value.get_ref().clone();
                }
                _ => own.push((name.clone(), template)),
            }
        }
        Ok(LoginRequest {
            name: format!("{} {}", if is_post { "POST" } else { "GET" }, path.get_ref()),
            is_post,
            server,
            target,
            headers: own,
            content,
            expect: expect.as_ref().map(|expect| *expect.get_ref()),
            follows: *follow,
            keep: Vec::new(),
        })
    }

    /// The server that a request is for, by its number, and the path there.
    fn place(&self, at: &Spanned<String>, servers: &mut Vec<String>) -> Result<(u16, Template), Failure> {
        let text = at.get_ref();
        let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| !scheme.starts_with('/'))
        else {
            return Ok((0, path(self.source, at, text, self.names)?));
        };
        let host_end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, behind) = rest.split_at(host_end);
        let origin = format!("{scheme}://{host}");
        if !["http", "https"].contains(&scheme) || host.is_empty() || host.contains(['@', '{']) {
            let problem = "expected a path, or a URL such as https://id.example.com/token, with a host that is the same for all";
            return Err(self.wrong(at, problem));
        }
        let known = servers.iter().position(|known| *known == origin).unwrap_or_else(|| {
            servers.push(origin);
            servers.len() - 1
        });
        let target = path(self.source, at, if behind.is_empty() { "/" } else { behind }, self.names)?;
        Ok((known as u16 + 1, target))
    }

    /// A form as browsers send it (URL Standard, application/x-www-form-urlencoded).
    fn form(&self, form: &Spanned<BTreeMap<String, Spanned<String>>>) -> Result<Template, Failure> {
        let mut body = Template::default();
        for (n, (name, value)) in form.get_ref().iter().enumerate() {
            let value = self.template(value, Quoting::Plain)?.quoted(Quoting::Percent);
            let name = Template::literal(name).quoted(Quoting::Percent);
            body = body.text(if n == 0 { "" } else { "&" }).then(&name).text("=").then(&value);
        }
        Ok(body)
    }

    /// JSON as text, or as a table.
    fn json(&self, json: &Spanned<toml::Value>) -> Result<Template, Failure> {
        let toml::Value::String(text) = json.get_ref() else {
            return people::json(json.get_ref(), self.names).map_err(|problem| self.wrong(json, problem));
        };
        let body = self.parse(json, text, Quoting::JSON)?;
        match serde_json::from_slice::<IgnoredAny>(&body.sample()) {
            Ok(_) => Ok(body),
            Err(_) => Err(self.wrong(json, "expected JSON, as text or as a table")),
        }
    }

    fn template(&self, text: &Spanned<String>, quoting: Quoting) -> Result<Template, Failure> {
        self.parse(text, text.get_ref(), quoting)
    }

    fn parse<T>(&self, at: &Spanned<T>, text: &str, quoting: Quoting) -> Result<Template, Failure> {
        people::template(text, Purpose::Opening, self.names, quoting)
            .map_err(|problem| self.wrong(at, problem))
    }

    fn wrong<T>(&self, at: &Spanned<T>, problem: impl std::fmt::Display) -> Failure {
        self.source.error(at.span(), problem)
    }
}
