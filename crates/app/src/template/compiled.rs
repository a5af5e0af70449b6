//! A template for sending: its literals in one piece, with room in it for what always takes as much.
//!
//! A message is then copied at once, and what varies put over it. Only what is of no fixed length has a
//! literal of its own behind it. The wall clock has nineteen digits from 2001 to 2286; at other times a
//! message is put together piece by piece.

use std::ops::Range;

use codec::json::extend_decimal;
use codec::stamp;

use super::filling::{Filling, Mark};
use super::pieces::{Piece, Template};
use crate::series::Spot;

/// Digits of the wall clock, and the times at which it has that many.
const UNIX_NS_DIGITS: usize = 19;
const UNIX_NS: Range<u64> = 1_000_000_000_000_000_000..10_000_000_000_000_000_000;

/// A template, laid out.
#[derive(Clone, Debug, Default)]
pub struct CompiledTemplate {
    segments: Vec<Segment>,
}

/// A literal with holes of fixed length in it, and what is behind it.
#[derive(Clone, Debug, Default)]
struct Segment {
    literal: Vec<u8>,
    fixed: Vec<(usize, Fixed)>,
    behind: Option<Piece>,
}

#[derive(Clone, Copy, Debug)]
enum Fixed {
    Id,
    IdBytes,
    UnixNs,
    UnixNsBytes,
}

impl Fixed {
    fn bytes(self) -> usize {
        match self {
            Fixed::Id => stamp::TEXT_BYTES,
            Fixed::IdBytes => stamp::BINARY_BYTES,
            Fixed::UnixNs => UNIX_NS_DIGITS,
            Fixed::UnixNsBytes => size_of::<u64>(),
        }
    }

    fn piece(self) -> Piece {
        match self {
            Fixed::Id => Piece::Id,
            Fixed::IdBytes => Piece::IdBytes,
            Fixed::UnixNs => Piece::UnixNs,
            Fixed::UnixNsBytes => Piece::UnixNsBytes,
        }
    }
}

impl From<&Template> for CompiledTemplate {
    fn from(template: &Template) -> CompiledTemplate {
        let (mut segments, mut open) = (Vec::new(), Segment::default());
        for piece in &template.pieces {
            let fixed = match piece {
                Piece::Text(text) => {
                    open.literal.extend_from_slice(text);
                    continue;
                }
                Piece::Id => Fixed::Id,
                Piece::IdBytes => Fixed::IdBytes,
                Piece::UnixNs => Fixed::UnixNs,
                Piece::UnixNsBytes => Fixed::UnixNsBytes,
                other => {
                    open.behind = Some(other.clone());
                    segments.push(std::mem::take(&mut open));
                    continue;
                }
            };
            open.fixed.push((open.literal.len(), fixed));
            // Room that is always written over: the whole literal is then one copy.
            open.literal.resize(open.literal.len() + fixed.bytes(), b'0');
        }
        segments.push(open);
        CompiledTemplate { segments }
    }
}

impl CompiledTemplate {
    /// The beginning of messages, up to the first hole.
    pub fn start(&self) -> &[u8] {
        let Some(Segment { literal, fixed, .. }) = self.segments.first() else { return b"" };
        &literal[..fixed.first().map_or(literal.len(), |&(at, _)| at)]
    }

    /// Number of bytes behind the id, if it is always the same: receivers look for the id there first.
    pub fn bytes_behind_id(&self) -> Option<usize> {
        // The last segment has no piece behind it: only a piece closes one, and `from` pushes what is open
        // at the end.
        let Segment { literal, fixed, .. } = self.segments.last()?;
        match fixed.last() {
            Some(&(at, Fixed::Id)) => Some(literal.len() - at - Fixed::Id.bytes()),
            _ => None,
        }
    }

    /// The place of the id, if nothing else tells messages apart that are sent at the same time (they are
    /// then a series), and how many bytes each takes.
    pub fn spot(&self) -> Option<(Spot, usize)> {
        let [Segment { literal, fixed, behind: None }] = &self.segments[..] else { return None };
        let mut ids = fixed.iter().filter(|(_, hole)| matches!(hole, Fixed::Id | Fixed::IdBytes));
        // With a second id in it, two places would differ, and a series knows of one.
        match (ids.next(), ids.next()) {
            (Some(&(at, form)), None) => {
                Some((Spot { at, is_text: matches!(form, Fixed::Id) }, literal.len()))
            }
            _ => None,
        }
    }

    /// Returns whether a message that shows this wall clock is as it is laid out.
    #[inline]
    pub fn fits(&self, unix_ns: u64) -> bool {
        UNIX_NS.contains(&unix_ns)
    }

    /// Appends the message; `number` is what the protocol calls it by.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, filling: &Filling<'_>, number: u64) {
        if !self.fits(filling.mark.unix_ns) {
            return self.write_piecewise(out, filling, number);
        }
        for Segment { literal, fixed, behind } in &self.segments {
            let start = out.len();
            out.extend_from_slice(literal);
            let room = &mut out[start..];
            for &(at, hole) in fixed {
                let Mark { stamp, unix_ns } = filling.mark;
                match hole {
                    Fixed::Id => stamp.write_text(at_start(&mut room[at..])),
                    Fixed::IdBytes => stamp.write_binary(at_start(&mut room[at..])),
                    Fixed::UnixNs => {
                        // Formatting with `{}` would cost more than the rest of the message.
                        let mut digits = itoa::Buffer::new();
                        *at_start(&mut room[at..]) = *digits
                            .format(unix_ns)
                            .as_bytes()
                            .first_chunk::<UNIX_NS_DIGITS>()
                            .expect("so many digits at these times");
                    }
                    Fixed::UnixNsBytes => *at_start(&mut room[at..]) = unix_ns.to_be_bytes(),
                }
            }
            match behind {
                None => {}
                Some(Piece::Number) => extend_decimal(out, number),
                Some(piece) => piece.write(out, filling, number),
            }
        }
    }

    #[cold]
    fn write_piecewise(&self, out: &mut Vec<u8>, filling: &Filling<'_>, number: u64) {
        for Segment { literal, fixed, behind } in &self.segments {
            let mut from = 0;
            for &(at, hole) in fixed {
                out.extend_from_slice(&literal[from..at]);
                hole.piece().write(out, filling, number);
                from = at + hole.bytes();
            }
            out.extend_from_slice(&literal[from..]);
            if let Some(piece) = behind {
                piece.write(out, filling, number);
            }
        }
    }
}

#[inline(always)]
fn at_start<const BYTES: usize>(room: &mut [u8]) -> &mut [u8; BYTES] {
    room.first_chunk_mut().expect("the literal has room for its holes")
}
