//! Whether a text is in a language that is not allowed. The language of a short text is uncertain, so only sure findings count.

use std::collections::BTreeSet;

use crate::common::text::spelling::{lookalike, words};
use whatlang::{Lang, detect, detect_script};

/// Texts with fewer letters are refused only for their script or their function words, not for what the language detectors say.
const MIN_LETTERS: usize = 25;
/// Words, without accents and apostrophes, that are frequent in a language and rare in the others. They decide where a text is too short for its
/// letters to do so, or begins with a word of another language. The English list also has the words that English shares with others, so that an
/// English sentence with `die`, `as` or `no` has as many English words.
const FUNCTION_WORDS: [(Lang, &str); 9] = [
    (
        Lang::Eng,
        "the and of with at from for on is his her by are into over their being while who under near you your yours this that \
         these those they them she it its not but what which when where why how would could should there were been have having \
         does did doing because than then about out up if be my our us can very just some any dont didnt doesnt isnt wasnt cant \
         wont couldnt wouldnt shouldnt ive youre thats theres as do no me die den im em com dos con sin per met van like nothing \
         never always only every after before too really such since between through against here again now",
    ),
    (
        Lang::Fra,
        "le la les des du un une et dans avec sur au aux pour qui est sont ses sa ce cette sans sous elle il nue en de je ne tu \
         nous vous ils elles pas jamais rien mais que se cest jai jetais quil quelle quils ca cela moi toi lui leur leurs mon mes \
         tes notre votre nos vos cet ces ou donc etait etais avait avais suis sommes etes avons avez ont serait fait tres aussi \
         bien quand parce comme toute tous chez apres peu dune nai netait pourquoi alors vraiment beaucoup trop hier",
    ),
    (
        Lang::Deu,
        "der die das den dem des ein eine einen einer einem und im mit auf ist sind von zu zur zum fur nicht sich aus neben ganz \
         uber unter wird ich du sie es ihr wir mich dich uns mir dir ihn ihm ihnen mein meine meinen meiner dein deine sein seine \
         ihre kein keine keinen nichts nie noch aber oder wenn weil dass wie waren hat habe haben hatte wurde wurden werden kann \
         konnen konnte muss mussen soll sollte schon sehr auch nur hier dann doch bei beim nach vom vor mehr immer wieder heute \
         gestern diese dieser dieses jeder alles etwas warum bist ohne durch gegen als",
    ),
    (
        Lang::Spa,
        "el la los las una un de del en con por para que y su sus sobre es esta al sin entre como muy yo te se lo le nos les mi \
         mis nuestro nuestra ella ellos ellas nosotros usted ustedes nada nunca pero porque si cuando donde quien cual fue fui \
         soy eres somos estaba estoy estan habia tiene tengo tenia hacer hizo hicieron puede puedo quiero esto eso este ese esa \
         estos todo todos toda mas tambien gusta bien ayer hoy siempre aunque hasta desde cada otra otro algo",
    ),
    (
        Lang::Ita,
        "il lo la gli le un di del della con per che e nel nella sul sulla su da al alla sono sotto senza molto io tu lui lei noi \
         voi loro mi ti si ne una uno dei delle degli dello nelle nei negli dal dalla dalle alle agli hai abbiamo avete hanno \
         erano siamo siete stato stata stati fatto sia anche perche quando cosa quello quella quelli questo questa questi \
         queste mio mie tuo tua suo sua nostro nostra piu niente nulla nessuno tutto tutti tutta ancora gia sempre cosi bene se \
         ogni dopo quindi pero piace ieri oggi ce",
    ),
    (
        Lang::Por,
        "o os as um uma de do da dos das em no na nos com por para que e seu sua sobre ao sem esta muito eu voce voces ele ela \
         eles elas te se lhe lhes meu minha meus minhas nosso nossa seus suas isso isto aquilo esse essa este nao nunca nada mas \
         porque quando onde quem qual foi fui sou somos estava estou estao tem tinha tenho havia fizeram fazer pode posso \
         quero gostei gosto mais tambem pelo pela pelos pelas num numa dele dela deste desta nesse nessa neste nesta entre depois \
         ainda tudo todo todos toda algo sempre bem entao mesmo foram ontem hoje",
    ),
    (
        Lang::Nld,
        "de het een en van op met voor zijn haar naar uit bij aan die dat niet onder naast wordt ik jij je hij zij ze wij jullie \
         mij mijn jou jouw ons onze deze dit geen nooit niets maar ook nog wel als omdat waarom wie waar waren heb hebt heeft \
         hebben hadden kan kon kunnen moet moeten zal zou zouden worden werd te tegen zonder veel heel echt helemaal gewoon \
         daar hier toch alleen iets alles iemand gisteren vandaag altijd vond vind meer",
    ),
    (
        Lang::Swe,
        "och att det som ett jag du mig sig honom henne oss mina ditt sitt sina varit vara har hade ar inte aldrig ingen \
         inget eller nar eftersom av fran utan efter mycket ocksa bara mer nagon nagot nagra alla allt detta denna dessa en de \
         dar idag igar alls faktiskt kanske skulle kan vill blev blir maste tycker alltid varfor vad hur",
    ),
    (
        Lang::Pol,
        "na sie nie jest oraz przez pod nad obok ktory ktora dla od po przy",
    ),
];
/// The least number of different function words by which a language is recognized.
const MIN_FUNCTION_WORDS: usize = 3;

