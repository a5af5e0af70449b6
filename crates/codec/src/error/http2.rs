//! Why a stream or a connection ends (RFC 9113 §7), and which rule a peer broke.

use std::fmt;

/// Error codes of either peer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum ErrorCode {
    /// Nothing is wrong.
    NoError = 0x0,
    /// A rule was broken that has no code of its own.
    ProtocolError = 0x1,
    /// Something is wrong at the peer; also all codes that are unknown.
    InternalError = 0x2,
    /// More came than there was room for.
    FlowControlError = 0x3,
    /// Settings were not acknowledged in time.
    SettingsTimeout = 0x4,
    /// A frame on a stream that was over.
    StreamClosed = 0x5,
    /// A frame of a size that its kind does not have.
    FrameSizeError = 0x6,
    /// Nothing was done with the request.
    RefusedStream = 0x7,
    /// The stream is of no use any more.
    Cancel = 0x8,
    /// A block of fields could not be decoded.
    CompressionError = 0x9,
    /// The connection that a `CONNECT` asked for has failed.
    ConnectError = 0xa,
    /// The peer does too much of something.
    EnhanceYourCalm = 0xb,
    /// TLS is not as strong as it has to be.
    InadequateSecurity = 0xc,
    /// The request has to be made over HTTP/1.1.
    Http11Required = 0xd,
}

impl ErrorCode {
    const ALL: [ErrorCode; 14] = [
        ErrorCode::NoError,
        ErrorCode::ProtocolError,
        ErrorCode::InternalError,
        ErrorCode::FlowControlError,
        ErrorCode::SettingsTimeout,
        ErrorCode::StreamClosed,
        ErrorCode::FrameSizeError,
        ErrorCode::RefusedStream,
        ErrorCode::Cancel,
        ErrorCode::CompressionError,
        ErrorCode::ConnectError,
        ErrorCode::EnhanceYourCalm,
        ErrorCode::InadequateSecurity,
        ErrorCode::Http11Required,
    ];

    /// The code of a number; an unknown one is treated as an internal error (§7).
    pub fn of(number: u32) -> ErrorCode {
        ErrorCode::ALL.get(number as usize).copied().unwrap_or(ErrorCode::InternalError)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorCode::NoError => "NO_ERROR",
            ErrorCode::ProtocolError => "PROTOCOL_ERROR",
            ErrorCode::InternalError => "INTERNAL_ERROR",
            ErrorCode::FlowControlError => "FLOW_CONTROL_ERROR",
            ErrorCode::SettingsTimeout => "SETTINGS_TIMEOUT",
            ErrorCode::StreamClosed => "STREAM_CLOSED",
            ErrorCode::FrameSizeError => "FRAME_SIZE_ERROR",
            ErrorCode::RefusedStream => "REFUSED_STREAM",
            ErrorCode::Cancel => "CANCEL",
            ErrorCode::CompressionError => "COMPRESSION_ERROR",
            ErrorCode::ConnectError => "CONNECT_ERROR",
            ErrorCode::EnhanceYourCalm => "ENHANCE_YOUR_CALM",
            ErrorCode::InadequateSecurity => "INADEQUATE_SECURITY",
            ErrorCode::Http11Required => "HTTP_1_1_REQUIRED",
        })
    }
}

/// The rule of RFC 9113 or 7541 that the peer broke.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Http2Reason {
    /// A frame of a size that its kind does not have, or above the limit (§4.2).
    FrameSize,
    /// A frame where it may not be: on a stream that is not there, in the midst of a block (§5.1, §6).
    Frame,
    /// A frame on a stream that the peer has ended (§5.1).
    StreamClosed,
    /// More padding than there is room for (§6.1).
    Padding,
    /// A setting with a value that it may not have (§6.5.2).
    Setting,
    /// A block of fields that cannot be decoded (RFC 7541).
    Compression,
    /// More data than there was room for, or more room than there can be (§6.9).
    FlowControl,
    /// News of room that is none (§6.9).
    NoRoom,
    /// Frames that only make work, and many of them (§10.5).
    Flood,
    /// A head or trailer out of shape (§8.2, §8.3).
    Field,
    /// A body of another length than its head says (§8.1.1).
    ContentLength,
}

impl Http2Reason {
    /// The error code for the peer.
    pub fn code(self) -> ErrorCode {
        match self {
            Http2Reason::FrameSize => ErrorCode::FrameSizeError,
            Http2Reason::StreamClosed => ErrorCode::StreamClosed,
            Http2Reason::Frame
            | Http2Reason::Padding
            | Http2Reason::Setting
            | Http2Reason::NoRoom
            | Http2Reason::Field
            | Http2Reason::ContentLength => ErrorCode::ProtocolError,
            Http2Reason::Compression => ErrorCode::CompressionError,
            Http2Reason::FlowControl => ErrorCode::FlowControlError,
            Http2Reason::Flood => ErrorCode::EnhanceYourCalm,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Http2Reason::FrameSize => "a frame's size",
            Http2Reason::Frame => "a frame where it may not be",
            Http2Reason::StreamClosed => "a frame on a stream that is over",
            Http2Reason::Padding => "more padding than frame",
            Http2Reason::Setting => "a setting's value",
            Http2Reason::Compression => "a block of fields that cannot be decoded",
            Http2Reason::FlowControl => "flow control",
            Http2Reason::NoRoom => "more room by nothing",
            Http2Reason::Flood => "a flood of frames that only make work",
            Http2Reason::Field => "a field of a head",
            Http2Reason::ContentLength => "content-length",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard() {
        for (number, code) in (0..).zip(ErrorCode::ALL) {
            assert_eq!((ErrorCode::of(number), code as u32), (code, number));
        }
        assert_eq!(ErrorCode::of(14), ErrorCode::InternalError);
    }
}
