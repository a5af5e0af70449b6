//! Options of the server.

use std::net::SocketAddr;
use std::path::PathBuf;

use secret::Mask;
use serde::Serialize;

/// Options of the server.
pub struct Options {
    /// The address to listen on; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// The token a visitor must present: other users of this machine also reach the loopback interface.
    pub token: String,
    /// The store.
    pub store: PathBuf,
    /// The `throng` that runs are started with.
    pub program: PathBuf,
    /// Its hidden verb that reads a command line from standard input, as a line of JSON: lists of processes
    /// are for all.
    pub words_verb: &'static str,
    /// How secrets of a command line are shown.
    pub mask: &'static Mask,
    /// The verbs that a run may be started with.
    pub verbs: Vec<Verb>,
    /// Their flags, in the order of the help.
    pub fields: Vec<Field>,
    /// Asks the command line's parser about the words after `throng`; what is wrong with them, if anything is.
    pub check: Check,
}

/// A check of the words after `throng`: what is wrong with them, if anything is.
pub type Check = Box<dyn Fn(&[String]) -> Result<(), String> + Send + Sync>;

/// A verb that a page may start.
#[derive(Clone, Debug, Serialize)]
pub struct Verb {
    /// Its name.
    pub name: String,
    /// A sentence of what it does.
    pub about: String,
    /// True if it takes a file before the URL.
    pub has_file: bool,
}

/// A field of the form, which is a flag of the same name.
#[derive(Clone, Debug, Serialize)]
pub struct Field {
    /// The flag's long name.
    pub name: String,
    /// The line about it in the help.
    pub label: String,
    /// The heading under which the help lists it.
    pub group: String,
    /// The value as the help names it, or its default.
    pub example: String,
    /// The values to choose from; empty: any.
    pub values: Vec<String>,
    /// The verbs that know the flag.
    pub verbs: Vec<String>,
    /// Kind of the value.
    pub kind: Kind,
}

/// Kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A text.
    Text,
    /// None: the flag stands alone.
    Switch,
    /// Several texts, each on a line and with the flag before it.
    Lines,
    /// The path of a file that is there.
    File,
}
