//! Several servers as one, over NATS: what one of them broadcasts goes to all.
//!
//! ```text
//! server ⇄ socket ⇄ Cluster ⇄ throng.cluster.NAME ⇄ Cluster ⇄ socket ⇄ server
//! ```
//!
//! A server says and hears messages on a socket: a length of four bytes, little-endian, and that many bytes,
//! whatever they mean. Rules. Neither side waits: a server that does not read, and a NATS that does not take
//! what it is given, lose messages, which are counted. While NATS is away, nothing is sent; the connection
//! comes back by itself. No message comes back to the cluster's end that published it, or comes twice: NATS
//! does not echo, and delivers at most once.

mod parts;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_nats::Subscriber;
use futures_util::StreamExt;
use net::socket::{Socket, pair};
use tokio::net::UnixStream;
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use crate::fleet::bus::{Bus, runtime};
use crate::fleet::{Error, Nats, name};
use parts::{Joiner, MESSAGE_BYTES_MAX, Splitter};

/// How often the connection is checked.
const TICK: Duration = Duration::from_millis(200);
/// Most messages of our servers that wait to be published; beyond it, the servers' own queues fill.
const WAITING_MAX: usize = 64;
/// Most bytes that wait for one of our servers.
const QUEUED_BYTES_MAX: usize = 64 << 20;
/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;
const LENGTH_BYTES: usize = 4;

/// Our end of a cluster. Dropped, it leaves.
pub struct Cluster {
    leave: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Lost>>,
}

/// Messages that did not get through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Messages of our servers that NATS did not take.
    pub unsent: u64,
    /// Parts of messages from other servers that never came.
    pub unheard: u64,
    /// Messages of other servers that our servers did not take.
    pub undelivered: u64,
}

impl Cluster {
    /// Joins the cluster of that name with this many servers, which are to be given the sockets. `say` gets
    /// notices about the connection.
    ///
    /// # Errors
    /// NATS cannot be reached at first; the name is none; no sockets or threads.
    pub fn join(
        nats: &Nats,
        cluster: &str,
        servers: usize,
        say: impl Fn(&str) + Send + 'static,
    ) -> Result<(Cluster, Vec<Socket>), Error> {
        let subject = format!("throng.cluster.{}", name(cluster).map_err(Error::Start)?);
        let pairs: io::Result<Vec<_>> = (0..servers).map(|_| pair()).collect();
        let (ours, theirs): (Vec<_>, Vec<_>) = pairs.map_err(could_not_start)?.into_iter().unzip();
        let (leave, left) = oneshot::channel();
        let (started, outcome) = std::sync::mpsc::channel();
        let nats = nats.clone();
        let work = move || {
            let begun = runtime().and_then(|runtime| {
                let bridge = runtime.block_on(Bridge::begin(&nats, subject, ours))?;
                Ok((runtime, bridge))
            });
            match begun {
                Ok((runtime, (bridge, heard))) => {
                    let _ = started.send(Ok(()));
                    runtime.block_on(bridge.run(heard, left, &say))
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                    Lost::default()
                }
            }
        };
        let thread = thread::Builder::new().name("cluster".into()).spawn(work).map_err(could_not_start)?;
        outcome.recv().expect("the thread says how it began")?;
        Ok((Cluster { leave: Some(leave), thread: Some(thread) }, theirs))
    }

    /// Leaves the cluster, and returns what was lost.
    pub fn leave(mut self) -> Lost {
        self.end()
    }

    fn end(&mut self) -> Lost {
        self.leave = None;
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end();
    }
}

fn could_not_start(error: io::Error) -> Error {
    Error::Start(error.to_string())
}

/// The thread's side.
struct Bridge {
    bus: Bus,
    subject: String,
    splitter: Splitter,
    joiner: Joiner,
    said: Receiver<Vec<u8>>,
    servers: Vec<Outbox>,
    lost: Lost,
}

/// The way to one of our servers.
struct Outbox {
    queue: UnboundedSender<Arc<[u8]>>,
    queued_bytes: Arc<AtomicUsize>,
}

impl Bridge {
    async fn begin(nats: &Nats, subject: String, sockets: Vec<Socket>) -> Result<(Self, Subscriber), Error> {
        let bus = Bus::connect(nats).await?;
        let heard = bus.subscribe(subject.clone()).await?;
        let (saying, said) = mpsc::channel(WAITING_MAX);
        let serve = |socket: Socket| Outbox::open(&socket, saying.clone()).map_err(could_not_start);
        let servers = sockets.into_iter().map(serve).collect::<Result<_, _>>()?;
        let splitter = Splitter::new(fastrand::u64(..));
        let (joiner, lost) = (Joiner::default(), Lost::default());
        Ok((Self { bus, subject, splitter, joiner, said, servers, lost }, heard))
    }

