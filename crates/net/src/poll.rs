//! A thin epoll: tokens in, events out, timeouts to the nanosecond.
//!
//! Not mio, because a pacer that sends 10,000 messages a second needs `epoll_pwait2`: a millisecond timeout
//! would make every send late by half of one.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;

use crate::sys;

/// The events of interest of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Readiness to be read or written, reported once per change (EPOLLET): registered once, never modified.
    /// For client sockets.
    ReadWriteEdge,
    /// Readiness to be read, reported once per change (EPOLLET). For sockets that rarely have unsent bytes.
    ReadEdge,
    /// Readiness to be read, reported again until it ends. For listeners, wakers and signals.
    ReadLevel,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        use epoll::EventFlags as F;
        match self {
            Interest::ReadWriteEdge => F::IN | F::OUT | F::RDHUP | F::ET,
            Interest::ReadEdge => F::IN | F::RDHUP | F::ET,
            Interest::ReadLevel => F::IN,
        }
    }
}

/// An event of the descriptor that was added with `token`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The caller's own number for the descriptor.
    pub token: u64,
    /// True if there are bytes, connections, an end of stream or an error to read.
    pub readable: bool,
    /// True if the send buffer has room, or a connect has ended.
    pub writable: bool,
    /// True if the peer has shut down its sending side, or both sides are shut down (EPOLLRDHUP, EPOLLHUP).
    /// Bytes may be left to read.
    pub closed: bool,
    /// True if an error is pending: ask [`Socket::take_error`](crate::socket::Socket::take_error).
    pub error: bool,
}

/// The buffer that [`Poller::wait`] fills; made once, used for every wait.
pub struct Events {
    list: Vec<epoll::Event>,
}

impl Events {
    /// Makes a buffer for at most `capacity` events per wait.
    pub fn with_capacity(capacity: usize) -> Events {
        assert!(capacity > 0, "a wait needs room for an event");
        Events { list: Vec::with_capacity(capacity) }
    }

