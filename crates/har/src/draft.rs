//! The app file of a conversation: everything that was found, in the order in which a person would write it.

mod answers;
mod opening;
mod rules;
mod says;
mod streams;
mod subprotocols;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::carried::{self, Carried};
use crate::file::{ALL_HEADERS_MAX, FRAMES_MAX, REQUESTS_MAX, TEXT_BYTES_MAX};
use crate::hiding::hide;
use crate::kind::Kind;
use crate::login;
use crate::naming::{free, identifier};
use crate::publish::Published;
use crate::recording::Recording;
use crate::talk::Talk;
use crate::talk::purposes::Purpose;
use crate::toml_text::{TomlText, counted, inline, plain, quoted, texts};
use crate::trace::Trace;
use crate::type_member;
use crate::writing::Writing;

/// Rules that are written: of a server with more kinds of messages, the rest is a remark.
const RULES_MAX: usize = 64;
/// A push is one that came so often, each with a number one above the one before.
const PUSHES_MIN: usize = 3;
/// A cell that stands anywhere else in the file is replaced, from this length on.
const CELL_BYTES_MIN: usize = 4;

/// An app file, and the users' data that it names.
pub struct Draft {
    /// The file.
    pub toml: String,
    /// The CSV, if something was typed or lets the user in.
    pub users: Option<String>,
    /// The server, as a run is given it: without path and query.
    pub server: String,
    /// The protocol's name.
    pub protocol: &'static str,
    /// True if clients make requests before their WebSocket or stream.
    pub logs_in: bool,
    /// True if clients say or await something before they are ready.
    pub opens: bool,
    /// True if a run sends anything that is measured.
    pub is_measured: bool,
    /// True if two users came through one address, so that the file mixes what they did.
    pub has_two_users: bool,
    /// Findings for the user, a line each.
    pub findings: Vec<String>,
}

/// Writes the file for a session, or for two of different users at the same time; `users` is the name of the CSV.
pub fn draft(recordings: &[Recording], users: &str) -> Draft {
    let mut carried: Vec<Carried> = recordings.iter().map(carried::read).collect();
    // Of both sessions: a kind that one hears is looked for among the other's.
    let type_at = type_member::find(carried.iter().flat_map(|one| &one.turns));
    let turns = carried.iter_mut().map(|one| std::mem::take(&mut one.turns));
    let talks: Vec<Talk> = turns.map(|turns| Talk::new(turns, type_at.as_deref())).collect();
    let of = |at: usize| {
        let other = talks.get(1 - at);
        Session::new(&recordings[at], &carried[at], &talks[at], other).write(users)
    };
    let (mut draft, first) = of(0);
    draft.has_two_users = recordings.iter().any(|recording| recording.has_two_users);
    // The second user has the same columns, as far as its session shows them.
    let second = recordings.get(1).map(|_| of(1).1);
    for (row, cells) in (1..).zip([Some(&first), second.as_ref()].into_iter().flatten()) {
        for (column, _) in cells.iter().filter(|(_, cell)| cell.contains(char::REPLACEMENT_CHARACTER)) {
            draft
                .findings
                .push(format!("unreadable  a part of {column} in row {row} of {users}: write it anew"));
        }
    }
    draft.users = (!first.is_empty()).then(|| {
        let cell = |column: &str, cells: &[(String, String)]| {
            cells.iter().find(|(name, _)| name == column).map(|(_, cell)| csv_cell(cell)).unwrap_or_default()
        };
        let row = |cells: &[(String, String)]| {
            first.iter().map(|(column, _)| cell(column, cells)).collect::<Vec<_>>().join(",")
        };
        let header = first.iter().map(|(column, _)| column.as_str()).collect::<Vec<_>>().join(",");
        let rows = [Some(&first), second.as_ref()].into_iter().flatten().map(|cells| row(cells));
        format!("{header}\n{}\n", rows.collect::<Vec<_>>().join("\n"))
    });
    draft
}

