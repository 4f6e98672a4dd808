//! The one mistake behind many names that are none of the known ones: ids, labels, words.

use std::collections::{BTreeMap, BTreeSet};

use unicode_normalization::UnicodeNormalization;

use crate::rejection::similar::{MAX_NAMED, list_names};
use crate::rejection::{MANY, Reason, quote};

/// How many names are tried: a mistake that a program has made is in all of them.
const TRIED: usize = 20;
/// The share of the tried names that a cause has to explain.
const MOST: f64 = 0.8;

/// A spelling variant: its description, and a form in which both spellings are equal.
type Spelling = (&'static str, fn(&str) -> String);

const SPELLINGS: [Spelling; 11] = [
    ("they have `\\` instead of `/`", |name| name.replace('\\', "/")),
    ("they begin or end with spaces", |name| name.trim().to_owned()),
    ("their capitals differ", str::to_lowercase),
    ("they begin with `./`", |name| {
        name.trim_start_matches("./").to_owned()
    }),
    (
        "they end in `.0`, because a program read whole numbers as floats",
        |name| without_fraction(name).to_owned(),
    ),
    (
        "leading zeros are lost, because a program read the ids as numbers",
        |name| without_zeros(name).to_owned(),
    ),
    (
        "a program read whole numbers as floats: leading zeros are lost, and they end in `.0`",
        |name| without_zeros(without_fraction(name)).to_owned(),
    ),
    ("they are in quotation marks", |name| {
        name.trim_matches(['"', '\'', '\u{201c}', '\u{201d}']).to_owned()
    }),
    ("they mix up `-`, `_` and spaces", |name| {
        name.replace(['-', ' '], "_")
    }),
    (
        "accented letters are in Unicode's form NFD, as in names of files on macOS",
        |name| name.nfc().collect(),
    ),
    (
        "a program read whole numbers as floats, with an exponent such as `1e+05`",
        without_exponent,
    ),
];

/// Endings of files are compared last: a name without one is rather incomplete.
const ENDINGS: Spelling = ("they have another ending", |name| {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
});

fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_fraction(name: &str) -> &str {
    let whole = name.split_once('.').filter(|(whole, rest)| {
        is_whole(whole.trim_start_matches('-')) && !rest.is_empty() && rest.bytes().all(|byte| byte == b'0')
    });
    whole.map_or(name, |(whole, _)| whole)
}

fn without_exponent(name: &str) -> String {
    let number = name.parse::<f64>().ok().filter(|_| name.contains(['e', 'E']));
    let whole = number.filter(|number| number.fract() == 0.0 && number.abs() < 1e15);
    whole.map_or_else(|| name.to_owned(), |whole| format!("{whole:.0}"))
}

fn without_zeros(name: &str) -> &str {
    if is_whole(name) {
        let rest = name.trim_start_matches('0');
        if rest.is_empty() { "0" } else { rest }
    } else {
        name
    }
}

/// The noun for names that a data set lists, as opposed to a few fixed ones.
const IDS: &str = "ids";
/// The longest name that is tried, in bytes: artifacts are hostile.
const MAX_BYTES: usize = 400;
/// The most ways of completing one name that are tried.
const MAX_WAYS: usize = 64;

/// Names of an artifact that are none of the known ones, kept to find the one mistake in them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unknown {
    /// The noun for the names, in the plural.
    pub(crate) noun: String,
    /// The code of their reasons.
    code: String,
    /// The first of them.
    tried: Vec<String>,
    pub(crate) n: usize,
    /// Known names, where they are few, or those that are near.
    known: BTreeSet<String>,
}

impl Unknown {
    pub(crate) fn new(noun: &str, code: &str) -> Self {
        Self {
            noun: noun.to_owned(),
            code: code.to_owned(),
            tried: Vec::new(),
            n: 0,
            known: BTreeSet::new(),
        }
    }

