//! Several divisions of a test set's items into cells.

use pulp::{Arch, Simd, WithSimd};

use super::batch::{Batch, LANES};

/// The most groups of items whose sums are kept in the processor's cache together.
const MAX_GROUPS: usize = 2_048;

/// Divisions of items into cells, such as the right and the wrong answers of several models. Items in the same cells of several
/// divisions form one group, whose weights are added up once for all these divisions.
#[derive(Debug, Clone)]
pub(super) struct Divisions {
    n_cells: usize,
    parts: Vec<Part>,
}

/// Consecutive divisions with their common groups.
#[derive(Debug, Clone)]
struct Part {
    /// `(n_items,)`: the group of each item.
    groups: Vec<u16>,
    /// `(n_groups, n_divisions)`: the cells of each group.
    cells: Vec<Vec<u16>>,
}

impl Divisions {
    /// Divisions into `n_cells` cells each.
    ///
    /// # Shapes and units
    /// `divisions`: each `(n_items,)` cells below `n_cells`, or `n_cells` for an item that belongs to no cell.
    ///
    /// # Panics
    /// If their lengths differ.
    pub(super) fn new(n_cells: usize, divisions: &[Vec<u16>]) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for division in divisions {
            let last = parts.last_mut();
            let joined = last.and_then(|last| Some((last.divided(division, n_cells, MAX_GROUPS)?, last)));
            if let Some((divided, last)) = joined {
                *last = divided;
            } else {
                parts.extend(Part::whole(division.len()).divided(division, n_cells, usize::MAX));
            }
        }
        Self { n_cells, parts }
    }

    /// The sums of the weights over the items of each cell, for each draw of a batch: `(n_divisions, n_cells)`.
    ///
    /// # Panics
    /// If the batch is of another number of items.
    pub(super) fn sums(&self, batch: &Batch) -> Vec<Vec<[u32; LANES]>> {
        let of_part = |part: &Part| {
            Arch::new().dispatch(OfPart {
                of_groups: &batch.sums(&part.groups, part.cells.len()),
                part,
                n_cells: self.n_cells,
            })
        };
        self.parts.iter().flat_map(of_part).collect()
    }
}

/// Computes the sums of the cells from those of the groups.
struct OfPart<'a> {
    of_groups: &'a [[u32; LANES]],
    part: &'a Part,
    n_cells: usize,
}

impl WithSimd for OfPart<'_> {
    type Output = Vec<Vec<[u32; LANES]>>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let n_divisions = self.part.cells.first().map_or(0, Vec::len);
        let mut sums = vec![vec![[0; LANES]; self.n_cells + 1]; n_divisions];
        for (cells, of_group) in self.part.cells.iter().zip(self.of_groups) {
            for (&cell, sums) in cells.iter().zip(&mut sums) {
                let mut sum = sums[usize::from(cell)];
                for lane in 0..LANES {
                    sum[lane] += of_group[lane];
                }
                sums[usize::from(cell)] = sum;
            }
        }
        for sums in &mut sums {
            sums.truncate(self.n_cells);
        }
        sums
    }
}

impl Part {
    /// A part without divisions: all items are in one group.
    fn whole(n_items: usize) -> Self {
        Self {
            groups: vec![0; n_items],
            cells: vec![Vec::new()],
        }
    }

    /// The groups divided by one more division; `None` if there would be more than `max_groups`.
    fn divided(&self, division: &[u16], n_cells: usize, max_groups: usize) -> Option<Self> {
        assert_eq!(self.groups.len(), division.len(), "one cell for each item");
        let width = n_cells + 1;
        let mut group_of = vec![None; self.cells.len() * width];
        let mut cells: Vec<Vec<u16>> = Vec::new();
        let mut groups = Vec::with_capacity(division.len());
        for (&group, &cell) in self.groups.iter().zip(division) {
            let group_of = &mut group_of[usize::from(group) * width + usize::from(cell)];
            if group_of.is_none() {
                if cells.len() == max_groups {
                    return None;
                }
                *group_of = Some(cells.len() as u16);
                cells.push([&self.cells[usize::from(group)][..], &[cell]].concat());
            }
            groups.extend(*group_of);
        }
        Some(Self { groups, cells })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::Resampler;

    /// Compares the sums with a loop over items, for divisions that fit into one part, and for more groups than that.
    #[test]
    fn sums_are_those_of_each_item() {
        for (n_items, n_cells) in [(50u32, 3u32), (5_000, 200)] {
            let division = |number: u32| -> Vec<u16> {
                (0..n_items)
                    .map(|item| ((item * item * (number + 1) / 7 + number) % (n_cells + 1)) as u16)
                    .collect()
            };
            let divisions: Vec<Vec<u16>> = (0..5).map(division).collect();
            let batch = Resampler::of_items(&vec![0; n_items as usize], None, [3; 32]).batch(2);
            let sums = Divisions::new(n_cells as usize, &divisions).sums(&batch);
            assert_eq!(sums.len(), divisions.len());
            let weights: Vec<Vec<u32>> = (0..LANES).map(|lane| batch.weights_of(lane)).collect();
            for (division, sums) in divisions.iter().zip(sums) {
                assert_eq!(sums.len(), n_cells as usize);
                for (cell, sums) in (0u16..).zip(sums) {
                    for (weights, sum) in weights.iter().zip(sums) {
                        let of_cell = division.iter().zip(weights).filter(|(other, _)| **other == cell);
                        assert_eq!(sum, of_cell.map(|(_, weight)| weight).sum::<u32>());
                    }
                }
            }
        }
    }

    #[test]
    fn equal_answers_are_one_part() {
        let division: Vec<u16> = (0..9_000).map(|item| item % 500).collect();
        let divisions = Divisions::new(500, &vec![division; 12]);
        assert_eq!(divisions.parts.len(), 1);
        assert_eq!(divisions.parts[0].cells.len(), 500);
    }
}
