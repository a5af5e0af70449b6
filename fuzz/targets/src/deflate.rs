//! Any bytes inflate within the limit or fail; any message that is deflated comes back.

use codec::ws::deflate::{Deflater, Inflater};

const BYTES_MAX: usize = 1 << 16;

/// Feeds one input.
pub fn run(data: &[u8]) {
    let [bits, forgets, message @ ..] = data else { return };
    let (bits, forgets) = (8 + bits % 8, forgets % 2 == 1);
    let mut inflater = Inflater::new(forgets);
    for part in message.chunks(1 + message.len() / 2) {
        if let Ok(plain) = inflater.message(part, None, BYTES_MAX) {
            assert!(plain.len() <= BYTES_MAX);
        }
    }
    let (mut deflater, mut inflater) = (Deflater::new(1, bits, forgets), Inflater::new(forgets));
    for part in message.chunks(1 + message.len() / 3) {
        let mut out = part.to_vec();
        deflater.replace(&mut out, 0);
        assert_eq!(inflater.message(&out, None, BYTES_MAX), Ok(part));
    }
}
