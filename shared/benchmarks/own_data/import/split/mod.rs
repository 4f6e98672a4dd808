//! Splits a data set into two whose test sets are disjoint parts of its test set: one for uploads and one for the final board, or
//! one that is public and one that only programs meet. The latter two share no row of any other table either.

mod parts;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use dataperf::Digest;
use dataperf::dataset::frozen::{CORRECTIONS, FileEntry, MANIFEST, Manifest};
use dataperf_datasets::{DatasetWriter, ImportError};

use self::parts::{parted, together};
use self::table::{Lines, Table};
use super::tasks::acquisition::{SellersRows, freeze_summaries};
use super::to_json;
use crate::own_data::table::examples_file;
use crate::own_data::{EVAL, PUBLIC_EVAL, acquisition, debugging, selection};
use dataperf::Benchmark;

/// The columns that define a stratum: items with the same values in them are divided by the same share.
const STRATUM: [&str; 2] = ["label", "group"];
const CLUSTER: &str = "cluster";
const LABEL: &str = "label";
/// The tables that are split, besides the hidden test set, if the two data sets are to share no rows.
const OTHERS: [&str; 4] = [
    PUBLIC_EVAL,
    selection::POOL,
    debugging::TRAIN,
    acquisition::SELLERS,
];

/// The rows that only one of the two data sets may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// The rows of the hidden test set.
    EvalSet,
    /// The rows of all tables, including those that participants and programs get, and those of sellers.
    AllRows,
}

/// One of the two data sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Half {
    /// The digest of the data set.
    pub dataset: Digest,
    /// The number of items of each class in its test set.
    pub n_of_class: BTreeMap<String, usize>,
    /// The number of clusters in its test set, if there are any.
    pub n_clusters: Option<usize>,
    /// The number of rows of each other table that was split.
    pub n_rows: BTreeMap<String, usize>,
}

/// A table, and the rows that go to each part.
struct Split<'a> {
    table: Table<'a>,
    /// The class of each row, of which each part needs every one; `None` if the table has no labels.
    labels: Option<Vec<String>>,
    parts: [Vec<usize>; 2],
}

impl<'a> Split<'a> {
    /// Divides the rows within each stratum; the values of `beside`, one for each row, are part of the stratum.
    fn new(table: Table<'a>, common: Option<Vec<String>>, share: f64, seed: Digest) -> Self {
        let columns = STRATUM.iter().filter_map(|name| table.column(name));
        let columns: Vec<Vec<String>> = columns.chain(common).collect();
        let stratum = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
        let strata: Vec<Vec<String>> = (0..table.n_rows()).map(stratum).collect();
        let clusters = table.column(CLUSTER);
        let together = together(&table.rows(), clusters.as_deref());
        let is_first = parted(&strata, together.as_deref(), share, seed);
        let rows_in = |part: bool| (0..is_first.len()).filter(|&row| is_first[row] == part).collect();
        Self {
            labels: table.column(LABEL),
            parts: [rows_in(true), rows_in(false)],
            table,
        }
    }

    /// A sentence for each class, or for all rows, that a part would be without.
    fn lacks(&self) -> Vec<String> {
        let file = examples_file(self.table.name);
        let mut problems = Vec::new();
        for (name, rows) in ["first", "second"].into_iter().zip(&self.parts) {
            let labels = self.labels.iter().flatten();
            let classes: BTreeSet<&String> = labels.collect();
            let labels = self
                .labels
                .iter()
                .flat_map(|labels| rows.iter().map(|&row| &labels[row]));
            let labels: BTreeSet<&String> = labels.collect();
            for class in classes.difference(&labels) {
                problems.push(format!(
                    "the {name} part would have no item of the class `{class}` (`{file}`): choose another share, or give it more"
                ));
            }
            if rows.is_empty() {
                problems.push(format!(
                    "the {name} part would have no row of `{file}`: choose another share"
                ));
            }
        }
        problems
    }
}

/// The data set that is split: its tables, and the files that have to change with them.
struct Whole<'a> {
    from: &'a Path,
    manifest: &'a Manifest,
    eval: Split<'a>,
    others: Vec<Split<'a>>,
    /// The right labels of a training set, which are split as its rows are.
    truth: Option<Lines>,
    market: Option<acquisition::Parameters>,
}

