//! Subprotocols, among which pages offer tokens: a browser's WebSocket has no other header of its own.

use codec::http::fields::is_token;

use super::Session;
use crate::credentials::{TOKEN, is_opaque, is_token_behind};
use crate::toml_text::{TomlText, counted, plain, quoted};
use crate::trace::Trace;

/// The beginning of a token in Base64url, as Phoenix 1.8 has it.
const BASE64URL: &str = "base64url.";

impl Session<'_> {
    /// Writes the subprotocols, unless they are the protocol's own and no token is among them.
    pub(super) fn subprotocols(&self, trace: &mut Trace<'_>, out: &mut TomlText) {
        let socket = &self.recording.socket;
        let is_sendable = |name: &String| is_token(name.as_bytes());
        let (offered, unsendable): (Vec<_>, Vec<_>) = socket.offered().into_iter().partition(is_sendable);
        let (mut names, mut before, mut has_token) = (Vec::new(), "", false);
        for name in &offered {
            let is_token = is_token_behind(before, name) || is_opaque(name);
            before = name;
            has_token |= is_token;
            // A column has one login's token: what an answer had comes first.
            let found = is_token.then(|| trace.resolve(TOKEN, name, socket.at_s, plain)).flatten();
            let written = quoted(&found.unwrap_or_else(|| plain(name)));
            // Equal ones make no request (RFC 6455 §4.1).
            if !names.contains(&written) {
                names.push(written);
            }
        }
        if !unsendable.is_empty() {
            let count = counted(unsendable.len(), "subprotocol");
            out.remark(&format!("left out: {count} with letters that no request can have."));
        }
        if names.is_empty() || !(has_token || self.carried.names_subprotocols) {
            return;
        }
        if offered.iter().any(|name| name.starts_with(BASE64URL)) {
            out.remark(
                "The cell of a subprotocol's column is base64url.bearer.phx. and the user's token in Base64url, without = at its end.",
            );
        }
        out.line(&format!("subprotocols = [{}]", names.join(", ")));
    }
}