/// The language, by its English name, or the script of a text, if that is not allowed. `None` when it is one of `languages` (ISO 639-3), when it is
/// not recognized with confidence, or when `languages` is empty and every language is allowed.
///
/// ```
/// use dataperf_collections::common::filter::foreign;
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
    let n_own = own.iter().map(|&(_, n)| n).max().unwrap_or_default();
    // an allowed language without a list has no number of words to compare the others with
    let has_lists = allowed
        .iter()
        .all(|lang| own.iter().any(|(lang_id, _)| lang_id == lang));
    // of languages with equal numbers the first in the list is named
    if let Some((lang, n)) = others.iter().rev().max_by_key(|(_, n)| *n)
        && has_lists
        && *n >= MIN_FUNCTION_WORDS.max(n_own + 1)
    {
        return Some(format!("in {}", lang.eng_name()));
    }
    let n_letters = seen.chars().filter(|c| c.is_alphabetic()).count();
    if n_own > 0 || n_letters < MIN_LETTERS {
        return None;
    }
    let language =
        detect(&seen).filter(|language| language.is_reliable() && !allowed.contains(&language.lang()))?;
    // both detectors are often wrong about short texts, so the second must not find an allowed language either
    let second = whichlang::detect_language(&seen).three_letter_code();
    let is_sure = !allowed.iter().any(|lang| lang.code() == second);
    is_sure.then(|| format!("in {}", language.lang().eng_name()))
}

/// The text as a reader sees it: letters in place of lookalikes, and words in place of spaced
/// letters. Accents stay, because they help to recognize the language.
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
    let readings: BTreeSet<String> = words(text).into_iter().flat_map(|word| word.readings).collect();
    let n_of = |list: &str| list.split(' ').filter(|&word| readings.contains(word)).count();
    FUNCTION_WORDS
        .iter()
        .map(|(lang, list)| (*lang, n_of(list)))
        .collect()
}

