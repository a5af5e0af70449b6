//! The mark throng plants in every message and finds again in every copy, without parsing the message.
//!
//! Two forms of the same fields, each with a check, so that a flipped bit is noticed:
//!
//! ```text
//! binary, 28 bytes:  "thRg"     lag u24  worker u16  client u24  intended_ns u64  seq u32  check u32   (big endian)
//! text,   55 bytes:  "throng-"  the same 24 bytes as lowercase hex
//! ```
//!
//! The text form is made of letters, digits and one '-', so it survives JSON in JSON, percent-encoding and
//! anything else a dialect does to a string. A stamp is recognised by its magic and by its check: when only
//! the magic holds, and digits are behind it, or the check behind the larger part of a magic, the message was
//! ours and has been damaged.
//!
//! The check also says which run the message is of: all its bits are flipped by the run's 16 bits, twice
//! over. A reader that knows no run gets it from the halves, which agree in a sound stamp; a flipped bit
//! makes them differ.

mod hex;
mod lag;

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use lag::LAG_BITS;
pub use lag::{LAG_UNIT_NS, Lag};

/// The sender of a message, its number, and its intended send time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stamp {
    /// The run that it was sent in: 0 where that is of no interest.
    pub run: u16,
    /// The worker whose client sent it.
    pub worker: u16,
    /// The sender's index within its worker: 24 bits.
    pub client: u32,
    /// The sender's count of messages.
    pub seq: u32,
    /// The intended send time, nanoseconds on the run's clock.
    pub intended_ns: u64,
    /// The delay after which the message was really sent.
    pub lag: Lag,
}

const CLIENT_BITS: u32 = 24;

/// The result of a search for a stamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// There is no trace of a stamp: the message is not throng's.
    None,
    /// A stamp was here, but its bytes have changed.
    Corrupt,
    /// A sound stamp.
    At {
        /// The stamp.
        stamp: Stamp,
        /// The stamp's offset in the searched bytes.
        offset: usize,
    },
}

impl Found {
    /// Gives this finding, or, where there was no trace, the stamp that is known by other means.
    #[inline]
    pub fn or(self, known: Option<Stamp>) -> Found {
        match (self, known) {
            (Found::None, Some(stamp)) => Found::At { stamp, offset: 0 },
            (found, _) => found,
        }
    }
}

/// Bytes of the binary form.
pub const BINARY_BYTES: usize = BINARY_MAGIC.len() + FIELD_BYTES;
/// Bytes of the text form.
pub const TEXT_BYTES: usize = TEXT_MAGIC.len() + HEX_BYTES;

/// The bit of a worker's number that is set in stamps of announcements.
const ANNOUNCES: u16 = 1 << 15;

const BINARY_MAGIC: [u8; 4] = *b"thRg";
const TEXT_MAGIC: [u8; 7] = *b"throng-";
/// The place in the binary form of the bytes that differ within a series: the number, and the check
/// behind it.
pub const BINARY_NUMBER: Range<usize> = BINARY_BYTES - NUMBER_BYTES..BINARY_BYTES;
/// The same place in the text form.
pub const TEXT_NUMBER: Range<usize> = TEXT_BYTES - 2 * NUMBER_BYTES..TEXT_BYTES;

const NUMBER_BYTES: usize = size_of::<u64>();
const FIELD_BYTES: usize = 24;
const HEX_BYTES: usize = 2 * FIELD_BYTES;
/// Digits of one of its three words: of two, damage in one place leaves one whole.
const WORD_BYTES: usize = HEX_BYTES / 3;

impl Stamp {
    /// The mark of a message that was due at `intended_ns` and is sent at `sent_ns`, in run 0.
    #[inline]
    pub fn new(worker: u16, client: u32, seq: u32, intended_ns: u64, sent_ns: u64) -> Stamp {
        debug_assert!(client < 1 << CLIENT_BITS, "client {client}");
        Stamp { run: 0, worker, client, seq, intended_ns, lag: Lag::NONE }.sent_at(sent_ns)
    }

