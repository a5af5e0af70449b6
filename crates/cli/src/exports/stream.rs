//! `--stream`: a line of JSON for the start, each second, each step and the end of a run.

use std::io::{self, Write};
use std::path::Path;

use crew::Progress;
use results::{Run, Second};
use serde_json::{Value, json};

use crate::exit::Failure;

/// Where lines go.
pub(crate) struct Stream {
    run: String,
    /// `None` once nobody takes them any more.
    out: Option<Box<dyn Write>>,
}

/// Whether a path is the usual name of standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

impl Stream {
    /// Opens the file, or standard output for `-`, and writes the first line.
    pub(crate) fn open(path: &Path, run: &Run) -> Result<Self, Failure> {
        let out: Box<dyn Write> = if is_stdout(path) {
            Box::new(io::stdout())
        } else {
            let cannot = |error| Failure::could_not(format!("write {}", path.display()), error);
            Box::new(net::private::create(path).map_err(cannot)?)
        };
        let mut stream = Self { run: run.id.clone(), out: Some(out) };
        let whole = as_json(run);
        let known = ["started", "throng", "command", "scenario", "dialect", "target", "environment"];
        let head = known.into_iter().map(|key| (key.to_owned(), whole[key].clone())).collect();
        stream.line("start", Value::Object(head));
        Ok(stream)
    }

    /// A second has passed.
    pub(crate) fn second(&mut self, progress: &Progress, second: &Second) {
        let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
        self.line(
            "second",
            json!({
                "phase": progress.phase,
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
        let step = as_json(run)["steps"][number - 1].take();
        self.line("step", json!({ "number": number, "step": step }));
    }

    /// The run has ended.
    pub(crate) fn finish(mut self, run: &Run) {
        let verdict = as_json(run)["verdict"].take();
        self.line("end", json!({ "verdict": verdict }));
    }

    /// A line is written whole, and at once. What does not apply is left out.
    fn line(&mut self, event: &str, mut fields: Value) {
        let Some(out) = &mut self.out else { return };
        if let Value::Object(fields) = &mut fields {
            fields.retain(|_, value| !value.is_null());
            fields.insert("event".into(), event.into());
            fields.insert("run".into(), self.run.as_str().into());
        }
        let line = format!("{fields}\n");
        if let Err(error) = out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
            self.out = None;
            if error.kind() != io::ErrorKind::BrokenPipe {
                crate::stderr::line(format_args!("throng: --stream ends here: {error}; the run goes on"));
            }
        }
    }
}

fn as_json(run: &Run) -> Value {
    serde_json::from_str(&results::file::write(run)).expect("the results file is JSON")
}
