//! Decides which rows of a table go to which part.

use std::collections::BTreeMap;

use dataperf::Digest;

/// Groups that have to stay in one part: items of the same cluster, or with the same features, directly or through other items.
/// Gives each item's group; `None` if every item is a group of its own.
///
/// # Shapes and units
/// `rows`, `clusters`: `(n_items,)`.
pub(super) fn together(rows: &[&[u8]], clusters: Option<&[String]>) -> Option<Vec<String>> {
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

/// Whether each item is in the first part. Of each stratum about `share` of the items are, chosen in an order that follows from the
/// seed. Clusters stay whole: each, from the largest on, goes to the part that brings its strata nearer to their shares.
///
/// # Shapes and units
/// `strata`, `clusters`: `(n_items,)`.
pub(super) fn parted(
    strata: &[Vec<String>],
    clusters: Option<&[String]>,
    share: f64,
    seed: Digest,
) -> Vec<bool> {
    let order = |name: &str| Digest::compute(format!("{seed} {name}").as_bytes()).to_string();
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
        // how far the strata seen so far are from their shares if the cluster goes to the first part (1) or does not (0)
        let missed = |with: f64| -> f64 {
            let n_in_part = |(stratum, n): (&&Vec<String>, &f64)| {
                let (first, seen) = (
                    n_first.get(*stratum).unwrap_or(&0.0),
                    n_seen.get(*stratum).unwrap_or(&0.0),
                );
                (first + with * n - share * (seen + n)).powi(2)
            };
            n_here.iter().map(n_in_part).sum()
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
            let is_first = parted(&strata, None, share, Digest::compute(b"seed"));
            assert_eq!(
                (
                    n_first(&strata, &is_first, "rare"),
                    n_first(&strata, &is_first, "often")
                ),
                (rare, often)
            );
        }
        let one = parted(&strata, None, 0.5, Digest::compute(b"seed"));
        assert_eq!(
            one,
            parted(&strata, None, 0.5, Digest::compute(b"seed")),
            "the same parts"
        );
        assert_ne!(
            one,
            parted(&strata, None, 0.5, Digest::compute(b"other")),
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
    fn splits_keep_clusters_whole_and_classes_balanced() {
        let labels: Vec<&str> = (0..300)
            .map(|item| if item % 3 == 0 { "a" } else { "b" })
            .collect();
        let strata = strata(&labels);
        let clusters: Vec<String> = (0..300)
            .map(|item| format!("speaker {}", (item * item) % 37))
            .collect();
        let is_first = parted(&strata, Some(&clusters), 0.5, Digest::compute(b"seed"));
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
