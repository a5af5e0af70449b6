//! The message that asks, encoded, and how its answer is read.

use app::template::{CompiledTemplate, Filling};
use codec::ws::MessageType;

use crate::asking::{EndMark, HttpOptions, PieceRules, StreamOptions, body_template};
use crate::options::{BadOption, Options};

/// The parts encoded once.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The message, where it is the same every time.
    body: Vec<u8>,
    /// The message, where each client has another.
    own: Option<CompiledTemplate>,
    pub(super) message_type: MessageType,
    /// Rules by which the messages of an answer are judged; `None`: an answer is one message.
    pub(super) rules: Option<PieceRules>,
}

impl Parts {
    pub(super) fn new(options: &Options) -> Result<Parts, BadOption> {
        let http = HttpOptions::from(&options.of_dialect.settings);
        http.check()?;
        if let Some(stream) = &http.stream {
            check(&http, stream)?;
        }
        let (rules, own) = (PieceRules::new(&http, &options.headers)?, body_template(options, &http)?);
        let body = http.body.unwrap_or_default();
        let is_text = own.is_some() || std::str::from_utf8(&body).is_ok();
        let message_type = if is_text { MessageType::Text } else { MessageType::Binary };
        Ok(Parts { body, own, message_type, rules })
    }

    /// Appends the message.
    pub(super) fn write(&self, out: &mut Vec<u8>, filling: &Filling<'_>) {
        match &self.own {
            Some(own) => own.write(out, filling, 0),
            None => out.extend_from_slice(&self.body),
        }
    }
}

/// Refuses choices for streams that cannot be carried out over a WebSocket.
fn check(http: &HttpOptions, stream: &StreamOptions) -> Result<(), BadOption> {
    let bad = |option, expected| Err(BadOption::OfDialect { option, expected });
    if stream.form.is_some() {
        return bad("as", "no form: over a WebSocket, each message is an event");
    }
    if !matches!(stream.end, Some(EndMark::Data(_) | EndMark::Pointer(..))) {
        let expected = "the message that ends an answer, as nothing else does over a WebSocket: --end '[DONE]', or a \
                        JSON pointer into it: --end /done=true";
        return bad("end", expected);
    }
    if http.body.is_none() {
        return bad("body", "the message that asks: --body '{\"q\":\"tea\"}', or --input FILE");
    }
    Ok(())
}
