//! Makes two data sets of one, whose eval sets are disjoint halves of its eval set: one for uploads, one for the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use dataperf::Digest;
use dataperf::frozen::{CORRECTIONS, FileEntry, Manifest, TensorEntry};
use dataperf_datasets::{DatasetWriter, ImportError, Planned};

use crate::own_data::EVAL;
use crate::own_data::table::{FEATURES, examples_file, features_file};

/// What items share that are drawn alike.
const STRATUM: [&str; 2] = ["label", "group"];
const CLUSTER: &str = "cluster";

/// One of the two data sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Half {
    /// Its digest.
    pub dataset: Digest,
    /// Its items of each class.
    pub n_of_class: BTreeMap<String, usize>,
    /// Its clusters, where the eval set has some.
    pub n_clusters: Option<usize>,
}

/// The hidden eval set that is split.
struct Whole<'a> {
    from: &'a Path,
    manifest: &'a Manifest,
    tensor: &'a TensorEntry,
    /// The bytes of the file with the features.
    features: Vec<u8>,
    header: csv::StringRecord,
    records: Vec<csv::StringRecord>,
}

impl<'a> Whole<'a> {
    fn read(from: &'a Path, manifest: &'a Manifest) -> Result<Self, ImportError> {
        let (npy, csv) = (features_file(EVAL), examples_file(EVAL));
        let tensor = manifest
            .files
            .get(&npy)
            .and_then(|file| file.tensors.get(FEATURES));
        let (Some(tensor), true) = (tensor, manifest.files.contains_key(&csv)) else {
            let why = format!(
                "it has no hidden eval set, `{npy}` with `{csv}`: split the data set that was imported, not a kit of it"
            );
            return Err(ImportError::refused(from, why));
        };
        let read = |name: &str| {
            let path = from.join(name);
            fs::read(&path).map_err(ImportError::io("can't read", &path))
        };
        let (features, text) = (read(&npy)?, read(&csv)?);
        let damaged = |why: String| ImportError::refused(from, format!("`{csv}`: {why}"));
        let mut reader = csv::Reader::from_reader(&text[..]);
        let header = reader
            .headers()
            .map_err(|error| damaged(error.to_string()))?
            .clone();
        let records: Result<Vec<csv::StringRecord>, csv::Error> = reader.records().collect();
        let records = records.map_err(|error| damaged(error.to_string()))?;
        if records.len() != tensor.n_rows() {
            let why = format!(
                "it has {} lines for {} rows of features",
                records.len(),
                tensor.n_rows()
            );
            return Err(damaged(why));
        }
        Ok(Self {
            from,
            manifest,
            tensor,
            features,
            header,
            records,
        })
    }

    fn column(&self, name: &str) -> Option<Vec<String>> {
        let at = self.header.iter().position(|other| other == name)?;
        let cells = self
            .records
            .iter()
            .map(|record| record.get(at).unwrap_or_default().to_owned());
        Some(cells.collect())
    }

    /// The bytes of each item's features.
    fn rows(&self) -> Vec<&[u8]> {
        let (begin, row_bytes) = (
            self.tensor.begin as usize,
            self.tensor.row_bytes().unwrap_or(0) as usize,
        );
        let row = |item: usize| {
            let row = begin + item * row_bytes..begin + (item + 1) * row_bytes;
            self.features.get(row).unwrap_or_default()
        };
        (0..self.records.len()).map(row).collect()
    }

    /// Writes the data set with these items only.
    fn write(&self, items: &[usize], out: &Path) -> Result<Digest, ImportError> {
        let (npy, csv) = (features_file(EVAL), examples_file(EVAL));
        let mut writer = DatasetWriter::create(out)?;
        let others = self
            .manifest
            .files
            .iter()
            .filter(|(path, _)| ![npy.as_str(), csv.as_str(), CORRECTIONS].contains(&path.as_str()));
        for (path, entry) in others {
            copy(&mut writer, self.from, path, entry)?;
        }
        let (begin, row_bytes) = (
            self.tensor.begin as usize,
            self.tensor.row_bytes().unwrap_or(0) as usize,
        );
        let mut shape = self.tensor.shape.clone();
        shape[0] = items.len();
        let planned = Planned {
            name: FEATURES,
            dtype: self.tensor.dtype,
            shape,
        };
        let short = || ImportError::refused(self.from, format!("`{npy}` is too short"));
        writer.npy(&npy, planned, |file| {
            items.iter().try_for_each(|&item| {
                let row = begin + item * row_bytes..begin + (item + 1) * row_bytes;
                file.write(self.features.get(row).ok_or_else(short)?)
            })
        })?;
        let failed = |why: String| ImportError::refused(self.from, format!("`{csv}`: {why}"));
        let mut lines = csv::Writer::from_writer(Vec::new());
        let mut records = items.iter().map(|&item| &self.records[item]);
        let written = lines
            .write_record(&self.header)
            .and_then(|()| records.try_for_each(|record| lines.write_record(record)));
        written.map_err(|error| failed(error.to_string()))?;
        let lines = lines.into_inner().map_err(|error| failed(error.to_string()))?;
        writer.bytes(&csv, &lines)?;
        writer.finish(&self.manifest.benchmark, self.manifest.parameters.clone())
    }
}

