//! Confident learning: finds labels in doubt, by the predictions of a model that was trained without them.
//!
//! # Source
//! Northcutt, Jiang and Chuang, "Confident learning: estimating uncertainty in dataset labels", JAIR 70 (2021), with
//! the choices of cleanlab 2.7.1's `filter.find_label_issues`: prune by noise rate, doubts that the model does not share
//! withdrawn. Of rows with equal margins the first ones are flagged; cleanlab takes any of them.

use ndarray::{Array2, ArrayView2};

/// Probabilities that differ by no more than this count as equal.
const TOLERANCE: f64 = 1e-6;

/// Whether each row's label is likely wrong, `(n_rows,)`.
///
/// # Shapes and units
/// `labels`: `(n_rows,)` class numbers; `probabilities`: `(n_rows, n_classes)`, out of sample; `min_of_class`: a class with at most
/// so many rows is never flagged, and so many rows of each class count as right (cleanlab's `min_examples_per_class`, by default
/// 1).
///
/// # Panics
/// If a label is not below `n_classes`.
pub fn flagged(labels: &[usize], probabilities: ArrayView2<f64>, min_of_class: usize) -> Vec<bool> {
    let n_classes = probabilities.ncols();
    let n_wrong = n_wrong(labels, probabilities, min_of_class as f64);
    let mut flags = vec![false; labels.len()];
    for given in 0..n_classes {
        let rows: Vec<usize> = (0..labels.len()).filter(|&row| labels[row] == given).collect();
        if rows.len() <= min_of_class {
            continue;
        }
        for actual in (0..n_classes).filter(|&actual| actual != given) {
            let margin = |row: usize| probabilities[[row, actual]] - probabilities[[row, given]];
            let mut order = rows.clone();
            order.sort_by(|&a, &b| margin(b).total_cmp(&margin(a)));
            order.truncate(n_wrong[[given, actual]]);
            for row in order {
                flags[row] = true;
            }
        }
    }
    for (row, flag) in flags.iter_mut().enumerate() {
        let agrees = |class: usize| {
            let own = probabilities[[row, labels[row]]] + TOLERANCE;
            let other = probabilities[[row, class]];
            // of equally probable classes the first is the model's choice
            other < own || (other <= own && class > labels[row])
        };
        let others = (0..n_classes).filter(|&class| class != labels[row]);
        *flag &= !others.into_iter().all(agrees);
    }
    flags
}

/// How far each label can be trusted, `(n_rows,)` in `[0, 1]`: its probability compared with what is usual for its class.
///
/// # Panics
/// If a label is not below `n_classes`.
pub fn label_quality(labels: &[usize], probabilities: ArrayView2<f64>) -> Vec<f64> {
    let usual = thresholds(labels, probabilities);
    let largest = usual.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let quality = |(row, &label): (usize, &usize)| {
        let shifted = |class: usize| probabilities[[row, class]] - usual[class] + largest;
        let sum: f64 = (0..usual.len()).map(shifted).sum();
        shifted(label) / sum
    };
    labels.iter().enumerate().map(quality).collect()
}

/// The mean probability of each class among the rows with its label; for a class without rows a value that no row reaches.
fn thresholds(labels: &[usize], probabilities: ArrayView2<f64>) -> Vec<f64> {
    let threshold = |class: usize| {
        let of_class = || labels.iter().enumerate().filter(|(_, label)| **label == class);
        let n = of_class().count();
        if n == 0 {
            return 2.0;
        }
        let sum: f64 = of_class().map(|(row, _)| probabilities[[row, class]]).sum();
        (sum / n as f64).max(2.0 * TOLERANCE)
    };
    (0..probabilities.ncols()).map(threshold).collect()
}

/// The estimated number of rows that belong to another class than their label's, by label and class: `(given, actual)`.
fn n_wrong(labels: &[usize], probabilities: ArrayView2<f64>, min_of_class: f64) -> Array2<usize> {
    let joint = calibrated(confident_joint(labels, probabilities), labels);
    let n_classes = joint.nrows();
    let mut n_wrong = Array2::zeros(joint.dim());
    for given in 0..n_classes {
        let n_right = joint[[given, given]];
        let n_nonzero = joint.row(given).iter().filter(|&&n| n != 0.0).count();
        let less = (n_right.max(min_of_class) - n_right) / (n_nonzero as f64 - 1.0).max(1.0);
        for actual in (0..n_classes).filter(|&actual| actual != given) {
            n_wrong[[given, actual]] = (joint[[given, actual]] - less).max(0.0) as usize;
        }
    }
    n_wrong
}

/// Counts rows by their label and by the class that they belong to with confidence: the only class whose probability reaches its
/// threshold, or the likeliest class if several do.
fn confident_joint(labels: &[usize], probabilities: ArrayView2<f64>) -> Array2<f64> {
    let thresholds = thresholds(labels, probabilities);
    let n_classes = thresholds.len();
    let mut joint = Array2::zeros((n_classes, n_classes));
    for (&label, row) in labels.iter().zip(probabilities.outer_iter()) {
        let confident: Vec<usize> = (0..n_classes)
            .filter(|&class| row[class] >= thresholds[class] - TOLERANCE)
            .collect();
        let likeliest =
            || (1..n_classes).fold(0, |best, class| if row[class] > row[best] { class } else { best });
        match confident[..] {
            [] => {}
            [only] => joint[[label, only]] += 1.0,
            _ => joint[[label, likeliest()]] += 1.0,
        }
    }
    joint.diag_mut().mapv_inplace(|n: f64| n.max(1.0));
    joint
}

