//! Any bytes as frames of a client at a server: the same answers and failure in any portions.

use crate::support::{Fake, check_portions, limits, split};
use wire::{Server, ServerConfig, ServerEvent};

/// The preface, and settings without any.
const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((step, bytes)) = split(data) else { return };
    let cfg = ServerConfig { limits: limits(), ..ServerConfig::default() };
    check_portions(bytes, step, |portions| {
        let (mut server, mut io, mut answers) = (Server::new(), Fake::default(), 0);
        let mut handle = |portion: &[u8]| {
            let on = &mut |event: ServerEvent<'_>| {
                answers += u32::from(matches!(event, ServerEvent::Requested { .. }))
            };
            server.handle_input(&cfg, 0, 0, portion, &mut io, on)
        };
        handle(GREETING).expect("a good greeting");
        let result = portions.iter().try_for_each(|portion| handle(portion));
        (io.out, answers, result)
    });
}
