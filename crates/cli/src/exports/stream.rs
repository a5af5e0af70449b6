//! `--stream`: a line of JSON for the start, each second, each step and the end of a run.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

use crew::Progress;
use net::pipe;
use results::file::Frame;
use results::{Run, Second};
use serde_json::{Value, json};

use crate::buffered_output::BufferedOutput;
use crate::exit::Failure;
use crate::interrupts;

/// Bytes kept for a reader that is behind. One that is further behind has stopped reading.
const BEHIND_BYTES_MAX: usize = 4 << 20;
/// How long a named pipe waits for its reader to come, and a reader for which lines are left may take none.
const READER_WITHIN: Duration = Duration::from_secs(10);

/// The stream of lines.
pub(crate) struct Stream {
    run: String,
    /// `None` once its reader is gone or too slow.
    out: Option<BufferedOutput>,
    /// A regular file that still holds what it has held.
    old: Option<File>,
    /// True if the run was cut short, and goes on.
    goes_on: bool,
}

/// Returns whether a path is the usual name of standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

impl Stream {
    /// Opens the file, or standard output for `-`. What the file holds stays there until the run begins.
    pub(crate) fn open(path: &Path, run: &Run, goes_on: bool) -> Result<Self, Failure> {
        let cannot = |error| Failure::could_not("write", format!("write {}", path.display()), error);
        let mut old = None;
        let out = if is_stdout(path) {
            BufferedOutput::stdout().map_err(cannot)?
        } else if fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo()) {
            BufferedOutput::new(open_pipe(path)?)
        } else {
            let file = net::private::open(path).map_err(cannot)?;
            if file.metadata().map_err(cannot)?.is_file() {
                old = Some(file.try_clone().map_err(cannot)?);
            }
            BufferedOutput::new(file.into())
        };
        Ok(Self { run: run.id.clone(), out: Some(out), old, goes_on })
    }

    /// The run begins: writes the first line. One that goes on is told behind the lines that it has.
    pub(crate) fn begin(&mut self, run: &Run) {
        let ready = |mut file: File| match self.goes_on {
            true => file.seek(SeekFrom::End(0)).map(drop),
            false => net::private::empty(&file),
        };
        if let Some(Err(error)) = self.old.take().map(ready) {
            return self.fail(&error);
        }
        let whole = without_steps(run);
        let known = ["started", "throng", "command", "scenario", "dialect", "target", "environment"];
        let head = known.into_iter().map(|key| (key.to_owned(), whole[key].clone())).collect();
        self.line("start", Value::Object(head));
    }

    /// A second has passed.
    pub(crate) fn second(&mut self, progress: &Progress, second: &Second) {
        let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
        self.line(
            "second",
            json!({
                "phase": progress.phase.name(),
                "warmup": progress.is_warmup.then_some(true),
                "t_s": second.t_ns as f64 / 1e9,
                "clients": progress.clients,
                "usable": second.clients,
                "sent": second.sent,
                "received": second.received,
                "errors": second.errors,
                "p50_ms": ms(second.p50_ns),
                "p95_ms": ms(second.p95_ns),
                "p99_ms": ms(second.p99_ns),
                "max_ms": ms(second.max_ns),
                "server_cpu_percent": second.server_cpu_percent,
                "server_rss_bytes": second.server_rss_bytes,
                "generator_cpu_percent": second.generator_cpu_percent,
            }),
        );
    }

    /// A step has ended: it is as in the results file.
    pub(crate) fn step(&mut self, run: &Run) {
        let number = run.steps.len();
        let Some(step) = run.steps.last() else { return };
        let step = parsed(&results::file::write_step(run, step));
        self.line("step", json!({ "number": number, "step": step }));
    }

    /// The run has ended. Returns whether its reader has taken every line.
    pub(crate) fn finish(mut self, run: &Run) -> bool {
        let verdict = without_steps(run)["verdict"].take();
        self.line("end", json!({ "verdict": verdict }));
        if let Some(out) = &mut self.out {
            match out.finish_within(READER_WITHIN) {
                Ok(true) => {}
                Ok(false) => {
                    self.give_up(&format_args!("nobody has read it for {} s", READER_WITHIN.as_secs()))
                }
                Err(error) => self.fail(&error),
            }
        }
        self.out.is_some()
    }

    /// A line is written whole, and at once. What does not apply is left out.
    fn line(&mut self, event: &str, mut fields: Value) {
        let Some(out) = &mut self.out else { return };
        if let Value::Object(fields) = &mut fields {
            fields.retain(|_, value| !value.is_null());
            fields.insert("event".into(), event.into());
            fields.insert("run".into(), self.run.as_str().into());
        }
        // Without the line itself: the one of a long step is longer than that, and no pipe takes it at once.
        let behind_bytes = out.bytes_behind();
        match out.write(format!("{fields}\n").as_bytes()) {
            Ok(()) if behind_bytes <= BEHIND_BYTES_MAX => {}
            Ok(()) => self.give_up(&"its reader has stopped reading"),
            Err(error) => self.fail(&error),
        }
    }

    /// Notes why writing failed; a reader that has read enough is no news.
    fn fail(&mut self, error: &io::Error) {
        self.out = None;
        if error.kind() != io::ErrorKind::BrokenPipe {
            self.give_up(error);
        }
    }

    fn give_up(&mut self, why: &dyn Display) {
        self.out = None;
        crate::stderr::line(format_args!("throng: --stream ends here: {why}; the run goes on"));
    }
}

/// Opens a named pipe once it has a reader.
fn open_pipe(path: &Path) -> Result<OwnedFd, Failure> {
    let before = interrupts::count();
    let is_over = || interrupts::count() > before;
    let opened = pipe::open_named(path, READER_WITHIN, is_over);
    let cannot = |why: &dyn Display| Failure::could_not("write", format!("write {}", path.display()), why);
    match opened.map_err(|error| cannot(&error))? {
        Some(pipe) => Ok(pipe),
        None if is_over() => Err(Failure::interrupted()),
        None => {
            let waited_s = READER_WITHIN.as_secs();
            Err(cannot(&format_args!("it is a pipe, and nobody has opened it for reading in {waited_s} s")))
        }
    }
}

fn without_steps(run: &Run) -> Value {
    parsed(&Frame::of(run).around([""; 0]))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("the results file is JSON")
}
