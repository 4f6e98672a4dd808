//! Checks a challenge against the published data sets.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::Result;
use dataperf::challenge::{Challenge, Round, named_by_dataset};
use dataperf::dataset::DatasetError;
use dataperf::dataset::active::{InForce, published_manifest};
use dataperf::dataset::frozen::{FileEntry, FrozenError, Manifest};
use dataperf::dataset_history::Noted;
use dataperf::ports::bucket::Bucket;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::table::maintenance::Maintenance as _;
use dataperf::{Descriptor, Digest, Reason, Reasons, pointer, quote};
use dataperf_aws::{S3Bucket, Table};

use crate::cloud::active_boards::Boards;
use crate::cloud::{Cloud, now};
use crate::eval_files::{EvalFiles, eval_files, shared};
use crate::registry::hosted_extension;

/// Checks a challenge against the data sets that score it, and notes the evaluation data of their
/// leaderboards.
pub(super) struct AgainstData<'a> {
    pub(super) cloud: &'a Cloud,
    pub(super) descriptor: &'static Descriptor,
    pub(super) challenge: &'a mut Challenge,
}

impl AgainstData<'_> {
    /// Reasons to refuse the challenge, and warnings about possible mistakes.
    pub(super) async fn reasons(self) -> Result<(Reasons, Vec<Reason>)> {
        let (cloud, descriptor) = (self.cloud, self.descriptor);
        let warnings = same_items(cloud, descriptor, self.challenge).await?;
        Ok((self.refusals().await?, warnings))
    }

    async fn refusals(self) -> Result<Reasons> {
        let (cloud, descriptor) = (self.cloud, self.descriptor);
        if let Some(extension) = hosted_extension(descriptor.id) {
            let of_extension = async |pinned| usable(extension.evaluations(cloud.datasets(), pinned).await);
            return self.held_against(of_extension).await;
        }
        self.held_against(async |pinned| evaluations(cloud, descriptor, pinned).await)
            .await
    }

    /// Checks each round against the leaderboards of its pinned data set, or of the active ones.
    async fn held_against(
        self,
        evaluations: impl AsyncFn(Option<Digest>) -> Result<Result<BTreeMap<String, String>, String>>,
    ) -> Result<Reasons> {
        let mut reasons = Reasons::default();
        let at = pointer("/benchmarks", self.descriptor.id);
        let in_force = InForce::read(&self.cloud.datasets(), self.descriptor.id).await?;
        let (datasets, table) = (self.cloud.datasets(), self.cloud.leaderboards());
        // what the published challenge has done by now is noted for good, so that no later challenge can undo it
        let published = Challenge::note_published(&datasets, &table, self.descriptor.id, now()).await?;
        let noted = Noted::read(&table, self.descriptor.id).await?;
        for reason in undone(
            &table,
            self.descriptor,
            self.challenge,
            published.as_ref(),
            &noted,
        )
        .await?
        {
            let at = format!("{at}{}", reason.at);
            reasons.add(Reason { at, ..reason });
        }
        for (idx, round) in self.challenge.rounds.iter_mut().enumerate() {
            let at = format!("{at}/rounds/{idx}");
            let is_closed = round.is_closed(now());
            if let Some(reason) = hidden_in_use(round, &in_force, &at).filter(|_| !is_closed) {
                reasons.add(reason);
            }
            match evaluations(round.dataset).await? {
                Ok(evaluations) => {
                    round.evaluations = evaluations;
                    unknown_leaderboards(round, &at, &mut reasons);
                }
                Err(why) => {
                    let at = pointer(&at, "dataset");
                    reasons.add(Reason::new("unusable_dataset", at, why));
                }
            }
            if let Some(programs) = &round.programs {
                let at = format!("{at}/programs/public");
                match evaluations(Some(programs.public)).await? {
                    Ok(boards) => {
                        lacking_leaderboards(round, &boards, &at, &mut reasons);
                        let both = (round.dataset, programs.public);
                        if let Some(reason) = other_rules(&datasets, self.descriptor, both, &at).await? {
                            reasons.add(reason);
                        }
                    }
                    Err(why) => reasons.add(Reason::new("unusable_dataset", &at, why)),
                }
            }
            let retire = round.retire.map(|retire| retire.dataset);
            let before = published
                .as_ref()
                .and_then(|published| published.rounds.iter().find(|before| before.id == round.id));
            for (key, fresh, before) in [
                (
                    "final",
                    round.final_dataset,
                    before.and_then(|before| before.final_dataset),
                ),
                (
                    "retire/dataset",
                    retire,
                    before
                        .and_then(|before| before.retire)
                        .map(|retire| retire.dataset),
                ),
            ] {
                let Some(fresh) = fresh else { continue };
                let is_final = key == "final";
                let at = format!("{at}/{key}");
                match evaluations(Some(fresh)).await? {
                    Ok(boards) => lacking_leaderboards(round, &boards, &at, &mut reasons),
                    Err(why) => reasons.add(Reason::new("unusable_dataset", &at, why)),
                }
                if !is_final && noted.is_retired_for(&round.id, fresh) {
                    continue; // it has been put to use by this
                }
                // after the close it may become active
                let may_be_in_force = is_final && is_closed && before == Some(fresh);
                let used = if in_force.datasets().contains(&fresh) && !may_be_in_force {
                    Some("it is in force".to_owned())
                } else {
                    // what was accepted once stays
                    noted.is_used(fresh, is_final).filter(|_| before != Some(fresh))
                };
                let Some(why) = used else { continue };
                reasons.add(not_fresh(is_final, &why, at));
            }
        }
        Ok(reasons)
    }
}

