//! Usage of a server on another machine, asked of its target agent.

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::super::access::Nats;
use super::super::bus::{self, Bus};
use super::super::{Error, gather, intro};
use crate::server_reading::ServerReading;

/// The time within which an agent answers, if it does.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// Most threads of a reading that is believed.
const THREADS_MAX: usize = 65_536;

/// Reads the usage of the server that a target agent runs.
pub struct RemoteServerReader {
    questions: UnboundedSender<bool>,
    answers: Receiver<Option<ServerReading>>,
    latest: Option<ServerReading>,
}

impl RemoteServerReader {
    /// Finds the agent.
    ///
    /// # Errors
    /// NATS cannot be reached, or no target agent of that name is there.
    pub fn open(nats: &Nats, agent: &str) -> Result<Self, Error> {
        let runtime = bus::runtime()?;
        let (bus, subject) = runtime.block_on(async {
            let bus = Bus::connect(nats).await?;
            let found = gather::find_host(&bus, agent, Duration::ZERO).await?;
            Ok((bus, intro::look_subject(&found.id)))
        })?;
        let (questions, asked) = unbounded_channel();
        let (answered, answers) = mpsc::channel();
        let work = move || runtime.block_on(ask(&bus, &subject, asked, &answered));
        let thread = thread::Builder::new().name("server-reader".into()).spawn(work);
        thread.map_err(|error| Error::Start(error.to_string()))?;
        Ok(Self { questions, answers, latest: None })
    }

    /// Reads the server's usage. A `whole` reading is current, and waited for; any other is the answer to the
    /// question before, so that nothing waits. `None` if nothing runs there, or the agent does not answer.
    pub(crate) fn look(&mut self, whole: bool) -> Option<ServerReading> {
        for answer in self.answers.try_iter() {
            self.latest = answer;
        }
        let _ = self.questions.send(whole);
        if whole {
            let until = Instant::now() + 2 * ANSWER_TIME;
            self.latest = None;
            // Answers to earlier questions come first.
            while self.latest.as_ref().is_none_or(|reading| reading.whole.is_none() && !reading.has_ended) {
                let left = until.saturating_duration_since(Instant::now());
                self.latest = self.answers.recv_timeout(left).ok()?;
            }
        }
        self.latest.clone()
    }
}

/// Asks one question after the other, until the reader is dropped.
async fn ask(
    bus: &Bus,
    subject: &str,
    mut questions: UnboundedReceiver<bool>,
    answers: &mpsc::Sender<Option<ServerReading>>,
) {
    while let Some(whole) = questions.recv().await {
        let mut reading = None;
        let heard = |bytes: &[u8]| {
            reading = postcard::from_bytes(bytes).ok().filter(is_sound);
            true
        };
        let question = if whole { vec![1] } else { Vec::new() };
        let _ = bus.ask(subject, question, ANSWER_TIME, heard).await;
        if answers.send(reading).is_err() {
            return;
        }
    }
}

/// Returns whether a reading can be true: it came over a network. Names of threads and programs are shown.
fn is_sound(reading: &ServerReading) -> bool {
    let is_plain = |name: &str| name.len() <= 64 && name.chars().all(stats::is_shown);
    reading.cores > 0.0
        && reading.name.as_deref().is_none_or(is_plain)
        && reading.whole.as_ref().is_none_or(|whole| {
            whole.threads.len() <= THREADS_MAX && whole.threads.iter().all(|thread| is_plain(&thread.name))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_reading::{ThreadReading, WindowReading};

    #[test]
    fn unseen_servers_are_not_believed() {
        let thread = |name: &str| ThreadReading {
            pid: 1,
            tid: 1,
            name: name.into(),
            user_ns: 0,
            system_ns: 0,
            run_queue_wait_ns: 0,
        };
        let reading = |name: &str| ServerReading {
            cores: 1.0,
            whole: Some(WindowReading { threads: vec![thread(name)], ..WindowReading::default() }),
            ..ServerReading::default()
        };
        assert!(is_sound(&reading("worker-1")));
        assert!(!is_sound(&reading("\u{1b}[2J")) && !is_sound(&reading(&"x".repeat(99))));
        assert!(!is_sound(&ServerReading::default()), "no cores");
        assert!(!is_sound(&ServerReading { name: Some("\u{1b}[2J".into()), ..reading("worker-1") }));
    }
}
