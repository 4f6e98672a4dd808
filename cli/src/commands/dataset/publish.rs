//! `dataperf dataset publish`: immutable files first, then the one object that says which data set each board is scored with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use aws_sdk_s3::error::SdkError;
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::benchmark::Leaderboard;
use dataperf::board::Board;
use dataperf::challenge::{Challenge, ChallengeError, Round, named_by_dataset};
use dataperf::dataset::active::{InForce, published_manifest};
use dataperf::dataset::frozen::{FrozenError, MANIFEST, Manifest};
use dataperf::dataset::{DatasetError, dataset_prefix, kit_key, rules_key, summary_key};
use dataperf::dataset_history::{note_seen, seen_datasets};
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Descriptor, Digest, quote};
use dataperf_aws::{Grant, change_in_force};
use serde_json::{Value, json};

use super::kit;
use super::meaning::{Meaning, WARNINGS};
use super::objects::{Object, StoredState};
use super::trial::try_all;
use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::commands::organizer::submitter::lacking;
use crate::eval_files::{eval_files, shared};
use crate::hosted::descriptor;
use crate::on_disk::{Opened, damages, open};
use crate::output::progress;
use crate::output::{Format, n_of, print_json};

#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The frozen data set's directory
    directory: PathBuf,
    /// Upload only; boards stay as they are
    #[arg(long)]
    stage: bool,
    /// Replace the active data sets of its boards
    #[arg(long, conflicts_with = "stage")]
    replace: bool,
    /// Publish in spite of this warning of `dataset check`; repeatable
    #[arg(long, value_name = "CODE", value_parser = PossibleValuesParser::new(WARNINGS))]
    allow: Vec<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// The boards for which a published data set becomes active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    /// The active data sets do not change.
    Stage,
    /// All boards of the data set; refused if another data set has one of them.
    Add,
    /// All boards of the data set, in place of the data sets that have them.
    Replace,
}

/// The result of publishing.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// The files that were uploaded.
    pub(crate) n_uploaded: usize,
    /// The object of the participants' kit; `None` if the data set has nothing for participants.
    pub(crate) kit: Option<String>,
    /// The data set's boards.
    pub(crate) boards: Vec<String>,
    /// Those of them that were scored with another data set before, with that data set.
    pub(crate) replaced: BTreeMap<String, Digest>,
}

pub(super) async fn run(args: PublishArgs, format: Format) -> Result<Done> {
    let opened = open(&args.directory)?;
    let meaning = admitted(&args.directory, &opened, &args.allow).await?;
    let cloud = args.cloud.connect().await?;
    let switch = match (args.stage, args.replace) {
        (true, _) => Switch::Stage,
        (false, false) => Switch::Add,
        (false, true) => Switch::Replace,
    };
    let asked_before = asked_before(&cloud, &opened, switch).await?;
    let published = publish_with_summary(&cloud, &args.directory, &opened, meaning.as_ref(), switch).await?;
    let lacking = match switch {
        Switch::Stage => Vec::new(),
        Switch::Add | Switch::Replace => {
            lacking(&cloud, &opened.manifest.benchmark, &published.boards).await?
        }
    };
    let uncounted = uncounted(&cloud, &opened, switch).await?;
    let advice = Advice {
        lacking,
        uncounted,
        asked_before,
        to_rescore: to_rescore(&cloud, &opened, &published.replaced).await?,
    };
    say(&opened, &published, switch, &advice, format)
}

/// Publishes a data set as `dataset publish` does, and prints nothing.
#[cfg(feature = "local")]
pub(crate) async fn publish_unless_refused(
    cloud: &Cloud,
    directory: &Path,
    opened: &Opened,
    allow: &[String],
    switch: Switch,
) -> Result<Published> {
    let meaning = admitted(directory, opened, allow).await?;
    publish_with_summary(cloud, directory, opened, meaning.as_ref(), switch).await
}

