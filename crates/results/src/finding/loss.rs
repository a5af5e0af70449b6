//! Losses: messages lost, wrong or late.

use super::measured::Measured;
use super::phrase::were;
use super::quantity::{CutPercent, Kinds, Ns, Number, PerS, Span};
use super::table::findings;
use crate::unit::Unit;

/// The share of what was due in absences whose loss leaves no history to speak of.
const NO_HISTORY_PERCENT_MIN: u64 = 95;

findings! {
    /// A loss in a step, something wrong or late: it is a fact about the server, and no [`Caveat`](super::Caveat).
    Loss:

    /// Clients that did not connect.
    Clients "loss.clients" {
        /// Clients that are missing.
        missing: u64,
        /// Clients asked for.
        of: u64,
        /// Why.
        errors: Kinds,
    } => "{} could not connect{}", missing.part_of(&of, "clients"), errors.in_brackets();
    /// Connections that were not made, where clients come and go.
    Attempts "loss.attempts" {
        /// Attempts that failed.
        failed: u64,
        /// All attempts.
        of: u64,
        /// Why.
        errors: Kinds,
    } => "{} failed{}", failed.part_of(&of, "attempts to connect"), errors.in_brackets();
    /// Connections that ended under the load.
    Connections "loss.connections" {
        /// Connections lost.
        lost: u64,
        /// All connections.
        of: u64,
        /// `clients`, or `connections` where a client had several.
        what: String,
        /// When the first one was lost, since the load began.
        first: Option<Ns>,
    } => "{} {}{}", lost.part_of(&of, &what), lost_them(&lost, what.high), first.behind(", the first after ");
    /// Connections that were closed because nothing had been said for so long.
    Idle "loss.idle" {
        /// Connections closed.
        lost: u64,
        /// All connections.
        of: u64,
        /// `clients`, or `connections` where a client had several.
        what: String,
        /// Since the last message of each.
        after: Ns,
    } => "{} {} closed {after} after the last message of each", lost.part_of(&of, &what), were(&lost);
    /// Joins of rooms that were refused or unanswered.
    Joins "loss.joins" {
        /// Joins that failed.
        failed: u64,
        /// All joins.
        of: u64,
    } => "{} refused or unanswered", failed.part_of(&of, "visits");
    /// Presence notices that did not come.
    Notices "loss.notices" {
        /// Notices that are missing.
        missing: u64,
        /// Notices due.
        of: u64,
    } => "{} of newcomers never reached the others in their room", missing.part_of(&of, "notices");
    /// Numbers that the server left out of what it says by itself.
    Pushes "loss.pushes" {
        /// Numbers that never came.
        missing: u64,
        /// All due: the ones that came, and these.
        of: u64,
    } => "{} never came, by the gaps in their numbers", missing.part_of(&of, "pushes");
    /// Pushes that said something else than others of the same number.
    PushesDiffer "loss.pushes_differ" {
        /// Pushes with another content than most receivers had.
        differing: u64,
        /// All that were compared.
        of: u64,
    } => "{} differed from what other clients got under the same number", differing.part_of(&of, "pushes");
    /// Clients that did not reconnect.
    NotBack "loss.not_back" {
        /// Clients that did not.
        missing: u64,
        /// Clients that were disconnected.
        of: u64,
    } => "{} failed to reconnect", missing.part_of(&of, "clients");
    /// Copies or answers that had not come when throng stopped waiting.
    StillToCome "loss.still_to_come" {
        /// Copies that had not come.
        missing: u64,
        /// Copies due.
        of: u64,
        /// `copies` or `answers`.
        what: String,
    } => "{} still to come when the wait for them ended (--drain-timeout)", missing.part_of(&of, &what);
    /// Streamed answers that did not end.
    Unended "loss.unended" {
        /// Answers without their end, those that never began included.
        missing: u64,
        /// Answers due.
        of: u64,
        /// The ones whose connection ended first.
        broken_off: u64,
        /// The ones that were still coming when throng stopped waiting.
        unended: u64,
    } => "{} did not come whole{}", missing.part_of(&of, "answers"), cut_short(&broken_off, &unended);
    /// Streamed answers, or events of these, that are not as they should be.
    Streams "loss.streams" {
        /// The faulty ones.
        faulty: u64,
        /// All of them.
        of: u64,
        /// `answers` or `events`.
        what: String,
        /// The fault: `ended without their end mark`.
        how: String,
    } => "{} {how}", faulty.part_of(&of, &what);
    /// Copies or answers that never came.
    Missing "loss.missing" {
        /// Copies that never came.
        missing: u64,
        /// Copies due.
        of: u64,
        /// `copies` or `answers`.
        what: String,
        /// Why requests to publish failed.
        unpublished: Option<String>,
    } => "{} missing{}", missing.part_of(&of, &what), unpublished.within(": requests to publish failed (", ")");
    /// The copies are missing that were due to the senders of the messages.
    MissingOne "loss.missing_one" {
        /// Copies that never came.
        missing: u64,
        /// Copies due.
        of: u64,
        /// `copies` or `answers`.
        what: String,
    } => "{} missing, one for each message: if the server leaves out the sender, use --to others",
         missing.part_of(&of, &what);
    /// Messages that were not acknowledged.
    Unacknowledged "loss.unacknowledged" {
        /// Messages that were not acknowledged.
        missing: u64,
        /// Messages sent.
        of: u64,
        /// Why requests to publish failed.
        unpublished: Option<String>,
    } => "{} not acknowledged{}", missing.part_of(&of, "messages"),
         unpublished.within(": requests to publish failed (", ")");
    /// Copies or answers with a wrong content.
    Wrong "loss.wrong" {
        /// The wrong ones.
        wrong: u64,
        /// All that came.
        of: u64,
        /// `copies` or `answers`.
        what: String,
        /// The most frequent of them.
        example: Option<String>,
    } => "{} wrong{}", wrong.part_of(&of, &what), example.within(" (", ")");
    /// Wrong copies, some of which were for another room.
    Leaked "loss.leaked" {
        /// The wrong ones.
        wrong: u64,
        /// All that came.
        of: u64,
        /// `copies` or `answers`.
        what: String,
        /// The wrong ones for another room.
        leaked: u64,
    } => "{} wrong, {leaked} of them leaked into other rooms", wrong.part_of(&of, &what);
    /// Answers that came after the schedule.
    Queued "loss.queued" {
        /// Messages that came late.
        late: u64,
        /// Copies due.
        of: u64,
        /// `copies` or `answers`.
        what: String,
    } => "{} late: they queued", late.part_of(&of, &what);
    /// Messages were acknowledged whose copies did not come.
    Kept "loss.kept" {
        /// The percentage of all due that came.
        kept: CutPercent,
        /// `copies` or `answers`.
        what: String,
        /// Messages due.
        asked: PerS,
        /// The noun for messages sent: `messages`.
        sends: String,
    } => "{kept} of the {what} due at {asked:#} {sends}/s came in time";
    /// The rate was not kept.
    Rate "loss.rate" {
        /// Messages answered.
        achieved: PerS,
        /// Messages due.
        asked: PerS,
        /// The noun for messages sent: `messages`.
        sends: String,
    } => "{achieved} answered of {asked:#} {sends}/s";
    /// Copies due to clients that were away.
    WhileAway "loss.while_away" {
        /// Copies that never came.
        lost: u64,
        /// Copies due.
        of: u64,
    } => "{}", never_resent(&lost, &of);
    /// A limit of the user's was broken.
    Limit "loss.limit" {
        /// The limit as it was written.
        limit: String,
        /// The metric's value, in `unit`.
        actual: Number,
        /// The unit of the numbers; counts have none.
        unit: Unit,
        /// The limit's bound; left out for counts.
        bound: Option<Number>,
        /// True where some never came, so that the value is a lower bound.
        at_least: bool,
        /// The best that the value may be but for delays that are not the server's.
        without_lag: Option<Number>,
    } => "{limit} was {}", measured(&actual, &unit, &bound, &at_least, &without_lag);
    /// A limit of the user's was broken because there was nothing to measure.
    Unmeasured "loss.unmeasured" {
        /// The limit as it was written.
        limit: String,
    } => "{limit} was not measured";
    /// Nothing was sent.
    NoLoad "loss.no_load" {
        /// The length of the load.
        duration: Ns,
    } => "nothing was sent in {duration}";
    /// Clients had left before a storm struck.
    NoStorm "loss.no_storm" {
        /// Clients that had lost their connection.
        left: u64,
        /// All of them.
        of: u64,
    } => "no storm took place: {} had {} before it struck", left.part_of(&of, "clients"), lost_them(&left, "clients");
    /// The generator did not get to the end of the step.
    Unfinished "loss.unfinished" => "cut short: the generator failed";
}