/// A cell as RFC 4180 has it.
fn csv_cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// One session on its way into a file.
struct Session<'a> {
    recording: &'a Recording,
    carried: &'a Carried,
    talk: &'a Talk,
    other: Option<&'a Talk>,
    purposes: Vec<(Kind, Purpose)>,
    /// Names of kinds that come back, but carry no id in any message.
    without_id: Vec<String>,
    /// The request that has clients told something, unless they say it themselves.
    published: Option<Published<'a>>,
}

impl<'a> Session<'a> {
    fn new(recording: &'a Recording, carried: &'a Carried, talk: &'a Talk, other: Option<&'a Talk>) -> Self {
        let (mut purposes, mut without_id) = (talk.purposes(other), Vec::new());
        for (kind, purpose) in &mut purposes {
            if let Purpose::Broadcast(said) | Purpose::Echo(said) = purpose
                && talk.sample(kind, said).is_none()
            {
                without_id.push(kind.name());
                *purpose = Purpose::Opening;
            }
        }
        let is_said =
            purposes.iter().any(|(_, purpose)| matches!(purpose, Purpose::Broadcast(_) | Purpose::Echo(_)));
        let published = (!is_said).then(|| Published::find(recording, talk)).flatten();
        Session { recording, carried, talk, other, purposes, without_id, published }
    }

    /// The file, and the columns with this user's cells.
    fn write(&self, users: &str) -> (Draft, Vec<(String, String)>) {
        let Session { recording, carried, talk, .. } = self;
        let stream = recording.stream.as_ref();
        if let Some(answers) = stream.filter(|stream| stream.is_answer) {
            return self.answers(answers, users);
        }
        let mut trace = Trace::new(recording);
        let mut findings = Vec::new();
        // Messages come first: the values in them decide which requests are needed.
        let (mut rest, mut rules) = (TomlText::default(), TomlText::default());
        let connect = self.connect(&mut trace);
        let mut writing = Writing {
            talk,
            other: self.other,
            trace: &mut trace,
            kept: BTreeMap::new(),
            replies: BTreeSet::new(),
            is_opened: false,
            asked: None,
            notes: self.without_id.iter().map(|kind| note_without_id(kind)).collect(),
        };
        let flags: Vec<(&str, String)> = carried
            .flags
            .iter()
            .map(|flag| (flag.name, writing.option(flag.name, &flag.text, recording.socket.at_s)))
            .collect();
        if stream.is_some() {
            // Its rooms are in its URL, which is written: this leaves a remark on them.
            for (key, value) in recording.socket.url.query_pairs() {
                writing.room(&key, &value);
            }
        }
        // Clients of a stream only hear, and are ready with its answer.
        let opens = stream.is_none() && self.open(&mut writing, &mut rest, &mut findings);
        let is_said = self.says(&mut writing, &mut rest, &mut findings);
        self.rules(&mut writing, &mut rules, &mut findings);
        // A secret option may name a variable or a file of this machine: a recording has no business with them.
        let is_foreign = |value: &str| value.starts_with("env:") || value.starts_with("file:");
        let flags: Vec<_> = flags.into_iter().filter(|(_, value)| !is_foreign(value)).collect();
        let notes = writing.notes;
        let mut top = TomlText::default();
        self.head(&mut trace, &mut top, &notes);
        write_flags(flags, &mut top);
        let mut logins = TomlText::default();
        let requests = login::write(recording, &mut trace, &mut logins);
        if let Some(published) = &self.published {
            published.write(&mut trace, &mut rest, &mut findings);
        }
        if requests > 0 {
            findings.insert(0, self.login_finding(requests));
        }
        let rest = logins.0 + &connect + &rest.0 + &rules.0;
        let toml = whole(&trace, top, &rest, users);
        let (server, protocol) = (server(recording), carried.name());
        let is_measured = is_said || self.published.is_some();
        let logs_in = requests > 0;
        let draft = Draft {
            toml,
            users: None,
            server,
            protocol,
            logs_in,
            opens,
            is_measured,
            has_two_users: recording.has_two_users,
            findings,
        };
        (draft, trace.columns)
    }

