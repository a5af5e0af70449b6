//! The distributions that a worker measures.

use serde::{Deserialize, Serialize};
use stats::{Histogram, Packed};

/// The distributions that a worker measures (METHODOLOGY "Figures"): as they are recorded, or packed while they travel.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figures<H = Histogram> {
    /// TCP connect started → usable.
    pub handshake: H,
    /// Its first part: TCP connect.
    pub tcp: H,
    /// Its second part: TLS handshake.
    pub tls: H,
    /// Its third part: HTTP upgrade.
    pub upgrade: H,
    /// Its last part: the dialect's own readiness.
    pub ready: H,
    /// Intended send → echo, acknowledgement or own copy.
    pub rtt: H,
    /// Actual send → the same.
    pub service: H,
    /// Intended send → actual send.
    pub send_lag: H,
    /// Intended send → a receiver has its copy; one sample a copy.
    pub delivery: H,
    /// Connection lost in a storm → usable again.
    pub recovery: H,
    /// Received by the kernel → handled; sampled.
    pub loop_lag: H,
}

impl<H> Figures<H> {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &H> {
        let Figures {
            handshake,
            tcp,
            tls,
            upgrade,
            ready,
            rtt,
            service,
            send_lag,
            delivery,
            recovery,
            loop_lag,
        } = self;
        [handshake, tcp, tls, upgrade, ready, rtt, service, send_lag, delivery, recovery, loop_lag]
            .into_iter()
    }

    /// Does something to each with its like among `others`.
    fn each<T>(&mut self, others: &Figures<T>, add: impl Fn(&mut H, &T)) {
        let Figures {
            handshake,
            tcp,
            tls,
            upgrade,
            ready,
            rtt,
            service,
            send_lag,
            delivery,
            recovery,
            loop_lag,
        } = others;
        add(&mut self.handshake, handshake);
        add(&mut self.tcp, tcp);
        add(&mut self.tls, tls);
        add(&mut self.upgrade, upgrade);
        add(&mut self.ready, ready);
        add(&mut self.rtt, rtt);
        add(&mut self.service, service);
        add(&mut self.send_lag, send_lag);
        add(&mut self.delivery, delivery);
        add(&mut self.recovery, recovery);
        add(&mut self.loop_lag, loop_lag);
    }
}

impl Figures {
    /// The same, small.
    pub fn pack(&self) -> Figures<Packed> {
        let mut packed = Figures::default();
        packed.each(self, |to: &mut Packed, from| *to = Packed::from(from));
        packed
    }

    /// Adds all samples of packed ones.
    pub fn add(&mut self, packed: &Figures<Packed>) {
        self.each(packed, Histogram::add);
    }
}

impl Figures<Packed> {
    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Figures<Packed>) {
        self.each(other, Packed::merge);
    }
}
