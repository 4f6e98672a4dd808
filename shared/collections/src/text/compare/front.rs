//! Compares models without weights.

/// Whether each model is on the front: no other is at least as good in every figure and better in one. `(n_models,)`
///
/// # Shapes and units
/// `points`: `(n_models, n_figures)`, more is better.
///
/// ```
/// use dataperf_collections::text::compare::pareto_front;
/// assert_eq!(pareto_front(&[vec![2.0, 1.0], vec![1.0, 2.0], vec![1.0, 1.0]]), [true, true, false]);
/// ```
pub fn pareto_front(points: &[Vec<f64>]) -> Vec<bool> {
    let dominates = |other: &Vec<f64>, one: &Vec<f64>| {
        let mut pairs = other.iter().zip(one);
        pairs.clone().all(|(a, b)| a >= b) && pairs.any(|(a, b)| a > b)
    };
    points
        .iter()
        .map(|one| !points.iter().any(|other| dominates(other, one)))
        .collect()
}

/// The share of all weights under which each model leads, `(n_models,)`: of the grid of all weights that are multiples of `1 / n_steps` and have the
/// sum 1. Where several lead, they share that point of the grid.
///
/// # Shapes and units
/// `points`: `(n_models, n_figures)`, more is better.
///
/// ```
/// use dataperf_collections::text::compare::shares_of_weights;
/// // the first leads where the first figure weighs more than half
/// assert_eq!(shares_of_weights(&[vec![1.0, 0.0], vec![0.0, 1.0]], 2), [0.5, 0.5]);
/// ```
pub fn shares_of_weights(points: &[Vec<f64>], n_steps: u32) -> Vec<f64> {
    let n_figures = points.first().map_or(0, Vec::len);
    let mut shares = vec![0.0; points.len()];
    let mut n = 0_usize;
    each_weighting(n_figures, n_steps, &mut vec![0; n_figures], 0, &mut |weights| {
        let scores: Vec<f64> = points
            .iter()
            .map(|of_model| of_model.iter().zip(weights).map(|(x, &w)| x * f64::from(w)).sum())
            .collect();
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let leads = |score: &f64| *score >= best;
        let n_leading = scores.iter().filter(|score| leads(score)).count() as f64;
        for (share, score) in shares.iter_mut().zip(&scores) {
            *share += if leads(score) { 1.0 / n_leading } else { 0.0 };
        }
        n += 1;
    });
    for share in &mut shares {
        *share /= n.max(1) as f64;
    }
    shares
}

fn each_weighting(
    n_figures: usize,
    left: u32,
    weights: &mut Vec<u32>,
    at: usize,
    get: &mut impl FnMut(&[u32]),
) {
    if at + 1 >= n_figures {
        if let Some(last) = weights.last_mut() {
            *last = left;
            get(weights);
        }
        return;
    }
    for weight in 0..=left {
        weights[at] = weight;
        each_weighting(n_figures, left - weight, weights, at + 1, get);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_every_weighting_once() {
        let mut n = 0;
        each_weighting(5, 20, &mut vec![0; 5], 0, &mut |weights| {
            assert_eq!(weights.iter().sum::<u32>(), 20);
            n += 1;
        });
        assert_eq!(n, 10_626); // 24 over 4
    }

    #[test]
    fn shares_sum_to_one_and_dominated_models_lose() {
        let points = [vec![3.0, 1.0, 0.0], vec![1.0, 2.0, 2.0], vec![1.0, 1.0, -1.0]];
        let shares = shares_of_weights(&points, 20);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(
            shares[0] > 0.2 && shares[1] > 0.2 && shares[2] == 0.0,
            "{shares:?}"
        );
        assert_eq!(pareto_front(&points), [true, true, false]);
    }

    #[test]
    fn equal_models_share_weights_and_the_front() {
        let points = [vec![1.0, 1.0], vec![1.0, 1.0]];
        assert_eq!(shares_of_weights(&points, 4), [0.5, 0.5]);
        assert_eq!(pareto_front(&points), [true, true]);
        assert!(shares_of_weights(&[], 4).is_empty() && pareto_front(&[]).is_empty());
    }
}
