//! Data Acquisition: how many samples to buy from whom.
//!
//! Every method gets what a participant sees of one market and returns a count for each seller.

pub mod price_per_gain;
pub mod single_seller;
pub mod uniform;

/// What a participant sees of a seller.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Rows it has.
    pub n_rows: usize,
    /// The price of all of them; `k` of them cost `k / n_rows` of it.
    pub max_price: f64,
    /// Each feature's correlation with the label, 0 where there is none.
    pub correlations: Vec<f64>,
}

impl Offer {
    /// How many rows `money` buys: no more than there are.
    pub fn affordable(&self, money: f64) -> usize {
        let n = (money / self.max_price * self.n_rows as f64).floor();
        if n >= self.n_rows as f64 {
            self.n_rows
        } else {
            n.max(0.0) as usize
        }
    }
}
