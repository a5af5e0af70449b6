//! Any bytes at the server before an upgrade: the same answers in any portions.

use crate::support::{Fake, check_portions, limits, split};
use wire::{Server, ServerConfig};

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((step, bytes)) = split(data) else { return };
    let cfg = ServerConfig { limits: limits(), ..ServerConfig::default() };
    check_portions(bytes, step, |portions| {
        let (mut server, mut io, mut events) = (Server::new(), Fake::default(), 0);
        let result = portions
            .iter()
            .try_for_each(|bytes| server.handle_input(&cfg, 0, 0, bytes, &mut io, &mut |_| events += 1));
        (io.out, events, result)
    });
}
