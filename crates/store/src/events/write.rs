//! The file, one group of rows after the other.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use engine::events::Batch;
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, KeyValue, ParquetMetaDataBuilder, ParquetMetaDataWriter};
use parquet::file::writer::SerializedFileWriter;

use super::columns::{self, Columns};

/// Rows of a group: some 3 MB in the file, 20 MB in memory.
const GROUP_ROWS: usize = 1 << 18;

/// The version of the columns, in the file's metadata.
pub(crate) const SCHEMA: &str = "1";
pub(crate) const SCHEMA_KEY: &str = "throng.events.schema";

/// The file's facts of its run.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// The run's id.
    pub run: String,
    /// When it started, by the wall clock: times in the log count from here.
    pub started_unix_ns: u64,
    /// The command line, with spaces between its words.
    pub command: String,
}

/// A log while it is written.
pub(crate) struct Writer {
    /// Taken when the disk is full, or something else is wrong with it.
    parquet: Option<SerializedFileWriter<BufWriter<File>>>,
    file: File,
    /// The file's metadata of its run.
    key_values: Vec<KeyValue>,
    /// The end of the last whole group.
    whole_bytes: u64,
    columns: Columns,
    /// Rows in whole groups; none where the file could get no footer, without which nobody can read them.
    pub(crate) written: u64,
}

impl Writer {
    /// Writes to the file from its start, and from it alone.
    pub(crate) fn new(file: File, header: &Header) -> io::Result<Self> {
        net::private::empty(&file)?;
        let buffered = BufWriter::with_capacity(1 << 16, file.try_clone()?);
        let mut parquet =
            SerializedFileWriter::new(buffered, columns::schema(), columns::properties().into())
                .map_err(io_error)?;
        let entries = [
            (SCHEMA_KEY, SCHEMA.to_owned()),
            ("throng.run", header.run.clone()),
            ("throng.started_unix_ns", header.started_unix_ns.to_string()),
            ("throng.command", header.command.clone()),
        ];
        let key_values: Vec<KeyValue> =
            entries.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
        for entry in &key_values {
            parquet.append_key_value_metadata(entry.clone());
        }
        // A disk that is full already is told of at once.
        parquet.flush()?;
        let whole_bytes = parquet.bytes_written() as u64;
        let columns = Columns::default();
        Ok(Self { parquet: Some(parquet), file, key_values, whole_bytes, columns, written: 0 })
    }

    /// Rows that are in no whole group yet.
    pub(crate) fn pending(&self) -> u64 {
        self.columns.len() as u64
    }

    /// Adds a batch. After an error the file is whole, with what had been written, and takes no more.
    pub(crate) fn add(&mut self, batch: &Batch) -> io::Result<()> {
        self.columns.add(batch);
        if self.columns.len() >= GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> io::Result<()> {
        let Some(parquet) = &mut self.parquet else { return Ok(()) };
        let rows = self.columns.len() as u64;
        let mut write = || {
            let mut group = parquet.next_row_group()?;
            self.columns.write(&mut group)?;
            group.close()?;
            // Else an error would show with a later group, when this one counts as written.
            parquet.flush().map_err(ParquetError::from)
        };
        match write() {
            Ok(()) => {
                self.whole_bytes = parquet.bytes_written() as u64;
                self.written += rows;
                Ok(())
            }
            Err(error) => {
                self.salvage().inspect_err(|_| self.written = 0)?;
                Err(io_error(error))
            }
        }
    }

    /// Cuts off the group that did not fit, and ends the file in good order: that needs less room than the group had.
    fn salvage(&mut self) -> io::Result<()> {
        let Some(parquet) = self.parquet.take() else { return Ok(()) };
        let groups = parquet.flushed_row_groups();
        let whole = groups.iter().scan(0, |rows, group| {
            *rows += group.num_rows() as u64;
            Some((*rows, group))
        });
        let groups =
            // The library counts a group that is closed, be it only in part on the disk.
            whole.take_while(|(rows, _)| *rows <= self.written).map(|(_, group)| group.clone()).collect();
        let schema = parquet.schema_descr().clone();
        let created_by = Some(parquet.properties().created_by().to_owned());
        let metadata = FileMetaData::new(
            parquet.properties().writer_version().as_num(),
            self.written as i64,
            created_by,
            Some(self.key_values.clone()),
            schema.into(),
            None,
        );
        // What is still in its buffer belongs to what is cut off next.
        drop(parquet);
        self.file.set_len(self.whole_bytes)?;
        self.file.seek(SeekFrom::Start(self.whole_bytes))?;
        let metadata = ParquetMetaDataBuilder::new(metadata).set_row_groups(groups).build();
        ParquetMetaDataWriter::new(&mut self.file, &metadata).finish().map_err(io_error)?;
        self.file.flush()
    }

    /// Writes the last group and the footer; the size of the file.
    pub(crate) fn finish(&mut self) -> io::Result<u64> {
        if self.columns.len() > 0 {
            self.write_group()?;
        }
        if let Some(parquet) = self.parquet.take() {
            let footer = parquet.into_inner().map_err(io_error).and_then(|file| Ok(file.into_inner()?));
            footer.inspect_err(|_| self.written = 0)?;
        }
        Ok(self.file.metadata()?.len())
    }
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
