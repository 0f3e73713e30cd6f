//! Laplacian systems by elimination without subtraction (Grassmann, Taksar & Heyman 1985), in sums of two f64.

use std::ops::{Add, Div, Mul, Sub};

/// A number as the sum of two, of 106 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wide(f64, f64);

impl Wide {
    pub fn of(value: f64) -> Self {
        Self(value, 0.0)
    }

    pub fn to_f64(self) -> f64 {
        self.0 + self.1
    }

    fn normal(high: f64, low: f64) -> Self {
        let sum = high + low;
        Self(sum, low - (sum - high))
    }
}

impl Add for Wide {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let sum = self.0 + other.0;
        let part = sum - self.0;
        let lost = (self.0 - (sum - part)) + (other.0 - part);
        Self::normal(sum, lost + self.1 + other.1)
    }
}

impl Sub for Wide {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self(-other.0, -other.1)
    }
}

impl Mul for Wide {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let product = self.0 * other.0;
        let lost = self.0.mul_add(other.0, -product);
        Self::normal(product, lost + (self.0 * other.1 + self.1 * other.0))
    }
}

impl Div for Wide {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let first = Self::of(self.0 / other.0);
        let rest = self - other * first;
        let second = Self::of(rest.0 / other.0);
        let rest = rest - other * second;
        first + second + Self::of(rest.0 / other.0)
    }
}

/// L + diag(g), or L of a connected graph, eliminated from the first row on.
pub struct Reference {
    n: usize,
    /// Weights (n + 1, n + 1) of the edges when their first end went; the last row is the ground, or the row held at 0.
    weights: Vec<Wide>,
}

impl Reference {
    pub fn new(n: usize, edges: &[(u32, u32, f64)], diagonal: Option<&[f64]>) -> Self {
        let size = n + 1;
        let mut weights = vec![Wide::default(); size * size];
        for &(u, v, w) in edges {
            weights[u as usize * size + v as usize] = Wide::of(w);
            weights[v as usize * size + u as usize] = Wide::of(w);
        }
        for (row, g) in diagonal.unwrap_or_default().iter().enumerate() {
            weights[row * size + n] = Wide::of(*g);
        }
        for v in 0..n {
            let total = Self::total(&weights, v, size);
            if total.to_f64() == 0.0 {
                continue;
            }
            for i in v + 1..n {
                let share = weights[i * size + v] / total;
                for j in (v + 1..size).filter(|&j| j != i) {
                    weights[i * size + j] = weights[i * size + j] + share * weights[v * size + j];
                }
            }
        }
        Self { n, weights }
    }

    fn total(weights: &[Wide], v: usize, size: usize) -> Wide {
        weights[v * size + v + 1..(v + 1) * size].iter().fold(Wide::default(), |sum, w| sum + *w)
    }

    /// The solution for `b`; of mean zero under the constraint of mean zero, or where the system is singular.
    pub fn solve(&self, b: &[f64], is_centered: bool) -> Vec<Wide> {
        let x = self.substitute(b);
        if !is_centered {
            return x;
        }
        let is_singular = self.weights[self.n * (self.n + 1) - 1].to_f64() == 0.0;
        let mean = |x: &[Wide]| x.iter().fold(Wide::default(), |sum, x| sum + *x) / Wide::of(self.n as f64);
        let ones = if is_singular { vec![Wide::of(1.0); self.n] } else { self.substitute(&vec![1.0; self.n]) };
        let share = mean(&x) / mean(&ones);
        x.iter().zip(&ones).map(|(x, one)| *x - share * *one).collect()
    }

    fn substitute(&self, b: &[f64]) -> Vec<Wide> {
        let size = self.n + 1;
        let mut b: Vec<Wide> = b.iter().map(|b| Wide::of(*b)).collect();
        let totals: Vec<Wide> = (0..self.n).map(|v| Self::total(&self.weights, v, size)).collect();
        for v in (0..self.n).filter(|&v| totals[v].to_f64() > 0.0) {
            let value = b[v];
            for i in v + 1..self.n {
                b[i] = b[i] + self.weights[i * size + v] / totals[v] * value;
            }
        }
        let mut x = vec![Wide::default(); self.n];
        for v in (0..self.n).rev().filter(|&v| totals[v].to_f64() > 0.0) {
            let flows = (v + 1..self.n).fold(b[v], |sum, u| sum + self.weights[v * size + u] * x[u]);
            x[v] = flows / totals[v];
        }
        x
    }
}
