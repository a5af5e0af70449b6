//! A reconnect storm: when a share of the clients loses its connections, and which clients.

/// The storm of a step at one worker.
pub(crate) struct Storm {
    storm: load::Storm,
    /// When it begins or began.
    start_ns: u64,
    has_begun: bool,
}

impl Storm {
    /// The storm of a load that begins at `load_ns`.
    pub(crate) fn new(storm: load::Storm, load_ns: u64) -> Self {
        Self { storm, start_ns: load_ns.saturating_add(storm.lead_ns), has_begun: false }
    }

    /// When it begins or began.
    pub(crate) fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Returns whether the storm takes the connection of a client, by its number in the run.
    pub(crate) fn takes(&self, number: u32) -> bool {
        self.storm.drops(number)
    }

    /// Returns whether the storm begins now: true only once.
    pub(crate) fn poll(&mut self, now_ns: u64) -> bool {
        let begins = !self.has_begun && self.start_ns <= now_ns;
        self.has_begun |= begins;
        begins
    }

    /// When it will begin; `None` once it has.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        (!self.has_begun).then_some(self.start_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_once_after_its_lead() {
        let storm =
            load::Storm { rate_per_s: Some(1.0), lead_ns: 50, duration_ns: 1, share: 0.5, window_ns: None };
        let mut storm = Storm::new(storm, 100);
        assert_eq!((storm.poll(149), storm.poll_timeout()), (false, Some(150)));
        assert!(storm.poll(151));
        assert_eq!((storm.poll(152), storm.poll_timeout(), storm.start_ns()), (false, None, 150));
        assert_eq!((0..4).filter(|&number| storm.takes(number)).count(), 2);
    }
}
