//! Any bytes as answers to pipelined requests: the same heads and bodies in any portions.

use codec::http::{ResponseEvent, Responses};

use crate::support::{check_portions, limits, split};

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((step, bytes)) = split(data) else { return };
    check_portions(bytes, step, |portions| {
        let (mut responses, mut heads, mut body) = (Responses::default(), Vec::new(), Vec::new());
        for portion in portions {
            let mut input = *portion;
            loop {
                match responses.next(&limits(), false, &mut input) {
                    Ok(None) => break,
                    Ok(Some(ResponseEvent::Head { status, keep_alive })) => heads.push((status, keep_alive)),
                    Ok(Some(ResponseEvent::Data(data))) => body.extend_from_slice(data),
                    Ok(Some(ResponseEvent::End)) => body.push(b'|'),
                    // How much of a body is out when it fails depends on the portions; that it fails does not.
                    Err(failure) => return (heads, Vec::new(), Err(failure)),
                }
            }
        }
        (heads, body, responses.handle_eof())
    });
}