/// Whether a code (ISO 639-3) names a language that can be recognized.
pub fn is_language(code: &str) -> bool {
    Lang::from_code(code).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(prompt: &str) -> Option<String> {
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
            assert_eq!(detect(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn sentences_in_other_languages_are_detected() {
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
            assert_eq!(detect(prompt).as_deref(), Some(language), "{prompt}");
        }
    }

    /// Everyday sentences, by language.
    const SENTENCES: [(&str, &str, &[&str]); 7] = [
        (
            "fra",
            "in French",
            &[
                "Je ne dirais pas que c'est un échec total, mon cher ami.",
                "On ne m'a jamais dit pourquoi il était parti.",
                "J'ai vraiment beaucoup aimé ce film, même si la fin est nulle.",
                "Vous n'avez rien compris à ce que je vous ai dit.",
                "Nous étions tous très contents de notre voyage.",
                "C'est bien la pire chose qui me soit arrivée.",
                "Tu penses que ça va marcher ?",
                "Elle m'a dit qu'elle ne viendrait plus.",
            ],
        ),
        (
            "deu",
            "in German",
            &[
                "Ich würde nicht sagen, dass es ein Misserfolg war.",
                "Das hat mir gestern überhaupt nicht gefallen.",
                "Wir haben uns sehr über deinen Besuch gefreut.",
                "Er hat mir nie gesagt, warum er gegangen ist.",
                "Kannst du mir bitte mal mit dem Koffer helfen?",
                "Das Essen war kalt und die Bedienung noch schlechter.",
                "Mein Bruder wohnt in einem sehr kleinen Haus.",
            ],
        ),
        (
            "spa",
            "in Spanish",
            &[
                "No me gustó nada lo que hicieron ayer, la verdad.",
                "Yo creo que este libro es bastante bueno.",
                "Nunca he visto una película tan mala como esa.",
                "No sé por qué todos hablan bien de ella.",
                "Mi hermano tiene un perro muy grande.",
                "Estoy cansado, pero tengo que trabajar hoy.",
                "¿Dónde está mi dinero? No lo encuentro.",
                "Ellos no quieren hablar con nosotros.",
            ],
        ),
        (
            "ita",
            "in Italian",
            &[
                "Non mi è piaciuto per niente quello che hanno fatto ieri.",
                "Io credo che questo libro sia molto bello.",
                "Non ho mai visto un film così brutto in tutta la mia vita.",
                "Mio fratello ha un cane molto grande.",
                "Perché non mi hai detto che eri qui?",
                "La cena era fredda e il servizio era ancora peggio.",
                "Se vuoi, possiamo andare al mare con loro.",
            ],
        ),
        (
            "por",
            "in Portuguese",
            &[
                "Não gostei nada do que eles fizeram ontem.",
                "Eu acho que você não entendeu o que eu disse.",
                "O filme foi muito melhor do que eu esperava.",
                "Nunca mais volto a este restaurante com a minha família.",
                "Ela não tem medo de nada nem de ninguém.",
                "Isso não é o que eu queria dizer.",
                "Meu irmão mora em uma casa muito pequena.",
            ],
        ),
        (
            "nld",
            "in Dutch",
            &[
                "Ik vind deze film helemaal niet leuk, eerlijk gezegd.",
                "Dat heb ik nooit gezegd tegen mijn moeder.",
                "Hij wil niet dat wij met hem meegaan.",
                "We hebben gisteren heel lekker gegeten bij oma.",
                "Waarom zou iemand zoiets doen?",
                "Het eten was koud en de bediening was nog slechter.",
                "Je moet dat echt een keer proberen.",
            ],
        ),
        (
            "swe",
            "in Swedish",
            &[
                "Jag tycker inte alls om den här filmen faktiskt.",
                "Det var det bästa som har hänt mig på länge.",
                "Vi var på stranden och badade eftersom det var varmt.",
                "Hon sa att hon aldrig skulle komma tillbaka.",
                "Varför har du inte ringt till mig?",
                "Maten var kall och servicen var ännu sämre, det är sant.",
                "Jag vet inte vad jag ska säga till honom.",
            ],
        ),
    ];

    #[test]
    fn everyday_sentences_in_other_languages_are_detected() {
        for (_, language, sentences) in SENTENCES {
            for sentence in sentences {
                assert_eq!(detect(sentence).as_deref(), Some(language), "{sentence}");
            }
        }
    }

    #[test]
    fn everyday_sentences_pass_in_an_allowed_language() {
        for (code, _, sentences) in SENTENCES {
            for allowed in [vec![code.to_owned()], vec!["eng".to_owned(), code.to_owned()]] {
                for sentence in sentences {
                    assert_eq!(foreign(sentence, &allowed), None, "{sentence}");
                }
            }
        }
        let danish = "Det er en film som jeg ikke har set, og det er alle glade for.";
        assert_eq!(
            foreign(danish, &["dan".to_owned()]),
            None,
            "a language without a list"
        );
    }

    #[test]
    fn english_sentences_with_foreign_words_pass() {
        for sentence in [
            "I had the best coffee of my life at the café in São Paulo.",
            "Die Hard was great, no matter what my father says.",
            "No comment, son: do or die.",
            "As I said, do no harm.",
            "I'm gonna die in my den, no doubt.",
            "Do as I say, no one likes 'em.",
            "It has a certain je ne sais quoi that I can't describe.",
            "C'est la vie, as they say in France.",
            "Mi casa es su casa, she said, but the house was not hers.",
            "Hasta la vista, baby, is the only line I remember.",
            "Me and my son saw La La Land in Las Vegas.",
            "Los Angeles and Las Vegas are nothing like El Paso.",
            "Ludwig van Beethoven met nobody in the city that day.",
            "Charles de Gaulle and Simone de Beauvoir never met.",
            "The Museo del Prado in Madrid is over two hundred years old.",
            "The chef de cuisine made a crème brûlée for us.",
            "Leonardo da Vinci painted the Mona Lisa.",
            "Cristiano Ronaldo dos Santos Aveiro is his full name.",
            "No pain, no gain.",
            "I would not call it a failure.",
            "This film is anything but bad.",
            "Who would have thought that an en suite bathroom could be so small?",
            "The war was over, or so we were told.",
            "My dear mon ami, you are wrong about Paris.",
            "He was a bit of an enfant terrible in his youth.",
            "The du Pont family and the von Trapp family were rich.",
            "Don't tell me no one saw it coming.",
            "Was it a hit or a miss? Hard to say.",
            "I hate this place with all my heart.",
            "Nobody does it better than Björk and Sigur Rós.",
            "She ordered pasta al dente and tiramisu at Da Mario.",
            "El Niño brought rain to Peru and Chile.",
            "The Dutch painter Jan van der Meer was a master of light.",
            "Angela Merkel and Ursula von der Leyen were at the table.",
            "Our son is in the den, and he can hear us.",
            "Per my last email, do as you are told, or else.",
            "A man can dream, so let him be.",
            "I met a con man in a sin bin on the way to the United Nations.",
            "Per favore, he said, and that was all the Italian he knew.",
            "Bon appétit, she said as the steak was served.",
            "An hour in the gym and I'm as good as new.",
            "Auf Wiedersehen, he said, and left for good.",
            "The Guggenheim in Bilbao is over the top, but I love it.",
            "Is this a joke or am I going mad?",
            "Some men are all talk and no action.",
            "Les Misérables is the best musical that I have ever seen.",
            "La Cosa Nostra is what they call it in Sicily.",
            "The AC/DC show was loud as hell.",
            "Meh.",
            "Not bad at all!",
            "You get what you pay for.",
            "The El Camino de Santiago is a long way to walk.",
            "Casa de Papel is overrated, son.",
            "Never in my life did I eat so well.",
            "De gustibus non est disputandum, as my teacher liked to say.",
        ] {
            assert_eq!(detect(sentence), None, "{sentence}");
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
