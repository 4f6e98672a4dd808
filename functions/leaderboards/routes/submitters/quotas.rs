//! What is left of a submitter's limits.

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::benchmark::allowance::DailyAllowance;
use dataperf::board::{Board, Usage};
use dataperf::challenge::daily_allowances;
use dataperf::challenge::{Challenge, Terms};
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Descriptor, SubmitterName, Timestamp};
use dataperf_aws::{Table, now};
use dataperf_http::Problem;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::query::{QuotaQuery, Strict};

/// What is left of a submitter's limits on the boards of a benchmark.
#[derive(Serialize, ToSchema)]
struct Quotas {
    /// The benchmark's id.
    benchmark: String,
    /// Whose they are.
    submitter: String,
    #[serde(flatten)]
    left: Left,
}

/// What is left to a submitter.
#[derive(Serialize, ToSchema)]
pub(crate) struct Left {
    /// Each leaderboard in force.
    leaderboards: Vec<Quota>,
    /// What the benchmark itself allows each submitter on a day, whatever rounds limit; empty where it allows as much as one likes.
    allowances: Vec<OfDay>,
}

/// What is left today of something that the benchmark itself counts.
#[derive(Serialize, ToSchema)]
struct OfDay {
    /// What is counted.
    #[schema(example = "examples")]
    kind: &'static str,
    /// The words for it that people read, in the plural.
    #[schema(example = "examples")]
    title: &'static str,
    #[serde(flatten)]
    allowance: Allowance,
}

/// What is left on one leaderboard.
#[derive(Serialize, ToSchema)]
struct Quota {
    /// The leaderboard.
    leaderboard: String,
    /// The round in which an upload counts now.
    round: String,
    /// Whether an upload is judged now.
    is_open: bool,
    /// The leaderboards that count together with it, because they are scored with the same evaluation data; empty where it counts alone.
    together: Vec<String>,
    /// The limit of a day; `null` where there is none.
    day: Option<Allowance>,
    /// The limit of the whole round; `null` where there is none.
    round_limit: Option<Allowance>,
    /// Uploads that may fail in a day: programs on the public data set, and files whose evaluation takes too long or breaks off; `null` where
    /// the submitter is not limited.
    failures: Option<Allowance>,
}

/// What is left of a limit.
#[derive(Serialize, ToSchema)]
struct Allowance {
    /// The limit.
    limit: u64,
    /// What counts, submissions that are being evaluated included.
    n_used: u64,
    /// What is left.
    n_left: u64,
    /// When the count begins from 0 again; `null` for never.
    #[schema(format = DateTime)]
    resets_at: Option<String>,
}

impl Allowance {
    fn new(limit: u64, n_used: u64, resets_at: Option<String>) -> Self {
        let n_left = limit.saturating_sub(n_used);
        Self {
            limit,
            n_used,
            n_left,
            resets_at,
        }
    }
}

/// What is left of a submitter's limits now: its submitter's and the organizer's.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/quotas", operation_id = "quotas",
    params(QuotaQuery),
    responses((status = 200, description = "The limits and what is left of them", body = Quotas)),
    security(("token" = []))
)]
pub(crate) async fn quotas(
    State(app): State<App>,
    Path(benchmark): Path<String>,
    caller: Caller,
    wishes: Wishes,
    Strict(query): Strict<QuotaQuery>,
) -> Result<Response, Problem> {
    let facts = catalogue::benchmark(&benchmark)?;
    let submitter = query.submitter.parse::<SubmitterName>();
    let submitter =
        submitter.map_err(|error| Problem::not_found("unusable_name", "submitter", error.to_string()))?;
    caller.must_act_for(submitter.as_str(), "what is left of a submitter's limits")?;
    let limits = Limits::read(&app, facts).await?;
    let left = limits.left(&app, &submitter).await?;
    let document = Quotas {
        benchmark,
        submitter: submitter.into(),
        left,
    };
    Ok(wishes.json(&caller, &document))
}

/// What a benchmark limits now.
pub(crate) struct Limits {
    facts: &'static Descriptor,
    leaderboards: Vec<String>,
    challenge: Option<Challenge>,
    daily: Vec<DailyAllowance>,
    at: Timestamp,
}

impl Limits {
    /// The limits of a benchmark's leaderboards in force.
    pub(crate) async fn read(app: &App, facts: &'static Descriptor) -> Result<Self, Problem> {
        let (challenge, at) = (catalogue::challenge(app, facts.id).await?, now());
        let boards = catalogue::boards(app, facts, None).await?.described()?;
        Ok(Self {
            facts,
            leaderboards: boards.leaderboards.into_keys().collect(),
            daily: daily_allowances(&app.datasets().await, facts, challenge.as_ref(), at).await?,
            challenge,
            at,
        })
    }

    /// What is left of them to a submitter.
    pub(crate) async fn left(&self, app: &App, submitter: &SubmitterName) -> Result<Left, Problem> {
        let (table, at) = (app.table().await, self.at);
        let mut leaderboards = Vec::with_capacity(self.leaderboards.len());
        for leaderboard in &self.leaderboards {
            let terms = Terms::resolve(self.challenge.as_ref(), leaderboard, submitter.as_str(), at);
            let board = Board {
                benchmark: self.facts.id.to_owned(),
                leaderboard: leaderboard.clone(),
                round: terms.round.clone(),
            };
            let limits = terms.limits.unwrap_or_default();
            let is_limited = limits.daily.or(limits.total).is_some();
            let usage = if is_limited {
                table
                    .usage(&terms.counter(&board), submitter.as_str(), at)
                    .await?
            } else {
                Usage::default()
            };
            let failures = match terms.daily_failures.filter(|_| self.facts.kinds.is_empty()) {
                None => None,
                Some(limit) => {
                    let failed = table
                        .usage(&terms.failures(&board), submitter.as_str(), at)
                        .await?;
                    let reset = Some(at.next_day().to_string());
                    Some(Allowance::new(limit, failed.day, reset))
                }
            };
            let has_limit = is_limited || failures.is_some();
            let together = terms
                .together
                .map_or(Vec::new(), |together| together.leaderboards);
            leaderboards.push(Quota {
                day: limits
                    .daily
                    .map(|limit| Allowance::new(limit, usage.day, Some(at.next_day().to_string()))),
                round_limit: limits.total.map(|limit| Allowance::new(limit, usage.total, None)),
                failures,
                leaderboard: board.leaderboard,
                round: board.round,
                is_open: terms.refusal.is_none(),
                together: if has_limit { together } else { Vec::new() },
            });
        }
        let allowances = self.allowances(&table, submitter.as_str()).await?;
        Ok(Left {
            leaderboards,
            allowances,
        })
    }

    /// What is left of a submitter's daily allowances; those of raters only for these.
    async fn allowances(&self, table: &Table, submitter: &str) -> Result<Vec<OfDay>, Problem> {
        let (id, at) = (self.facts.id, self.at);
        let mut allowances = Vec::with_capacity(self.daily.len());
        for one in &self.daily {
            if one.is_of_raters && !table.is_rater(id, submitter).await? {
                continue;
            }
            let n_used = table.n_taken_of_day(id, submitter, one.counted_as, at).await?;
            allowances.push(OfDay {
                kind: one.kind,
                title: one.title,
                allowance: Allowance::new(one.limit, n_used, Some(at.next_day().to_string())),
            });
        }
        Ok(allowances)
    }
}
