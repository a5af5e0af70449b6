//! How much of the rate that was asked was kept up with (METHODOLOGY "Rates").

use stats::steady::Steady;
use stats::{Counts, Figures};

use super::Step;
use crate::rates::KEPT_PERCENT_MIN;
use crate::second::Second;

impl Step {
    /// How much of the rate that was asked was kept up with, in percent; `None` in a closed loop, where
    /// agents were lost, and where the user did not wait for what was under way (METHODOLOGY "Rates").
    pub fn kept_percent(&self) -> Option<f64> {
        if self.is_short() || self.was_interrupted() {
            return None;
        }
        let asked_per_s = self.rates.asked_per_s?;
        let Counts { sent, expected, nobody_to_send, .. } = self.counts;
        // A message that would have been due at the very end is due after it.
        let asked = (asked_per_s * self.duration_ns as f64 / 1e9).floor() - nobody_to_send as f64;
        if asked <= 0.0 && nobody_to_send > 0 {
            return None;
        }
        let kept = match (sent, expected) {
            (0, 0) => 0.0,
            // Messages that are due to nobody are kept by being sent.
            (_, 0) => share_sent(sent as f64, asked.max(1.0)),
            _ => self.kept_by_slope(asked).unwrap_or_else(|| self.kept_at_end(asked.max(1.0))),
        };
        // 99% of 700 is a hair below in binary.
        Some((100.0 * kept * 1e6).round() / 1e6)
    }

    /// The slope of the answers over the slope of what was due, row by row while the schedule ran: a constant
    /// latency keeps any rate, since it ends with the rows that are left out at the start, and a queue that
    /// grows does not. The rate counts as kept if the interval reaches it, or would but for what is under way
    /// at one end and not at the other. `None` where a row says too little: clients come and go, so that
    /// messages are due to more or fewer of them, or rows are few or empty.
    fn kept_by_slope(&self, asked: f64) -> Option<f64> {
        let rows = self.telling_rows()?;
        let ratios: Vec<f64> = rows.iter().map(|row| self.answered_share(&[*row])).collect();
        let steady = Steady::of(&ratios).filter(|_| rows.iter().all(|row| row.sent > 0))?;
        let settled = &rows[steady.from..];
        let kept = self.answered_share(settled);
        let end_ns = self.start_ns + self.duration_ns;
        let from_ns = steady.from.checked_sub(1).map_or(self.start_ns, |before| rows[before].t_ns);
        let length_ns = (end_ns - from_ns).max(1);
        let unloaded_ns = rows[0].p95_ns.unwrap_or(0);
        // Before the first rows there is nothing under way, and at the end there is: so much of an answer is
        // missing at most.
        let slack = unloaded_ns as f64 / length_ns as f64;
        let kept = if steady.mean.high + slack >= 1.0 { 1.0 } else { kept.min(1.0) };
        // A pool that has connections left at first sends more then than it can go on with. The window's end
        // may lie in a row, which is left out. A message due at the very end of one may go out behind it.
        let covered = (rows.last()?.t_ns - from_ns) as f64 / self.duration_ns.max(1) as f64;
        let sent: u64 = settled.iter().map(|row| row.sent).sum();
        Some(kept * share_sent(sent as f64 + 1.0, (asked * covered).max(1.0)))
    }

    /// The rows that ended while the schedule ran; `None` where clients come and go, so that no row says what
    /// was due in it.
    fn telling_rows(&self) -> Option<Vec<&Second>> {
        let Counts { left, nobody_to_send, offline_due, visits, .. } = self.counts;
        let end_ns = self.start_ns + self.duration_ns;
        let rows = || self.series.iter().filter(|row| row.t_ns <= end_ns).collect();
        (left + nobody_to_send + offline_due + visits == 0).then(rows)
    }

    /// Answers that came in these rows, as a share of those due for what was sent in them.
    fn answered_share(&self, rows: &[&Second]) -> f64 {
        let Counts { sent, expected, .. } = self.counts;
        let due_per_message = expected as f64 / sent.max(1) as f64;
        let sum = |of: fn(&Second) -> u64| rows.iter().map(|row| of(row)).sum::<u64>() as f64;
        sum(|row| row.received) / (sum(|row| row.sent) * due_per_message)
    }

