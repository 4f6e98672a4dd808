//! Contexts: the texts for which people write their own.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::Fields;
use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons, Rejection, quote};
use serde::{Deserialize, Serialize};

use crate::text::task::Task;

/// The most contexts of a data set.
pub const MAX_CONTEXTS: usize = 20_000;
/// The largest file of contexts, in bytes: it is kept in memory.
pub const MAX_CONTEXTS_BYTES: u64 = 64 << 20;
/// The most characters of a context.
pub const MAX_CONTEXT_CHARS: usize = 10_000;
const MAX_ID_BYTES: usize = 64;

/// A text for which people write their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Its id, as lines name it.
    pub id: String,
    /// The task that it is for.
    pub task: Task,
    /// The text itself.
    pub text: String,
}

/// All contexts of a data set, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contexts(BTreeMap<String, Context>);

impl Contexts {
    /// Reads `public/contexts.jsonl`.
    ///
    /// # Errors
    /// A [`Rejection`] with everything that is wrong with it.
    pub fn parse(file: &[u8]) -> Result<Self, Rejection> {
        let n_bytes = file.len() as u64;
        if n_bytes > MAX_CONTEXTS_BYTES {
            let message = format!(
                "the contexts have {n_bytes} bytes, the limit is {MAX_CONTEXTS_BYTES}: leave some out"
            );
            return Err(Reason::over("too_large", "", MAX_CONTEXTS_BYTES, n_bytes, message).into());
        }
        let (mut reasons, mut contexts, mut seen) = (Reasons::default(), BTreeMap::new(), BTreeSet::new());
        let lines = file.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        for (idx, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            let at = format!("line {}", idx + 1);
            let Some(context) = context(line, &at, &mut reasons) else {
                continue;
            };
            if seen.insert(context.id.clone()) {
                contexts.insert(context.id.clone(), context);
            } else {
                let message = format!("two contexts have the id {}: rename one", quote(&context.id));
                reasons.add(Reason::new("duplicate_context", at, message));
            }
        }
        let n = seen.len();
        if n > MAX_CONTEXTS {
            let message = format!("there are {n} contexts, the limit is {MAX_CONTEXTS}: leave some out");
            reasons.add(Reason::over(
                "too_many_contexts",
                "",
                MAX_CONTEXTS as u64,
                n as u64,
                message,
            ));
        }
        reasons.into_verdict(Self(contexts))
    }

    /// The context with this id.
    pub fn get(&self, id: &str) -> Option<&Context> {
        self.0.get(id)
    }

    /// All contexts, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Context> {
        self.0.values()
    }

    /// The contexts of a task, in the order of their ids.
    pub fn for_task(&self, task: Task) -> impl Iterator<Item = &Context> {
        self.iter().filter(move |context| context.task == task)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Context> for Contexts {
    fn from_iter<T: IntoIterator<Item = Context>>(contexts: T) -> Self {
        Self(
            contexts
                .into_iter()
                .map(|context| (context.id.clone(), context))
                .collect(),
        )
    }
}

fn context(line: &[u8], at: &str, reasons: &mut Reasons) -> Option<Context> {
    let json = match Json::parse(line) {
        Ok(json) => json,
        Err(rejection) => {
            for reason in rejection.reasons() {
                reasons.add(Reason {
                    at: at.to_owned(),
                    ..reason.clone()
                });
            }
            return None;
        }
    };
    let mut fields = Fields::new(json, at, reasons)?;
    let id = fields.parsed(
        "id",
        "bad_id",
        "an id of a context: use 1 to 64 letters, digits, `-`, `_` and `.`",
        [""; 0],
        |id| is_context_id(id).then(|| id.to_owned()),
        reasons,
    );
    let task = fields.parsed(
        "task",
        "unknown_task",
        "a task: choose `nli`, `qa`, `sentiment` or `hate-speech`",
        Task::ALL.map(Task::as_str),
        |word| word.parse().ok(),
        reasons,
    );
    let text = fields.text("text", MAX_CONTEXT_CHARS, reasons);
    fields.finish("`id`, `task` and `text`", reasons);
    Some(Context {
        id: id?,
        task: task?,
        text: text?,
    })
}

fn is_context_id(id: &str) -> bool {
    let is_named = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(is_named)
}
