//! The results file of a run that grows: steps that have ended are appended, and not written again.

use std::io;
use std::path::{Path, PathBuf};

use net::files::{self, Readers};
use results::Run;
use results::file::{self, Frame};

/// A results file, and the part of the run that is in it.
#[derive(Debug)]
pub(crate) struct ResultsFile {
    path: PathBuf,
    /// `None` until it is there, and after it could not be written.
    written: Option<Written>,
}

#[derive(Clone, Copy, Debug)]
struct Written {
    steps: usize,
    /// Offset at which the last of these ends.
    steps_end: u64,
    length: u64,
}

impl ResultsFile {
    /// A file that is not there yet, or holds something else.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, written: None }
    }

    /// The file's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Brings it up to date with the run, whose earlier steps are as they were.
    ///
    /// # Errors
    /// It could not be written: it is as it was before.
    pub(crate) fn keep(&mut self, run: &Run) -> io::Result<()> {
        let frame = Frame::of(run);
        // Taken: if neither this nor writing it anew succeeds, the next step does not trust the offsets.
        let grown = self.written.take().and_then(|written| self.grow(written, run, &frame).ok());
        self.written = Some(match grown {
            Some(grown) => grown,
            // Also if it was removed, or written to by another process.
            None => self.write(run, &frame)?,
        });
        Ok(())
    }

    fn grow(&self, written: Written, run: &Run, frame: &Frame) -> io::Result<Written> {
        let steps = file::write_steps_behind(run, written.steps);
        let end = [steps.as_str(), &frame.end(run.steps.len())].concat();
        files::replace_end(&self.path, written.steps_end, written.length, end.as_bytes())?;
        let steps_end = written.steps_end + steps.len() as u64;
        Ok(Written { steps: run.steps.len(), steps_end, length: written.steps_end + end.len() as u64 })
    }

    fn write(&self, run: &Run, frame: &Frame) -> io::Result<Written> {
        let end = frame.end(run.steps.len());
        let text = [frame.head.as_str(), &file::write_steps_behind(run, 0), &end].concat();
        files::replace(&self.path, &text, Readers::Owner)?;
        let length = text.len() as u64;
        Ok(Written { steps: run.steps.len(), steps_end: length - end.len() as u64, length })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use results::Step;

    use super::*;

    fn keep(file: &mut ResultsFile, run: &Run) {
        file.keep(run).unwrap();
        assert_eq!(fs::read_to_string(file.path()).unwrap(), file::write(run));
    }

    #[test]
    fn it_is_whole_after_every_step() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = ResultsFile::new(folder.path().join("run.json"));
        let mut run = Run::default();
        keep(&mut file, &run);
        for clients in 1..=3 {
            run.steps.push(Step { clients, ..Step::default() });
            run.resume_after = Some(clients as u32);
            keep(&mut file, &run);
        }
        run.resume_after = None;
        keep(&mut file, &run);
        // It was removed, or written to by another process.
        fs::remove_file(file.path()).unwrap();
        keep(&mut file, &run);
        fs::write(file.path(), "mine").unwrap();
        keep(&mut file, &run);
    }

    #[test]
    fn unwritable_files_are_written_whole_later() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        let mut file = ResultsFile::new(out.join("run.json"));
        let mut run = Run { steps: vec![Step::default()], ..Run::default() };
        keep(&mut file, &run);
        fs::rename(&out, folder.path().join("gone")).unwrap();
        run.steps.push(Step::default());
        file.keep(&run).unwrap_err();
        fs::create_dir(&out).unwrap();
        run.steps.push(Step::default());
        keep(&mut file, &run);
    }
}
