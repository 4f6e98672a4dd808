//! The artifact: `{"TASK": [17, 3, ...], ...}`, or a zip of `TASK_anything.txt` with an index a line, and if one likes
//! `time_TASK_anything.txt` with the seconds that the method took.

use dataperf::formats::archive::{Bounds, Entry, unpack};
use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons, Rejection, is_zip, pointer, quote, text_of_file};

const BOUNDS: Bounds = Bounds {
    max_entries: 1_000,
    max_unpacked_bytes: 1 << 20,
    max_ratio: 200,
};
const TIME: &str = "time_";

/// How an artifact names a task.
#[derive(Debug)]
pub(super) enum Name {
    /// The exact name.
    Is(String),
    /// A file's name, which is the task's or begins with it and an underscore.
    BeginsWith(String),
}

/// The order of one task's images.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) at: String,
    pub(super) task: Name,
    /// The images; `None` in place of an index that is no whole number, and `None` as a whole if the order has another form. The
    /// mistake has been noted in either case.
    pub(super) indices: Option<Vec<Option<i64>>>,
}

impl Order {
    /// The place of the image number `idx` in the artifact. Computed on demand, because an artifact
    /// may have a million images.
    pub(super) fn at(&self, idx: usize) -> String {
        match self.task {
            Name::Is(_) => item_of(&self.at, idx),
            Name::BeginsWith(_) => line_of(&self.at, idx),
        }
    }
}

fn item_of(list: &str, idx: usize) -> String {
    format!("{list}/{idx}")
}

fn line_of(file: &str, line_idx: usize) -> String {
    format!("{file} line {}", line_idx + 1)
}

/// How long the submitter's method took for one task.
#[derive(Debug)]
pub(super) struct Time {
    pub(super) at: String,
    pub(super) task: Name,
    /// The seconds; `None` if the value is no number of seconds, which has been noted.
    pub(super) seconds: Option<f64>,
}

/// A parsed artifact, with the mistakes in its form, to which the rules add theirs.
#[derive(Debug)]
pub struct Artifact {
    pub(super) orders: Vec<Order>,
    pub(super) times: Vec<Time>,
    pub(super) reasons: Reasons,
}

impl Artifact {
    /// Reads the artifact's form.
    ///
    /// # Errors
    /// A [`Rejection`] when it is neither JSON nor a zip that can be unpacked; a wrong form is reported together with
    /// broken rules.
    pub fn parse(artifact: &[u8]) -> Result<Self, Rejection> {
        let mut read = Self {
            orders: Vec::new(),
            times: Vec::new(),
            reasons: Reasons::default(),
        };
        if is_zip(artifact) {
            for file in unpack(artifact, BOUNDS)? {
                read.add_file(&file);
            }
        } else {
            for (task, order) in Json::parse(artifact)?.into_members("", &mut read.reasons) {
                read.add_json(task, order);
            }
        }
        Ok(read)
    }

    fn add_json(&mut self, task: String, order: Json) {
        let at = pointer("", &task);
        let task = Name::Is(task);
        let Json::Array(items) = order else {
            let message = format!("expected an array of image indices here, found {}", order.kind());
            self.reasons.add(Reason::new("wrong_type", &at, message));
            return self.orders.push(Order {
                at,
                task,
                indices: None,
            });
        };
        let index = |(idx, item): (usize, Json)| {
            let (value, shown) = match item {
                Json::Number(number) => (number.as_i64(), quote(&number.to_string())),
                other => (None, other.kind().to_owned()),
            };
            index(&mut self.reasons, || item_of(&at, idx), value, &shown)
        };
        let indices = Some(items.into_iter().enumerate().map(index).collect());
        self.orders.push(Order { at, task, indices });
    }

    fn add_file(&mut self, file: &Entry) {
        let at = file.name.clone();
        let Some(stem) = at.strip_suffix(".txt") else {
            let message = format!(
                "{} is not part of a submission: the zip holds a file `TASK_anything.txt` for each task, \
                    and `time_TASK_anything.txt`",
                quote(&at)
            );
            return self.reasons.add(Reason::new("unknown_file", &at, message));
        };
        let text = text_of_file(file.text_bytes());
        if let Err(why) = &text {
            let message = format!("{}: {why}", quote(&at));
            self.reasons.add(Reason::new("not_utf8", &at, message));
        }
        let text = text.ok();
        let text = text.as_deref();
        if let Some(task) = stem.strip_prefix(TIME) {
            let task = Name::BeginsWith(task.to_owned());
            let seconds = text.and_then(|text| seconds(&mut self.reasons, &at, text));
            self.times.push(Time { at, task, seconds });
        } else {
            let task = Name::BeginsWith(stem.to_owned());
            let indices = text.map(|text| indices(&mut self.reasons, &at, text));
            self.orders.push(Order { at, task, indices });
        }
    }
}

fn index(reasons: &mut Reasons, at: impl FnOnce() -> String, value: Option<i64>, shown: &str) -> Option<i64> {
    if value.is_none() {
        let message = format!("the index is {shown}: give the number of an image");
        reasons.add(Reason::new("bad_index", at(), message));
    }
    value
}

fn indices(reasons: &mut Reasons, file: &str, text: &str) -> Vec<Option<i64>> {
    let lines = text.trim_end().lines().enumerate();
    lines
        .map(|(line_idx, line)| {
            let line = line.trim();
            let value = line.parse().ok();
            index(reasons, || line_of(file, line_idx), value, &quote(line))
        })
        .collect()
}

fn seconds(reasons: &mut Reasons, file: &str, text: &str) -> Option<f64> {
    let text = text.trim();
    let seconds = text
        .parse()
        .ok()
        .filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
    if seconds.is_none() {
        let message = format!(
            "the time is {}: give one number, the seconds that the method took, or leave it out",
            quote(text)
        );
        reasons.add(Reason::new("bad_time", file, message));
    }
    seconds
}
