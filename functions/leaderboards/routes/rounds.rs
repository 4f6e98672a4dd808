//! A challenge and its rounds, as the answers have them.

use dataperf::Descriptor;
use dataperf::board::{Board, OPEN_ROUND};
use dataperf::challenge::{Challenge, Preset, Round, Visibility};
use dataperf::programs::Programs;
use dataperf::table::leaderboard::Leaderboards;
use dataperf_aws::Table;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::catalogue;
use dataperf_http::Problem;

/// A challenge.
#[derive(Serialize, ToSchema)]
pub(super) struct ChallengeDocument {
    /// The name for people of the document that was published last.
    title: String,
    /// More about it.
    about: Option<String>,
    /// What participants were told meanwhile, newest first; what has a date to come is not among them.
    announcements: Vec<AnnouncementDocument>,
    /// Its rounds.
    rounds: Vec<RoundDocument>,
}

/// What participants were told.
#[derive(Serialize, ToSchema)]
struct AnnouncementDocument {
    /// Since when.
    #[schema(format = DateTime)]
    date: String,
    /// The text, plain or Markdown.
    text: String,
    /// The rounds whose participants are told; all when none is named.
    rounds: Vec<String>,
}

/// A round: some leaderboards for some time.
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Serialize, ToSchema)]
struct RoundDocument {
    /// Its id; the board that stays open after its closing has `.post` behind it.
    id: String,
    /// The name for people of its contest.
    title: String,
    /// More about its contest.
    about: Option<String>,
    /// The leaderboards; all of the benchmark's when none is named.
    leaderboards: Vec<String>,
    /// The first moment whose uploads count.
    #[schema(format = DateTime)]
    opens: String,
    /// The first moment whose uploads no longer count; `null` for never.
    #[schema(format = DateTime)]
    closes: Option<String>,
    /// The data set it is scored with; `null` for what is in force for each leaderboard.
    dataset: Option<String>,
    /// Whether what stands on its boards is scored with another data set once it has closed, which no upload sees: the board is the
    /// round's id with `.final` behind it.
    has_final: bool,
    /// By when that board is made; `null` where the round has none, or never closes.
    #[schema(format = DateTime)]
    final_by: Option<String>,
    /// The first moment whose uploads are scored with another data set, which no upload has seen before; `null` where there is none.
    #[schema(format = DateTime)]
    retires_at: Option<String>,
    /// Submissions of a submitter that are scored in a day (UTC) on each leaderboard.
    daily_limit: Option<u64>,
    /// Submissions of a submitter that are scored in the round on each leaderboard.
    total_limit: Option<u64>,
    /// Which freedom submissions have beyond the rules.
    division: Option<String>,
    /// How to reach the organizer: an email address, a web address or words.
    contact: Option<String>,
    /// The terms of participation, in Markdown.
    terms: Option<String>,
    /// How programs are run, where programs are what is uploaded.
    programs: Option<ProgramsDocument>,
    /// Whether everybody may read the artifacts that have a score.
    artifacts_are_public: bool,
    /// What it shows of its results until it closes.
    preset: PresetName,
    /// Whether practice shows curves too.
    curves: bool,
    /// Whether a contest shows a score only where it is better than the submitter's scores before by more than the error of measurement. Otherwise it
    /// shows every score, rounded to one n-th, n the number of items of the test set.
    ladder: bool,
    /// What participants are told before it opens; `null` at other times, as the next two.
    message_before: Option<String>,
    /// What they are told while it is open.
    message_open: Option<String>,
    /// What they are told after it has closed.
    message_after: Option<String>,
}

/// What a round shows of its results until it closes.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum PresetName {
    /// Scores with all digits, metrics and intervals.
    Practice,
    /// Rounded scores and rank intervals, or what a Ladder releases.
    Contest,
    /// Nothing.
    Blind,
}

impl From<Preset> for PresetName {
    fn from(preset: Preset) -> Self {
        match preset {
            Preset::Practice => Self::Practice,
            Preset::Contest => Self::Contest,
            Preset::Blind => Self::Blind,
        }
    }
}

/// How a round runs submitted programs.
#[derive(Serialize, ToSchema)]
struct ProgramsDocument {
    /// The public data set that a program has to run on first.
    public: String,
    /// The fuel of a run.
    max_fuel: u64,
    /// The memory of a program, in MiB.
    max_memory_mib: u64,
    /// The bytes that a program may have.
    max_module_bytes: u64,
    /// What it may write to standard output, in KiB; `null` for as much as the benchmark's largest artifact.
    max_output_kib: Option<u64>,
    /// How many of a submitter may fail in a day (UTC).
    daily_failures: u64,
    /// Whether programs in Python are taken as well.
    python: bool,
}