/// Refuses a final data set, or the one of `retire`, that has been put to use.
fn not_fresh(is_final: bool, why: &str, at: String) -> Reason {
    let (code, rule) = if is_final {
        (
            "final_in_use",
            "no upload may have been scored with a `final` data set",
        )
    } else {
        (
            "successor_in_use",
            "no upload may have been scored with the data set of `retire` before",
        )
    };
    let message = format!(
        "this data set is not fresh: {why}, and {rule}. Publish another data set with `dataperf dataset publish \
         --stage`, and name that"
    );
    Reason::new(code, at, message)
}

/// Refuses a round whose hidden data set is active: programs have to meet it unseen, but everybody
/// may have it.
fn hidden_in_use(round: &Round, in_force: &InForce, at: &str) -> Option<Reason> {
    let hidden = round.dataset.filter(|_| round.programs.is_some());
    let hidden = hidden.filter(|hidden| in_force.datasets().contains(hidden))?;
    let message = format!(
        "{hidden} is active, so everybody can read its pool, but programs must run on unseen data: upload another data \
         set with `dataperf dataset publish --stage`, and name it"
    );
    Some(Reason::new("hidden_in_use", pointer(at, "dataset"), message))
}

/// Refuses a round whose public data set has other rules than its hidden one; `None` also if one of
/// the two can't be read.
async fn other_rules(
    datasets: &impl Bucket,
    descriptor: &Descriptor,
    (hidden, public): (Option<Digest>, Digest),
    at: &str,
) -> Result<Option<Reason>> {
    let rules = async |dataset| {
        let manifest = published_manifest(datasets, descriptor.id, dataset).await?;
        Ok((descriptor.rules_of_programs)(&manifest)?)
    };
    let Some(hidden) = hidden else {
        return Ok(None);
    };
    let (Ok(of_hidden), Ok(of_public)) = (usable(rules(hidden).await)?, usable(rules(public).await)?) else {
        return Ok(None);
    };
    let other = of_hidden.as_object().into_iter().flatten();
    let other = other.filter(|(key, rule)| of_public.get(key.as_str()) != Some(rule));
    let other: Vec<String> = other
        .map(|(key, rule)| {
            let here = &of_public[key];
            format!("`{key}` is {rule} in the hidden data set and {here} in this one")
        })
        .collect();
    Ok((!other.is_empty()).then(|| {
        let message = format!(
            "the public data set, on which people try their programs, has other rules than the round's \
             hidden one, {hidden}: {}. Import both with the same rules",
            other.join(", ")
        );
        Reason::new("other_rules", at, message)
    }))
}

