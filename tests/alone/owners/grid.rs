//! The grid: what a server does with each message, what the machine does to whom, and with which load.

use super::Shares;

/// Owners that may have time, by the server's construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The server slept, on this message or on those before it.
    Asleep,
    /// The server worked, on this message or on others.
    AtWork,
    /// Neither side had a CPU.
    Contention,
}

use Whose::{Asleep, AtWork, Contention};

/// The machine's effects, and on whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Quiet,
    /// The generator has what four busy loops leave to `nice -n 10`.
    StarvedGenerator,
    /// The server is starved in the same way.
    StarvedServer,
}

use Place::{Quiet, StarvedGenerator, StarvedServer};

/// A server's work on each message, and where it happens.
pub(super) struct Cause {
    /// The arguments of `server.py`; or of throng's own server, behind `serve`.
    pub(super) server: &'static str,
    pub(super) place: Place,
    /// For how long it sleeps and works, in ms.
    asleep_ms: f64,
    at_work_ms: f64,
    /// The owner of the rest of a message's time.
    rest: Whose,
    /// True if `make test` has it, with the loads that are as short.
    is_short: bool,
}

const fn cause(server: &'static str, place: Place, own_ms: [f64; 2], rest: Whose, is_short: bool) -> Cause {
    Cause { server, place, asleep_ms: own_ms[0], at_work_ms: own_ms[1], rest, is_short }
}

pub(super) const CAUSES: [Cause; 16] = [
    cause("sleep 40", Quiet, [40.0, 0.0], Asleep, true),
    cause("queue 5", Quiet, [5.0, 0.0], Asleep, false),
    cause("spin 5", Quiet, [0.0, 5.0], AtWork, true),
    cause("both 20", Quiet, [20.0, 20.0], AtWork, false),
    cause("fast", StarvedGenerator, [0.0, 0.0], Contention, true),
    cause("fast", StarvedServer, [0.0, 0.0], Contention, true),
    cause("sleep 4000", StarvedGenerator, [4_000.0, 0.0], Contention, false),
    cause("sleep 4000", StarvedServer, [4_000.0, 0.0], Contention, false),
    cause("sleep 5", StarvedGenerator, [5.0, 0.0], Contention, false),
    cause("sleep 5", StarvedServer, [5.0, 0.0], Contention, false),
    cause("serve service=5ms", Quiet, [5.0, 0.0], Asleep, false),
    cause("serve delay=40ms", Quiet, [40.0, 0.0], Asleep, false),
    cause("serve", StarvedGenerator, [0.0, 0.0], Contention, false),
    cause("serve", StarvedServer, [0.0, 0.0], Contention, false),
    cause("serve delay=2s", StarvedGenerator, [2_000.0, 0.0], Contention, false),
    cause("serve delay=2s", StarvedServer, [2_000.0, 0.0], Contention, false),
];

/// The words after `throng`, and whether `make test` has it.
pub(super) struct Load {
    pub(super) line: &'static str,
    pub(super) is_short: bool,
    /// How many messages a second and a connection it asks for at most; a server that takes longer does not carry it.
    per_connection_per_s: f64,
}

const fn load(line: &'static str, is_short: bool, per_connection_per_s: f64) -> Load {
    Load { line, is_short, per_connection_per_s }
}

/// Against `server.py`.
const LOADS: [Load; 10] = [
    // With several messages under way, threads of Python wait for the lock of one that has no CPU: a tenth of
    // the time is told as asleep, on a slow machine a sixth.
    load("echo {ws} --clients 20 -c 20", false, 0.0),
    load("echo {ws} --clients 20 --rate 60", false, 0.0),
    load("http {http} -c 20", false, 0.0),
    load("http {http} -c 20 -R 60", false, 3.0),
    load("echo {ws} --clients 1 -c 1", true, 0.0),
    load("echo {ws} --clients 20 -c 40 --threads 2", false, 0.0),
    load("echo {ws} --clients 20 -c 20 --processes 2", false, 0.0),
    load("http {http} -c 1", true, 0.0),
    load("http {http} -c 20 --processes 2", false, 0.0),
    load("echo {ws} --clients 4 --rate 12", false, 0.0),
];

/// Against throng's own server.
const OWN_LOADS: [Load; 7] = [
    load("echo {ws} --clients 20 -c 20", false, 0.0),
    load("echo {ws} --clients 20 --rate 60", false, 0.0),
    load("echo {ws} --clients 1 -c 1", false, 0.0),
    load("echo {ws} --clients 20 -c 20 --processes 2", false, 0.0),
    load("echo {ws} --clients 20 -c 20 --protocol json", false, 0.0),
    load("echo {ws} --search --initial-clients 4 --step-size 4 --max-clients 8 --rate 20", false, 0.0),
    load("echo {ws} --clients 20 -c 20 --fleet {nats} --agents 2", false, 0.0),
];

/// Against the same, which answers them without its faults.
const UNHARMED_LOADS: [Load; 4] = [
    load("broadcast {ws} --clients 8 -c 4", false, 0.0),
    load("broadcast {ws} --clients 8 --rate 6", false, 0.0),
    load("http {http} --http2 -c 4 --streams 5", false, 0.0),
    load("http {http} --http2 -c 4 --streams 5 -R 60", false, 0.0),
];

impl Cause {
    /// The faults of throng's own server, if it is that.
    pub(super) fn faults(&self) -> Option<&'static str> {
        self.server.strip_prefix("serve").map(str::trim)
    }

    /// The loads it can be given.
    pub(super) fn loads(&self) -> impl Iterator<Item = &'static Load> {
        let loads: [&[Load]; 2] = match self.faults() {
            None => [&LOADS, &[]],
            Some("") => [&OWN_LOADS, &UNHARMED_LOADS],
            Some(_) => [&OWN_LOADS, &[]],
        };
        let each_s = (self.asleep_ms + self.at_work_ms) / 1e3;
        // The agents of a fleet do not run at its coordinator's niceness.
        let is_here = |load: &&Load| self.place != StarvedGenerator || !load.line.contains("--fleet");
        let loads = loads.into_iter().flatten();
        loads.filter(move |load| load.per_connection_per_s * each_s <= 1.0).filter(is_here)
    }

    /// How long a load has to be for a few answers.
    pub(super) fn duration(&self) -> &'static str {
        if self.asleep_ms >= 1_000.0 || self.place != Quiet { "6s" } else { "2s" }
    }

    /// Returns whether a short run has it: that a process has no CPU is seen alike with either load.
    pub(super) fn is_short(&self, load: &Load) -> bool {
        self.is_short && load.is_short && (self.place == Quiet || load.line.starts_with("echo"))
    }

    /// The shares of messages that took so long on average, in percent.
    pub(super) fn expected(&self, mean_ms: f64) -> Shares {
        let own_ms = self.asleep_ms + self.at_work_ms;
        let percent = |ms: f64| 100.0 * ms / mean_ms.max(own_ms);
        let mut shares =
            Shares { asleep: percent(self.asleep_ms), at_work: percent(self.at_work_ms), contention: 0.0 };
        let rest = percent((mean_ms - own_ms).max(0.0));
        match self.rest {
            Asleep => shares.asleep += rest,
            AtWork => shares.at_work += rest,
            Contention => shares.contention += rest,
        }
        shares
    }
}
