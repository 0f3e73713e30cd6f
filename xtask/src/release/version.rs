//! Versions `X.Y.Z` and, before one of these, `X.Y.Z-rc.N`.

use crate::process::Result;

/// A version; the order is that of the releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    numbers: [u32; 3],
    /// Number of the candidate; the highest for the release itself.
    candidate: u32,
}

impl Version {
    /// The version that a text states.
    pub fn parsed(text: &str) -> Result<Self> {
        let read = |text: &str| -> Option<Self> {
            let (text, candidate) = match text.split_once("-rc.") {
                Some((text, candidate)) => (text, number(candidate)?),
                None => (text, u32::MAX),
            };
            let numbers: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
            Some(Self { numbers: numbers.try_into().ok()?, candidate })
        };
        read(text).ok_or_else(|| format!("{text:?} is no version; one is written 1.2.3, or 1.2.3-rc.1 before it"))
    }

    /// The version as it is written.
    pub fn text(&self) -> String {
        let [major, minor, patch] = self.numbers;
        let candidate = if self.candidate == u32::MAX { String::new() } else { format!("-rc.{}", self.candidate) };
        format!("{major}.{minor}.{patch}{candidate}")
    }
}

fn number(digits: &str) -> Option<u32> {
    let is_plain = digits == "0" || !digits.starts_with(['0', '+']);
    digits.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_read_and_ordered() {
        let texts = ["0.1.0-rc.1", "0.1.0-rc.2", "0.1.0", "0.1.1", "0.10.0", "1.0.0"];
        let versions = texts.map(|text| Version::parsed(text).unwrap());
        assert!(versions.is_sorted() && versions.map(|version| version.text()) == texts);
        for text in ["1.0", "v1.0.0", "1.0.0.0", "01.0.0", "1.0.0-beta", "1.0.x", ""] {
            assert!(Version::parsed(text).unwrap_err().contains("1.2.3"), "{text}");
        }
    }
}
