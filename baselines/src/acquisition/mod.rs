//! Data Acquisition: methods that decide how many samples to buy from each seller.
//!
//! Every method gets what a participant sees of one market and returns a count for each seller.

pub mod price_per_gain;
pub mod single_seller;
pub mod uniform;

/// A participant's knowledge about a seller.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The number of rows that the seller has.
    pub n_rows: usize,
    /// The price of all of the seller's rows; `k` rows cost `k / n_rows` of it.
    pub max_price: f64,
    /// Each feature's correlation with the label, or 0 if it has none.
    pub correlations: Vec<f64>,
}

impl Offer {
    /// How many rows `money` buys, at most as many as there are.
    pub fn affordable(&self, money: f64) -> usize {
        let n = (money / self.max_price * self.n_rows as f64).floor();
        if n >= self.n_rows as f64 {
            self.n_rows
        } else {
            n.max(0.0) as usize
        }
    }
}
