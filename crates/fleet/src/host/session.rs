//! A target agent's session with one coordinator: a thread that its host works on, and looks at the server
//! that runs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crew::{LocalServerReader, ServerReader, ServerReading};
use net::proc::Service;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::talk::{Down, Running, StageFailure, Up};
use crate::Error;
use crate::agent::{self, AgentOptions, ClaimEnd, Work};
use crate::intro::{HostHello, name};
use crate::link::Link;

/// How often a running server is checked.
const POLL: Duration = Duration::from_millis(50);

/// Most CPUs that a server may be pinned to.
const CPUS_MAX: usize = 1_024;

/// Runs servers on the agent's machine: called from a thread of its own, one call at a time. A drop ends the
/// servers.
pub trait Host: Send {
    /// Makes sure that the target can be started and does what it promises: installed if that is allowed,
    /// built, checked. Its version.
    ///
    /// # Errors
    /// What went wrong, at which stage.
    fn prepare(&mut self, target: &str, may_install: bool) -> Result<String, StageFailure>;

    /// Starts the target on these CPUs (all, if there are none), and waits until it is ready.
    ///
    /// # Errors
    /// What went wrong, at which stage.
    fn start(&mut self, target: &str, cpus: &[usize]) -> Result<Running, StageFailure>;

    /// How the server ended, if it has ended by itself.
    fn poll_death(&mut self) -> Option<String>;

    /// Ends the server that runs, if one does. Returns how it had ended by itself before, if it had.
    fn stop(&mut self) -> Option<String>;
}

/// Makes what runs the servers of one claim; it gives up what it does once the flag is set.
pub type Hosts<'a> = &'a dyn Fn(Arc<AtomicBool>) -> Box<dyn Host>;

/// Runs servers for one coordinator after the other, until it is interrupted.
///
/// # Errors
/// NATS cannot be reached at first. When it is lost later, the agent waits for it.
pub fn serve(options: &AgentOptions<'_>, hello: HostHello, hosts: Hosts<'_>) -> Result<(), Error> {
    (options.log)(&format!("its servers are at {}", hello.address));
    agent::serve(options, 1, 1, Some(hello), |run, link| HostSession::begin(run, link, hosts))
}

/// One coordinator's claim. A drop ends whatever was begun, and waits for that.
struct HostSession {
    /// The coordinator's run.
    run: String,
    link: Link,
    answers: UnboundedReceiver<Up>,
    /// The reader of the running server.
    reader: Option<LocalServerReader>,
    orders: Option<mpsc::Sender<Down>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl HostSession {
    fn begin(run: String, link: Link, hosts: Hosts<'_>) -> io::Result<Self> {
        let (orders, inbox) = mpsc::channel();
        let (outbox, answers) = unbounded_channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let host = hosts(Arc::clone(&is_over));
        let work = move || work(host, &inbox, &outbox);
        let thread = Some(thread::Builder::new().name("host".into()).spawn(work)?);
        Ok(Self { run, link, answers, reader: None, orders: Some(orders), is_over, thread })
    }
}

impl Work for HostSession {
    const WHOLE: &'static str = "shootout";
    type Order = Down;
    type News = Up;

    fn run(&self) -> &str {
        &self.run
    }

    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    fn handle_order(&mut self, order: Down) -> Result<(), ClaimEnd> {
        if let Down::Release = order {
            return Err(ClaimEnd::Done);
        }
        if !is_sound(&order) {
            return Err(ClaimEnd::ProtocolViolation);
        }
        if let Some(orders) = &self.orders {
            // A host that has ended hears nothing; its coordinator hears nothing either, and gives up.
            let _ = orders.send(order);
        }
        Ok(())
    }

    async fn next_news(&mut self) -> Option<Up> {
        self.answers.recv().await
    }

    /// Sends an answer, and reads from now on the server that it names.
    fn handle_news(&mut self, answer: Up) {
        match &answer {
            Up::Started(Ok(running)) => self.reader = Some(LocalServerReader::on(&Service::of(running.pid))),
            // One that died is looked at on: that it has ended is news.
            Up::Stopped => self.reader = None,
            _ => {}
        }
        self.link.send(&answer);
    }

    fn handle_leaving(&mut self, why: &str) {
        self.link.send(&Up::Leaving(why.to_owned()));
    }

    fn look(&mut self, is_whole: bool) -> Option<ServerReading> {
        self.reader.as_mut()?.look(is_whole)
    }
}

impl Drop for HostSession {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Carries out one order after the other, until no more can come; the host's servers end with it.
fn work(mut host: Box<dyn Host>, orders: &mpsc::Receiver<Down>, answers: &UnboundedSender<Up>) {
    loop {
        let answer = match orders.recv_timeout(POLL) {
            Ok(Down::Prepare { target, may_install }) => Up::Prepared(host.prepare(&target, may_install)),
            Ok(Down::Start { target, cpus }) => Up::Started(host.start(&target, &cpus)),
            Ok(Down::Stop) => {
                if let Some(how) = host.stop() {
                    // Before the answer, after which the coordinator looks for it no more.
                    let _ = answers.send(Up::Died(how));
                }
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

/// Returns whether an order is valid: it came over a network.
fn is_sound(order: &Down) -> bool {
    match order {
        Down::Prepare { target, .. } => name(target).is_ok(),
        Down::Start { target, cpus } => {
            name(target).is_ok() && cpus.len() <= CPUS_MAX && cpus.iter().all(|&cpu| cpu < CPUS_MAX)
        }
        Down::Stop | Down::Release => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host whose server ends just before it is asked to.
    struct Crashing;

    impl Host for Crashing {
        fn prepare(&mut self, _target: &str, _may_install: bool) -> Result<String, StageFailure> {
            Ok("1.0".to_owned())
        }

        fn start(&mut self, _target: &str, _cpus: &[usize]) -> Result<Running, StageFailure> {
            Err(StageFailure::of_agent("nothing is started".to_owned()))
        }

        fn poll_death(&mut self) -> Option<String> {
            None
        }

        fn stop(&mut self) -> Option<String> {
            Some("exited with 7".to_owned())
        }
    }

    #[test]
    fn late_deaths_come_before_the_answer() {
        let (orders, inbox) = mpsc::channel();
        let (outbox, mut answers) = unbounded_channel();
        orders.send(Down::Stop).unwrap();
        drop(orders);
        work(Box::new(Crashing), &inbox, &outbox);
        let said: Vec<Up> = std::iter::from_fn(|| answers.try_recv().ok()).collect();
        assert!(matches!(&said[..], [Up::Died(how), Up::Stopped] if how.ends_with('7')), "{said:?}");
    }

    #[test]
    fn a_target_is_named_and_nothing_else() {
        let start = |target: &str, cpus: Vec<usize>| Down::Start { target: target.into(), cpus };
        assert!(is_sound(&start("node-ws", vec![0, 7])));
        for bad in ["", "../up", "a b", "$(id)", "a;b", "a\n"] {
            assert!(!is_sound(&start(bad, Vec::new())), "{bad:?}");
            assert!(!is_sound(&Down::Prepare { target: bad.into(), may_install: true }), "{bad:?}");
        }
        assert!(!is_sound(&start("node-ws", vec![CPUS_MAX])));
        assert!(!is_sound(&start("node-ws", vec![0; CPUS_MAX + 1])));
    }
}
