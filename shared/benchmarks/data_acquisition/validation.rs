//! The rules: every market, a count for each seller that it can serve, both labels in every sample, within the budget.

use std::collections::BTreeMap;

use super::ONE_LABEL;
use super::artifact::{Artifact, Plan};
use super::frozen::Frozen;
use super::market::{Market, Seller, cost, overshoot};
use dataperf::{Reason, Reasons, Rejection, offer, quote};

/// A submission that obeys the rules.
#[derive(Debug)]
pub struct Checked {
    /// The purchases in each market, in the order of the markets.
    markets: Vec<Bought>,
}

/// The purchases in one market.
#[derive(Debug)]
pub struct Bought {
    pub(super) market: u32,
    /// For each trial the sampled rows, in the order in which the model is fitted to them: seller after seller, as drawn.
    pub(super) trials: Vec<Vec<u32>>,
    /// All rows that at least one trial samples, ascending.
    pub(super) rows: Vec<u32>,
    /// The cost of the purchases.
    pub(super) cost: f64,
}

impl Checked {
    /// The purchases in each market.
    pub fn markets(&self) -> &[Bought] {
        &self.markets
    }

    pub(super) fn new(artifact: Artifact, frozen: &Frozen) -> Result<Self, Rejection> {
        let Artifact { plans, reasons } = artifact;
        let mut rules = Rules { frozen, reasons };
        let mut first_seen: BTreeMap<u32, String> = BTreeMap::new();
        let mut markets = Vec::new();
        for plan in plans {
            let known = frozen
                .markets()
                .iter()
                .find(|(number, _)| number.to_string() == plan.market);
            let Some((&number, market)) = known else {
                let markets = frozen.markets().keys().map(u32::to_string);
                rules
                    .reasons
                    .add_unknown("markets", &plan.market, markets.clone(), || {
                        let message = format!(
                            "{} is not a market: {}",
                            quote(&plan.market),
                            offer(&plan.market, markets)
                        );
                        Reason::new("unknown_market", &plan.at, message)
                    });
                continue;
            };
            if let Some(first) = first_seen.insert(number, plan.at.clone()) {
                let message = format!("the market `{number}` is also in `{first}`: remove one of the two");
                rules
                    .reasons
                    .add(Reason::new("duplicate_market", &plan.at, message));
                continue;
            }
            let Some(counts) = rules.counts(&plan, market) else {
                continue;
            };
            let is_paid = rules.is_within_budget(&plan, number, market, &counts);
            let is_enough = counts.are_valid && rules.is_enough(&plan, number, &counts.of_sellers);
            // An unaffordable purchase is not sampled: it could be all rows of all sellers, in every trial.
            if is_paid && is_enough {
                markets.push(rules.bought(number, market, &counts.of_sellers));
            }
        }
        for number in frozen
            .markets()
            .keys()
            .filter(|number| !first_seen.contains_key(number))
        {
            let message = format!("the market `{number}` is missing: add it");
            rules.reasons.add(Reason::new("missing_market", "", message));
        }
        markets.sort_by_key(|bought| bought.market);
        let checked = rules.reasons.into_verdict(Self { markets })?;
        // This check comes last and is reported alone, because it follows from hidden labels: the rejection counts against limits
        // as a score does, and one for another rule does not.
        if checked.markets.iter().any(|bought| has_one_label(bought, frozen)) {
            return Err(one_label().into());
        }
        Ok(checked)
    }
}

/// The number of rows wanted from each seller.
struct Counts {
    of_sellers: Vec<usize>,
    /// Whether `of_sellers` is what the submission says. If not, it is the least that a fixed submission can mean: all of a
    /// seller's rows where more are wanted, and none where the count can't be read.
    are_valid: bool,
}

struct Rules<'a> {
    frozen: &'a Frozen,
    reasons: Reasons,
}

