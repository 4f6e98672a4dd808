//! The one mistake behind many names that a data set does not have: ids or labels.

use std::collections::{BTreeMap, BTreeSet};

use crate::rejection::{MANY, Reason, quote};

/// How many names are tried: a mistake that a program has made is in all of them.
const TRIED: usize = 20;
/// The share of the tried names that a cause has to explain.
const MOST: f64 = 0.8;

/// A way in which names are written otherwise: in words, and the form in which both spellings are equal.
type Spelling = (&'static str, fn(&str) -> String);

const SPELLINGS: [Spelling; 9] = [
    ("`\\` stands where `/` belongs", |name| name.replace('\\', "/")),
    ("spaces stand before or after them", |name| name.trim().to_owned()),
    ("they are written in other capitals", str::to_lowercase),
    ("`./` stands before them", |name| {
        name.trim_start_matches("./").to_owned()
    }),
    (
        "`.0` is behind whole numbers, which were read as floats",
        |name| without_fraction(name).to_owned(),
    ),
    (
        "zeros before whole numbers are lost, which were read as numbers",
        |name| without_zeros(name).to_owned(),
    ),
    (
        "whole numbers were read as floats: zeros before them are lost and `.0` is behind them",
        |name| without_zeros(without_fraction(name)).to_owned(),
    ),
    ("quotation marks are around them", |name| {
        name.trim_matches(['"', '\'', '\u{201c}', '\u{201d}']).to_owned()
    }),
    ("`-`, `_` and spaces are mixed up in them", |name| {
        name.replace(['-', ' '], "_")
    }),
];

fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_fraction(name: &str) -> &str {
    let whole = name.split_once('.').filter(|(whole, rest)| {
        is_whole(whole.trim_start_matches('-')) && !rest.is_empty() && rest.bytes().all(|byte| byte == b'0')
    });
    whole.map_or(name, |(whole, _)| whole)
}

fn without_zeros(name: &str) -> &str {
    if is_whole(name) {
        let rest = name.trim_start_matches('0');
        if rest.is_empty() { "0" } else { rest }
    } else {
        name
    }
}

/// One cause that explains the ids that are tried, of those that a data set does not know. `known` are the data set's ids; the file
/// lists `n_listed` ids. As [`explain_unknown`].
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
    explain_unknown("ids", code, unknown, n_listed, known)
}

/// One cause that explains most of the names that are tried, of those that a data set does not know: something is missing before or
/// behind them, something is too much before them, or they are spelt otherwise. `what` calls the names in the plural; the file has
/// `n_listed` of them, each `unknown` one as often as the file has it.
///
/// ```
/// let cause = |unknown: &[&str]| dataperf::explain_unknown("labels", "unknown_class", unknown, 3, ["0", "1"]);
/// let message = cause(&["0.0", "1.0", "0.0"]).expect("a cause").message;
/// assert!(message.contains("read as floats") && message.contains("such as `0`"), "{message}");
/// ```
pub fn explain_unknown<'a>(
    what: &str,
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
    let about = if what == "ids" {
        format!("{n} of the {n_listed} listed ids are not in the data set")
    } else {
        format!("{n} of the {n_listed} {what} are not known")
    };
    let found = |said: String| Some(Reason::new(code, "", format!("{about}: {said}")));

    if let Some(said) = spelt_otherwise(&tried, &known) {
        return found(said);
    }
    if what != "ids"
        && let Some(said) = shortened(&tried, &known)
    {
        return found(said);
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
    if what == "ids" && n == n_listed && n > TRIED / 2 {
        let example = example?;
        return found(format!(
            "the file is made for another leaderboard or another data set; this one has ids{}",
            such_as(example)
        ));
    }
    None
}

/// The way in which most names are spelt otherwise than known ones.
fn spelt_otherwise(tried: &[&str], known: &[&str]) -> Option<String> {
    SPELLINGS.iter().find_map(|(said, form)| {
        let forms: BTreeSet<String> = tried.iter().map(|name| form(name)).collect();
        let spelt = known.iter().map(|name| (form(name), *name));
        let spelt: BTreeMap<String, &str> = spelt.filter(|(form, _)| forms.contains(form)).collect();
        let meant: Vec<&&str> = tried.iter().filter_map(|name| spelt.get(&form(name))).collect();
        let who = if meant.len() < tried.len() {
            "in most of them, "
        } else {
            ""
        };
        is_most(meant.len(), tried.len()).then(|| {
            let example = quote(meant[0]);
            format!("{who}{said}; write them as the data set does, such as {example}")
        })
    })
}

/// The whole names, if one known name begins as each name does, such as `entailment` as `e`.
fn shortened(tried: &[&str], known: &[&str]) -> Option<String> {
    let whole = |short: &&str| -> Option<&str> {
        let begin = short.to_lowercase();
        let mut begun = known
            .iter()
            .filter(|name| name.to_lowercase().starts_with(&begin));
        let first = begun.next().filter(|_| !begin.is_empty())?;
        begun.next().is_none().then_some(*first)
    };
    let wholes: Vec<&str> = tried.iter().map(whole).collect::<Option<_>>()?;
    let pairs: BTreeSet<(&str, &str)> = tried.iter().copied().zip(wholes).collect();
    let pairs = pairs.iter();
    let pairs: Vec<String> = pairs
        .map(|(short, whole)| format!("{} for {}", quote(whole), quote(short)))
        .collect();
    Some(format!(
        "they are shortened; write whole names, {}",
        pairs.join(", ")
    ))
}

/// Whether a mistake is in nearly all names.
fn is_most(n: usize, n_tried: usize) -> bool {
    n >= MANY && n as f64 >= MOST * n_tried as f64
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
    fn names_that_were_read_as_numbers_are_recognized() {
        let known = ["00040", "00041", "00042", "00043", "Yes", "No"];
        let said = |unknown: &[&str]| {
            let cause = explain_unknown("labels", "code", unknown, 9, known);
            cause.map(|cause| cause.message).unwrap_or_default()
        };
        for (unknown, expected) in [
            (["40", "41", "42"], "zeros before whole numbers are lost"),
            (["00040.0", "00041.0", "00042.0"], "`.0` is behind whole numbers"),
            (["40.0", "41.0", "42.0"], "zeros before them are lost and `.0`"),
            (["'Yes'", "'No'", "'No'"], "quotation marks"),
            (["Y", "n", "Y"], "write whole names, `Yes` for `Y`, `No` for `n`"),
        ] {
            assert!(
                said(&unknown).contains(expected),
                "{unknown:?}: {}",
                said(&unknown)
            );
        }
        let one_differs = ["40", "41", "42", "43", "40", "41", "42", "x"];
        assert!(
            said(&one_differs).contains("in most of them, zeros"),
            "{}",
            said(&one_differs)
        );
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
