//! A usable client joins a room, and leaves it again.

use app::template::Mark;

use super::{Client, Session, State, Tunnelled, split};
use crate::apps::App;
use crate::config::Config;
use crate::event::{Event, Passage};
use crate::io::Io;
use crate::registry::clients::LinkContext;

impl Client {
    /// Joins or leaves the client's room of this kind, in the protocol's own terms or by the app's messages.
    /// [`Event::RoomChange`] tells the outcome, unless the server says nothing. Clients that are
    /// [announced](Config::announces) give a stamp for that.
    pub fn pass(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        passage: Passage,
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) {
        if let State::Tunnelled(of) = &mut self.state {
            let (Tunnelled { tunnel, inside }, mut on) = (&mut **of, on as &mut dyn FnMut(Event));
            return tunnel.act(io, |io| inside.pass(cfg, now_ns, passage, io, &mut on));
        }
        let Passage { kind, way, announced } = passage;
        let App::File(app) = &cfg.app else { return };
        let Some((visited, place)) = app.visited(kind) else { return };
        match (&mut self.state, &mut self.place, place) {
            // A room of the protocol: its own words for it.
            (State::Open(Session { sender, protocol, .. }), place, Some(at)) => {
                let (_, pending, kept) = split(&cfg.app, place);
                let link_context =
                    LinkContext { pending, identities: &cfg.common.identities, kept, now_ns, sender, io };
                protocol.pass(&cfg.parts, link_context, at, way, Mark::of(announced.as_ref()));
            }
            // A room of the app: its messages are the script's.
            (State::Open(_) | State::Requesting(_), Some(place), None) => {
                place.script.handle_passage(visited, way, announced);
                self.speak(cfg, now_ns, io, on);
            }
            _ => {}
        }
    }
}