    /// The events of the last wait.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> + '_ {
        use epoll::EventFlags as F;
        self.list.iter().map(|event| {
            let flags = event.flags;
            Event {
                token: event.data.u64(),
                // Errors and hang-ups are told by the next read or write, so a waiter for either has to try.
                readable: flags.intersects(F::IN | F::RDHUP | F::HUP | F::ERR),
                writable: flags.intersects(F::OUT | F::HUP | F::ERR),
                closed: flags.intersects(F::RDHUP | F::HUP),
                error: flags.contains(F::ERR),
            }
        })
    }

    /// The number of events of the last wait.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether the last wait ended without an event.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// An epoll instance.
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// A new, empty instance. Fails only if descriptors or memory have run out.
    pub fn new() -> io::Result<Poller> {
        Ok(Poller { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Watches `fd`; its events carry `token`. A descriptor that is closed is forgotten by itself.
    pub fn add(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, epoll::EventData::new_u64(token), interest.flags())?)
    }

    /// Changes the token or the interest; with an edge-triggered interest, what is ready now is reported
    /// again.
    pub fn modify(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, epoll::EventData::new_u64(token), interest.flags())?)
    }

    /// Stops watching `fd`, which stays open.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    /// Waits for events for at most `timeout_ns` (0: does not wait; `None`: without limit) and puts them into
    /// `events`, replacing what was there. A signal ends the wait with what is ready by then.
    pub fn wait(&self, events: &mut Events, timeout_ns: Option<u64>) -> io::Result<()> {
        events.list.clear();
        let timeout = timeout_ns
            .map(|ns| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
        match epoll::wait(&self.epoll, spare_capacity(&mut events.list), timeout.as_ref()) {
            Ok(_) => Ok(()),
            // A process that was stopped goes on by a signal: what came meanwhile is what it waited for.
            Err(Errno::INTR) => sys::epoll_ready(self.epoll.as_fd(), &mut events.list),
            Err(Errno::NOSYS | Errno::PERM) => self.wait_twice(events, timeout.as_ref()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits without `epoll_pwait2`, which Linux has from 5.11 on and which some sandboxes forbid: as
    /// exactly, with one more call.
    #[cold]
    fn wait_twice(&self, events: &mut Events, timeout: Option<&Timespec>) -> io::Result<()> {
        match rustix::event::poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], timeout) {
            Ok(_) | Err(Errno::INTR) => sys::epoll_ready(self.epoll.as_fd(), &mut events.list),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Ends another thread's wait: an eventfd, added to its poller with [`Interest::ReadLevel`].
pub struct Waker {
    eventfd: OwnedFd,
}

impl Waker {
    /// A waker that has not been woken.
    pub fn new() -> io::Result<Waker> {
        Ok(Waker { eventfd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)? })
    }

    /// Makes the descriptor readable until [`drain`](Waker::drain). Any number of wakes count as one.
    pub fn wake(&self) {
        // This fails only if the counter is full, and then the waker is awake already.
        let _ = rustix::io::write(&self.eventfd, &1u64.to_ne_bytes());
    }

    /// Takes the wakes so far: the next wait sleeps again.
    pub fn drain(&self) {
        let _ = rustix::io::read(&self.eventfd, &mut [0u8; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.eventfd.as_fd()
    }
}

/// Lets the calling thread's timed waits end on time: the kernel otherwise adds up to 50 µs to each, to batch
/// wake-ups (`PR_SET_TIMERSLACK`).
pub fn set_timer_slack_to_minimum() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    const SECOND_NS: u64 = 1_000_000_000;

    fn wait(poller: &Poller, timeout_ns: u64) -> Vec<Event> {
        let mut events = Events::with_capacity(8);
        poller.wait(&mut events, Some(timeout_ns)).unwrap();
        events.iter().collect()
    }

    #[test]
    fn edge_reports_once_and_level_again() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let level = theirs.try_clone().unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&theirs, 1, Interest::ReadEdge).unwrap();
        poller.add(&level, 2, Interest::ReadLevel).unwrap();
        assert_eq!(wait(&poller, 0), []);
        ours.write_all(b"x").unwrap();
        let mut tokens: Vec<u64> = wait(&poller, SECOND_NS).iter().map(|event| event.token).collect();
        tokens.sort_unstable();
        assert_eq!(tokens, [1, 2]);
        assert_eq!(wait(&poller, SECOND_NS).iter().map(|event| event.token).collect::<Vec<_>>(), [2]);
        (&level).read_exact(&mut [0]).unwrap();
        assert_eq!(wait(&poller, 0), []);
        ours.write_all(b"y").unwrap();
        assert_eq!(wait(&poller, SECOND_NS).len(), 2);
    }

    /// Compares the calls made to older kernels with the one to newer kernels.
    #[test]
    fn two_calls_equal_one() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&theirs, 3, Interest::ReadEdge).unwrap();
        let mut events = Events::with_capacity(8);
        let start_ns = monotonic_ns();
        let timeout = Timespec { tv_sec: 0, tv_nsec: 200_000 };
        poller.wait_twice(&mut events, Some(&timeout)).unwrap();
        assert!(
            events.iter().next().is_none() && (200_000..SECOND_NS).contains(&(monotonic_ns() - start_ns))
        );
        ours.write_all(b"x").unwrap();
        poller.wait_twice(&mut events, None).unwrap();
        let tokens: Vec<(u64, bool)> = events.iter().map(|event| (event.token, event.readable)).collect();
        assert_eq!(tokens, [(3, true)]);
        assert_eq!(wait(&poller, 0), [], "it was told");
    }

    #[test]
    fn modify_reports_again_and_remove_silences() {
        let (_ours, theirs) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&theirs, 7, Interest::ReadEdge).unwrap();
        assert_eq!(wait(&poller, 0), []);
        poller.modify(&theirs, 8, Interest::ReadWriteEdge).unwrap();
        let events = wait(&poller, SECOND_NS);
        assert_eq!(events.len(), 1);
        assert!(events[0].token == 8 && events[0].writable && !events[0].readable && !events[0].closed);
        poller.remove(&theirs).unwrap();
        assert_eq!(wait(&poller, 0), []);
    }

    #[test]
    fn a_closed_peer_is_readable_and_closed() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&theirs, 3, Interest::ReadEdge).unwrap();
        drop(ours);
        let events = wait(&poller, SECOND_NS);
        assert!(events[0].readable && events[0].closed && !events[0].error);
    }

    #[test]
    fn timeouts_are_finer_than_a_millisecond() {
        set_timer_slack_to_minimum().unwrap();
        let poller = Poller::new().unwrap();
        let fastest_ns = (0..50)
            .map(|_| {
                let start_ns = monotonic_ns();
                wait(&poller, 200_000);
                monotonic_ns() - start_ns
            })
            .min()
            .unwrap();
        assert!((200_000..900_000).contains(&fastest_ns), "{fastest_ns} ns");
    }

    #[test]
    fn a_waker_wakes_another_thread_until_drained() {
        let poller = Poller::new().unwrap();
        let waker = Arc::new(Waker::new().unwrap());
        poller.add(&*waker, 9, Interest::ReadLevel).unwrap();
        let remote = Arc::clone(&waker);
        let thread = std::thread::spawn(move || {
            remote.wake();
            remote.wake();
        });
        assert_eq!(wait(&poller, 5 * SECOND_NS)[0].token, 9);
        thread.join().unwrap();
        waker.drain();
        assert_eq!(wait(&poller, 0), []);
    }
}
