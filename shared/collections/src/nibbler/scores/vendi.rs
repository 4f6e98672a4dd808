//! The Vendi score: how many different things there are among given ones.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use nalgebra::DMatrix;

use crate::nibbler::prompts::embedding::Embedding;

/// The Vendi score (Friedman and Dieng 2023, order 1) of vectors of length 1 with their cosines as similarity: the
/// exponential of the Shannon entropy of the eigenvalues of K/n, K being the n x n matrix of the cosines. From 1, all
/// the same, to n, all at right angles. 0 without vectors.
///
/// XX'/n and X'X/n have the same nonzero eigenvalues, so the smaller of the two is solved.
pub fn vendi_score<K: Ord, E: Borrow<Embedding>>(embeddings: &BTreeMap<K, E>) -> f64 {
    let rows: Vec<&[f32]> = embeddings.values().map(|one| one.borrow().as_slice()).collect();
    let Some(width) = rows.first().map(|row| row.len()) else {
        return 0.0;
    };
    let numbers = rows.iter().flat_map(|row| row.iter().map(|&x| f64::from(x)));
    let x = DMatrix::from_row_iterator(rows.len(), width, numbers);
    let product = if rows.len() <= width {
        &x * x.transpose()
    } else {
        x.transpose() * &x
    };
    let eigenvalues = (product / rows.len() as f64).symmetric_eigenvalues();
    let entropy: f64 = eigenvalues
        .iter()
        .filter(|&&share| share > 0.0)
        .map(|share| -share * share.ln())
        .sum();
    entropy.exp()
}
