//! What each metric of a benchmark's verdicts is: its name for people, what can be drawn of it, and who sees it when.
//!
//! A verdict's `metrics` are JSON, because receipts outlive the code that wrote them. Their description is a table of the
//! benchmark ([`Benchmark::METRICS`](crate::Benchmark::METRICS)), from which everybody reads them: what is shown at which
//! level, what the page and the command line print, what can be drawn.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::feedback::Feedback;

/// A score and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Scorecard {
    /// The number that ranks.
    pub score: f64,
    /// Everything else worth showing, by name. The benchmark says in [`METRICS`](crate::Benchmark::METRICS) what each is.
    pub metrics: BTreeMap<String, Value>,
}

/// Stands for every name at one step of a way: each concept, task, market or class.
pub const EACH: &str = "*";

/// One metric, or one of each concept, task or market.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The way to it in `metrics`, steps parted by `/`; [`EACH`] stands for every name.
    pub path: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// The lowest level that shows it.
    pub level: Feedback,
    /// What it is made of.
    pub form: Form,
}

/// What a metric is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One number or word.
    Value,
    /// One number for each repetition. The score is their mean, over the parts as well where each part has some.
    Trials {
        /// What is repeated, such as `seed`.
        over: &'static str,
        /// The metric beside it with the repetitions' names; without one they are numbered from 1.
        labels: Option<&'static str>,
    },
    /// The names of repetitions.
    Labels,
    /// One number after each step.
    Curve {
        /// What steps count, from 1.
        x: &'static str,
        /// The metric beside it with the number before any step.
        before: &'static str,
        /// The metric beside it with the number that has to be reached.
        target: &'static str,
        /// The metric beside it with the first step that reaches it, from 0.
        reached: &'static str,
        /// The metric beside it with the number of steps there can be.
        n_steps: &'static str,
    },
}

impl Metric {
    /// One number or word.
    pub const fn value(path: &'static str, title: &'static str, level: Feedback) -> Self {
        Self {
            path,
            title,
            level,
            form: Form::Value,
        }
    }

    /// The same metric in another form.
    #[must_use]
    pub const fn of(self, form: Form) -> Self {
        Self { form, ..self }
    }

    fn steps(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/')
    }

    fn is_at(&self, place: &[&str]) -> bool {
        self.leads_through(place) && self.steps().count() == place.len()
    }

    fn leads_through(&self, place: &[&str]) -> bool {
        let mut steps = self.steps();
        place
            .iter()
            .all(|name| steps.next().is_some_and(|step| step == EACH || step == *name))
    }
}

/// A metric of a verdict: a number, a word or a list.
#[derive(Debug, Clone)]
pub struct Leaf<'a> {
    /// The names on the way to it.
    pub place: Vec<&'a str>,
    /// What is there.
    pub value: &'a Value,
    /// What it is; `None` when the benchmark does not describe it.
    pub metric: Option<&'static Metric>,
}

impl Leaf<'_> {
    /// The lowest level that shows it.
    pub fn level(&self) -> Feedback {
        self.metric.map_or(Feedback::Full, |metric| metric.level)
    }

    /// Its name: the way to it as described.
    pub fn name(&self) -> String {
        self.metric
            .map_or_else(|| self.place.join("/"), |metric| metric.path.to_owned())
    }
}

/// Every metric of a verdict, in the order of its names.
pub fn leaves<'a>(
    described: &'static [Metric],
    metrics: impl IntoIterator<Item = (&'a String, &'a Value)>,
) -> Vec<Leaf<'a>> {
    let mut found = Vec::new();
    for (name, value) in metrics {
        walk(described, &mut vec![name.as_str()], value, &mut found);
    }
    found
}

fn walk<'a>(
    described: &'static [Metric],
    place: &mut Vec<&'a str>,
    value: &'a Value,
    found: &mut Vec<Leaf<'a>>,
) {
    let metric = described.iter().find(|metric| metric.is_at(place));
    let inner = value
        .as_object()
        .filter(|_| metric.is_none() && described.iter().any(|metric| metric.leads_through(place)));
    let Some(inner) = inner else {
        found.push(Leaf {
            place: place.clone(),
            value,
            metric,
        });
        return;
    };
    for (name, value) in inner {
        place.push(name);
        walk(described, place, value, found);
        place.pop();
    }
}
