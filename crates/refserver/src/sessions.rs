//! The sessions that a worker keeps: found by name by requests, by token by timers, by key by rooms.

use std::collections::HashMap;

use slab::Slab;
use wire::{ServerConfig, Session, SessionRequest};

use crate::connection::NEVER_NS;
use crate::held::{Held, Share};
use crate::memberships::Memberships;

/// A session, and the worker's data about it.
pub(crate) struct Entry {
    pub(crate) session: Session,
    name: Box<str>,
    /// A number that tells this session from an earlier one with the same key.
    pub(crate) serial: u32,
    /// The request that the session holds open.
    pub(crate) held: Option<HeldRequest>,
    pub(crate) memberships: Memberships,
    /// The time of the session's valid entry in the timers.
    pub(crate) timer_ns: u64,
    /// The bytes that wait for the client to ask for them.
    pub(crate) queued: Share,
}

/// A request that is held open: the token of its connection, and its stream there (0 over HTTP/1.1).
#[derive(Clone, Copy)]
pub(crate) struct HeldRequest {
    pub(crate) token: u64,
    pub(crate) stream: u32,
}

/// All sessions of a worker.
#[derive(Default)]
pub(crate) struct Sessions {
    list: Slab<Entry>,
    by_name: HashMap<Box<str>, usize>,
}

impl Sessions {
    /// The session of that name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Makes the session that a request opens.
    pub(crate) fn open(
        &mut self,
        cfg: &ServerConfig,
        request: &SessionRequest,
        serial: u32,
        held: &Held,
    ) -> usize {
        let name: Box<str> = request.name().into();
        let entry = Entry {
            session: Session::new(cfg, request),
            name: name.clone(),
            serial,
            held: None,
            memberships: Memberships::default(),
            timer_ns: NEVER_NS,
            queued: held.share(),
        };
        let key = self.list.insert(entry);
        self.by_name.insert(name, key);
        key
    }

    /// Removes a session.
    pub(crate) fn remove(&mut self, key: usize) -> Entry {
        let entry = self.list.remove(key);
        // A client that comes back under this name begins anew.
        self.by_name.remove(&entry.name);
        entry
    }

    /// The session of a key that exists.
    pub(crate) fn get(&mut self, key: usize) -> &mut Entry {
        &mut self.list[key]
    }

    /// The key, if its session is still the one with this serial.
    pub(crate) fn check(&self, key: usize, serial: u32) -> Option<usize> {
        self.list.get(key).filter(|entry| entry.serial == serial).map(|_| key)
    }
}
