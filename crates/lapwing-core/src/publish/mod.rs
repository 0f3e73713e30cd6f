//! Files that are written completely or not at all; several can get their names together.

mod atomic;
#[doc(hidden)]
pub mod faults;
mod place;
mod staged;
mod system;
mod unfinished;

pub use self::atomic::{AtomicFile, stage_atomic, stage_file};
pub use self::place::{check_distinct, check_writable, is_stdout};
pub use self::staged::{Staged, publish_all};
pub use self::unfinished::{hold_files, note_unfinished, remove_unfinished};
