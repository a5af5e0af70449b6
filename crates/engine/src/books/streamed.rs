//! An answer that comes in pieces: its first event, the gaps between its events, and which of these were stalls.
//!
//! Rules: the first event counts from when its request was due, each further one from the event before. A gap is a stall if
//! it is above a multiple of the median of its answer's gaps, which is known when the answer has ended. Events that came in
//! one read have no gap between them that says anything of the server: they are in the figure, and not in the median.
//! A stall is the generator's if the kernel had received both events in time.

use stats::Reach;

use super::meter::Meter;

/// The shortest gap that is a stall: below, a scheduler's time slice (Linux, CONFIG_HZ=100) makes as much of any gap.
const STALL_NS_MIN: u64 = 10_000_000;
/// Gaps kept of one answer; a longer one has a median for each so many.
const GAPS_MAX: usize = 4096;

/// The answer of one client that is coming in.
#[derive(Debug)]
pub(crate) struct Streamed {
    /// When its request was due.
    intended_ns: u64,
    latest: Option<Arrival>,
    has_token: bool,
    gaps: Vec<Gap>,
}

/// When an event was read, and when the kernel had received it.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    read_ns: u64,
    received_ns: u64,
}

/// The time between two events, as they were read and as they were received.
#[derive(Clone, Copy, Debug)]
struct Gap {
    read_ns: u64,
    received_ns: u64,
}

impl Streamed {
    /// An answer of which only the head is in.
    pub(crate) fn begin(intended_ns: u64) -> Streamed {
        Streamed { intended_ns, latest: None, has_token: false, gaps: Vec::new() }
    }

    /// An event is in, with so many tokens; `reach` says how long ago the kernel received it.
    pub(crate) fn handle_event(
        &mut self,
        tokens: u32,
        reach: Reach,
        stall_times: u64,
        meter: &mut Meter,
        now_ns: u64,
    ) {
        let waited_ns = now_ns.saturating_sub(self.intended_ns);
        if tokens > 0 && !std::mem::replace(&mut self.has_token, true) {
            meter.figures.first_token.record_ns(waited_ns);
        }
        meter.counts.events += 1;
        meter.counts.tokens += u64::from(tokens);
        let received_ns = now_ns.saturating_sub(reach.received_ns.unwrap_or(0));
        let arrival = Arrival { read_ns: now_ns, received_ns };
        let Some(before) = self.latest.replace(arrival) else {
            return meter.figures.first.record_ns(waited_ns);
        };
        let gap = Gap {
            read_ns: arrival.read_ns.saturating_sub(before.read_ns),
            received_ns: arrival.received_ns.saturating_sub(before.received_ns),
        };
        meter.figures.gap.record_ns(gap.read_ns);
        if gap.read_ns > 0 {
            self.gaps.push(gap);
        }
        if self.gaps.len() >= GAPS_MAX {
            self.count_stalls(stall_times, meter);
        }
    }

    /// The answer has ended, one way or another.
    pub(crate) fn finish(mut self, stall_times: u64, meter: &mut Meter) {
        self.count_stalls(stall_times, meter);
    }

    fn count_stalls(&mut self, stall_times: u64, meter: &mut Meter) {
        let mut gaps = std::mem::take(&mut self.gaps);
        let middle = gaps.len() / 2;
        let Some(median_ns) =
            (!gaps.is_empty()).then(|| gaps.select_nth_unstable_by_key(middle, |gap| gap.read_ns).1.read_ns)
        else {
            return;
        };
        let limit_ns = median_ns.saturating_mul(stall_times).max(STALL_NS_MIN);
        for gap in gaps.iter().filter(|gap| gap.read_ns > limit_ns) {
            meter.counts.stalls += 1;
            meter.counts.stalls_here += u64::from(gap.received_ns <= limit_ns);
        }
        gaps.clear();
        self.gaps = gaps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::books::meter::Secrets;

    const MS: u64 = 1_000_000;

    /// The counts after events at these times, each received as long before as it says.
    fn counted(events: &[(u64, u64)]) -> (Meter, [u64; 3]) {
        let mut meter = Meter::new(0, Secrets::of_one(Vec::new()));
        let mut streamed = Streamed::begin(MS);
        for &(at_ms, ago_ms) in events {
            let reach = Reach { received_ns: Some(ago_ms * MS), ..Reach::default() };
            streamed.handle_event(1, reach, 10, &mut meter, at_ms * MS);
        }
        streamed.finish(10, &mut meter);
        let counts = [meter.counts.events, meter.counts.stalls, meter.counts.stalls_here];
        (meter, counts)
    }

    #[test]
    fn stalls_are_multiples_of_the_median() {
        let even: Vec<(u64, u64)> = (1..=50).map(|n| (10 * n, 0)).collect();
        let (meter, counts) = counted(&even);
        assert_eq!(counts, [50, 0, 0]);
        assert_eq!((meter.figures.first.count(), meter.figures.gap.count()), (1, 49));
        let stalled: Vec<(u64, u64)> =
            even.iter().map(|&(at, ago)| (at + if at > 200 { 100 } else { 0 }, ago)).collect();
        assert_eq!(counted(&stalled).1, [50, 1, 0], "110 ms between two, where 10 are usual");
    }

    #[test]
    fn stalls_of_late_reads_are_the_generators() {
        let late: Vec<(u64, u64)> = (1..=50).map(|n| (10 * n, 0)).collect();
        let read_late =
            |&(at, _): &(u64, u64)| if (300..=420).contains(&at) { (421, 421 - at) } else { (at, 0) };
        let late: Vec<(u64, u64)> = late.iter().map(read_late).collect();
        assert_eq!(counted(&late).1, [50, 1, 1]);
    }

    #[test]
    fn fast_streams_have_no_short_stalls() {
        let events: Vec<(u64, u64)> = (0..100).map(|n| (if n < 50 { n } else { n + 8 }, 0)).collect();
        assert_eq!(counted(&events).1, [100, 0, 0], "9 ms between two, where 1 is usual");
    }
}