/// Splits a frozen data set of own data: `outs` have everything that it has, and each a part of the hidden eval set, the first one about
/// `share` of it. Items are parted within each class (and group); where there are clusters, each is in one part as a whole.
/// The same data set and share give the same parts.
///
/// # Errors
/// [`ImportError::Refused`] with everything that is in the way: no hidden eval set, a class that one part would lack.
pub fn split(
    from: &Path,
    manifest: &Manifest,
    [first, second]: [&Path; 2],
    share: f64,
) -> Result<[Half; 2], ImportError> {
    let whole = Whole::read(from, manifest)?;
    let no_label = || ImportError::refused(from, format!("`{}` has no column `label`", examples_file(EVAL)));
    let labels = whole.column("label").ok_or_else(no_label)?;
    let columns: Vec<Vec<String>> = STRATUM.iter().filter_map(|name| whole.column(name)).collect();
    let stratum = |item: usize| columns.iter().map(|column| column[item].clone()).collect();
    let strata: Vec<Vec<String>> = (0..labels.len()).map(stratum).collect();
    let clusters = whole.column(CLUSTER);
    let together = together(&whole.rows(), clusters.as_deref());
    let seed = Digest::of(&manifest.to_bytes()?);
    let is_first = parted(&strata, together.as_deref(), share, seed);
    let items_of = |part: bool| -> Vec<usize> {
        let items = (0..labels.len()).filter(|&item| is_first[item] == part);
        items.collect()
    };
    let parts = [("first", items_of(true)), ("second", items_of(false))];
    let classes: BTreeSet<&String> = labels.iter().collect();
    let mut problems = Vec::new();
    for (name, items) in &parts {
        let found: BTreeSet<&String> = items.iter().map(|&item| &labels[item]).collect();
        for class in classes.difference(&found) {
            problems.push(format!(
                "the {name} part would have no item of the class `{class}`: choose another share, or give it more"
            ));
        }
    }
    if !problems.is_empty() {
        let from = from.to_owned();
        return Err(ImportError::Refused { from, problems });
    }
    let half = |items: &[usize], out: &Path| {
        let mut n_of_class = BTreeMap::new();
        for &item in items {
            *n_of_class.entry(labels[item].clone()).or_insert(0) += 1;
        }
        let n_clusters = clusters.as_ref().map(|clusters| {
            let of_part: BTreeSet<&String> = items.iter().map(|&item| &clusters[item]).collect();
            of_part.len()
        });
        Ok::<_, ImportError>(Half {
            dataset: whole.write(items, out)?,
            n_of_class,
            n_clusters,
        })
    };
    let [(_, one), (_, other)] = &parts;
    Ok([half(one, first)?, half(other, second)?])
}

/// What goes to one part as a whole: clusters, and items whose features are the same; clusters that share such items go together.
/// `None` where each item is for itself.
///
/// # Shapes and units
/// `rows`, `clusters`: `(n_items,)`.
fn together(rows: &[&[u8]], clusters: Option<&[String]>) -> Option<Vec<String>> {
    let mut first: BTreeMap<&[u8], usize> = BTreeMap::new();
    let mut first_of_cluster: BTreeMap<&String, usize> = BTreeMap::new();
    let mut joined: Vec<usize> = (0..rows.len()).collect();
    let root = |joined: &[usize], mut item: usize| {
        while joined[item] != item {
            item = joined[item];
        }
        item
    };
    for (item, row) in rows.iter().enumerate() {
        let same_row = *first.entry(row).or_insert(item);
        let same_cluster = clusters.map_or(item, |names| {
            *first_of_cluster.entry(&names[item]).or_insert(item)
        });
        for other in [same_row, same_cluster] {
            let (one, other) = (root(&joined, item), root(&joined, other));
            joined[one.max(other)] = one.min(other);
        }
    }
    if clusters.is_none() && first.len() == rows.len() {
        return None;
    }
    Some(
        (0..rows.len())
            .map(|item| root(&joined, item).to_string())
            .collect(),
    )
}

fn copy(writer: &mut DatasetWriter, from: &Path, path: &str, entry: &FileEntry) -> Result<(), ImportError> {
    let source = from.join(path);
    let file = File::open(&source).map_err(ImportError::io("can't read", &source))?;
    writer.copy_entry(path, entry, file)
}

