//! `dataperf audit`: which labels of a test set are in doubt, and what correcting them does to the ranks.

#[cfg(feature = "cloud")]
mod effect;
#[cfg(feature = "cloud")]
mod effect_report;
mod report;

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
#[cfg(feature = "cloud")]
use clap::Subcommand;
use dataperf::dataset::frozen::Manifest;
use dataperf::{Digest, csv_cell, offer, quote};
use dataperf_audit::{Audit, ClassCount, Doubt, SetAudit, audit, control_sample};
use dataperf_datasets::labels::labelled::{Labelled, LabelledAt};
use dataperf_datasets::{CONTROL, IN_DOUBT, Import, WORK_LIST_COLUMNS};
use dataperf_numerics::agreement::share_interval;
use serde_json::{Value, json};

use crate::Done;
use crate::on_disk::{open, open_verified};
use crate::output::progress::PhaseBars;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{align_right, check_new_files, table, write_new};
use crate::registry::{Action, with_benchmark};

#[cfg(feature = "cloud")]
use effect::EffectArgs;
#[cfg(feature = "local")]
pub(crate) use effect::of_cloud;
#[cfg(feature = "local")]
pub(crate) use effect_report::{Gathered, print as print_effect};

#[derive(Debug, Args)]
#[cfg_attr(
    feature = "cloud",
    command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)
)]
pub(crate) struct AuditArgs {
    #[cfg(feature = "cloud")]
    #[command(subcommand)]
    command: Option<AuditCommand>,
    /// The frozen data set's directory, made by `dataperf dataset import`
    #[arg(required = true)]
    dataset: Option<PathBuf>,
    /// Audit only this test set: a language, concept, task or market, or `eval`
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
    /// Write the doubtful labels to this new CSV, with a column for verdicts
    #[arg(long, value_name = "FILE.csv")]
    work_list: Option<PathBuf>,
    /// Write everything to this new Markdown file
    #[arg(long, value_name = "FILE.md")]
    report: Option<PathBuf>,
    /// How many random rows of each test set to add to the work list, to estimate the error rate
    #[arg(long, value_name = "N", default_value_t = 100)]
    control: usize,
    /// How many labels in doubt to print
    #[arg(long, short = 'n', default_value_t = 20)]
    top: usize,
}

#[cfg(feature = "cloud")]
#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Score submissions on two versions of a data set, and show rank changes
    Effect(EffectArgs),
}

pub(crate) async fn run(args: AuditArgs, format: RowFormat) -> Result<Done> {
    #[cfg(feature = "cloud")]
    if let Some(AuditCommand::Effect(args)) = args.command {
        return effect::run(args, format).await;
    }
    let directory = args.dataset.context("name the data set's directory")?;
    check_new_files(&[args.work_list.as_deref(), args.report.as_deref()])?;
    check_has_labels(&open(&directory)?.manifest)?;
    let opened = open_verified(&directory)?;
    let task = AuditSets {
        directory: &directory,
        manifest: &opened.manifest,
        only: args.set.as_deref(),
    };
    let audited = with_benchmark(&opened.manifest.benchmark, task).await?;
    if let Some(path) = &args.work_list {
        write_work_list(path, &audited, args.control)?;
    }
    if let Some(path) = &args.report {
        let document = report::markdown(&opened.manifest.benchmark, opened.digest, &audited);
        write_new(path, &document)?;
    }
    let document = document(&opened.manifest.benchmark, opened.digest, &audited);
    let rows = || doubts(&document);
    print_tabled(
        || Ok(document.clone()),
        &DOUBTS,
        rows,
        format,
        || {
            print(&audited, args.top, args.work_list.as_deref());
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}

/// Audits a data set on disk.
pub(crate) struct AuditSets<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) manifest: &'a Manifest,
    pub(crate) only: Option<&'a str>,
}

impl Action for AuditSets<'_> {
    type Output = Audit;

    async fn run<B: Import>(self) -> Result<Audit> {
        let mut sets = there::<B>(self.manifest)?;
        let names: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
        if let Some(only) = self.only {
            sets.retain(|set| set.name == only);
        }
        if sets.is_empty() {
            match self.only.filter(|_| !names.is_empty()) {
                Some(only) => bail!("there is no test set {}: {}", quote(only), offer(only, &names)),
                None => bail!(
                    "`{}` is a participants' kit without a test set: audit the organizer's data set",
                    self.directory.display()
                ),
            }
        }
        let bars = PhaseBars::default();
        let audited = audit(self.directory, self.manifest, &sets, &bars)?;
        bars.finish();
        Ok(audited)
    }
}

