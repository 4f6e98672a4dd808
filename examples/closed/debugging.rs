//! Debugging on own data: first the examples whose neighbours have other labels than they have.
//!
//! rustc --edition 2024 -O -C lto -C panic=abort -C strip=symbols --target wasm32-wasip1 \
//!     -o debugging-rust.wasm debugging.rs

#[allow(dead_code)] // it needs no number and no mean
mod matrix;

use std::cmp::Reverse;
use std::fs;

use matrix::Matrix;

const N_NEIGHBOURS: usize = 10;

/// How many of a row's nearest neighbours have another label; equal distances by number.
fn doubts(train: &Matrix, labels: &[&str], row: usize) -> usize {
    let others = (0..train.n_rows).filter(|&other| other != row);
    let mut near: Vec<(f64, usize)> = others.map(|other| (train.distance(row, other), other)).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    near.iter().take(N_NEIGHBOURS).filter(|(_, other)| labels[*other] != labels[row]).count()
}

fn main() {
    let train = Matrix::read("/data/train.npy");

    // train.csv has the columns id and label; the id is the number of the row
    let csv = fs::read_to_string("/data/train.csv").expect("a line for each row");
    let labels: Vec<&str> = csv.lines().skip(1).map(|line| line.split_once(',').expect("two columns").1).collect();

    let n_others: Vec<usize> = (0..train.n_rows).map(|row| doubts(&train, &labels, row)).collect();
    let mut order: Vec<usize> = (0..train.n_rows).collect();
    order.sort_by_key(|&row| Reverse(n_others[row])); // stable, so that ties stay in the order of their numbers
    let ids: Vec<String> = order.iter().map(|row| format!("\"{row}\"")).collect();
    println!("{{\"order\": [{}]}}", ids.join(", "));
    let n_doubted = n_others.iter().filter(|&&n| 2 * n > N_NEIGHBOURS).count();
    eprintln!("of {} examples {n_doubted} have mostly neighbours with other labels", train.n_rows);
}
