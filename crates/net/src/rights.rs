//! The rights of a process beyond others of its user (capabilities(7)), its heritage (keys, descriptors), and
//! which processes may look into it.

use std::io;

use rustix::io::Errno;
use rustix::process::DumpableBehavior;
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::sys;

/// Capabilities that root needs to unpack archives, to become another user, and to end the processes that it
/// has started as another user.
const OF_INSTALLERS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// Capabilities that look into other processes, whatever Landlock says: `/proc/PID/environ` is open to
/// CAP_PERFMON, which CAP_SYS_ADMIN includes.
const OF_PROCESSES: CapabilitySet = CapabilitySet::SYS_PTRACE
    .union(CapabilitySet::SYS_ADMIN)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::CHECKPOINT_RESTORE);

/// Gives up, for the calling thread and all that it starts, every capability that no installer needs.
pub fn keep_those_of_installers() -> io::Result<()> {
    keep(OF_INSTALLERS)
}

/// Gives up, for the calling thread and all that it starts, the capabilities that look into other processes.
pub fn drop_those_for_processes() -> io::Result<()> {
    keep(OF_PROCESSES.complement())
}

/// Gives up all capabilities except `kept`. They do not come back with another program: neither by root's
/// number nor by the program's file.
fn keep(kept: CapabilitySet) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    let CapabilitySets { effective, permitted, .. } = rustix::thread::capabilities(None)?;
    let (effective, permitted) = (effective & kept, permitted & kept);
    // The ambient set cannot exceed it: nothing passes to another program that way (capabilities(7)).
    let inheritable = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective, permitted, inheritable })?;
    Ok(())
}

/// Returns whether this process may mount file systems.
pub(crate) fn may_administer() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Returns whether a user namespace of this process may have its user's number. Root's is refused to a
/// process that could not give files its capabilities (user_namespaces(7)).
pub(crate) fn may_map(uid: u32) -> bool {
    uid != 0
        || rustix::thread::capabilities(None)
            .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SETFCAP))
}

/// Leaves the calling process without what its parents have left open, for all that it starts: descriptors,
/// as of the user's terminal, and the session's keys.
pub fn disinherit() -> io::Result<()> {
    sys::close_on_exec()?;
    match sys::join_new_keyring() {
        // A kernel without keys, or a container that denies them to everything in it (Docker's seccomp filter).
        Err(error) if [Some(Errno::NOSYS), Some(Errno::PERM)].contains(&Errno::from_io_error(&error)) => {
            Ok(())
        }
        // Going on would leave the session's keys to what it starts.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::DQUOT) => Err(io::Error::new(
            error.kind(),
            "the user's quota of keys is used up (/proc/key-users): raise kernel.keys.maxkeys",
        )),
        joined => joined,
    }
}

/// Hides the memory and the environment of the calling process from others of its user (PR_SET_DUMPABLE).
pub fn hide() -> io::Result<()> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn hidden_processes_are_not_dumpable() {
        // In a child, before it executes a program, by which it would be dumpable again.
        let hidden = || -> io::Result<()> {
            hide()?;
            match rustix::process::dumpable_behavior()? {
                DumpableBehavior::NotDumpable => Ok(()),
                _ => Err(io::ErrorKind::PermissionDenied.into()),
            }
        };
        assert!(sys::before_exec(&mut Command::new("true"), hidden).status().unwrap().success());
    }
}