    pub(crate) fn add(&mut self, name: &str, known: impl IntoIterator<Item: AsRef<str>>) {
        self.n += 1;
        if self.tried.len() < TRIED && name.len() <= MAX_BYTES {
            self.tried.push(name.to_owned());
            self.known
                .extend(known.into_iter().map(|known| known.as_ref().to_owned()));
        }
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.n += other.n;
        self.tried.extend(other.tried);
        self.tried.truncate(TRIED);
        self.known.extend(other.known);
    }

    /// The one mistake in these names, of which the artifact has `n_listed` if that is known.
    pub(crate) fn cause<'a>(
        &'a self,
        n_listed: Option<usize>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<Reason> {
        let known = known.into_iter().chain(self.known.iter().map(String::as_str));
        let tried: Vec<&str> = self.tried.iter().map(String::as_str).collect();
        let why = explained(&self.noun, &tried, self.n, n_listed, known.collect())?;
        Some(Reason::new(&self.code, "", why))
    }
}

/// Other spellings of a name, to be looked up where the known names are too many for a list, or are known by their form alone.
///
/// ```
/// let spellings = dataperf::other_spellings("C:\\images\\0AF3.JPG");
/// assert!(spellings.contains(&"0AF3".to_owned()) && spellings.contains(&"0af3".to_owned()));
/// assert!(dataperf::other_spellings("0af3").is_empty());
/// ```
pub fn other_spellings(name: &str) -> BTreeSet<String> {
    if name.len() > MAX_BYTES {
        return BTreeSet::new();
    }
    let path = name.replace('\\', "/");
    let last = path.rsplit('/').next().unwrap_or(&path);
    let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
    let parts = [last, stem].into_iter().map(str::to_owned);
    let lower = parts.clone().map(|part| part.to_lowercase());
    let spelt = SPELLINGS.iter().map(|(_, form)| form(name));
    let mut all: BTreeSet<String> = spelt.chain(parts).chain(lower).collect();
    all.remove(name);
    all.remove("");
    all
}

/// One cause that explains most of the tried unknown names: a missing or extra part before or
/// behind them, or another spelling. `noun` is the plural for the names. The file has `n_listed` of
/// them; `unknown` repeats a name as the file does.
///
/// ```
/// let cause = |unknown: &[&str]| dataperf::explain_unknown("labels", "unknown_class", unknown, 3, ["0", "1"]);
/// let message = cause(&["0.0", "1.0", "0.0"]).expect("a cause").message;
/// assert!(message.contains("whole numbers as floats") && message.contains("`0`"), "{message}");
/// ```
pub fn explain_unknown<'a>(
    noun: &str,
    code: &str,
    unknown: &[impl AsRef<str>],
    n_listed: usize,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<Reason> {
    let mut noted = Unknown::new(noun, code);
    for name in unknown {
        noted.add(name.as_ref(), [""; 0]);
    }
    let known: Vec<&str> = known.into_iter().collect();
    noted.cause(Some(n_listed), known.iter().copied())
}

fn explained(
    noun: &str,
    tried: &[&str],
    n: usize,
    n_listed: Option<usize>,
    mut known: Vec<&str>,
) -> Option<String> {
    if n < MANY || tried.is_empty() {
        return None;
    }
    known.sort_unstable(); // the same cause whatever order they come in
    let about = match n_listed {
        Some(n_listed) if noun == IDS => format!("{n} of the {n_listed} listed ids are not in the data set"),
        Some(n_listed) => format!("{n} of the {n_listed} {noun} are unknown"),
        None => format!("{n} {noun} are unknown"),
    };
    let why = spelt_otherwise(tried, &known, &SPELLINGS)
        .or_else(|| shortened(tried, &known).filter(|_| noun != IDS))
        .or_else(|| at_the_ends(tried, &known))
        .or_else(|| in_other_folders(tried, &known))
        .or_else(|| spelt_otherwise(tried, &known, &[ENDINGS]))
        .or_else(|| {
            let are_few = known.len() <= MAX_NAMED;
            let is_foreign = n_listed == Some(n) && (are_few || noun == IDS && n > TRIED / 2);
            is_foreign.then(|| {
                let names = match known.first() {
                    None => String::new(),
                    Some(_) if are_few => format!("; this one has the {noun} {}", list_names(&known)),
                    Some(first) => format!("; this one has {noun}, such as {}", quote(first)),
                };
                format!("the file is made for another leaderboard or another data set{names}")
            })
        })?;
    Some(format!("{about}: {why}"))
}

