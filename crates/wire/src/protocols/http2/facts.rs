//! Facts of HTTP/2.

use crate::facts::{Facts, Form, TokenHome};

pub(super) static FACTS: Facts = Facts {
    name: "http2",
    protocol: "http2",
    form: Form::Raw,
    can_broadcast: false,
    asks: true,
    token: TokenHome::Authorization,
    alpn: Some("h2"),
    ..Facts::USUAL
};
