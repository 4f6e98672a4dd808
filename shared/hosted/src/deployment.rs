//! The parts of a deployment besides what is hosted: buckets, table and key, the functions that serve everything hosted, the
//! environment of each function, and the schedule of the caretaker.
//!
//! The values are for a deployment on one machine. `template.yaml` has the same variables and
//! schedules for AWS; a test compares them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::HOSTED;

/// The name of the table.
pub const TABLE: &str = "dataperf";
/// The name of the bucket of uploads.
pub const SUBMISSIONS: &str = "submissions";
/// The name of the bucket of data sets.
pub const DATASETS: &str = "datasets";
/// The name of the bucket of receipts.
pub const RESULTS: &str = "results";
/// How the aliases of the keys that sign receipts begin; the template names them so where its parameter `Name` is `dataperf`.
pub const SIGNING_KEY: &str = "alias/dataperf-receipts";

/// The name of the caretaker, the function that ends what other functions could not.
pub const CARETAKER: &str = "caretaker";
/// The name of the function that runs submitted programs. No upload starts it.
pub const PROGRAMS: &str = "closed";
/// The name of the function that answers questions over HTTP.
pub const READER: &str = "leaderboards";
/// The name of the function that signs the forms with which the page uploads.
pub const UPLOADS: &str = "uploads";
/// The functions that serve everything hosted; each other function belongs to one hosted benchmark.
pub const SHARED_FUNCTIONS: [&str; 4] = [CARETAKER, PROGRAMS, READER, UPLOADS];

/// The variable of the caretaker with the seconds for which the sweep leaves a new upload alone before it has it evaluated again.
pub const SWEEP_AFTER_SECONDS: &str = "DATAPERF_SWEEP_AFTER_SECONDS";
/// The variable of the caretaker with the seconds after which the sweep gives up an unfinished upload.
pub const GIVE_UP_AFTER_SECONDS: &str = "DATAPERF_GIVE_UP_AFTER_SECONDS";
/// The variable of the reader with the key that signs its cursors.
pub const CURSOR_KEY: &str = "DATAPERF_CURSOR_KEY";

/// The resources of a benchmark's function on AWS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Megabytes, if it needs more than the template's parameter `MemoryMB`: 3538 are two cores,
    /// 10240 six.
    pub memory_mb: Option<u32>,
    /// Seconds for one evaluation, if it needs more than the parameter `TimeLimitSeconds`.
    pub timeout: Option<u32>,
    /// How many run at once where concurrency is reserved.
    pub concurrency: u32,
    /// How long an evaluation takes, for the description of the parameter.
    pub load: &'static str,
}

/// Seconds and megabytes of a function for own data. `dataperf dataset publish` checks that artifacts take at most half of them.
pub const OWN_DATA_SECONDS: u32 = 300;
/// See [`OWN_DATA_SECONDS`].
pub const OWN_DATA_MB: u32 = 3538;

/// The size of a benchmark's function.
pub fn size(benchmark: &str) -> Size {
    let small = Size {
        memory_mb: None,
        timeout: None,
        concurrency: 10,
        load: "A few seconds each",
    };
    match benchmark {
        "speech-selection" => Size {
            concurrency: 25,
            load: "A quarter of a second each: 100 a second",
            ..small
        },
        "vision-selection" => Size {
            load: "A tenth of a second each where the images were seen: 100 a second; 20 where not",
            ..small
        },
        // Hundreds of independent fits: two cores. Six cores answer three times as soon for the same price. A slow download and old
        // processors need the time.
        "vision-debugging" => Size {
            memory_mb: Some(3538),
            timeout: Some(120),
            concurrency: 50,
            load: "Six seconds each: 8 a second",
        },
        // A market has some hundred megabytes, and ten models are fitted on each.
        "data-acquisition" => Size {
            memory_mb: Some(3538),
            timeout: Some(300),
            concurrency: 50,
            load: "Fourteen seconds each: 4 a second",
        },
        "selection" | "debugging" | "acquisition" | "curation" => Size {
            memory_mb: Some(OWN_DATA_MB),
            timeout: Some(OWN_DATA_SECONDS),
            concurrency: 50,
            load: "Some seconds each, as the contest's document says",
        },
        // A thousand draws of some thousand examples: one core.
        "adversarial-text-models" => Size {
            memory_mb: Some(1769),
            timeout: Some(300),
            load: "A tenth of a second each, after the program has run: faster than programs run",
            ..small
        },
        _ => small,
    }
}

/// The aliases of the keys that sign receipts, one for each benchmark.
pub fn signing_aliases() -> Vec<String> {
    let aliases = HOSTED.iter().map(|hosted| format!("{SIGNING_KEY}-{}", hosted.id));
    aliases.collect()
}

/// The variables that every function has.
const COMMON: [(&str, &str); 4] = [
    ("DATAPERF_TABLE", TABLE),
    ("DATAPERF_DATASETS_BUCKET", DATASETS),
    ("DATAPERF_RESULTS_BUCKET", RESULTS),
    ("DATAPERF_SIGNING_KEY", SIGNING_KEY),
];

/// The variables that one function has besides the common ones; values that each deployment chooses itself are empty.
fn own(function: &str) -> &'static [(&'static str, &'static str)] {
    match function {
        CARETAKER => &[
            ("DATAPERF_SUBMISSIONS_BUCKET", SUBMISSIONS),
            ("DATAPERF_FUNCTION_PREFIX", ""),
            (SWEEP_AFTER_SECONDS, "300"),
            (GIVE_UP_AFTER_SECONDS, "3600"),
        ],
        READER => &[("DATAPERF_SUBMISSIONS_BUCKET", SUBMISSIONS), (CURSOR_KEY, "")],
        UPLOADS => &[
            ("DATAPERF_SUBMISSIONS_BUCKET", SUBMISSIONS),
            // without this variable a form is sent to the host by which the page was reached
            ("DATAPERF_SUBMISSIONS_URL", ""),
        ],
        _ => &[],
    }
}

/// The environment of a function.
///
/// ```
/// use dataperf_hosted::deployment::{CARETAKER, environment};
/// assert!(!environment("speech-selection").contains_key("DATAPERF_SUBMISSIONS_BUCKET"));
/// assert_eq!(environment(CARETAKER)["DATAPERF_SUBMISSIONS_BUCKET"], "submissions");
/// ```
pub fn environment(function: &str) -> BTreeMap<String, String> {
    let variables = COMMON.iter().chain(own(function));
    variables
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Work that the caretaker does at regular intervals, besides the sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// The task's name in the event that starts it.
    pub name: &'static str,
    /// The interval at which the task is due.
    pub every: Duration,
}

/// Compares the boards that have changed since they were last compared.
pub const COMPARE: Task = Task {
    name: "compare",
    every: Duration::from_mins(1),
};
/// Finishes rounds that have closed.
pub const FINISH: Task = Task {
    name: "finish",
    every: Duration::from_mins(15),
};

impl Task {
    /// The event that starts the task, as JSON.
    pub fn event(self) -> String {
        format!(r#"{{"source": "aws.events", "task": "{}"}}"#, self.name)
    }
}
