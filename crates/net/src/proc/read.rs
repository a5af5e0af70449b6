//! The small files of `/proc/<pid>`, each read at once into one buffer.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};

use rustix::io::Errno;

/// The most bytes that are read of a file: the largest, `status`, has about 1.5 KB.
const FILE_BYTES_MAX: usize = 8192;

pub(super) struct Reader {
    buffer: Box<[u8; FILE_BYTES_MAX]>,
}

/// The fields of `/proc/<pid>/stat` that are used (proc_pid_stat(5)); times in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) parent: u32,
    pub(super) user_ticks: u64,
    pub(super) system_ticks: u64,
    pub(super) children_user_ticks: u64,
    pub(super) children_system_ticks: u64,
    pub(super) start_ticks: u64,
}

impl Reader {
    pub(super) fn new() -> Reader {
        Reader { buffer: Box::new([0; FILE_BYTES_MAX]) }
    }

    /// Reads a process's `stat`; `None` for a process that has ended, and for a zombie.
    pub(super) fn stat(&mut self, pid: u32) -> io::Result<Option<Stat>> {
        Ok(self.text(&format!("/proc/{pid}/stat"))?.and_then(|text| parse_stat(&text)))
    }

    /// A process, its name as the kernel has it (15 bytes at most), and whether it is the kernel's own.
    pub(super) fn program(&mut self, pid: u32) -> Option<(String, bool, Stat)> {
        let text = self.text(&format!("/proc/{pid}/stat")).ok()??;
        Some((parse_name(&text)?.to_owned(), is_kernel(&text)?, parse_stat(&text)?))
    }

    pub(super) fn thread_stat(&mut self, pid: u32, tid: u32) -> Option<Stat> {
        parse_stat(&self.text(&format!("/proc/{pid}/task/{tid}/stat")).ok()??)
    }

    /// Time on a CPU and time waiting for one, nanoseconds.
    pub(super) fn schedstat(&mut self, pid: u32, tid: u32) -> io::Result<Option<(u64, u64)>> {
        Ok(self.text(&format!("/proc/{pid}/task/{tid}/schedstat"))?.and_then(|text| first_two(&text)))
    }

    /// Voluntary and involuntary context switches.
    pub(super) fn switches(&mut self, pid: u32, tid: u32) -> io::Result<Option<(u64, u64)>> {
        Ok(self.text(&format!("/proc/{pid}/task/{tid}/status"))?.and_then(|text| parse_switches(&text)))
    }

    pub(super) fn name(&mut self, pid: u32, tid: u32) -> Option<String> {
        Some(self.text(&format!("/proc/{pid}/task/{tid}/comm")).ok()??.trim_end().to_owned())
    }

    /// The largest resident memory that the process has had, in bytes, and the size of its table of
    /// descriptors, which never shrinks.
    pub(super) fn past(&mut self, pid: u32) -> Option<(u64, u64)> {
        parse_past(&self.text(&format!("/proc/{pid}/status")).ok()??)
    }

    /// Resident pages, and the number of them that belong to a file or are shared (proc_pid_statm(5)). `stat`
    /// has the resident pages too, but lags behind by up to 64 pages for each CPU.
    pub(super) fn resident_pages(&mut self, pid: u32) -> io::Result<Option<(u64, u64)>> {
        let text = self.text(&format!("/proc/{pid}/statm"))?;
        Ok(text.and_then(|text| first_two(text.split_once(' ')?.1)))
    }

    /// The number of open descriptors. Linux 6.2 and later give it as the directory's size; earlier kernels
    /// have the descriptors counted.
    pub(super) fn fds(&self, pid: u32) -> Option<u32> {
        let path = format!("/proc/{pid}/fd");
        match fs::metadata(&path).ok()?.len() {
            0 => Some(fs::read_dir(&path).ok()?.count() as u32),
            size => Some(size as u32),
        }
    }

