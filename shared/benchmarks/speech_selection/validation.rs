//! The rules: allowed clips, each under its own word and only once, at least two classes, within the limit.

use std::collections::HashMap;
use std::rc::Rc;

use super::artifact::{Artifact, Listed};
use super::frozen::{Frozen, Place};
use dataperf::{Reason, Reasons, Rejection, offer, pointer, quote};

/// A submission that obeys the rules: rows of the training matrix and their classes, in the order the models are
/// fitted in (it decides their last digits): words as the artifact lists them, a word's clips in frozen order,
/// then nontargets grouped by word as first seen, in listed order.
#[derive(Debug)]
pub struct Checked {
    rows: Vec<usize>,
    classes: Vec<usize>,
}

impl Checked {
    /// The rows of the training matrix that are chosen.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The classes of the chosen rows: 0 for nontarget, then the words in ascending order.
    pub fn classes(&self) -> &[usize] {
        &self.classes
    }

    pub(super) fn new(artifact: Artifact, frozen: &Frozen) -> Result<Self, Rejection> {
        let Artifact {
            targets,
            nontargets,
            reasons,
        } = artifact;
        let mut rules = Rules {
            frozen,
            reasons,
            first_seen: HashMap::new(),
            n_listed: 0,
        };
        let (mut rows, mut classes) = (Vec::new(), Vec::new());
        for (word, clips) in targets.iter().flatten() {
            let mut of_word = rules.target_rows(word, clips);
            of_word.sort_unstable();
            classes.resize(classes.len() + of_word.len(), frozen.class_of(word).unwrap_or(0));
            rows.extend(of_word);
        }
        if targets
            .as_ref()
            .is_some_and(|words| words.iter().all(|(_, clips)| clips.is_empty()))
        {
            let message = "the submission has no clip of a target word: choose at least one, because a model needs two classes";
            rules
                .reasons
                .add(Reason::over("too_few_classes", "/targets", 2, 1, message));
        }
        let of_nontargets = rules.nontarget_rows(nontargets.as_deref().unwrap_or_default());
        classes.resize(classes.len() + of_nontargets.len(), 0);
        rows.extend(of_nontargets);
        if nontargets.as_ref().is_some_and(Vec::is_empty) {
            let message = "the submission has no nontarget clip: choose at least one, because a model needs two classes";
            rules
                .reasons
                .add(Reason::over("no_nontargets", "/nontargets", 1, 0, message));
        }
        let (limit, n_listed) = (frozen.max_clips(), rules.n_listed);
        let n_words = targets.as_ref().map_or(0, Vec::len);
        let words = frozen.words().iter().map(String::as_str);
        rules.reasons.compare_unknown("words", n_words, words);
        rules.reasons.compare_unknown("ids", n_listed, frozen.ids());
        if n_listed > limit {
            let message = format!(
                "the submission has {n_listed} clips, this leaderboard allows {limit}: remove {} of them",
                n_listed - limit
            );
            rules.reasons.add(Reason::over(
                "too_many_clips",
                "",
                limit as u64,
                n_listed as u64,
                message,
            ));
        }
        rules.reasons.into_verdict(Self { rows, classes })
    }
}

struct Rules<'a> {
    frozen: &'a Frozen,
    reasons: Reasons,
    /// The place where each clip is first listed, by its id: the list, and the place in it.
    first_seen: HashMap<String, (Rc<str>, usize)>,
    n_listed: usize,
}

impl Rules<'_> {
    fn target_rows(&mut self, word: &str, clips: &[Listed]) -> Vec<usize> {
        let at = pointer("/targets", word);
        if self.frozen.class_of(word).is_none() {
            self.reasons.add_unknown("words", word, [""; 0], || {
                let known = offer(word, self.frozen.words());
                let message = format!("{} is not a target word: {known}", quote(word));
                Reason::new("unknown_word", at, message)
            });
            self.n_listed += clips.len();
            return Vec::new();
        }
        self.rows(clips, &at, Place::Target(word))
    }

    /// The rows of the listed nontargets, grouped by the word before the first slash of their ids.
    fn nontarget_rows(&mut self, clips: &[Listed]) -> Vec<usize> {
        let mut groups: Vec<(&str, Vec<Listed>)> = Vec::new();
        let mut group_of: HashMap<&str, usize> = HashMap::new();
        for (idx, id) in clips {
            let word = id.split('/').next().unwrap_or_default();
            let group = *group_of.entry(word).or_insert_with(|| {
                groups.push((word, Vec::new()));
                groups.len() - 1
            });
            groups[group].1.push((*idx, id.clone()));
        }
        groups
            .iter()
            .flat_map(|(_, clips)| self.rows(clips, "/nontargets", Place::Nontarget))
            .collect()
    }

    fn rows(&mut self, clips: &[Listed], at: &str, place: Place<'_>) -> Vec<usize> {
        let mut rows = Vec::new();
        self.n_listed += clips.len();
        let list: Rc<str> = at.into();
        for (idx, id) in clips {
            let at = format!("{list}/{idx}");
            if let Some((first, first_idx)) = self.first_seen.get(id) {
                let message = format!(
                    "{} is also at `{first}/{first_idx}`: remove one of the two",
                    quote(id)
                );
                self.reasons.add(Reason::new("duplicate_clip", at, message));
                continue;
            }
            self.first_seen.insert(id.clone(), (list.clone(), *idx));
            let Some(row) = self.frozen.row_of(id) else {
                self.reasons.add_unknown("ids", id, [""; 0], || {
                    let message = format!(
                        "{} is not in the allowed training set: choose from that set",
                        quote(id)
                    );
                    Reason::new("unknown_clip", at, message)
                });
                continue;
            };
            let own = self.frozen.place_of(row);
            if own == place {
                rows.push(row);
            } else {
                let message = match own {
                    Place::Target(word) => format!(
                        "{} is a clip of the target word {}: list it there",
                        quote(id),
                        quote(word)
                    ),
                    Place::Nontarget => {
                        format!("{} is a nontarget clip: list it under `nontargets`", quote(id))
                    }
                };
                self.reasons.add(Reason::new("wrong_word", at, message));
            }
        }
        rows
    }
}
