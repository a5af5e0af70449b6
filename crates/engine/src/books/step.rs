//! The books of one step at one worker.

use load::StepOrder;

use crate::books::absences::Absences;
use crate::books::announcements::Announcements;
use crate::books::broadcasts::{BROADCASTS_PER_WORKER_MAX, Broadcasts};
use crate::books::taken::TakenMessages;
use crate::messages::{Attendance, Departure, SentBroadcast};

/// The sequence number of the step's message with this number.
pub fn seq(step: u16, number: u32) -> u32 {
    // The shift drops all but the lower ten bits of the step: numbers go round after 1,024 steps.
    u32::from(step) << NUMBER_BITS | number & NUMBER_MASK
}

/// How many bits of a sequence number lie below the step's number.
const NUMBER_BITS: u32 = BROADCASTS_PER_WORKER_MAX.ilog2();
/// The bits of a sequence number that are the message's.
pub(crate) const NUMBER_MASK: u32 = BROADCASTS_PER_WORKER_MAX - 1;

/// How many messages follow this number before its lower bits start again, which are all that stamps carry.
pub(crate) fn numbers_behind(number: u32) -> u32 {
    NUMBER_MASK - (number & NUMBER_MASK)
}

/// Terms of a step's books, known when its load begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// When the load begins.
    pub(crate) begin_ns: u64,
    /// The end of the window: arrivals after it are late, unless the loop is closed.
    pub(crate) window_end_ns: u64,
    /// Answers decide what is sent: the last of them come after the end by the nature of the loop.
    pub(crate) is_closed: bool,
    /// The messages under way are kept, client by client.
    pub(crate) awaits: bool,
    /// When the storm begins, if one is to come.
    pub(crate) storm_ns: Option<u64>,
    /// Clients leave, and others take their place.
    pub(crate) has_churn: bool,
    /// Clients lose their connections on purpose, and come back.
    pub(crate) is_flapping: bool,
}

/// The state of one step at one worker.
pub(crate) struct Step {
    pub(crate) order: StepOrder,
    /// Clients to which broadcasts are due, as told before the load.
    pub(crate) receivers: u32,
    /// Present once the load has begun.
    pub(crate) terms: Option<Terms>,
    /// The clients that send, in the order of their turns.
    pub(crate) senders: Vec<u32>,
    pub(crate) messages_sent: u64,
    pub(crate) broadcasts: Broadcasts,
    pub(crate) sent: Vec<Sent>,
    /// It has been noted that nothing answers senders.
    pub(crate) is_unheeded: bool,
    pub(crate) attendance: Vec<Attendance>,
    /// Departures.
    pub(crate) departures: Vec<Departure>,
    /// Announcements of newcomers.
    pub(crate) announcements: Announcements,
    /// Absences.
    pub(crate) absences: Absences,
    /// Copies that came before the connections ended, of messages sent in the absences, by kind of messages.
    pub(crate) had_of_says: Vec<u64>,
    /// Messages that rules of the app's file took for something else.
    pub(crate) taken: TakenMessages,
    /// True once its books are closed: messages that still come are due to no client, like those of earlier
    /// steps.
    pub(crate) is_settled: bool,
}

/// A broadcast under way, as its sender knows it.
pub(crate) struct Sent {
    pub(crate) client: u32,
    pub(crate) acknowledged: bool,
    /// True if its sender has left and waits for no answer.
    pub(crate) is_excused: bool,
    /// True if it was given up and charged; known only where there are several kinds of messages.
    pub(crate) is_given_up: bool,
    pub(crate) times: SentBroadcast,
}

impl Step {
    /// A step that has not started yet; with `has_leavers`, clients may leave in the midst of it: a room, or
    /// the server for a while.
    pub(crate) fn new(order: StepOrder, has_leavers: bool) -> Self {
        Self {
            order,
            receivers: 0,
            terms: None,
            senders: Vec::new(),
            messages_sent: 0,
            broadcasts: Broadcasts::new(has_leavers),
            sent: Vec::new(),
            is_unheeded: false,
            attendance: Vec::new(),
            departures: Vec::new(),
            announcements: Announcements::new(has_leavers),
            absences: Absences::default(),
            had_of_says: Vec::new(),
            taken: TakenMessages::default(),
            is_settled: false,
        }
    }

    /// The sequence number that carries this step's number and the lower bits of `number`.
    pub(crate) fn seq(&self, number: u32) -> u32 {
        seq(self.order.index, number)
    }

    /// The lower bits of the number in a sequence number of this step; `None` for another step's, and once it
    /// is settled.
    pub(crate) fn number(&self, seq: u32) -> Option<u32> {
        let number = seq & NUMBER_MASK;
        (!self.is_settled && self.seq(number) == seq).then_some(number)
    }

    /// Returns whether a sequence number is of a step whose books are closed.
    pub(crate) fn is_behind(&self, seq: u32) -> bool {
        let [this, other] = [self.seq(0), seq & !NUMBER_MASK];
        match this.wrapping_sub(other) {
            0 => self.is_settled,
            // The steps' numbers go round.
            ahead => ahead <= u32::MAX / 2,
        }
    }

    /// How many more broadcasts the worker can count.
    pub(crate) fn room(&self) -> usize {
        BROADCASTS_PER_WORKER_MAX as usize - self.sent.len()
    }

    /// Returns whether the messages under way are kept, client by client.
    #[inline]
    pub(crate) fn awaits(&self) -> bool {
        self.terms.is_some_and(|terms| terms.awaits)
    }

    /// Returns whether answers decide what is sent.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.terms.is_some_and(|terms| terms.is_closed)
    }

    /// Returns whether this moment lies behind the window.
    #[inline]
    pub(crate) fn is_after_window(&self, now_ns: u64) -> bool {
        self.terms.is_some_and(|terms| now_ns > terms.window_end_ns)
    }

    /// Returns whether clients that lose their connection come back, or others in their place.
    pub(crate) fn has_returns(&self) -> bool {
        self.terms.is_some_and(|terms| terms.has_churn || terms.is_flapping || terms.storm_ns.is_some())
    }

    /// Returns whether a client that is lost now is away until it is back.
    pub(crate) fn is_flapping(&self) -> bool {
        self.terms.is_some_and(|terms| terms.is_flapping)
    }

    /// Returns whether a client that is lost now is counted as the storm's.
    pub(crate) fn has_storm(&self) -> bool {
        self.terms.is_some_and(|terms| terms.storm_ns.is_some())
    }
}
