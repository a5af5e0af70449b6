//! Asking a running server to stop: first in order, then at once.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use net::poll::Waker;
use net::signals::Interrupts;

/// The request to stop, shared by the thread that runs a server and the thread that stops it. Cheap to clone.
#[derive(Clone, Default)]
pub struct StopFlag {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    level: AtomicU32,
    interrupts: Option<Interrupts>,
    wakers: Mutex<Vec<Arc<Waker>>>,
}

impl StopFlag {
    /// A flag that has not been raised.
    pub fn new() -> StopFlag {
        StopFlag::default()
    }

    /// A flag that SIGINT and SIGTERM raise too: the first signal stops in order, the second at once.
    pub fn on_signals() -> io::Result<StopFlag> {
        let shared = Shared { interrupts: Some(Interrupts::install()?), ..Shared::default() };
        Ok(StopFlag { shared: Arc::new(shared) })
    }

    /// Stops in order: no more connections, a going-away close to every client, a bounded wait for the
    /// clients' answers. A second call stops at once.
    pub fn stop(&self) {
        self.shared.level.fetch_add(1, Ordering::Release);
        // After the level: a worker that wakes finds it raised.
        for waker in self.wakers().iter() {
            waker.wake();
        }
    }

    /// How often a stop was asked for: 0: run on; 1: stop in order; more: stop at once.
    pub(crate) fn level(&self) -> u32 {
        let signals = self.shared.interrupts.map_or(0, Interrupts::count);
        self.shared.level.load(Ordering::Acquire) + signals
    }

    pub(crate) fn interrupts(&self) -> Option<Interrupts> {
        self.shared.interrupts
    }

    /// Has every stop wake `waker` from now on, and wakes it now if a stop was asked for already.
    pub(crate) fn register(&self, waker: Arc<Waker>) {
        self.wakers().push(Arc::clone(&waker));
        if self.level() > 0 {
            waker.wake();
        }
    }

    fn wakers(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Waker>>> {
        self.shared.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::poll::{Events, Interest, Poller};

    #[test]
    fn stops_wake_everybody() {
        let (early, late) = (Arc::new(Waker::new().unwrap()), Arc::new(Waker::new().unwrap()));
        let stop = StopFlag::new();
        stop.register(Arc::clone(&early));
        stop.clone().stop();
        stop.register(Arc::clone(&late));
        assert_eq!(stop.level(), 1);
        for waker in [early, late] {
            let (poller, mut events) = (Poller::new().unwrap(), Events::with_capacity(1));
            poller.add(&*waker, 0, Interest::ReadLevel).unwrap();
            poller.wait(&mut events, Some(0)).unwrap();
            assert_eq!(events.len(), 1);
        }
    }
}
