//! Errors that end a run.

use std::io;

use results::Step;

/// Why no step could be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A worker could not be started.
    #[error("cannot start: {}", net::errors::told(.0))]
    Start(io::Error),
    /// An agent of a fleet is gone, and the run ends with it.
    #[error("agent {agent} was lost: {why}")]
    Lost {
        /// Its name.
        agent: String,
        /// Why.
        why: String,
    },
    /// A worker gave up.
    #[error("worker {worker} gave up: {message}")]
    Worker {
        /// Its number.
        worker: u16,
        /// Its message.
        message: String,
    },
    /// A worker does not answer.
    #[error("a worker does not answer; is the machine overloaded or suspended?")]
    Stuck,
    /// The kernel gives this process no more memory.
    #[error("out of memory: a limit of this process (ulimit -v, ulimit -d) is too low")]
    Memory,
}

/// A step that could not be measured to its end.
#[derive(Debug)]
pub struct Broken {
    /// Why.
    pub error: Error,
    /// The step measured until then, the last second of the lost workers excepted.
    pub step: Box<Step>,
}