/// The summary of a data set; `None` where it has none. A data set with warnings that are not allowed is an error.
async fn admitted(directory: &Path, opened: &Opened, allow: &[String]) -> Result<Option<Meaning>> {
    refuse_kit(directory, &opened.manifest)?;
    if !damages(directory, &opened.manifest).is_empty() {
        return Ok(None); // which the upload reports
    }
    let trials = try_all(directory, &opened.manifest).await?;
    let meaning = Meaning::read(directory, &opened.manifest, &trials).await?;
    if let Some(meaning) = &meaning {
        meaning.admit(allow)?;
    }
    Ok(meaning)
}

/// Publishes a data set with its summary and updates the boards' documents.
async fn publish_with_summary(
    cloud: &Cloud,
    directory: &Path,
    opened: &Opened,
    meaning: Option<&Meaning>,
    switch: Switch,
) -> Result<Published> {
    if let Some(meaning) = meaning {
        let key = summary_key(&opened.manifest.benchmark, opened.digest);
        store_document(cloud, &key, "application/json", meaning.stored()?).await?;
    }
    let published = publish(cloud, directory, opened, switch).await?;
    if switch != Switch::Stage {
        cloud.project_all(&opened.manifest.benchmark).await?;
    }
    Ok(published)
}

/// Stores a document about a data set for the page, before the data set becomes active.
async fn store_document(cloud: &Cloud, key: &str, media_type: &str, document: Vec<u8>) -> Result<()> {
    let put = cloud
        .clients
        .s3
        .put_object()
        .bucket(&cloud.names.datasets_bucket)
        .key(key)
        .content_type(media_type)
        .body(document.into());
    put.send().await.with_context(|| format!("can't store `{key}`"))?;
    Ok(())
}

/// The boards with scores that are scored with this data set from now on, in place of another one.
async fn to_rescore(
    cloud: &Cloud,
    opened: &Opened,
    replaced: &BTreeMap<String, Digest>,
) -> Result<Vec<Board>> {
    let hosted = descriptor(&opened.manifest.benchmark)?;
    let (datasets, table) = (cloud.datasets(), cloud.leaderboards());
    if replaced.is_empty() {
        return Ok(Vec::new());
    }
    let in_force = InForce::read(&datasets, hosted.id).await?;
    let challenge = Challenge::published(&datasets, hosted.id).await?;
    let mut boards = table.boards(hosted.id).await?;
    boards.retain(|board| !board.is_final() && replaced.contains_key(&board.leaderboard));
    let mut chosen = Vec::new();
    for board in boards {
        let series = table.series(&board).await?;
        let is_of_other = series.iter().any(|line| line.dataset != Some(opened.digest));
        let scored_with = table
            .scored_with(hosted, &in_force, challenge.as_ref(), &board, now())
            .await?;
        if is_of_other && scored_with == Some(opened.digest) {
            chosen.push(board);
        }
    }
    Ok(chosen)
}

/// Refuses a kit, which can't score because its hidden files are missing.
fn refuse_kit(directory: &Path, manifest: &Manifest) -> Result<()> {
    let descriptor = descriptor(&manifest.benchmark)?;
    if !manifest.files.is_empty() && manifest.files.keys().all(|path| (descriptor.is_public)(path)) {
        bail!(
            "`{}` has no hidden files to score with: it is a participants' kit; publish the data set that was imported, and its kit \
             is stored with it",
            directory.display()
        );
    }
    Ok(())
}

/// The limited rounds that a board of the data set is in, and whose challenge does not know its evaluation data yet.
async fn uncounted(cloud: &Cloud, opened: &Opened, switch: Switch) -> Result<Vec<String>> {
    let Opened { manifest, digest, .. } = opened;
    let descriptor = descriptor(&manifest.benchmark)?;
    if switch == Switch::Stage || descriptor.fixed.is_some() {
        return Ok(Vec::new());
    }
    let named = named_by_dataset((descriptor.evaluations)(manifest)?, *digest);
    let challenge = Challenge::published(&cloud.datasets(), descriptor.id).await?;
    let rounds = challenge.into_iter().flat_map(|challenge| challenge.rounds);
    let limited =
        rounds.filter(|round| (round.is_limited() || round.release().is_some()) && round.dataset.is_none());
    let outdated = limited.filter(|round| {
        let mut boards = named.iter().filter(|(board, _)| round.has(board));
        boards.any(|(board, evaluation)| round.evaluations.get(board) != Some(evaluation))
    });
    Ok(outdated.map(|round| round.id).collect())
}

