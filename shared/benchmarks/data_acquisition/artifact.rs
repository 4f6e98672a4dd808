//! The artifact: `{"0": [20 counts], ...}`, or a zip of `0.csv` or `0.txt`, ..., comma-separated counts each.

use dataperf::formats::archive::{Bounds, Entry, unpack};
use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons, Rejection, explain_every, is_zip, pointer, quote, text_of_file};

const BOUNDS: Bounds = Bounds {
    max_entries: 1_000,
    max_unpacked_bytes: 256 << 10,
    max_ratio: 200,
};

/// A strategy's purchases in one market.
#[derive(Debug)]
pub(super) struct Plan {
    /// The place of the market's plan in the artifact.
    pub(super) at: String,
    /// The market as the artifact names it.
    pub(super) market: String,
    /// One count for each seller; `None` in place of a count that is no whole number, and `None` as a whole if the counts are not a
    /// list. The mistake has been noted in either case.
    pub(super) counts: Option<Vec<Option<u64>>>,
    is_text: bool,
}

impl Plan {
    /// The place of the count number `idx` in the artifact. Computed on demand, because an artifact
    /// may have 250,000 counts.
    pub(super) fn at(&self, idx: usize) -> String {
        if self.is_text {
            field_of(&self.at, idx)
        } else {
            item_of(&self.at, idx)
        }
    }
}

fn item_of(list: &str, idx: usize) -> String {
    format!("{list}/{idx}")
}

fn field_of(file: &str, idx: usize) -> String {
    format!("{file} field {}", idx + 1)
}

/// A parsed artifact, with the mistakes in its form, to which the rules add theirs.
#[derive(Debug)]
pub struct Artifact {
    pub(super) plans: Vec<Plan>,
    pub(super) reasons: Reasons,
}

impl Artifact {
    /// Reads the artifact's form.
    ///
    /// # Errors
    /// A [`Rejection`] when it is neither JSON nor a zip that can be unpacked; a wrong form is reported together with
    /// broken rules.
    pub fn parse(artifact: &[u8]) -> Result<Self, Rejection> {
        let mut reasons = Reasons::default();
        let plans: Vec<Plan> = if is_zip(artifact) {
            let files = unpack(artifact, BOUNDS)?;
            files
                .iter()
                .filter_map(|file| of_text(file, &mut reasons))
                .collect()
        } else {
            let plans = Json::parse(artifact)?.into_members("", &mut reasons).into_iter();
            plans
                .map(|(market, counts)| of_json(market, counts, &mut reasons))
                .collect()
        };
        let counts = plans.iter().flat_map(|plan: &Plan| plan.counts.iter().flatten());
        let n_counts = counts.clone().count();
        let n_wrong = counts.filter(|count| count.is_none()).count();
        reasons.explain(explain_every("bad_count", n_wrong, n_counts, || {
            format!(
                "none of the {n_counts} counts is a whole number: give numbers of samples such as `33`, \
                    not shares, without quotation marks and decimals"
            )
        }));
        Ok(Self { plans, reasons })
    }
}

fn of_json(market: String, counts: Json, reasons: &mut Reasons) -> Plan {
    let at = pointer("", &market);
    let is_text = false;
    let Json::Array(items) = counts else {
        let message = format!(
            "expected an array of counts here, one per seller, found {}",
            counts.kind()
        );
        reasons.add(Reason::new("wrong_type", &at, message));
        return Plan {
            at,
            market,
            counts: None,
            is_text,
        };
    };
    let mut count = |(idx, item): (usize, Json)| {
        let (count, shown) = match item {
            Json::Number(number) => (number.as_u64(), quote(&number.to_string())),
            other => (None, other.kind().to_owned()),
        };
        note(count, || item_of(&at, idx), &shown, reasons)
    };
    let counts = items.into_iter().enumerate().map(&mut count).collect();
    Plan {
        at,
        market,
        counts: Some(counts),
        is_text,
    }
}

fn note(count: Option<u64>, at: impl FnOnce() -> String, shown: &str, reasons: &mut Reasons) -> Option<u64> {
    if count.is_none() {
        let message = format!("the count is {shown}: give a whole number, 0 or more");
        reasons.add(Reason::new("bad_count", at(), message));
    }
    count
}

fn of_text(file: &Entry, reasons: &mut Reasons) -> Option<Plan> {
    let name = &file.name;
    let Some(market) = name.strip_suffix(".csv").or_else(|| name.strip_suffix(".txt")) else {
        let message = format!(
            "{} is not part of a submission: the zip holds a file `MARKET.csv` for each market",
            quote(name)
        );
        reasons.add(Reason::new("unknown_file", name, message));
        return None;
    };
    let (at, market, is_text) = (name.clone(), market.to_owned(), true);
    let text = match text_of_file(file.text_bytes()) {
        Ok(text) => text,
        Err(why) => {
            let message = format!("{}: {why}", quote(name));
            reasons.add(Reason::new("not_utf8", name, message));
            return Some(Plan {
                at,
                market,
                counts: None,
                is_text,
            });
        }
    };
    let line = text.trim_end().trim_end_matches(',');
    let mut count = |(idx, field): (usize, &str)| {
        let count = field.trim().parse().ok();
        note(count, || field_of(name, idx), &quote(field.trim()), reasons)
    };
    let counts = line.split(',').enumerate().map(&mut count).collect();
    Some(Plan {
        at,
        market,
        counts: Some(counts),
        is_text,
    })
}
