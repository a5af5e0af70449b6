//! WebSockets through the proxy: bytes are passed on as they are, and copies of them read.

use std::time::Duration;

use codec::Limits;
use codec::ws::frame::{Accepts, Opcode};
use codec::ws::reader::{Item, Reader};
use codec::ws::{End, mask};
use har::Direction;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

use crate::session::{Place, Session};
use crate::trouble::Trouble;

/// Bytes read at once.
const PORTION_BYTES: usize = 16 << 10;
/// Time for the other side's last words when one side is gone.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Records the messages of one direction of a WebSocket from the bytes that pass.
struct FrameRecorder {
    session: Session,
    place: Place,
    direction: Direction,
    reader: Option<Reader>,
    /// True once a close frame has passed.
    is_closed: bool,
}

impl FrameRecorder {
    fn new(session: &Session, place: Place, direction: Direction) -> FrameRecorder {
        let session = session.clone();
        FrameRecorder { session, place, direction, reader: Some(Reader::default()), is_closed: false }
    }

    /// Reads a portion. Frames that break the protocol are the app's affair, and end the recording of this
    /// direction alone.
    fn handle(&mut self, mut bytes: &[u8]) {
        let Some(reader) = &mut self.reader else { return };
        // The end that would read it: frames of clients are masked.
        let end = if self.direction == Direction::Send { End::Server } else { End::Client };
        let accepts = Accepts { end, deflate: false };
        loop {
            match reader.next(&Limits::default(), accepts, &mut bytes) {
                Ok(Some(Item::Message { message_type, payload, .. })) => {
                    let mut plain = Vec::new();
                    mask::extend(&mut plain, payload.bytes, payload.key, 0);
                    self.session.hear(self.place, self.direction, message_type, &plain);
                }
                Ok(Some(Item::Control(opcode, _))) => self.is_closed |= opcode == Opcode::Close,
                Ok(None) => return,
                Err(_) => {
                    self.session.note(Trouble::BadFrames);
                    self.reader = None;
                    return;
                }
            }
        }
    }
}

/// Passes bytes on until both sides have ended.
pub(crate) async fn relay(client: Upgraded, server: Upgraded, session: Session, place: Place) {
    let (client_reads, client_writes) = split(TokioIo::new(client));
    let (server_reads, server_writes) = split(TokioIo::new(server));
    let mut sent = FrameRecorder::new(&session, place, Direction::Send);
    let mut received = FrameRecorder::new(&session, place, Direction::Receive);
    let is_lost = {
        let up = pass(client_reads, server_writes, &mut sent);
        let down = pass(server_reads, client_writes, &mut received);
        tokio::pin!(up, down);
        let (is_up, ended) = tokio::select! {
            ended = &mut up => (true, ended),
            ended = &mut down => (false, ended),
        };
        let _ = match is_up {
            true => tokio::time::timeout(LAST_WORDS, down).await,
            false => tokio::time::timeout(LAST_WORDS, up).await,
        };
        // A client that is gone is no loss of the server's: each side reads in one direction and writes in the other.
        ended == if is_up { Ended::Sink } else { Ended::Source }
    };
    if is_lost && !received.is_closed && !sent.is_closed {
        session.note(Trouble::SocketLost);
    }
}

/// The side by which a direction ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The side that is read from sends no more.
    Source,
    /// The side that is written to takes no more.
    Sink,
}

/// Passes one direction on until it ends.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    recorder: &mut FrameRecorder,
) -> Ended {
    let mut portion = vec![0; PORTION_BYTES];
    loop {
        match from.read(&mut portion).await {
            Ok(read) if read > 0 => {
                recorder.handle(&portion[..read]);
                if to.write_all(&portion[..read]).await.is_err() {
                    return Ended::Sink;
                }
            }
            _ => {
                // The other side is told; whether it still hears that is its affair.
                let _ = to.shutdown().await;
                return Ended::Source;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_in_portions() {
        let session = Session::default();
        let place = session.begin_plain(har::Entry::default());
        let mut recorder = FrameRecorder::new(&session, place, Direction::Send);
        // "Hello", masked (RFC 6455 §5.7), in two parts; then a close frame.
        let bytes =
            [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58, 0x88, 0x80, 1, 2, 3, 4];
        for chunk in bytes.chunks(3) {
            recorder.handle(chunk);
        }
        let frames = session.outline().remove(0).messages.unwrap();
        assert_eq!((frames.len(), &*frames[0].data, frames[0].opcode), (1, "Hello", 1));
        assert!(recorder.is_closed);
    }

    #[test]
    fn broken_frames_end_the_recording_alone() {
        let session = Session::default();
        let place = session.begin_plain(har::Entry::default());
        let mut recorder = FrameRecorder::new(&session, place, Direction::Receive);
        recorder.handle(&[0xf1, 0x00]);
        recorder.handle(&[0x81, 0x01, b'a']);
        assert_eq!(session.troubles().keys().collect::<Vec<_>>(), [&Trouble::BadFrames]);
        assert_eq!(session.outline()[0].messages, None);
    }
}
