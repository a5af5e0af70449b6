//! The log's thread, and what its owner learns of it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use engine::events::Batch;

use super::write::{Header, Writer};
use crate::error::EventsError;

/// The most batches that wait: 40 MB.
const QUEUE_BATCHES: usize = 256;

/// Totals of the events so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// In the file, or on their way to it.
    pub written: u64,
    /// Given up, because the queue was full or the file could not be written.
    pub lost: u64,
    /// The size of the file, once it is finished.
    pub bytes: u64,
    /// Why no more is written.
    pub failure: Option<String>,
}

/// A log that is being written.
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
    queue: SyncSender<Batch>,
    totals: Arc<Mutex<Totals>>,
    thread: JoinHandle<()>,
}

/// The file of a log that has not begun: it holds what it has held.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
}

impl LogFile {
    /// Opens it, or makes it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(path: &Path) -> Result<Self, EventsError> {
        let file = net::private::open(path).map_err(|error| EventsError::Io { path: path.into(), error })?;
        Ok(Self { path: path.into(), file })
    }
}

impl EventLog {
    /// Begins the log in the place of what the file held, and starts the thread.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(LogFile { path, file }: LogFile, header: &Header) -> Result<Self, EventsError> {
        let cannot = |error| EventsError::Io { path: path.clone(), error };
        let writer = Writer::new(file, header).map_err(cannot)?;
        let (queue, batches) = mpsc::sync_channel(QUEUE_BATCHES);
        let totals = Arc::new(Mutex::new(Totals::default()));
        let shared = Arc::clone(&totals);
        let work = move || write_all(writer, &batches, &shared);
        let thread = thread::Builder::new().name("event-log".into()).spawn(work).map_err(cannot)?;
        Ok(Self { path, queue, totals, thread })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The queue of batches.
    pub fn queue(&self) -> SyncSender<Batch> {
        self.queue.clone()
    }

    /// Waits until everything queued so far has been taken care of.
    pub fn flush(&self) -> Totals {
        let (pool, back) = mpsc::channel();
        // A batch that comes back has been taken care of, and so has all before it.
        if self.queue.send(Batch { pool: Some(pool), ..Batch::default() }).is_ok() {
            let _ = back.recv();
        }
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the file. All other owners of the [`queue`](Self::queue) must be gone, or this waits for them.
    pub fn finish(self) -> Totals {
        let Self { queue, totals, thread, .. } = self;
        drop(queue);
        if thread.join().is_err() {
            totals.lock().unwrap_or_else(PoisonError::into_inner).failure = Some("its thread broke".into());
        }
        totals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn write_all(mut writer: Writer, batches: &Receiver<Batch>, totals: &Mutex<Totals>) {
    let mut lost = 0;
    let mut failure: Option<String> = None;
    let mut seen = 0;
    let publish = |writer: &Writer, lost: u64, failure: &Option<String>, bytes: u64| {
        // After an error, the rows of the group that did not fit are gone.
        let written = if failure.is_some() { writer.written } else { writer.written + writer.pending() };
        *totals.lock().unwrap_or_else(PoisonError::into_inner) =
            Totals { written, lost, bytes, failure: failure.clone() };
    };
    for batch in batches {
        lost += batch.lost;
        seen += batch.entries.len() as u64;
        if failure.is_none() {
            failure = writer.add(&batch).err().map(|error| error.to_string());
        }
        let unwritten = failure.as_ref().map_or(0, |_| seen - writer.written);
        publish(&writer, lost + unwritten, &failure, 0);
        // Also when it could not be written: whoever filled it uses the buffer again.
        batch.recycle();
    }
    let finished = writer.finish();
    let bytes = finished.as_ref().copied().unwrap_or(0);
    if failure.is_none() {
        failure = finished.err().map(|error| error.to_string());
    }
    let unwritten = failure.as_ref().map_or(0, |_| seen - writer.written);
    publish(&writer, lost + unwritten, &failure, bytes);
}
