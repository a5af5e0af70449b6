//! A client that logs in before its opening request.

use super::{Client, State};
use crate::config::Config;
use crate::event::Event;
use crate::failure::Failure;
use crate::io::Io;
use crate::login::LoginProgress;

impl Client {
    /// The server that stream 0 is to be connected to, now that it is to be: 0 is the run's, 1 the first of
    /// [`login_servers`](app::app_file::AppFile::login_servers).
    pub fn server(&self, cfg: &Config) -> usize {
        let server = match (&self.state, &cfg.login) {
            (State::Idle, Some(steps)) => steps.server(0),
            (State::LoggingIn(visit), Some(steps)) => visit.server(steps),
            _ => 0,
        };
        server.into()
    }

    /// The login has come so far with what came in; `input` is what is behind.
    pub(super) fn handle_went(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        progress: LoginProgress,
        input: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        if progress == LoginProgress::On {
            return Ok(());
        }
        on(Event::LoggedIn);
        // The connection is gone with the last answer: the driver makes another, whose opening goes on from
        // here.
        if progress == LoginProgress::ThroughAndOut {
            return Ok(());
        }
        self.ask(cfg, now_ns, io);
        if self.is_usable() {
            // Plain requests say nothing first that an answer could confirm.
            on(Event::Usable);
        }
        self.handle_input(cfg, now_ns, 0, input, io, on)
    }
}
