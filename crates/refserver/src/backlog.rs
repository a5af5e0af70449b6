//! The backlog of a socket: answers, and copies of broadcasts, in order.
//!
//! Copies of a large batch are kept once, however many clients are behind: each has its own place in the same
//! block. All of it is booked with [`Held`], blocks once.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::held::{Held, Share};

/// The size from which clients share a batch. A smaller one is copied for each client that is behind, so that
/// one send takes many of them.
const SHARED_BYTES_MIN: usize = 16 << 10;

/// The size up to which small pieces are gathered, so that the memory of sent bytes is freed soon.
const GATHERED_BYTES_MAX: usize = 64 << 10;

/// A batch that clients wait for.
struct Block {
    bytes: Box<[u8]>,
    _booked: Share,
}

/// A batch of broadcasts while one client after another gets it.
pub(crate) struct Batch<'a> {
    bytes: &'a [u8],
    /// The block, once a client has to wait for it.
    block: Option<Arc<Block>>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Batch<'a> {
        Batch { bytes, block: None }
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    fn block(&mut self, held: &Held) -> Arc<Block> {
        let block = self.block.get_or_insert_with(|| {
            let mut booked = held.share();
            booked.add(self.bytes.len());
            Arc::new(Block { bytes: self.bytes.into(), _booked: booked })
        });
        Arc::clone(block)
    }
}

enum Bytes {
    Own(Vec<u8>),
    Shared(Arc<Block>),
}

struct Piece {
    bytes: Bytes,
    is_copy: bool,
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Own(bytes) => bytes,
            Bytes::Shared(block) => &block.bytes,
        }
    }

    /// The memory of the piece in bytes, without the shared block.
    fn cost_bytes(&self) -> usize {
        let own_bytes = if let Bytes::Own(bytes) = &self.bytes { bytes.capacity() } else { 0 };
        size_of::<Piece>() + own_bytes
    }
}

/// The bytes that one socket has not taken yet.
pub(crate) struct Backlog {
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that are sent.
    sent_bytes: usize,
    unsent_bytes: usize,
    /// The bytes among the unsent ones that are copies of broadcasts.
    copies_bytes: usize,
    /// The bytes that the peer had not taken at the last note.
    left_bytes: usize,
    held: Held,
    booked: Share,
}

impl Backlog {
    pub(crate) fn new(held: &Held) -> Backlog {
        Backlog {
            pieces: VecDeque::new(),
            sent_bytes: 0,
            unsent_bytes: 0,
            copies_bytes: 0,
            left_bytes: usize::MAX,
            held: held.clone(),
            booked: held.share(),
        }
    }

    /// The number of bytes that have yet to be sent.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    /// Notes how many bytes the peer has not taken, `queued_bytes` of them in the socket, and returns whether
    /// they are fewer than at the last note.
    pub(crate) fn note_left(&mut self, queued_bytes: usize) -> bool {
        let left_bytes = self.unsent_bytes + queued_bytes;
        left_bytes < std::mem::replace(&mut self.left_bytes, left_bytes)
    }

    /// The bytes of broadcasts' copies behind the piece that is on its way.
    pub(crate) fn copies_behind_bytes(&self) -> usize {
        match self.pieces.front() {
            Some(first) if first.is_copy => self.copies_bytes - (first.bytes().len() - self.sent_bytes),
            _ => self.copies_bytes,
        }
    }

    /// Keeps the client's own answers.
    pub(crate) fn push_answer(&mut self, bytes: &[u8]) {
        self.push_own(bytes, false);
    }

    /// Keeps the part of a batch of broadcasts that has not been sent.
    pub(crate) fn push_copies(&mut self, batch: &mut Batch<'_>, sent_bytes: usize) {
        let rest = &batch.bytes()[sent_bytes..];
        if rest.len() < SHARED_BYTES_MIN {
            return self.push_own(rest, true);
        }
        let block = batch.block(&self.held);
        // Only the first piece can be sent in part; and only where there was none before has some of it been
        // sent.
        if self.pieces.is_empty() {
            // The block is shared and cannot lose its beginning: where to go on is this client's own.
            self.sent_bytes = sent_bytes;
        }
        // Behind other pieces, nothing of this one can have gone out.
        debug_assert!(sent_bytes == 0 || self.pieces.is_empty());
        self.unsent_bytes += rest.len();
        self.copies_bytes += rest.len();
        self.push(Piece { bytes: Bytes::Shared(block), is_copy: true });
    }

    fn push_own(&mut self, bytes: &[u8], is_copy: bool) {
        self.unsent_bytes += bytes.len();
        self.copies_bytes += if is_copy { bytes.len() } else { 0 };
        if let Some(last) = self.pieces.back_mut()
            && let Bytes::Own(gathered) = &mut last.bytes
            // Apart, as copies count against the bound for slow clients, and answers do not.
            && last.is_copy == is_copy
            && gathered.len() + bytes.len() <= GATHERED_BYTES_MAX
        {
            let before_bytes = gathered.capacity();
            gathered.extend_from_slice(bytes);
            let more_bytes = gathered.capacity() - before_bytes;
            return self.booked.add(more_bytes);
        }
        self.push(Piece { bytes: Bytes::Own(bytes.to_vec()), is_copy });
    }

