//! `--tui`: the run on the whole terminal while it is on.
//!
//! The screen is drawn on standard error, beside which standard output may go elsewhere. It is given back
//! whenever something is to be printed, so that every step's lines end up where lines belong.

use std::io::{self, Stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crew::Progress;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use results::Run;

use crate::exit::Failure;
use crate::locale;
use crate::stderr;

mod plots;
mod view;

use view::View;

/// The terminal is ours, and has to be given back.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
/// Drawing more often shows nothing more.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// The whole terminal.
pub(crate) struct Screen {
    view: View,
    /// While the screen is ours.
    terminal: Option<Terminal<CrosstermBackend<Stderr>>>,
    began: Instant,
    drawn: Option<Instant>,
}

/// Refuses `--tui` without a terminal to draw on.
pub(crate) fn check() -> Result<(), Failure> {
    if stderr::is_live() {
        Ok(())
    } else {
        Err(Failure::usage("--tui", "standard error is not a terminal that can draw; leave out --tui"))
    }
}

impl Screen {
    /// A screen for this run; it is taken when there is something to show.
    pub(crate) fn new(run: &Run, steps: Option<u32>, has_colour: bool) -> Result<Self, Failure> {
        check()?;
        let view = View::new(run, steps, has_colour, locale::is_ascii());
        Ok(Self { view, terminal: None, began: Instant::now(), drawn: None })
    }

    /// Shows how it goes, if it is time. A terminal that is gone is no reason to stop.
    pub(crate) fn handle_progress(&mut self, progress: &Progress) {
        self.view.handle_progress(progress);
        if self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME_INTERVAL) {
            self.drawn = Some(Instant::now());
            let _ = self.draw();
        }
    }

    /// A step has ended: the next is another.
    pub(crate) fn handle_step(&mut self, run: &Run) {
        self.view.handle_step(run);
    }

    /// Gives the terminal back until there is more to show.
    pub(crate) fn clear(&mut self) {
        self.terminal = None;
        give_back();
        // The next progress is drawn at once, over the lines that were printed.
        self.drawn = None;
    }

    fn draw(&mut self) -> io::Result<()> {
        if self.terminal.is_none() {
            // Before the screen is taken, because it fails where the terminal does not tell its size.
            let terminal = Terminal::new(CrosstermBackend::new(io::stderr()))?;
            IS_TAKEN.store(true, Ordering::Relaxed);
            execute!(io::stderr(), EnterAlternateScreen, Hide)?;
            self.terminal = Some(terminal);
        }
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        let elapsed = self.began.elapsed();
        terminal.draw(|frame| self.view.render(frame, elapsed)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Called first when the process ends in a hurry.
pub(crate) fn give_back() {
    // Once: the end of the process and the screen's own may both ask for it.
    if IS_TAKEN.swap(false, Ordering::Relaxed) {
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
    }
}