    async fn run(
        mut self,
        mut heard: Subscriber,
        mut left: oneshot::Receiver<()>,
        say: &dyn Fn(&str),
    ) -> Lost {
        let (mut ticks, mut was_connected) = (tokio::time::interval(TICK), true);
        loop {
            tokio::select! {
                _ = &mut left => break,
                Some(message) = self.said.recv() => self.publish(&message).await,
                Some(part) = heard.next() => self.handle_part(&part.payload),
                _ = ticks.tick() => {}
            }
            let is_connected = self.bus.is_connected();
            if is_connected != was_connected {
                say(if is_connected {
                    "back in the cluster"
                } else {
                    "lost NATS: broadcasts stay with this server until it is back"
                });
                was_connected = is_connected;
            }
        }
        Lost { unheard: self.joiner.lost, ..self.lost }
    }

    async fn publish(&mut self, message: &[u8]) {
        // While NATS is away the client library queues, and then waits; but servers must not wait for the
        // cluster.
        let mut is_taken = self.bus.is_connected();
        if is_taken {
            for part in self.splitter.split(message, self.bus.payload_bytes_max()) {
                is_taken &= self.bus.publish(&self.subject, part).await;
            }
        }
        self.lost.unsent += u64::from(!is_taken);
    }

    fn handle_part(&mut self, part: &[u8]) {
        let Some(message) = self.joiner.handle(part) else { return };
        let length = (message.len() as u32).to_le_bytes();
        let message: Arc<[u8]> = [&length[..], &message].concat().into();
        // All servers share one copy of the bytes.
        let refused = self.servers.iter().filter(|server| !server.put(&message)).count();
        self.lost.undelivered += refused as u64;
    }
}

impl Outbox {
    /// Starts to read from a server's socket and to write to it.
    fn open(socket: &Socket, saying: Sender<Vec<u8>>) -> io::Result<Self> {
        let fd: OwnedFd = socket.as_fd().try_clone_to_owned()?;
        let stream = Arc::new(UnixStream::from_std(fd.into())?);
        let (queue, queued) = mpsc::unbounded_channel();
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        tokio::spawn(read(Arc::clone(&stream), saying));
        tokio::spawn(write(stream, queued, Arc::clone(&queued_bytes)));
        Ok(Self { queue, queued_bytes })
    }

    /// Queues a message. Returns false if the server is too far behind, or gone.
    fn put(&self, message: &Arc<[u8]>) -> bool {
        let queued = self.queued_bytes.load(Ordering::Relaxed);
        // One server that does not read must not fill the memory of all.
        if queued + message.len() > QUEUED_BYTES_MAX {
            return false;
        }
        self.queued_bytes.fetch_add(message.len(), Ordering::Relaxed);
        self.queue.send(Arc::clone(message)).is_ok()
    }
}

/// Hands on the messages of a server, until it ends.
async fn read(stream: Arc<UnixStream>, saying: Sender<Vec<u8>>) {
    let (mut buffer, mut partial) = (vec![0; READ_BYTES], Vec::new());
    loop {
        match stream.try_read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => partial.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if stream.readable().await.is_err() {
                    return;
                }
            }
            Err(_) => return,
        }
        let mut rest = &partial[..];
        while let Some((message, behind)) = split(rest) {
            // A bounded queue: while NATS is slow, reading stops, and the server's own limits on its socket
            // apply.
            let is_one = (1..=MESSAGE_BYTES_MAX).contains(&message.len());
            if is_one && saying.send(message.to_vec()).await.is_err() {
                return;
            }
            rest = behind;
        }
        let done = partial.len() - rest.len();
        partial.drain(..done);
    }
}

/// The first message, and what is behind it; `None` while it is incomplete.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// Writes what is queued for a server, until the server is gone.
async fn write(
    stream: Arc<UnixStream>,
    mut queued: UnboundedReceiver<Arc<[u8]>>,
    queued_bytes: Arc<AtomicUsize>,
) {
    while let Some(message) = queued.recv().await {
        let mut written = 0;
        while written < message.len() {
            match stream.try_write(&message[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if stream.writable().await.is_err() {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
        queued_bytes.fetch_sub(message.len(), Ordering::Relaxed);
    }
}