    /// The text of a file of a process; `None` if there is no such process, or this one may not read the
    /// file.
    fn text(&mut self, path: &str) -> io::Result<Option<Cow<'_, str>>> {
        match File::open(path).and_then(|mut file| file.read(&mut self.buffer[..])) {
            // The kernel cuts a name after 15 bytes, be it in the midst of a letter.
            Ok(read) => Ok(Some(String::from_utf8_lossy(&self.buffer[..read]))),
            Err(error) if is_of_process(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether an error of reading a process's file is caused by that process. This process having no
/// descriptors left, for example, is not.
pub(super) fn is_of_process(error: &io::Error) -> bool {
    let of_process = [Errno::NOENT, Errno::SRCH, Errno::ACCESS, Errno::PERM];
    Errno::from_io_error(error).is_some_and(|errno| of_process.contains(&errno))
}

fn first_two(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.split_ascii_whitespace();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Parses `stat`. The name, the second field, may hold anything, also spaces and parentheses: the fields
/// after it are counted from the last `)`. Zombies count as ended.
fn parse_stat(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
    let state = *fields.first()?;
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    (state != "Z" && state != "X").then_some(Stat {
        parent: field(4)? as u32,
        user_ticks: field(14)?,
        system_ticks: field(15)?,
        children_user_ticks: field(16)?,
        children_system_ticks: field(17)?,
        start_ticks: field(22)?,
    })
}

fn parse_name(text: &str) -> Option<&str> {
    text.get(text.find('(')? + 1..text.rfind(')')?)
}

/// Returns whether the ninth field's flags contain `PF_KTHREAD` (include/linux/sched.h).
fn is_kernel(text: &str) -> Option<bool> {
    let flags: u64 = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().nth(6)?.parse().ok()?;
    Some(flags & 0x0020_0000 != 0)
}

fn parse_past(status: &str) -> Option<(u64, u64)> {
    let field = |key| status.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next();
    let kib: u64 = field("VmHWM:")?.parse().ok()?;
    Some((1024 * kib, field("FDSize:")?.parse().ok()?))
}

fn parse_switches(status: &str) -> Option<(u64, u64)> {
    let field = |key| status.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok();
    Some((field("voluntary_ctxt_switches:")?, field("nonvoluntary_ctxt_switches:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "77 (a) (b c) S 12 77 77 0 -1 4194304 9 8 7 6 101 102 103 104 20 0 3 0 555 1000 42 0 0";

    #[test]
    fn counts_the_fields_after_any_name() {
        let stat = parse_stat(LINE).unwrap();
        let times =
            (stat.user_ticks, stat.system_ticks, stat.children_user_ticks, stat.children_system_ticks);
        assert_eq!((stat.parent, times), (12, (101, 102, 103, 104)));
        assert_eq!(stat.start_ticks, 555);
        assert_eq!((parse_name(LINE), is_kernel(LINE)), (Some("a) (b c"), Some(false)));
        assert_eq!(is_kernel("2 (kthreadd) S 0 0 0 0 -1 2129984 0"), Some(true));
    }

    #[test]
    fn zombies_and_torn_lines_are_nothing() {
        assert_eq!(parse_stat(&LINE.replace(" S ", " Z ")), None);
        for end in 0..LINE.find(" 555").expect("the last that is read") {
            assert_eq!(parse_stat(&LINE[..end]), None, "{end}");
        }
    }

    #[test]
    fn exhausted_files_are_no_ended_process() {
        let is = |errno: Errno| is_of_process(&errno.into());
        assert!(is(Errno::NOENT) && is(Errno::SRCH) && is(Errno::ACCESS));
        assert!(!is(Errno::MFILE) && !is(Errno::NFILE) && !is(Errno::NOMEM));
        let mut reader = Reader::new();
        assert_eq!(reader.text("/proc/self/no_such_file").unwrap(), None);
        assert!(reader.text("/proc/self").is_err(), "what cannot be read for a reason of its own");
    }

    #[test]
    fn names_that_are_no_text_are_read() {
        // Twenty bytes, of which the fifteenth is the first of a letter's two.
        let named = std::thread::Builder::new().name("серверчата".into());
        let read = || Reader::new().text("/proc/thread-self/stat").unwrap().map(Cow::into_owned);
        let text = named.spawn(read).unwrap().join().unwrap().expect("it has one");
        assert_eq!((parse_name(&text), parse_stat(&text).is_some()), (Some("серверч\u{fffd}"), true));
    }

    #[test]
    fn reads_what_has_been() {
        let status = "Name:\tx\nFDSize:\t1024\nVmHWM:\t   13608 kB\nVmRSS:\t   900 kB\n";
        assert_eq!(parse_past(status), Some((13_608 * 1024, 1024)));
        assert_eq!(parse_past("FDSize:\t256\n"), None, "a kernel thread has no memory");
    }

    #[test]
    fn reads_switches() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t5\n";
        assert_eq!(parse_switches(status), Some((150, 5)));
        assert_eq!(parse_switches("Name:\tx\n"), None);
    }
}
