//! Reports that no sound worker makes.

/// Faults of a report.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum Fault {
    #[error("a worker that is not of the run")]
    Worker,
    #[error("more clients than its share")]
    Share,
    #[error("a time that is not yet")]
    Time,
    #[error("kinds of messages or roles that there are not")]
    Kinds,
    #[error("counts beyond counting")]
    Counts,
    #[error("statuses that HTTP does not have")]
    Statuses,
    #[error("something after its books were closed")]
    Closed,
    #[error("error kinds that are not words")]
    ErrorWords,
    #[error("more kinds of errors than there are")]
    ErrorKinds,
    #[error("more messages than were to be sent")]
    Sent,
    #[error("events that nobody asked for")]
    Unasked,
    #[error("events without a client or a time")]
    Events,
    #[error("events with words that are none")]
    EventWords,
    #[error("another worker's books")]
    Books,
    #[error("pushes that its clients cannot have had")]
    Pushes,
    #[error("copies of no broadcast, or to more clients than it has")]
    Copies,
    #[error("newcomers that never came")]
    Newcomers,
    #[error("broadcasts that it has not sent")]
    Broadcasts,
    #[error("clients that were never there")]
    Attendance,
    #[error("a departure that never was")]
    Departure,
    #[error("an absence that never was")]
    Absence,
    #[error("connections that it cannot have begun")]
    Connections,
    #[error("clients that it cannot have had")]
    Clients,
    #[error("more answers than can have come")]
    Answers,
    #[error("more than the time was enough for")]
    Pace,
}
