//! What the programs read: numbers of `task.json`, and matrices in NumPy's format.

use std::fs;

/// The whole number that a document has under a name.
pub fn number_of(document: &str, name: &str) -> usize {
    let (_, rest) = document.split_once(&format!("\"{name}\":")).expect("the name");
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

/// Numbers row after row.
pub struct Matrix {
    pub n_rows: usize,
    n_cols: usize,
    numbers: Vec<f64>,
}

impl Matrix {
    /// Reads a NumPy file of format 1.0 with 32- or 64-bit floats, row after row.
    pub fn read(path: &str) -> Self {
        let bytes = fs::read(path).expect("a matrix");
        let begin = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let header = String::from_utf8_lossy(&bytes[10..begin]);
        let (_, shape) = header.split_once("'shape': (").expect("a shape");
        let mut shape = shape.split([',', ')']).map(|n| n.trim().parse().unwrap_or(0));
        let (n_rows, n_cols) = (shape.next().unwrap_or(0), shape.next().unwrap_or(0));
        let numbers = if header.contains("'<f4'") {
            let floats = bytes[begin..].as_chunks().0.iter();
            floats.map(|&four| f64::from(f32::from_le_bytes(four))).collect()
        } else {
            let floats = bytes[begin..].as_chunks().0.iter();
            floats.map(|&eight| f64::from_le_bytes(eight)).collect()
        };
        Self { n_rows, n_cols, numbers }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.numbers[row * self.n_cols..][..self.n_cols]
    }

    /// The squared distance between two rows.
    #[allow(dead_code)] // not every program asks for it
    pub fn distance(&self, row: usize, other: usize) -> f64 {
        self.row(row).iter().zip(self.row(other)).map(|(a, b)| (a - b) * (a - b)).sum()
    }

    /// Some rows, those first that are nearest to their mean; ties by number.
    pub fn central(&self, rows: &[usize]) -> Vec<usize> {
        let mut mean = vec![0.0; self.n_cols];
        for &row in rows {
            for (sum, number) in mean.iter_mut().zip(self.row(row)) {
                *sum += number / rows.len() as f64;
            }
        }
        let distance = |row: usize| -> f64 { self.row(row).iter().zip(&mean).map(|(a, b)| (a - b) * (a - b)).sum() };
        let mut near: Vec<(f64, usize)> = rows.iter().map(|&row| (distance(row), row)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.into_iter().map(|(_, row)| row).collect()
    }
}