/// Scales each row to the number of rows with its label, and rounds to whole numbers.
fn calibrated(mut joint: Array2<f64>, labels: &[usize]) -> Array2<f64> {
    for (label, mut row) in joint.outer_iter_mut().enumerate() {
        let n = labels.iter().filter(|&&other| other == label).count() as f64;
        let sum = row.sum();
        row.mapv_inplace(|count| count / sum * n);
    }
    // cleanlab's matrix is stored by columns
    let in_order: Vec<f64> = joint.t().iter().copied().collect();
    let (sum, n) = (numpy_sum(&in_order), labels.len() as f64);
    for mut row in joint.outer_iter_mut() {
        let scaled: Vec<f64> = row.iter().map(|count| count / sum * n).collect();
        row.assign(&ndarray::aview1(&rounded(&scaled)));
    }
    joint
}

/// The sum, equal to that of `numpy.sum` to the last bit: the result is rounded later, and may lie halfway between two whole
/// numbers.
fn numpy_sum(numbers: &[f64]) -> f64 {
    const BUFFER: usize = 8192;
    numbers
        .chunks(BUFFER)
        .fold(0.0, |sum, chunk| sum + pairwise_sum(chunk))
}

/// The sum of numbers that fit into one of numpy's buffers.
///
/// # Source
/// numpy 1.26, `pairwise_sum` in `loops_utils.h.src`.
fn pairwise_sum(numbers: &[f64]) -> f64 {
    const LANES: usize = 8;
    const BLOCK: usize = 128;
    let n = numbers.len();
    if n < LANES {
        return numbers.iter().fold(-0.0, |sum, number| sum + number);
    }
    if n > BLOCK {
        let (first, second) = numbers.split_at(n / 2 - (n / 2) % LANES);
        return pairwise_sum(first) + pairwise_sum(second);
    }
    let (eights, rest) = numbers.as_chunks::<LANES>();
    let lanes = eights[1..].iter().fold(eights[0], |mut lanes, eight| {
        lanes
            .iter_mut()
            .zip(eight)
            .for_each(|(lane, number)| *lane += number);
        lanes
    });
    let [a, b, c, d, e, f, g, h] = lanes;
    rest.iter()
        .fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, number| {
            sum + number
        })
}

/// Rounds to whole numbers with the same sum: the units by which it would be off go to the numbers that rounding moved most in the
/// other direction.
fn rounded(exact: &[f64]) -> Vec<f64> {
    let mut whole: Vec<f64> = exact.iter().map(|value| value.round_ties_even()).collect();
    let missing = exact.iter().sum::<f64>().round_ties_even() - whole.iter().sum::<f64>();
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by(|&a, &b| (exact[a] - whole[a]).total_cmp(&(exact[b] - whole[b])));
    if missing > 0.0 {
        order.reverse();
    }
    for &idx in order.iter().take(missing.abs() as usize) {
        whole[idx] += missing.signum();
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn flags_are_cleanlabs() {
        // cleanlab 2.7.1: find_label_issues(labels, probabilities) is True for rows 2 and 5
        let labels = [0, 0, 0, 1, 1, 1, 2, 2];
        let probabilities = array![
            [0.9, 0.05, 0.05],
            [0.8, 0.1, 0.1],
            [0.1, 0.8, 0.1],
            [0.2, 0.7, 0.1],
            [0.05, 0.9, 0.05],
            [0.1, 0.1, 0.8],
            [0.1, 0.2, 0.7],
            [0.1, 0.1, 0.8],
        ];
        let flags = flagged(&labels, probabilities.view(), 1);
        let rows: Vec<usize> = (0..8).filter(|&row| flags[row]).collect();
        assert_eq!(rows, [2, 5]);
        assert_eq!(
            flagged(&labels, probabilities.view(), 3),
            [false; 8],
            "classes of three rows are left alone"
        );
    }

    #[test]
    fn data_without_evidence_flag_no_item() {
        assert!(flagged(&[], Array2::zeros((0, 3)).view(), 1).is_empty());
        assert_eq!(
            flagged(&[0, 1], Array2::from_elem((2, 2), 0.5).view(), 1),
            [false; 2]
        );
        assert_eq!(
            flagged(&[1, 1, 1], Array2::from_elem((3, 2), 0.5).view(), 1),
            [false; 3]
        );
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "the sum of NumPy is wanted to the last bit")]
    fn sums_are_numpys() {
        // numpy 1.26.4: np.sum(1 / np.arange(1, n + 1))
        for (n, expected) in [
            (5, 2.283_333_333_333_333),
            (100, 5.187_377_517_639_621),
            (1_000, 7.485_470_860_550_345),
            (10_000, 9.787_606_036_044_384),
        ] {
            let numbers: Vec<f64> = (1..=n).map(|k| 1.0 / f64::from(k)).collect();
            assert_eq!(numpy_sum(&numbers), expected, "{n}");
        }
    }
}
