//! Samples that stand for what never came, or are lacking for it: figures that are then "that or more".

use stats::{Figures, Timed};

use super::Step;

impl Step {
    /// How many samples of a figure stand for what never came, and are "that or more": clients that were not back in
    /// `recovery`, messages without an answer in `rtt` (those with one are in `service`), and in `completion` at most
    /// as many broadcasts as there are copies missing.
    pub fn open_samples(&self, timed: Timed) -> u64 {
        let Figures { rtt, service, completion, recovery, .. } = &self.figures;
        match timed {
            Timed::Recovery => self.counts.not_back.min(recovery.count()),
            Timed::Rtt => rtt.count().saturating_sub(service.count()),
            Timed::Completion => (self.counts.missing + self.counts.in_flight).min(completion.count()),
            _ => 0,
        }
    }

    /// Number of samples that a figure lacks, which would be the longest: requests whose streamed answers never
    /// began.
    pub fn lacking_samples(&self, timed: Timed) -> u64 {
        match timed {
            Timed::First | Timed::FirstToken => {
                let begun = self.figures.get(timed).count();
                // Of an answer that came whole and had no event there is no sample either, and nothing open.
                self.counts.expected.saturating_sub(begun).min(self.counts.missing)
            }
            _ => 0,
        }
    }

    /// Returns whether something never came that a figure is of: its mean and its maximum are then that or more.
    pub fn has_open(&self, timed: Timed) -> bool {
        self.is_open(timed, 1.0)
    }

    /// Returns whether what never came decides the quantile `q` of a figure, as an [open
    /// sample](Self::open_samples) or as one that is lacking: it is then that or more.
    pub fn is_open(&self, timed: Timed, q: f64) -> bool {
        let (count, lacking) = (self.figures.get(timed).count(), self.lacking_samples(timed));
        // What never came would have taken longest, and so has the highest ranks.
        count > 0 && stats::rank(count + lacking, q) > count - self.open_samples(timed)
    }

    /// Returns whether anything was answered, or nothing was asked: without an answer there is no latency.
    pub fn has_answers(&self) -> bool {
        let rtt = &self.figures.rtt;
        if rtt.is_empty() {
            // Where nothing is asked, as of idle clients, the handshake is the answer.
            !self.figures.handshake.is_empty()
        } else {
            rtt.count() > self.open_samples(Timed::Rtt)
        }
    }

    /// Returns whether a figure is a latency: what was given up unanswered says how long that was waited for,
    /// and nothing more.
    pub fn is_latency(&self, timed: Timed) -> bool {
        timed != Timed::Rtt || self.has_answers()
    }
}