/// Reasons to refuse a document that would undo what the published challenge has done or the table has noted.
async fn undone(
    table: &Table,
    descriptor: &Descriptor,
    challenge: &Challenge,
    published: Option<&Challenge>,
    noted: &Noted,
) -> Result<Vec<Reason>> {
    let mut reasons = noted.undone(challenge);
    reasons.extend(published.and_then(|published| published.uncovered(Some(challenge), now())));
    let mut finished = BTreeMap::new();
    for board in table.boards(descriptor.id).await? {
        let run = table.run(&board.of_final()).await?;
        let ended = run.and_then(|run| run.ended_at);
        finished.extend(ended.map(|ended| (board.round, ended)));
    }
    for (idx, round) in challenge.rounds.iter().enumerate() {
        let is_open = round.closes.is_none_or(|closes| closes > now());
        if let Some(ended) = finished.get(&round.id).filter(|_| is_open) {
            let message = format!(
                "this round was finished at {ended}: everybody sees its scores with all digits, and a final board would miss \
                    new uploads. Keep its `closes`, or give the round that goes on another id"
            );
            reasons.push(Reason::new(
                "finish_undone",
                format!("/rounds/{idx}/closes"),
                message,
            ));
        }
    }
    Ok(reasons)
}

/// The test files of published data sets, each of which is read once.
struct PublishedEvalFiles<'a> {
    datasets: &'a S3Bucket,
    descriptor: &'static Descriptor,
    known: RefCell<BTreeMap<Digest, Option<EvalFiles>>>,
}

impl PublishedEvalFiles<'_> {
    /// The test files of a data set; `None` if the data set can't be read, which is refused elsewhere.
    async fn read(&self, dataset: Digest) -> Result<Option<EvalFiles>> {
        let cached = self.known.borrow().get(&dataset).cloned();
        if let Some(cached) = cached {
            return Ok(cached);
        }
        let read = match published_manifest(self.datasets, self.descriptor.id, dataset).await {
            Ok(manifest) => Some(eval_files(self.descriptor, &manifest).await?),
            Err(DatasetError::Frozen(_)) => None,
            Err(DatasetError::Port(error)) => return Err(error.into()),
        };
        self.known.borrow_mut().insert(dataset, read.clone());
        Ok(read)
    }

    /// Warns for the first of the rounds of other rounds that have its items under another data set and close at another time.
    async fn of_other_rounds(&self, rounds: &[Round]) -> Result<Vec<String>> {
        let Some((round, others)) = rounds.split_first() else {
            return Ok(Vec::new());
        };
        let pinned = |round: &Round| round.dataset.filter(|_| round.programs.is_none());
        let is_closed = |round: &Round| round.is_closed(now());
        let mut messages = Vec::new();
        for other in others {
            let (Some(one), Some(two)) = (pinned(round), pinned(other)) else {
                continue;
            };
            if one == two || round.closes == other.closes || is_closed(round) && is_closed(other) {
                continue;
            }
            let (Some(of_one), Some(of_two)) = (self.read(one).await?, self.read(two).await?) else {
                continue;
            };
            let same = shared(&of_one, &of_two);
            if !same.is_empty() {
                messages.push(format!(
                    "the test sets {} of {one} have the same items as those of {two}, with which the round {} is scored. When \
                        the first of the two rounds closes, its results reveal these items while the other round is open. Name \
                        one data set for both rounds, or data sets with different items",
                    quoted(&same),
                    quote(&other.id)
                ));
            }
        }
        Ok(messages)
    }
}