impl<'a> Whole<'a> {
    fn read(from: &'a Path, manifest: &'a Manifest, share: f64, apart: Apart) -> Result<Self, ImportError> {
        let seed = Digest::compute(&manifest.to_bytes()?);
        let eval = Table::read(from, manifest, EVAL)?.ok_or_else(|| {
            let csv = examples_file(EVAL);
            let why = format!(
                "it has no hidden test set, `{EVAL}.npy` with `{csv}`: split the data set that was imported, not a kit of it"
            );
            ImportError::refused(from, why)
        })?;
        if eval.column(LABEL).is_none() {
            let why = format!("`{}` has no column `label`", examples_file(EVAL));
            return Err(ImportError::refused(from, why));
        }
        let mut whole = Self {
            from,
            manifest,
            eval: Split::new(eval, None, share, seed),
            others: Vec::new(),
            truth: None,
            market: None,
        };
        if apart == Apart::EvalSet {
            return Ok(whole);
        }
        if manifest.benchmark == acquisition::Acquisition::ID {
            whole.market = Some(manifest.parameters()?);
        }
        let truth = examples_file(debugging::TRUTH);
        if manifest.files.contains_key(&truth) {
            whole.truth = Some(Lines::read(from, &truth)?);
        }
        for name in OTHERS {
            let Some(table) = Table::read(from, manifest, name)? else {
                continue;
            };
            // the rows of each seller are divided on their own, and so are those of each right label
            let neighbours = match (name, &whole.market, &whole.truth) {
                (acquisition::SELLERS, Some(market), _) => Some(sellers_of(market)),
                (debugging::TRAIN, _, Some(truth)) => truth.column(LABEL),
                _ => None,
            };
            if neighbours
                .as_ref()
                .is_some_and(|neighbours| neighbours.len() != table.n_rows())
            {
                let why = format!("`{}` does not match its other files", examples_file(name));
                return Err(ImportError::refused(from, why));
            }
            let seed = Digest::compute(format!("{seed} {name}").as_bytes());
            whole.others.push(Split::new(table, neighbours, share, seed));
        }
        Ok(whole)
    }

    fn other(&self, name: &str) -> Option<&Split<'a>> {
        self.others.iter().find(|split| split.table.name == name)
    }

    /// Sentences about everything that a part would lack.
    fn problems(&self) -> Vec<String> {
        let splits = [&self.eval].into_iter().chain(&self.others);
        let mut problems: Vec<String> = splits.flat_map(Split::lacks).collect();
        problems.extend(self.in_common());
        if let (Some(train), Some(truth)) = (self.other(debugging::TRAIN), self.truth_labels()) {
            let given = train.labels.clone().unwrap_or_default();
            for (name, rows) in ["first", "second"].into_iter().zip(&train.parts) {
                if rows.iter().all(|&row| given.get(row) == truth.get(row)) {
                    problems.push(format!(
                        "the {name} part would have no wrong label to find: choose another share"
                    ));
                }
            }
        }
        if let (Some(market), Some(sellers)) = (&self.market, self.other(acquisition::SELLERS)) {
            let sellers_one = sellers_of(market);
            for (name, rows) in ["first", "second"].into_iter().zip(&sellers.parts) {
                let present: BTreeSet<&String> = rows.iter().map(|&row| &sellers_one[row]).collect();
                for (idx, seller) in market.sellers.iter().enumerate() {
                    if !present.contains(&idx.to_string()) {
                        problems.push(format!(
                            "the {name} part would have no row of the seller `{}`: choose another share",
                            seller.name
                        ));
                    }
                }
            }
        }
        problems
    }

    /// Sentences about rows that would be in both parts, which is possible if `allow_duplicates` let two tables have the same rows.
    fn in_common(&self) -> Vec<String> {
        if self.others.is_empty() {
            return Vec::new(); // only the test set is parted, and the other tables are in both parts
        }
        let splits: Vec<&Split<'a>> = [&self.eval].into_iter().chain(&self.others).collect();
        let mut first: BTreeMap<&[u8], &str> = BTreeMap::new();
        for split in &splits {
            let rows = split.table.rows();
            first.extend(split.parts[0].iter().map(|&row| (rows[row], split.table.name)));
        }
        let mut n_of: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for split in &splits {
            let rows = split.table.rows();
            let shared = split.parts[1].iter().filter_map(|&row| first.get(rows[row]));
            shared.for_each(|other| *n_of.entry((*other, split.table.name)).or_default() += 1);
        }
        let sentence = |((one, other), n)| {
            let (one, other) = (examples_file(one), examples_file(other));
            format!(
                "{n} rows would be in both parts, because `{one}` and `{other}` both have them: remove the \
                    rows from one of the two files"
            )
        };
        n_of.into_iter().map(sentence).collect()
    }

    fn truth_labels(&self) -> Option<Vec<String>> {
        self.truth.as_ref()?.column(LABEL)
    }

    /// Writes one of the two data sets into the folder `out`.
    fn write(&self, part: usize, out: &Path) -> Result<Half, ImportError> {
        let mut writer = DatasetWriter::create(out)?;
        let splits: Vec<&Split<'a>> = [&self.eval].into_iter().chain(&self.others).collect();
        let mut again: BTreeSet<String> = splits.iter().flat_map(|split| split.table.files()).collect();
        again.insert(CORRECTIONS.to_owned());
        let mut parameters = self.manifest.parameters.clone();
        if let (Some(truth), Some(train)) = (&self.truth, self.other(debugging::TRAIN)) {
            let path = examples_file(debugging::TRUTH);
            let lines = truth.select(&train.parts[part]);
            let lines = lines.map_err(|why| ImportError::refused(self.from, format!("`{path}`: {why}")))?;
            writer.bytes(&path, &lines)?;
            again.insert(path);
        }
        if let (Some(market), Some(sellers)) = (&self.market, self.other(acquisition::SELLERS)) {
            let market = self.summarised(market, sellers, part, &mut writer)?;
            again.insert(acquisition::MARKET_FILE.to_owned());
            again.extend((0..market.sellers.len()).map(acquisition::summary_file));
            parameters = to_json(self.from, &market)?;
        }
        for (path, entry) in self
            .manifest
            .files
            .iter()
            .filter(|(path, _)| !again.contains(*path))
        {
            copy(&mut writer, self.from, path, entry)?;
        }
        for split in splits {
            split.table.write(&split.parts[part], &mut writer)?;
        }
        let (items, labels) = (
            &self.eval.parts[part],
            self.eval.labels.as_deref().unwrap_or_default(),
        );
        let mut n_of_class = BTreeMap::new();
        for &item in items {
            *n_of_class.entry(labels[item].clone()).or_insert(0) += 1;
        }
        let n_clusters = self.eval.table.column(CLUSTER).map(|clusters| {
            let of_part: BTreeSet<&String> = items.iter().map(|&item| &clusters[item]).collect();
            of_part.len()
        });
        let others = self.others.iter();
        let n_rows = others.map(|split| (split.table.name.to_owned(), split.parts[part].len()));
        Ok(Half {
            dataset: writer.finish(&self.manifest.benchmark, parameters)?,
            n_of_class,
            n_clusters,
            n_rows: n_rows.collect(),
        })
    }

    /// Writes summaries of a part of each seller's rows, and returns its market. Prices and budget stay, so that money buys the
    /// same share of a seller's rows.
    fn summarised(
        &self,
        market: &acquisition::Parameters,
        sellers: &Split<'a>,
        part: usize,
        writer: &mut DatasetWriter,
    ) -> Result<acquisition::Parameters, ImportError> {
        let (seller_column, rows) = (sellers_of(market), &sellers.parts[part]);
        let labels = sellers.labels.as_deref().unwrap_or_default();
        let mut market = market.clone();
        let own = |idx: usize| {
            let own = rows
                .iter()
                .copied()
                .filter(|&row| seller_column[row] == idx.to_string());
            own.collect::<Vec<usize>>()
        };
        for (idx, seller) in market.sellers.iter_mut().enumerate() {
            seller.n_rows = own(idx).len();
        }
        let summarised = (0..market.sellers.len()).map(|idx| {
            let own = own(idx);
            Ok(SellersRows {
                features: sellers.table.numbers(&own)?,
                labels: own.iter().map(|&row| labels[row].clone()).collect(),
            })
        });
        freeze_summaries(&market, summarised, self.from, writer)?;
        Ok(market)
    }
}

