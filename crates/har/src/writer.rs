//! A HAR of entries: what [`Recording::read`](crate::Recording::read) reads, with the members that HAR 1.2
//! asks for besides.

use std::io;

use serde_json::{Value, json};
use url::Url;

use crate::file::{Direction, Entry, Pair, StreamEvent};

/// A note for whoever finds the file.
const COMMENT: &str = "holds passwords, cookies and tokens in plain text: for your eyes only";

/// Writes a HAR, an entry at a time; `version` is that of throng.
///
/// # Errors
/// It cannot be written.
pub fn write(
    entries: impl Iterator<Item = Entry>,
    version: &str,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let creator = json!({ "name": "throng record", "version": version });
    write!(
        out,
        "{{\"log\":{{\"version\":\"1.2\",\"creator\":{creator},\"comment\":{},\"entries\":[",
        json!(COMMENT)
    )?;
    for (number, entry) in entries.enumerate() {
        out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &exported(entry))?;
    }
    out.write_all(b"\n]}}\n")
}

fn exported(entry: Entry) -> Value {
    let Entry { started_date_time, request, response, messages, events } = entry;
    let query = Url::parse(&request.url).map(|url| url.query_pairs().into_owned().collect::<Vec<_>>());
    let query = query.unwrap_or_default().into_iter().map(|(name, value)| Pair { name, value });
    let body_bytes = request.post_data.as_ref().map_or(0, |data| data.text.len());
    let mut out = json!({
        "startedDateTime": started_date_time,
        "time": 0,
        "request": {
            "method": request.method,
            "url": request.url,
            "httpVersion": "HTTP/1.1",
            "headers": pairs(request.headers.into_iter()),
            "queryString": pairs(query),
            "cookies": [],
            "headersSize": -1,
            "bodySize": body_bytes,
        },
        "response": {
            "status": response.status,
            "statusText": "",
            "httpVersion": "HTTP/1.1",
            "headers": pairs(response.headers.into_iter()),
            "cookies": [],
            "content": { "size": response.content.text.as_ref().map_or(-1, |text| text.len() as i64), "mimeType": response.content.mime_type },
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
        },
        "cache": {},
        "timings": { "send": 0, "wait": 0, "receive": 0 },
    });
    if let Some(data) = request.post_data {
        out["request"]["postData"] = json!({ "mimeType": data.mime_type, "text": data.text });
    }
    if let Some(text) = response.content.text {
        out["response"]["content"]["text"] = Value::String(text);
    }
    if let Some(messages) = messages {
        let message = |frame: crate::file::Frame| {
            let kind = match frame.direction {
                Direction::Send => "send",
                Direction::Receive => "receive",
                Direction::Other => "error",
            };
            json!({ "type": kind, "time": frame.time, "opcode": frame.opcode, "data": frame.data })
        };
        out["_webSocketMessages"] = messages.into_iter().map(message).collect();
    }
    if let Some(events) = events {
        let event = |event: StreamEvent| {
            let StreamEvent { time, event_name, event_id, data } = event;
            json!({ "time": time, "eventName": event_name, "eventId": event_id, "data": data })
        };
        out["_eventSourceMessages"] = events.into_iter().map(event).collect();
    }
    out
}

fn pairs(pairs: impl Iterator<Item = Pair>) -> Value {
    pairs.map(|Pair { name, value }| json!({ "name": name, "value": value })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Content, File, Frame, PostData, Request, Response};

    #[test]
    fn written_entries_are_read_back() {
        let pair = |name: &str, value: &str| Pair { name: name.to_owned(), value: value.to_owned() };
        let request = Entry {
            started_date_time: "2026-01-02T03:04:05.678Z".to_owned(),
            request: Request {
                method: "POST".to_owned(),
                url: "https://app.test/login?next=%2F".to_owned(),
                headers: vec![pair("cookie", "a=\"b\"; é=1")],
                post_data: Some(PostData {
                    mime_type: "application/x-www-form-urlencoded".to_owned(),
                    text: "name=ada&password=x".to_owned(),
                }),
            },
            response: Response {
                status: 302,
                headers: vec![pair("set-cookie", "s=1"), pair("set-cookie", "t=2")],
                content: Content {
                    mime_type: "text/html".to_owned(),
                    text: Some("<a>\u{1e}\"\\</a>".to_owned()),
                    encoding: None,
                },
            },
            ..Entry::default()
        };
        let frame = |direction, data: &str| Frame { direction, time: 1.7e9, opcode: 1, data: data.into() };
        let socket = Entry {
            request: Request {
                method: "GET".to_owned(),
                url: "ws://app.test/".to_owned(),
                ..Request::default()
            },
            messages: Some(vec![frame(Direction::Send, "{\"a\":1}"), frame(Direction::Receive, "é")]),
            ..Entry::default()
        };
        let event = StreamEvent {
            time: 1.7e9,
            event_name: "said".into(),
            event_id: "7".into(),
            data: "{\"a\":1}\né".into(),
        };
        let mut stream = request.clone();
        stream.events = Some(vec![event.clone(), StreamEvent { event_id: "".into(), ..event }]);
        let entries = vec![request, socket, stream];
        let mut out = Vec::new();
        write(entries.clone().into_iter(), "0.1.0", &mut out).unwrap();
        let read: File = serde_json::from_slice(&out).unwrap();
        assert_eq!(read.log.entries.kept, entries);
        let mut none = Vec::new();
        write(std::iter::empty(), "0.1.0", &mut none).unwrap();
        assert!(serde_json::from_slice::<File>(&none).unwrap().log.entries.kept.is_empty());
    }
}