/// Warns of data sets that share items with another one. It checks data sets that have to be fresh,
/// and those that a limited round is scored with. Unreadable data sets are refused elsewhere.
async fn same_items(
    cloud: &Cloud,
    descriptor: &'static Descriptor,
    challenge: &Challenge,
) -> Result<Vec<Reason>> {
    if hosted_extension(descriptor.id).is_some() {
        return Ok(Vec::new());
    }
    let datasets = cloud.datasets();
    let eval_files = PublishedEvalFiles {
        datasets: &datasets,
        descriptor,
        known: RefCell::default(),
    };
    let files_of = |dataset| eval_files.read(dataset);
    let in_force = usable(InForce::read(&datasets, descriptor.id).await)?;
    let in_force: Vec<Digest> = in_force
        .map(|named_by| named_by.datasets().into_iter().collect())
        .unwrap_or_default();
    let mut warnings = Vec::new();
    for (idx, round) in challenge.rounds.iter().enumerate() {
        let at = format!("{}/rounds/{idx}", pointer("/benchmarks", descriptor.id));
        let retire = round.retire.map(|retire| retire.dataset);
        let seen = round
            .dataset
            .map_or_else(|| in_force.clone(), |pinned| vec![pinned]);
        for (key, fresh) in [("final", round.final_dataset), ("retire/dataset", retire)] {
            let Some(of_fresh) = (match fresh {
                Some(fresh) => files_of(fresh).await?,
                None => None,
            }) else {
                continue;
            };
            for other in seen.iter().filter(|other| Some(**other) != fresh) {
                let of_other = files_of(*other).await?.unwrap_or_default();
                let same = shared(&of_fresh, &of_other);
                if !same.is_empty() {
                    let message = format!(
                        "its test sets {} have the same items as those of {other}, which uploads are scored \
                         with: submitters have learnt about these items from scores already. Take a data set \
                         with other items, such as one of the two that `dataperf dataset split` makes",
                        quoted(&same)
                    );
                    warnings.push(Reason::new("same_items", format!("{at}/{key}"), message));
                }
            }
        }
        if let (Some(hidden), Some(programs)) = (round.dataset, &round.programs) {
            let same = same_files(&datasets, descriptor, [hidden, programs.public]).await?;
            if !same.is_empty() {
                let message = format!(
                    "it has {} of {hidden}, which programs must not know: import another pool",
                    quoted(&same.iter().map(String::as_str).collect::<Vec<_>>())
                );
                warnings.push(Reason::new(
                    "same_files",
                    format!("{at}/programs/public"),
                    message,
                ));
            }
        }
        let of_others = eval_files.of_other_rounds(&challenge.rounds[idx..]).await?;
        let as_warning = |message: String| Reason::new("same_items", format!("{at}/dataset"), message);
        warnings.extend(of_others.into_iter().map(as_warning));
        if !round.is_limited() {
            continue;
        }
        // boards outside of the round count by themselves, and the others by data set
        let counted = round.dataset.iter().chain(&in_force);
        for (n, one) in seen.iter().enumerate() {
            for other in counted.clone().filter(|other| !seen[..=n].contains(other)) {
                let (Some(of_one), Some(of_other)) = (files_of(*one).await?, files_of(*other).await?) else {
                    continue;
                };
                let same = shared(&of_one, &of_other);
                if !same.is_empty() {
                    let message = format!(
                        "the test sets {} of {one} have the same items as those of {other}, and uploads to \
                         boards of the two are counted separately: a submitter who uploads to both has twice \
                         the limit. Import their boards as one data set, or give the two data sets different \
                         items",
                        quoted(&same)
                    );
                    warnings.push(Reason::new("same_items", at.clone(), message));
                }
            }
        }
    }
    Ok(warnings)
}