    fn login_finding(&self, requests: usize) -> String {
        let before = if self.recording.stream.is_some() { "stream" } else { "WebSocket" };
        format!("login       {} before the {before}", counted(requests, "request"))
    }

    fn head(&self, trace: &mut Trace<'_>, out: &mut TomlText, notes: &BTreeSet<String>) {
        let Session { recording, carried, talk, .. } = self;
        let (sent, all) =
            (talk.messages.iter().filter(|message| message.turn.is_sent).count(), talk.messages.len());
        out.remark(&match &recording.stream {
            Some(stream) => self.stream_remark(stream),
            None => format!(
                "Written by throng from {}: {all} messages of the app, {sent} of them sent, over {}. Every key: throng docs app.",
                recording.name,
                carried.name()
            ),
        });
        let others = recording.others.iter().map(|other| format!("left out: {other}"));
        let binary = (recording.socket.binary > 0)
            .then(|| format!("left out: {} binary messages (throng docs app)", recording.socket.binary));
        let later = (talk.left_out > 0)
            .then(|| format!("left out: {} messages that are too long or the last", talk.left_out));
        let unread = recording.is_cut.then(|| {
            format!(
                "left out: requests behind the first {REQUESTS_MAX}, headers behind {ALL_HEADERS_MAX}, or messages behind {FRAMES_MAX} or of {} MiB",
                TEXT_BYTES_MAX >> 20
            )
        });
        let unsendable = (recording.unsendable > 0).then(|| {
            format!("left out: {} with control characters", counted(recording.unsendable, "header"))
        });
        let left_out = binary.into_iter().chain(later).chain(unread).chain(unsendable).chain(others);
        for note in carried.notes.iter().cloned().chain(left_out).chain(notes.iter().cloned()).take(RULES_MAX)
        {
            out.remark(&note);
        }
        // The table of answers says what it is.
        if !recording.stream.as_ref().is_some_and(|stream| stream.is_answer) {
            out.text("protocol", carried.protocol);
        }
        match carried.separator {
            Some("\n") => out.text("frames", "lines"),
            Some(end) => out
                .line(&format!("frames = {}", inline([format!("separator = {}", quoted(end))].into_iter()))),
            None => {}
        }
        self.subprotocols(trace, out);
    }

    /// The opening request.
    fn connect(&self, trace: &mut Trace<'_>) -> String {
        let Session { recording, carried, .. } = self;
        let (socket, mut out) = (&recording.socket, TomlText::default());
        let stream = recording.stream.as_ref();
        out.comment(&format!("The opening request, which was answered by {}.", socket.status));
        out.line("[connect]");
        let target = match stream {
            Some(stream) => streams::target(stream, recording, trace),
            None => {
                let path = carried.path.as_deref().unwrap_or(socket.url.path());
                let path = login::path(path, &socket.url, socket.at_s, trace);
                let query = login::query(&socket.url, carried.own_query, socket.at_s, trace);
                if query.is_empty() { path } else { format!("{path}?{query}") }
            }
        };
        out.text("path", &target);
        match socket.header("origin") {
            Some(origin) if is_origin(origin) => out.text("origin", &plain(origin)),
            Some(_) => {
                out.remark("left out: the Origin header, as it names no server: if yours checks it, write origin = \"https://chat.example.com\".");
            }
            None => {}
        }
        let mut headers = trace.headers(&socket.headers, socket.at_s);
        if let Some((name, password)) = socket.login().filter(|_| socket.header("authorization").is_none()) {
            let [name, password] =
                [("name", name), ("password", password)].map(|(key, value)| trace.column(key, &value));
            headers.push(("Authorization".to_owned(), format!("Basic {{base64:{name}:{password}}}")));
        }
        let older = trace.older_cookies();
        if !older.is_empty() {
            out.remark(
                "The cookie was there before the recording: record from the login on, in a private window.",
            );
            let placeholder = trace.column("cookie", &older.join("; "));
            headers.push(("Cookie".to_owned(), placeholder));
        }
        if let Some(stream) = stream {
            headers.extend(streams::headers(stream));
        }
        out.texts("headers", &headers);
        if let Some(stream) = stream.filter(|stream| !stream.is_answer) {
            streams::asked(stream, trace, &mut out);
        }
        out.0
    }