/// The part that most names lack before or behind them, or have too much.
fn at_the_ends(tried: &[&str], known: &[&str]) -> Option<String> {
    let has_backslashes = tried.iter().any(|name| name.contains('\\'));
    let paths: Vec<String> = tried.iter().map(|name| name.replace('\\', "/")).collect();
    let tried: Vec<&str> = paths.iter().map(String::as_str).collect();
    let is_known = |name: &str| known.binary_search(&name).is_ok();
    let n_known = |whole: &dyn Fn(&str) -> Option<String>| {
        let wholes = tried.iter().filter_map(|name| whole(name));
        wholes.filter(|whole| is_known(whole)).count()
    };
    let fits = |whole: &dyn Fn(&str) -> Option<String>| is_most(n_known(whole), tried.len());
    // the longest names have the fewest ways, and one of them may be wrong in another way
    let mut longest = tried.clone();
    longest.sort_by_key(|name| std::cmp::Reverse(name.len()));
    longest.truncate(MANY);
    let and_slashes = if has_backslashes {
        ", and write `/` for `\\`"
    } else {
        ""
    };
    for name in longest {
        let ways = known.iter().flat_map(|whole| {
            whole
                .match_indices(name)
                .map(|(at, _)| (&whole[..at], &whole[at + name.len()..]))
                .filter(|(before, behind)| is_boundary(before, name) && is_boundary(name, behind))
        });
        let mut seen = BTreeSet::new();
        let ways = ways.filter(|way| seen.insert(*way)).take(MAX_WAYS);
        for (before, behind) in ways {
            if fits(&|name| Some(format!("{before}{name}{behind}"))) {
                let parts = in_words(before, behind);
                let example = quote(&format!("{before}{name}{behind}"));
                return Some(format!("add {parts} each{and_slashes}, such as {example}"));
            }
        }
        if let Some((before, behind)) = too_much(name, &is_known)
            && fits(&|name| Some(name.strip_prefix(before)?.strip_suffix(behind)?.to_owned()))
        {
            let parts = in_words(before, behind);
            let example = quote(&name[before.len()..name.len() - behind.len()]);
            return Some(format!("remove {parts} each{and_slashes}, such as {example}"));
        }
    }
    None
}

/// The text before and after the longest known part of a name.
fn too_much<'a>(name: &'a str, is_known: &dyn Fn(&str) -> bool) -> Option<(&'a str, &'a str)> {
    let cuts = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    let cuts: Vec<usize> = cuts.filter(|&at| is_boundary(&name[..at], &name[at..])).collect();
    let ends = cuts.iter().rev();
    let parts = cuts
        .iter()
        .flat_map(|begin| ends.clone().map(move |end| (*begin, *end)));
    let known = parts.filter(|(begin, end)| begin < end && is_known(&name[*begin..*end]));
    let (begin, end) = known.max_by_key(|(begin, end)| end - begin)?;
    Some((&name[..begin], &name[end..]))
}

/// Whether a name may end between these texts: not between two digits or two letters, which belong together.
fn is_boundary(before: &str, behind: &str) -> bool {
    let (Some(last), Some(first)) = (before.chars().last(), behind.chars().next()) else {
        return true;
    };
    let are_both = |is: fn(char) -> bool| is(last) && is(first);
    !are_both(char::is_numeric) && !are_both(char::is_alphabetic)
}

