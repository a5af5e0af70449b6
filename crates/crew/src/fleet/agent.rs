//! The agent: waits for a coordinator, and works for one at a time.
//!
//! Rules. Free: answers calls, takes the first claim of its own version. Claimed: refuses other claims; takes its brief,
//! starts its workers, says so, and passes commands on to them and reports back. It is free again when it is released,
//! when it is told to stop, when its coordinator has been silent for the lease, or when that talks nonsense; whichever
//! it is, its clients are gone with its workers.

use std::process::Command as Process;
use std::time::Duration;

use async_nats::Message;
use engine::Report;
use futures_util::StreamExt;
use net::clock;

use super::bus::{Content, Nats};
use super::intro::{self, Call, Hello, Labels, VERSION};
use super::job::Job;
use super::link::Incoming;
use super::reception::{Doors, Reception};
use super::{Brief, Down, Error, Up};

/// How often the agent looks around.
const TICK: Duration = Duration::from_millis(50);

/// What an agent is.
pub struct AgentOptions<'a> {
    /// Where NATS is.
    pub nats: Nats,
    /// How it is called.
    pub name: String,
    /// What else is known of it.
    pub labels: Labels,
    /// Worker threads.
    pub threads: u16,
    /// CPUs to pin them to; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Clients that one process may have.
    pub clients_per_process: u32,
    /// The command of a child process that ends up in [`run_child`](crate::run_child).
    pub child: &'a dyn Fn() -> Process,
    /// Whether to leave.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// Is told what happens, a line each.
    pub log: &'a dyn Fn(&str),
}

/// Serves until it is interrupted.
///
/// # Errors
/// NATS cannot be reached at first. When it is lost later, the agent waits for it.
pub fn serve(options: &AgentOptions<'_>) -> Result<(), Error> {
    let runtime = super::bus::runtime()?;
    runtime.block_on(async {
        let hello = Hello {
            version: VERSION.into(),
            id: intro::unique(),
            name: options.name.clone(),
            labels: options.labels.clone(),
            threads: options.threads,
            clients_per_process: options.clients_per_process,
            run: None,
            host: None,
        };
        let (reception, doors) = Reception::open(&options.nats, hello).await?;
        (options.log)(&format!("agent {} waits for a run", options.name));
        Agent { options, reception, job: None }.run(doors).await;
        Ok(())
    })
}

struct Agent<'a> {
    options: &'a AgentOptions<'a>,
    reception: Reception,
    job: Option<Job>,
}

impl Agent<'_> {
    async fn run(mut self, mut doors: Doors) {
        let mut ticks = tokio::time::interval(TICK);
        while !(self.options.is_interrupted)() {
            tokio::select! {
                Some(call) = doors.calls.next() => self.handle_call(&call).await,
                Some(claim) = doors.claims.next() => self.handle_claim(&claim).await,
                Some(down) = doors.downs.next() => self.handle_down(&down.payload).await,
                Some(report) = next_report(&mut self.job) => self.handle_report(report),
                _ = ticks.tick() => self.handle_tick().await,
            }
            if let Some(job) = &mut self.job {
                job.pump(&self.reception.bus, clock::own_monotonic_ns()).await;
            }
        }
        self.leave("it was told to stop").await;
    }

    async fn handle_call(&mut self, message: &Message) {
        match Reception::read_call(message) {
            Some(Call::Who) => {}
            Some(Call::Stop) => self.leave("`throng fleet stop`").await,
            None => return,
        }
        self.reception.answer_call(message, self.run_name()).await;
    }

    async fn handle_claim(&mut self, message: &Message) {
        let taken = self.reception.handle_claim(message, self.run_name()).await;
        if let Some((run, link)) = taken {
            self.job = Some(Job::new(run, link));
        }
    }

    fn run_name(&self) -> Option<&str> {
        self.job.as_ref().map(|job| job.run.as_str())
    }

    async fn handle_down(&mut self, payload: &[u8]) {
        let Some(job) = &mut self.job else { return };
        match job.link.handle::<Down>(payload, clock::own_monotonic_ns()) {
            Err(_) => self.free("its coordinator talks nonsense"),
            Ok(Incoming::Nothing) => {}
            Ok(Incoming::Beat(Content::Beat { sent_ns })) => {
                let here_ns = clock::own_monotonic_ns();
                let answer = Content::Answer { sent_ns, here_ns, rss_bytes: job.rss_bytes() };
                job.link.put(&self.reception.bus, answer).await;
            }
            Ok(Incoming::Beat(_)) => {}
            Ok(Incoming::Message(Down::Brief(brief))) => self.start(&brief),
            Ok(Incoming::Message(Down::Command(command))) => job.command(&command),
            Ok(Incoming::Message(Down::Release)) => self.free("done"),
        }
    }

    fn start(&mut self, brief: &Brief) {
        let Some(job) = &mut self.job else { return };
        let Some(first) = brief.segments.first().copied().filter(|_| is_sound(brief)) else {
            return self.free("its coordinator talks nonsense");
        };
        (self.options.log)(&format!("run {}: {} workers", job.run, brief.segments.len()));
        match job.start(brief, &self.options.cpus, self.options.child) {
            Ok(()) => job.link.send(&Up::Ready),
            Err(error) => {
                let failed = Report::Failed { worker: first.worker, message: error.to_string() };
                job.link.send(&Up::Report(failed));
            }
        }
    }

    fn handle_report(&mut self, report: Report) {
        if let Some(job) = &mut self.job {
            job.handle_report(report);
        }
    }

    async fn handle_tick(&mut self) {
        let Some(job) = &mut self.job else { return };
        let now_ns = clock::own_monotonic_ns();
        job.handle_tick(now_ns);
        if job.link.is_lost(now_ns) {
            self.free("no word from its coordinator for 3 s");
        }
    }

    /// Leaves the run, and says so to its coordinator.
    async fn leave(&mut self, why: &str) {
        if let Some(job) = &mut self.job {
            job.link.send(&Up::Leaving(why.to_owned()));
            job.link.pump(&self.reception.bus, clock::own_monotonic_ns()).await;
            let _ = self.reception.bus.flush().await;
            self.free(why);
        }
    }

    fn free(&mut self, why: &str) {
        if let Some(job) = self.job.take() {
            (self.options.log)(&format!("run {}: free again: {why}", job.run));
        }
        net::clock::set_offset_ns(0);
    }
}

/// Nothing, for ever, while there is no work.
async fn next_report(job: &mut Option<Job>) -> Option<Report> {
    match job {
        Some(job) => job.reports.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether a brief can be meant: it came over a network.
fn is_sound(brief: &Brief) -> bool {
    let workers = brief.segments.first().map_or(0, |segment| segment.workers);
    let sound = |segment: &load::Segment| segment.workers == workers && segment.worker < workers;
    (1..=1_024).contains(&brief.segments.len())
        && brief.segments.iter().all(sound)
        && (1..=4_096).contains(&brief.processes)
        && !brief.plan.endpoints.is_empty()
        && brief.plan.connecting.rate_per_s.is_none_or(|rate| rate.is_finite() && rate > 0.0)
}
