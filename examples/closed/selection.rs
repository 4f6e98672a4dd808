//! Selection on own data: of each class the examples that are nearest to the mean of their class.
//!
//! rustc --edition 2024 -O -C lto -C panic=abort -C strip=symbols --target wasm32-wasip1 \
//!     -o selection-rust.wasm selection.rs

mod matrix;

use std::collections::BTreeMap;
use std::fs;

use matrix::{Matrix, number_of};

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