/// The test sets whose files are in a data set. A participants' kit may lack some or all.
fn there<B: Import>(manifest: &Manifest) -> Result<Vec<LabelledAt>> {
    let mut sets = B::labelled(manifest)?;
    if !B::HAS_LABELS {
        bail!(
            "`{}` has right answers to texts, and no labels of rows of numbers: there is nothing to audit",
            B::ID
        );
    }
    sets.retain(|set| {
        manifest.files.contains_key(&set.rows.file) && manifest.files.contains_key(set.labels.file())
    });
    Ok(sets)
}

/// Refuses data sets of benchmarks whose items have no labels.
pub(crate) fn check_has_labels(manifest: &Manifest) -> Result<()> {
    if crate::registry::extension(&manifest.benchmark).is_some() {
        bail!(
            "raters judge {}: it has no test labels to audit",
            manifest.benchmark
        );
    }
    Ok(())
}

/// Reads all test sets of a data set on disk.
pub(crate) struct ReadSets<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) manifest: &'a Manifest,
}

impl Action for ReadSets<'_> {
    type Output = Vec<Labelled>;

    async fn run<B: Import>(self) -> Result<Vec<Labelled>> {
        let sets = there::<B>(self.manifest)?;
        if sets.is_empty() {
            bail!(
                "`{}` is a participants' kit without a test set: correct the organizer's data set",
                self.directory.display()
            );
        }
        let read = |at: &LabelledAt| at.read(self.directory, self.manifest);
        Ok(sets.iter().map(read).collect::<Result<_, _>>()?)
    }
}

/// The fields of a doubt's line in the work list, but the verdict.
pub(crate) fn work_list_line(set_audit: &SetAudit, doubt: &Doubt) -> [String; 8] {
    let classes = &set_audit.set.at.classes;
    let id = set_audit
        .set
        .ids
        .as_ref()
        .map_or("", |ids| ids[doubt.row].as_str());
    let by: Vec<&str> = doubt.flagged_by.iter().map(|learner| learner.name()).collect();
    [
        csv_cell(&set_audit.set.at.name).into_owned(),
        doubt.row.to_string(),
        csv_cell(id).into_owned(),
        csv_cell(&classes[doubt.given]).into_owned(),
        csv_cell(&classes[doubt.suggested]).into_owned(),
        format!("{:.4}", doubt.margin),
        by.join(" "),
        if doubt.is_likely() { "yes" } else { "no" }.to_owned(),
    ]
}

/// The work list of a test set, a line for each label in doubt and for each of a control sample. `verdict` says what a line's last field
/// is, by its row.
pub(crate) fn work_list<'a>(
    set_audit: &'a SetAudit,
    n_control: usize,
    verdict: impl Fn(usize) -> &'a str,
) -> Vec<[String; 10]> {
    let line = |fields: [String; 8], sample: &str, row: usize| {
        let [set, number, id, given, suggested, margin, by, likely] = fields;
        let (sample, verdict) = (sample.to_owned(), verdict(row).to_owned());
        [
            set, number, id, given, suggested, margin, by, likely, sample, verdict,
        ]
    };
    let doubts = set_audit.doubts().iter();
    let mut lines: Vec<[String; 10]> = doubts
        .map(|doubt| line(work_list_line(set_audit, doubt), IN_DOUBT, doubt.row))
        .collect();
    if set_audit.doubts.is_err() {
        return lines; // no label was audited, so none is outside
    }
    for row in control_sample(
        set_audit.set.labels.len(),
        set_audit.doubts(),
        n_control,
        CONTROL_SEED,
    ) {
        let undoubted = Doubt {
            row,
            given: set_audit.set.labels[row],
            suggested: set_audit.set.labels[row],
            margin: 0.0,
            flagged_by: Vec::new(),
        };
        let [set, number, id, given, ..] = work_list_line(set_audit, &undoubted);
        let nothing = || String::new();
        let fields = [
            set,
            number,
            id,
            given,
            nothing(),
            nothing(),
            nothing(),
            "no".to_owned(),
        ];
        lines.push(line(fields, CONTROL, row));
    }
    lines
}

