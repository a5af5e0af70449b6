//! Facts of HTTP/2.

use crate::facts::{Facts, Form};

pub(super) static FACTS: Facts = Facts {
    name: "http2",
    protocol: "http2",
    form: Form::Raw,
    can_broadcast: false,
    asks: true,
    alpn: Some("h2"),
    ..Facts::USUAL
};
