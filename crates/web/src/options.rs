//! Options of the server.

use std::net::SocketAddr;
use std::path::PathBuf;

use secret::Mask;

/// Options of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// The token a visitor must present: other users of this machine also reach the loopback interface.
    pub token: String,
    /// The store.
    pub store: PathBuf,
    /// The `throng` that runs are started with.
    pub program: PathBuf,
    /// Its hidden verb that reads a command line from standard input, as a line of JSON: lists of processes are for all.
    pub words_verb: &'static str,
    /// How secrets of a command line are shown.
    pub mask: &'static Mask,
    /// The dialects that a run may be started with.
    pub dialects: Vec<&'static str>,
}
