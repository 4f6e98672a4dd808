//! Acquisition on own data: as much as the budget buys, first from the seller whose features tell most about the labels.
//!
//! rustc --edition 2024 -O -C lto -C panic=abort -C strip=symbols --target wasm32-wasip1 \
//!     -o acquisition-rust.wasm acquisition.rs

use std::fs;

struct Seller {
    n_rows: usize,
    price: f64,
    /// The sum of squares of its features' correlations with the label.
    strength: f64,
}

fn main() {
    let task = fs::read_to_string("/data/task.json").expect("a document about the task");
    let (_, budget) = task.split_once("\"budget\":").expect("a budget");
    let budget = budget.split([',', '}']).next().unwrap_or_default();
    let mut money: f64 = budget.trim().parse().expect("a number");

    // sellers.csv has a line `seller,n_rows,price` for each seller, and task.json its summary in the same order
    let csv = fs::read_to_string("/data/sellers.csv").expect("a line for each seller");
    let summaries = task.split("\"correlation\":").skip(1);
    let seller = |(line, summary): (&str, &str)| {
        let cells: Vec<&str> = line.split(',').collect();
        let (_, correlations) = summary.split_once('[').expect("a list");
        let correlations = correlations.split(']').next().unwrap_or_default().split(',');
        let numbers = correlations.filter_map(|number| number.trim().parse::<f64>().ok()); // some are null
        Seller {
            n_rows: cells[1].parse().expect("a number"),
            price: cells[2].parse().expect("a number"),
            strength: numbers.map(|number| number * number).sum(),
        }
    };
    let sellers: Vec<Seller> = csv.lines().skip(1).zip(summaries).map(seller).collect();

    let mut best_first: Vec<usize> = (0..sellers.len()).collect();
    best_first.sort_by(|&a, &b| sellers[b].strength.total_cmp(&sellers[a].strength));
    let mut counts = vec![0; sellers.len()];
    for idx in best_first {
        let (seller, count) = (&sellers[idx], &mut counts[idx]);
        let each = seller.price / seller.n_rows as f64;
        while *count < seller.n_rows && (*count + 1) as f64 * each <= money {
            *count += 1;
        }
        money -= *count as f64 * each;
        eprintln!("{count} of {} examples of seller {idx}", seller.n_rows);
    }
    let counts: Vec<String> = counts.iter().enumerate().map(|(idx, count)| format!("\"{idx}\": {count}")).collect();
    println!("{{\"counts\": {{{}}}}}", counts.join(", "));
}
