//! The system calls that rustix does not cover, each behind a safe function.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::epoll;
use rustix::process::Pid;

/// True if standard output was closed when the process began.
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// An entry of the section whose functions run before Rust's runtime (System V ABI, "Initialization and
/// Termination Functions").
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look_at_stdout;

extern "C" fn look_at_stdout() {
    // SAFETY: F_GETFD has no argument, and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// See [`pipe::stdout_was_closed`](crate::pipe::stdout_was_closed).
pub(crate) fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

/// The size of a buffer for the one control message that a stamped socket delivers, with room for another
/// option's.
const CONTROL_BYTES: usize = 64;

/// `IP_BIND_ADDRESS_NO_PORT`, valid for IPv6 sockets too (Linux 4.2).
pub(crate) fn set_bind_address_no_port(fd: BorrowedFd<'_>) -> io::Result<()> {
    set_int_option(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

/// `SO_TIMESTAMPNS`.
pub(crate) fn enable_timestamps(fd: BorrowedFd<'_>) -> io::Result<()> {
    set_int_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// `SO_ATTACH_FILTER` with a filter that lets nothing in (socket(7)).
pub(crate) fn drop_input(fd: BorrowedFd<'_>) -> io::Result<()> {
    /// `BPF_RET | BPF_K`: accept a number of bytes of the packet.
    const RETURN: u16 = 0x06;
    let mut nothing = libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
    // SAFETY: the program and its one instruction outlive the call, which copies both.
    let rc = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    check(rc as isize).map(drop)
}

/// `epoll_wait` without waiting: puts what is ready into the spare capacity of `events`, up to all of it.
pub(crate) fn epoll_ready(fd: BorrowedFd<'_>, events: &mut Vec<epoll::Event>) -> io::Result<()> {
    const { assert!(size_of::<epoll::Event>() == size_of::<libc::epoll_event>()) };
    let (filled, spare) = (events.len(), events.capacity() - events.len());
    let end = events.spare_capacity_mut().as_mut_ptr();
    // SAFETY: the kernel writes at most `spare` events from `end` on, where there is room for them, in the
    // layout that both libraries take from it.
    let rc = unsafe { libc::epoll_wait(fd.as_raw_fd(), end.cast(), spare as libc::c_int, 0) };
    let ready = check(rc as isize)?;
    // SAFETY: the kernel has written `ready` events behind the `filled` ones.
    unsafe { events.set_len(filled + ready as usize) };
    Ok(())
}

/// `SIOCOUTQ`: bytes sent that the peer's kernel has not acknowledged (tcp(7)).
pub(crate) fn unacknowledged_bytes(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the call writes one int, to `bytes`, which outlives it.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) } as isize)?;
    Ok(bytes as u32)
}

/// `TCP_INFO`: milliseconds since the last byte was sent for the first time (tcp(7)).
pub(crate) fn silent_for_ms(fd: BorrowedFd<'_>) -> io::Result<u32> {
    tcp_info(fd).map(|info| info.tcpi_last_data_sent)
}

/// `TCP_INFO`: milliseconds since the last bytes came in.
pub(crate) fn heard_before_ms(fd: BorrowedFd<'_>) -> io::Result<u32> {
    tcp_info(fd).map(|info| info.tcpi_last_data_recv)
}

fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<libc::tcp_info> {
    // SAFETY: tcp_info is plain data, for which zeroes are a valid value.
    let mut info: libc::tcp_info = unsafe { zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, to `info`, and both outlive the call.
    let rc = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    check(rc as isize)?;
    Ok(info)
}

fn set_int_option(fd: BorrowedFd<'_>, level: i32, name: i32, value: libc::c_int) -> io::Result<()> {
    // SAFETY: `value` outlives the call, and its size is the size given.
    let rc = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    check(rc as isize).map(drop)
}

/// `recvmsg` with the `SCM_TIMESTAMPNS` control message: bytes read, and their time in realtime nanoseconds.
pub(crate) fn recv_stamped(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    #[repr(align(8))] // the alignment of cmsghdr
    struct Control([u8; CONTROL_BYTES]);
    let mut control = Control([0; CONTROL_BYTES]);
    let mut iov = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: msghdr is plain data, for which zeroes are a valid value.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut iov;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: the message points to `iov`, `buffer` and `control`, which outlive the call, with their true
    // sizes.
    let read = check(unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) })? as usize;
    // SAFETY: the kernel has filled `control` and set its length; CMSG_FIRSTHDR and CMSG_NXTHDR stay within
    // it, and a message of this type carries a timespec, read unaligned.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_TIMESTAMPNS {
                let time = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                return Ok((read, Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)));
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok((read, None))
}

