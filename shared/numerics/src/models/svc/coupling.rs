//! Class probabilities from pairwise ones, for many samples at a time.

use pulp::Simd;

use crate::simd::BLOCK_ROWS;

/// The number of registers solved side by side, so that the divisions for one overlap with the sums for the other.
const WAYS: usize = 2;

/// The coupling of pairwise class probabilities into one distribution.
///
/// # Source
/// Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling",
/// JMLR 5 (2004), section 4.2, algorithm 2, with LIBSVM's tolerance and round limit.
pub(crate) struct Coupling {
    n_classes: usize,
}

/// One value a lane in each of the ways.
type Lanes<S> = [<S as Simd>::f64s; WAYS];

/// The quadratic form of one group of samples, and the current point.
struct Problem<S: Simd> {
    /// `(n_classes, n_classes)`, row-major.
    q: Vec<Lanes<S>>,
    inverse_diagonal: Vec<Lanes<S>>,
    qp: Vec<Lanes<S>>,
    p: Vec<Lanes<S>>,
    next: Vec<Lanes<S>>,
}

impl Coupling {
    pub(crate) fn new(n_classes: usize) -> Self {
        Self { n_classes }
    }

    /// Couples a block of samples.
    ///
    /// `pairwise`: `(n_pairs, BLOCK_ROWS)`, the probability of the first class of each pair;
    /// `probabilities`: `(n_classes, BLOCK_ROWS)`. Each sample stops by itself, in the round in
    /// which it would stop alone.
    #[inline(always)]
    pub(crate) fn solve<S: Simd>(&self, simd: S, pairwise: &[f64], probabilities: &mut [f64]) {
        let k = self.n_classes;
        let zero = [simd.splat_f64s(0.0); WAYS];
        let mut problem = Problem::<S> {
            q: vec![zero; k * k],
            inverse_diagonal: vec![zero; k],
            qp: vec![zero; k],
            p: vec![zero; k],
            next: vec![zero; k],
        };
        for first_row in (0..BLOCK_ROWS).step_by(WAYS * S::F64_LANES) {
            self.load(simd, pairwise, first_row, &mut problem);
            self.iterate(simd, &mut problem);
            for (class, p) in problem.p.iter().enumerate() {
                for (way, p) in p.iter().enumerate() {
                    let at = class * BLOCK_ROWS + first_row + way * S::F64_LANES;
                    simd.partial_store_f64s(&mut probabilities[at..][..S::F64_LANES], *p);
                }
            }
        }
    }

    /// Builds the quadratic form from the pairwise probabilities and starts at the centre.
    #[inline(always)]
    fn load<S: Simd>(&self, simd: S, pairwise: &[f64], first_row: usize, into: &mut Problem<S>) {
        let k = self.n_classes;
        let one = simd.splat_f64s(1.0);
        into.p.fill([simd.splat_f64s(1.0 / k as f64); WAYS]);
        for way in 0..WAYS {
            for t in 0..k {
                into.q[t * k + t][way] = simd.splat_f64s(0.0);
            }
            let mut pair = 0;
            for i in 0..k {
                for j in i + 1..k {
                    let at = pair * BLOCK_ROWS + first_row + way * S::F64_LANES;
                    let r_ij = simd.partial_load_f64s(&pairwise[at..][..S::F64_LANES]);
                    let r_ji = simd.sub_f64s(one, r_ij);
                    let ii = &mut into.q[i * k + i][way];
                    *ii = simd.mul_add_f64s(r_ji, r_ji, *ii);
                    let jj = &mut into.q[j * k + j][way];
                    *jj = simd.mul_add_f64s(r_ij, r_ij, *jj);
                    let off_diagonal = simd.neg_f64s(simd.mul_f64s(r_ji, r_ij));
                    into.q[i * k + j][way] = off_diagonal;
                    into.q[j * k + i][way] = off_diagonal;
                    pair += 1;
                }
            }
            for t in 0..k {
                into.inverse_diagonal[t][way] = simd.div_f64s(one, into.q[t * k + t][way]);
            }
        }
    }

    #[inline(always)]
    fn iterate<S: Simd>(&self, simd: S, problem: &mut Problem<S>) {
        let tolerance = simd.splat_f64s(0.005 / self.n_classes as f64);
        for _ in 0..self.n_classes.max(100) {
            let form = self.evaluate(simd, problem);
            let mut converged = [simd.splat_f64s(0.0); WAYS];
            let mut n_running = 0;
            for way in 0..WAYS {
                let mut error = simd.splat_f64s(0.0);
                for qp in &problem.qp {
                    error = simd.max_f64s(error, simd.abs_f64s(simd.sub_f64s(qp[way], form[way])));
                }
                // 1 in the lanes that go on, 0 in those that keep their point
                let one = simd.splat_f64s(1.0);
                let zero = simd.splat_f64s(0.0);
                let going_on = simd.select_f64s(simd.less_than_f64s(error, tolerance), zero, one);
                n_running += usize::from(simd.reduce_max_f64s(going_on) > 0.0);
                converged[way] = going_on;
            }
            if n_running == 0 {
                return;
            }
            let scale = self.sweep(simd, form, problem);
            for (p, next) in problem.p.iter_mut().zip(&problem.next) {
                for way in 0..WAYS {
                    let running = simd.less_than_f64s(simd.splat_f64s(0.5), converged[way]);
                    let moved = simd.mul_f64s(next[way], scale[way]);
                    p[way] = simd.select_f64s(running, moved, p[way]);
                }
            }
        }
    }

