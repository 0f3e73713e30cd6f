//! Files in memory, and what happens when such a file is cut short while it is read.
//!
//! The system has no error for that: it sends the signal SIGBUS to the thread that reads, which ends the process. A handler, installed
//! when the first file is mapped, looks whether the address belongs to a file that is watched here. If so, it puts zeros in the place of
//! what is gone and notes the loss, so that the read goes on; [`Run::check`](crate::Run::check) and the ends of fits and predictions then
//! return an error that names the file. All other faults go to the handler that was there before.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::{Mmap, MmapMut};

pub use self::watch::Watch;
use crate::{Error, Result};

/// Opens a file for reading.
///
/// # Errors
/// [`Error::Io`], for a folder too.
pub fn open(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let metadata = file.metadata().map_err(|e| Error::io(path, e))?;
    if metadata.is_dir() {
        return Err(Error::io(path, io::ErrorKind::IsADirectory.into()));
    }
    Ok(file)
}

/// Opens a file, which must not be empty, and returns it with its length in bytes.
///
/// # Errors
/// As [`open`]; [`Error::Format`] for an empty file.
pub fn open_filled(path: &Path) -> Result<(File, u64)> {
    let file = open(path)?;
    match file.metadata().map_err(|e| Error::io(path, e))?.len() {
        0 => Err(Error::format(path, None, "the file is empty")),
        length => Ok((file, length)),
    }
}

/// A file in memory: mapped, so that the system reads its pages when they are used.
#[derive(Debug)]
pub struct Mapped {
    // Dropped before the map: the range is watched only while it is the file's.
    watched: Option<Watch>,
    map: Mmap,
}

impl Mapped {
    /// Maps a file, which must not be empty.
    ///
    /// # Errors
    /// [`Error::Format`] for an empty file, [`Error::Io`].
    pub fn open(path: &Path) -> Result<Arc<Self>> {
        let (file, _) = open_filled(path)?;
        // SAFETY: the map is read-only, and its bytes are used only as plain numbers or checked text, for which any bit pattern is
        // valid, also one that changes between two reads. This program replaces files by renaming, which does not change existing
        // maps. Where another program cuts the file short, the handler of this module provides the bytes that are gone.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io(path, e))?;
        let watched = Some(Watch::new(&map[..], path.to_owned(), Some((file, map.len() as u64))));
        Ok(Arc::new(Self { watched, map }))
    }

    /// A copy of bytes that are no file.
    pub fn copied(bytes: &[u8], name: &Path) -> Result<Arc<Self>> {
        let copied = || -> io::Result<Mmap> {
            // Some systems refuse mappings of no bytes.
            let mut map = MmapMut::map_anon(bytes.len().max(1))?;
            map[..bytes.len()].copy_from_slice(bytes);
            map.make_read_only()
        };
        Ok(Arc::new(Self { watched: None, map: copied().map_err(|e| Error::io(name, e))? }))
    }

