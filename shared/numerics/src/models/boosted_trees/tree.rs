//! A fitted tree.

use super::columns::Columns;

/// One node of a [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Node {
    /// Rows whose feature is below the cut go to the node `left`, others to the one after it.
    Split {
        /// The feature that the node tests.
        feature: u32,
        /// The value at which the feature is cut.
        cut: f32,
        /// The place of the left child; the right one follows it.
        left: u32,
    },
    /// The value that rows ending here add to their margins.
    Leaf(f32),
}

/// A regression tree, its nodes in the order of the library: level by level, from the left.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub(super) nodes: Vec<Node>,
}

impl Tree {
    /// The nodes; the first is the root.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Brings nodes into the order of levels, which is not that of growth.
    pub(super) fn of_grown(grown: &[Node]) -> Self {
        let mut nodes = vec![grown[0]];
        let mut place = 0;
        while let Some(&node) = nodes.get(place) {
            if let Node::Split { feature, cut, left } = node {
                let children = nodes.len() as u32;
                nodes[place] = Node::Split {
                    feature,
                    cut,
                    left: children,
                };
                nodes.extend_from_slice(&grown[left as usize..][..2]);
            }
            place += 1;
        }
        Self { nodes }
    }

    /// Adds the tree's values to the margins of all rows. `places` is scratch space.
    pub(super) fn add_to(&self, columns: &Columns, margins: &mut [f32], places: &mut Vec<u32>) {
        places.clear();
        places.resize(margins.len(), 0);
        for (here, node) in (0u32..).zip(&self.nodes) {
            if let Node::Split { feature, cut, left } = *node {
                for (place, &value) in places.iter_mut().zip(columns.column(feature as usize)) {
                    let child = left + u32::from(value >= cut);
                    *place = if *place == here { child } else { *place };
                }
            }
        }
        for (margin, &place) in margins.iter_mut().zip(&*places) {
            if let Node::Leaf(value) = self.nodes[place as usize] {
                *margin += value;
            }
        }
    }
}
