//! Who held a step back: the server, the generator, the machine, the network, or nobody.

use std::fmt;

/// What held a step back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// The server under test.
    Server,
    /// throng itself: the figures say nothing about the server's limit.
    Generator,
    /// The machine they share.
    Machine,
    /// The network between them.
    Network,
    /// Nothing: the load was carried with room to spare.
    None,
}

impl Bottleneck {
    /// The name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Bottleneck::Server => "server",
            Bottleneck::Generator => "generator",
            Bottleneck::Machine => "machine",
            Bottleneck::Network => "network",
            Bottleneck::None => "none",
        }
    }
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A bottleneck and the sentence that gives the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Who.
    pub bottleneck: Bottleneck,
    /// Why, with the figures: `its CPU was at 97% of 1 core`.
    pub reason: String,
}