/// The texts before and behind names, of which one may be empty.
fn in_words(before: &str, behind: &str) -> String {
    match (before, behind) {
        (before, "") => format!("{} before", quote(before)),
        ("", behind) => format!("{} behind", quote(behind)),
        (before, behind) => format!("{} before and {} behind", quote(before), quote(behind)),
    }
}

/// Whether folders are missing before most names, or are too much there, which differ from name to name.
fn in_other_folders(tried: &[&str], known: &[&str]) -> Option<String> {
    fn last(name: &str) -> &str {
        name.rsplit(['/', '\\']).next().unwrap_or(name)
    }
    let mut by_last: BTreeMap<&str, &str> = BTreeMap::new();
    for whole in known {
        by_last.entry(last(whole)).or_insert(whole);
    }
    let whole = |name: &&str| by_last.get(last(name)).copied();
    let wholes: Vec<&str> = tried.iter().filter_map(whole).collect();
    if !is_most(wholes.len(), tried.len()) {
        return None;
    }
    let example = quote(wholes[0]);
    Some(if wholes.iter().all(|whole| !whole.contains('/')) {
        format!("remove the folders from each, such as {example}")
    } else if tried.iter().all(|name| !name.contains(['/', '\\'])) {
        format!("each lacks its folder, such as {example}")
    } else {
        format!("the data set has them in other folders, such as {example}")
    })
}

/// The way in which most names are spelt otherwise than known ones.
fn spelt_otherwise(tried: &[&str], known: &[&str], spellings: &[Spelling]) -> Option<String> {
    spellings.iter().find_map(|(message, form)| {
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
            format!("{who}{message}; write them as the data set does, such as {example}")
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
        "they are shortened: write the whole names, {}",
        pairs.join(", ")
    ))
}

