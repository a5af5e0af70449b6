//! Bytes in, events out: HTTP/1.1, WebSocket and the dialects, in both roles.
