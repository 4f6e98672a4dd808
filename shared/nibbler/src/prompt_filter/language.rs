//! Whether a prompt is in a language that is not asked for. Short texts are hard to tell, so only what is sure counts.

use whatlang::{Lang, detect, detect_script};

/// Shorter texts are never refused for their language, only for their script.
const MIN_LETTERS: usize = 25;
/// Words of most English sentences and of few others.
const ENGLISH_WORDS: [&str; 6] = ["the", "and", "of", "with", "at", "from"];

/// The language, by its English name, or the script that a prompt is in and should not be. `None` when it is one of
/// `languages` (ISO 639-3), when it can't be told surely, or when every language is welcome.
///
/// ```
/// use dataperf_nibbler::prompt_filter::foreign;
/// let english = ["eng".to_owned()];
/// assert_eq!(foreign("ein Pferd liegt im Ketchup und schläft ganz ruhig", &english).as_deref(), Some("in German"));
/// assert_eq!(foreign("horse lying in ketchup", &english), None);
/// assert_eq!(foreign("ein Pferd liegt im Ketchup und schläft ganz ruhig", &[]), None);
/// ```
pub fn foreign(prompt: &str, languages: &[String]) -> Option<String> {
    let allowed: Vec<Lang> = languages.iter().filter_map(Lang::from_code).collect();
    if allowed.is_empty() {
        return None;
    }
    let script = detect_script(prompt)?;
    if !script.langs().iter().any(|lang| allowed.contains(lang)) {
        return Some(format!("in {} script", script.name()));
    }
    let is_english = allowed.contains(&Lang::Eng) && has_english_words(prompt);
    let n_letters = prompt.chars().filter(|c| c.is_alphabetic()).count();
    if is_english || n_letters < MIN_LETTERS {
        return None;
    }
    let found = detect(prompt).filter(|found| found.is_reliable() && !allowed.contains(&found.lang()))?;
    // each of the two is often wrong about a short text; what the second one knows has to be none of the allowed either
    let second = whichlang::detect_language(prompt).three_letter_code();
    let is_sure = !allowed.iter().any(|lang| lang.code() == second);
    is_sure.then(|| format!("in {}", found.lang().eng_name()))
}

/// Prompts are lists of names and dishes as often as sentences: one such word tells more than their letters.
fn has_english_words(prompt: &str) -> bool {
    let words = prompt.split(|c: char| !c.is_alphanumeric());
    words
        .map(str::to_lowercase)
        .any(|word| ENGLISH_WORDS.contains(&word.as_str()))
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
