//! Events of a stream: as Chrome exports them (`_eventSourceMessages`), and as they stand in an answer's text.

use codec::Limits;
use codec::event_stream::Reader;
use serde::Deserialize;

use super::text::{boxed_text, or_empty};

/// The media type of an event stream.
pub(crate) const EVENTS: &str = codec::event_stream::MEDIA_TYPE;

/// One event of a stream.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamEvent {
    /// Seconds since 1970; 0 if it is not known.
    #[serde(default, deserialize_with = "or_empty")]
    pub time: f64,
    /// The type; empty or `message` if the server gave none.
    #[serde(default, deserialize_with = "boxed_text")]
    pub event_name: Box<str>,
    /// The last event ID.
    #[serde(default, deserialize_with = "boxed_text")]
    pub event_id: Box<str>,
    /// The data.
    #[serde(default, deserialize_with = "boxed_text")]
    pub data: Box<str>,
}

/// Reads at most `events_max` events of a stream's text; `time_of` tells the time at which this many bytes had come.
pub fn events_in(text: &[u8], events_max: usize, time_of: impl Fn(usize) -> f64) -> Vec<StreamEvent> {
    let (mut reader, limits, mut input) = (Reader::default(), Limits::default(), text);
    let mut events = Vec::new();
    let own = |bytes: &[u8]| String::from_utf8_lossy(bytes).into();
    while events.len() < events_max {
        // A line beyond all limits ends it.
        let Ok(Some(event)) = reader.next(&limits, &mut input) else { break };
        let (event_name, event_id, data) = (own(event.kind), own(event.id), own(event.data));
        events.push(StreamEvent { time: time_of(text.len() - input.len()), event_name, event_id, data });
    }
    events
}
