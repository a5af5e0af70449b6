//! The file of answers that come in pieces: what is asked, and how an answer is read.

use std::collections::BTreeSet;

use super::streams::{question, target};
use super::{Draft, Session, server, whole};
use crate::login;
use crate::stream::Stream;
use crate::toml_text::{TomlText, counted, times};
use crate::trace::Trace;

impl Session<'_> {
    /// The first remark of a file, of answers or of a subscription.
    pub(super) fn stream_remark(&self, stream: &Stream) -> String {
        let name = &self.recording.name;
        let (what, topic) = match stream.is_answer {
            true => (format!("{} in pieces", counted(stream.count, "answer")), "streams"),
            false => (format!("{} of a stream", counted(self.talk.messages.len(), "event")), "app"),
        };
        format!("Written by throng from {name}: {what}. Every key: throng docs {topic}.")
    }

    /// The file, and the columns with this user's cells.
    pub(super) fn answers(&self, stream: &Stream, users: &str) -> (Draft, Vec<(String, String)>) {
        let Session { recording, carried, .. } = self;
        let mut trace = Trace::new(recording);
        let (mut top, mut rest, mut logins) = (TomlText::default(), TomlText::default(), TomlText::default());
        let connect = self.connect(&mut trace);
        let mut findings = vec![self.stream_table(stream, &mut trace, &mut rest)];
        self.head(&mut trace, &mut top, &BTreeSet::new());
        let requests = login::write(recording, &mut trace, &mut logins);
        if requests > 0 {
            findings.insert(0, self.login_finding(requests));
        }
        let toml = whole(&trace, top, &(logins.0 + &connect + &rest.0), users);
        let draft = Draft {
            toml,
            users: None,
            server: server(recording),
            protocol: carried.name(),
            logs_in: requests > 0,
            opens: false,
            is_measured: true,
            has_two_users: recording.has_two_users,
            findings,
        };
        (draft, trace.columns)
    }

    /// Writes how an answer is asked for and read; returns the finding.
    fn stream_table(&self, stream: &Stream, trace: &mut Trace<'_>, out: &mut TomlText) -> String {
        let asked = &stream.asked;
        let (events, end) = (counted(stream.events.len(), "event"), stream.end());
        out.comment(&format!(
            "Request {} of {}, made {} there: answered in {events}.",
            asked.number,
            self.recording.name,
            times(stream.count)
        ));
        out.line("[stream]");
        let usual = if asked.body.is_empty() { "GET" } else { "POST" };
        if asked.method != usual {
            out.text("method", &asked.method);
        }
        if !asked.body.is_empty() {
            let body = question(asked, trace);
            out.text("body", &body);
        }
        match &end {
            Some(end) => {
                out.remark("The last event of a whole answer.");
                out.text("end", end);
            }
            None => out.remark(
                "No event looks like the last: give its mark as `end`, or cut answers pass for whole ones.",
            ),
        }
        if let Some(tokens) = stream.tokens() {
            out.remark("The place of the text in an event, for counts and times of tokens.");
            out.text("tokens", tokens);
        }
        let ended = end.map(|end| format!(", ended by {end}")).unwrap_or_default();
        let target = target(stream, self.recording, trace);
        let path = target.split('?').next().unwrap_or_default();
        format!("answers     {} {path} → {events}{ended}", asked.method)
    }
}
