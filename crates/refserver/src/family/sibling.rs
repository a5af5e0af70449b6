//! A child's part in a family, and how it gets there: through the environment.

use std::env;
use std::io;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use net::socket::{Addr, Listener, Socket, inherited};

use crate::stats::Stats;

/// `<number> <parent's descriptor> <peers' descriptors, by commas> <TCP addresses, by commas> <unix
/// listeners' descriptors, by commas>`, `-` for none.
const VARIABLE: &str = "THRONG_SIBLING";

/// A child's first report to its parent.
pub(super) const READY: &str = "ready\n";

/// A child's last line, which shows that the lines before it are complete.
const END: &str = "end\n";

/// A process's part as a child of a family.
pub struct Sibling {
    pub(crate) number: usize,
    /// The family's addresses, with known ports.
    pub(crate) addrs: Vec<Addr>,
    /// The listeners on the family's unix sockets.
    pub(crate) unix: Vec<Arc<Listener>>,
    pub(super) parent: Socket,
    /// The first worker's sockets to its siblings.
    pub(crate) peers: Vec<Socket>,
}

impl Sibling {
    /// Takes this process's part, if it has one. The part can be taken once; a malformed part is an error.
    pub fn from_env() -> io::Result<Option<Sibling>> {
        env::var_os(VARIABLE).map(|text| Sibling::parse(&text.to_string_lossy())).transpose()
    }

    fn parse(text: &str) -> io::Result<Sibling> {
        let bad = || io::Error::new(io::ErrorKind::InvalidInput, format!("{VARIABLE}={text} makes no sense"));
        let fields: Vec<&str> = text.split(' ').collect();
        // A user can set the environment: a bad part is an error, and no panic.
        let [number, parent, peers, addrs, unix] = fields[..] else { return Err(bad()) };
        let socket = |number: &str| number.parse().map_err(|_| bad()).and_then(inherited);
        let listener = |number: &str| socket(number).map(|socket| Arc::new(Listener::of_another(socket)));
        let addr = |text: &str| text.parse::<SocketAddr>().map(Addr::Inet).map_err(|_| bad());
        Ok(Sibling {
            number: number.parse().map_err(|_| bad())?,
            addrs: list(addrs).map(addr).collect::<io::Result<_>>()?,
            unix: list(unix).map(listener).collect::<io::Result<_>>()?,
            parent: socket(parent)?,
            peers: list(peers).map(socket).collect::<io::Result<_>>()?,
        })
    }

    /// Makes the process that `command` starts while this exists be this sibling.
    pub(super) fn pass_on(&self, command: &mut Command) -> io::Result<()> {
        let numbers = |left_open: Vec<io::Result<i32>>| -> io::Result<Vec<String>> {
            left_open.into_iter().map(|number| Ok(number?.to_string())).collect()
        };
        let peers = numbers(self.peers.iter().map(|peer| peer.leave_open_on_exec()).collect())?;
        let unix = numbers(self.unix.iter().map(|listener| listener.leave_open_on_exec()).collect())?;
        let inet = self.addrs.iter().filter(|addr| matches!(addr, Addr::Inet(_)));
        let addrs: Vec<String> = inet.map(ToString::to_string).collect();
        let parent = self.parent.leave_open_on_exec()?;
        let join = |items: Vec<String>| if items.is_empty() { "-".to_owned() } else { items.join(",") };
        let role = format!("{} {parent} {} {} {}", self.number, join(peers), join(addrs), join(unix));
        command.env(VARIABLE, role);
        Ok(())
    }

    /// Tells the parent that this child listens.
    pub(crate) fn report_ready(&self) -> io::Result<()> {
        self.parent.send(READY.as_bytes()).map(drop)
    }

    /// Tells the parent what this child did. Nothing is sent after it.
    pub(crate) fn report_end(&self, stats: &Stats) -> io::Result<()> {
        self.parent.send(format!("{}{END}", stats.to_lines()).as_bytes()).map(drop)
    }
}

/// The stats in a child's report, if the report is complete.
pub(super) fn last_words(said: &str) -> Option<Stats> {
    // Without the last line, it may have been killed in the midst of its figures.
    Stats::from_lines(said.strip_prefix(READY)?.strip_suffix(END)?)
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|item| *item != "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::socket::pair;

    #[test]
    fn invalid_parts_are_errors() {
        for text in ["", "1", "0 x - - -", "0 99999 - - -", "0 0 - - -", "x 3 - - -", "0 3 - -"] {
            assert!(Sibling::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn parents_hear_what_children_say() {
        let (parent, child) = pair().unwrap();
        let sibling = Sibling { number: 0, addrs: vec![], unix: vec![], parent: child, peers: vec![] };
        let mut stats = Stats { copies: 7, ..Stats::default() };
        stats.count_error("reset");
        sibling.report_ready().unwrap();
        sibling.report_end(&stats).unwrap();
        let mut buffer = [0; 4096];
        let count = parent.recv(&mut buffer).unwrap();
        let said = std::str::from_utf8(&buffer[..count]).unwrap();
        assert_eq!(last_words(said), Some(stats));
        assert_eq!(last_words(&said[..said.len() - 1]), None, "cut off");
        assert_eq!(last_words(READY), None);
    }
}