/// Takes over a descriptor that was left open for this process, and has it closed on exec. Every descriptor
/// that this process opens itself is closed on exec, so one that is not belongs to nothing yet.
pub(crate) fn inherited_fd(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: fcntl on a number that is no descriptor fails and does nothing else.
    let flags = check(unsafe { libc::fcntl(number, libc::F_GETFD) } as isize)?;
    if number <= libc::STDERR_FILENO || flags & libc::FD_CLOEXEC as isize != 0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("descriptor {number} was not inherited"),
        ));
    }
    // SAFETY: as above.
    check(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } as isize)?;
    // SAFETY: the descriptor is open, and no other owner exists: it is not one of the standard ones, and all
    // that this process opened or took over already are closed on exec.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Has all descriptors but the standard ones closed in what this process executes (close_range(2)).
pub(crate) fn close_on_exec() -> io::Result<()> {
    let first = libc::STDERR_FILENO + 1;
    let flag = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: with this flag nothing is closed, so that every owner keeps an open descriptor.
    let rc = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flag) };
    match check(rc as isize) {
        // A kernel before Linux 5.11, or a container that does not know the call.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL | libc::EPERM)) => {
            let open = std::fs::read_dir("/proc/self/fd")?;
            let numbers = open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            for number in numbers.filter(|number| *number >= first) {
                // SAFETY: as above. One that is closed meanwhile is nothing to inherit.
                unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
            }
            Ok(())
        }
        closed => closed.map(drop),
    }
}

/// Gives the calling process an empty session keyring, which it passes on (keyctl(2)).
pub(crate) fn join_new_keyring() -> io::Result<()> {
    // SAFETY: no name is given, so that the kernel reads no memory.
    let rc = unsafe {
        libc::syscall(libc::SYS_keyctl, libc::KEYCTL_JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>())
    };
    check(rc as isize).map(drop)
}

/// Runs `handler` on `signal`; system calls that it interrupts are restarted where they can be.
/// The handler must do only what is async-signal-safe.
pub(crate) fn install_handler(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> io::Result<()> {
    // SAFETY: sigaction is plain data, for which zeroes (no flags, empty mask) are a valid value.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is initialised and outlives the call; the handler has the type that sa_flags without
    // SA_SIGINFO asks for.
    check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } as isize).map(drop)
}

/// Returns whether `signal` is ignored, as the program that started this one may have arranged.
pub(crate) fn is_ignored(signal: libc::c_int) -> io::Result<bool> {
    // SAFETY: sigaction is plain data, for which zeroes are a valid value.
    let mut action: libc::sigaction = unsafe { zeroed() };
    // SAFETY: the call writes `action`, which outlives it, and changes nothing.
    check(unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) } as isize)?;
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

/// Calls `prepare` in the child between fork and exec. It must do only what is async-signal-safe.
pub(crate) fn before_exec(
    command: &mut Command,
    prepare: impl Fn() -> io::Result<()> + Send + Sync + 'static,
) -> &mut Command {
    // SAFETY: the `prepare` of all callers makes system calls and takes no lock. (Its one allocation is for
    // an error that ends the child.)
    unsafe { command.pre_exec(prepare) }
}

/// Gives the calling process namespaces of its own, and its children one of processes (unshare(2)).
pub(crate) fn unshare(namespaces: libc::c_int) -> io::Result<()> {
    // SAFETY: no memory is touched; a process with several threads is refused a user namespace.
    check(unsafe { libc::unshare(namespaces) } as isize).map(drop)
}

/// Forks the calling process, which must have one thread only: the child's number, and nothing in the child.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: without other threads no lock is held that no thread of the child could release, so that it may
    // do what its parent may.
    check(unsafe { libc::fork() } as isize).map(|pid| Pid::from_raw(pid as i32))
}

/// Mounts a `/proc` of the calling process's PID namespace over the one that is there.
pub(crate) fn mount_proc() -> io::Result<()> {
    let flags = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(None, Path::new("/proc"), Some(c"proc"), flags)
}

/// Mounts an empty file system in memory over a folder, in which every user may write.
pub(crate) fn mount_memory(folder: &Path) -> io::Result<()> {
    // Its mode is 1777, like that of every tmpfs that is given none (tmpfs(5)).
    mount(None, folder, Some(c"tmpfs"), libc::MS_NOSUID | libc::MS_NODEV)
}

/// Keeps what is mounted from now on to this mount namespace.
pub(crate) fn make_mounts_private() -> io::Result<()> {
    mount(None, Path::new("/"), None, libc::MS_REC | libc::MS_PRIVATE)
}

/// Makes a file or a folder a mount of its own, with all that is mounted in it.
pub(crate) fn bind(place: &Path) -> io::Result<()> {
    mount(Some(place), place, None, libc::MS_BIND | libc::MS_REC)
}

/// Mounts what a descriptor stands for at a path, with all that is mounted in it.
pub(crate) fn bind_open(place: BorrowedFd<'_>, at: &Path) -> io::Result<()> {
    let source = format!("/proc/self/fd/{}", place.as_raw_fd());
    mount(Some(Path::new(&source)), at, None, libc::MS_BIND | libc::MS_REC)
}