/// Whether a mistake is in nearly all names.
fn is_most(n: usize, n_tried: usize) -> bool {
    n >= MANY && n as f64 >= MOST * n_tried as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = ["job/a.wav", "job/b.wav", "job/c.wav", "bird/d.wav", "bird/e.wav"];

    fn list(unknown: &[&str], n_listed: usize) -> Option<String> {
        explain_unknown("ids", "unknown_clip", unknown, n_listed, KNOWN).map(|cause| cause.message)
    }

    #[test]
    fn one_mistake_is_named() {
        for (unknown, expected) in [
            (
                ["a.wav", "b.wav", "c.wav"],
                "add `job/` before each, such as `job/a.wav`",
            ),
            (
                ["a.wav", "d.wav", "e.wav"],
                "each lacks its folder, such as `job/a.wav`",
            ),
            (
                ["job/a", "bird/d", "job/c"],
                "add `.wav` behind each, such as `bird/d.wav`",
            ),
            (
                ["x/y/job/a.wav", "x/y/bird/d.wav", "x/y/job/b.wav"],
                "remove `x/y/` before each, such as `bird/d.wav`",
            ),
            (
                ["job\\a.wav", "job\\b.wav", "bird\\d.wav"],
                "they have `\\` instead of `/`",
            ),
            (["Job/A.wav", "JOB/b.wav", "bird/D.wav"], "their capitals differ"),
            (
                [" job/a.wav", "job/b.wav ", " bird/d.wav"],
                "begin or end with spaces",
            ),
        ] {
            let message = list(&unknown, 3).unwrap_or_default();
            assert!(message.contains(expected), "{unknown:?}: {message}");
            assert!(message.starts_with("3 of the 3 listed ids"), "{message}");
        }
    }

    #[test]
    fn names_that_were_read_as_numbers_are_recognized() {
        let known = ["00040", "00041", "00042", "00043", "Yes", "No"];
        let message = |unknown: &[&str]| {
            let cause = explain_unknown("labels", "code", unknown, 9, known);
            cause.map(|cause| cause.message).unwrap_or_default()
        };
        for (unknown, expected) in [
            (["40", "41", "42"], "leading zeros are lost"),
            (["00040.0", "00041.0", "00042.0"], "they end in `.0`"),
            (
                ["40.0", "41.0", "42.0"],
                "leading zeros are lost, and they end in `.0`",
            ),
            (["'Yes'", "'No'", "'No'"], "quotation marks"),
            (
                ["Y", "n", "Y"],
                "write the whole names, `Yes` for `Y`, `No` for `n`",
            ),
        ] {
            assert!(
                message(&unknown).contains(expected),
                "{unknown:?}: {}",
                message(&unknown)
            );
        }
        let one_differs = ["40", "41", "42", "43", "40", "41", "42", "x"];
        assert!(
            message(&one_differs).contains("in most of them, leading zeros"),
            "{}",
            message(&one_differs)
        );
    }

    #[test]
    fn affixes_are_named_on_both_sides() {
        let known = ["img_07.png", "img_08.png", "img_11.png", "img_12.png"];
        let message = |unknown: [&str; 3], known: &[&str]| {
            let cause = explain_unknown("ids", "code", &unknown, 9, known.iter().copied());
            cause.map(|cause| cause.message).unwrap_or_default()
        };
        for (unknown, expected) in [
            (
                ["07", "08", "12"],
                "add `img_` before and `.png` behind each, such as `img_07.png`",
            ),
            (["img_07", "img_08", "img_12"], "add `.png` behind each"),
            (["07.png", "08.png", "12.png"], "add `img_` before each"),
            (
                ["img_07.png.gz", "img_08.png.gz", "img_12.png.gz"],
                "remove `.gz` behind each, such as `img_07.png`",
            ),
            (
                ["C:\\my\\img_07.png", "C:\\my\\img_08.png", "C:\\my\\img_11.png"],
                "remove `C:/my/` before each, and write `/` for `\\`, such as `img_07.png`",
            ),
            (
                ["train/img_07.png", "val/img_08.png", "val/img_12.png"],
                "remove the folders from each",
            ),
            (
                ["img_07.jpg", "img_08.jpg", "img_12.jpg"],
                "they have another ending",
            ),
        ] {
            assert!(
                message(unknown, &known).contains(expected),
                "{unknown:?}: {}",
                message(unknown, &known)
            );
        }
        // digits belong together: `1` is no part of `11`
        let tens: Vec<String> = (100..200).map(|id| id.to_string()).collect();
        let tens: Vec<&str> = tens.iter().map(String::as_str).collect();
        assert_eq!(message(["0", "1", "2"], &tens), "");
        assert!(message(["1e2", "1.01E+02", "1.02e2"], &tens).contains("with an exponent"));
        let composed = ["caf\u{e9}", "na\u{ef}ve", "\u{fc}ber"];
        assert!(message(["cafe\u{301}", "nai\u{308}ve", "u\u{308}ber"], &composed).contains("macOS"));
    }

    #[test]
    fn a_few_known_names_are_listed() {
        let cause = explain_unknown("labels", "code", &["x", "y", "z"], 3, ["cat", "dog"]).expect("a cause");
        assert!(
            cause.message.ends_with("this one has the labels `cat`, `dog`"),
            "{}",
            cause.message
        );
    }

    #[test]
    fn only_foreign_files_explain_unknown_ids() {
        assert_eq!(list(&["a.wav", "job/b", "nothing"], 9), None);
        assert_eq!(list(&["a.wav", "b.wav"], 2), None, "two are fixed quickly");
        let foreign: Vec<String> = (0..25).map(|n| format!("gato/{n}.wav")).collect();
        let known: Vec<String> = (0..25).map(|n| format!("bird/{n}x.wav")).collect();
        let many = || known.iter().map(String::as_str);
        let cause = explain_unknown("ids", "unknown_clip", &foreign, 25, many()).expect("a cause");
        assert!(cause.message.contains("another leaderboard"), "{}", cause.message);
        assert_eq!(explain_unknown("ids", "unknown_clip", &foreign, 40, many()), None);
    }
}