    fn push(&mut self, piece: Piece) {
        self.booked.add(piece.cost_bytes());
        self.pieces.push_back(piece);
    }

    /// The bytes to send next, as far as they lie in one piece; empty if there is nothing left.
    pub(crate) fn next(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |first| &first.bytes()[self.sent_bytes..])
    }

    /// Removes this many bytes of [`next`](Backlog::next), which have been sent.
    pub(crate) fn advance(&mut self, bytes: usize) {
        let Some(first) = self.pieces.front() else { return };
        self.sent_bytes += bytes;
        self.unsent_bytes -= bytes;
        self.copies_bytes -= if first.is_copy { bytes } else { 0 };
        if self.sent_bytes == first.bytes().len() {
            let cost_bytes = first.cost_bytes();
            self.pieces.pop_front();
            self.sent_bytes = 0;
            // Only whole pieces give memory back: what is sent of one stays in it until its end.
            self.booked.take(cost_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH_BYTES: usize = 1 << 20;

    #[test]
    fn shared_frames_are_kept_once() {
        let held = Held::new(usize::MAX);
        let bytes = vec![7; BATCH_BYTES];
        let mut batch = Batch::new(&bytes);
        let mut backlogs: Vec<Backlog> = (0..100).map(|_| Backlog::new(&held)).collect();
        for (number, backlog) in backlogs.iter_mut().enumerate() {
            backlog.push_copies(&mut batch, number);
            assert_eq!(backlog.unsent_bytes(), BATCH_BYTES - number);
        }
        drop(batch);
        assert!((BATCH_BYTES..BATCH_BYTES + 100 * 100).contains(&held.bytes()), "{}", held.bytes());
        let mut last = backlogs.pop().unwrap();
        drop(backlogs);
        assert!(held.bytes() >= BATCH_BYTES, "somebody still waits for it");
        while !last.next().is_empty() {
            last.advance(last.next().len().min(1000));
        }
        assert_eq!((held.bytes(), last.unsent_bytes(), last.copies_behind_bytes()), (0, 0, 0));
    }

    #[test]
    fn pieces_come_out_in_order_and_are_freed() {
        let held = Held::new(usize::MAX);
        let mut backlog = Backlog::new(&held);
        let large: Vec<u8> = (0..100_000u32).map(|number| (number % 251) as u8).collect();
        backlog.push_copies(&mut Batch::new(&large), 10);
        backlog.push_answer(b"answer");
        backlog.push_copies(&mut Batch::new(b"small"), 0);
        backlog.push_copies(&mut Batch::new(b"ones"), 0);
        backlog.push_copies(&mut Batch::new(&large), 0);
        let expected = [&large[10..], b"answer", b"smallones", &large].concat();
        assert_eq!((backlog.unsent_bytes(), backlog.pieces.len()), (expected.len(), 4));
        let (mut got, mut before_bytes) = (Vec::new(), held.bytes());
        while !backlog.next().is_empty() {
            let part = backlog.next().len().min(777);
            got.extend_from_slice(&backlog.next()[..part]);
            backlog.advance(part);
            assert!(held.bytes() <= before_bytes);
            before_bytes = held.bytes();
        }
        assert!(got == expected);
        assert_eq!((held.bytes(), backlog.unsent_bytes()), (0, 0));
    }

    #[test]
    fn progress_counts_from_the_last_note() {
        let mut backlog = Backlog::new(&Held::new(usize::MAX));
        backlog.push_answer(&[1; 100]);
        assert!(backlog.note_left(1_000));
        assert!(!backlog.note_left(1_000));
        assert!(backlog.note_left(999), "the socket has fewer");
        backlog.advance(10);
        assert!(!backlog.note_left(1_009), "the socket has them");
    }

    #[test]
    fn answers_do_not_count_as_backlog() {
        let held = Held::new(usize::MAX);
        let mut backlog = Backlog::new(&held);
        backlog.push_answer(&[1; 100]);
        assert_eq!(backlog.copies_behind_bytes(), 0);
        backlog.push_copies(&mut Batch::new(&[2; 50_000]), 0);
        assert_eq!(backlog.copies_behind_bytes(), 50_000, "behind an answer");
        backlog.advance(100);
        assert_eq!(backlog.copies_behind_bytes(), 0, "on its way");
        backlog.push_copies(&mut Batch::new(&[3; 30]), 0);
        backlog.advance(10_000);
        assert_eq!((backlog.copies_behind_bytes(), backlog.unsent_bytes()), (30, 40_030));
        drop(backlog);
        assert_eq!(held.bytes(), 0);
    }
}
