//! Blocks of rows against the vectors of one or several votes: the products are made once and shared.

use std::collections::HashMap;

use ndarray::ArrayView2;
use ndarray::parallel::prelude::*;
use pulp::{Arch, Simd, WithSimd};
use rayon::slice::ParallelSlice;

use super::SoftVoting;
use crate::models::logistic_regression::{LogisticRegression, probabilities_of};
use crate::models::svc::Svc;
use crate::simd::{BLOCK_ROWS, PackedColumns, ProductScratch, exp, vector};

/// The vectors that rows are multiplied with: the distinct support vectors of all votes, then their weights.
#[derive(Debug)]
pub(super) struct Panel {
    columns: PackedColumns,
    /// `(n_distinct,)`: squared norms of the centred support vectors.
    squared_norms: Vec<f64>,
    members: Vec<Member>,
}

/// Which columns belong to one vote.
#[derive(Debug)]
struct Member {
    /// For each support vector its column.
    support: Vec<usize>,
    /// The column of the first vector of weights.
    first_weights: usize,
    /// Intercepts of the logistic part for centred rows.
    intercepts: Vec<f64>,
}

impl Panel {
    /// Distances don't change when every row moves by `centre`, and are more accurate near the origin.
    pub(super) fn new<'a>(
        centre: Vec<f64>,
        votes: impl Iterator<Item = (&'a Svc, &'a LogisticRegression)> + Clone,
    ) -> Self {
        let mut column_of: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut members = Vec::new();
        for (svc, _) in votes.clone() {
            let mut column = |row: ndarray::ArrayView1<f64>| {
                let bits = row.iter().map(|value| value.to_bits()).collect();
                *column_of.entry(bits).or_insert_with(|| {
                    columns.push(row.iter().zip(&centre).map(|(x, c)| x - c).collect());
                    columns.len() - 1
                })
            };
            members.push(Member {
                support: svc.support().outer_iter().map(&mut column).collect(),
                first_weights: 0,
                intercepts: Vec::new(),
            });
        }
        let squared_norms = columns.iter().map(|row| vector::dot(row, row)).collect();
        let centre_row = ndarray::aview1(&centre);
        for (member, (_, logistic)) in members.iter_mut().zip(votes) {
            let weights = logistic.coefficients();
            member.first_weights = columns.len();
            member.intercepts = weights
                .outer_iter()
                .zip(logistic.intercepts())
                .map(|(w, b)| w.dot(&centre_row) + b)
                .collect();
            columns.extend(weights.outer_iter().map(|row| row.to_vec()));
        }
        Self {
            columns: PackedColumns::new(centre, columns.into_iter()),
            squared_norms,
            members,
        }
    }

    /// Hands each block's probability sums, `(n_classes, BLOCK_ROWS)`, to `store`: vote by vote, seed by seed.
    pub(super) fn for_each_block<B: Send>(
        &self,
        arch: Arch,
        votes: &[&SoftVoting],
        rows: ArrayView2<f32>,
        blocks: impl IndexedParallelIterator<Item = B>,
        store: impl Fn(&mut B, usize, usize, &[f64]) + Sync,
    ) {
        let n_features = rows.ncols();
        for vote in votes {
            let expected = vote.svc.support().ncols();
            assert_eq!(n_features, expected, "features of the rows and the training set");
        }
        let rows = rows.as_standard_layout();
        let features = rows.as_slice().unwrap_or_default();
        features
            .par_chunks(BLOCK_ROWS * n_features)
            .zip(blocks)
            .for_each_init(
                || {
                    (
                        self.columns.scratch(),
                        votes.iter().map(|vote| Scratch::new(vote)).collect(),
                    )
                },
                |(product, scratches): &mut (ProductScratch, Vec<Scratch>), (features, mut block)| {
                    arch.dispatch(Multiply {
                        columns: &self.columns,
                        features,
                        product,
                    });
                    for (idx, (vote, scratch)) in votes.iter().zip(scratches).enumerate() {
                        arch.dispatch(ScoreBlock {
                            panel: self,
                            member: &self.members[idx],
                            vote,
                            product,
                            scratch,
                        });
                        for seed in 0..vote.calibrations.len() {
                            arch.dispatch(VoteBlock { vote, seed, scratch });
                            store(&mut block, idx, seed, &scratch.sums);
                        }
                    }
                },
            );
    }
}

/// Working memory of one thread for one vote; each part is `(n, BLOCK_ROWS)`.
struct Scratch {
    kernel: Vec<f64>,
    scores: Vec<f64>,
    logistic: Vec<f64>,
    decisions: Vec<f64>,
    pairwise: Vec<f64>,
    sums: Vec<f64>,
}

impl Scratch {
    fn new(vote: &SoftVoting) -> Self {
        let block = |n: usize| vec![0.0; n * BLOCK_ROWS];
        let (n_classes, n_pairs) = (vote.svc.classes().len(), vote.svc.rho().len());
        Self {
            kernel: block(vote.svc.support().nrows()),
            scores: block(vote.logistic.intercepts().len()),
            logistic: block(n_classes),
            decisions: block(n_pairs),
            pairwise: block(n_pairs),
            sums: block(n_classes),
        }
    }
}

/// What all votes share of a block: the products.
struct Multiply<'a> {
    columns: &'a PackedColumns,
    features: &'a [f32],
    product: &'a mut ProductScratch,
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.columns.multiply(simd, self.features, self.product);
    }
}

/// What all seeds of a vote share of a block: the logistic probabilities and the decision values.
struct ScoreBlock<'a> {
    panel: &'a Panel,
    member: &'a Member,
    vote: &'a SoftVoting,
    product: &'a ProductScratch,
    scratch: &'a mut Scratch,
}

impl WithSimd for ScoreBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self {
            panel,
            member,
            vote,
            product,
            scratch,
        } = self;
        let products = |column: usize| &product.products[column * BLOCK_ROWS..][..BLOCK_ROWS];
        let gamma = vote.svc.gamma();
        let kernel = scratch.kernel.chunks_exact_mut(BLOCK_ROWS);
        for (values, &column) in kernel.zip(&member.support) {
            let sv_norm = panel.squared_norms[column];
            let both = products(column).iter().zip(&product.squared_norms);
            for (value, (product, row_norm)) in values.iter_mut().zip(both) {
                let distance = (row_norm + sv_norm - 2.0 * product).max(0.0);
                *value = exp(-gamma * distance);
            }
        }
        vote.svc.decide_block(&scratch.kernel, &mut scratch.decisions);
        let scores = scratch.scores.chunks_exact_mut(BLOCK_ROWS);
        for (vector, (scores, intercept)) in scores.zip(&member.intercepts).enumerate() {
            let products = products(member.first_weights + vector);
            products
                .iter()
                .zip(scores)
                .for_each(|(p, score)| *score = p + intercept);
        }
        probabilities_of(&scratch.scores, &mut scratch.logistic, BLOCK_ROWS);
    }
}

/// One seed's probability sums of a block that is already scored.
struct VoteBlock<'a> {
    vote: &'a SoftVoting,
    seed: usize,
    scratch: &'a mut Scratch,
}

impl WithSimd for VoteBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Scratch {
            logistic,
            decisions,
            pairwise,
            sums,
            ..
        } = self.scratch;
        let calibration = &self.vote.calibrations[self.seed];
        self.vote
            .svc
            .couple_block(simd, calibration, decisions, pairwise, sums);
        sums.iter_mut().zip(logistic).for_each(|(sum, p)| *sum += *p);
    }
}
