//! Stratified splits, identical to those of scikit-learn.

use crate::BaselineError;
use crate::random::Random;

/// A split of rows into two sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The rows to train on, in random order.
    pub train: Vec<usize>,
    /// All other rows, in random order.
    pub test: Vec<usize>,
}

/// Random splits that keep the classes' shares.
///
/// # Shapes and units
/// `classes`: `(n_rows,)`; `n_train`: the number of rows to train on in each split.
///
/// # Errors
/// [`BaselineError::TooFew`] if there are fewer rows than `n_train`, none would be left to test on, or `n_train` is below the
/// number of classes.
///
/// # Source
/// scikit-learn 1.2.2, `StratifiedShuffleSplit(n_splits, train_size=n_train, random_state=seed)`.
pub fn stratified_shuffle(
    classes: &[usize],
    n_train: usize,
    n_splits: usize,
    seed: u32,
) -> Result<Vec<Split>, BaselineError> {
    let groups = groups(classes);
    if n_train >= classes.len() || n_train < groups.len() {
        return Err(BaselineError::TooFew {
            noun: "rows for a stratified split".into(),
            n: classes.len(),
            n_needed: n_train.max(groups.len()) + 1,
        });
    }
    let counts: Vec<usize> = groups.iter().map(Vec::len).collect();
    let mut random = Random::new(seed);
    let split = |_| {
        let of_train = shares(&counts, n_train, &mut random);
        let rest: Vec<usize> = counts
            .iter()
            .zip(&of_train)
            .map(|(all, train)| all - train)
            .collect();
        let of_test = shares(&rest, classes.len() - n_train, &mut random);
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for ((group, &n_train), &n_test) in groups.iter().zip(&of_train).zip(&of_test) {
            let order = random.permutation(group.len());
            let rows = |places: &[usize]| places.iter().map(|&place| group[place]).collect::<Vec<_>>();
            train.extend(rows(&order[..n_train]));
            test.extend(rows(&order[n_train..n_train + n_test]));
        }
        random.shuffle(&mut train);
        random.shuffle(&mut test);
        Split { train, test }
    };
    Ok((0..n_splits).map(split).collect())
}

/// The fold in which each row is tested, `(n_rows,)`: every fold has its share of every class.
///
/// # Errors
/// [`BaselineError::TooFew`] when no class has a row for each fold.
///
/// # Source
/// scikit-learn 1.2.2, `StratifiedKFold(n_folds, shuffle=True, random_state=seed)`.
pub fn stratified_folds(classes: &[usize], n_folds: usize, seed: u32) -> Result<Vec<usize>, BaselineError> {
    let mut groups = groups(classes);
    groups.sort_by_key(|group| group[0]); // classes in the order in which they appear
    let n_largest = groups.iter().map(Vec::len).max().unwrap_or(0);
    if n_largest < n_folds {
        return Err(BaselineError::TooFew {
            noun: "rows of a class for a fold each".into(),
            n: n_largest,
            n_needed: n_folds,
        });
    }
    let mut random = Random::new(seed);
    let mut folds = vec![0; classes.len()];
    let mut first = 0;
    for group in &groups {
        // each fold takes every `n_folds`-th of the rows sorted by class
        let dealt = |fold: usize| {
            (first..first + group.len())
                .filter(|card| card % n_folds == fold)
                .count()
        };
        let mut of_group: Vec<usize> = (0..n_folds)
            .flat_map(|fold| std::iter::repeat_n(fold, dealt(fold)))
            .collect();
        random.shuffle(&mut of_group);
        group
            .iter()
            .zip(of_group)
            .for_each(|(&row, fold)| folds[row] = fold);
        first += group.len();
    }
    Ok(folds)
}

/// The rows of each class that occurs, in ascending order of the classes.
fn groups(classes: &[usize]) -> Vec<Vec<usize>> {
    let n_classes = classes.iter().max().map_or(0, |largest| largest + 1);
    let mut groups = vec![Vec::new(); n_classes];
    for (row, &class) in classes.iter().enumerate() {
        groups[class].push(row);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// The number of rows of each class that make `n` in all: its share rounded down, and one more for the largest remainders, drawn at
/// random among equal ones.
fn shares(counts: &[usize], n: usize, random: &mut Random) -> Vec<usize> {
    let total: usize = counts.iter().sum();
    let exact: Vec<f64> = counts
        .iter()
        .map(|&count| count as f64 / total as f64 * n as f64)
        .collect();
    let mut whole: Vec<usize> = exact.iter().map(|share| share.floor() as usize).collect();
    let remainders: Vec<f64> = exact.iter().map(|share| share - share.floor()).collect();
    let mut n_missing = n - whole.iter().sum::<usize>();
    let mut values = remainders.clone();
    values.sort_by(|a, b| b.total_cmp(a));
    values.dedup();
    for value in values {
        if n_missing == 0 {
            break;
        }
        let equal: Vec<usize> = (0..counts.len())
            .filter(|&class| remainders[class].total_cmp(&value).is_eq())
            .collect();
        let chosen = random.choose(&equal, n_missing);
        for &class in &chosen {
            whole[class] += 1;
        }
        n_missing -= chosen.len();
    }
    whole
}