    /// The same of a schedule too short for an interval: what was sent counts as far as it was answered while
    /// the schedule ran. Answers under way at its end are in time: those to as many messages as are sent in
    /// one and a half times the median latency, or in a tenth of the schedule if that is less, or to one in a
    /// hundred, rounded up. If more than that came later, a queue had grown, and all of it counts; of rows
    /// after the first, their slope says so without what is under way. What was under way to clients that
    /// left on purpose does not need an answer.
    fn kept_at_end(&self, asked: f64) -> f64 {
        const UNDER_WAY: f64 = 1.5;
        /// The hundredth that the standing limit allows: with less in the queue, the rate is kept all the same.
        const QUEUED_MIN: f64 = 0.01;
        let Counts { sent, expected, received, late, in_flight, left, .. } = self.counts;
        let due_per_message = expected as f64 / sent.max(1) as f64;
        // They left on purpose, and took what was under way to them along.
        let expected = if left > 0 { expected - in_flight } else { expected };
        let under_way = UNDER_WAY * self.short_latency_ns() as f64 / self.duration_ns.max(1) as f64;
        let messages_under_way = (under_way.max(0.01) * sent as f64).ceil();
        let queued = (late as f64 - messages_under_way * due_per_message).max(0.0);
        let but_for = |late: f64| (received as f64 - late) / expected.max(1) as f64;
        let answered = match queued > QUEUED_MIN * received as f64 {
            false => but_for(queued),
            true => {
                let rows = self.telling_rows().unwrap_or_default();
                let later = rows.get(1..).filter(|rows| rows.iter().any(|row| row.sent > 0));
                later.map_or(but_for(late as f64), |later| {
                    // What waited for a connection was sent later, and was due before.
                    let length_ns = later.last().map_or(0, |last| last.t_ns - rows[0].t_ns);
                    let due = asked * length_ns as f64 / self.duration_ns.max(1) as f64;
                    let sent: u64 = later.iter().map(|row| row.sent).sum();
                    self.answered_share(later).min(1.0) * share_sent(sent as f64 + 1.0, due.max(1.0))
                })
            }
        };
        share_sent(sent as f64, asked) * answered
    }

    /// Returns whether the rate that was asked was kept; false in a closed loop.
    pub fn keeps_rate(&self) -> bool {
        self.kept_percent().is_some_and(|kept| kept >= KEPT_PERCENT_MIN)
    }

    /// The share of the rate that was asked and not kept; `None` where it was kept, and in a closed loop.
    pub(crate) fn missed_percent(&self) -> Option<f64> {
        self.kept_percent().filter(|kept| *kept < KEPT_PERCENT_MIN).map(|kept| 100.0 - kept)
    }

    /// Returns whether fewer messages a second were completed than were asked, but for a hundredth; false in
    /// a closed loop.
    pub fn is_rate_missed(&self) -> bool {
        self.due_per_s()
            .zip(self.rates.achieved_per_s)
            .is_some_and(|(asked, achieved)| 100.0 * achieved < KEPT_PERCENT_MIN * asked)
    }

    /// Messages completed a second once the step had settled, whenever the last answer came; `None` where its
    /// rows do not tell.
    pub fn steady_per_s(&self) -> Option<f64> {
        let due_per_s = self.due_per_s()?;
        let due = (due_per_s * self.duration_ns as f64 / 1e9).floor();
        Some(due_per_s * self.kept_by_slope(due.max(1.0))?)
    }

    /// Messages a second that the schedule asked for while there was somebody to send them; `None` in a closed loop.
    pub(crate) fn due_per_s(&self) -> Option<f64> {
        let schedule_s = self.duration_ns.max(1) as f64 / 1e9;
        let asked_per_s = self.rates.asked_per_s?;
        Some((asked_per_s - self.counts.nobody_to_send as f64 / schedule_s).max(0.0))
    }

    /// The median latency, or a tenth of the schedule if that is less; or the least of all answers, if that is more.
    fn short_latency_ns(&self) -> u64 {
        let Figures { rtt, service, delivery, .. } = &self.figures;
        // A client may give up waiting at once: the least latency is that of answered messages.
        let (latency, answered) = if delivery.is_empty() { (rtt, service) } else { (delivery, delivery) };
        latency.quantile_ns(0.5).min(self.duration_ns / 10).max(answered.min_ns())
    }
}

/// The share of the asked messages that were sent. The limit allows a hundredth to be missing, which of few
/// messages is less than one: that is rounded up, or a machine that was busy at the end of the window would
/// fail a short run by one message.
fn share_sent(sent: f64, asked: f64) -> f64 {
    const ALLOWED: f64 = 0.01;
    let share = (sent / asked).min(1.0);
    if asked - sent <= (ALLOWED * asked).ceil() { share.max(1.0 - ALLOWED) } else { share }
}
