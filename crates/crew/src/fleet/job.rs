//! What an agent does for one run: its workers, and what they report, bundled.

use std::collections::BTreeMap;
use std::io;
use std::process::Command as Process;
use std::sync::mpsc;
use std::thread;

use engine::{Command, Delta, Report};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::backlog::Backlog;
use super::bus::Bus;
use super::link::Link;
use super::{Brief, Up};
use crate::local::Local;

/// Deltas are held back this long, to go out as one: while draining, workers report a hundred times a second.
const BUNDLE_NS: u64 = 200_000_000;

/// One run's work.
pub(crate) struct Job {
    /// The run.
    pub(crate) run: String,
    pub(crate) link: Link,
    pub(crate) reports: UnboundedReceiver<Report>,
    sender: UnboundedSender<Report>,
    local: Option<Local>,
    /// By worker.
    deltas: BTreeMap<u16, Delta>,
    bundled_ns: u64,
    backlog: Backlog,
}

impl Job {
    /// The work is to come.
    pub(crate) fn new(run: String, link: Link) -> Self {
        let (sender, reports) = unbounded_channel();
        let (deltas, backlog) = (BTreeMap::new(), Backlog::default());
        Self { run, link, reports, sender, local: None, deltas, bundled_ns: 0, backlog }
    }

    /// Starts the workers. Reports go by a thread of their own, so that a worker never waits for the network.
    pub(crate) fn start(
        &mut self,
        brief: &Brief,
        cpus: &[usize],
        child: &dyn Fn() -> Process,
    ) -> io::Result<()> {
        net::clock::set_offset_ns(brief.offset_ns);
        let (reports, outbox) = mpsc::channel();
        let sender = self.sender.clone();
        thread::Builder::new()
            .name("reports".into())
            .spawn(move || outbox.iter().try_for_each(|report| sender.send(report)))?;
        let Brief { plan, segments, processes, .. } = brief;
        self.local = Some(Local::start(plan, segments, (*processes).into(), cpus, &reports, child)?);
        Ok(())
    }

    /// Tells the workers.
    pub(crate) fn command(&mut self, command: &Command) {
        if let Some(local) = &mut self.local {
            local.send(command);
        }
    }

    /// Memory of the workers' processes, this one included.
    pub(crate) fn rss_bytes(&self) -> u64 {
        self.local.as_ref().map_or_else(|| net::proc::self_rss_bytes().unwrap_or(0), Local::rss_bytes)
    }

    /// A worker reports: a delta waits a little for the next, events until the link has room, and anything else goes out
    /// after what was reported before it.
    pub(crate) fn handle_report(&mut self, report: Report) {
        match report {
            Report::Delta(delta) => match self.deltas.get_mut(&delta.worker) {
                Some(earlier) if earlier.step == delta.step => {
                    earlier.merge(&delta);
                    (earlier.at_ns, earlier.usable) = (delta.at_ns, delta.usable);
                }
                _ => {
                    if let Some(earlier) = self.deltas.insert(delta.worker, *delta) {
                        self.link.send(&Up::Report(Report::Delta(Box::new(earlier))));
                    }
                }
            },
            Report::Events(_) => _ = self.backlog.add(report),
            report => {
                self.send_deltas();
                if let Some(report) = self.backlog.add(report) {
                    self.link.send(&Up::Report(report));
                }
            }
        }
    }

    /// Sends what is due.
    pub(crate) async fn pump(&mut self, bus: &Bus, now_ns: u64) {
        self.link.pump(bus, now_ns).await;
        while self.link.has_room() {
            let Some(report) = self.backlog.poll() else { return };
            let up = Up::Report(report);
            self.link.send(&up);
            if let Up::Report(Report::Events(batch)) = up {
                batch.go_home();
            }
            self.link.pump(bus, now_ns).await;
        }
    }

    /// Sends the deltas that have waited long enough.
    pub(crate) fn handle_tick(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.bundled_ns) >= BUNDLE_NS {
            self.bundled_ns = now_ns;
            self.send_deltas();
        }
    }

    fn send_deltas(&mut self) {
        for delta in std::mem::take(&mut self.deltas).into_values() {
            self.link.send(&Up::Report(Report::Delta(Box::new(delta))));
        }
    }
}
