//! A client as runs have them: it receives messages, and resumes after its connection is lost.

use std::mem;
use std::time::{Duration, Instant};

use app::Kind;
use codec::{Io, Stamp};
use net::clock;
use wire::{Client, Config, Event, Place, Resumption, Role};

use super::channel::{Channel, Way};
use super::row::NotTried;
use super::site::{Tester, Written};
use super::websocket::ANSWER_MAX;

/// A connected client.
pub(super) struct Subscriber<'a> {
    channel: Channel<'a>,
    client: Client,
    config: &'a Config,
    /// The places of the messages received over this connection, in order.
    pub(super) received: Vec<Place>,
    /// The place of the last message, over this connection or the one before.
    place: Option<Place>,
    /// Answers to this client's own requests.
    answers: u64,
    sent: u32,
}

impl<'a> Subscriber<'a> {
    /// Connects a client and waits until it is ready.
    pub(super) fn open(
        tester: &'a Tester<'a>,
        config: &'a Config,
        resumption: Option<Resumption>,
    ) -> Result<Subscriber<'a>, NotTried> {
        let tls = tester.site.tls(Some("http/1.1"), None)?;
        let channel = Channel::open(tester, &Way { tls: tls.as_ref(), ..Way::default() })?;
        let place = resumption.as_ref().and_then(Resumption::place);
        let client = resumption.map_or_else(Client::new, Client::resuming);
        let received = Vec::new();
        let mut opened = Subscriber { channel, client, config, received, place, answers: 0, sent: 0 };
        let mut written = Written::default();
        opened.client.handle_open(config, clock::monotonic_ns(), 0, &mut written);
        opened.flush(written)?;
        if opened.listen(ANSWER_MAX, |opened| opened.client.is_usable())? {
            Ok(opened)
        } else {
            Err(NotTried(format!("a client was not ready after {} s", ANSWER_MAX.as_secs())))
        }
    }

    /// The resumption of this client, once a message has come that names a place.
    pub(super) fn resumption(&self) -> Option<Resumption> {
        self.client.resumption(true).filter(|known| known.place().is_some())
    }

    /// Receives until `is_done`, for at most `time`; returns whether it is done.
    pub(super) fn listen(
        &mut self,
        time: Duration,
        is_done: impl Fn(&Self) -> bool,
    ) -> Result<bool, NotTried> {
        let until = Instant::now() + time;
        loop {
            self.take()?;
            if is_done(self) {
                return Ok(true);
            }
            if !self.channel.receive(until)? {
                return Ok(false);
            }
        }
    }

    /// Sends the app's broadcasts.
    pub(super) fn broadcast(&mut self, messages: u32) -> Result<(), NotTried> {
        let mut written = Written::default();
        for _ in 0..messages {
            let (now_ns, unix_ns) = (clock::monotonic_ns(), clock::realtime_ns());
            let stamp = Stamp::new(0, 0, self.sent, now_ns, now_ns);
            self.sent += 1;
            self.client.send(self.config, now_ns, unix_ns, Kind::Broadcast, stamp, &mut written);
        }
        self.flush(written)
    }

    /// Sends one broadcast as a request, and waits for the answer.
    pub(super) fn publish(&mut self) -> Result<(), NotTried> {
        let answers = self.answers;
        self.broadcast(1)?;
        let is_answered = self.listen(ANSWER_MAX, |client| client.answers > answers)?;
        is_answered.then_some(()).ok_or_else(|| NotTried("--publish-url does not answer".to_owned()))
    }

    /// Sends bytes as they are.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), NotTried> {
        Ok(self.channel.send(bytes, Instant::now() + ANSWER_MAX)?)
    }

    fn flush(&mut self, mut written: Written) -> Result<(), NotTried> {
        self.send(&mem::take(written.out(0)))
    }

    /// Hands what has come in to the client.
    fn take(&mut self) -> Result<(), NotTried> {
        let mut written = Written::default();
        let mut rejected = None;
        // Byte by byte: each of several messages that come together has a place of its own.
        for byte in mem::take(&mut self.channel.received) {
            let on = &mut |event| match event {
                Event::Message { role: Role::Answer { .. }, .. } => self.answers += 1,
                Event::WrongResponse(wrong) => rejected = Some(wrong.to_string()),
                Event::Rejected(rejection) => rejected = Some(rejection.to_string()),
                _ => {}
            };
            let now_ns = clock::monotonic_ns();
            self.client
                .handle_input(self.config, now_ns, 0, &[byte], &mut written, on)
                .map_err(|failure| NotTried(format!("a client fails: {failure}")))?;
            let place = self.client.resumption(true).and_then(|known| known.place());
            if place.is_some() && place != self.place {
                self.received.extend(place.clone());
                self.place = place;
            }
        }
        self.flush(written)?;
        rejected.map_or(Ok(()), |problem| Err(NotTried(problem)))
    }
}
