//! Usage of a server on another machine, asked of its target agent.

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crew::{ServerReader, ServerReading};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::access::Nats;
use crate::bus::{self, Bus};
use crate::{Error, gather, intro};

/// The time within which an agent answers, if it does.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// Most threads of a reading that is believed.
const THREADS_MAX: usize = 65_536;

/// Reads the usage of the server that a target agent runs.
pub struct RemoteServerReader {
    questions: UnboundedSender<bool>,
    answers: Receiver<Option<ServerReading>>,
    /// Questions whose answers are still to come.
    unanswered: usize,
    latest: Option<ServerReading>,
}

impl RemoteServerReader {
    /// Finds the agent.
    ///
    /// # Errors
    /// NATS cannot be reached, no target agent of that name is there, or it runs no server.
    pub fn open(nats: &Nats, agent: &str) -> Result<Self, Error> {
        let runtime = bus::runtime()?;
        let (bus, subject) = runtime.block_on(async {
            let bus = Bus::connect(nats).await?;
            let subject = intro::look_subject(&gather::find_host(&bus, agent, Duration::ZERO).await?.id);
            if ask(&bus, &subject, false).await.as_ref().is_some_and(Vec::is_empty) {
                return Err(Error::Agents(format!(
                    "target agent {agent} runs no server now: leave --target-agent out"
                )));
            }
            Ok((bus, subject))
        })?;
        let (questions, asked) = unbounded_channel();
        let (answered, answers) = mpsc::channel();
        let work = move || runtime.block_on(ask_all(&bus, &subject, asked, &answered));
        let thread = thread::Builder::new().name("server-reader".into()).spawn(work);
        thread.map_err(|error| Error::Start(error.to_string()))?;
        Ok(Self { questions, answers, unanswered: 0, latest: None })
    }
}

impl ServerReader for RemoteServerReader {
    /// Reads the server's usage. A `whole` reading is current, and waited for; any other is the answer to the
    /// question before, so that nothing waits. `None` if nothing runs there, or the agent does not answer.
    fn look(&mut self, whole: bool) -> Option<ServerReading> {
        for answer in self.answers.try_iter() {
            (self.latest, self.unanswered) = (answer, self.unanswered - 1);
        }
        // Quick questions would pile up while NATS is away, and a whole one wait behind them.
        if whole || self.unanswered == 0 {
            let _ = self.questions.send(whole);
            self.unanswered += 1;
        }
        if whole {
            let until = Instant::now() + 2 * ANSWER_TIME;
            // Without an answer, there is none of an earlier moment in its place.
            self.latest = None;
            // Answers to earlier questions come first.
            while self.unanswered > 0 {
                let left = until.saturating_duration_since(Instant::now());
                self.latest = self.answers.recv_timeout(left).ok()?;
                self.unanswered -= 1;
            }
        }
        self.latest.clone()
    }

    fn pids(&self) -> Vec<u32> {
        Vec::new()
    }
}

/// Asks one question after the other, until the reader is dropped.
async fn ask_all(
    bus: &Bus,
    subject: &str,
    mut questions: UnboundedReceiver<bool>,
    answers: &mpsc::Sender<Option<ServerReading>>,
) {
    while let Some(whole) = questions.recv().await {
        let answer = ask(bus, subject, whole).await;
        let reading = answer.and_then(|bytes| postcard::from_bytes(&bytes).ok()).filter(is_sound);
        if answers.send(reading).is_err() {
            return;
        }
    }
}

/// The answer to one question, empty if no server runs there; `None` if none comes in time.
async fn ask(bus: &Bus, subject: &str, whole: bool) -> Option<Vec<u8>> {
    let mut answer = None;
    let heard = |bytes: &[u8]| {
        answer = Some(bytes.to_vec());
        true
    };
    let question = if whole { vec![1] } else { Vec::new() };
    let _ = bus.ask(subject, question, ANSWER_TIME, heard).await;
    answer
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
    use crew::{ThreadReading, WindowReading};

    /// A reader, its questions, and the way of their answers.
    fn reader() -> (RemoteServerReader, UnboundedReceiver<bool>, mpsc::Sender<Option<ServerReading>>) {
        let (questions, asked) = unbounded_channel();
        let (answered, answers) = mpsc::channel();
        (RemoteServerReader { questions, answers, unanswered: 0, latest: None }, asked, answered)
    }

    #[test]
    fn empty_answers_end_the_wait() {
        let (mut reader, mut asked, answered) = reader();
        let answering = thread::spawn(move || {
            while asked.blocking_recv().is_some() {
                answered.send(None).unwrap();
            }
        });
        let start = Instant::now();
        assert_eq!((reader.look(false), reader.look(true)), (None, None));
        assert!(start.elapsed() < ANSWER_TIME, "{:?}", start.elapsed());
        drop(reader);
        answering.join().unwrap();
    }

    #[test]
    fn quick_questions_do_not_pile_up() {
        let (mut reader, mut asked, answered) = reader();
        assert_eq!([(); 3].map(|()| reader.look(false)), [None, None, None]);
        assert!(asked.try_recv() == Ok(false) && asked.try_recv().is_err());
        answered.send(Some(ServerReading::default())).unwrap();
        assert_eq!(reader.look(false), Some(ServerReading::default()));
        assert_eq!(asked.try_recv(), Ok(false), "the next one");
    }

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