    /// An error if the file was cut short, or could not be read, since it was mapped.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file.
    pub fn check(&self) -> Result<()> {
        self.watched.as_ref().map_or(Ok(()), Watch::check)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

/// The file behind a range of memory.
#[derive(Debug)]
struct Behind {
    path: PathBuf,
    /// The file and the length that it must have: what is gone within the last page reads as zeros without a signal.
    file: Option<(File, u64)>,
}

impl Behind {
    fn is_short(&self) -> bool {
        self.file.as_ref().is_some_and(|(file, length)| file.metadata().is_ok_and(|data| data.len() < *length))
    }

    fn error(&self) -> Error {
        let reason = "the file was cut short, or could not be read, while it was in use; bring it back and start again";
        Error::io(&self.path, io::Error::new(ErrorKind::UnexpectedEof, reason))
    }
}

/// An error if any file that is or was mapped was cut short, or could not be read: for programs, which look before they publish
/// results.
///
/// # Errors
/// [`Error::Io`] naming the file.
#[doc(hidden)]
pub fn check_files() -> Result<()> {
    check_since(0).and(watch::first_lost(true).map_or(Ok(()), Err))
}

/// How often something was lost so far, in all files.
pub fn n_losses() -> usize {
    watch::n_losses()
}

/// An error if something was lost in a file since there were `before` losses.
pub fn check_since(before: usize) -> Result<()> {
    let lost = || watch::first_lost(false).or_else(watch::last_lost);
    if watch::n_losses() == before { Ok(()) } else { lost().map_or(Ok(()), Err) }
}

#[cfg(unix)]
mod watch {
    use std::ffi::{c_int, c_void};
    use std::fs::File;
    use std::mem::{self, MaybeUninit};
    use std::path::PathBuf;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
    use std::sync::{Mutex, Once, OnceLock};

    use super::Behind;
    use crate::{Error, Result, lock};

    /// A range of addresses, in a list that only grows: a range that is not watched any more makes room for another.
    #[derive(Debug)]
    struct Range {
        /// First address; [`NONE`] while nothing is watched.
        start: AtomicUsize,
        end: AtomicUsize,
        is_lost: AtomicBool,
        is_taken: AtomicBool,
        /// Not for the handler, which must not wait.
        behind: Mutex<Option<Behind>>,
        next: *const Range,
    }

    // SAFETY: `next` is set before the range is in the list and refers to a range that lives as long as the program.
    unsafe impl Sync for Range {}

    const NONE: usize = usize::MAX;
    static FIRST: AtomicPtr<Range> = AtomicPtr::new(ptr::null_mut());
    static LOSSES: AtomicUsize = AtomicUsize::new(0);
    /// The file of the last range that was dropped with a part gone.
    static LAST_LOST: Mutex<Option<Behind>> = Mutex::new(None);
    static PAGE: AtomicUsize = AtomicUsize::new(4096);
    /// The handler before ours.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    fn ranges() -> impl Iterator<Item = &'static Range> {
        let first = FIRST.load(Ordering::Acquire).cast_const();
        // SAFETY: ranges in the list are never freed, and changed only by their atomic fields.
        std::iter::successors(unsafe { first.as_ref() }, |range| unsafe { range.next.as_ref() })
    }

    /// A range of memory that a file provides, watched while this exists.
    ///
    /// For memory that others have mapped, such as arrays of a caller; what this crate maps is watched already.
    #[derive(Debug)]
    #[doc(hidden)]
    #[must_use]
    pub struct Watch(&'static Range);

    impl Watch {
        /// Watches `values`, which the file `path` provides; `file` is that file and the length that it must have, if known. The
        /// watch must end before the values do.
        pub fn new<T>(values: &[T], path: PathBuf, file: Option<(File, u64)>) -> Self {
            static INSTALLED: Once = Once::new();
            INSTALLED.call_once(install);
            let is_free = |range: &&Range| !range.is_taken.swap(true, Ordering::AcqRel);
            let range = ranges().find(is_free).unwrap_or_else(Range::added);
            *lock(&range.behind) = Some(Behind { path, file });
            range.is_lost.store(false, Ordering::Relaxed);
            let start = values.as_ptr().addr();
            range.end.store(start.saturating_add(size_of_val(values)), Ordering::SeqCst);
            range.start.store(start, Ordering::SeqCst);
            Self(range)
        }

        /// An error if the file was cut short, or could not be read.
        ///
        /// # Errors
        /// [`Error::Io`] naming the file.
        pub fn check(&self) -> Result<()> {
            self.0.lost(true).map_or(Ok(()), Err)
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            self.0.start.store(NONE, Ordering::SeqCst);
            let behind = lock(&self.0.behind).take();
            if self.0.is_lost.load(Ordering::Acquire) {
                *lock(&LAST_LOST) = behind;
            }
            self.0.is_taken.store(false, Ordering::Release);
        }
    }

    impl Range {
        /// A new range in the list, taken.
        fn added() -> &'static Self {
            let new = Box::into_raw(Box::new(Self {
                start: AtomicUsize::new(NONE),
                end: AtomicUsize::new(0),
                is_lost: AtomicBool::new(false),
                is_taken: AtomicBool::new(true),
                behind: Mutex::default(),
                next: ptr::null(),
            }));
            let link = |first: *mut Self| {
                // SAFETY: until it is in the list, nothing else refers to the range.
                unsafe { (*new).next = first };
                Some(new)
            };
            let _ = FIRST.fetch_update(Ordering::AcqRel, Ordering::Acquire, link);
            // SAFETY: the range is never freed.
            unsafe { &*new }
        }

        /// The error if a part of the file is gone; its length is asked for if `asks`.
        fn lost(&self, asks: bool) -> Option<Error> {
            let behind = lock(&self.behind);
            let behind = behind.as_ref()?;
            (self.is_lost.load(Ordering::Acquire) || asks && behind.is_short()).then(|| behind.error())
        }

        /// If `address` is in this range, puts zeros in the place of its page and those behind it; whether it did.
        fn provide(&self, address: usize) -> bool {
            let start = self.start.load(Ordering::SeqCst);
            let end = self.end.load(Ordering::SeqCst);
            // A range that changes meanwhile is another one: that of the fault is in use and stays.
            if self.start.load(Ordering::SeqCst) != start || !(start..end).contains(&address) {
                return false;
            }
            let page = PAGE.load(Ordering::Relaxed);
            let first = address & !(page - 1);
            let length = end.next_multiple_of(page) - first;
            let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the pages are those of a mapping that is in use, and the file behind them has ended: no byte is lost by
            // replacing them. The call is one to the system, which a handler may make.
            let made = unsafe { libc::mmap(ptr::without_provenance_mut(first), length, access, flags, -1, 0) };
            if made == libc::MAP_FAILED {
                return false;
            }
            self.is_lost.store(true, Ordering::Release);
            LOSSES.fetch_add(1, Ordering::Release);
            true
        }
    }

    pub(super) fn n_losses() -> usize {
        LOSSES.load(Ordering::Acquire)
    }

    pub(super) fn first_lost(asks: bool) -> Option<Error> {
        ranges().find_map(|range| range.lost(asks))
    }

    pub(super) fn last_lost() -> Option<Error> {
        lock(&LAST_LOST).as_ref().map(Behind::error)
    }

    fn install() {
        // SAFETY: sysconf reads a number; a zeroed sigaction is one without flags, and its mask is set. The handler does only
        // what a handler may do.
        unsafe {
            if let Ok(page) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) {
                PAGE.store(page, Ordering::Relaxed);
            }
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            if libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) == 0 {
                // Known before the first fault can come to our handler.
                let _ = BEFORE.set(before.assume_init());
                let mut own: libc::sigaction = mem::zeroed();
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_fault;
                own.sa_sigaction = handler as usize;
                own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut own.sa_mask);
                libc::sigaction(libc::SIGBUS, &raw const own, ptr::null_mut());
            }
        }
    }

    /// A fault: provides the page if it is that of a watched range, else does what was done before.
    extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the system passes a valid description. Signals that a process sends have a code of at most 0 and no address.
        let (is_fault, address) = unsafe { ((*info).si_code > 0, (*info).si_addr().addr()) };
        if !(is_fault && ranges().any(|range| range.provide(address))) {
            pass_on(signal, info, context);
        }
    }

    fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let before = BEFORE.get().filter(|before| ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction));
        // SAFETY: the address is that of a handler of the kind that its flags say. Without one, the signal is raised again with
        // its default, and ends the process when this returns.
        unsafe {
            match before {
                Some(before) if before.sa_flags & libc::SA_SIGINFO != 0 => {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        mem::transmute(before.sa_sigaction);
                    handler(signal, info, context);
                }
                Some(before) => {
                    let handler: extern "C" fn(c_int) = mem::transmute(before.sa_sigaction);
                    handler(signal);
                }
                None => {
                    libc::signal(signal, libc::SIG_DFL);
                    libc::raise(signal);
                }
            }
        }
    }
}

/// Elsewhere the system keeps a file from being cut short while it is mapped.
#[cfg(not(unix))]
mod watch {
    use std::fs::File;
    use std::path::PathBuf;

    use crate::{Error, Result};

    #[derive(Debug)]
    #[doc(hidden)]
    pub struct Watch;

    impl Watch {
        pub fn new<T>(_: &[T], _: PathBuf, _: Option<(File, u64)>) -> Self {
            Self
        }

        pub fn check(&self) -> Result<()> {
            Ok(())
        }
    }

    pub(super) fn n_losses() -> usize {
        0
    }

    pub(super) fn first_lost(_: bool) -> Option<Error> {
        None
    }

    pub(super) fn last_lost() -> Option<Error> {
        None
    }
}
