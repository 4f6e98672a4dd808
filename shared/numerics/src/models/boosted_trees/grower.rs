//! One fit in progress: its margins, and the tree that grows.

use super::columns::Columns;
use super::loss::derivatives;
use super::split::{Derivatives, MIN_CHILD_WEIGHT, Split, Sums};
use super::tree::{Node, Tree};
use super::{BoostedTrees, MAX_DEPTH, N_TREES};

/// A node that may be split.
#[derive(Debug)]
pub(super) struct OpenNode {
    place: usize,
    depth: usize,
    pub(super) rows: Vec<u32>,
    pub(super) sums: Sums,
}

/// One fit.
#[derive(Debug)]
pub(super) struct Grower {
    labels: Vec<f32>,
    margins: Vec<f32>,
    pub(super) derivatives: Derivatives,
    /// The nodes of the tree so far, in the order of growth.
    grown: Vec<Node>,
    /// The nodes whose best split is still to be searched.
    pub(super) open: Vec<OpenNode>,
    n_unsettled: usize,
    trees: Vec<Tree>,
}

impl Grower {
    /// Begins the first tree.
    pub(super) fn new(labels: &[bool]) -> Self {
        let mut grower = Self {
            labels: labels.iter().map(|&label| f32::from(u8::from(label))).collect(),
            margins: vec![-0.0; labels.len()],
            derivatives: Derivatives::new(labels.len()),
            grown: Vec::new(),
            open: Vec::new(),
            n_unsettled: 0,
            trees: Vec::with_capacity(N_TREES),
        };
        grower.advance();
        grower
    }

    /// The finished model; `None` while trees are missing.
    pub(super) fn finished(&mut self) -> Option<BoostedTrees> {
        (self.trees.len() == N_TREES).then(|| BoostedTrees {
            trees: std::mem::take(&mut self.trees),
        })
    }

    /// Settles a node: splits it, or makes it a leaf if there is no split.
    pub(super) fn settle(&mut self, columns: &Columns, node: OpenNode, split: Option<Split>) {
        self.n_unsettled -= 1;
        match split {
            Some(split) => self.split(columns, node, split),
            None => self.make_leaf(&node),
        }
        self.advance();
    }

    fn split(&mut self, columns: &Columns, node: OpenNode, split: Split) {
        let OpenNode {
            place, depth, rows, ..
        } = node;
        let column = columns.column(split.feature as usize);
        let is_left = |row: &u32| column[*row as usize] < split.cut;
        let (left, right) = rows.into_iter().partition(is_left);
        let first = self.grown.len();
        self.grown[place] = Node::Split {
            feature: split.feature,
            cut: split.cut,
            left: first as u32,
        };
        self.grown.extend([Node::Leaf(0.0); 2]);
        self.consider(first, depth + 1, left);
        self.consider(first + 1, depth + 1, right);
    }

    /// Opens a node if it may be split.
    fn consider(&mut self, place: usize, depth: usize, rows: Vec<u32>) {
        let mut sums = Sums::default();
        for &row in &rows {
            sums.add(self.derivatives.of_rows[row as usize]);
        }
        let node = OpenNode {
            place,
            depth,
            rows,
            sums,
        };
        if depth < MAX_DEPTH && sums.curvature >= 2.0 * MIN_CHILD_WEIGHT {
            self.n_unsettled += 1;
            self.open.push(node);
        } else {
            self.make_leaf(&node);
        }
    }

    fn make_leaf(&mut self, node: &OpenNode) {
        let value = node.sums.leaf_value();
        self.grown[node.place] = Node::Leaf(value);
        for &row in &node.rows {
            self.margins[row as usize] += value;
        }
    }

    /// Finishes trees without open nodes, and begins the next ones.
    fn advance(&mut self) {
        while self.n_unsettled == 0 && self.trees.len() < N_TREES {
            if !self.grown.is_empty() {
                self.trees.push(Tree::of_grown(&self.grown));
                self.grown.clear();
                if self.trees.len() == N_TREES {
                    return;
                }
            }
            let rows = self.margins.iter().zip(&self.labels);
            for (of_row, (&margin, &label)) in self.derivatives.of_rows.iter_mut().zip(rows) {
                let (gradient, curvature) = derivatives(margin, label);
                *of_row = Sums {
                    gradient: gradient.into(),
                    curvature: curvature.into(),
                };
            }
            self.grown.push(Node::Leaf(0.0));
            self.consider(0, 0, (0..self.labels.len() as u32).collect());
        }
    }
}