    fn purpose(&self, kind: &Kind) -> Option<&Purpose> {
        self.purposes.iter().find(|(other, _)| other == kind).map(|(_, purpose)| purpose)
    }

    /// Kinds of the server's messages that measured ones explain.
    fn explained(&self) -> HashSet<&Kind> {
        let said = self.purposes.iter().filter_map(|(_, purpose)| match purpose {
            Purpose::Broadcast(said) | Purpose::Echo(said) => Some([&said.copy, &said.own, &said.ack]),
            Purpose::Answer { .. } | Purpose::Heartbeat { .. } | Purpose::Opening => None,
        });
        let published = self.published.as_ref().map(|published| published.copy);
        said.flatten().flatten().chain(published).collect()
    }

    /// The first measured message: before it, a client opens.
    fn first_said(&self) -> usize {
        let is_said =
            |kind: &Kind| matches!(self.purpose(kind), Some(Purpose::Broadcast(_) | Purpose::Echo(_)));
        let first =
            self.talk.messages.iter().position(|message| message.turn.is_sent && is_said(&message.kind));
        first.unwrap_or(self.talk.messages.len())
    }
}

/// The remark on a kind that comes back and is not measured.
fn note_without_id(kind: &str) -> String {
    format!("{kind} has no place for an id, and is not measured: make it a [broadcast] or [echo] with {{id}}")
}

/// Returns whether an origin names a server, as that of a page does: a file has `null`.
fn is_origin(text: &str) -> bool {
    text.contains("://") && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn write_flags(flags: Vec<(&str, String)>, out: &mut TomlText) {
    if flags.is_empty() {
        return;
    }
    out.comment("How it connects and joins, as recorded.");
    out.line("[flags]");
    for (name, value) in flags {
        match value.parse::<u8>() {
            Ok(number) if name == "eio" => out.line(&format!("{name} = {number}")),
            _ => out.text(name, &value),
        }
    }
}

/// The file of these parts: what stands before the tables, and the rest, in which cells of the users' data are hidden.
fn whole(trace: &Trace<'_>, mut top: TomlText, rest: &str, users: &str) -> String {
    if !trace.columns.is_empty() {
        let names: Vec<&str> = trace.columns.iter().map(|(column, _)| column.as_str()).collect();
        top.comment(&format!(
            "What was typed, and what lets the user in: add a row for each user. Columns: {}.",
            names.join(", ")
        ));
        top.line("[people]");
        top.text("data", users);
    }
    let mut toml = trace.without_forgotten(top.0 + rest);
    for (column, cell) in trace.columns.iter().filter(|(_, cell)| cell.len() >= CELL_BYTES_MIN) {
        toml = hide(toml, cell, &format!("{{person.{column}}}"));
    }
    toml
}

/// The name of a kind's table, which no other has.
fn free_name(names: &mut HashSet<String>, kind: &Kind) -> String {
    let name = free(&identifier(&kind.name()), |name| names.contains(name));
    names.insert(name.clone());
    name
}

/// The values that a file keeps of a message.
fn keep(writing: &Writing<'_, '_>, at: usize) -> String {
    let Some(kept) = writing.kept.get(&at) else { return String::new() };
    let pairs: Vec<_> =
        kept.iter().map(|(name, pointer)| (name.as_str(), format!("json:{pointer}"))).collect();
    format!("\nkeep = {}", texts(pairs.iter().map(|(name, place)| (*name, place.as_str()))))
}

/// The server, as `throng run` is given it.
fn server(recording: &Recording) -> String {
    let url = &recording.socket.url;
    let scheme = match (url.scheme(), recording.stream.is_some()) {
        (scheme, true) => scheme,
        ("wss" | "https", false) => "wss",
        (_, false) => "ws",
    };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}://{}{port}", url.host_str().unwrap_or_default())
}
