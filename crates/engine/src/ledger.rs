//! What a worker knows of its clients, one by one and together, and of the step under way.

use load::{StepOrder, Workload};

use crate::awaiting::Awaiting;
use crate::broadcasts::{BROADCASTS_PER_WORKER_MAX, Broadcasts};
use crate::echoes::Echoes;
use crate::events::{Entry, Kind};
use crate::messages::SentBroadcast;
use crate::meter::Meter;
use crate::pace::Pace;
use crate::returns::Returns;
use crate::unrest::{Churn, Weather};

/// How many bits of a sequence number lie below the step's number.
const NUMBER_BITS: u32 = BROADCASTS_PER_WORKER_MAX.ilog2();
/// Of a sequence number, the bits that are the message's.
pub(crate) const NUMBER_MASK: u32 = BROADCASTS_PER_WORKER_MAX - 1;

/// How far a client has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// No connection.
    #[default]
    Vacant,
    /// TCP connect under way.
    Connecting,
    /// Connected; TLS, upgrade or the dialect's readiness under way.
    Opening,
    /// Takes part in the load.
    Usable,
    /// We have said goodbye.
    Closing,
}

/// What is known of one client.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) state: State,
    /// When the TCP connect began.
    pub(crate) started_ns: u64,
    /// When the current part of the handshake began.
    pub(crate) since_ns: u64,
    pub(crate) echoes: Echoes,
    /// When it lost its connection in a storm; 0: it has not, or is back.
    pub(crate) lost_ns: u64,
    /// The messages under way, where [`Pace::awaits`] them.
    pub(crate) awaiting: Awaiting,
    /// Broadcasts received since it was usable.
    pub(crate) copies: u32,
    /// Broadcasts of its own that nobody has acknowledged yet.
    pub(crate) unacknowledged: u32,
    /// Echoes that will not come: their connections broke, and others took their place.
    pub(crate) dropped: u32,
    /// It reads slowly; it has just done so; and it waits before it does again.
    pub(crate) is_slow: bool,
    pub(crate) has_sipped: bool,
    pub(crate) is_waiting: bool,
}

/// The state of one step at one worker.
pub(crate) struct Step {
    pub(crate) order: StepOrder,
    pub(crate) pace: Option<Pace>,
    /// The clients that send, in the order of their turns.
    pub(crate) senders: Vec<u32>,
    /// What arrives after this moment arrives after the window; late, where there was a schedule.
    pub(crate) window_end_ns: u64,
    pub(crate) messages_sent: u64,
    pub(crate) broadcasts: Broadcasts,
    pub(crate) sent: Vec<Sent>,
    pub(crate) population: Vec<(u64, u32)>,
    /// Who comes back when, in a storm or a churn.
    pub(crate) returns: Option<Returns>,
    pub(crate) weather: Option<Weather>,
    pub(crate) churn: Option<Churn>,
}

/// A broadcast under way, as its sender knows it.
pub(crate) struct Sent {
    pub(crate) client: u32,
    pub(crate) acknowledged: bool,
    pub(crate) times: SentBroadcast,
}

impl Step {
    /// A step that has not started yet.
    pub(crate) fn new(order: StepOrder) -> Self {
        Self {
            order,
            pace: None,
            senders: Vec::new(),
            window_end_ns: u64::MAX,
            messages_sent: 0,
            broadcasts: Broadcasts::default(),
            sent: Vec::new(),
            population: Vec::new(),
            returns: None,
            weather: None,
            churn: None,
        }
    }

    /// The sequence number that carries this step's number and the lower bits of `number`.
    pub(crate) fn seq(&self, number: u32) -> u32 {
        u32::from(self.order.index) << NUMBER_BITS | number & NUMBER_MASK
    }

    /// The lower bits of the number in a sequence number of this step; `None` for another step's.
    pub(crate) fn number(&self, seq: u32) -> Option<u32> {
        let number = seq & NUMBER_MASK;
        (self.seq(number) == seq).then_some(number)
    }
}

/// What a worker knows of its clients together.
pub(crate) struct Ledger {
    pub(crate) step: Step,
    pub(crate) meter: Meter,
    /// Clients usable now.
    pub(crate) usable: u32,
    /// Of these, the slow ones.
    pub(crate) slow: u32,
}

impl Ledger {
    /// A client is usable from now on.
    pub(crate) fn handle_usable(&mut self, client: u32, record: &mut Record, now_ns: u64) {
        let taken_ns = now_ns - record.started_ns;
        self.meter.note(|| Entry::new(Kind::Handshake, now_ns, client).latency(taken_ns));
        self.meter.figures.ready.record_ns(now_ns - record.since_ns);
        self.meter.figures.handshake.record_ns(taken_ns);
        self.meter.counts.connected += 1;
        record.state = State::Usable;
        let lost_ns = std::mem::take(&mut record.lost_ns);
        if lost_ns != 0 {
            self.meter.figures.recovery.record_ns(now_ns.saturating_sub(lost_ns));
        }
        self.usable += 1;
        self.slow += u32::from(record.is_slow);
        record.since_ns = now_ns;
        record.copies = 0;
    }

    /// A usable client is so no more.
    pub(crate) fn handle_unusable(&mut self, record: &Record, now_ns: u64) {
        self.usable -= 1;
        self.slow -= u32::from(record.is_slow);
        self.note_audience(now_ns);
    }

    /// A client has lost its connection under load: what it owed or was owed nobody waits for, unless another takes its
    /// place.
    pub(crate) fn handle_gone(&mut self, record: &mut Record, workload: Workload) {
        let unacknowledged = std::mem::take(&mut record.unacknowledged);
        if self.step.pace.is_none() || self.step.returns.is_some() {
            return;
        }
        let gone = &mut self.meter.gone;
        gone.answers += match workload {
            Workload::Echo => (record.echoes.missing().count() as u64).saturating_sub(record.dropped.into()),
            Workload::Broadcast => u64::from(unacknowledged),
        };
        if !record.is_slow {
            gone.receivers += 1;
            gone.copies += u64::from(record.copies);
        }
    }

    /// How many are there from now on to whom broadcasts are due.
    pub(crate) fn note_audience(&mut self, now_ns: u64) {
        self.step.population.push((now_ns, self.usable - self.slow));
    }
}