impl Rules<'_> {
    /// The counts of a market; `None` if the submission has none.
    fn counts(&mut self, plan: &Plan, market: &Market) -> Option<Counts> {
        let (listed, n_sellers) = (plan.counts.as_ref()?, market.sellers.len());
        let mut of_sellers = vec![0; n_sellers];
        let mut are_valid = listed.len() == n_sellers;
        if listed.len() != n_sellers {
            let n = listed.len();
            let message = format!(
                "there are {n} counts for {n_sellers} sellers: give one for each, and 0 to buy nothing"
            );
            self.reasons.add(Reason::over(
                "wrong_number_of_sellers",
                &plan.at,
                n_sellers as u64,
                n as u64,
                message,
            ));
        }
        for (seller_idx, (count, Seller { n_rows, .. })) in listed.iter().zip(&market.sellers).enumerate() {
            let Some(count) = *count else {
                are_valid = false;
                continue;
            };
            of_sellers[seller_idx] = count.min(*n_rows as u64) as usize;
            if count > *n_rows as u64 {
                let message = format!(
                    "{count} samples are too many for seller {seller_idx}, who has {n_rows}: buy fewer"
                );
                self.reasons.add(Reason::over(
                    "more_than_seller_has",
                    plan.at(seller_idx),
                    *n_rows as u64,
                    count,
                    message,
                ));
                are_valid = false;
            }
        }
        if listed.iter().all(|count| *count == Some(0)) {
            let message = format!(
                "the submission buys nothing in market {}: buy samples with both labels",
                quote(&plan.market)
            );
            self.reasons
                .add(Reason::over("nothing_bought", &plan.at, 1, 0, message));
            return None;
        }
        Some(Counts {
            of_sellers,
            are_valid,
        })
    }

    fn is_within_budget(&mut self, plan: &Plan, number: u32, market: &Market, counts: &Counts) -> bool {
        let Some(over) = overshoot(market, &counts.of_sellers) else {
            return true;
        };
        let (cost, budget) = (cost(market, &counts.of_sellers), market.budget);
        let at_least = if counts.are_valid { "" } else { "at least " };
        let message = format!(
            "the counts of market `{number}` cost {at_least}{cost:.6}, the budget is {budget}: spend {over:.6} less"
        );
        let reason = Reason::new("over_budget", &plan.at, message);
        // `limit` and `actual` are whole numbers, so they are given for a whole budget only, with the cost rounded up; for any
        // other budget the message alone gives the figures.
        let is_whole = budget.fract() == 0.0;
        self.reasons.add(Reason {
            limit: is_whole.then_some(budget as u64),
            actual: is_whole.then_some(cost.ceil() as u64),
            ..reason
        });
        false
    }

    fn is_enough(&mut self, plan: &Plan, number: u32, counts: &[usize]) -> bool {
        let (n_bought, n_needed) = (counts.iter().sum::<usize>(), self.frozen.buyer_model().min_rows());
        if n_bought < n_needed {
            let message = format!(
                "the submission buys {n_bought} samples in market `{number}`, the buyer's model needs \
                    {n_needed}: buy more"
            );
            self.reasons.add(Reason::over(
                "too_few_samples",
                &plan.at,
                n_needed as u64,
                n_bought as u64,
                message,
            ));
        }
        n_bought >= n_needed
    }

    fn bought(&self, number: u32, market: &Market, counts: &[usize]) -> Bought {
        let trials = self.frozen.trials(market, counts);
        let mut rows = trials.concat();
        rows.sort_unstable();
        rows.dedup();
        Bought {
            market: number,
            trials,
            rows,
            cost: cost(market, counts),
        }
    }
}

/// Whether some trial samples rows of one label only, on which no model can be trained. A participants' kit can't tell.
fn has_one_label(bought: &Bought, frozen: &Frozen) -> bool {
    let Some(labels) = frozen.labels(bought.market) else {
        return false;
    };
    bought.trials.iter().any(|rows| {
        let n_positive: usize = rows.iter().map(|&row| usize::from(labels[row as usize])).sum();
        n_positive == 0 || n_positive == rows.len()
    })
}

/// The message names neither the market nor the trial: the draws are public, and the sellers' labels are not.
fn one_label() -> Reason {
    let message = "in at least one market a trial draws rows of only one label, and a model needs both. This counts \
        against your limits like a score, because it reveals something about hidden labels. Buy more, or from \
        other sellers";
    Reason::over(ONE_LABEL, "", 2, 1, message)
}