/// The paths of the files for participants that two data sets have in common; none if one data set can't be read.
async fn same_files(
    datasets: &impl Bucket,
    descriptor: &Descriptor,
    both: [Digest; 2],
) -> Result<Vec<String>> {
    let [one, other] = both.map(|dataset| published_manifest(datasets, descriptor.id, dataset));
    let (Ok(one), Ok(other)) = (usable(one.await)?, usable(other.await)?) else {
        return Ok(Vec::new());
    };
    let is_same = |(path, entry): &(&String, &FileEntry)| {
        let there = other.files.get(*path);
        (descriptor.is_public)(path) && there.is_some_and(|there| there.digest == entry.digest)
    };
    let same = one.files.iter().filter(is_same);
    Ok(same.map(|(path, _)| path.clone()).collect())
}

fn quoted(sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|set| quote(set)).collect();
    sets.join(", ")
}

/// Refuses a data set of a round that lacks some of the round's boards: each board needs a score with it.
fn lacking_leaderboards(round: &Round, boards: &BTreeMap<String, String>, at: &str, reasons: &mut Reasons) {
    let of_round = round.evaluations.keys().filter(|board| round.has(board));
    let lacking: Vec<&str> = of_round
        .filter(|board| !boards.contains_key(*board))
        .map(String::as_str)
        .collect();
    if !lacking.is_empty() {
        let message = format!(
            "the data set has no leaderboard `{}`, which the round has: import it with the same leaderboards",
            lacking.join("`, `")
        );
        reasons.add(Reason::new("unknown_leaderboard", at, message));
    }
}

fn unknown_leaderboards(round: &Round, at: &str, reasons: &mut Reasons) {
    for (idx, name) in round.leaderboards.iter().enumerate() {
        if round.evaluations.contains_key(name) {
            continue;
        }
        let names: Vec<&str> = round.evaluations.keys().map(String::as_str).collect();
        let subject = if round.dataset.is_some() {
            "the data set has"
        } else {
            "the active data sets have"
        };
        let message = format!(
            "{subject} no leaderboard {}, but `{}`",
            quote(name),
            names.join("`, `")
        );
        reasons.add(Reason::new(
            "unknown_leaderboard",
            format!("{at}/leaderboards/{idx}"),
            message,
        ));
    }
}

/// The leaderboards of a data set, or of all active ones, each with its evaluation data, or why
/// they can't be used.
async fn evaluations(
    cloud: &Cloud,
    descriptor: &Descriptor,
    pinned: Option<Digest>,
) -> Result<Result<BTreeMap<String, String>, String>> {
    let datasets = cloud.datasets();
    let evaluations = async {
        let named = |manifest: &Manifest, dataset| {
            Ok::<_, DatasetError>(named_by_dataset((descriptor.evaluations)(manifest)?, dataset))
        };
        if let Some(pinned) = pinned {
            return named(
                &published_manifest(&datasets, descriptor.id, pinned).await?,
                pinned,
            );
        }
        let in_force = Boards::read(&datasets, descriptor).await?;
        let mut evaluations = BTreeMap::new();
        for (dataset, manifest) in &in_force.manifests {
            let mut of_dataset = named(manifest, *dataset)?;
            of_dataset.retain(|board, _| {
                let board = in_force.boards.get(board);
                board.is_some_and(|board| board.dataset == *dataset)
            });
            evaluations.extend(of_dataset);
        }
        Ok(evaluations)
    };
    usable(evaluations.await)
}

/// The contents of a data set, or why it can't be used.
fn usable<T>(result: Result<T, DatasetError>) -> Result<Result<T, String>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(DatasetError::Frozen(FrozenError::Missing { .. })) => Ok(Err(
            "it is not published: upload it with `dataperf dataset publish --stage`".into(),
        )),
        Err(DatasetError::Frozen(error)) => Ok(Err(error.to_string())),
        Err(DatasetError::Port(error)) => Err(error.into()),
    }
}