    /// Sets the number of the run.
    #[inline]
    pub fn of_run(self, run: u16) -> Stamp {
        Stamp { run, ..self }
    }

    /// Sets the time of sending.
    #[inline]
    pub fn sent_at(self, sent_ns: u64) -> Stamp {
        Stamp { lag: Lag::of_ns(sent_ns.saturating_sub(self.intended_ns)), ..self }
    }

    /// Marks the stamp as one of a client that is announced to the others in a room it joins, and not of a
    /// message. No run has enough workers for the two to be confused.
    #[inline]
    pub fn announcing(self) -> Stamp {
        Stamp { worker: self.worker | ANNOUNCES, ..self }
    }

    /// The worker's own stamp of a client that is announced; `None` if this is a message's.
    #[inline]
    pub fn announced(self) -> Option<Stamp> {
        let worker = self.worker & !ANNOUNCES;
        (worker != self.worker).then_some(Stamp { worker, ..self })
    }

    /// The stamp of the sender's message that comes `messages` later, and was due and sent at the same time.
    #[inline]
    pub fn after(self, messages: u32) -> Stamp {
        Stamp { seq: self.seq.wrapping_add(messages), ..self }
    }

    /// When the message was really sent, as exactly as a [`Lag`] says it and never too late: the same for
    /// every holder of the stamp.
    #[inline]
    pub fn sent_ns(self) -> u64 {
        self.intended_ns.saturating_add(self.lag.ns())
    }

    /// The binary form.
    #[inline]
    pub fn to_binary(self) -> [u8; BINARY_BYTES] {
        let mut bytes = [0; BINARY_BYTES];
        self.write_binary(&mut bytes);
        bytes
    }

    /// Puts the binary form where it goes: bytes that are copied as soon as they are written are waited for.
    #[inline(always)]
    pub fn write_binary(&self, bytes: &mut [u8; BINARY_BYTES]) {
        let (magic, fields) = bytes.split_at_mut(BINARY_MAGIC.len());
        magic.copy_from_slice(&BINARY_MAGIC);
        for (chunk, word) in fields.chunks_exact_mut(8).zip(self.words()) {
            chunk.copy_from_slice(&word.to_be_bytes());
        }
    }

    /// The text form.
    #[inline]
    pub fn to_text(self) -> [u8; TEXT_BYTES] {
        let mut text = [0; TEXT_BYTES];
        self.write_text(&mut text);
        text
    }

    /// Writes the stamp in text form.
    #[inline(always)]
    pub fn write_text(&self, text: &mut [u8; TEXT_BYTES]) {
        let (magic, digits) = text.split_at_mut(TEXT_MAGIC.len());
        magic.copy_from_slice(&TEXT_MAGIC);
        for (digits, word) in digits.as_chunks_mut().0.iter_mut().zip(self.words()) {
            hex::write(word, digits);
        }
    }

    #[inline(always)]
    fn words(&self) -> [u64; 3] {
        let sender = u64::from(self.lag.bits()) << (u64::BITS - LAG_BITS)
            | u64::from(self.worker) << CLIENT_BITS
            | u64::from(self.client);
        [sender, self.intended_ns, Numbers::of(sender, self.intended_ns, self.run).number(self.seq)]
    }

    /// The numbers that tell the stamps of its series apart.
    #[inline]
    pub fn numbers(&self) -> Numbers {
        let [sender, intended_ns, _] = self.words();
        Numbers::of(sender, intended_ns, self.run)
    }

    /// The fields, and whether the check among them holds.
    #[inline(always)]
    fn from_words([sender, intended_ns, tail]: [u64; 3]) -> (Stamp, bool) {
        let seq = (tail >> 32) as u32;
        let run_twice = (Numbers::of(sender, intended_ns, 0).number(seq) ^ tail) as u32;
        let stamp = Stamp {
            run: run_twice as u16,
            lag: Lag::from_bits((sender >> (u64::BITS - LAG_BITS)) as u32),
            worker: (sender >> CLIENT_BITS) as u16,
            client: sender as u32 & ((1 << CLIENT_BITS) - 1),
            seq,
            intended_ns,
        };
        (stamp, run_twice.rotate_left(u16::BITS) == run_twice)
    }
}

