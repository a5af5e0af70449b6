//! A client that logs in, and what it has heard.

use std::sync::Arc;

use app::app_file::{AppFile, Exchange, Keep, LoginRequest, Say};
use app::people::People;
use app::template::{Purpose, Quoting, Table, Template};
use codec::StreamId;
use wire::{Client, Config, DialectId, DialectOptions, Event, Failure, Io, Options};

use super::options;

/// A driver with one connection, which can be opened anew.
#[derive(Default)]
pub(crate) struct Line {
    pub(crate) out: [Vec<u8>; 4],
    pub(crate) opened: Vec<StreamId>,
}

impl codec::Io for Line {
    fn out(&mut self, stream: StreamId) -> &mut Vec<u8> {
        &mut self.out[usize::from(stream)]
    }

    fn random_u64(&mut self) -> u64 {
        7
    }

    fn open_stream(&mut self, stream: StreamId) {
        self.opened.push(stream);
    }

    fn close_stream(&mut self, _: StreamId) {}
}

impl Io for Line {}

/// One client, and all that happened to it.
pub(crate) struct Visitor {
    pub(crate) cfg: Config,
    pub(crate) client: Client,
    pub(crate) io: Line,
    pub(crate) events: Vec<Event>,
    /// The most bytes of an answer that come at once.
    pub(crate) step: usize,
}

impl Visitor {
    pub(crate) fn new(cfg: Config, step: usize) -> Visitor {
        let mut visitor =
            Visitor { cfg, client: Client::new(), io: Line::default(), events: Vec::new(), step };
        visitor.client.handle_open(&visitor.cfg, 0, 0, &mut visitor.io);
        visitor
    }

    /// Its output on stream 0 since the last time.
    pub(crate) fn said(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.io.out[0])).unwrap()
    }

    pub(crate) fn hears(&mut self, answer: &str) -> Result<(), Failure> {
        for portion in answer.as_bytes().chunks(self.step) {
            let on = &mut |event| self.events.push(event);
            self.client.handle_input(&self.cfg, 0, 0, portion, &mut self.io, on)?;
        }
        Ok(())
    }

    pub(crate) fn hears_the_end(&mut self) -> Result<(), Failure> {
        let on = &mut |event| self.events.push(event);
        self.client.handle_eof(&self.cfg, 0, 0, &mut self.io, on)
    }

    /// The connection that it has asked for stands.
    pub(crate) fn reconnects(&mut self) {
        assert_eq!(std::mem::take(&mut self.io.opened), [0]);
        self.client.handle_open(&self.cfg, 0, 0, &mut self.io);
    }
}

pub(crate) fn people(kept: &[&str]) -> People {
    let mut people = People { rows: Table::new(1), ..People::default() };
    assert!(people.rows.push(["a&b \"c\""].into_iter()));
    people.names.set("person.name", Template::of_column(0));
    for (value, name) in (0..).zip(kept) {
        people.names.set(*name, Template::of_kept(value));
    }
    people
}

pub(crate) fn template(text: &str, people: &People, quoting: Quoting) -> Template {
    Template::parse(text, Purpose::Opening, &people.names, quoting).unwrap()
}

pub(crate) fn get(path: &str) -> LoginRequest {
    LoginRequest {
        server: 0,
        name: format!("GET {path}"),
        is_post: false,
        target: Template::literal(path),
        headers: Vec::new(),
        content: None,
        expect: None,
        follows: false,
        keep: Vec::new(),
    }
}

pub(crate) fn keep(name: &str, value: u16, from: &str) -> Keep {
    Keep { name: name.into(), value, from: from.into(), place: None }
}

/// Options of clients that log in like this, with an app that has one message.
pub(crate) fn logging_in(
    dialect: DialectId,
    login: Vec<LoginRequest>,
    people: People,
    message: &str,
) -> Options {
    let body = Template::parse(message, Purpose::Measured, &people.names, Quoting::JSON).unwrap();
    let send = Say {
        event: if dialect.facts().app.unwrap().has_events { "ask".into() } else { String::new() },
        body,
        as_text: false,
    };
    let app = AppFile {
        login,
        echo: Some(Exchange { send, reply: None, keep: vec![], is_replied: false }),
        ..AppFile::default()
    };
    let of_dialect = DialectOptions { app: Some(Arc::new(app)), ..DialectOptions::default() };
    Options { of_dialect, people: people.into(), ..options(dialect) }
}

pub(crate) fn config(login: Vec<LoginRequest>) -> Config {
    Config::new(logging_in(DialectId::Custom, login, people(&[]), r#"{"id":"{id}"}"#)).unwrap()
}
