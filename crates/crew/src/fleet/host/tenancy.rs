//! What a target agent does for one coordinator: a thread that its host works on, and looks at the server that runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::super::link::Link;
use super::{Down, Host, Up};
use crate::look::Eyes;

/// How often a server that runs is looked after.
const POLL: Duration = Duration::from_millis(50);

/// One coordinator's claim. Dropped, it ends whatever was begun, and waits for that.
pub(super) struct Tenancy {
    /// The coordinator's run.
    pub(super) run: String,
    pub(super) link: Link,
    pub(super) answers: UnboundedReceiver<Up>,
    /// At the server that runs.
    pub(super) eyes: Option<Eyes>,
    orders: Option<mpsc::Sender<Down>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Tenancy {
    /// Begins; `host` is given what tells it to give up.
    pub(super) fn begin(
        run: String,
        link: Link,
        host: &dyn Fn(Arc<AtomicBool>) -> Box<dyn Host>,
    ) -> std::io::Result<Self> {
        let (orders, inbox) = mpsc::channel();
        let (outbox, answers) = unbounded_channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let host = host(Arc::clone(&is_over));
        let work = move || work(host, &inbox, &outbox);
        let thread = Some(thread::Builder::new().name("host".into()).spawn(work)?);
        Ok(Self { run, link, answers, eyes: None, orders: Some(orders), is_over, thread })
    }

    /// Has it done, after what was ordered before.
    pub(super) fn order(&mut self, order: Down) {
        if let Some(orders) = &self.orders {
            // A host that has ended hears nothing; its coordinator hears nothing either, and gives up.
            let _ = orders.send(order);
        }
    }

    /// Sends an answer; looks from now on at the server that it tells of.
    pub(super) fn handle_answer(&mut self, answer: &Up) {
        match answer {
            Up::Started(Ok(running)) => self.eyes = Some(Eyes::on(running.pid)),
            Up::Stopped | Up::Died(_) => self.eyes = None,
            _ => {}
        }
        self.link.send(answer);
    }
}

impl Drop for Tenancy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Does one thing after the other, until there is nobody left to ask for more; the host's servers end with it.
fn work(mut host: Box<dyn Host>, orders: &mpsc::Receiver<Down>, answers: &UnboundedSender<Up>) {
    loop {
        let answer = match orders.recv_timeout(POLL) {
            Ok(Down::Prepare { target, may_install }) => Up::Prepared(host.prepare(&target, may_install)),
            Ok(Down::Start { target, cpus }) => Up::Started(host.start(&target, &cpus)),
            Ok(Down::Stop) => {
                host.stop();
                Up::Stopped
            }
            Ok(Down::Release) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => match host.poll_death() {
                Some(how) => {
                    host.stop();
                    Up::Died(how)
                }
                None => continue,
            },
        };
        if answers.send(answer).is_err() {
            return;
        }
    }
}