/// For each row of the sellers' table the number of the row's seller.
fn sellers_of(market: &acquisition::Parameters) -> Vec<String> {
    let sellers = market.sellers.iter().enumerate();
    sellers
        .flat_map(|(idx, seller)| std::iter::repeat_n(idx.to_string(), seller.n_rows))
        .collect()
}

/// Splits a frozen data set of own data into two, written to the two folders. Each has a part of the hidden test set, the first one
/// about `share` of it, and with [`Apart::AllRows`] a part of every other table; everything else is in both. Items are divided
/// within each class (and group), and clusters stay whole. The same data set and share give the same parts.
///
/// # Errors
/// [`ImportError::Refused`] with everything that prevents the split, such as a missing hidden test set, or a class that one part
/// would lack.
pub fn split(
    from: &Path,
    manifest: &Manifest,
    [first, second]: [&Path; 2],
    share: f64,
    apart: Apart,
) -> Result<[Half; 2], ImportError> {
    let whole = Whole::read(from, manifest, share, apart)?;
    let problems = whole.problems();
    if !problems.is_empty() {
        let from = from.to_owned();
        return Err(ImportError::Refused { from, problems });
    }
    let is_new = !first.join(MANIFEST).exists();
    let half = whole.write(0, first)?;
    match whole.write(1, second) {
        Ok(other) => Ok([half, other]),
        Err(error) => {
            if is_new {
                drop(fs::remove_dir_all(first)); // one half is of no use; what went wrong is the other's error
            }
            Err(error)
        }
    }
}

fn copy(writer: &mut DatasetWriter, from: &Path, path: &str, entry: &FileEntry) -> Result<(), ImportError> {
    let source = from.join(path);
    let file = File::open(&source).map_err(ImportError::io("can't read", &source))?;
    writer.copy_entry(path, entry, file)
}
