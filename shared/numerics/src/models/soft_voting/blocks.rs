//! Multiplies blocks of rows with the vectors of one or several votes, which share the products.

use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayView2};
use pulp::{Arch, Simd, WithSimd};
use rayon::slice::ParallelSlice;

use super::columns::Columns;
use super::{Feature, SoftVoting};
use crate::models::logistic_regression::{LogisticRegression, probabilities_of};
use crate::models::svc::{Kernel, Svc};
use crate::sharing::items_of_a_thread;
use crate::simd::{BLOCK_ROWS, PackedColumns, ProductScratch, exp};

/// About how often coupling goes through the pairs of classes for one row: an estimate to decide whether some rows are worth a
/// thread.
const COUPLING: usize = 50;

/// The vectors that rows are multiplied with: the distinct training rows of all votes, and the weights that are no sums of these.
#[derive(Debug)]
pub(super) struct Panel {
    columns: PackedColumns,
    /// `(n_columns,)`: squared norms of the centred training rows, and zeros for other columns.
    squared_norms: Vec<f64>,
    /// The column of the centre itself, if some weights are sums.
    centre_column: usize,
    members: Vec<Member>,
}

/// Which columns belong to one vote.
#[derive(Debug)]
struct Member {
    /// The column of each support vector.
    support: Vec<usize>,
    weights: Weights,
    /// The intercepts of the logistic part for centred rows.
    intercepts: Vec<f64>,
}

/// How the products with the logistic part's weights are computed.
#[derive(Debug)]
enum Weights {
    /// Each vector of weights has a column; this is the first one.
    Columns(usize),
    /// As sums of the products with the training rows.
    Sums {
        columns: Vec<usize>,
        /// `(n_vectors, n_rows)`
        factors: Array2<f64>,
        /// Each vector's share of the centre, which the columns do not include.
        of_centre: Vec<f64>,
    },
}

impl Panel {
    /// The panel of one vote: its support vectors, then its weights. Moving every row by `centre` does not change distances, and
    /// they are more accurate near the origin.
    pub(super) fn of_one(centre: Vec<f64>, svc: &Svc, logistic: &LogisticRegression) -> Self {
        let mut columns = Columns::new(centre);
        let support = columns.add_rows(svc.support());
        let weights = Weights::Columns(columns.add_weights(logistic));
        let member = Member {
            support,
            weights,
            intercepts: columns.intercepts(logistic),
        };
        Self::pack(columns, vec![member])
    }

    /// The panel of several votes, which has one column for a training row that several of them share.
    pub(super) fn of_several(centre: Vec<f64>, votes: &[SoftVoting]) -> Self {
        let mut columns = Columns::new(centre);
        let mut members = Vec::new();
        for vote in votes {
            let rows = columns.add_rows(vote.x.view());
            members.push(Member {
                support: vote.svc.support_idx().iter().map(|&row| rows[row]).collect(),
                weights: match &vote.factors {
                    Some(factors) => Weights::Sums {
                        columns: rows,
                        of_centre: factors.outer_iter().map(|of_vector| of_vector.sum()).collect(),
                        factors: factors.clone(),
                    },
                    None => Weights::Columns(columns.add_weights(&vote.logistic)),
                },
                intercepts: columns.intercepts(&vote.logistic),
            });
        }
        Self::pack(columns, members)
    }

    fn pack(mut columns: Columns, members: Vec<Member>) -> Self {
        let is_sum = |member: &Member| matches!(member.weights, Weights::Sums { .. });
        let centre_column = members.iter().any(is_sum).then(|| columns.add_centre());
        let (columns, squared_norms) = columns.pack();
        Self {
            columns,
            squared_norms,
            centre_column: centre_column.unwrap_or_default(),
            members,
        }
    }

    /// Hands each block's probability sums, `(n_classes, BLOCK_ROWS)`, to `store`: vote by vote, seed by seed.
    pub(super) fn for_each_block<T: Feature, B: Send>(
        &self,
        arch: Arch,
        votes: &[&SoftVoting],
        rows: ArrayView2<T>,
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
        // for each row there are the products, and for each seed the coupling of the pairs of classes
        let of_vote = |vote: &&SoftVoting| {
            let n_classes = vote.svc.classes().len();
            n_features * vote.x.nrows() + COUPLING * n_classes * n_classes * vote.calibrations.len()
        };
        let multiplications: usize = BLOCK_ROWS * votes.iter().map(of_vote).sum::<usize>();
        features
            .par_chunks(BLOCK_ROWS * n_features)
            .zip(blocks)
            .with_min_len(items_of_a_thread(multiplications))
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

/// Computes the products of a block, which all votes share.
struct Multiply<'a, T> {
    columns: &'a PackedColumns,
    features: &'a [T],
    product: &'a mut ProductScratch,
}

impl<T: Feature> WithSimd for Multiply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.columns.multiply(simd, self.features, self.product);
    }
}

/// Computes the logistic probabilities and decision values of a block, which all seeds of a vote share.
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
        let (is_linear, gamma) = (vote.svc.kernel() == Kernel::Linear, vote.svc.gamma());
        let kernel = scratch.kernel.chunks_exact_mut(BLOCK_ROWS);
        for (values, &column) in kernel.zip(&member.support) {
            if is_linear {
                values.copy_from_slice(products(column));
                continue;
            }
            let sv_norm = panel.squared_norms[column];
            let both = products(column).iter().zip(&product.squared_norms);
            for (value, (product, row_norm)) in values.iter_mut().zip(both) {
                let distance = (row_norm + sv_norm - 2.0 * product).max(0.0);
                *value = exp(-gamma * distance);
            }
        }
        vote.svc.decide_block(&scratch.kernel, &mut scratch.decisions);
        let scores = scratch.scores.chunks_exact_mut(BLOCK_ROWS);
        for (vector, (scores, &intercept)) in scores.zip(&member.intercepts).enumerate() {
            match &member.weights {
                Weights::Columns(first) => {
                    let products = products(first + vector).iter();
                    products.zip(scores).for_each(|(p, score)| *score = p + intercept);
                }
                Weights::Sums {
                    columns,
                    factors,
                    of_centre,
                } => {
                    scores.fill(intercept);
                    let add = |scores: &mut [f64], factor: f64, column: usize| {
                        let both = scores.iter_mut().zip(products(column));
                        both.for_each(|(score, p)| *score = factor.mul_add(*p, *score));
                    };
                    add(scores, of_centre[vector], panel.centre_column);
                    for (&factor, &column) in factors.row(vector).iter().zip(columns) {
                        add(scores, factor, column);
                    }
                }
            }
        }
        probabilities_of(&scratch.scores, &mut scratch.logistic, BLOCK_ROWS);
    }
}

/// Computes one seed's probability sums for a block that has been scored.
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
