//! BERT's tokens (Devlin et al. 2018): words without case and accents, cut into the longest pieces that the vocabulary has. This is
//! the part of the tokenizers library that all-MiniLM-L6-v2 needs; the whole library takes thirty crates. A tokenizer with other
//! features is refused, with a message that names what is not known.

use std::collections::HashMap;

use serde::Deserialize;
use unicode_categories::UnicodeCategories as _;
use unicode_normalization_alignments::UnicodeNormalization as _;

/// The parts of the original package's `tokenizer.json` that have an effect.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the file")]
pub(crate) struct Tokenizer {
    added_tokens: Vec<AddedToken>,
    normalizer: Normalizer,
    #[serde(rename = "pre_tokenizer")]
    _pre_tokenizer: PreTokenizer,
    post_processor: PostProcessor,
    model: Model,
}

/// A token that is recognized as a whole anywhere in a text.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the format of the file")]
struct AddedToken {
    id: u32,
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    normalized: bool,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Normalizer {
    BertNormalizer {
        clean_text: bool,
        handle_chinese_chars: bool,
        strip_accents: Option<bool>,
        lowercase: bool,
    },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum PreTokenizer {
    BertPreTokenizer,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum PostProcessor {
    TemplateProcessing {
        single: Vec<Piece>,
        special_tokens: HashMap<String, SpecialToken>,
    },
}

#[derive(Debug, Deserialize)]
enum Piece {
    SpecialToken { id: String },
    Sequence { id: String },
}

#[derive(Debug, Deserialize)]
struct SpecialToken {
    ids: Vec<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Model {
    WordPiece {
        unk_token: String,
        continuing_subword_prefix: String,
        max_input_chars_per_word: usize,
        vocab: HashMap<String, u32>,
    },
}

impl Tokenizer {
    /// # Errors
    /// Why the file is no tokenizer of this kind.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, String> {
        let tokenizer: Self = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let Model::WordPiece { unk_token, vocab, .. } = &tokenizer.model;
        if !vocab.contains_key(unk_token) {
            return Err(format!("its vocabulary has no `{unk_token}`"));
        }
        for token in &tokenizer.added_tokens {
            if token.content.is_empty()
                || token.single_word
                || token.lstrip
                || token.rstrip
                || token.normalized
            {
                return Err(format!(
                    "the added token `{}` has rules that are not known",
                    token.content
                ));
            }
        }
        tokenizer.template()?;
        Ok(tokenizer)
    }

    /// The ids of a text's tokens with those that the template puts around it; the text is cut so that there are at most `most`.
    ///
    /// # Errors
    /// If the template's tokens alone are more than `most`.
    pub(crate) fn encode(&self, text: &str, most: usize) -> Result<Vec<u32>, String> {
        let (before, after) = self.template()?;
        let room = most.checked_sub(before.len() + after.len());
        let room = room.ok_or_else(|| format!("{most} tokens have no room for a text"))?;
        let mut ids = Vec::new();
        let mut rest = text;
        while let Some((at, token)) = self.first_added(rest) {
            self.append(&rest[..at], &mut ids);
            ids.push(token.id);
            rest = &rest[at + token.content.len()..];
        }
        self.append(rest, &mut ids);
        ids.truncate(room);
        Ok([before, ids, after].concat())
    }

    /// The tokens that the template puts before and after a text.
    fn template(&self) -> Result<(Vec<u32>, Vec<u32>), String> {
        let PostProcessor::TemplateProcessing {
            single,
            special_tokens,
        } = &self.post_processor;
        let (mut before, mut after) = (Vec::new(), None);
        for piece in single {
            match piece {
                Piece::Sequence { id } if id == "A" && after.is_none() => after = Some(Vec::new()),
                Piece::Sequence { id } => return Err(format!("its template has a sequence `{id}` too many")),
                Piece::SpecialToken { id } => {
                    let token = special_tokens.get(id);
                    let token = token.ok_or_else(|| format!("its template has an unknown token `{id}`"))?;
                    after.as_mut().unwrap_or(&mut before).extend(&token.ids);
                }
            }
        }
        Ok((before, after.ok_or("its template has no sequence")?))
    }

    /// The first added token in a text: the longest one that begins there.
    fn first_added(&self, text: &str) -> Option<(usize, &AddedToken)> {
        let added = self.added_tokens.iter();
        let added = added.filter_map(|token| Some((text.find(&token.content)?, token)));
        added.min_by_key(|(at, token)| (*at, std::cmp::Reverse(token.content.len())))
    }

    fn append(&self, text: &str, ids: &mut Vec<u32>) {
        let text = self.normalised(text);
        for part in text.split(char::is_whitespace) {
            let mut rest = part;
            while !rest.is_empty() {
                // a punctuation mark, or everything before the next one
                let end = match rest.char_indices().find(|&(_, c)| is_punctuation(c)) {
                    Some((0, c)) => c.len_utf8(),
                    Some((at, _)) => at,
                    None => rest.len(),
                };
                self.append_word(&rest[..end], ids);
                rest = &rest[end..];
            }
        }
    }

    fn normalised(&self, text: &str) -> String {
        let Normalizer::BertNormalizer {
            clean_text,
            handle_chinese_chars,
            strip_accents,
            lowercase,
        } = self.normalizer;
        let mut text = text.to_owned();
        if clean_text {
            text.retain(|c| !(c == '\0' || c == '\u{fffd}' || is_control(c)));
            text = text
                .chars()
                .map(|c| if c.is_whitespace() { ' ' } else { c })
                .collect();
        }
        if handle_chinese_chars {
            let spaced = text.chars().flat_map(|c| {
                let space = is_chinese(c).then_some(' ');
                [space, Some(c), space].into_iter().flatten()
            });
            text = spaced.collect();
        }
        if strip_accents.unwrap_or(lowercase) {
            let parts = text.nfd().map(|(c, _)| c);
            text = parts.filter(|c| !c.is_mark_nonspacing()).collect();
        }
        if lowercase {
            text = text.chars().flat_map(char::to_lowercase).collect();
        }
        text
    }

    /// Appends the ids of a word's pieces, each the longest that the vocabulary has, or the id for an unknown word if it can't be
    /// made of pieces.
    fn append_word(&self, word: &str, ids: &mut Vec<u32>) {
        let Model::WordPiece {
            unk_token,
            continuing_subword_prefix,
            max_input_chars_per_word,
            vocab,
        } = &self.model;
        let before = ids.len();
        let mut rest = word;
        let mut piece = String::new();
        while !rest.is_empty() && word.chars().count() <= *max_input_chars_per_word {
            let prefix = if rest.len() < word.len() {
                continuing_subword_prefix
            } else {
                ""
            };
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let longest = ends.into_iter().find_map(|end| {
                piece.clear();
                piece.push_str(prefix);
                piece.push_str(&rest[..end]);
                vocab.get(&piece).map(|&id| (id, end))
            });
            let Some((id, end)) = longest else { break };
            ids.push(id);
            rest = &rest[end..];
        }
        if !rest.is_empty() {
            ids.truncate(before);
            ids.extend(vocab.get(unk_token));
        }
    }
}

fn is_control(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r') && c.is_other()
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || c.is_punctuation()
}

/// Whether a character is in a block of Chinese characters; BERT takes each of these as a word.
fn is_chinese(c: char) -> bool {
    matches!(
        c,
        '\u{4e00}'..='\u{9fff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{20000}'..='\u{2a6df}'
            | '\u{2a700}'..='\u{2b73f}'
            | '\u{2b740}'..='\u{2b81f}'
            | '\u{2b920}'..='\u{2ceaf}'
            | '\u{f900}'..='\u{faff}'
            | '\u{2f800}'..='\u{2fa1f}'
    )
}

#[cfg(test)]
mod tests;