fn write_work_list(path: &Path, audited: &Audit, n_control: usize) -> Result<()> {
    let about = || format!("can't write `{}`", path.display());
    let mut writer = csv::Writer::from_writer(File::create_new(path).with_context(about)?);
    writer.write_record(WORK_LIST_COLUMNS).with_context(about)?;
    for set_audit in &audited.sets {
        for line in work_list(set_audit, n_control, |_| "") {
            writer.write_record(line).with_context(about)?;
        }
    }
    writer.flush().with_context(about)
}

/// The seed of control samples: the same test set and labels in doubt give the same sample.
const CONTROL_SEED: u32 = 1;

/// The columns of labels in doubt.
const DOUBTS: [&str; 8] = [
    "set",
    "row",
    "id",
    "given",
    "suggested",
    "margin",
    "flagged_by",
    "is_likely",
];

/// The labels in doubt of all test sets, a row each.
fn doubts(document: &Value) -> Vec<Value> {
    let sets = document["sets"].as_array().into_iter().flatten();
    let describe = |set: &Value| {
        let doubts = set["doubts"].as_array().cloned().unwrap_or_default();
        let name = set["set"].clone();
        doubts.into_iter().map(move |mut doubt| {
            doubt["set"] = name.clone();
            doubt
        })
    };
    sets.flat_map(describe).collect()
}

fn document(benchmark: &str, dataset: Digest, audited: &Audit) -> Value {
    let doubt = |set_audit: &SetAudit, doubt: &Doubt| {
        let classes = &set_audit.set.at.classes;
        json!({
            "row": doubt.row, "id": set_audit.set.ids.as_ref().map(|ids| &ids[doubt.row]), "given": classes[doubt.given],
            "suggested": classes[doubt.suggested], "margin": doubt.margin, "flagged_by": doubt.flagged_by,
            "is_likely": doubt.is_likely(),
        })
    };
    let set = |set_audit: &SetAudit| {
        let doubts: Vec<Value> = set_audit
            .doubts()
            .iter()
            .map(|one| doubt(set_audit, one))
            .collect();
        let n_items = set_audit.set.labels.len();
        let share = |n: usize| {
            let share = set_audit
                .doubts
                .is_ok()
                .then(|| share_interval(n, n_items))
                .flatten();
            json!(share.map(|interval| json!({ "share": n as f64 / n_items as f64, "interval": interval })))
        };
        let class = |count: &ClassCount| {
            let of_class = || {
                set_audit
                    .doubts()
                    .iter()
                    .filter(|doubt| set_audit.set.at.classes[doubt.given] == count.class)
            };
            json!({ "class": count.class, "n_items": count.n_items, "n_doubts": of_class().count(),
                    "n_likely": of_class().filter(|doubt| doubt.is_likely()).count() })
        };
        json!({
            "set": set_audit.set.at.name, "n_items": n_items, "n_likely": set_audit.n_likely(), "n_doubts": set_audit.doubts().len(),
            "likely": share(set_audit.n_likely()), "doubtful": share(set_audit.doubts().len()), "doubts": doubts,
            "why_no_doubts": set_audit.doubts.as_ref().err().map(ToString::to_string),
            "classes": set_audit.classes.iter().map(class).collect::<Vec<Value>>(), "columns": set_audit.columns, "duplicates": set_audit.duplicates, "leaks": set_audit.leaks,
        })
    };
    let sets: Vec<Value> = audited.sets.iter().map(set).collect();
    json!({ "schema": 1, "benchmark": benchmark, "dataset": dataset, "confidence": 0.95, "sets": sets })
}

/// Counts for people; `exact + near`.
fn pairs(pairs: &dataperf_audit::Pairs) -> String {
    let near = if pairs.is_near_searched {
        pairs.near.len().to_string()
    } else {
        "?".into()
    };
    format!("{} + {near}", pairs.exact.len())
}

