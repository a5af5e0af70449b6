//! Rules by which pieces are judged: the end mark, tokens, numbers, errors, and bodies that are no stream.

use app::places::Pointer;
use codec::http::fields;
use memchr::memmem;
use secret::Secret;

use crate::asking::options::HttpOptions;
use crate::asking::streaming::{EndMark, StreamForm, StreamOptions};
use crate::failure::{Coding, Media};
use crate::options::BadOption;

/// Rules by which each event is judged, compiled once.
#[derive(Debug)]
pub(crate) struct PieceRules {
    pub(super) form: Option<StreamForm>,
    pub(super) end: Option<(EndMark, Option<Pointer>)>,
    tokens: Option<Pointer>,
    order: Option<Pointer>,
    error: Pointer,
    /// True if the request says that its answer may be JSON, which then is one event.
    takes_json: bool,
}

impl PieceRules {
    /// Compiles the options of requests with these fields; `None`: answers come whole.
    pub(crate) fn new(
        http: &HttpOptions,
        fields: &[(String, Secret)],
    ) -> Result<Option<PieceRules>, BadOption> {
        let takes_json = fields.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("accept") && value.reveal().contains("application/json")
        });
        let Some(options) = &http.stream else { return Ok(None) };
        let mut pointers = [None, None, None];
        for (place, (option, text)) in pointers.iter_mut().zip(options.pointers()) {
            let parse = |text| Pointer::parse(text).ok_or(StreamOptions::bad_pointer(option));
            *place = text.map(parse).transpose()?;
        }
        let [end, tokens, order] = pointers;
        let end = options.end.clone().map(|mark| (mark, end));
        let error = Pointer::parse("/error").expect("a pointer");
        Ok(Some(PieceRules { form: options.form, end, tokens, order, error, takes_json }))
    }

    /// The media type of a body that is no stream, unless the user wants it read as one.
    pub(super) fn misses(&self, kind: BodyKind) -> Option<Media> {
        kind.whole.filter(|media| match (media, self.form) {
            (_, Some(StreamForm::Chunks)) => false,
            // Some servers call lines of JSON so.
            (Media::Json, form) => !self.takes_json && form != Some(StreamForm::Lines),
            _ => true,
        })
    }

    /// Returns whether a body is JSON that was asked for: one event, in however many reads it comes.
    pub(super) fn takes_whole(&self, kind: BodyKind) -> bool {
        let is_json = matches!(kind.whole, Some(Media::Json));
        is_json && self.takes_json && self.form.is_none() && kind.coding.is_none()
    }

    /// Returns whether an event says that the answer has failed: by its type (Anthropic's API), or by a JSON
    /// member `error` that holds something (OpenAI's, Ollama's, JSON-RPC 2.0 §5.1).
    pub(super) fn is_error(&self, kind: &[u8], data: &[u8]) -> bool {
        // The search spares nearly every event a parse.
        let has_member = || memmem::find(data, br#""error""#).and_then(|_| self.error.written(data));
        kind == b"error"
            || has_member().is_some_and(|written| !matches!(written, b"null" | b"false" | b"\"\""))
    }

    /// Recognises the end mark: `None` for any other event, or else whether the mark counts as an event as
    /// well.
    pub(super) fn is_end(&self, kind: &[u8], data: &[u8]) -> Option<bool> {
        let (is_end, counts) = match self.end.as_ref()? {
            (EndMark::Data(mark), _) => (data == mark.as_bytes(), false),
            (EndMark::Event(name), _) => (kind == name.as_bytes(), false),
            (EndMark::Pointer(_, value), pointer) => {
                let found = pointer.as_ref().and_then(|pointer| Some((pointer.written(data)?, pointer)));
                let is_there = found.is_some_and(|(written, pointer)| match value {
                    Some(value) => pointer.value(data).as_deref() == Some(value.as_str()),
                    None => !matches!(written, b"null" | b"false" | b"\"\""),
                });
                (is_there, true)
            }
        };
        is_end.then_some(counts)
    }

    /// Tokens in an event: one for a text that is not empty, or the number that stands there.
    pub(super) fn tokens(&self, data: &[u8]) -> u32 {
        let Some(written) = self.tokens.as_ref().and_then(|pointer| pointer.written(data)) else { return 0 };
        match written.first() {
            Some(b'"') => u32::from(written != b"\"\""),
            _ => std::str::from_utf8(written).ok().and_then(|number| number.parse().ok()).unwrap_or(0),
        }
    }

    /// The event's number, which is to grow.
    pub(super) fn number(&self, data: &[u8]) -> Option<u64> {
        self.order.as_ref()?.value(data)?.parse().ok()
    }
}

/// Form and coding of a body, as its head names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BodyKind {
    pub(super) media: Option<StreamForm>,
    /// Its media type, if bodies of that come whole.
    whole: Option<Media>,
    pub(super) coding: Option<Coding>,
}

impl BodyKind {
    /// Handles a field of the head: of several with the same name, the first counts.
    pub(crate) fn handle_field(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"content-type") {
            if self.media.is_none() {
                let form = StreamForm::of_media(value);
                let is_whole = |media: &Media| matches!(media, Media::Html | Media::Json);
                self.whole =
                    Media::named(Some(value)).filter(|_| form == StreamForm::Chunks).filter(is_whole);
                self.media = Some(form);
            }
        } else if name.eq_ignore_ascii_case(b"content-encoding") {
            self.coding = self.coding.or_else(|| fields::members(value).find_map(Coding::named));
        }
    }
}