impl ProgramsDocument {
    fn new(programs: &Programs, daily_failures: u64) -> Self {
        Self {
            public: programs.public.to_string(),
            max_fuel: programs.max_fuel,
            max_memory_mib: programs.max_memory_mib,
            max_module_bytes: programs.max_module_bytes(),
            max_output_kib: programs.max_output_kib,
            daily_failures,
            python: programs.python,
        }
    }
}

impl From<Challenge> for ChallengeDocument {
    fn from(challenge: Challenge) -> Self {
        let announcements_one = challenge.announced(dataperf_aws::now());
        let announcements_one = announcements_one.map(|one| AnnouncementDocument {
            date: one.date.to_string(),
            text: one.text.clone(),
            rounds: one.rounds.clone(),
        });
        let rounds = challenge.rounds.iter();
        let rounds = rounds.map(|round| RoundDocument::new(&challenge, round.clone()));
        Self {
            announcements: announcements_one.collect(),
            rounds: rounds.collect(),
            title: challenge.title,
            about: challenge.about,
        }
    }
}

impl RoundDocument {
    fn new(challenge: &Challenge, round: Round) -> Self {
        let now = dataperf_aws::now();
        let (dataset, final_by) = (round.dataset_at(now), challenge.final_by(&round));
        let daily_failures = round.daily_failures();
        let programs = round.programs.as_ref();
        let programs = programs.map(|programs| ProgramsDocument::new(programs, daily_failures));
        let (is_before, is_after) = (
            now < round.opens,
            round.closes.is_some_and(|closes| closes <= now),
        );
        Self {
            title: challenge.title_of(&round).to_owned(),
            about: challenge.about_of(&round).map(str::to_owned),
            id: round.id,
            leaderboards: round.leaderboards,
            opens: round.opens.to_string(),
            closes: round.closes.map(|closes| closes.to_string()),
            dataset: dataset.map(|digest| digest.to_string()),
            has_final: round.final_dataset.is_some(),
            final_by: final_by.map(|by| by.to_string()),
            retires_at: round.retire.map(|retire| retire.at.to_string()),
            daily_limit: round.daily_limit,
            total_limit: round.total_limit,
            division: round.division,
            contact: round.contact,
            terms: round.terms,
            programs,
            artifacts_are_public: round.artifacts == Visibility::Public,
            preset: round.preset.into(),
            curves: round.curves,
            ladder: round.ladder,
            message_before: round.messages.before.filter(|_| is_before),
            message_open: round.messages.open.filter(|_| !is_before && !is_after),
            message_after: round.messages.after.filter(|_| is_after),
        }
    }
}

/// Whether a round is one of the leaderboard's.
pub(super) fn covers(round: &Round, leaderboard: &str) -> bool {
    round.leaderboards.is_empty() || round.leaderboards.iter().any(|name| name == leaderboard)
}

/// Whether everybody may read the artifacts of a round.
pub(super) fn artifacts_are_public(challenge: Option<&Challenge>, round: &str) -> bool {
    challenge
        .and_then(|challenge| challenge.round(round))
        .is_some_and(|round| round.artifacts == Visibility::Public)
}

/// Fails unless a board without a row is known: the data set has it, in a round that there is, or it has had scores.
pub(super) async fn must_exist(
    app: &App,
    facts: &Descriptor,
    board: &Board,
    table: &Table,
) -> Result<(), Problem> {
    let boards = catalogue::boards(app, facts, None).await?.described()?;
    let of_dataset = boards.leaderboard(&board.leaderboard).is_some();
    if of_dataset && board.round == OPEN_ROUND {
        return Ok(());
    }
    let challenge = catalogue::challenge(app, facts.id).await?;
    let round = challenge
        .as_ref()
        .and_then(|challenge| challenge.round(&board.round));
    if of_dataset && round.is_some_and(|round| covers(round, &board.leaderboard)) {
        return Ok(());
    }
    if table.boards(facts.id).await?.contains(board) {
        return Ok(());
    }
    let detail = format!(
        "`{}` has no such leaderboard in this round: `/api/v1/benchmarks/{}` lists them",
        facts.id, facts.id
    );
    Err(Problem::not_found("unknown_leaderboard", "leaderboard", detail))
}
