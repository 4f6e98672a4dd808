//! Describes each metric of a benchmark's verdicts: its name for people, its figure, and who sees
//! it when.
//!
//! A benchmark writes a typed [`Scorecard`]. A verdict's `metrics` are JSON, because receipts
//! outlive the code that wrote them. The benchmark describes them in a table
//! ([`Benchmark::METRICS`](crate::Benchmark::METRICS)). Every reader uses it: for what each level
//! shows, for what page and command line print, and for figures.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::benchmark::feedback::Feedback;

/// A score and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Scorecard {
    /// The number that ranks.
    pub score: f64,
    /// Everything else worth showing. The benchmark says in [`METRICS`](crate::Benchmark::METRICS) what each is.
    pub metrics: Metrics,
}

/// Metrics by their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics(BTreeMap<String, MetricValue>);

/// A metric.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    /// One number.
    Number(f64),
    /// How many.
    Count(u64),
    /// One word.
    Word(String),
    /// One number for each repetition, such as a seed.
    Trials(Vec<f64>),
    /// The names of the repetitions.
    Labels(Vec<u64>),
    /// One number after each step, from the first.
    Curve(Vec<f64>),
    /// One number for each class, group, task or whatever else has a name.
    Each(BTreeMap<String, f64>),
    /// How many of each class.
    Counts(BTreeMap<String, u64>),
    /// The same metrics of each concept, market or task, by its name.
    Table(BTreeMap<String, Metrics>),
}

impl Metrics {
    /// No metrics.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<MetricValue>) -> Self {
        self.insert(name, value);
        self
    }

    /// Adds one.
    pub fn insert(&mut self, name: &str, value: impl Into<MetricValue>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Adds the metrics of another scorecard.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// One of them.
    pub fn get(&self, name: &str) -> Option<&MetricValue> {
        self.0.get(name)
    }

    /// As a verdict has them. Numbers that are not finite become `null`.
    pub fn into_json(self) -> BTreeMap<String, Value> {
        let metrics = self.0.into_iter();
        metrics.map(|(name, value)| (name, value.into_json())).collect()
    }

    /// The places of metrics that `described` lacks, or has in another form: only the organizer
    /// could read them.
    pub fn undescribed(&self, described: &[Metric]) -> Vec<String> {
        let mut names = Vec::new();
        self.look(described, &mut Vec::new(), &mut names);
        names
    }

    fn look<'a>(&'a self, described: &[Metric], place: &mut Vec<&'a str>, names: &mut Vec<String>) {
        for (name, value) in &self.0 {
            place.push(name);
            match value {
                MetricValue::Table(rows) => {
                    for (row, metrics) in rows {
                        place.push(row);
                        metrics.look(described, place, names);
                        place.pop();
                    }
                }
                MetricValue::Each(numbers) => {
                    let numbers = numbers.iter();
                    let each = numbers.map(|(name, &number)| (name, MetricValue::Number(number)));
                    each.for_each(|(name, number)| note(described, place, Some(name), &number, names));
                }
                MetricValue::Counts(counts) => {
                    let counts = counts.iter();
                    let each = counts.map(|(name, &count)| (name, MetricValue::Count(count)));
                    each.for_each(|(name, count)| note(described, place, Some(name), &count, names));
                }
                one => note(described, place, None, one, names),
            }
            place.pop();
        }
    }
}

/// Notes where a value is, if it is not described there.
fn note(
    described: &[Metric],
    place: &[&str],
    name: Option<&String>,
    value: &MetricValue,
    names: &mut Vec<String>,
) {
    let place: Vec<&str> = place.iter().copied().chain(name.map(String::as_str)).collect();
    let metric = described.iter().find(|metric| metric.is_at(&place));
    if !metric.is_some_and(|metric| metric.form.has(value)) {
        names.push(place.join("/"));
    }
}

impl MetricValue {
    /// The names of seeds.
    pub fn seeds(seeds: &[u32]) -> Self {
        Self::Labels(seeds.iter().map(|&seed| u64::from(seed)).collect())
    }

    fn into_json(self) -> Value {
        match self {
            Self::Number(number) => number.into(),
            Self::Count(count) => count.into(),
            Self::Word(word) => word.into(),
            Self::Trials(numbers) | Self::Curve(numbers) => numbers.into(),
            Self::Labels(labels) => labels.into(),
            Self::Each(numbers) => of_names(numbers, Value::from),
            Self::Counts(counts) => of_names(counts, Value::from),
            Self::Table(rows) => of_names(rows, |metrics| of_names(metrics.0, Self::into_json)),
        }
    }
}

fn of_names<T>(values: BTreeMap<String, T>, json: impl Fn(T) -> Value) -> Value {
    let values = values.into_iter();
    Value::Object(values.map(|(name, value)| (name, json(value))).collect())
}

