//! Any answers at a client that logs in, and keeps of them whatever there is to keep.

use std::sync::Arc;

use crate::support::{Fake, check_portions, limits, options, split};
use app::app_file::{AppFile, Keep, LoginContent, LoginRequest};
use app::people::People;
use app::template::{Purpose, Quoting, Template};
use codec::Limits;
use wire::{Client, Config, DialectId, DialectOptions, Options, Payload};

/// The kinds of places at which something is kept, each of which may be asked of any answer.
const PLACES: [&str; 5] = ["cookie:a", "header:x", "json:/a/0", "html:a", "regex:a=(.*)"];

thread_local! {
    static CONFIGS: Vec<Config> = PLACES.map(config).into();
}

/// Two requests: the first keeps something, the second says it and follows redirects.
fn config(place: &str) -> Config {
    let mut people = People::default();
    people.names.set("kept", Template::of_kept(0));
    let say = |quoting| {
        Template::parse("/{kept}", Purpose::Opening, &people.names, quoting).expect("a good template")
    };
    let first = LoginRequest {
        server: 0,
        name: "GET /".into(),
        is_post: false,
        target: Template::literal("/"),
        headers: vec![],
        content: None,
        expect: None,
        follows: false,
        keep: vec![Keep { name: "kept".into(), value: 0, from: place.into(), place: None }],
    };
    let second = LoginRequest {
        is_post: true,
        target: say(Quoting::Percent),
        headers: vec![("X".into(), say(Quoting::Plain)), ("Cookie".into(), say(Quoting::Plain))],
        content: Some(LoginContent { content_type: "x".into(), body: say(Quoting::JSON) }),
        follows: true,
        keep: vec![],
        ..first.clone()
    };
    let app = AppFile { login: vec![first, second], ..AppFile::default() };
    Config::new(Options {
        headers: vec![("X".into(), "{kept}".into())],
        limits: Limits { head_bytes_max: 4096, ..limits() },
        payload: Payload::default(),
        of_dialect: DialectOptions { app: Some(Arc::new(app)), ..DialectOptions::default() },
        people: people.into(),
        ..options(DialectId::Custom, "/?{kept}")
    })
    .expect("a good login")
}

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((step, data)) = split(data) else { return };
    let Some((&place, answers)) = data.split_first() else { return };
    CONFIGS.with(|all| feed(&all[usize::from(place) % all.len()], answers, step));
}

fn feed(cfg: &Config, answers: &[u8], step: usize) {
    check_portions(answers, step, |portions| {
        let (mut client, mut io, mut events) = (Client::new(), Fake::default(), Vec::new());
        client.handle_open(cfg, 0, 0, &mut io);
        let mut feed = |bytes: &[u8]| client.handle_input(cfg, 0, 0, bytes, &mut io, &mut |e| events.push(e));
        let result = portions.iter().try_for_each(|bytes| feed(bytes));
        let is_field = |line: &[u8]| !line.contains(&b'\r');
        assert!(
            io.out
                .split(|&byte| byte == b'\n')
                .all(|line| is_field(line.strip_suffix(b"\r").unwrap_or(line)))
        );
        (io.out, events, result)
    });
}