/// The value of a limit's metric. Losses are of one step: both ends of a span are the same.
fn measured(
    actual: &Span<'_, Number>,
    unit: &Span<'_, Unit>,
    bound: &Span<'_, Option<Number>>,
    at_least: &Span<'_, bool>,
    without_lag: &Span<'_, Option<Number>>,
) -> Measured {
    Measured {
        actual: actual.high.0,
        unit: *unit.high,
        bound: bound.high.map(|bound| bound.0),
        at_least: *at_least.high,
        without_lag: without_lag.high.map(|value| value.0),
    }
}

/// Causes of answers cut short that occurred. The rest never began.
fn cut_short(broken_off: &Span<'_, u64>, unended: &Span<'_, u64>) -> String {
    let broke_off = (*broken_off.high > 0).then(|| format!("{broken_off} broke off"));
    let unended = (*unended.high > 0)
        .then(|| format!("{unended} still coming when the wait for them ended (--drain-timeout)"));
    let ways: Vec<String> = broke_off.into_iter().chain(unended).collect();
    format!(": {}", ways.join(", "))
}

/// A total loss names what the server lacks: beside a pass, it is no contradiction.
fn never_resent(lost: &Span<'_, u64>, of: &Span<'_, u64>) -> String {
    if is_total(*lost.low, *of.high) {
        return format!("no history: {} lost", lost.part_of(of, "copies for absent clients"));
    }
    format!("{} for clients that were away never came", lost.part_of(of, "copies"))
}

/// `lost their connection` of clients, `were lost` of connections.
fn lost_them(lost: &Span<'_, u64>, what: &str) -> &'static str {
    match (what, *lost.high) {
        ("clients", 1) => "lost its connection",
        ("clients", _) => "lost their connection",
        (_, 1) => "was lost",
        _ => "were lost",
    }
}

/// Returns whether so much was lost that there is no history: a copy that crossed the end of a connection may come.
pub(crate) fn is_total(lost: u64, of: u64) -> bool {
    lost > 0 && 100 * lost >= NO_HISTORY_PERCENT_MIN * of
}