/// The test sets that this data set shares with another data set that is or was active, by that
/// data set. Limits count uploads to the two data sets separately.
async fn asked_before(
    cloud: &Cloud,
    opened: &Opened,
    switch: Switch,
) -> Result<BTreeMap<String, Vec<String>>> {
    let mut request = BTreeMap::new();
    if switch == Switch::Stage {
        return Ok(request);
    }
    let Opened { manifest, digest, .. } = opened;
    let descriptor = descriptor(&manifest.benchmark)?;
    let (datasets, table) = (cloud.datasets(), cloud.leaderboards());
    let own = eval_files(descriptor, manifest).await?;
    let mut others = seen_datasets(&table, descriptor.id).await?;
    others.extend(
        usable(InForce::read(&datasets, descriptor.id).await)?
            .map(|named| named.datasets())
            .unwrap_or_default(),
    );
    for other in others.into_iter().filter(|other| other != digest) {
        let of_other = match published_manifest(&datasets, descriptor.id, other).await {
            Ok(manifest) => eval_files(descriptor, &manifest).await?,
            Err(DatasetError::Frozen(_)) => continue, // it is there no more
            Err(DatasetError::Port(error)) => return Err(error.into()),
        };
        let same = shared(&own, &of_other);
        if !same.is_empty() {
            request.insert(other.to_string(), same.into_iter().map(str::to_owned).collect());
        }
    }
    Ok(request)
}

/// The organizer's next steps after publishing.
struct Advice {
    lacking: Vec<(Grant, Vec<String>)>,
    uncounted: Vec<String>,
    asked_before: BTreeMap<String, Vec<String>>,
    /// Boards that have scores of a data set which this one has replaced.
    to_rescore: Vec<Board>,
}

fn say(
    opened: &Opened,
    published: &Published,
    switch: Switch,
    advice: &Advice,
    format: Format,
) -> Result<Done> {
    let Opened { manifest, digest, .. } = opened;
    let Published {
        n_uploaded,
        kit,
        boards,
        replaced,
    } = published;
    let in_force = switch != Switch::Stage;
    if format == Format::Json {
        let document = |(grant, lacks): &(Grant, Vec<String>)| json!({ "submitter": grant.submitter.as_str(), "access": "forms", "lacks": lacks });
        let lacking: Vec<Value> = advice.lacking.iter().map(document).collect();
        let document = json!({ "dataset": digest, "benchmark": manifest.benchmark, "uploaded_files": n_uploaded, "kit": kit, "in_force": in_force,
            "leaderboards": boards, "replaced": replaced, "submitters_without_rights": lacking, "rounds_to_publish_again": advice.uncounted, "same_items": advice.asked_before,
            "to_rescore": advice.to_rescore.iter().map(|board| json!({ "leaderboard": board.leaderboard, "round": board.round })).collect::<Vec<_>>() });
        print_json(&document)?;
        return Ok(Done::Fine);
    }
    println!(
        "{n_uploaded} of {} uploaded{}",
        n_of(manifest.files.len(), "file", "files"),
        if *n_uploaded < manifest.files.len() {
            "; the others were stored before"
        } else {
            ""
        }
    );
    if let Some(kit) = kit {
        let when = if in_force {
            "now"
        } else {
            "once the data set is active"
        };
        println!("the participants' kit is `{kit}`; the page offers it {when}");
    }
    if !in_force {
        println!("{digest} is uploaded for {}", manifest.benchmark);
        return Ok(Done::Fine);
    }
    println!(
        "{digest} is active for {}: `{}`",
        manifest.benchmark,
        boards.join("`, `")
    );
    for (board, before) in replaced {
        println!("`{board}` was scored with {before}");
    }
    advice.say(&manifest.benchmark);
    Ok(Done::Fine)
}

