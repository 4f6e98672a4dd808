//! Dynabench's score of several figures.

/// A figure as Dynabench converts it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// 1 where more is better, -1 where less is.
    pub direction: f64,
    /// Added to the figure times its direction, so that the sum is better the larger it is.
    pub offset: f64,
    /// Its weight relative to the others. Dynabench begins with 4 for performance and 1 for each
    /// other figure.
    pub weight: f64,
}

/// Performances that differ by no more than this share of the best one's are taken for equal.
const CUTOFF: f64 = 0.0001;

/// The score of each model as Dynabench computed it in 2021, `(n_models,)`. It may be NaN or infinite: of one model, or where a
/// figure is the same for all.
///
/// Models are sorted by performance. Between neighbours that differ enough in it, each figure's
/// mean change for a point of performance is its rate of exchange, by whose magnitude it is
/// divided; the score is the weighted sum. Models of equal performance keep their order in
/// `values`.
///
/// # Shapes and units
/// `values`: `(n_models, n_measures)`, of which the first is the performance.
///
/// # Panics
/// If a model has not one value for each measure, or there is no measure.
///
/// # Source
/// Ma et al. (2021), "Dynaboard: An Evaluation-As-A-Service Platform for Holistic Next-Generation Benchmarking", and
/// facebookresearch/dynabench at commit 0a80494d8db464cf276fd7ea3dff0b114b61f2d7, `api/models/score.py`, `dynascore`. Code from later
/// than that (mlcommons/dynabench, `get_dynaboard_info_by_task_id`'s service) takes the models in the order in which it finds them, and
/// gives other numbers.
pub fn dynascore_2021(values: &[Vec<f64>], measures: &[Measure]) -> Vec<f64> {
    let n_measures = measures.len();
    assert!(
        n_measures > 0 && values.iter().all(|of_model| of_model.len() == n_measures),
        "one value for each measure"
    );
    let convert = |of_model: &Vec<f64>| -> Vec<f64> {
        let pairs = of_model.iter().zip(measures);
        pairs
            .map(|(value, measure)| measure.direction * value + measure.offset)
            .collect()
    };
    let converted: Vec<Vec<f64>> = values.iter().map(convert).collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a][0].total_cmp(&values[b][0]));
    let best = converted
        .iter()
        .fold(f64::NEG_INFINITY, |best, of_model| best.max(of_model[0]));
    let change = |pair: &[usize], measure: usize| converted[pair[1]][measure] - converted[pair[0]][measure];
    let is_change = |pair: &&[usize]| change(pair, 0).abs() > best * CUTOFF;
    let total: f64 = measures.iter().map(|measure| measure.weight).sum();
    let mut scores = vec![0.0; values.len()];
    for (nth, measure) in measures.iter().enumerate() {
        let (mut sum, mut n) = (0.0, 0.0);
        for pair in order.windows(2).filter(is_change) {
            sum += change(pair, nth).abs() / change(pair, 0);
            n += 1.0;
        }
        let rate: f64 = sum / n; // of no pair it is no number
        for (score, of_model) in scores.iter_mut().zip(&converted) {
            *score += of_model[nth] / rate.abs() * (measure.weight / total);
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Performance counts 4, compute and memory 1, less of which is better.
    fn measures() -> [Measure; 3] {
        let measure = |direction, offset, weight| Measure {
            direction,
            offset,
            weight,
        };
        [
            measure(1.0, 0.0, 4.0),
            measure(-1.0, 100.0, 1.0),
            measure(-1.0, 16.0, 1.0),
        ]
    }

    #[test]
    fn one_model_has_no_score() {
        assert!(dynascore_2021(&[vec![80.0, 9.0, 2.0]], &measures())[0].is_nan());
        let equal = [vec![80.0, 9.0, 2.0], vec![80.0, 5.0, 1.0]];
        assert!(
            dynascore_2021(&equal, &measures())
                .iter()
                .all(|score| score.is_nan())
        );
    }

    #[test]
    fn equal_measurements_make_every_score_infinite() {
        let values = [vec![80.0, 9.0, 2.0], vec![70.0, 5.0, 2.0], vec![60.0, 7.0, 2.0]];
        let scores = dynascore_2021(&values, &measures());
        assert!(scores.iter().all(|score| score.is_infinite()), "{scores:?}");
    }

    /// The places of the two highest scores.
    fn first_two(scores: &[f64]) -> [usize; 2] {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        [order[0], order[1]]
    }

    /// The fourth model is worse than all others in everything, and the first two change places.
    #[test]
    fn a_worst_model_reverses_two_others() {
        let worst = vec![40.0, 64.0, 14.0];
        let mut board = vec![
            vec![89.0, 45.0, 9.0],
            vec![79.0, 35.0, 6.0],
            vec![88.0, 30.0, 2.0],
        ];
        assert!(
            board
                .iter()
                .all(|one| one[0] > worst[0] && one[1] < worst[1] && one[2] < worst[2])
        );
        assert_eq!(first_two(&dynascore_2021(&board, &measures())), [0, 2]);
        board.push(worst);
        assert_eq!(first_two(&dynascore_2021(&board, &measures())), [2, 0]);
    }

    /// How often that happens: 1,200 boards of three models and one that is worst in everything, drawn from a fixed generator.
    #[test]
    fn it_happens_to_44_of_1200_boards() {
        let mut state = 1_u64;
        let mut draw = |low: f64, high: f64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            low + (high - low) * ((state >> 11) as f64 / (1_u64 << 53) as f64)
        };
        let mut n_turned = 0;
        for _ in 0..1200 {
            let mut board: Vec<Vec<f64>> = (0..3)
                .map(|_| vec![draw(60.0, 90.0), draw(5.0, 60.0), draw(1.0, 10.0)])
                .collect();
            let [first, second] = first_two(&dynascore_2021(&board, &measures()));
            board.push(vec![draw(40.0, 60.0), draw(60.0, 90.0), draw(10.0, 15.0)]);
            let after = dynascore_2021(&board, &measures());
            n_turned += usize::from(after[first] < after[second]);
        }
        assert_eq!(n_turned, 44);
    }
}