/// Which items are in the first part: within each stratum about `share` of them, in an order that follows from the seed. Where there are clusters, each goes,
/// the largest first, to the part by which the strata come nearer to their shares.
///
/// # Shapes and units
/// `strata`, `clusters`: `(n_items,)`.
fn parted(strata: &[Vec<String>], clusters: Option<&[String]>, share: f64, seed: Digest) -> Vec<bool> {
    let order = |name: &str| Digest::of(format!("{seed} {name}").as_bytes()).to_string();
    let mut of_stratum: BTreeMap<&Vec<String>, Vec<usize>> = BTreeMap::new();
    for (item, stratum) in strata.iter().enumerate() {
        of_stratum.entry(stratum).or_default().push(item);
    }
    let mut is_first = vec![false; strata.len()];
    let Some(clusters) = clusters else {
        for items in of_stratum.values_mut() {
            items.sort_by_key(|item| order(&item.to_string()));
            let n_first = (share * items.len() as f64).round() as usize;
            items.iter().take(n_first).for_each(|&item| is_first[item] = true);
        }
        return is_first;
    };
    let mut of_cluster: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for (item, cluster) in clusters.iter().enumerate() {
        of_cluster.entry(cluster).or_default().push(item);
    }
    let mut whole: Vec<(&String, Vec<usize>)> = of_cluster.into_iter().collect();
    whole.sort_by_key(|(name, items)| (std::cmp::Reverse(items.len()), order(name)));
    let mut n_first: BTreeMap<&Vec<String>, f64> = BTreeMap::new();
    let mut n_seen: BTreeMap<&Vec<String>, f64> = BTreeMap::new();
    for (_, items) in whole {
        let mut n_here: BTreeMap<&Vec<String>, f64> = BTreeMap::new();
        for &item in &items {
            *n_here.entry(&strata[item]).or_default() += 1.0;
        }
        // by how much the shares of what has been seen are missed, with the cluster in the first part or not
        let missed = |with: f64| -> f64 {
            let of = |(stratum, n): (&&Vec<String>, &f64)| {
                let (first, seen) = (
                    n_first.get(*stratum).unwrap_or(&0.0),
                    n_seen.get(*stratum).unwrap_or(&0.0),
                );
                (first + with * n - share * (seen + n)).powi(2)
            };
            n_here.iter().map(of).sum()
        };
        let goes_first = missed(1.0) <= missed(0.0);
        for (stratum, n) in n_here {
            *n_seen.entry(stratum).or_default() += n;
            *n_first.entry(stratum).or_default() += if goes_first { n } else { 0.0 };
        }
        for item in items {
            is_first[item] = goes_first;
        }
    }
    is_first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strata(labels: &[&str]) -> Vec<Vec<String>> {
        labels.iter().map(|label| vec![(*label).to_owned()]).collect()
    }

    fn n_first(strata: &[Vec<String>], is_first: &[bool], label: &str) -> usize {
        let of_label = strata
            .iter()
            .zip(is_first)
            .filter(|(stratum, _)| stratum[0] == label);
        of_label.filter(|(_, first)| **first).count()
    }

    #[test]
    fn each_class_is_parted_by_its_share() {
        let labels: Vec<&str> = (0..100)
            .map(|item| if item % 10 == 0 { "rare" } else { "often" })
            .collect();
        let strata = strata(&labels);
        for (share, rare, often) in [(0.5, 5, 45), (0.3, 3, 27)] {
            let is_first = parted(&strata, None, share, Digest::of(b"seed"));
            assert_eq!(
                (
                    n_first(&strata, &is_first, "rare"),
                    n_first(&strata, &is_first, "often")
                ),
                (rare, often)
            );
        }
        let one = parted(&strata, None, 0.5, Digest::of(b"seed"));
        assert_eq!(
            one,
            parted(&strata, None, 0.5, Digest::of(b"seed")),
            "the same parts"
        );
        assert_ne!(
            one,
            parted(&strata, None, 0.5, Digest::of(b"other")),
            "another data set's are others"
        );
    }

    #[test]
    fn identical_items_are_in_one_part() {
        let rows: [&[u8]; 6] = [b"a", b"b", b"a", b"c", b"b", b"d"];
        assert_eq!(together(&rows[3..], None), None);
        assert_eq!(together(&rows, None).unwrap(), ["0", "1", "0", "3", "1", "5"]);
        let clusters = ["x", "x", "y", "y", "z", "w"].map(str::to_owned);
        assert_eq!(
            together(&rows, Some(&clusters)).unwrap(),
            ["0", "0", "0", "0", "0", "5"]
        );
    }

    #[test]
    fn no_cluster_is_in_both_parts_and_classes_stay_near_their_shares() {
        let labels: Vec<&str> = (0..300)
            .map(|item| if item % 3 == 0 { "a" } else { "b" })
            .collect();
        let strata = strata(&labels);
        let clusters: Vec<String> = (0..300)
            .map(|item| format!("speaker {}", (item * item) % 37))
            .collect();
        let is_first = parted(&strata, Some(&clusters), 0.5, Digest::of(b"seed"));
        let mut part_of: BTreeMap<&String, bool> = BTreeMap::new();
        for (cluster, &first) in clusters.iter().zip(&is_first) {
            assert_eq!(
                *part_of.entry(cluster).or_insert(first),
                first,
                "{cluster} is in both"
            );
        }
        let (a, b) = (n_first(&strata, &is_first, "a"), n_first(&strata, &is_first, "b"));
        assert!(
            (40..=60).contains(&a) && (80..=120).contains(&b),
            "{a} of 100, {b} of 200"
        );
    }
}
