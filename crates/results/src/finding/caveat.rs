//! Caveats of a step's metrics, and of a run's.

use super::phrase::{contention, lost_agents};
use super::quantity::{Bytes, Ns, Percent, Programs, Quantile, Span};
use super::table::{Finding, findings};
use crate::format::{count, counted};

findings! {
    /// Something that weakens a step's metrics, or a run's. What was lost is a [`Loss`](super::Loss), and no caveat.
    Caveat:

    /// The user ended the step.
    Interrupted "caveat.interrupted" => "interrupted: the metrics are of what ran";
    /// The generator failed in the midst of the step.
    CutShort "caveat.cut_short" {
        /// The error, in its own words.
        error: String,
    } => "cut short: {error}; the load was incomplete from then on, and a lost worker's last second is not in the metrics";
    /// The generator held back a step that broke a limit.
    LimitedByGenerator "caveat.limited_by_generator"
        => "limited by the generator: the server may hold more than this";
    /// The machine held back a step that broke a limit.
    LimitedByMachine "caveat.limited_by_machine"
        => "limited by the machine: with one of its own, the server may hold more";
    /// The generator was at its limit, and the rate was kept.
    GeneratorFull "caveat.generator_full" => "the generator was saturated: the server may be faster";
    /// The machine was full, and the rate was kept.
    MachineFull "caveat.machine_full" => "the machine ran out of CPU: with one of its own, the server may be faster";
    /// Agents were lost.
    LostAgents "caveat.lost_agents" {
        /// Agents lost.
        lost: u64,
        /// All agents.
        of: u64,
        /// Each of them and why.
        which: String,
    } => "{} lost; their reports until then are in the metrics: {which}", lost.part_of(&of, "agents");
    /// Agents' clocks differ by a good part of a delivery.
    Clocks "caveat.clocks" {
        /// By how much a delivery may be wrong.
        error: Ns,
    } => "deliveries between agents are uncertain by ± {error}, as their clocks are";
    /// Pushes state times in the future.
    PushClock "caveat.push_clock" {
        /// Pushes that do.
        ahead: u64,
        /// Pushes that state a time.
        of: u64,
        /// The greatest lead.
        lead: Ns,
    } => "{} state a time up to {lead} ahead: the clocks differ by at least that, and each push age is off by it", ahead.part_of(&of, "pushes");
    /// The generator waited for a CPU, so that latencies are upper bounds.
    Contention "caveat.contention" {
        /// The latency.
        latency: Ns,
        /// The metric.
        metric: String,
        /// The metric's quantile.
        quantile: Quantile,
        /// The part of the latency.
        lag: Ns,
        /// CPU that a hypervisor gave to other machines, where that is why.
        stolen: Option<Percent>,
        /// Other programs that ran.
        programs: Option<Programs>,
    } => "up to {} of the {latency} {} {quantile} is CPU contention on this machine ({})",
         lag.most(), metric.words(), contention(&stolen, &programs);
    /// The generator's own work delayed what it measured, so that latencies are upper bounds.
    GeneratorLag "caveat.generator_lag" {
        /// The latency.
        latency: Ns,
        /// The metric.
        metric: String,
        /// The metric's quantile.
        quantile: Quantile,
        /// The part of the latency.
        lag: Ns,
    } => "up to {} of the {latency} {} {quantile} is the generator's own delay", lag.most(), metric.words();
    /// Messages were sent later than they were due.
    GeneratorBehind "caveat.generator_behind" {
        /// The longest delay.
        by: Ns,
    } => "the generator fell behind its schedule by up to {}", by.most();
    /// The listener is known to pass on others' answers.
    Proxy "caveat.proxy" {
        /// Its program.
        name: String,
        /// Its process.
        pid: String,
    } => "the process seen is {name} (pid {pid}): if it is a proxy, the server behind it is not seen";
    /// Other programs used the generator's machine.
    Others "caveat.others" {
        /// CPU of other programs.
        others: Percent,
        /// The programs.
        programs: Option<Programs>,
    } => "other programs used {others} of the generator's machine{}", programs.within(" (", ")");
    /// Messages of another run came from the server.
    OtherRun "caveat.other_run" {
        /// How many.
        messages: u64,
    } => "the server had another run's load as well, and {} of it came: give each run rooms of its own", messages.of("message");
    /// Clients log in with users' data of fewer rows, so that the server sees fewer users.
    SharedUsers "caveat.shared_users" {
        /// The clients.
        clients: u64,
        /// The rows.
        rows: u64,
    } => "{} share {} of users' data and log in as the same users: add a row for each", clients.of("client"), rows.of("row");
    /// A percentile of few samples.
    Samples "caveat.samples" {
        /// The metric's quantile.
        quantile: Quantile,
        /// Samples there are.
        samples: u64,
        /// Samples it takes.
        needed: u64,
    } => "{quantile} is uncertain: {} ({needed} needed)", samples.of("sample");
    /// Samples beyond what a histogram holds.
    Clamped "caveat.clamped" {
        /// How many.
        samples: u64,
    } => "{} of more than 10 min, counted as 10 min", samples.of("sample");
    /// The counts of a step do not add up.
    Miscounted "caveat.miscounted" {
        /// The sum that is off.
        error: String,
    } => "the generator lost count: {error}";

    /// The run was cut short before this step, and went on with it.
    Resumed "caveat.resumed" {
        /// Steps that it had by then.
        steps: u64,
    } => "resumed: the run was cut short after step {steps}, and went on with this one";
    /// The event log could not be written.
    EventsUnwritten "caveat.events_unwritten" {
        /// Events that are not in it.
        events: u64,
        /// Why, in words.
        why: String,
    } => "{} missing from the log (--events): {why}", events.of("event");
    /// The event log was too slow.
    EventsTooFast "caveat.events_too_fast" {
        /// Events that are not in it.
        events: u64,
    } => "{} too fast for the log (--events) and not in it", events.of("event");
    /// The step ended before its servers were to be restarted.
    NotRestarted "caveat.not_restarted" => "the step ended before the servers were to be restarted";
    /// A restart command could not be started.
    RestartUnstarted "caveat.restart_unstarted" {
        /// The command.
        command: String,
        /// Why, in words.
        error: String,
    } => "the restart command \"{command}\" could not be started: {error}";
    /// A restart command failed.
    RestartFailed "caveat.restart_failed" {
        /// The command.
        command: String,
        /// Its exit code; 128 and more for the end by a signal.
        code: u64,
    } => "the restart command \"{command}\" failed with code {code}";
    /// A restart command did not end.
    RestartUnended "caveat.restart_unended" {
        /// The command.
        command: String,
    } => "the restart command \"{command}\" was still running when the step ended; let it put servers in the background";

    /// The run has no steps.
    NothingMeasured "caveat.nothing_measured" => "nothing was measured";
    /// The results were written in the midst of the run.
    Unended "caveat.unended" {
        /// How to go on with it, where that is possible.
        resume: Option<String>,
    } => "the run had not ended when this was written{}", resume.behind("; ");
    /// The course of steps ended early, because the generator failed.
    EndedByGenerator "caveat.ended_by_generator"
        => "ended by the generator's lack of ports, files or memory, not by the server";
    /// The course of steps ended early, at the generator's limit of open files.
    EndedByFiles "caveat.ended_by_files" {
        /// The most clients that it may have.
        clients: u64,
        /// The command for more.
        remedy: String,
    } => "ended by the generator's limit of open files ({}), not by the server: pass {remedy}", clients.of("client");
    /// Compression lets both ends keep a window for each client.
    KeptWindows "caveat.kept_windows"
        => "memory per client depends on whether the client has sent something: --compress lets both ends keep a window \
            for each (--no-context-takeover asks them not to)";
    /// The memory of a client is unknown: the server's process is out of sight.
    MemoryUnseen "caveat.memory_unseen"
        => "memory per client is unclear: the server's process cannot be observed from this machine";
    /// The memory of a client is unknown: all readings were of one number of clients.
    MemoryOneLoad "caveat.memory_one_load" {
        /// Readings of the server's memory.
        readings: u64,
    } => "memory per client is unclear: {} of the server's memory, beside one number of clients: use more clients, or a \
          lower --connect-rate", readings.of("reading");
    /// The memory of a client is unknown: too few readings.
    MemoryFewReadings "caveat.memory_few_readings" {
        /// Readings of the server's memory.
        readings: u64,
    } => "memory per client is unclear: there {} of the server's memory while they connected, and it takes \
          three: use more clients, or a lower --connect-rate", were_readings(&readings);
    /// The memory of a client is unknown: the server's did not grow.
    MemoryFlat "caveat.memory_flat"
        => "memory per client is unclear: the server's memory is not seen to grow with them: they need too \
            little, or memory was given back meanwhile; use more clients";
    /// The memory of a client is unknown: the server had as many connections before.
    MemoryReconnected "caveat.memory_reconnected" {
        /// Connections that it had before.
        connections: u64,
    } => "memory per client is unclear: the server has had up to {} before, and may be reusing their memory; \
          restart it, or use more clients than that", connections.of("connection");
    /// The memory of a client is unknown: the server had as much before.
    MemoryReused "caveat.memory_reused" {
        /// Memory that it needed before.
        needed: Bytes,
    } => "memory per client is unclear: the server used up to {needed} before, more than now, and may be reusing \
          what it freed; restart it and measure again";
    /// Nothing was sent to a client that was away.
    NobodyAway "caveat.nobody_away"
        => "delivery across reconnects is unclear: no message was sent while a client was away; measure longer \
            (--duration), or let connections end sooner (--flap)";
    /// Nothing was sent to a client that was away, since no sender was connected.
    NobodyToSend "caveat.nobody_to_send" {
        /// Messages due meanwhile.
        messages: u64,
    } => "delivery across reconnects is unclear: no message was sent while a client was away, and no sender was connected \
          for {}; use more --clients", messages.of("message");
    /// The target's own metrics could not be read.
    Scrape "caveat.scrape" {
        /// Readings that failed.
        failures: u64,
        /// All readings.
        reads: u64,
        /// The last one's error, in words.
        last: String,
    } => "{} of the target's metrics failed: {last}", failures.part_of(&reads, "readings");
}

