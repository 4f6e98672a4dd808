//! What a hosted benchmark says of itself: everything that the platform has to know before it knows the benchmark's type.

use std::collections::BTreeMap;

use crate::benchmark::allowance::DailyAllowance;
use crate::benchmark::closed::ClosedBoards;
use crate::benchmark::column::Column;
use crate::benchmark::scorecard::{Form, Metric};
use crate::benchmark::{Benchmark, FrozenPart, Leaderboard};
use crate::board::Ranking;
use crate::board::rank_key::Direction;
use crate::dataset::frozen::{FrozenError, Manifest};

/// A benchmark, or another thing that people upload artifacts to and that has boards.
#[derive(Debug, Clone, Copy)]
pub struct Descriptor {
    /// The id: the first part of every key and of every partition.
    pub id: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Which scores are better.
    pub direction: Direction,
    /// The least and the greatest score there can be.
    pub score_range: [f64; 2],
    /// The largest artifact of any kind that is read at all.
    pub max_artifact_bytes: u64,
    /// The forms that an artifact may have, of `json`, `jsonl`, `csv` and `zip`: what a client can look at before it sends a file.
    pub forms: &'static [&'static str],
    /// What the metrics of a score are, and who sees them when.
    pub metrics: &'static [Metric],
    /// Whether metrics follow from hidden data, so that a challenge can withhold them. Where they follow from something else, such
    /// as people's verdicts, all of them are shown at every level.
    pub has_hidden_data: bool,
    /// The codes of rejections that follow from hidden data, and so count against a submitter's limits as a score does.
    pub counted_rejections: &'static [&'static str],
    /// Whether its rounds may be of the closed division, where programs are uploaded.
    pub takes_programs: bool,
    /// Whether it scores programs alone, so that each of its rounds has to take them and artifacts are rejected.
    pub only_programs: bool,
    /// The kinds of artifacts: in keys they stand where others have the leaderboard. Empty where artifacts are of one kind and
    /// are uploaded to a leaderboard.
    pub kinds: &'static [&'static str],
    /// The largest artifact of a kind that is read at all, in bytes; for any other word it is `max_artifact_bytes`.
    pub max_bytes_of_kind: fn(&str) -> u64,
    /// What its participants submit and its raters judge, where there are such.
    pub collects: Option<Collects>,
    /// What its boards show of each row beside the score.
    pub columns: &'static [Column],
    /// The leaderboards of a data set.
    pub leaderboards: fn(&Manifest) -> Result<Vec<Leaderboard>, FrozenError>,
    /// Whether participants may have the file of a data set with this path.
    pub is_public: fn(&str) -> bool,
    /// The evaluation data of each leaderboard of a data set, by a name for it, as
    /// [`Leaderboard::evaluation`](crate::benchmark::Leaderboard::evaluation) says.
    pub evaluations: fn(&Manifest) -> Result<BTreeMap<String, String>, FrozenError>,
    /// What the public data set of a round that takes programs has in common with its hidden one, as
    /// [`ClosedBoards::rules`](crate::benchmark::closed::ClosedBoards::rules) says.
    pub rules_of_programs: fn(&Manifest) -> Result<serde_json::Value, FrozenError>,
    /// The function that takes an upload to this leaderboard or of this kind, without what a deployment puts before its name.
    pub function: fn(&str) -> &'static str,
    /// What a challenge can't choose, where there is anything.
    pub fixed: Option<Fixed>,
}

/// What people submit and others judge, item by item.
#[derive(Debug, Clone, Copy)]
pub struct Collects {
    /// What an item is called in the table.
    pub item: &'static str,
    /// What a data set allows each person on a day.
    pub daily_allowances: fn(&Manifest) -> Result<Vec<DailyAllowance>, FrozenError>,
}

/// What a challenge can't choose, and what its document is told that says otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Fixed {
    /// Which submissions stand on the boards.
    pub ranking: Ranking,
    /// Why no other ranking is possible.
    pub why_ranking: &'static str,
    /// The leaderboards, of all of which every round is.
    pub leaderboards: &'static [&'static str],
    /// These leaderboards in words, such as `both leaderboards`.
    pub all_leaderboards: &'static str,
    /// Members of a round that there are not, each with what to do instead.
    pub without: &'static [(&'static str, &'static str)],
    /// Why artifacts can't be public.
    pub why_private: &'static str,
}

impl Descriptor {
    /// What a benchmark's type says.
    ///
    /// ```
    /// use dataperf_benchmarks::speech_selection::SpeechSelection;
    /// let descriptor = dataperf::Descriptor::for_benchmark::<SpeechSelection>();
    /// assert_eq!(descriptor.function_of("speech-selection/en-25/ada/x.json"), "speech-selection");
    /// ```
    pub const fn for_benchmark<B: Benchmark>() -> Self {
        Self {
            id: B::ID,
            about: B::ABOUT,
            direction: B::DIRECTION,
            score_range: [*B::SCORE_RANGE.start(), *B::SCORE_RANGE.end()],
            max_artifact_bytes: B::MAX_ARTIFACT_BYTES,
            forms: B::FORMS,
            metrics: B::METRICS,
            has_hidden_data: true,
            counted_rejections: B::COUNTED_REJECTIONS,
            takes_programs: B::ClosedBoards::EXIST,
            only_programs: B::ClosedBoards::ONLY,
            kinds: &[],
            max_bytes_of_kind: |_| B::MAX_ARTIFACT_BYTES,
            collects: None,
            columns: &[],
            leaderboards: B::Frozen::leaderboards,
            is_public: B::Frozen::is_public,
            evaluations: evaluations::<B>,
            rules_of_programs: B::ClosedBoards::rules,
            function: |_| B::ID,
            fixed: None,
        }
    }

    /// The function that takes an upload with this key, without what a deployment puts before its name.
    pub fn function_of(&self, key: &str) -> &'static str {
        (self.function)(key.split('/').nth(1).unwrap_or_default())
    }

    /// Whether a score is the place where a curve reaches its target: how uncertain it is can't be told by drawing the test set.
    pub fn is_place_on_a_curve(&self) -> bool {
        let is_curve = |metric: &Metric| matches!(metric.form, Form::Curve { .. });
        self.metrics.iter().any(is_curve)
    }

    /// Which submissions stand on a board, whose challenge says `chosen`.
    pub fn ranking(&self, chosen: Ranking) -> Ranking {
        self.fixed.map_or(chosen, |fixed| fixed.ranking)
    }
}

/// The evaluation data of each board: its own, or what it shares with others.
fn evaluations<B: Benchmark>(manifest: &Manifest) -> Result<BTreeMap<String, String>, FrozenError> {
    let named = |board: Leaderboard| {
        let evaluation = board.evaluation.unwrap_or_else(|| board.name.clone());
        (board.name, evaluation)
    };
    Ok(B::Frozen::leaderboards(manifest)?
        .into_iter()
        .map(named)
        .collect())
}