/// The last words of the stamps that were due and sent at the same time: each is a number, and a check of the
/// whole stamp.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    mixed: u64,
    run_twice: u32,
}

impl Numbers {
    #[inline(always)]
    fn of(sender: u64, intended_ns: u64, run: u16) -> Numbers {
        // 2^64 over the golden ratio, as in SplitMix64. `mix(0)` is 0: without it, 24 bytes of zeros (or 48
        // digits of them, which padding may hold) would be a sound body.
        let mixed = mix(mix(intended_ns ^ 0x9e37_79b9_7f4a_7c15) ^ sender);
        Numbers { mixed, run_twice: u32::from(run) << u16::BITS | u32::from(run) }
    }

    /// The word of the message of this number.
    #[inline(always)]
    fn number(self, seq: u32) -> u64 {
        u64::from(seq) << 32 | (mix(self.mixed ^ u64::from(seq)) >> 32 ^ u64::from(self.run_twice))
    }

    /// Gives the number in binary form.
    #[inline(always)]
    pub fn binary(self, seq: u32) -> [u8; NUMBER_BYTES] {
        self.number(seq).to_be_bytes()
    }

    /// Gives the number in text form.
    #[inline(always)]
    pub fn text(self, seq: u32) -> [u8; 2 * NUMBER_BYTES] {
        let mut digits = [0; 2 * NUMBER_BYTES];
        hex::write(self.number(seq), &mut digits);
        digits
    }
}

/// A step of a mix in which every step is a bijection of the bits so far: no single damaged field goes
/// unnoticed before the check is cut to 32 bits. After it, one in 2^32 passes for sound, and one in 2^16 for
/// another run's.
#[inline(always)]
fn mix(x: u64) -> u64 {
    // degski's multiplier: odd, so that the product loses nothing, and each bit of `x` changes about half
    // of those above it.
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 29)
}

static MAGIC: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(&TEXT_MAGIC));

/// Finds a stamp in text form anywhere in `bytes`.
#[inline(always)]
pub fn find(bytes: &[u8]) -> Found {
    let mut damaged = false;
    let mut from = 0;
    while let Some(at) = MAGIC.find(&bytes[from..]) {
        let offset = from + at;
        if let Some(stamp) = read_text(&bytes[offset..]) {
            return Found::At { stamp, offset };
        }
        // A damaged stamp does not hide a sound one behind it.
        from = offset + TEXT_MAGIC.len();
        damaged |= is_of_stamp(&bytes[from..]);
    }
    if damaged || has_bare_body(bytes) { Found::Corrupt } else { Found::None }
}

/// Returns whether what follows a magic was a stamp's body: a word of it is whole, or it is cut off with the
/// message. Rooms and users have such names, too, though hardly with as many digits.
#[cold]
fn is_of_stamp(behind: &[u8]) -> bool {
    let body = &behind[..behind.len().min(HEX_BYTES)];
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_cut_off = body.len() < HEX_BYTES && body.len() >= WORD_BYTES / 2 && body.iter().all(is_digit);
    is_cut_off || body.split(|byte| !is_digit(byte)).any(|digits| digits.len() >= WORD_BYTES)
}

/// Returns whether a magic stands anywhere beside the stamp at `offset`. Too few bytes for another stamp are
/// not searched.
#[inline]
pub fn has_others(bytes: &[u8], offset: usize) -> bool {
    let holds_magic = |part: &[u8]| part.len() >= TEXT_BYTES && MAGIC.find(part).is_some();
    bytes.get(offset + TEXT_BYTES..).is_some_and(holds_magic) || bytes.get(..offset).is_some_and(holds_magic)
}

