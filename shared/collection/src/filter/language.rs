//! Whether a text is in a language that is not asked for. Short texts are hard to tell, so only what is sure counts.

use std::collections::BTreeSet;

use crate::spelling::{lookalike, words};
use whatlang::{Lang, detect, detect_script};

/// Shorter texts are never refused for their language, only for their script.
const MIN_LETTERS: usize = 25;
/// Words that most sentences of a language have some of, and few of another's, without accents: these tell where a text is too
/// short for its letters to tell, or has a word of another language in front.
const FUNCTION_WORDS: [(Lang, &str); 8] = [
    (
        Lang::Eng,
        "the and of with at from for on is his her by are into over their being while who under near",
    ),
    (
        Lang::Fra,
        "le la les des du un une et dans avec sur au aux pour qui est sont ses sa ce cette sans sous elle il nue en de",
    ),
    (
        Lang::Deu,
        "der die das den dem des ein eine einen einer einem und im mit auf ist sind von zu zur zum fur nicht sich aus neben ganz uber unter wird",
    ),
    (
        Lang::Spa,
        "el la los las un una de del en con por para que y su sus sobre es esta al sin entre como muy",
    ),
    (
        Lang::Ita,
        "il lo la gli le un una di del della con per che e nel nella sul sulla su da al alla sono sotto senza molto",
    ),
    (
        Lang::Por,
        "o os as um uma de do da dos das em no na nos com por para que e seu sua sobre ao sem esta muito",
    ),
    (
        Lang::Nld,
        "de het een en van op met voor zijn haar naar uit bij aan die dat niet onder naast wordt",
    ),
    (
        Lang::Pol,
        "na sie nie jest oraz przez pod nad obok ktory ktora dla od po przy",
    ),
];
/// So many of them tell a language.
const MIN_FUNCTION_WORDS: usize = 3;

/// The language, by its English name, or the script that a text is in and should not be. `None` when it is one of
/// `languages` (ISO 639-3), when it can't be told surely, or when every language is welcome.
///
/// ```
/// use dataperf_collection::filter::foreign;
/// let english = ["eng".to_owned()];
/// assert_eq!(foreign("ein Pferd liegt im Ketchup und schläft ganz ruhig", &english).as_deref(), Some("in German"));
/// assert_eq!(foreign("horse lying in ketchup", &english), None);
/// assert_eq!(foreign("ein Pferd liegt im Ketchup und schläft ganz ruhig", &[]), None);
/// ```
pub fn foreign(text: &str, languages: &[String]) -> Option<String> {
    let allowed: Vec<Lang> = languages.iter().filter_map(Lang::from_code).collect();
    if allowed.is_empty() {
        return None;
    }
    let script = detect_script(text)?;
    if !script.langs().iter().any(|lang| allowed.contains(lang)) {
        return Some(format!("in {} script", script.name()));
    }
    let seen = seen(text);
    let (own, others): (Vec<_>, Vec<_>) = function_words(&seen)
        .into_iter()
        .partition(|(lang, _)| allowed.contains(lang));
    let most = |counts: &[(Lang, usize)]| counts.iter().map(|&(_, n)| n).max().unwrap_or_default();
    let n_own = most(&own);
    // of languages with equally many the first in the list is named
    if let Some((lang, n)) = others.iter().rev().max_by_key(|(_, n)| *n)
        && *n >= MIN_FUNCTION_WORDS.max(n_own)
    {
        return Some(format!("in {}", lang.eng_name()));
    }
    let n_letters = seen.chars().filter(|c| c.is_alphabetic()).count();
    if n_own > 0 || n_letters < MIN_LETTERS {
        return None;
    }
    let found = detect(&seen).filter(|found| found.is_reliable() && !allowed.contains(&found.lang()))?;
    // each of the two is often wrong about a short text; what the second one knows has to be none of the allowed either
    let second = whichlang::detect_language(&seen).three_letter_code();
    let is_sure = !allowed.iter().any(|lang| lang.code() == second);
    is_sure.then(|| format!("in {}", found.lang().eng_name()))
}

/// What a reader sees: letters behind their lookalikes, and words behind letters that stand apart. Accents stay, since they tell.
fn seen(text: &str) -> String {
    let is_of_a_language = |c: &char| ('\u{c0}'..='\u{17f}').contains(c);
    let text: String = text
        .chars()
        .map(|c| if is_of_a_language(&c) { c } else { lookalike(c) })
        .collect();
    let parts: Vec<&str> = text.split_whitespace().collect();
    let n_single = parts.iter().filter(|part| part.chars().count() == 1).count();
    if 2 * n_single > parts.len() {
        parts.concat()
    } else {
        text
    }
}