impl Advice {
    fn say(&self, benchmark: &str) {
        if !self.to_rescore.is_empty() {
            println!("scores from before have no rank until their boards are scored again:");
        }
        for board in &self.to_rescore {
            print!(
                "  dataperf rescore {benchmark} {} --round {}\n",
                board.leaderboard, board.round
            );
        }
        if !self.uncounted.is_empty() {
            println!(
                "the published challenge does not know yet which boards of this data set share a test set: \
                 uploads to such boards are counted apart in the rounds `{}`. Publish the challenge again, and \
                 they count together against the limits",
                self.uncounted.join("`, `")
            );
        }
        for (other, sets) in &self.asked_before {
            println!(
                "the test sets `{}` have the same items as those of {other}: submitters have learnt about \
                 these items from its scores already, and the limits count uploads to this data set from \
                 zero again. Publish a data set with other items, or lower the limits",
                sets.join("`, `")
            );
        }
        for (grant, lacks) in &self.lacking {
            println!("{} has no forms for `{}`", grant.submitter, lacks.join("`, `"));
        }
        if !self.lacking.is_empty() {
            println!("`dataperf submitter refresh {benchmark} --all` prints forms for them");
        }
    }
}

/// Uploads missing files, and makes the data set active for its boards unless it is only staged.
/// Existing objects are compared by SHA-256 and never overwritten. Evaluations that run meanwhile
/// see either the whole old data set or the whole new one.
pub(crate) async fn publish(
    cloud: &Cloud,
    directory: &Path,
    opened: &Opened,
    switch: Switch,
) -> Result<Published> {
    let Opened { manifest, digest, .. } = opened;
    let descriptor = descriptor(&manifest.benchmark)?;
    let boards = checked(directory, opened, descriptor)?;
    let boards: Vec<String> = boards.into_iter().map(|board| board.name).collect();
    let plan = Plan {
        cloud,
        descriptor,
        boards: &boards,
        dataset: *digest,
        switch,
    };
    if switch != Switch::Stage {
        not_awaited(cloud, descriptor.id, *digest).await?;
        let before = usable(InForce::read(&cloud.datasets(), descriptor.id).await)?;
        plan.change(before)?; // so that nothing is uploaded that is refused
    }
    let n_uploaded = upload(cloud, directory, opened).await?;
    let kit = store_kit(cloud, directory, opened).await?;
    let replaced = match switch {
        Switch::Stage => BTreeMap::new(),
        Switch::Add | Switch::Replace => plan.put_in_force().await?,
    };
    Ok(Published {
        n_uploaded,
        kit,
        boards,
        replaced,
    })
}

fn rounds_of(challenge: Option<&Challenge>) -> impl Iterator<Item = &Round> {
    challenge.into_iter().flat_map(|challenge| &challenge.rounds)
}

