//! Packed texts: compressed files, and archives that hold one table. Their first bytes tell them; they are read as a stream of what they
//! hold, so that a small file that holds very much takes no more memory than any other long text. Cost: that of unpacking, once for each reading.

use super::encoding::is_text;

/// How a text is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
    Zip,
}

impl Packing {
    /// The packing that the end of a name, in lower case, states, and the name without it.
    pub(crate) fn of_name(name: &str) -> (Option<Self>, &str) {
        use Packing::{Bzip2, Gzip, Xz, Zip, Zstd};
        let endings = [(Gzip, ".gz"), (Zstd, ".zst"), (Bzip2, ".bz2"), (Xz, ".xz"), (Zip, ".zip")];
        let stated = endings.iter().find_map(|(packing, ending)| Some((Some(*packing), name.strip_suffix(ending)?)));
        stated.unwrap_or((None, name))
    }

    /// The packing of a file with these first bytes. A name states it only if these are no text.
    pub(crate) fn of(name: &str, start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, 0x41 | 0x72, ..] => Some(Self::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [b'P', b'K', 3, 4, ..] => Some(Self::Zip),
            _ => Self::of_name(name).0.filter(|_| !is_text(start)),
        }
    }
}
