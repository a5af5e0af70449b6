//! SockJS clients and a server joined in memory: every transport, in any portions, with connections that are
//! closed.

use app::Kind;
use codec::StreamId;
use wire::{Client, Config, DialectId, Event, Role, Settings};

use crate::common::user::User;
use crate::common::world::World;
use crate::common::{options, stamp};

const TRANSPORTS: [&str; 7] =
    ["websocket", "raw-websocket", "xhr-streaming", "xhr-polling", "eventsource", "htmlfile", "jsonp"];

/// A client and the connections its streams are, if they are.
struct Joined {
    user: User,
    connections: [Option<usize>; 2],
}

impl Joined {
    fn of(transport: &str, world: &mut World) -> Joined {
        let mut options = options(DialectId::Sockjs);
        options.path = "/sockjs".into();
        options.of_dialect.settings = Settings::default().with("transport", transport);
        let cfg = Config::new(options).unwrap();
        let mut user = User { cfg, client: Client::new(), ..User::of("xhr-polling") };
        user.io = Default::default();
        // Names of sessions are drawn from here.
        user.io.seed = world.now_ns;
        world.now_ns += 1000;
        let mut joined = Joined { user, connections: [None; 2] };
        joined.connect(0, world);
        joined
    }

    fn connect(&mut self, stream: StreamId, world: &mut World) {
        self.connections[usize::from(stream)] = Some(world.connect());
        self.user.open(stream);
    }

    /// Moves what has been said, in portions of `step`; whether there was anything.
    fn pump(&mut self, world: &mut World, step: usize) -> bool {
        let mut moved = false;
        for stream in std::mem::take(&mut self.user.io.opened) {
            self.connect(stream, world);
        }
        for stream in 0..2u8 {
            let Some(at) = self.connections[usize::from(stream)] else { continue };
            let said = std::mem::take(&mut self.user.io.out[usize::from(stream)]);
            moved |= !said.is_empty();
            for portion in said.chunks(step) {
                world.send(at, portion).unwrap();
            }
            let heard = world.take(at);
            moved |= !heard.is_empty();
            for portion in heard.chunks(step) {
                self.user.handle(stream, portion).unwrap();
            }
        }
        moved
    }
}

fn settle(world: &mut World, all: &mut [Joined], step: usize) {
    while all.iter_mut().map(|joined| joined.pump(world, step)).filter(|&moved| moved).count() > 0 {}
}

#[test]
fn everyone_gets_every_broadcast_once() {
    for step in [1, 3, 1000, 1 << 20] {
        let world = &mut World::new();
        // Answers end often, so that clients have to ask anew in between.
        world.cfg.settings = Settings::default().with("sockjs-response-limit", 1000);
        let mut all: Vec<Joined> = TRANSPORTS.iter().map(|transport| Joined::of(transport, world)).collect();
        settle(world, &mut all, step);
        for joined in &mut all {
            assert_eq!(joined.user.events(), [Event::Upgraded, Event::Usable]);
        }
        for seq in 0..20 {
            let sender = seq as usize % all.len();
            let user = &mut all[sender].user;
            user.client.send(&user.cfg, 0, 1 << 60, Kind::Broadcast, stamp(seq), &mut user.io);
            settle(world, &mut all, step);
            for (index, joined) in all.iter_mut().enumerate() {
                let mut roles: Vec<Role> = Vec::new();
                for event in joined.user.events() {
                    let Event::Message { role, stamp: got, .. } = event else { panic!("{event:?}") };
                    assert_eq!(got, stamp(seq));
                    roles.push(role);
                }
                roles.sort_by_key(|role| *role == Role::Ack);
                let expected = [Role::Copy, Role::Ack];
                let due = if index == sender { 2 } else { 1 };
                assert_eq!(roles, expected[..due], "{} by {step}", TRANSPORTS[index]);
            }
        }
    }
}

#[test]
fn waiting_echoes_come_back_in_order() {
    for transport in TRANSPORTS {
        let world = &mut World::new();
        let mut all = [Joined::of(transport, world)];
        settle(world, &mut all, 50);
        all[0].user.events();
        for seq in 0..50 {
            let user = &mut all[0].user;
            user.client.send(&user.cfg, 0, 1 << 60, Kind::Echo, stamp(seq), &mut user.io);
            if seq % 7 == 0 {
                all[0].pump(world, 50);
            }
        }
        settle(world, &mut all, 50);
        let is_message = |event: &Event| *event != Event::SameFrame;
        let echoes: Vec<_> = all[0].user.events().into_iter().filter(is_message).collect();
        assert_eq!(echoes.len(), 50, "{transport}");
        for (event, seq) in echoes.iter().zip(0..) {
            assert!(
                matches!(event, Event::Message { role: Role::Echo, stamp: s, .. } if *s == stamp(seq)),
                "{transport}: {event:?}"
            );
        }
    }
}

#[test]
fn a_minute_of_silence_is_nothing() {
    for transport in TRANSPORTS {
        let world = &mut World::new();
        let mut all = [Joined::of(transport, world)];
        for _ in 0..60 {
            settle(world, &mut all, 1000);
            world.pass_s(1);
        }
        settle(world, &mut all, 1000);
        assert_eq!(all[0].user.events(), [Event::Upgraded, Event::Usable], "{transport}");
    }
}
