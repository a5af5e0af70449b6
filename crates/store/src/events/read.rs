//! Reading a log, group by group.

use std::cell::Cell;
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use super::columns;
use super::write::{SCHEMA, SCHEMA_KEY};
use crate::error::EventsError;

/// The first bytes of a file of Parquet ("File Format").
const MAGIC: [u8; 4] = *b"PAR1";
/// The most rows of a group: throng writes a quarter of that. A small file can claim billions, all alike.
const GROUP_ROWS_MAX: i64 = 1 << 20;

/// One event as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// When, since the start of the run.
    pub time_ns: i64,
    /// The kind of the event.
    pub kind: String,
    /// The step of the results, from 1; absent in a warm-up.
    pub step: Option<i32>,
    /// The client it happened to, from 0.
    pub client: i32,
    /// The client that sent the message.
    pub sender: Option<i32>,
    /// The message's number: with step and sender it is unique.
    pub message: Option<i32>,
    /// The latency, whose beginning and end depend on the kind.
    pub latency_ns: Option<i64>,
    /// Bytes of the message: on the wire if it was sent, of its payload if it was received.
    pub bytes: Option<i32>,
    /// The name of the error, or the reason of a close.
    pub detail: Option<String>,
}

/// Reads a log and hands on its rows in their order, until `on_row` says stop by returning false.
///
/// # Errors
/// The file cannot be read, is cut short or damaged, or is not an event log of this version.
pub fn read(path: &Path, mut on_row: impl FnMut(EventRow) -> bool) -> std::result::Result<(), EventsError> {
    let damaged = |error: ParquetError| trouble(path, error);
    let foreign = |why: String| EventsError::Foreign { path: path.into(), why };
    let could_not = |error| EventsError::Io { path: path.into(), error };
    let file = net::files::open(path).map_err(could_not)?;
    let mut magic = [0; MAGIC.len()];
    let begin = file.read_at(&mut magic, 0).map_err(could_not)?;
    // Of a log that is being written, even these bytes may be on their way.
    if magic[..begin] != MAGIC[..begin] {
        return Err(foreign("it does not begin as Parquet does".into()));
    }
    let reader = sound(|| SerializedFileReader::new(file)).map_err(damaged)?;
    let file_metadata = reader.metadata().file_metadata();
    let version = file_metadata
        .key_value_metadata()
        .and_then(|entries| entries.iter().find(|entry| entry.key == SCHEMA_KEY)?.value.clone());
    match version {
        // Both: the file may say one thing of itself and be another.
        Some(version) if version == SCHEMA && file_metadata.schema() == columns::schema().as_ref() => {}
        Some(version) => return Err(foreign(format!("its schema is {version}, this one knows {SCHEMA}"))),
        None => return Err(foreign(format!("its metadata has no {SCHEMA_KEY}"))),
    }
    for number in 0..reader.num_row_groups() {
        let read = || reader.get_row_group(number).and_then(|group| Group::read(group.as_ref()));
        let group = sound(read).map_err(damaged)?;
        if !group.into_rows().all(&mut on_row) {
            return Ok(());
        }
    }
    Ok(())
}

/// Turns an error into that of a log. What the system says of reading it, as of a directory, says nothing of
/// what it holds.
fn trouble(path: &Path, error: ParquetError) -> EventsError {
    let why = error.to_string();
    let cause =
        if let ParquetError::External(cause) = error { cause.downcast::<io::Error>().ok() } else { None };
    match cause.filter(|error| error.raw_os_error().is_some()) {
        Some(error) => EventsError::Io { path: path.into(), error: *error },
        None => EventsError::Damaged { path: path.into(), why },
    }
}

thread_local! {
    /// Set while this thread reads what may be damaged.
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Reads, and catches panics: the library panics over some damaged files: that is an error of the file, and
/// not said as one of ours.
fn sound<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_READING.get() {
                told(info);
            }
        }));
    });
    IS_READING.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(read));
    IS_READING.set(false);
    outcome.unwrap_or_else(|_| Err(ParquetError::General("what it says of itself contradicts itself".into())))
}

/// The columns of a group.
struct Group {
    time_ns: Vec<Option<i64>>,
    kind: Vec<Option<ByteArray>>,
    step: Vec<Option<i32>>,
    client: Vec<Option<i32>>,
    sender: Vec<Option<i32>>,
    message: Vec<Option<i32>>,
    latency_ns: Vec<Option<i64>>,
    bytes: Vec<Option<i32>>,
    detail: Vec<Option<ByteArray>>,
}