/// Refuses a data set that no upload may see yet: a round's final one, one that programs are to meet unseen, or the successor of a retired one.
async fn not_awaited(cloud: &Cloud, benchmark: &str, dataset: Digest) -> Result<()> {
    let challenge = match Challenge::published(&cloud.datasets(), benchmark).await {
        Ok(challenge) => challenge,
        Err(ChallengeError::Port(error)) => return Err(error.into()),
        Err(_) => None, // it is published again before anything is scored
    };
    let now = now();
    let mut finals = rounds_of(challenge.as_ref()).filter(|round| {
        let is_open = round.closes.is_none_or(|closes| closes > now);
        is_open && round.final_dataset == Some(dataset)
    });
    if let Some(round) = finals.next() {
        bail!(
            "{dataset} is the final data set of the round {}, which has not closed, and no upload may be \
             scored with it before. Upload the data set with `--stage`",
            quote(&round.id)
        );
    }
    let mut unseen = challenge
        .iter()
        .flat_map(|challenge| &challenge.rounds)
        .filter(|round| {
            let is_over = round.closes.is_some_and(|closes| closes <= now);
            round.programs.is_some() && round.dataset == Some(dataset) && !is_over
        });
    if let Some(round) = unseen.next() {
        bail!(
            "programs of the round {} run on {dataset}, which nobody may see before the close. Everybody can read the pool \
         of an active data set: upload it with `--stage`",
            quote(&round.id)
        );
    }
    let mut follows = rounds_of(challenge.as_ref()).filter(|round| {
        let is_open = round.closes.is_none_or(|closes| closes > now);
        let follows = round.retire.is_some_and(|retire| retire.dataset == dataset);
        is_open && follows && round.retired(now).is_none()
    });
    if let Some(round) = follows.next() {
        bail!(
            "{dataset} takes the place of the data set of the round {} when that is retired, and no upload \
             may be scored with it before. Upload the data set with `--stage`",
            quote(&round.id)
        );
    }
    Ok(())
}

/// Turns the error for an unusable active object into an answer, because `--replace` overwrites it.
fn usable(read: Result<InForce, DatasetError>) -> Result<Result<InForce, FrozenError>> {
    match read {
        Ok(in_force) => Ok(Ok(in_force)),
        Err(DatasetError::Frozen(error)) => Ok(Err(error)),
        Err(DatasetError::Port(error)) => Err(error.into()),
    }
}

/// The boards of a data set; an error if its files are damaged or something is wrong with its boards.
fn checked(directory: &Path, opened: &Opened, descriptor: &Descriptor) -> Result<Vec<Leaderboard>> {
    let boards = (descriptor.leaderboards)(&opened.manifest)?;
    let mut problems: Vec<String> = boards
        .iter()
        .flat_map(|board| board.problems(&opened.manifest))
        .collect();
    problems.extend(damages(directory, &opened.manifest));
    if !problems.is_empty() {
        bail!(
            "`{}` can't be published, it is damaged or wrong; import it again\n  - {}",
            directory.display(),
            problems.join("\n  - ")
        );
    }
    Ok(boards)
}

/// The data sets to make active.
struct Plan<'a> {
    cloud: &'a Cloud,
    descriptor: &'static Descriptor,
    boards: &'a [String],
    dataset: Digest,
    switch: Switch,
}

impl Plan<'_> {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.boards.iter().map(String::as_str)
    }

    /// Activates the boards, and returns the ones that had another data set.
    async fn put_in_force(&self) -> Result<BTreeMap<String, Digest>> {
        let mut replaced = BTreeMap::new();
        let (datasets, table) = (self.cloud.datasets(), self.cloud.leaderboards());
        change_in_force(&datasets, self.descriptor.id, async |before| {
            let (after, others) = self.change(before)?;
            let mut seen: BTreeSet<Digest> = others.values().copied().collect();
            seen.insert(self.dataset);
            note_seen(&table, self.descriptor.id, seen, now()).await?;
            replaced = others;
            Ok::<_, anyhow::Error>(Some(after))
        })
        .await?;
        Ok(replaced)
    }

    /// The active data sets after `before`, and the boards that have had another one until now.
    ///
    /// # Errors
    /// When another data set has some of the boards, and this one is not to take its place.
    fn change(&self, before: Result<InForce, FrozenError>) -> Result<(InForce, BTreeMap<String, Digest>)> {
        let mut after = match before {
            Ok(before) => before,
            Err(_) if self.switch == Switch::Replace => InForce::default(),
            Err(error) => return Err(error.into()),
        };
        let others = after.others_of(self.names(), self.dataset);
        if !others.is_empty() && self.switch != Switch::Replace {
            let others: Vec<String> = others
                .iter()
                .map(|(board, other)| format!("`{board}` of {other}"))
                .collect();
            bail!(
                "{} has active boards with these names and another data set; nothing was changed. Replace it with `--replace`, \
         or rename the boards and import again\n  - {}",
                self.descriptor.id,
                others.join("\n  - ")
            );
        }
        after.put(self.names(), self.dataset);
        Ok((after, others))
    }
}

