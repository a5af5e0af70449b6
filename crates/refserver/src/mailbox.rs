//! How broadcasts get from one worker to another: finished bytes in a queue, and one wake-up for many. And
//! how connections move to the worker that keeps their session.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use net::poll::Waker;
use wire::SessionRequest;

use crate::connection::Connection;
use crate::group::RoomBatch;

/// The most bytes that may wait for one worker or process. A receiver that is this far behind loses
/// broadcasts, so that the sender's memory does not grow.
pub(crate) const QUEUED_BYTES_MAX: usize = 64 << 20;

/// A connection that has a request for a session of the worker it is sent to.
pub(crate) struct Arrival {
    pub(crate) connection: Connection,
    pub(crate) request: SessionRequest,
}

struct Shared {
    waker: Arc<Waker>,
    /// True if the owner has been woken and has not read its mailbox yet: spares a system call per batch.
    woken: AtomicBool,
    queued_bytes: AtomicUsize,
}

/// A worker's own end of its mailbox.
pub(crate) struct Inbox {
    shared: Arc<Shared>,
    receiver: Receiver<RoomBatch>,
    arrivals: Receiver<Arrival>,
}

/// The senders' end of a worker's mailbox.
#[derive(Clone)]
pub(crate) struct Outbox {
    shared: Arc<Shared>,
    sender: Sender<RoomBatch>,
    transfers: Sender<Arrival>,
}

/// A new mailbox. Its waker also serves to stop the worker.
pub(crate) fn mailbox() -> io::Result<(Inbox, Outbox)> {
    let (sender, receiver) = channel();
    let (transfers, arrivals) = channel();
    let shared = Arc::new(Shared {
        waker: Arc::new(Waker::new()?),
        woken: AtomicBool::new(false),
        queued_bytes: AtomicUsize::new(0),
    });
    Ok((Inbox { shared: Arc::clone(&shared), receiver, arrivals }, Outbox { shared, sender, transfers }))
}

impl Inbox {
    pub(crate) fn waker(&self) -> &Arc<Waker> {
        &self.shared.waker
    }

    /// Resets the waker after it has woken the worker: batches that come after this call wake the worker
    /// again.
    pub(crate) fn handle_wake(&self) {
        // A batch that comes between the two does not wake the worker, and need not: the queue is looked at
        // after them.
        self.shared.waker.drain();
        self.shared.woken.store(false, Ordering::SeqCst);
    }

    /// Takes the next batch.
    pub(crate) fn poll_batch(&self) -> Option<RoomBatch> {
        let room_batch = self.receiver.try_recv().ok()?;
        self.shared.queued_bytes.fetch_sub(room_batch.frames.len(), Ordering::Relaxed);
        Some(room_batch)
    }

    /// Takes the next connection that has moved to this worker.
    pub(crate) fn poll_arrival(&self) -> Option<Arrival> {
        self.arrivals.try_recv().ok()
    }
}

impl Outbox {
    /// Hands a batch over. True: it was taken; a worker that is far behind, or gone, takes none.
    pub(crate) fn send(&self, room_batch: RoomBatch) -> bool {
        let bytes = room_batch.frames.len();
        // Booked first: the receiver may have taken it, and booked it out, before `send` returns.
        let queued = self.shared.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        if queued + bytes > QUEUED_BYTES_MAX || self.sender.send(room_batch).is_err() {
            self.shared.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.wake();
        true
    }

    /// Moves a connection. A connection that moves to a worker that is gone is closed.
    pub(crate) fn transfer(&self, arrival: Arrival) {
        if self.transfers.send(arrival).is_ok() {
            self.wake();
        }
    }

    fn wake(&self) {
        if !self.shared.woken.swap(true, Ordering::SeqCst) {
            self.shared.waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::Room;

    use super::*;

    fn room_batch(bytes: usize) -> RoomBatch {
        RoomBatch { room: Room::of_all(wire::DialectId::Raw), messages: 1, frames: vec![0; bytes].into() }
    }

    #[test]
    fn batches_arrive_in_order_until_full() {
        let (inbox, outbox) = mailbox().unwrap();
        assert!(outbox.send(room_batch(1)));
        assert!(outbox.send(room_batch(QUEUED_BYTES_MAX - 1)));
        assert!(!outbox.send(room_batch(1)), "full");
        inbox.handle_wake();
        assert_eq!(inbox.poll_batch().unwrap().frames.len(), 1);
        assert!(outbox.send(room_batch(1)), "room again");
        assert_eq!(inbox.poll_batch().unwrap().frames.len(), QUEUED_BYTES_MAX - 1);
        assert_eq!(inbox.poll_batch().unwrap().frames.len(), 1);
        assert!(inbox.poll_batch().is_none());
    }

    #[test]
    fn a_worker_that_is_gone_takes_nothing() {
        let (inbox, outbox) = mailbox().unwrap();
        drop(inbox);
        assert!(!outbox.send(room_batch(1)));
    }
}