impl Group {
    fn read(group: &dyn RowGroupReader) -> Result<Self> {
        let rows = group.metadata().num_rows();
        if rows > GROUP_ROWS_MAX {
            return Err(ParquetError::General(format!(
                "a group has {rows} rows, of {GROUP_ROWS_MAX} at most"
            )));
        }
        Ok(Group {
            time_ns: column::<Int64Type>(group, 0)?,
            kind: column::<ByteArrayType>(group, 1)?,
            step: column::<Int32Type>(group, 2)?,
            client: column::<Int32Type>(group, 3)?,
            sender: column::<Int32Type>(group, 4)?,
            message: column::<Int32Type>(group, 5)?,
            latency_ns: column::<Int64Type>(group, 6)?,
            bytes: column::<Int32Type>(group, 7)?,
            detail: column::<ByteArrayType>(group, 8)?,
        })
    }

    fn into_rows(self) -> impl Iterator<Item = EventRow> {
        // A log may come from anywhere, and goes to a terminal.
        let text = |bytes: &ByteArray| {
            String::from_utf8_lossy(bytes.data()).chars().filter(|c| stats::is_shown(*c)).collect::<String>()
        };
        (0..self.time_ns.len()).map(move |row| EventRow {
            time_ns: self.time_ns[row].unwrap_or_default(),
            kind: self.kind[row].as_ref().map(text).unwrap_or_default(),
            step: self.step[row],
            client: self.client[row].unwrap_or_default(),
            sender: self.sender[row],
            message: self.message[row],
            latency_ns: self.latency_ns[row],
            bytes: self.bytes[row],
            detail: self.detail[row].as_ref().map(text),
        })
    }
}

/// A whole column, with `None` where there is no value.
fn column<T: DataType>(group: &dyn RowGroupReader, number: usize) -> Result<Vec<Option<T::T>>>
where
    T::T: Clone,
{
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let is_optional = group.metadata().column(number).column_descr().max_def_level() > 0;
    let mut reader = parquet::column::reader::get_typed_column_reader::<T>(group.get_column_reader(number)?);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (records, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if records != rows {
        return Err(ParquetError::EOF(format!("column {number} has {records} of {rows} rows")));
    }
    if !is_optional {
        return match values.len() == rows {
            true => Ok(values.into_iter().map(Some).collect()),
            false => Err(ParquetError::EOF(format!("column {number} has {} of {rows} values", values.len()))),
        };
    }
    let mut values = values.into_iter();
    let all: Vec<_> = levels.iter().map(|&level| if level > 0 { values.next() } else { None }).collect();
    match all.len() == rows {
        true => Ok(all),
        false => Err(ParquetError::EOF(format!("column {number} has {} of {rows} rows", all.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{EventLog, Header, LogFile};
    use engine::events::{Batch, Entry, Kind};

    /// A log with something in every column.
    fn log(path: &Path) {
        let log = EventLog::begin(LogFile::open(path).unwrap(), &Header::default()).unwrap();
        let entry = |k: u32| Entry::new(Kind::Receive, u64::from(k), k).latency(7).message(k, k).bytes(9);
        let names = vec!["reset".to_owned()];
        let batch = Batch { entries: (0..500).map(entry).collect(), names, ..Batch::default() };
        log.queue().send(batch).unwrap();
        assert_eq!(log.finish().written, 500);
    }

    #[test]
    fn other_files_are_told_from_unended_logs() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{}").unwrap();
        assert!(matches!(read(file.path(), |_| true), Err(EventsError::Foreign { .. })));
        let log = EventLog::begin(LogFile::open(file.path()).unwrap(), &Header::default()).unwrap();
        assert!(matches!(read(file.path(), |_| true), Err(EventsError::Damaged { .. })));
        log.finish();
        assert!(read(file.path(), |_| true).is_ok());
    }

    #[test]
    fn damaged_logs_are_errors() {
        let file = tempfile::NamedTempFile::new().unwrap();
        log(file.path());
        let whole = std::fs::read(file.path()).unwrap();
        let (mut rng, mut damaged) = (fastrand::Rng::with_seed(5), 0);
        for _ in 0..1_000 {
            let mut bytes = whole.clone();
            for _ in 0..rng.usize(1..6) {
                let at = rng.usize(..bytes.len());
                bytes[at] = rng.u8(..);
            }
            std::fs::write(file.path(), &bytes).unwrap();
            let mut rows = 0;
            let count = |_: EventRow| {
                rows += 1;
                true
            };
            damaged += u32::from(read(file.path(), count).is_err());
            assert!(rows <= 500);
        }
        assert!(damaged > 300, "{damaged}");
    }
}
