//! Colors of classes and methods.

/// The number of colors for classes (see `style.css`). Further classes share a gray.
pub const COLORS: usize = 20;

/// Style class for the color of the class or method of this rank.
pub fn color(rank: usize) -> String {
    if rank < COLORS { format!("k{rank}") } else { "other".into() }
}

/// Ranks of the classes, which decide on their colors: by class order, or by size if there are more classes than colors.
pub struct Palette(Vec<usize>);

impl Palette {
    /// The ranks of classes of these sizes.
    pub fn new(sizes: &[usize]) -> Self {
        let mut rank: Vec<usize> = (0..sizes.len()).collect();
        if sizes.len() > COLORS {
            let mut order = rank.clone();
            order.sort_by_key(|&class| std::cmp::Reverse(sizes[class]));
            order.into_iter().enumerate().for_each(|(at, class)| rank[class] = at);
        }
        Self(rank)
    }

    /// Classes that have a color of their own, in class order.
    pub fn colored(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len()).filter(|&class| self.has_color(class))
    }

    pub fn has_color(&self, class: usize) -> bool {
        self.0[class] < COLORS
    }

    /// Style class for the color of a class.
    pub fn color(&self, class: usize) -> String {
        self.0.get(class).map_or_else(|| color(COLORS), |&rank| color(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_classes_are_colored() {
        let few = Palette::new(&[0, 1, 2]);
        assert_eq!([few.color(0), few.color(2)], ["k0", "k2"]);
        let many = Palette::new(&(0..25).collect::<Vec<_>>());
        assert_eq!([many.color(24), many.color(5), many.color(4)], ["k0", "k19", "other"]);
        assert_eq!(many.colored().collect::<Vec<_>>(), (5..25).collect::<Vec<_>>());
    }
}
