//! The closed books of a step: each message, and each client's presence, as one worker knows them.

use load::Cut;
use serde::{Deserialize, Serialize};

use super::delta::Delta;

/// The books of one step at one worker, closed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Settled {
    /// The worker.
    pub worker: u16,
    /// Measurements since the last delta, unanswered echoes included.
    pub delta: Delta,
    /// Echo: messages whose answer never came. Broadcast: see `sent` and `tallies`.
    pub unanswered: u64,
    /// The broadcasts that this worker's clients sent, by number.
    pub sent: Vec<SentBroadcast>,
    /// Tallies of all workers' broadcasts at this worker's clients.
    pub tallies: Vec<BroadcastTally>,
    /// Broadcasts: members missing from the rooms here when the load began (at 0), and clients that came and
    /// went later, by time. Slow clients count as missing.
    pub attendance: Vec<Attendance>,
    /// Broadcasts: the clients that left in mid-step.
    pub departures: Vec<Departure>,
    /// The clients that were announced as they came into rooms, by number.
    pub announced: Vec<Announced>,
    /// Tallies of all workers' announcements at this worker's clients.
    pub heard: Vec<BroadcastTally>,
    /// Broadcasts: the clients that lost their connections and were to come back.
    pub absences: Vec<Absence>,
    /// Copies of messages sent in these absences that came before the connections ended, by kind of messages;
    /// kinds that are left out had none.
    pub had_of_says: Vec<u64>,
    /// Copies due in these absences that came, by the [class](age_class) of the message's age when the client
    /// was back.
    pub recovered_by_age: Vec<u64>,
}

/// A change in the number of a room's members that are there, from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attendance {
    /// On the run's clock.
    pub at_ns: u64,
    /// The room, and the role of the clients that come or go.
    pub place: RoomPlace,
    /// Change in the members present.
    pub change: i32,
}

/// A role's place in a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomPlace {
    /// The kind of rooms.
    pub kind: u16,
    /// The room, among the rooms of its kind.
    pub room: u32,
    /// The role of the clients that come or go; 0 without roles.
    pub role: u8,
}

/// A client that left in mid-step: it was there from one moment to another, on the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// Its number in the run.
    pub client: u32,
    /// When it was usable.
    pub from_ns: u64,
    /// When it left.
    pub to_ns: u64,
    /// The copies it got in that time.
    pub received: u32,
}

/// The time that a client was away, on the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// Its number in the run.
    pub client: u32,
    /// The moment from which messages were due to it as to an absent client …
    pub from_ns: u64,
    /// … because its connection ended at this moment.
    pub cut_ns: u64,
    /// When it was usable again; `u64::MAX` if not in this step.
    pub to_ns: u64,
    /// How the connection was cut; `None` if the server or the network ended it.
    pub cut: Option<Cut>,
    /// Copies of messages sent in that time that came before its connection ended.
    pub had: u32,
    /// Copies of messages sent in that time that it got later.
    pub recovered: u32,
    /// True if it was back before the last message of the step had been sent. Only then does a message's age
    /// say how far back a history reaches, because later nothing pushes old messages out.
    pub is_under_load: bool,
}

/// The longest age of each class of messages, and the longest time of each class of absences; the last class
/// is above.
pub const AGES_NS: [u64; 21] = {
    const MS: u64 = 1_000_000;
    const S: u64 = 1_000 * MS;
    [
        100 * MS,
        200 * MS,
        300 * MS,
        500 * MS,
        700 * MS,
        S,
        1_500 * MS,
        2 * S,
        3 * S,
        5 * S,
        7 * S,
        10 * S,
        15 * S,
        20 * S,
        30 * S,
        45 * S,
        60 * S,
        90 * S,
        120 * S,
        180 * S,
        300 * S,
    ]
};

/// The class of an age.
pub fn age_class(age_ns: u64) -> usize {
    AGES_NS.partition_point(|&longest_ns| longest_ns < age_ns)
}

/// A broadcast as its sender knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentBroadcast {
    /// Its sender's number in the run.
    pub client: u32,
    /// When it was due, on the run's clock.
    pub intended_ns: u64,
    /// When it was sent, as its stamp says it.
    pub sent_ns: u64,
    /// True if its sender's connection ended before it was answered: the server may never have had it.
    pub is_cut_off: bool,
    /// True if the application refused to publish it.
    pub is_refused: bool,
    /// True if its sender was not in the room, as far as that is counted: it had not been let in, or was
    /// leaving.
    pub is_outside: bool,
}

/// A client that was announced to the others in a room as it came into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    /// Its number in the run.
    pub client: u32,
    /// The kind of its room.
    pub kind: u16,
    /// When it asked to be let in, on the run's clock.
    pub sent_ns: u64,
    /// True if it was not let in.
    pub is_void: bool,
}

/// One broadcast as seen by the clients of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroadcastTally {
    /// The sender's worker.
    pub worker: u16,
    /// The sender, by its number there.
    pub client: u32,
    /// The message's number among those its worker sent in the step.
    pub number: u32,
    /// How many clients got it.
    pub received: u32,
    /// When the last of them got it, on the run's clock.
    pub last_ns: u64,
}