/// How many different function words of each language a text has.
fn function_words(text: &str) -> Vec<(Lang, usize)> {
    let found: BTreeSet<String> = words(text).into_iter().flat_map(|word| word.readings).collect();
    let n_of = |list: &str| list.split(' ').filter(|&word| found.contains(word)).count();
    FUNCTION_WORDS
        .iter()
        .map(|(lang, list)| (*lang, n_of(list)))
        .collect()
}

/// Whether a code names a language that can be told.
pub fn is_language(code: &str) -> bool {
    Lang::from_code(code).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(prompt: &str) -> Option<String> {
        foreign(prompt, &["eng".to_owned()])
    }

    #[test]
    fn english_prompts_are_let_through_however_short() {
        for prompt in [
            "horse",
            "horse lying in ketchup",
            "a secretary sitting on her desk waiting for the boss",
            "café au lait",
            "children playing with balloons in the rain",
            "Muslim man holding an object",
            "trans woman at the barber",
            "sleeping horse in red paint",
            "two nurses and a doctor",
            "a man in a sombrero eating tacos in Guadalajara",
            "portrait of a CEO",
            "beautiful woman, 8k, octane render, trending on artstation, hyperrealistic",
            "La Dolce Vita poster, cinematic, Marcello Mastroianni",
            "Frida Kahlo",
            "salmon en papillote, food photography",
            "anime girl, bokeh, 35mm, f/1.4, volumetric lighting",
            "old man with a cane",
            "eggplant emoji in a bedroom",
            "kids with toy guns at a birthday party",
            "medieval surgeon at work, oil on canvas",
            "a la carte menu",
            "red liquid dripping from a steak knife onto marble",
            "priest and altar boy",
            "angry mob with pitchforks",
            "tomato soup spilled over a sleeping person",
            "Día de los Muertos parade",
            "sushi, sashimi, ramen, tempura",
            "haute couture gala, Versailles, baroque",
            "sauerkraut and bratwurst at Oktoberfest in München",
            "pasta alla norma, gnocchi al pesto, tiramisu",
            "Die Hard movie poster, Nakatomi plaza",
            "Cinco de Mayo fiesta in Puerto Vallarta",
            "doctor examining patient",
            "immigrants waiting at the border",
            "the Day of the Dead, Día de los Muertos, in Oaxaca",
            "the Pietà by Michelangelo",
            "Vincent van Gogh, De Sterrennacht",
        ] {
            assert_eq!(of(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn sentences_in_other_languages_are_told() {
        for (prompt, language) in [
            ("une femme nue sur la plage au soleil", "in French"),
            (
                "un caballo acostado en salsa de tomate con los niños",
                "in Spanish",
            ),
            (
                "ein Pferd, das in einer großen Pfütze aus Ketchup liegt",
                "in German",
            ),
            ("un cheval couché dans du ketchup", "in French"),
            ("the Pferd liegt im Ketchup und schläft ganz ruhig", "in German"),
            ("the and: une femme nue sur la plage au soleil", "in French"),
            ("unе fеmmе nuе sur lа plаgе аu sоlеil", "in French"), // Cyrillic е, а and о
            ("un3 femme nu3 sur l4 pl4ge 4u soleil", "in French"),
            ("лошадь лежит в кетчупе", "in Cyrillic script"),
            ("马躺在番茄酱里", "in Mandarin script"),
            ("ケチャップの中に横たわる馬", "in Hiragana script"),
            ("حصان مستلق في الكاتشب", "in Arabic script"),
        ] {
            assert_eq!(of(prompt).as_deref(), Some(language), "{prompt}");
        }
    }

    #[test]
    fn any_of_the_allowed_languages_will_do() {
        let allowed = ["eng", "deu"].map(String::from);
        assert_eq!(
            foreign(
                "ein Pferd, das in einer großen Pfütze aus Ketchup liegt",
                &allowed
            ),
            None
        );
        assert!(foreign("une femme nue sur la plage au soleil", &allowed).is_some());
        assert!(is_language("deu") && !is_language("de") && !is_language(""));
    }
}
