//! The list of everything that is hosted: **the** registration. A benchmark that implements
//! [`Benchmark`] is registered by its line in [`dataperf_benchmarks::for_each_benchmark`]; anything else has its
//! descriptor here.

pub mod deployment;
pub mod lists;

use dataperf::board::Board;
use dataperf::{Benchmark, Descriptor};

macro_rules! hosted {
    ($($benchmark:ty,)*) => {
        /// The descriptors of everything that is hosted.
        pub static HOSTED: &[Descriptor] = &[$(Descriptor::for_benchmark::<$benchmark>(),)* dataperf_collections::nibbler::DESCRIPTOR, dataperf_collections::text::DESCRIPTOR];
        /// The ids of everything that is hosted.
        pub const IDS: &[&str] = &[$(<$benchmark as Benchmark>::ID,)* dataperf_collections::nibbler::BENCHMARK, dataperf_collections::text::BENCHMARK];
    };
}
dataperf_benchmarks::for_each_benchmark!(hosted);

/// The descriptor of a hosted id; `None` if nothing is hosted under it.
pub fn hosted(id: &str) -> Option<&'static Descriptor> {
    HOSTED.iter().find(|hosted| hosted.id == id)
}

/// The functions that take uploads to something hosted, each with what the keys of these uploads begin with.
///
/// ```
/// use dataperf_hosted::{functions_of, hosted};
/// let functions = hosted("speech-selection").map(functions_of);
/// assert_eq!(functions, Some(vec![("speech-selection", "speech-selection/".to_owned())]));
/// ```
pub fn functions_of(hosted: &Descriptor) -> Vec<(&'static str, String)> {
    let id = hosted.id;
    if hosted.kinds.is_empty() {
        return vec![(id, format!("{id}/"))];
    }
    let kinds = hosted.kinds.iter();
    kinds
        .map(|kind| ((hosted.function)(kind), format!("{id}/{kind}/")))
        .collect()
}

/// Whether a submission to `board` is a step, which follows from people's decisions, instead of an upload. Where uploads are of
/// several kinds, each is received under its kind, and only steps are received under a leaderboard.
pub fn is_step(board: &Board) -> bool {
    let of_kinds = hosted(&board.benchmark).filter(|hosted| !hosted.kinds.is_empty());
    let fixed = of_kinds.and_then(|hosted| hosted.fixed);
    fixed.is_some_and(|fixed| fixed.leaderboards.contains(&board.leaderboard.as_str()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use dataperf::Feedback;
    use dataperf::benchmark::scorecard::Form;

    use super::*;

    #[test]
    fn every_id_names_its_descriptor_once() {
        let ids: Vec<&str> = HOSTED.iter().map(|hosted| hosted.id).collect();
        assert_eq!(ids, IDS);
        for id in IDS {
            assert_eq!(hosted(id).map(|hosted| hosted.id), Some(*id));
            assert_eq!(ids.iter().filter(|other| *other == id).count(), 1, "{id}");
        }
        assert!(hosted("no-such-benchmark").is_none());
    }

    #[test]
    fn boards_distinguish_score_steps_from_uploads() {
        let is_step = |benchmark: &str, leaderboard: &str| {
            is_step(&Board {
                benchmark: benchmark.into(),
                leaderboard: leaderboard.into(),
                round: "open".into(),
            })
        };
        let mut n_steps = 0;
        for hosted in HOSTED {
            let boards = hosted.fixed.map_or(&[][..], |fixed| fixed.leaderboards);
            for board in boards {
                assert_eq!(is_step(hosted.id, board), !hosted.kinds.is_empty(), "{board}");
                n_steps += usize::from(!hosted.kinds.is_empty());
            }
            // a key that names no kind and no leaderboard is an upload, which gets rejected
            for upload in hosted.kinds.iter().chain(&[dataperf::upload::UNNAMED]) {
                assert!(!is_step(hosted.id, upload), "{upload}");
            }
        }
        assert_eq!(n_steps, 6, "two boards of prompts, four of texts");
        assert!(!is_step("speech-selection", "en-25") && !is_step("no-such-benchmark", "nli"));
    }

    #[test]
    fn the_largest_kind_limit_equals_the_benchmarks_limit() {
        let mut n_smaller = 0;
        for hosted in HOSTED {
            let most = hosted.max_artifact_bytes;
            let of_kinds = hosted.kinds.iter().map(|kind| (hosted.max_bytes_of_kind)(kind));
            assert_eq!(of_kinds.clone().max().unwrap_or(most), most, "{}", hosted.id);
            assert_eq!((hosted.max_bytes_of_kind)("no-such-kind"), most);
            n_smaller += usize::from(of_kinds.min().is_some_and(|least| least < most));
        }
        assert_eq!(n_smaller, 1, "requests for images are short");
    }

    #[test]
    fn everything_hosted_describes_its_metrics_once() {
        for hosted in HOSTED {
            let paths: BTreeSet<&str> = hosted.metrics.iter().map(|metric| metric.path).collect();
            assert!(!paths.is_empty(), "{}", hosted.id);
            assert_eq!(paths.len(), hosted.metrics.len(), "{}", hosted.id);
        }
    }

    #[test]
    fn metric_descriptions_are_unique_and_refer_to_metrics() {
        for hosted in HOSTED {
            let (benchmark, described) = (hosted.id, hosted.metrics);
            let paths: BTreeSet<&str> = described.iter().map(|metric| metric.path).collect();
            for metric in described {
                let sibling = |name: &str| match metric.path.rsplit_once('/') {
                    Some((way, _)) => format!("{way}/{name}"),
                    None => name.to_owned(),
                };
                let refers = match metric.form {
                    Form::Value | Form::Labels => vec![],
                    Form::Trials { labels, .. } => labels.into_iter().collect(),
                    Form::Curve {
                        before,
                        target,
                        reached,
                        n_steps,
                        ..
                    } => vec![before, target, reached, n_steps],
                };
                for name in refers {
                    assert!(
                        paths.contains(sibling(name).as_str()),
                        "{benchmark}: {} has no {name} beside it",
                        metric.path
                    );
                }
                if matches!(metric.form, Form::Curve { .. }) {
                    assert_eq!(metric.level, Feedback::Full, "{benchmark}: {}", metric.path);
                }
            }
        }
    }
}
