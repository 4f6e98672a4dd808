//! The rules: every task, each image of it exactly once.

use super::artifact::{Artifact, Name, Order};
use super::frozen::Frozen;
use dataperf::{Reason, Reasons, Rejection, offer, quote};

/// The most images that a message names by their numbers.
const MAX_LISTED: usize = 5;

/// A submission that obeys the rules.
#[derive(Debug)]
pub struct Checked {
    /// The inspections, in the order of the tasks.
    tasks: Vec<Inspection>,
}

/// The order in which one task's images are inspected.
#[derive(Debug, Clone, Default)]
pub struct Inspection {
    /// The images in the order of inspection, each once.
    pub(super) order: Vec<usize>,
    /// The time that the method took, in seconds, if the submitter says it.
    pub(super) seconds: Option<f64>,
}

impl Checked {
    /// The inspection of each task.
    pub fn tasks(&self) -> &[Inspection] {
        &self.tasks
    }

    pub(super) fn new(artifact: Artifact, frozen: &Frozen) -> Result<Self, Rejection> {
        let Artifact {
            orders,
            times,
            reasons,
        } = artifact;
        let mut rules = Rules {
            frozen,
            reasons,
            n_orders: 0,
            n_from_one: 0,
        };
        let mut tasks = vec![Inspection::default(); frozen.tasks().len()];
        let mut first_at: Vec<Option<String>> = vec![None; tasks.len()];
        for order in orders {
            if let Some(task) = rules.task(&order.at, &order.task, "duplicate_task", &mut first_at) {
                tasks[task].order = rules.order(task, &order);
            }
        }
        if rules.n_from_one > 0 && rules.n_from_one == rules.n_orders {
            let message =
                "every order counts images from 1, but the first image is 0: subtract 1 from each number";
            rules
                .reasons
                .explain(Some(Reason::new("index_out_of_range", "", message)));
        }
        let mut time_at = vec![None; tasks.len()];
        for time in times {
            if let Some(task) = rules.task(&time.at, &time.task, "duplicate_time", &mut time_at) {
                tasks[task].seconds = time.seconds;
            }
        }
        for (task, _) in frozen.tasks().zip(&first_at).filter(|(_, at)| at.is_none()) {
            let message = format!("the task {} is missing: add it", quote(task));
            rules.reasons.add(Reason::new("missing_task", "", message));
        }
        rules.reasons.into_verdict(Self { tasks })
    }
}

struct Rules<'a> {
    frozen: &'a Frozen,
    reasons: Reasons,
    /// The number of orders that were read; `n_from_one` of them count images from 1.
    n_orders: usize,
    n_from_one: usize,
}

impl Rules<'_> {
    /// The number of the task that is named, unless it was named before.
    fn task(&mut self, at: &str, name: &Name, twice: &str, first_at: &mut [Option<String>]) -> Option<usize> {
        let tasks = self.frozen.tasks().enumerate();
        let known = match name {
            Name::Is(name) => tasks.filter(|(_, task)| name == task).last(),
            Name::BeginsWith(name) => tasks
                .filter(|(_, task)| {
                    let rest = name.strip_prefix(task);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
                })
                .max_by_key(|(_, task)| task.len()),
        };
        let Some((task_idx, task)) = known else {
            let (Name::Is(name) | Name::BeginsWith(name)) = name;
            self.reasons.add_unknown("tasks", name, self.frozen.tasks(), || {
                let known = offer(name, self.frozen.tasks());
                let message = format!("{} is not a task: {known}", quote(name));
                Reason::new("unknown_task", at, message)
            });
            return None;
        };
        if let Some(first) = &first_at[task_idx] {
            let message = format!(
                "the task {} is also in `{first}`: remove one of the two",
                quote(task)
            );
            self.reasons.add(Reason::new(twice, at, message));
            return None;
        }
        first_at[task_idx] = Some(at.to_owned());
        Some(task_idx)
    }

    /// The images in their order; what keeps it from being a permutation is noted.
    fn order(&mut self, task: usize, order: &Order) -> Vec<usize> {
        let Some(indices) = &order.indices else {
            return Vec::new();
        };
        let n_images = self.frozen.n_images(task);
        let mut first_at: Vec<Option<usize>> = vec![None; n_images];
        let mut images = Vec::with_capacity(n_images);
        let mut n_one_too_high = 0;
        for (idx, value) in indices.iter().enumerate() {
            let Some(value) = *value else { continue };
            let image = usize::try_from(value).ok().filter(|&image| image < n_images);
            let Some(image) = image else {
                n_one_too_high += usize::from(usize::try_from(value).is_ok_and(|value| value == n_images));
                let message = format!(
                    "the image `{value}` does not exist: the images are 0 to {}",
                    n_images - 1
                );
                self.reasons
                    .add(Reason::new("index_out_of_range", order.at(idx), message));
                continue;
            };
            if let Some(first) = first_at[image] {
                let first = order.at(first);
                let message = format!("the image `{image}` is also at `{first}`: remove one of the two");
                self.reasons
                    .add(Reason::new("duplicate_index", order.at(idx), message));
                continue;
            }
            first_at[image] = Some(idx);
            images.push(image);
        }
        let missing: Vec<usize> = (0..n_images).filter(|&image| first_at[image].is_none()).collect();
        self.n_orders += 1;
        let is_from_one = missing == [0] && n_one_too_high == 1 && indices.len() == n_images;
        self.n_from_one += usize::from(is_from_one);
        if !missing.is_empty() {
            let listed: Vec<String> = missing.iter().take(MAX_LISTED).map(usize::to_string).collect();
            let more = if missing.len() > MAX_LISTED { ", ..." } else { "" };
            let message = format!(
                "the order lacks {} of {n_images} images: add {}{more}",
                missing.len(),
                listed.join(", ")
            );
            self.reasons.add(Reason::over(
                "missing_images",
                &order.at,
                n_images as u64,
                images.len() as u64,
                message,
            ));
        }
        images
    }
}