fn mount(
    source: Option<&Path>,
    target: &Path,
    of_type: Option<&CStr>,
    flags: libc::c_ulong,
) -> io::Result<()> {
    let source = source.map(c_string).transpose()?;
    let source = source.as_ref().map_or(std::ptr::null(), |source| source.as_ptr());
    let target = c_string(target)?;
    let of_type = of_type.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: all three are strings that end with NUL and outlive the call, or nothing; these flags and types
    // use no data.
    let rc = unsafe { libc::mount(source, target.as_ptr(), of_type, flags, std::ptr::null()) };
    check(rc as isize).map(drop)
}

/// Makes a mount and all below it read-only, or no longer (mount_setattr(2)).
pub(crate) fn set_read_only(mount: &Path, is_read_only: bool) -> io::Result<()> {
    const MOUNT_ATTR_RDONLY: u64 = 1;
    const AT_RECURSIVE: libc::c_uint = 0x8000;
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let (set, clear) = if is_read_only { (MOUNT_ATTR_RDONLY, 0) } else { (0, MOUNT_ATTR_RDONLY) };
    let attributes = Attributes { set, clear, propagation: 0, user_namespace: 0 };
    let path = c_string(mount)?;
    // SAFETY: the path ends with NUL, the attributes have the layout of `struct mount_attr`, whose size is
    // told, and both outlive the call.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            AT_RECURSIVE,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    check(rc as isize).map(drop)
}

fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

/// The resources that the calling thread has used.
pub(crate) fn thread_rusage() -> libc::rusage {
    // SAFETY: rusage is plain data, filled by the call, which cannot fail with these arguments.
    unsafe {
        let mut usage: libc::rusage = zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    }
}

/// Has large blocks mapped one by one from now on, and unmapped when they are freed. Left alone, glibc learns
/// from each large block that is freed to take the next of its size from the arena of the thread.
pub(crate) fn map_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: for any moment outside of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 64 << 10);
    }
}

/// Ends the process at once with code 1 after it has written `words` to standard error. Allocates nothing and
/// runs nothing else.
pub(crate) fn exit_saying(words: &[u8]) -> ! {
    // SAFETY: `words` outlives the call, with its true size. `_exit` is for any moment.
    unsafe {
        libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
        libc::_exit(1)
    }
}

fn check(rc: isize) -> io::Result<isize> {
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(rc) }
}

/// The legacy form of a link's settings (include/uapi/linux/ethtool.h, `struct ethtool_cmd`), as far as it is
/// read.
#[repr(C)]
struct LinkSettings {
    command: u32,
    _modes: [u32; 2],
    speed: u16,
    _ports: [u8; 6],
    _packets: [u32; 2],
    speed_high: u16,
    _rest: [u8; 14],
}

/// `struct ethtool_drvinfo`, as far as it is read.
#[repr(C)]
struct LinkDriver {
    command: u32,
    name: [u8; 32],
    _rest: [u8; 160],
}

const SIOCETHTOOL: u64 = 0x8946;
const ETHTOOL_GSET: u32 = 1;
const ETHTOOL_GDRVINFO: u32 = 3;

/// The speed of a network link as its driver gives it; `u32::MAX`: not known.
pub(crate) fn link_mbits_per_s(link: &str) -> io::Result<u32> {
    // SAFETY: integers, for which zeroes are a valid value.
    let mut settings: LinkSettings = unsafe { zeroed() };
    settings.command = ETHTOOL_GSET;
    // SAFETY: for this command the kernel reads and writes a `struct ethtool_cmd`, 44 bytes, which this is.
    unsafe { ethtool(link, &raw mut settings) }?;
    Ok(u32::from(settings.speed_high) << 16 | u32::from(settings.speed))
}

/// The name of a network link's driver.
pub(crate) fn link_driver(link: &str) -> io::Result<String> {
    // SAFETY: integers, for which zeroes are a valid value.
    let mut driver: LinkDriver = unsafe { zeroed() };
    driver.command = ETHTOOL_GDRVINFO;
    // SAFETY: for this command the kernel reads and writes a `struct ethtool_drvinfo`, 196 bytes, which this
    // is.
    unsafe { ethtool(link, &raw mut driver) }?;
    let name = driver.name.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// Asks a link's driver (netdevice(7)).
///
/// # Safety
/// `data` must begin with a command, and be what the kernel expects with that.
unsafe fn ethtool<T>(link: &str, data: *mut T) -> io::Result<()> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    // SAFETY: ifreq is plain data, for which zeroes are a valid value.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if link.len() >= request.ifr_name.len() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(link.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = data.cast();
    // SAFETY: `request` names the link and points to `data`, of which the caller says that it is as the
    // command expects.
    let rc = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    check(rc as isize).map(drop)
}

const _: () = assert!(size_of::<LinkSettings>() == 44 && size_of::<LinkDriver>() == 196);
