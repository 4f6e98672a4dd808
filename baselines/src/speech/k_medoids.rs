//! k-medoids: chooses the rows that the other rows are nearest to.

use ndarray::ArrayView2;

use crate::random::Random;

/// The number of random starts, of which the best result counts.
const N_STARTS: usize = 4;

/// A clustering.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// The rows that are cluster centres, ascending.
    pub medoids: Vec<usize>,
    /// The sum of the rows' distances from their nearest centres.
    pub cost: f64,
}

/// Clusters rows around `n_medoids` of them, with four random starts. If there are no more rows than that, all are medoids.
///
/// # Shapes and units
/// `distances`: `(n_rows, n_rows)`, symmetric, zero on the diagonal.
///
/// # Source
/// Schubert and Rousseeuw, "Fast and eager k-medoids clustering: O(k) runtime improvement of the PAM, CLARA, and
/// CLARANS algorithms", Information Systems 101 (2021), algorithm `FasterPAM`. The author's own crate is under the
/// GPL, so this is our own.
pub fn cluster(distances: ArrayView2<f32>, n_medoids: usize, seed: u32) -> Clustering {
    let n_rows = distances.nrows();
    if n_rows <= n_medoids || n_medoids == 0 {
        return Clustering {
            medoids: (0..n_rows.min(n_medoids)).collect(),
            cost: 0.0,
        };
    }
    let mut random = Random::new(seed);
    let mut best: Option<Clustering> = None;
    for _ in 0..N_STARTS {
        let start = random.permutation(n_rows)[..n_medoids].to_vec();
        let clustering = Swaps::new(distances, start).run();
        if best.as_ref().is_none_or(|best| clustering.cost < best.cost) {
            best = Some(clustering);
        }
    }
    best.unwrap_or(Clustering {
        medoids: Vec::new(),
        cost: 0.0,
    })
}

/// The nearest medoid of a row, and the distances of the nearest and the second nearest.
#[derive(Debug, Clone, Copy)]
struct Nearest {
    medoid: usize,
    distance: f64,
    second_distance: f64,
}

struct Swaps<'a> {
    distances: ArrayView2<'a, f32>,
    medoids: Vec<usize>,
    nearest: Vec<Nearest>,
    /// For each medoid by how much the cost grows if it is removed without a replacement.
    removal_loss: Vec<f64>,
}

impl<'a> Swaps<'a> {
    fn new(distances: ArrayView2<'a, f32>, medoids: Vec<usize>) -> Self {
        let mut swaps = Self {
            distances,
            medoids,
            nearest: Vec::new(),
            removal_loss: Vec::new(),
        };
        swaps.assign();
        swaps
    }

    /// Replaces a medoid by a row whenever that lowers the cost, until a whole round finds no such
    /// row.
    fn run(mut self) -> Clustering {
        let n_rows = self.distances.nrows();
        let (mut row, mut n_without_swap) = (0, 0);
        while n_without_swap < n_rows {
            let swap = self.best_swap(row);
            if let Some(medoid) = swap {
                self.medoids[medoid] = row;
                self.assign();
                n_without_swap = 0;
            } else {
                n_without_swap += 1;
            }
            row = (row + 1) % n_rows;
        }
        self.medoids.sort_unstable();
        let cost = self.nearest.iter().map(|nearest| nearest.distance).sum();
        Clustering {
            medoids: self.medoids,
            cost,
        }
    }

    /// The medoid that `row` best replaces, or `None` if that does not lower the cost by more than rounding does.
    fn best_swap(&self, row: usize) -> Option<usize> {
        if self.medoids.contains(&row) {
            return None;
        }
        let mut loss = self.removal_loss.clone();
        let mut gain = 0.0;
        for (nearest, &distance) in self.nearest.iter().zip(self.distances.row(row)) {
            let distance = f64::from(distance);
            if distance < nearest.distance {
                gain += nearest.distance - distance;
                loss[nearest.medoid] += nearest.distance - nearest.second_distance;
            } else if distance < nearest.second_distance {
                loss[nearest.medoid] += distance - nearest.second_distance;
            }
        }
        let best = (1..loss.len()).fold(
            0,
            |best, medoid| if loss[medoid] < loss[best] { medoid } else { best },
        );
        let is_lower = loss[best] - gain < -1e-9 * self.nearest.len() as f64;
        is_lower.then_some(best)
    }

    fn assign(&mut self) {
        let nearest = |row: usize| {
            let mut nearest = Nearest {
                medoid: 0,
                distance: f64::INFINITY,
                second_distance: f64::INFINITY,
            };
            for (medoid, &centre) in self.medoids.iter().enumerate() {
                let distance = f64::from(self.distances[[centre, row]]);
                if distance < nearest.distance {
                    nearest = Nearest {
                        medoid,
                        distance,
                        second_distance: nearest.distance,
                    };
                } else if distance < nearest.second_distance {
                    nearest.second_distance = distance;
                }
            }
            nearest
        };
        self.nearest = (0..self.distances.nrows()).map(nearest).collect();
        self.removal_loss = vec![0.0; self.medoids.len()];
        for nearest in &self.nearest {
            self.removal_loss[nearest.medoid] += nearest.second_distance - nearest.distance;
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::distances::between_all;

    #[test]
    fn finds_the_middles_of_three_heaps() {
        let x = Array2::from_shape_fn((30, 2), |(row, k)| {
            let heap = [[0.0, 0.0], [9.0, 1.0], [2.0, 8.0]][row / 10][k];
            heap + ((row % 10) as f32 - 4.0) * 0.1
        });
        let clustering = cluster(between_all(x.view()).view(), 3, 1);
        assert_eq!(clustering.medoids, [4, 14, 24]);
    }

    #[test]
    fn one_medoid_is_the_row_nearest_to_all() {
        let x = Array2::from_shape_fn((25, 3), |(i, k)| ((i * 37 + k * 11 + i * i) % 53) as f32);
        let distances = between_all(x.view());
        let best = (0..25).map(|row| distances.row(row).iter().map(|&d| f64::from(d)).sum());
        let best: f64 = best.fold(f64::INFINITY, f64::min);
        assert!((cluster(distances.view(), 1, 3).cost - best).abs() < 1e-6);
    }

    #[test]
    fn takes_all_when_there_are_no_more() {
        let distances = between_all(Array2::from_shape_fn((3, 1), |(i, _)| i as f32).view());
        assert_eq!(cluster(distances.view(), 3, 0).medoids, [0, 1, 2]);
        assert_eq!(cluster(distances.view(), 9, 0).medoids, [0, 1, 2]);
    }
}
