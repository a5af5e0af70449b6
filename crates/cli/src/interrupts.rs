//! Being interrupted: once, to finish and report; twice, to end at once with what there is.

use std::io;
use std::process;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use net::signals::Interrupts;

use crate::exit::{Exit, Failure};
use crate::screen;

/// The time that the run has to save its results after a second interrupt. Then the process ends, whatever it
/// waits for; at once if it is interrupted a third time.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How often it is looked for a third time.
const POLL: Duration = Duration::from_millis(20);

static INSTALLED: OnceLock<Interrupts> = OnceLock::new();

/// How many have come since they were taken over.
pub(crate) fn count() -> u32 {
    INSTALLED.get().map_or(0, |interrupts| interrupts.count())
}

/// Takes over the signals that ask for the end.
pub(crate) fn install() -> Result<Interrupts, Failure> {
    if let Some(interrupts) = INSTALLED.get() {
        return Ok(*interrupts);
    }
    let failed = |error: io::Error| Failure::without_signals(&error);
    let interrupts = Interrupts::install().map_err(failed)?;
    let end = move || {
        interrupts.wait_for_second();
        let second = Instant::now();
        while interrupts.count() < 3 && second.elapsed() < LAST_WORDS {
            thread::sleep(POLL);
        }
        // A terminal that was taken over stays so when the process is gone.
        screen::give_back();
        process::exit(Exit::Interrupted as i32);
    };
    thread::Builder::new().name("last-words".into()).spawn(end).map_err(failed)?;
    Ok(*INSTALLED.get_or_init(|| interrupts))
}
