//! Selection for Speech: of each word, and of what is no word, the clips that are nearest to the mean of their word.
//!
//! rustc --edition 2024 -O -C lto -C panic=abort -C strip=symbols --target wasm32-wasip1 \
//!     -o speech_selection-rust.wasm speech_selection.rs

mod matrix;

use std::collections::BTreeMap;
use std::fs;

use matrix::{Matrix, number_of};

fn main() {
    let task = fs::read_to_string("/data/task.json").expect("a document about the task");
    let max_clips = number_of(&task, "max_clips");
    let pool = Matrix::read("/data/pool.npy");

    // pool.csv has the columns id and label; the id is the number of the row, and the label is empty for what is no target word
    let csv = fs::read_to_string("/data/pool.csv").expect("a line for each row of the pool");
    let mut rows_of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (row, line) in csv.lines().skip(1).enumerate() {
        let (_, word) = line.split_once(',').expect("two columns");
        rows_of.entry(word).or_default().push(row);
    }

    let n_each = max_clips / rows_of.len();
    let mut lists = BTreeMap::new();
    for (word, rows) in &rows_of {
        let ids: Vec<String> = pool.central(rows).iter().take(n_each).map(|row| format!("\"{row}\"")).collect();
        lists.insert(*word, format!("[{}]", ids.join(", ")));
    }
    let nontargets = lists.remove("").unwrap_or("[]".to_owned());
    let targets: Vec<String> = lists.iter().map(|(word, ids)| format!("\"{word}\": {ids}")).collect();
    println!("{{\"targets\": {{{}}}, \"nontargets\": {nontargets}}}", targets.join(", "));
    eprintln!("of {} clips chose {n_each} of each of {} words and of the others", pool.n_rows, lists.len());
}
