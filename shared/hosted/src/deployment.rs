//! What a deployment consists of beside what is hosted: buckets, table and key, the functions that serve everything hosted, the environment of
//! each function, and when the caretaker is started.
//!
//! The values are those of a deployment on one machine. `template.yaml` gives the same variables and schedules in AWS; a test compares them.

use std::collections::BTreeMap;
use std::time::Duration;

/// The table.
pub const TABLE: &str = "dataperf";
/// The bucket of uploads.
pub const SUBMISSIONS: &str = "submissions";
/// The bucket of data sets.
pub const DATASETS: &str = "datasets";
/// The bucket of receipts.
pub const RESULTS: &str = "results";
/// The alias of the key that receipts are signed with, as the template calls it where its `Name` is `dataperf`.
pub const SIGNING_KEY: &str = "alias/dataperf-receipts";

/// The function that ends what the others could not.
pub const CARETAKER: &str = "caretaker";
/// The function that runs submitted programs. No upload starts it.
pub const PROGRAMS: &str = "closed";
/// The function that answers questions over HTTP.
pub const READER: &str = "leaderboards";
/// The function that signs forms for uploads from the page.
pub const UPLOADS: &str = "uploads";
/// The functions that serve everything that is hosted; every other function is of something hosted.
pub const SHARED_FUNCTIONS: [&str; 4] = [CARETAKER, PROGRAMS, READER, UPLOADS];

/// How long an upload is left alone before the sweep has it evaluated again, in the caretaker's environment.
pub const SWEEP_AFTER_SECONDS: &str = "DATAPERF_SWEEP_AFTER_SECONDS";
/// How long an upload may stay unfinished before the sweep gives it up, in the caretaker's environment.
pub const GIVE_UP_AFTER_SECONDS: &str = "DATAPERF_GIVE_UP_AFTER_SECONDS";
/// What the reader's cursors are signed with, in its environment.
pub const CURSOR_KEY: &str = "DATAPERF_CURSOR_KEY";

/// The variables of every function.
const COMMON: [(&str, &str); 4] = [
    ("DATAPERF_TABLE", TABLE),
    ("DATAPERF_DATASETS_BUCKET", DATASETS),
    ("DATAPERF_RESULTS_BUCKET", RESULTS),
    ("DATAPERF_SIGNING_KEY", SIGNING_KEY),
];

/// The variables that one function has beside the common ones. Values that each deployment chooses are empty.
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
            // without it a form is sent to the host by which the page was reached
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

/// Work of the caretaker that is due again and again, beside the sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// What the event that starts it calls it.
    pub name: &'static str,
    /// How often it is due.
    pub every: Duration,
}

/// Boards are compared that have changed since they were.
pub const COMPARE: Task = Task {
    name: "compare",
    every: Duration::from_mins(1),
};
/// Rounds are finished that have closed.
pub const FINISH: Task = Task {
    name: "finish",
    every: Duration::from_mins(15),
};

impl Task {
    /// The event that starts it, as JSON.
    pub fn event(self) -> String {
        format!(r#"{{"source": "aws.events", "task": "{}"}}"#, self.name)
    }
}