impl From<f64> for MetricValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for MetricValue {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for MetricValue {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<&str> for MetricValue {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

/// Stands for every name at one step of a way: each concept, task, market or class.
pub const EACH: &str = "*";

/// One metric, or one of each concept, task or market.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its path in `metrics`, with steps separated by `/`; [`EACH`] matches every name.
    pub path: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The lowest level that shows it.
    pub level: Feedback,
    /// Its form.
    pub form: Form,
}

/// The form of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One number or word.
    Value,
    /// One number for each repetition. The score is their mean, over the parts as well where each part has some.
    Trials {
        /// The unit of repetition, such as `seed`.
        over: &'static str,
        /// The neighbouring metric with the repetitions' names; without one they are numbered from
        /// 1.
        labels: Option<&'static str>,
    },
    /// The names of repetitions.
    Labels,
    /// One number after each step.
    Curve {
        /// The unit of the steps, which count from 1.
        x: &'static str,
        /// The neighbouring metric with the number before any step.
        before: &'static str,
        /// The neighbouring metric with the target number.
        target: &'static str,
        /// The neighbouring metric with the first step that reaches it, from 0.
        reached: &'static str,
        /// The neighbouring metric with the maximum number of steps.
        n_steps: &'static str,
    },
}

impl Form {
    /// Whether a metric of this form may have this value.
    fn has(self, value: &MetricValue) -> bool {
        match value {
            MetricValue::Number(_) | MetricValue::Count(_) | MetricValue::Word(_) => self == Self::Value,
            MetricValue::Trials(_) => matches!(self, Self::Trials { .. }),
            MetricValue::Labels(_) => self == Self::Labels,
            MetricValue::Curve(_) => matches!(self, Self::Curve { .. }),
            MetricValue::Each(_) | MetricValue::Counts(_) | MetricValue::Table(_) => false,
        }
    }
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
    pub const fn with_form(self, form: Form) -> Self {
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
    /// Its value.
    pub value: &'a Value,
    /// Its description; `None` if the benchmark does not describe it.
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
    let mut leaves = Vec::new();
    for (name, value) in metrics {
        walk(described, &mut vec![name.as_str()], value, &mut leaves);
    }
    leaves
}

fn walk<'a>(
    described: &'static [Metric],
    place: &mut Vec<&'a str>,
    value: &'a Value,
    leaves: &mut Vec<Leaf<'a>>,
) {
    let metric = described.iter().find(|metric| metric.is_at(place));
    let inner = value
        .as_object()
        .filter(|_| metric.is_none() && described.iter().any(|metric| metric.leads_through(place)));
    let Some(inner) = inner else {
        leaves.push(Leaf {
            place: place.clone(),
            value,
            metric,
        });
        return;
    };
    for (name, value) in inner {
        place.push(name);
        walk(described, place, value, leaves);
        place.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DESCRIBED: &[Metric] = &[
        Metric::value("score_of_all", "score", Feedback::Score),
        Metric::value("tasks/*/n", "examples", Feedback::Score),
        Metric::value("f1_per_class/*", "F1", Feedback::Score),
        Metric::value("n_per_class/*", "examples", Feedback::Score),
        Metric::value("tasks/*/per_seed", "score of each seed", Feedback::Score).with_form(Form::Trials {
            over: "seed",
            labels: Some("seeds"),
        }),
        Metric::value("seeds", "seeds", Feedback::Score).with_form(Form::Labels),
    ];

    fn of_names<T>(values: &[(&str, T)]) -> BTreeMap<String, T>
    where
        T: Clone,
    {
        values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    }

    fn metrics() -> Metrics {
        let task = Metrics::new()
            .with("n", 2_usize)
            .with("per_seed", MetricValue::Trials(vec![0.5, 1.0]));
        Metrics::new()
            .with("score_of_all", 1.0)
            .with("tasks", MetricValue::Table(of_names(&[("a", task)])))
            .with("f1_per_class", MetricValue::Each(of_names(&[("x", f64::NAN)])))
            .with("n_per_class", MetricValue::Counts(of_names(&[("x", 3)])))
            .with("seeds", MetricValue::seeds(&[7]))
    }

    #[test]
    fn a_verdict_has_them_as_json() {
        let written = serde_json::to_string(&metrics().into_json()).expect("JSON");
        let expected = r#"{"f1_per_class":{"x":null},"n_per_class":{"x":3},"score_of_all":1.0,"seeds":[7],"tasks":{"a":{"n":2,"per_seed":[0.5,1.0]}}}"#;
        assert_eq!(written, expected);
        let curve = Metrics::new()
            .with("curve", MetricValue::Curve(vec![]))
            .with("word", "w");
        assert_eq!(json!(curve.into_json()), json!({ "curve": [], "word": "w" }));
    }

    #[test]
    fn undescribed_and_mistyped_metrics_are_named() {
        assert_eq!(metrics().undescribed(DESCRIBED), [""; 0]);
        let task = Metrics::new()
            .with("n", MetricValue::Trials(vec![]))
            .with("m", 1.0);
        let others = Metrics::new()
            .with("score_of_all", MetricValue::Curve(vec![]))
            .with("tasks", MetricValue::Table(of_names(&[("a", task)])))
            .with("f1", MetricValue::Each(of_names(&[("x", 1.0)])))
            .with("n_per_group", MetricValue::Counts(of_names(&[("x", 3)])))
            .with("seeds", "seven");
        let named = [
            "f1/x",
            "n_per_group/x",
            "score_of_all",
            "seeds",
            "tasks/a/m",
            "tasks/a/n",
        ];
        assert_eq!(others.undescribed(DESCRIBED), named);
    }
}
