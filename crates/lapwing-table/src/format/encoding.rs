//! Encodings of texts, by their first bytes.

use chardetng::EncodingDetector;
use encoding_rs::Encoding;

/// Whether bytes are those of a text: nearly none are control characters.
pub(crate) fn is_text(start: &[u8]) -> bool {
    let is_wide = |encoding: &Encoding| encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE;
    if encoding_of(start).is_some_and(is_wide) {
        return true;
    }
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(*byte, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1a | 0x1b);
    !start.contains(&0) && start.iter().filter(|byte| is_control(byte)).count() * 30 <= start.len()
}

/// The encoding of a text, told from its start; `None` for UTF-8, with or without its mark.
pub(crate) fn encoding_of(start: &[u8]) -> Option<&'static Encoding> {
    if let Some((encoding, _)) = Encoding::for_bom(start) {
        return Some(encoding).filter(|&encoding| encoding != encoding_rs::UTF_8);
    }
    // Every second byte of most texts in UTF-16 is 0.
    let n_zeros = |odd: usize| start.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let half = start.len() / 2;
    match (n_zeros(0), n_zeros(1)) {
        (0, low) if half > 1 && 2 * low > half => return Some(encoding_rs::UTF_16LE),
        (high, 0) if half > 1 && 2 * high > half => return Some(encoding_rs::UTF_16BE),
        _ => {}
    }
    match std::str::from_utf8(start) {
        Ok(_) => None,
        // The last character is cut.
        Err(error) if error.error_len().is_none() => None,
        // Letters of other encodings hardly ever make up those of UTF-8: a cell behind these is damaged.
        Err(error) if !start[..error.valid_up_to()].is_ascii() => None,
        Err(_) => {
            let mut detector = EncodingDetector::new();
            detector.feed(start, false);
            Some(detector.guess(None, true)).filter(|&encoding| encoding != encoding_rs::UTF_8)
        }
    }
}