/// Uploads the missing files, and gives their number without the manifest. Uploads nothing if the bucket has other files under the same names.
async fn upload(cloud: &Cloud, directory: &Path, opened: &Opened) -> Result<usize> {
    let Opened {
        manifest,
        digest,
        bytes,
    } = opened;
    let prefix = dataset_prefix(&manifest.benchmark, *digest);
    let manifest_path = directory.join(MANIFEST);
    let files = manifest.files.iter();
    let files = files.map(|(name, entry)| (name.as_str(), directory.join(name), entry.n_bytes, entry.digest));
    // the manifest comes last: once it is there, all files that it names are there
    let last = (MANIFEST, manifest_path, bytes.len() as u64, *digest);
    let mut missing = Vec::new();
    let mut other = Vec::new();
    for (name, path, n_bytes, digest) in files.chain([last]) {
        let key = format!("{prefix}{name}");
        match object(cloud, &key, &path, n_bytes, digest).find().await? {
            StoredState::Same => {}
            StoredState::Nothing => missing.push((name, key, path, n_bytes, digest)),
            StoredState::Other(how) => {
                other.push(format!("`s3://{}/{key}` has {how}", cloud.names.datasets_bucket));
            }
        }
    }
    if !other.is_empty() {
        bail!(
            "the bucket has other files under the name of this data set; nothing was uploaded. Data sets are never \
         overwritten: find out who stored these, delete them, and publish again\n  - {}",
            other.join("\n  - ")
        );
    }
    let n_missing = missing.iter().filter(|(name, ..)| *name != MANIFEST).count();
    let bar = progress::bytes(
        missing.iter().map(|(_, _, _, n_bytes, _)| n_bytes).sum(),
        "publishing",
    );
    for (_, key, path, n_bytes, digest) in &missing {
        object(cloud, key, path, *n_bytes, *digest).upload().await?;
        bar.inc(*n_bytes);
    }
    bar.finish_and_clear();
    Ok(n_missing)
}

/// Stores the participants' kit next to the data set's files, unless a kit exists: it never changes
/// one. Returns its key; `None` if the data set has nothing for participants.
async fn store_kit(cloud: &Cloud, directory: &Path, opened: &Opened) -> Result<Option<String>> {
    let Opened { manifest, digest, .. } = opened;
    let key = kit_key(&manifest.benchmark, *digest);
    let head = cloud
        .clients
        .s3
        .head_object()
        .bucket(&cloud.names.datasets_bucket)
        .key(&key);
    match head.send().await {
        Ok(_) => return Ok(Some(key)),
        Err(SdkError::ServiceError(error)) if error.err().is_not_found() => {}
        Err(error) => {
            return Err(error).with_context(|| format!("can't ask for the participants' kit `{key}`"));
        }
    }
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    let path = scratch.path().join("kit.zip");
    let made = kit::archive(directory, opened, scratch.path(), &path).await;
    let Some(archive) = made.context("can't make the participants' kit")? else {
        return Ok(None);
    };
    // store the kit last, because its presence means that both are stored
    let rules = rules_key(&manifest.benchmark, opened.digest);
    store_document(
        cloud,
        &rules,
        "text/markdown; charset=utf-8",
        archive.rules.into_bytes(),
    )
    .await?;
    object(cloud, &key, &path, archive.n_bytes, archive.digest)
        .upload()
        .await?;
    Ok(Some(key))
}

fn object<'a>(cloud: &'a Cloud, key: &'a str, path: &'a Path, n_bytes: u64, digest: Digest) -> Object<'a> {
    Object {
        s3: &cloud.clients.s3,
        bucket: &cloud.names.datasets_bucket,
        key,
        path,
        n_bytes,
        digest,
    }
}