fn print(audited: &Audit, n: usize, work_list: Option<&Path>) {
    let mut shown = table(&[
        "test set",
        "items",
        "likely errors",
        "in doubt",
        "twice in it",
        "also in",
    ]);
    for set_audit in &audited.sets {
        let leaks: Vec<String> = set_audit
            .leaks
            .iter()
            .map(|leaks| format!("{} of {}", pairs(&leaks.pairs), leaks.file))
            .collect();
        shown.add_row([
            set_audit.set.at.name.clone(),
            set_audit.set.labels.len().to_string(),
            set_audit.n_likely().to_string(),
            set_audit.doubts().len().to_string(),
            pairs(&set_audit.duplicates),
            leaks.join("\n"),
        ]);
    }
    (1..5).for_each(|column| align_right(&mut shown, column));
    println!(
        "{shown}\nrows that are there twice: exactly + nearly (cosine similarity of standardized columns from 0.999 on)"
    );
    for sentence in audited.sets.iter().flat_map(notes) {
        println!("  - {sentence}");
    }
    let mut doubts = table(&[
        "set",
        "row",
        "id",
        "given",
        "suggested",
        "margin",
        "flagged by",
        "likely",
    ]);
    let all = || {
        audited
            .sets
            .iter()
            .flat_map(|set_audit| set_audit.doubts().iter().map(move |doubt| (set_audit, doubt)))
    };
    let mut first: Vec<_> = all().collect();
    first.sort_by(|(_, a), (_, b)| {
        b.is_likely()
            .cmp(&a.is_likely())
            .then(b.margin.total_cmp(&a.margin))
    });
    for (set_audit, doubt) in first.iter().take(n) {
        doubts.add_row(work_list_line(set_audit, doubt));
    }
    for column in [1, 5] {
        align_right(&mut doubts, column);
    }
    if !first.is_empty() && n > 0 {
        println!("\n{doubts}");
    }
    if first.len() > n {
        println!("{} more; `--work-list FILE.csv` has all", first.len() - n);
    }
    match work_list {
        Some(path) => println!(
            "`{}` has all {} labels in doubt and a control sample: write the right class into the column `verdict`, then `dataperf dataset correct`",
            path.display(),
            first.len()
        ),
        None => println!(
            "`--work-list FILE.csv` writes the labels in doubt for people to look at; all of it names hidden labels: keep it to yourself"
        ),
    }
}

/// Further remarks on a test set, a sentence each.
fn notes(set_audit: &SetAudit) -> Vec<String> {
    let name = quote(&set_audit.set.at.name);
    let mut notes = Vec::new();
    if let Err(why) = &set_audit.doubts {
        notes.push(format!("{name}: no labels were audited: {why}"));
    }
    let contradictions = set_audit.duplicates.contradictions.len();
    if contradictions > 0 {
        notes.push(format!(
            "{name}: {contradictions} pairs of equal rows have different labels, of which one is wrong"
        ));
    }
    let small = ClassCount::small(&set_audit.classes);
    if !small.is_empty() {
        let named: Vec<String> = small
            .iter()
            .take(5)
            .map(|set_audit| format!("{} ({})", quote(&set_audit.class), set_audit.n_items))
            .collect();
        notes.push(format!(
            "{name}: {} of {} classes have less than a tenth of the largest one's items: {}",
            small.len(),
            set_audit.classes.len(),
            named.join(", ")
        ));
    }
    let columns = &set_audit.columns;
    let listed = |columns: &[usize]| {
        let first: Vec<String> = columns.iter().take(5).map(ToString::to_string).collect();
        let prefix = if columns.len() > 5 { "such as " } else { "" };
        format!("{prefix}{}", first.join(", "))
    };
    if columns.n_constant > 0 {
        notes.push(format!(
            "{name}: {} of {} columns have the same number everywhere: {}",
            columns.n_constant,
            columns.n_columns,
            listed(&columns.constant)
        ));
    }
    if columns.n_not_finite > 0 {
        notes.push(format!(
            "{name}: {} columns have numbers that are not finite: {}",
            columns.n_not_finite,
            listed(&columns.not_finite)
        ));
    }
    if columns.n_extreme > 0 {
        notes.push(format!(
            "{name}: {} columns have numbers beyond 1e150 or below 2.2e-308, with which nothing can be computed: {}",
            columns.n_extreme,
            listed(&columns.extreme)
        ));
    }
    let sets = set_audit
        .leaks
        .iter()
        .map(|leaks| (leaks.file.as_str(), &leaks.pairs));
    let unsearched = sets
        .chain([("itself", &set_audit.duplicates)])
        .filter(|(_, pairs)| !pairs.is_near_searched);
    notes.extend(unsearched.map(|(file, _)| {
        format!("{name}: with {file} only equal rows were looked for: the two are too large, or of different widths")
    }));
    notes
}
