//! Answers that come in pieces over a WebSocket: what is told of each, what ends one, what becomes of
//! connections; and what throng's own server answers.

use std::sync::atomic::Ordering;

use app::Kind;
use app::people::People;
use app::template::{Purpose, Quoting, Template};
use codec::{Error, Reason};
use proptest::prelude::*;
use wire::{
    BadOption, Client, Config, DialectId, EndMark, Event, Failure, HttpOptions, Progress, RequestOutcome,
    Role, Sending, ServerConfig, StreamForm, StreamOptions,
};

use crate::common::*;
use crate::http2::Streams;

const EVENT: Progress = Progress::Event { tokens: 0, is_misordered: false };
const MARKED: Progress = Progress::Ended { is_marked: true };
const UNMARKED: Progress = Progress::Ended { is_marked: false };

/// A client, and the server that the test plays.
struct World {
    cfg: Config,
    client: Client,
    io: Streams,
    events: Vec<Event>,
}

fn asked(stream: StreamOptions) -> HttpOptions {
    HttpOptions { body: Some(b"tea?".to_vec()), stream: Some(stream), ..HttpOptions::default() }
}

fn to(mark: &str) -> StreamOptions {
    StreamOptions { end: Some(EndMark::parse(mark)), ..StreamOptions::default() }
}

fn configured(http: HttpOptions) -> Result<Config, BadOption> {
    let mut all = options(DialectId::WsStream);
    all.of_dialect.settings = http.into();
    Config::new(all)
}

impl World {
    /// A client whose WebSocket stands.
    fn new(stream: StreamOptions) -> World {
        World::of(configured(asked(stream)).unwrap())
    }

    fn of(cfg: Config) -> World {
        let mut world = World { cfg, client: Client::new(), io: Streams::default(), events: Vec::new() };
        world.open();
        assert_eq!(std::mem::take(&mut world.events), [Event::Upgraded, Event::Usable]);
        world
    }

    /// A client with a question under way.
    fn asking() -> World {
        let mut world = World::new(to("[DONE]"));
        assert_eq!((world.send(0), world.said()), (Sending::Out, vec!["tea?".to_owned()]));
        world
    }

    /// Connects, and grants the upgrade.
    fn open(&mut self) {
        self.io.out.clear();
        self.client.handle_open(&self.cfg, 0, 0, &mut self.io);
        let answer = accept(&std::mem::take(&mut self.io.out), "");
        self.receive(&answer).unwrap();
    }

    fn send(&mut self, number: u32) -> Sending {
        self.client.send(&self.cfg, 0, 0, Kind::Echo, stamp(number), &mut self.io)
    }

    /// The messages that went out since it was last asked.
    fn said(&mut self) -> Vec<String> {
        said(&std::mem::take(&mut self.io.out))
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let on = &mut |event| self.events.push(event);
        self.client.handle_input(&self.cfg, 0, 0, bytes, &mut self.io, on)
    }

    fn hear(&mut self, messages: &[&str]) {
        self.receive(&texts(messages)).unwrap();
    }

    fn eof(&mut self) -> Result<(), Failure> {
        let on = &mut |event| self.events.push(event);
        self.client.handle_eof(&self.cfg, 0, 0, &mut self.io, on)
    }

    /// The progress told since last asked but for beginnings, and the numbers of whole answers.
    fn told(&mut self) -> (Vec<(u32, Progress)>, Vec<u32>) {
        let (mut told, mut answered) = (Vec::new(), Vec::new());
        for event in self.events.drain(..) {
            match event {
                Event::Progress { progress: Progress::Begun { .. }, .. } => {}
                Event::Progress { request, progress } => told.push((request, progress)),
                Event::Message { role: Role::Echo, stamp, .. } => answered.push(stamp.seq),
                other => panic!("{other:?}"),
            }
        }
        (told, answered)
    }
}

fn close(code: u16) -> Vec<u8> {
    plain(0x88, &code.to_be_bytes())
}

