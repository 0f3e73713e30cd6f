//! Rows that are small images, as pictures in a page.

use std::fmt::Write;

use lapwing::data::Features;

use crate::page::Line;

/// Sides of images, in pixels.
const SIDES: std::ops::RangeInclusive<usize> = 8..=64;
/// Rows that are looked at to tell whether rows are images.
const SAMPLE: usize = 200;
/// Shades of gray.
const SHADES: f64 = 15.0;

/// Makes lines of a table about rows: each begins with its row as a picture, if rows are images.
pub fn lines<'a>(features: Option<&'a Features<'a>>) -> impl Fn(usize, Vec<String>) -> Line + 'a {
    let thumbnails = features.and_then(Thumbnails::of);
    move |row, cells| Line { image: thumbnails.as_ref().map(|thumbnails| thumbnails.image(row)), cells }
}

/// Rows that are square gray images.
struct Thumbnails<'a> {
    features: &'a Features<'a>,
    side: usize,
    most: f64,
}

impl<'a> Thumbnails<'a> {
    /// The rows as images; `None` unless the number of columns is that of a square image, and no value is negative.
    fn of(features: &'a Features<'a>) -> Option<Self> {
        let Features::Dense(dense) = features else { return None };
        let (n, d) = (dense.n_rows(), dense.n_cols());
        let side = d.isqrt();
        if side * side != d || !SIDES.contains(&side) || n == 0 {
            return None;
        }
        let (mut most, mut row) = (0.0f64, vec![0.0; d]);
        for at in (0..n).step_by(n.div_ceil(SAMPLE)) {
            dense.copy_row_f64(at, &mut row);
            if row.iter().any(|value| value.is_nan() || *value < 0.0) {
                return None;
            }
            most = row.iter().copied().fold(most, f64::max);
        }
        (most > 0.0).then_some(Self { features, side, most })
    }

    /// A row as SVG: a path for each shade, of horizontal strokes.
    fn image(&self, row: usize) -> String {
        let mut values = vec![0.0; self.side * self.side];
        if let Features::Dense(dense) = self.features {
            dense.copy_row_f64(row, &mut values);
        }
        let shade = |value: f64| ((value / self.most).clamp(0.0, 1.0) * SHADES).round() as usize;
        let mut paths = vec![String::new(); SHADES as usize + 1];
        for (y, line) in values.chunks_exact(self.side).enumerate() {
            let mut x = 0;
            while x < self.side {
                let own = shade(line[x]);
                let length = line[x..].iter().take_while(|value| shade(**value) == own).count();
                // Writing to a text cannot fail.
                let _ = write!(paths[own], "M{x} {y}h{length}");
                x += length;
            }
        }
        let side = self.side;
        let mut svg = format!("<svg class=\"thumb\" viewBox=\"0 -.5 {side} {side}\" aria-hidden=\"true\">");
        for (shade, path) in paths.iter().enumerate().skip(1).filter(|(_, path)| !path.is_empty()) {
            let _ = write!(svg, "<path opacity=\"{:.2}\" d=\"{path}\"/>", shade as f64 / SHADES);
        }
        svg + "</svg>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn square_rows_of_gray_are_images() {
        let mut pixels = vec![0.0; 2 * 64];
        pixels[64 + 9..64 + 12].fill(16.0);
        let features = Features::from_f64(2, 64, pixels.clone()).unwrap();
        let image = Thumbnails::of(&features).unwrap().image(1);
        assert!(image.contains("<path opacity=\"1.00\" d=\"M1 1h3\"/>"), "{image}");
        pixels[0] = -1.0;
        assert!(Thumbnails::of(&Features::from_f64(2, 64, pixels).unwrap()).is_none());
        assert!(Thumbnails::of(&Features::from_f64(2, 63, vec![1.0; 126]).unwrap()).is_none());
    }
}