    /// Computes `Q p` into the problem and returns `p' Q p`.
    #[inline(always)]
    fn evaluate<S: Simd>(&self, simd: S, problem: &mut Problem<S>) -> Lanes<S> {
        let k = self.n_classes;
        let mut form = [simd.splat_f64s(0.0); WAYS];
        for t in 0..k {
            let mut sum = [simd.splat_f64s(0.0); WAYS];
            for (q, p) in problem.q[t * k..][..k].iter().zip(&problem.p) {
                for way in 0..WAYS {
                    sum[way] = simd.mul_add_f64s(q[way], p[way], sum[way]);
                }
            }
            for way in 0..WAYS {
                form[way] = simd.mul_add_f64s(problem.p[t][way], sum[way], form[way]);
            }
            problem.qp[t] = sum;
        }
        form
    }

    /// Optimises each coordinate in turn; returns the factor that normalises the new point.
    ///
    /// The paper divides the point, `Q p` and `p' Q p` by the new total after each coordinate.
    /// Here they stay undivided and the total is carried along, which is the same in exact
    /// arithmetic and leaves one division a coordinate.
    #[inline(always)]
    fn sweep<S: Simd>(&self, simd: S, mut form: Lanes<S>, problem: &mut Problem<S>) -> Lanes<S> {
        let k = self.n_classes;
        let one = simd.splat_f64s(1.0);
        let mut total = [one; WAYS];
        let mut inverse_total = [one; WAYS];
        for t in 0..k {
            let mut step = [one; WAYS];
            for way in 0..WAYS {
                let qp = problem.qp[t][way];
                let target = simd.mul_f64s(form[way], inverse_total[way]);
                step[way] = simd.mul_f64s(simd.sub_f64s(target, qp), problem.inverse_diagonal[t][way]);
                problem.next[t][way] = simd.add_f64s(problem.p[t][way], step[way]);
                total[way] = simd.add_f64s(total[way], step[way]);
                inverse_total[way] = simd.div_f64s(one, total[way]);
                let slope = simd.mul_add_f64s(step[way], problem.q[t * k + t][way], simd.add_f64s(qp, qp));
                form[way] = simd.mul_add_f64s(step[way], slope, form[way]);
            }
            for (qp, q) in problem.qp.iter_mut().zip(&problem.q[t * k..][..k]) {
                for way in 0..WAYS {
                    qp[way] = simd.mul_add_f64s(step[way], q[way], qp[way]);
                }
            }
        }
        inverse_total
    }
}

#[cfg(test)]
mod tests {
    use pulp::WithSimd;

    use super::*;
    use crate::simd::architectures;

    struct Solve<'a>(&'a Coupling, &'a [f64], &'a mut [f64]);

    impl WithSimd for Solve<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            self.0.solve(simd, self.1, self.2);
        }
    }

    /// The algorithm of the paper, dividing after every coordinate, for one sample.
    fn one_sample(r: &[Vec<f64>]) -> (Vec<f64>, usize) {
        let k = r.len();
        let q = |t: usize, j: usize| -> f64 {
            if t == j {
                (0..k).filter(|&j| j != t).map(|j| r[j][t] * r[j][t]).sum()
            } else {
                -r[j][t] * r[t][j]
            }
        };
        let mut p = vec![1.0 / k as f64; k];
        for round in 0..k.max(100) {
            let mut qp: Vec<f64> = (0..k).map(|t| (0..k).map(|j| q(t, j) * p[j]).sum()).collect();
            let mut form: f64 = (0..k).map(|t| p[t] * qp[t]).sum();
            if qp.iter().all(|qp| (qp - form).abs() < 0.005 / k as f64) {
                return (p, round);
            }
            for t in 0..k {
                let step = (form - qp[t]) / q(t, t);
                form = (form + step * (step * q(t, t) + 2.0 * qp[t])) / (1.0 + step) / (1.0 + step);
                p[t] += step;
                for j in 0..k {
                    qp[j] = (qp[j] + step * q(t, j)) / (1.0 + step);
                    p[j] /= 1.0 + step;
                }
            }
        }
        (p, k.max(100))
    }

    #[test]
    fn every_lane_stops_where_it_would_alone() {
        for k in 2..=9 {
            let n_pairs = k * (k - 1) / 2;
            let value = |i: usize| ((i * 7919 + i * i * 31) % 1009) as f64 / 1009.0;
            // from undecided to extreme, so that neighbours need different numbers of rounds
            let pairwise: Vec<f64> = (0..n_pairs * BLOCK_ROWS)
                .map(|i| match i % 7 {
                    0 => 1e-7,
                    1 => 1.0 - 1e-7,
                    2 => 0.5,
                    _ => value(i).clamp(1e-7, 1.0 - 1e-7),
                })
                .collect();
            let mut rounds = std::collections::BTreeSet::new();
            for arch in architectures() {
                let mut ours = vec![0.0; k * BLOCK_ROWS];
                arch.dispatch(Solve(&Coupling::new(k), &pairwise, &mut ours));
                for row in 0..BLOCK_ROWS {
                    let mut r = vec![vec![0.0; k]; k];
                    let pairs = (0..k).flat_map(|i| (i + 1..k).map(move |j| (i, j)));
                    for (pair, (i, j)) in pairs.enumerate() {
                        r[i][j] = pairwise[pair * BLOCK_ROWS + row];
                        r[j][i] = 1.0 - r[i][j];
                    }
                    let (expected, n_rounds) = one_sample(&r);
                    rounds.insert(n_rounds);
                    for (class, p) in expected.iter().enumerate() {
                        let ours = ours[class * BLOCK_ROWS + row];
                        assert!(
                            (ours - p).abs() < 1e-12,
                            "{k} classes, row {row}: {ours} instead of {p}"
                        );
                    }
                }
            }
            assert!(
                k == 2 || rounds.len() > 2,
                "the samples of {k} classes are too alike: {rounds:?}"
            );
        }
    }
}