#[test]
fn each_message_is_an_event() {
    let frames = texts(&["Let", "me\n\nsee", "[DONE]"]);
    for step in 1..=frames.len() {
        let mut world = World::asking();
        for portion in frames.chunks(step) {
            world.receive(portion).unwrap();
        }
        assert_eq!(world.told(), (vec![(0, EVENT), (0, EVENT), (0, MARKED)], vec![0]), "by {step}");
    }
}

#[test]
fn marks_tokens_and_order_stand_in_json() {
    let stream = StreamOptions { tokens: Some("/text".into()), order: Some("/n".into()), ..to("/type=end") };
    let mut world = World::new(stream);
    world.send(0);
    world.hear(&[r#"{"n":1,"text":"a"}"#, r#"{"n":0,"text":"b"}"#, r#"{"n":2,"type":"end"}"#]);
    let event = |tokens, is_misordered| (0, Progress::Event { tokens, is_misordered });
    let told = vec![event(1, false), event(1, true), event(0, false), (0, MARKED)];
    assert_eq!(world.told(), (told, vec![0]), "a mark in JSON is an event, too");
}

#[test]
fn questions_wait_for_their_turn() {
    let mut world = World::asking();
    assert_eq!([world.send(1), world.send(2)], [Sending::Waits { is_busy: true }; 2]);
    assert_eq!(world.said(), Vec::<String>::new());
    world.hear(&["a", "[DONE]"]);
    assert_eq!(world.said(), ["tea?"], "the next alone");
    world.hear(&["[DONE]"]);
    assert_eq!(world.told().1, [0, 1]);
    let sent: Vec<u32> = world.io.request_outcomes.iter().map(|(number, _)| *number).collect();
    assert_eq!(sent, [1, 2]);
}

#[test]
fn messages_behind_the_mark_are_counted() {
    let mut world = World::asking();
    world.send(1);
    // In one read: the next question is not out yet.
    world.hear(&["a", "[DONE]", "[DONE]"]);
    let told = vec![(0, EVENT), (0, Progress::AfterEnd), (0, MARKED)];
    assert_eq!(world.told(), (told, vec![0]));
    world.hear(&["[DONE]"]);
    world.told();
    world.hear(&["late"]);
    assert_eq!(world.told(), (vec![(1, Progress::AfterEnd)], vec![]), "nothing is under way");
}

#[test]
fn greetings_are_no_answers() {
    let mut world = World::new(to("[DONE]"));
    world.hear(&["welcome"]);
    assert_eq!(world.events, [Event::Foreign { bytes: 7 }]);
}

#[test]
fn peaceful_closes_end_answers_unmarked() {
    for (code, expected) in
        [(1000, (vec![(0, EVENT), (0, UNMARKED)], vec![0])), (1011, (vec![(0, EVENT)], vec![]))]
    {
        let mut world = World::asking();
        world.hear(&["a"]);
        world.receive(&close(code)).unwrap();
        assert_eq!(world.said(), [format!("close {code}")]);
        let told = world.events.pop_if(|event| matches!(event, Event::Broken(_)));
        assert_eq!(told.is_some(), code == 1011);
        assert_eq!(world.told(), expected, "{code}");
        let is_whole = code == 1000;
        let dropped = [(0, RequestOutcome::Dropped)];
        assert_eq!(world.io.request_outcomes, if is_whole { &[][..] } else { &dropped }, "{code}");
        assert_eq!((world.io.opened, world.io.closed), (0, 1), "nothing is to be asked");
        assert_eq!(world.send(1), Sending::Waits { is_busy: false });
        assert_eq!(world.io.opened, 1);
        world.open();
        assert_eq!(world.said(), ["tea?"], "over another connection");
    }
}

#[test]
fn lost_connections_break_answers_off() {
    for lose in [
        |world: &mut World| world.eof().is_ok(),
        |world: &mut World| world.client.handle_lost(&world.cfg, 0, 0, &mut world.io),
    ] {
        let mut world = World::asking();
        world.send(1);
        world.hear(&["a"]);
        assert!(lose(&mut world), "the client goes on");
        assert_eq!(world.io.request_outcomes, [(0, RequestOutcome::Dropped)]);
        assert_eq!(world.io.opened, 1, "the next waits");
        world.open();
        assert_eq!(world.said(), ["tea?"]);
        assert_eq!(world.told(), (vec![(0, EVENT)], vec![]), "it was ready before");
    }
}

#[test]
fn connections_without_an_answer_lose_the_client() {
    assert_eq!(World::asking().eof(), Err(Failure::Eof));
    let mut refused = World::asking();
    refused.receive(&close(1008)).unwrap();
    assert_eq!(refused.events, [Event::Closed { code: 1008 }]);
    let mut broken = World::asking();
    assert_eq!(broken.receive(&plain(0xC1, b"x")), Err(Failure::Codec(Error::Protocol(Reason::ReservedBit))));
}

#[test]
fn idle_connections_end_without_the_client() {
    for lose in [
        |world: &mut World| world.eof().is_ok(),
        |world: &mut World| world.receive(&close(1000)).is_ok(),
        |world: &mut World| world.receive(&close(1001)).is_ok(),
        |world: &mut World| world.client.handle_lost(&world.cfg, 0, 0, &mut world.io),
    ] {
        let mut world = World::new(to("[DONE]"));
        assert!(lose(&mut world));
        assert_eq!((world.events.len(), world.io.opened), (0, 0));
        assert_eq!((world.send(0), world.io.opened), (Sending::Waits { is_busy: false }, 1));
    }
    let mut refused = World::new(to("[DONE]"));
    refused.receive(&close(1008)).unwrap();
    assert_eq!(refused.events, [Event::Closed { code: 1008 }]);
}

#[test]
fn closes_beside_the_upgrade_lose_the_client() {
    let mut world = World::new(to("[DONE]"));
    world.eof().unwrap();
    world.send(0);
    world.client.handle_open(&world.cfg, 0, 0, &mut world.io);
    let answer = accept(&std::mem::take(&mut world.io.out), "");
    world.receive(&[answer, close(1000)].concat()).unwrap();
    assert_eq!(world.events, [Event::Closed { code: 1000 }]);
    assert_eq!(world.io.opened, 1, "for the question alone");
}

#[test]
fn questions_differ_in_what_they_draw() {
    let mut people = People::default();
    let drawn = Template::parse("{uuid}", Purpose::Opening, &people.names, Quoting::Plain).unwrap();
    people.names.set("drawn", drawn);
    let mut all = options(DialectId::WsStream);
    all.people = people.into();
    let http = HttpOptions { body: Some(b"{drawn}".to_vec()), is_template: true, ..asked(to("[DONE]")) };
    all.of_dialect.settings = http.into();
    let mut world = World::of(Config::new(all).unwrap());
    world.send(0);
    let first = world.said();
    world.hear(&["[DONE]"]);
    world.send(1);
    assert_ne!(world.said(), first);
}

#[test]
fn broken_frames_break_an_answer_off() {
    let mut world = World::asking();
    world.hear(&["a"]);
    world.events.clear();
    world.receive(&plain(0xC1, b"x")).unwrap();
    assert_eq!(world.events, [Event::Broken(Failure::Codec(Error::Protocol(Reason::ReservedBit)))]);
    assert_eq!(world.io.request_outcomes, [(0, RequestOutcome::Dropped)]);
    assert_eq!(world.said(), ["close 1002"]);
}

#[test]
fn clients_say_goodbye() {
    let mut world = World::asking();
    world.client.close(&world.cfg, 0, 1000, &mut world.io);
    assert_eq!((world.said(), world.client.is_closed()), (vec!["close 1000".to_owned()], false));
    world.hear(&["a", "[DONE]"]);
    assert_eq!(world.events, [], "nothing is waited for");
    world.receive(&close(1000)).unwrap();
    assert_eq!(world.events, [Event::Closed { code: 1000 }]);
}

#[test]
fn unreadable_answers_are_refused() {
    let refused = |http| match configured(http) {
        Err(BadOption::OfDialect { option, .. }) => option,
        other => panic!("{:?}", other.map(drop)),
    };
    assert_eq!(refused(asked(StreamOptions::default())), "end");
    assert_eq!(refused(asked(to("event:stop"))), "end", "messages have no type");
    assert_eq!(refused(asked(StreamOptions { form: Some(StreamForm::Lines), ..to("[DONE]") })), "as");
    assert_eq!(refused(HttpOptions { body: None, ..asked(to("[DONE]")) }), "body");
}

/// The outcome of a question at throng's server, which has given this many answers before.
fn served_after(answers: u64, query: &str) -> Result<(), Failure> {
    let cfg = ServerConfig::default();
    let request = request("").replace("/chat", &format!("/stream?{query}"));
    cfg.streamed.store(answers, Ordering::Relaxed);
    serve_portions(&cfg, &[request.as_bytes(), &masked_texts(&["hi"])]).result
}

#[test]
fn served_queries_are_checked() {
    assert_eq!(served_after(0, "events=3"), Ok(()));
    assert_eq!(served_after(0, "events=x"), Err(Failure::Refused(400)), "at the upgrade");
    // Also for answers that it is not planted in.
    let faulty = "break=x:1%2";
    assert_eq!([0, 1].map(|answers| served_after(answers, faulty)), [Err(Failure::Refused(400)); 2]);
}

/// A step of the driver or, while the connection stands, of the server.
#[derive(Clone, Copy, Debug)]
enum Step {
    Ask,
    Hear(&'static [&'static str]),
    Close(u16),
    Break,
    End,
    Lose,
}

impl World {
    /// Does a step, and connects anew where the client asks for it. Returns whether the client lives on.
    fn does(&mut self, step: Step, asked: &mut u32) -> bool {
        let lives = match step {
            Step::Ask => {
                self.send(*asked);
                *asked += 1;
                true
            }
            _ if self.io.closed > 0 => true,
            Step::Hear(messages) => self.receive(&texts(messages)).is_ok(),
            Step::Close(code) => self.receive(&close(code)).is_ok(),
            Step::Break => self.receive(&plain(0xC1, b"x")).is_ok(),
            Step::End => self.eof().is_ok(),
            Step::Lose => self.client.handle_lost(&self.cfg, 0, 0, &mut self.io),
        };
        // The driver knows of an end that it has told the client of.
        self.io.closed += u32::from(matches!(step, Step::End | Step::Lose));
        if std::mem::take(&mut self.io.opened) > 0 {
            self.io.closed = 0;
            self.open();
        }
        lives && !self.events.iter().any(|event| matches!(event, Event::Closed { .. }))
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let heard: [&[&str]; 4] = [&["a"], &["[DONE]"], &["a", "[DONE]"], &["[DONE]", "[DONE]", "a"]];
    let step = prop_oneof![
        6 => Just(Step::Ask),
        8 => (0..heard.len()).prop_map(move |at| Step::Hear(heard[at])),
        2 => prop::sample::select(&[1000, 1011][..]).prop_map(Step::Close),
        1 => Just(Step::Break),
        1 => Just(Step::End),
        1 => Just(Step::Lose),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn questions_end_once_and_in_order(steps in steps()) {
        let (mut world, mut asked) = (World::new(to("[DONE]")), 0);
        let lives = steps.into_iter().all(|step| world.does(step, &mut asked));
        let answered = world.events.iter().filter_map(|event| match event {
            Event::Message { stamp, .. } => Some(stamp.seq),
            _ => None,
        });
        let dropped = world.io.request_outcomes.iter().filter_map(|(number, outcome)| match outcome {
            RequestOutcome::Dropped => Some(*number),
            _ => None,
        });
        let (answered, dropped): (Vec<u32>, Vec<u32>) = (answered.collect(), dropped.collect());
        prop_assert!(answered.is_sorted() && dropped.is_sorted());
        let mut ended = [answered, dropped].concat();
        ended.sort_unstable();
        prop_assert_eq!(&ended, &(0..ended.len() as u32).collect::<Vec<_>>());
        prop_assert!(ended.len() <= asked as usize);
        // A client that lives waits for an answer over a connection that stands.
        let is_connected = world.io.closed == 0;
        prop_assert!(!lives || is_connected || ended.len() == asked as usize);
    }
}
