//! Memory to end a run with.
//!
//! A kernel that gives no more memory (`ulimit -v`, `ulimit -d`, overcommit forbidden) makes a Rust program
//! abort, and what it has measured would be lost. So some is [kept](keep) from the start: when an allocation
//! fails it is given up, which leaves room to finish, and [`is_given_up`] says that it is time to. Only when
//! that is gone as well, the program ends at once, with a word on why.
//!
//! Nothing of the reserve is touched: it costs address space, and no memory.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::sys;

/// The size of the reserve: several times the memory for merging the figures of a step and writing results
/// and report.
const BYTES: usize = 16 << 20;
const LAYOUT: Layout = Layout::new::<[u8; BYTES]>();

const LAST_WORDS: &[u8] =
    b"throng: out of memory: the kernel gives this process no more. `ulimit -v` and `ulimit -d` show its \
limits; throng doctor shows how much so many clients take\n";

static KEPT: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static GIVING_UP: Mutex<()> = Mutex::new(());
static IS_GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Keeps memory for the end; keeps it anew if it has been given up.
///
/// # Errors
/// If there is not enough memory for the reserve.
pub fn keep() -> std::io::Result<()> {
    IS_GIVEN_UP.store(false, Ordering::Relaxed);
    // SAFETY: the layout's size is not zero.
    let block = unsafe { System.alloc(LAYOUT) };
    if block.is_null() {
        return Err(std::io::ErrorKind::OutOfMemory.into());
    }
    free(KEPT.swap(block, Ordering::AcqRel));
    Ok(())
}

/// Returns whether memory has run out since the reserve was kept: results should be written now.
pub fn is_given_up() -> bool {
    IS_GIVEN_UP.load(Ordering::Relaxed)
}

/// The system's allocator, for a program's `#[global_allocator]`: it never fails except by ending the
/// process.
pub struct Allocator;

// SAFETY: every call is the system allocator's, with the caller's own arguments and so the caller's promises;
// trying again after a failure is another such call, because a failed one changes nothing.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        insist(|| unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        insist(|| unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        insist(|| unsafe { System.realloc(block, layout, size) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[inline]
fn insist(allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let block = allocate();
    if block.is_null() { allocate_at_last(allocate) } else { block }
}

#[cold]
fn allocate_at_last(allocate: impl Fn() -> *mut u8) -> *mut u8 {
    give_up();
    let block = allocate();
    if block.is_null() {
        sys::exit_saying(LAST_WORDS);
    }
    block
}

fn give_up() {
    // One at a time: a second thread may try again only when the first has freed it. The lock may be taken
    // inside of the allocator: the standard library's is a futex, and allocates nothing.
    let _turn = GIVING_UP.lock();
    IS_GIVEN_UP.store(true, Ordering::Relaxed);
    // Large blocks that a thread frees would stay with its arena, where the thread that finishes the run
    // cannot use them.
    sys::map_large_blocks();
    free(KEPT.swap(null_mut(), Ordering::AcqRel));
}

/// Frees the reserve, if there is one.
fn free(kept: *mut u8) {
    if !kept.is_null() {
        // SAFETY: allocated in `keep` with this layout, and swapped out of the only place that had it.
        unsafe { System.dealloc(kept, LAYOUT) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_files_are_given_up_once() {
        keep().unwrap();
        assert!(!is_given_up());
        let failures = std::cell::Cell::new(1);
        let fails_once = || {
            let fails = failures.replace(0) > 0;
            if fails { null_mut() } else { std::ptr::dangling_mut() }
        };
        assert!(!insist(fails_once).is_null());
        assert!(is_given_up() && KEPT.load(Ordering::Relaxed).is_null());
        keep().unwrap();
        assert!(!is_given_up());
    }
}
