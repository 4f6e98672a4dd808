//! The artifact, `{"counts": {"seller": n}}`, and its rules. From a seller that is not named nothing is bought.

use super::frozen::{COUNTS, Frozen};
use crate::data_acquisition::market::{Market, cost, overshoot, sample};
use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons, Rejection, offer, pointer, quote};

/// A parsed artifact, with the mistakes in its form, to which the rules add theirs.
#[derive(Debug)]
pub struct Artifact {
    /// The count of each seller that is named.
    counts: Vec<(String, u64)>,
    has_counts: bool,
    pub(super) reasons: Reasons,
}

impl Artifact {
    /// Reads the artifact's form.
    ///
    /// # Errors
    /// A [`Rejection`] when it is not JSON at all; a wrong form is reported together with broken rules.
    pub fn parse(artifact: &[u8]) -> Result<Self, Rejection> {
        let artifact = Json::parse(artifact)?;
        let is_object = matches!(artifact, Json::Object(_));
        let (mut reasons, mut counts, mut has_counts) = (Reasons::default(), Vec::new(), false);
        for (key, value) in artifact.into_members("", &mut reasons) {
            if key != COUNTS {
                let message = format!("{} is not a key here: the only key is `counts`", quote(&key));
                reasons.add(Reason::new("unknown_key", pointer("", &key), message));
                continue;
            }
            has_counts = true;
            for (seller, value) in value.into_members("/counts", &mut reasons) {
                let count = match &value {
                    Json::Number(number) => number.as_u64(),
                    _ => None,
                };
                if let Some(count) = count {
                    counts.push((seller, count));
                } else {
                    let given = match &value {
                        Json::Number(number) => number.to_string(),
                        other => other.kind().to_owned(),
                    };
                    let message = format!("expected a whole number, 0 or more, found {given}");
                    reasons.add(Reason::new("wrong_type", pointer("/counts", &seller), message));
                }
            }
        }
        if is_object && !has_counts {
            let message =
                "`counts` is missing: add it, with a number of examples for each seller to buy from";
            reasons.add(Reason::new("missing_key", "", message));
        }
        Ok(Self {
            counts,
            has_counts,
            reasons,
        })
    }
}

/// A submission that obeys the rules.
#[derive(Debug)]
pub struct Checked {
    /// The rows that each trial samples, in the order in which the model is fitted to them.
    pub(super) trials: Vec<Vec<u32>>,
    /// The rows that at least one trial samples, ascending.
    pub(super) rows: Vec<u32>,
    pub(super) cost: f64,
}

impl Checked {
    pub(super) fn new(artifact: Artifact, frozen: &Frozen) -> Result<Self, Rejection> {
        let Artifact {
            counts,
            has_counts,
            mut reasons,
        } = artifact;
        let market = frozen.market();
        let mut of_sellers = vec![0; market.sellers.len()];
        for (seller, count) in &counts {
            let at = pointer("/counts", seller);
            let Some(seller_idx) = frozen.seller_of(seller) else {
                reasons.add_unknown("sellers", seller, [""; 0], || {
                    let message = format!(
                        "{} is not a seller: {}",
                        quote(seller),
                        offer(seller, frozen.seller_names())
                    );
                    Reason::new("unknown_seller", at, message)
                });
                continue;
            };
            let n_rows = market.sellers[seller_idx].n_rows;
            of_sellers[seller_idx] = (*count).min(n_rows as u64) as usize;
            if *count > n_rows as u64 {
                let message = format!(
                    "{count} examples are too many for {}, who has {n_rows}: buy fewer",
                    quote(seller)
                );
                reasons.add(Reason::over(
                    "more_than_seller_has",
                    at,
                    n_rows as u64,
                    *count,
                    message,
                ));
            }
        }
        reasons.compare_unknown("sellers", counts.len(), frozen.seller_names());
        check_sum(&of_sellers, market, has_counts, frozen, &mut reasons);
        if !reasons.is_empty() {
            return reasons.into_verdict(Self {
                trials: Vec::new(),
                rows: Vec::new(),
                cost: 0.0,
            });
        }
        let trials = sample(frozen.seed(), frozen.n_trials(), market, &of_sellers);
        let mut rows = trials.concat();
        rows.sort_unstable();
        rows.dedup();
        Ok(Self {
            trials,
            rows,
            cost: cost(market, &of_sellers),
        })
    }
}

/// Checks all counts together: something is bought, enough for the model, and within the budget.
fn check_sum(counts: &[usize], market: &Market, has_counts: bool, frozen: &Frozen, reasons: &mut Reasons) {
    let n_bought: usize = counts.iter().sum();
    if n_bought == 0 {
        if has_counts && reasons.is_empty() {
            let message = "the submission buys nothing: buy at least one example";
            reasons.add(Reason::over("nothing_bought", "/counts", 1, 0, message));
        }
        return;
    }
    if let Err(error) = frozen.check_size(n_bought) {
        let message = format!("the model can't be trained on {n_bought} examples: {error}");
        reasons.add(Reason::new("unusable_size", "/counts", message));
    }
    if let Some(over) = overshoot(market, counts) {
        let message = format!(
            "the counts cost {:.6}, the budget is {}: spend {over:.6} less",
            cost(market, counts),
            market.budget
        );
        reasons.add(Reason::new("over_budget", "/counts", message));
    }
}