fn were_readings(readings: &Span<'_, u64>) -> String {
    match *readings.high {
        0 => "was no reading".into(),
        1 => "was one reading".into(),
        _ => format!("were {readings} readings"),
    }
}

/// Agents, and the clients they had: `1 of 2 agents and its share of the load`.
pub(crate) fn agents(lost: u64, of: u64) -> String {
    lost_agents(&Span { low: &lost, high: &lost }, &Span { low: &of, high: &of })
}

/// The steps of a run that have a caveat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The run itself, or its only step.
    #[default]
    Run,
    /// Every step of several.
    All,
    /// Some of them.
    Some {
        /// How many.
        steps: u64,
        /// The fewest and the most clients of these.
        clients: (u64, u64),
    },
}

/// A caveat of a run: those of its steps that differ in nothing but their numbers are one.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCaveat {
    /// The caveat with the lowest numbers.
    pub low: Caveat,
    /// The caveat with the highest numbers.
    pub high: Caveat,
    /// The steps that have it.
    pub place: Place,
}

impl From<Caveat> for RunCaveat {
    fn from(caveat: Caveat) -> Self {
        Self { high: caveat.clone(), low: caveat, place: Place::Run }
    }
}

impl RunCaveat {
    /// The caveat's stable name: `caveat.samples`.
    pub fn key(&self) -> &'static str {
        self.low.key()
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Place::Run => Ok(()),
            Place::All => f.write_str(" (at every step)"),
            Place::Some { steps: 1, clients: (clients, _) } => {
                write!(f, " (at {})", counted(clients, "client"))
            }
            Place::Some { steps, clients: (few, many) } if few == many => {
                write!(f, " (at {steps} steps of {})", counted(few, "client"))
            }
            Place::Some { steps, clients: (few, many) } => {
                write!(f, " (at {steps} steps, {} to {} clients)", count(few), count(many))
            }
        }
    }
}

impl std::fmt::Display for RunCaveat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.low.say(&self.high, f)?;
        self.place.fmt(f)
    }
}
