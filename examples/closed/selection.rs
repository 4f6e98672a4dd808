//! Selection on own data: of each class the examples that are nearest to the mean of their class.
//!
//! rustc --edition 2024 -O -C lto -C panic=abort -C strip=symbols --target wasm32-wasip1 \
//!     -o selection-rust.wasm selection.rs

use std::collections::BTreeMap;
use std::fs;

fn main() {
    let task = fs::read_to_string("/data/task.json").expect("a document about the task");
    let max_examples = number_of(&task, "max_examples");
    let pool = Matrix::read("/data/pool.npy");

    // pool.csv has the columns id and label; the id is the number of the row
    let csv = fs::read_to_string("/data/pool.csv").expect("a line for each row of the pool");
    let mut rows_of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (row, line) in csv.lines().skip(1).enumerate() {
        let (_, label) = line.split_once(',').expect("two columns");
        rows_of.entry(label).or_default().push(row);
    }

    // one of each class, then the second of each, until there are enough
    let by_class: Vec<Vec<usize>> = rows_of.values().map(|rows| pool.central(rows)).collect();
    let mut chosen: Vec<usize> = Vec::new();
    for place in 0..pool.n_rows {
        chosen.extend(by_class.iter().filter_map(|rows| rows.get(place).copied()));
    }
    chosen.truncate(max_examples);
    let ids: Vec<String> = chosen.iter().map(|row| format!("\"{row}\"")).collect();
    println!("{{\"ids\": [{}]}}", ids.join(", "));
    eprintln!("chose {} of {} examples in {} classes", chosen.len(), pool.n_rows, rows_of.len());
}

/// The whole number that a document has under a name.
fn number_of(document: &str, name: &str) -> usize {
    let (_, rest) = document.split_once(&format!("\"{name}\":")).expect("the name");
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

struct Matrix {
    n_rows: usize,
    n_cols: usize,
    numbers: Vec<f64>,
}

impl Matrix {
    /// Reads a NumPy file of format 1.0 with 32- or 64-bit floats, row after row.
    fn read(path: &str) -> Self {
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

    /// Some rows, those first that are nearest to their mean; ties by number.
    fn central(&self, rows: &[usize]) -> Vec<usize> {
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
