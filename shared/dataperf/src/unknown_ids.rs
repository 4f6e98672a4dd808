//! The one mistake behind many ids that a data set does not have.

use std::collections::BTreeMap;

use crate::rejection::{MANY, Reason, quote};

/// How many ids are tried: a mistake that a program has made is in all of them.
const TRIED: usize = 20;

/// A mistake in words, and how it is undone in an id.
type Mend = (&'static str, fn(&str) -> String);

const MENDS: [Mend; 4] = [
    ("`\\` stands where `/` belongs", |id| id.replace('\\', "/")),
    ("spaces stand before or after them", |id| id.trim().to_owned()),
    ("they are written in other capitals", str::to_lowercase),
    ("`./` stands before them", |id| {
        id.trim_start_matches("./").to_owned()
    }),
];

/// One cause that explains all ids that are tried, of those that a data set does not know: something is missing before or behind them, something is
/// too much before them, or they are spelt otherwise. `known` are the data set's ids; the file lists `n_listed` ids.
///
/// ```
/// let unknown = ["a.wav", "b.wav", "c.wav"];
/// let known = ["job/a.wav", "job/b.wav", "job/c.wav", "job/d.wav"];
/// let cause = dataperf::explain_unknown_ids("unknown_clip", &unknown, 3, known).expect("a cause");
/// assert!(cause.message.contains("put `job/` before"), "{}", cause.message);
/// ```
pub fn explain_unknown_ids<'a>(
    code: &str,
    unknown: &[impl AsRef<str>],
    n_listed: usize,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<Reason> {
    if unknown.len() < MANY {
        return None;
    }
    let n = unknown.len();
    let tried: Vec<&str> = unknown.iter().take(TRIED).map(AsRef::as_ref).collect();
    // by the last part of their path, so that each unknown id is compared with a few
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut by_stem: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut example = None;
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_unstable(); // the same cause whatever order they come in
    for id in &known {
        let name = id.rsplit('/').next().unwrap_or(id);
        by_name.entry(name).or_default().push(id);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        by_stem.entry(stem).or_default().push(id);
        example.get_or_insert(*id);
    }
    let is_known = |id: &str| {
        by_name
            .get(id.rsplit('/').next().unwrap_or(id))
            .is_some_and(|ids| ids.contains(&id))
    };
    let such_as = |id: &str| format!(", such as {}", quote(id));
    let about = format!("{n} of the {n_listed} listed ids are not in the data set");
    let found = |said: String| Some(Reason::new(code, "", format!("{about}: {said}")));

    for (what, mend) in MENDS {
        if tried.iter().all(|id| is_known(&mend(id))) {
            return found(format!(
                "{what}; write them as the data set does{}",
                such_as(&mend(tried[0]))
            ));
        }
    }
    let behind = |id: &str| -> Option<String> {
        let name = id.rsplit('/').next()?;
        let whole = by_stem.get(name)?.iter().find(|known| known.starts_with(id))?;
        Some(whole[id.len()..].to_owned())
    };
    if let Some(ending) = same(&tried, behind) {
        return found(format!(
            "put {} behind each{}",
            quote(&ending),
            such_as(&format!("{}{ending}", tried[0]))
        ));
    }
    let before = |id: &str| -> Option<String> {
        let whole = by_name
            .get(id.rsplit('/').next()?)?
            .iter()
            .find(|known| known.ends_with(id))?;
        whole.strip_suffix(id).map(str::to_owned)
    };
    if let Some(beginning) = same(&tried, before) {
        return found(format!(
            "put {} before each{}",
            quote(&beginning),
            such_as(&format!("{beginning}{}", tried[0]))
        ));
    }
    if tried
        .iter()
        .all(|id| before(id).is_some_and(|missing| missing.ends_with('/')))
    {
        let whole = format!("{}{}", before(tried[0])?, tried[0]);
        return found(format!("the folder before each is missing{}", such_as(&whole)));
    }
    let too_much = |id: &str| -> Option<String> {
        let parts = id.match_indices('/').map(|(at, _)| at + 1);
        let cut = parts.into_iter().find(|at| is_known(&id[*at..]))?;
        Some(id[..cut].to_owned())
    };
    if let Some(beginning) = same(&tried, too_much) {
        return found(format!(
            "take {} away before each{}",
            quote(&beginning),
            such_as(&tried[0][beginning.len()..])
        ));
    }
    if n == n_listed && n > TRIED / 2 {
        let example = example?;
        return found(format!(
            "the file is made for another leaderboard or another data set; this one has ids{}",
            such_as(example)
        ));
    }
    None
}

/// What `what` gives for all, if it is the same.
fn same(of: &[&str], what: impl Fn(&str) -> Option<String>) -> Option<String> {
    let first = what(of.first()?)?;
    let is_same = |id: &&str| what(id).as_ref() == Some(&first);
    (!first.is_empty() && of.iter().all(is_same)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = ["job/a.wav", "job/b.wav", "job/c.wav", "bird/d.wav", "bird/e.wav"];

    fn said(unknown: &[&str], n_listed: usize) -> Option<String> {
        explain_unknown_ids("unknown_clip", unknown, n_listed, KNOWN).map(|cause| cause.message)
    }

    #[test]
    fn one_mistake_is_named() {
        for (unknown, expected) in [
            (
                ["a.wav", "b.wav", "c.wav"],
                "put `job/` before each, such as `job/a.wav`",
            ),
            (
                ["a.wav", "d.wav", "e.wav"],
                "the folder before each is missing, such as `job/a.wav`",
            ),
            (
                ["job/a", "bird/d", "job/c"],
                "put `.wav` behind each, such as `job/a.wav`",
            ),
            (
                ["x/y/job/a.wav", "x/y/bird/d.wav", "x/y/job/b.wav"],
                "take `x/y/` away before each, such as `job/a.wav`",
            ),
            (
                ["job\\a.wav", "job\\b.wav", "bird\\d.wav"],
                "`\\` stands where `/` belongs",
            ),
            (["Job/A.wav", "JOB/b.wav", "bird/D.wav"], "other capitals"),
            (
                [" job/a.wav", "job/b.wav ", " bird/d.wav"],
                "spaces stand before or after",
            ),
        ] {
            let said = said(&unknown, 3).unwrap_or_default();
            assert!(said.contains(expected), "{unknown:?}: {said}");
            assert!(said.starts_with("3 of the 3 listed ids"), "{said}");
        }
    }

    #[test]
    fn different_mistakes_have_no_cause_and_a_foreign_file_has() {
        assert_eq!(said(&["a.wav", "job/b", "nothing"], 9), None);
        assert_eq!(said(&["a.wav", "b.wav"], 2), None, "two are soon mended");
        let foreign: Vec<String> = (0..25).map(|n| format!("gato/{n}.wav")).collect();
        let cause = explain_unknown_ids("unknown_clip", &foreign, 25, KNOWN).expect("a cause");
        assert!(cause.message.contains("another leaderboard"), "{}", cause.message);
        assert_eq!(explain_unknown_ids("unknown_clip", &foreign, 40, KNOWN), None);
    }
}
