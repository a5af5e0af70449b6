//! Any bytes as an event stream: the same events in any portions, and nothing held beyond the limits.

use codec::event_stream::Reader;

use crate::support::{check_portions, limits, split};

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((step, bytes)) = split(data) else { return };
    check_portions(bytes, step, |portions| {
        let (mut reader, mut events) = (Reader::default(), Vec::new());
        for portion in portions {
            let mut input = *portion;
            loop {
                match reader.next(&limits(), &mut input) {
                    Ok(None) => break,
                    Ok(Some(event)) => {
                        assert!(event.data.len() <= limits().message_bytes_max);
                        events.push([event.kind, event.data, event.id].map(<[u8]>::to_vec));
                    }
                    Err(failure) => return (events, reader.retry_ms(), Err(failure)),
                }
            }
        }
        (events, reader.retry_ms(), Ok(reader.last_id().to_vec()))
    });
}
