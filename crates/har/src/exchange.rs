//! Requests of a session, each with its answer.

use jiff::Timestamp;
use url::Url;

use crate::credentials::is_typed_secret;
use crate::file::{Entry, Pair, Request};
use crate::json;

/// A request and its answer.
#[derive(Clone)]
pub(crate) struct Exchange {
    /// Its number in the file, from 1.
    pub(crate) number: usize,
    pub(crate) at_s: f64,
    pub(crate) method: String,
    pub(crate) url: Url,
    pub(crate) headers: Vec<Pair>,
    /// The body, and its type.
    pub(crate) body: String,
    pub(crate) body_kind: String,
    pub(crate) status: u16,
    pub(crate) answer_headers: Vec<Pair>,
    pub(crate) answer: Option<String>,
}

impl Exchange {
    /// The request of an entry that is no WebSocket; `None` for one without a server's URL.
    pub(crate) fn of(number: usize, entry: Entry) -> Option<Exchange> {
        let Entry { started_date_time, request, response, .. } = entry;
        let Request { method, url, headers, post_data } = request;
        let (body, body_kind) = post_data.map(|data| (data.text, data.mime_type)).unwrap_or_default();
        Some(Exchange {
            number,
            at_s: seconds(&started_date_time),
            method,
            url: Url::parse(&url).ok().filter(|url| url.has_host())?,
            headers,
            body,
            body_kind,
            status: u16::try_from(response.status).unwrap_or_default(),
            answer_headers: response.headers,
            answer: response.content.text,
        })
    }

    /// Returns whether the body is a form.
    pub(crate) fn is_form(&self) -> bool {
        self.body_kind.starts_with("application/x-www-form-urlencoded")
    }

    /// The fields of a form; nothing if the body is something else.
    pub(crate) fn form(&self) -> Vec<(String, String)> {
        match self.is_form() {
            true => url::form_urlencoded::parse(self.body.as_bytes()).into_owned().collect(),
            false => Vec::new(),
        }
    }

    /// Returns whether the body is JSON, by its type and by itself.
    pub(crate) fn is_json(&self) -> bool {
        let kind = header(&self.headers, "content-type").unwrap_or(&self.body_kind);
        kind.contains("json") && json::leaves(&self.body).is_some()
    }

    /// Returns whether the body is a text, all of which is said.
    pub(crate) fn is_text(&self) -> bool {
        self.body_kind.starts_with("text/plain") && json::leaves(&self.body).is_none()
    }

    /// The fields of a form or of a JSON body.
    pub(crate) fn fields(&self) -> Vec<(String, String)> {
        let leaves = json::leaves(&self.body).unwrap_or_default();
        let of_json = leaves.into_iter().map(|leaf| (leaf.key, leaf.value));
        self.form().into_iter().map(|(key, value)| (last_part(&key), value)).chain(of_json).collect()
    }

    /// Returns whether a password, or its like, was sent.
    pub(crate) fn has_password(&self) -> bool {
        self.fields().iter().any(|(key, _)| is_typed_secret(key))
    }

    /// The cookies that the answer set, each as `NAME=VALUE`. Chrome writes several in one header, a line each.
    pub(crate) fn set_cookies(&self) -> impl Iterator<Item = &str> {
        let headers = self.answer_headers.iter().filter(|header| is_called(header, "set-cookie"));
        headers
            .flat_map(|header| header.value.lines())
            .filter_map(|line| line.split(';').next())
            .map(str::trim)
    }
}

/// The name of a field, without what is around it: `user[password]` is `password`.
fn last_part(key: &str) -> String {
    let inside = key.strip_suffix(']').and_then(|key| key.rsplit('[').next());
    inside.unwrap_or(key).to_owned()
}

/// Returns whether a header has this name, which is lower-case.
pub(crate) fn is_called(header: &Pair, name: &str) -> bool {
    header.name.eq_ignore_ascii_case(name)
}

/// The value of the first header of this name.
pub(crate) fn header<'a>(headers: &'a [Pair], name: &str) -> Option<&'a str> {
    headers.iter().find(|header| is_called(header, name)).map(|header| header.value.as_str())
}

/// Seconds since 1970; 0 for a time that is none.
pub(crate) fn seconds(time: &str) -> f64 {
    time.parse::<Timestamp>().map_or(0.0, |time| time.as_nanosecond() as f64 / 1e9)
}