/// All sound stamps in text form in `bytes`.
#[inline]
pub fn all(bytes: &[u8]) -> impl Iterator<Item = Stamp> {
    MAGIC.find_iter(bytes).filter_map(|offset| read_text(&bytes[offset..]))
}

/// Finds a stamp as [`find`] does, but looks first where `behind` bytes follow it, as they usually do.
#[inline(always)]
pub fn find_before(bytes: &[u8], behind: usize) -> Found {
    if let Some(offset) = bytes.len().checked_sub(behind + TEXT_BYTES)
        && let Some(stamp) = read_text(&bytes[offset..])
    {
        return Found::At { stamp, offset };
    }
    find(bytes)
}

/// How long the stamp is that these bytes start with, by the letter in which the magics of its forms differ.
#[inline(always)]
pub fn bytes_at(stamp: &[u8]) -> usize {
    if stamp[2] == TEXT_MAGIC[2] { TEXT_BYTES } else { BINARY_BYTES }
}

/// Reads a sound stamp in text form at the very start of `bytes`.
#[inline(always)]
pub fn read_text(bytes: &[u8]) -> Option<Stamp> {
    bytes.strip_prefix(&TEXT_MAGIC)?.first_chunk().and_then(read_hex)
}

/// Reads a stamp in binary form at the very start of `bytes`.
#[inline(always)]
pub fn read_binary(bytes: &[u8]) -> Found {
    let Some(bytes) = bytes.first_chunk::<BINARY_BYTES>() else { return Found::None };
    let has_magic = bytes.first_chunk() == Some(&BINARY_MAGIC);
    let word = |at: usize| u64::from_be_bytes(*bytes[at..].first_chunk().expect("in range"));
    match (has_magic, Stamp::from_words([word(4), word(12), word(20)])) {
        (true, (stamp, true)) => Found::At { stamp, offset: 0 },
        (false, (_, true)) if !is_mostly(&BINARY_MAGIC, bytes) => Found::None,
        (false, (_, false)) => Found::None,
        _ => Found::Corrupt,
    }
}

/// The stamp whose fields these digits are, if they are digits and the check holds.
#[inline(always)]
fn read_hex(digits: &[u8; HEX_BYTES]) -> Option<Stamp> {
    let mut words = [0; 3];
    for (word, digits) in words.iter_mut().zip(digits.as_chunks().0) {
        *word = hex::read(digits)?;
    }
    let (stamp, sound) = Stamp::from_words(words);
    sound.then_some(stamp)
}

/// Returns whether the larger part of a magic stands in its place before a body: a check alone holds for one
/// in 2^16 of any bytes, which may be some other run's.
fn is_mostly(magic: &[u8], there: &[u8]) -> bool {
    let same = magic.iter().zip(there).filter(|(byte, there)| byte == there).count();
    2 * same > magic.len()
}

/// Returns whether a sound body stands somewhere behind a damaged magic. Off the fast path: only for messages
/// with no magic. The last character of a damaged magic may itself look like a digit, hence the second try.
fn has_bare_body(bytes: &[u8]) -> bool {
    let is_behind_magic = |at: usize| {
        // The start of the magic may be cut off.
        let magic = &TEXT_MAGIC[TEXT_MAGIC.len().saturating_sub(at)..];
        is_mostly(magic, &bytes[at - magic.len()..])
    };
    let sound = |at: usize| bytes[at..].first_chunk().and_then(read_hex).is_some() && is_behind_magic(at);
    let mut at = 0;
    while at + HEX_BYTES <= bytes.len() {
        let run = bytes[at..].iter().take_while(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')).count();
        if run >= HEX_BYTES && (sound(at) || sound(at + 1)) {
            return true;
        }
        at += run + 1;
    }
    false
}

/// The deterministic filler after a stamp: `1234567890` over and over, so that damage to it shows.
#[inline]
pub fn padding(bytes: usize) -> impl Iterator<Item = u8> {
    b"1234567890".iter().copied().cycle().take(bytes)
}

#[cfg(test)]
mod tests;
